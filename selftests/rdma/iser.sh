#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# iSCSI over RDMA: the kernel's target (LIO, ib_isert) and initiator (ib_iser, open-iscsi), unmodified. Both know only the
# first network namespace, so both ends are on one device there:
#
#   initiator: iscsid, ib_iser ── srnic0 on iser0, 10.94.0.1, fd94::1 ── LIO: portals at port 3260 of both addresses
#
# LIO listens on a portal with TCP, for discovery, and then with RDMA on the same port: port_map has TCP port 13260 carry
# the latter.
#
# MIB: of the disk, at least 16. LIMIT: seconds for each step.
cd "$(dirname "$0")" && . ./lib.sh && . shared/disk.sh

PORT=3260 CARRIER=13260
ADDRESS=10.94.0.1 ADDRESS6=fd94::1
IQN=iqn.2003-01.org.linux-iscsi.srnic:disk
TARGET=/sys/kernel/config/target
TPG=$TARGET/iscsi/$IQN/tpgt_1
MOUNT=$LOGS/mount

# ---- the target ----

disk_up() {
	modprobe -a target_core_mod target_core_file iscsi_target_mod ib_isert || return
	mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config || return
	mkdir -p $TARGET/core/fileio_0/disk &&
		echo "fd_dev_name=$LOGS/disk,fd_dev_size=$((MIB << 20))" >$TARGET/core/fileio_0/disk/control &&
		echo 1 >$TARGET/core/fileio_0/disk/enable
}

target_up() {
	mkdir -p $TPG/lun/lun_0 && ln -s $TARGET/core/fileio_0/disk $TPG/lun/lun_0/disk || return
	echo 0 >$TPG/attrib/authentication && echo 1 >$TPG/attrib/generate_node_acls &&
		echo 1 >$TPG/attrib/cache_dynamic_acls && echo 0 >$TPG/attrib/demo_mode_write_protect && echo 1 >$TPG/enable
}

# A portal has a TCP listener; iser=1 adds one of RDMA.
portal_up() { # ADDRESS:PORT
	mkdir "$TPG/np/$1" && echo 1 >"$TPG/np/$1/iser" && grep -qx 1 "$TPG/np/$1/iser"
}

portal_is_taken() {
	dmesg -C
	mkdir $TPG/np/$ADDRESS:$PORT || return
	! echo 1 >$TPG/np/$ADDRESS:$PORT/iser || return
	rmdir $TPG/np/$ADDRESS:$PORT
	dmesg | grep "TCP port $PORT is in use; carry RDMA port $PORT on another: port_map"
}

target_down() {
	echo 0 >$TPG/enable
	rm $TPG/lun/lun_0/disk && rmdir $TPG/np/* $TPG/lun/lun_0 $TPG ${TPG%/*} $TARGET/core/fileio_0/disk \
		$TARGET/core/fileio_0
}

# ---- the initiator ----

initiator_up() {
	modprobe ib_iser && mkdir -p /run/lock/iscsi && echo "InitiatorName=$(iscsi-iname)" >/etc/iscsi/initiatorname.iscsi || return
	setsid iscsid -f >"$LOGS/iscsid" 2>&1 &	# at its end it kills its process group
	ISCSID=$!
	within 50 iscsiadm -m iface
}

initiator_down() {
	iscsiadm -k 0 && within 50 eval "! kill -0 $ISCSID 2>/dev/null"
}

# By TCP: at the end of a discovery over iSER, LIO may free what its own worker still uses (isert_do_control_comp).
discovered() { # PORTAL
	timeout "$LIMIT" iscsiadm -m discovery -t sendtargets -p "$1" -I default >"$LOGS/portals" &&
		grep -F "$1" "$LOGS/portals" | grep -F $IQN &&
		iscsiadm -m node -T $IQN -p "$1" -o update -n iface.transport_name -v iser
}

# Lost sessions may take a minute to come back, and then fail commands.
patient() { # PORTAL
	iscsiadm -m node -T $IQN -p "$1" -o update -n node.session.timeo.replacement_timeout -v 60 &&
		iscsiadm -m node -T $IQN -p "$1" -o update -n node.conn\[0\].timeo.noop_out_interval -v 2 &&
		iscsiadm -m node -T $IQN -p "$1" -o update -n node.conn\[0\].timeo.noop_out_timeout -v 2
}

logged_in() { # PORTAL
	patient "$1" && timeout "$LIMIT" iscsiadm -m node -T $IQN -p "$1" --login && iscsiadm -m session | grep "^iser:" &&
		within 100 disk
}

# The disk's node: of the only session.
disk() {
	DISK=$(ls -d /sys/class/iscsi_session/*/device/target*/*/block/* 2>/dev/null)
	[ -n "$DISK" ] && DISK=/dev/${DISK##*/} && [ -b "$DISK" ]
}

