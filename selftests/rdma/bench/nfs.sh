#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A file on NFS 4.2, over srnic, srnic_ib, siw or TCP; the server has it in memory. Both ends are on one device, so data
# goes through lo, and in the first network namespace, because siw's connections of the kernel's are always there:
#
#   client ── srnic0, ib0 or siw0 on bench0, 10.99.0.2; or TCP ── server
#
# The server listens on all addresses, for which srnic and siw each want the port: only one of the devices is there.
cd "$(dirname "$0")/.." && . ./lib.sh && . shared/nfs.sh && . shared/disk.sh && . bench/fio.sh

HAS="srnic srnic-crc srnic-shortcut srnic-ib srnic-ib-shortcut siw tcp"
TCP_PORT=2049
DISK=$MOUNT/file

# shared/nfs.sh has its server in sr1, its client in sr0.
hosts_up() {
	ip netns attach sr0 $$ && ip netns attach sr1 $$ && modprobe -a ib_uverbs srnic && disk_device_up bench0 "$IP1" "$IP61"
}

# Nobody has anything to reclaim from a server that has just started.
tcp_up() {
	echo Y >$NFSD/v4_end_grace
	grep -q "^tcp $TCP_PORT" $NFSD/portlist || echo "tcp $TCP_PORT" >$NFSD/portlist
}

server_up() {
	mkdir "$EXPORT" "$MOUNT" && mount -t tmpfs -o "size=$((MIB + 1))m" bench "$EXPORT" &&
		head -c $((MIB << 20)) /dev/urandom >"$EXPORT/file" && serve_nfs &&
		exportfs -i -o rw,no_root_squash,no_subtree_check,insecure,fsid=0 "$IP1:$EXPORT" && tcp_up
}

instead() { # OLD-DEVICE NEW-DEVICE TYPE
	threads_down && rdma link delete "$1" && rdma link add "$2" type "$3" netdev bench0 && threads_up && tcp_up
}

consumer_up() { # PEER
	local transport=rdma port=$PORT
	case $1 in
	siw) modprobe siw && instead srnic0 siw0 siw || return ;;
	srnic-ib*) instead srnic0 ib0 srnic_ib || return ;;
	tcp) transport=tcp port=$TCP_PORT ;;
	esac
	talk "$1" || return
	timeout 60 mount -t nfs -o "vers=4.2,proto=$transport,port=$port" "$IP1:/" "$MOUNT" &&
		grep "$MOUNT nfs.*proto=$transport" /proc/mounts
}

consumer_down() { # PEER
	umount "$MOUNT" || return
	case $1 in
	siw) instead siw0 srnic0 srnic ;;
	srnic-ib*) instead ib0 srnic0 srnic ;;
	esac
}

some_or_exit
nfs_or_skip
type fio >/dev/null 2>&1 || skip "no fio here"
up_or_exit hosts_up
up_or_exit server_up
each_peer nfs
exportfs -u "$IP1:$EXPORT"
stop_serving_nfs
umount "$EXPORT"
everything_down
ip link del bench0
