#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# File systems of /etc/fstab over a device of srnic@.service: NFS from a server in sr1, and a disk of NVMe, whose target can
# only be in this namespace, on the same device. At boot they are mounted after the device is there; at power off they are
# unmounted before it goes, with all that was written last; after the next boot they are there again. systemd boots in a
# container (shared/systemd.sh).
#
#   systemd: srnic@mnt0 ── mnt0, 10.97.0.1, NVMe's target ── mnt1 in sr1, 10.97.0.2, srnic1: NFS
#
# MIB: of the disk.
cd "$(dirname "$0")" && . ./lib.sh && . shared/systemd.sh && . shared/nfs.sh && NFS_PORT=$PORT && . shared/disk.sh &&
	. shared/nvme.sh

IP0=10.97.0.1 IP1=10.97.0.2 IP60=fd97::1
DISCOVERY=/etc/nvme/discovery.conf
PLACES=(/mnt/nfs /mnt/nvme)
OTHERS=(nfs-server.service rpcbind.service rpcbind.socket)	# servers of this machine, which are not to start
LIST=/sys/class/infiniband

# ---- the servers ----

ends_up() {
	ip netns add sr1 && trap everything_down EXIT && ip link add mnt0 type veth peer name mnt1 netns sr1 &&
		ip addr add $IP0/24 dev mnt0 && ip link set mnt0 up && ip -n sr1 addr add $IP1/24 dev mnt1 &&
		ip -n sr1 link set mnt1 up && ip -n sr1 link set lo up && ping -q -c 1 -w 10 $IP1 >/dev/null &&
		modprobe -a ib_uverbs rdma_ucm srnic && ns1 rdma link add srnic1 type srnic netdev mnt1
}

nfs_serves() { mkdir "$EXPORT" && PORT=$NFS_PORT serve_nfs; }

# On all addresses, it listens on devices that come later.
nvme_serves() { target_up && mkfs.ext4 -q -b 4096 -L srnicdisk "$LOGS/disk" && port_up 1 ipv4 0.0.0.0; }

# ---- what an administrator writes ----

enable() {
	mkdir -p /etc/nvme "${PLACES[@]}" && cp /etc/fstab "$LOGS/fstab" || return
	cat >>/etc/fstab <<-END
		$IP1:/           /mnt/nfs   nfs   vers=4.2,proto=rdma,port=$NFS_PORT,_netdev  0  0
		LABEL=srnicdisk  /mnt/nvme  ext4  _netdev                                  0  0
	END
	echo "-t rdma -a $IP0 -s 4420" >$DISCOVERY
	systemctl --root=/ mask "${OTHERS[@]}" && systemctl --root=/ enable srnic@mnt0 &&
		systemctl --root=/ add-wants multi-user.target nvmf-autoconnect.service
}

disable() {
	cp "$LOGS/fstab" /etc/fstab && rm $DISCOVERY && systemctl --root=/ disable srnic@mnt0 nvmf-autoconnect &&
		rmdir "${PLACES[@]}"
	systemctl --root=/ unmask "${OTHERS[@]}"
}

# ---- boots ----

comes_up() {
	boots && return
	tell
	return 1
}

tell() { inside systemctl --no-pager status srnic@mnt0 nvmf-autoconnect mnt-nfs.mount mnt-nvme.mount; }

mounted() {
	inside grep -E '/mnt/nfs nfs4 .*proto=rdma' /proc/mounts && inside grep -E '^/dev/nvme[^ ]* /mnt/nvme ext4' /proc/mounts &&
		is active remote-fs.target && return
	tell
	return 1
}

# From the unit's device, and only from there.
over_the_device() {
	[ "$(rdma resource show qp link srnic-mnt0 | grep -c 'state RTS')" -ge 3 ]
}

# Nobody waits until it is on the disk.
writes_last() {
	local place
	head -c 8388608 /dev/urandom >"$LOGS/last" || return
	for place in "${PLACES[@]}"; do
		inside tee "$place/last" <"$LOGS/last" >/dev/null || return
	done
}

goes_down() { powers_off && [ ! -e $LIST/srnic-mnt0 ]; }

# A file system that was not unmounted needs its journal.
all_is_written() {
	cmp "$LOGS/last" "$EXPORT/last" && ! dumpe2fs -h "$LOGS/disk" 2>/dev/null | grep needs_recovery &&
		debugfs -R "dump /last $LOGS/dumped" "$LOGS/disk" && cmp "$LOGS/last" "$LOGS/dumped"
}

reads_it_again() {
	local place
	for place in "${PLACES[@]}"; do
		inside cat "$place/last" | cmp - "$LOGS/last" || return
	done
}

nfs_or_skip
modprobe -aq nvmet_rdma nvme_rdma || skip "no NVMe over RDMA here"
needs nvme mkfs.ext4 debugfs
systemd_or_skip
nothing_in_the_way && ends_up || { echo "Bail out! no devices"; exit 1; }
own_udevd_down
check "an NFS server" nfs_serves
check "a target of NVMe" nvme_serves
if check "the device and the mounts are enabled" enable && check "systemd boots" comes_up; then
	check "both are mounted" mounted
	check "over the device" over_the_device
	check "data are written" writes_last
	check "power off unmounts them and deletes the device" goes_down
	check "all data have arrived before" all_is_written
	check "after the next boot they are mounted again" comes_up && check "over the device" mounted
	check "with the same data" reads_it_again
	check "and unmounted again" goes_down
fi
check "all is disabled again" disable
check "the target goes" target_down 1
check "the NFS server goes" stop_serving_nfs
ip link delete mnt0
own_udevd_up
finish