logged_out() { # PORTAL
	timeout "$LIMIT" iscsiadm -m node -T $IQN -p "$1" --logout && ! iscsiadm -m session
}

file_system() {
	mkdir -p "$MOUNT" && mkfs.ext4 -q "$DISK" && mount "$DISK" "$MOUNT" && cp -r . "$MOUNT" && sync -f "$MOUNT" &&
		umount "$MOUNT" && echo 3 >/proc/sys/vm/drop_caches && mount -o ro "$DISK" "$MOUNT" && diff -r . "$MOUNT" -x lost+found &&
		umount "$MOUNT"
}

map_port() { echo $PORT:$CARRIER >/sys/class/infiniband/srnic0/port_map; }

# ---- what is lost in mid-I/O comes back ----

target_away() { echo 0 >$TPG/enable && sleep 3 && echo 1 >$TPG/enable; }

# The link goes first, as when hardware is pulled. Over a link that works, the initiator's disconnect closes LIO's end just
# when the device goes, which LIO may not survive: isert_release_work() says "down" before the last reference is gone, and
# isert_cma_handler() then frees what is still used. As with hardware, a portal does not listen again by itself.
device_away() {
	local portal
	ip link set iser0 down && rdma link delete srnic0 && sleep 1 && link_up iser0 $ADDRESS6 &&
		rdma link add srnic0 type srnic netdev iser0 && map_port || return
	for portal in "$ADDRESS:$PORT" "[$ADDRESS6]:$PORT"; do
		echo 0 >"$TPG/np/$portal/iser" && echo 1 >"$TPG/np/$portal/iser" || return
	done
}

no_protection_information() {
	dmesg -C
	echo 3 >/sys/module/ib_isert/parameters/debug_level && echo 1 >$TPG/attrib/t10_pi && discovered "$1" &&
		logged_in "$1" && logged_out "$1" && echo 0 >$TPG/attrib/t10_pi &&
		echo 0 >/sys/module/ib_isert/parameters/debug_level && dmesg | grep "PI offload disabled"
}

each_family() { # PORTAL
	check "iSER, $1: the target is discovered" discovered "$1" || return
	check "iSER, $1: login" logged_in "$1" || return
	check "iSER, $1: fio verifies what it writes" verified_over_rdma
	check "iSER, $1: a file system" file_system
	check "iSER, $1: the target is lost in mid-I/O" in_mid_io target_away
	check "iSER, $1: the link is lost in mid-I/O" in_mid_io link_away iser0 $ADDRESS6
	check "iSER, $1: the device is removed in mid-I/O" in_mid_io device_away
	check "iSER, $1: logout" logged_out "$1"
}

if ! modprobe -aq ib_iser ib_isert target_core_file || ! type iscsid mkfs.ext4 fio >/dev/null 2>&1; then
	echo "1..0 # SKIP no iSER here, kernel or programs (open-iscsi, e2fsprogs, fio)"
	exit 0
fi
if pgrep -x iscsid >/dev/null || [ -e $TARGET/iscsi ]; then
	echo "1..0 # SKIP this machine has iSCSI sessions or targets itself"
	exit 0
fi
modprobe -a ib_uverbs srnic && disk_device_up iser0 $ADDRESS $ADDRESS6 && disk_up || { echo "Bail out! no device or disk"; exit 1; }
OBJECTS=$(objects)
check "a target" target_up
check "its port is in use, and the log says what to do" portal_is_taken
check "another TCP port carries RDMA port $PORT" map_port
check "a portal, IPv4" portal_up "$ADDRESS:$PORT"
check "a portal, IPv6" portal_up "[$ADDRESS6]:$PORT"
check "an initiator" initiator_up
each_family "$ADDRESS:$PORT"
each_family "[$ADDRESS6]:$PORT"
check "T10-PI is not offered" no_protection_information "$ADDRESS:$PORT"
check "the initiator goes" initiator_down
check "the target goes" target_down
check "nothing is left behind" settled "$OBJECTS"
rdma link delete srnic0
ip link del iser0
finish
