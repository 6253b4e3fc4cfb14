#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A file on NFS 4.2, over srnic, siw or TCP; the server has it in memory.
#
#   client: sr0, srnic0 and siw0 ── cables, MTU 1500 ── sr1, srnic1 and siw1: the server
cd "$(dirname "$0")/.." && . ./lib.sh && . shared/nfs.sh && . shared/disk.sh && . bench/fio.sh

HAS="srnic srnic-crc siw tcp"
SIW0=10.97.0.1 SIW1=10.97.0.2 TCP_PORT=2049
DISK=$MOUNT/file

siw_up() {
	! wants siw || { modprobe siw && another_cable 2 10.97.0 && ns0 rdma link add siw0 type siw netdev veth2 &&
		ns1 rdma link add siw1 type siw netdev veth3; }
}

siw_down() {
	! wants siw || { rdma link delete siw0 && rdma link delete siw1; }
}

server_up() {
	mkdir "$EXPORT" "$MOUNT" && mount -t tmpfs -o "size=$((MIB + 1))m" bench "$EXPORT" &&
		head -c $((MIB << 20)) /dev/urandom >"$EXPORT/file" && serve_nfs &&
		ns1 exportfs -i -o rw,no_root_squash,no_subtree_check,insecure,fsid=0 "$SIW0:$EXPORT" &&
		echo "tcp $TCP_PORT" >$NFSD/portlist
}

consumer_up() { # PEER
	local address=$IP1 transport=rdma port=$PORT
	case $1 in
	siw) address=$SIW1 ;;
	tcp) transport=tcp port=$TCP_PORT ;;
	esac
	timeout 60 nsenter --net=/run/netns/sr0 mount -t nfs -o "vers=4.2,proto=$transport,port=$port" "$address:/" "$MOUNT" &&
		grep "$MOUNT nfs.*proto=$transport" /proc/mounts
}

consumer_down() { umount "$MOUNT"; }

some_or_exit
nfs_or_skip
type fio >/dev/null 2>&1 || { echo "1..0 # SKIP no fio here"; exit 0; }
up_or_exit hosts_up
up_or_exit devices_up
up_or_exit siw_up
up_or_exit server_up
each_peer nfs
ns1 exportfs -u "$SIW0:$EXPORT"
stop_serving_nfs
umount "$EXPORT"
siw_down
everything_down
