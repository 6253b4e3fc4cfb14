#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A file as an NVMe namespace, over srnic, srnic_ib, siw or TCP; the target has it in memory. Both ends are on one device, so data
# goes through lo:
#
#   host ── srnic0 on bench0, 10.93.0.1; siw0 on bench1, 10.92.0.1; ib0 on bench2, 10.90.0.1; TCP on bench0 ── nvmet
BLOCK=4096
cd "$(dirname "$0")/.." && . ./lib.sh && . shared/disk.sh && . shared/nvme.sh && . bench/fio.sh

HAS="srnic srnic-crc srnic-shortcut srnic-ib srnic-ib-shortcut siw tcp"
ADDRESS=10.93.0.1 SIW=10.92.0.1 IB=10.90.0.1

devices_up() {
	modprobe -a ib_uverbs srnic && disk_device_up bench0 $ADDRESS fd93::1 && ib_device_up bench2 $IB || return
	! wants siw || { modprobe siw && ip link add bench1 type dummy && ip addr add $SIW/24 dev bench1 &&
		ip link set bench1 up && rdma link add siw0 type siw netdev bench1; }
}

devices_down() {
	rdma link delete srnic0 && ip link del bench0 && rdma link delete ib0 && ip link del bench2 || return
	! wants siw || { rdma link delete siw0 && ip link del bench1; }
}

consumer_up() { # PEER
	TRANSPORT=rdma PORT=4420
	talk "$1" || return
	case $1 in
	srnic-ib*) connected $IB ;;
	srnic*) connected $ADDRESS ;;
	siw) connected $SIW ;;
	tcp) TRANSPORT=tcp PORT=4421 connected $ADDRESS ;;
	esac
}

consumer_down() { disconnected; }

# One for each peer.
ports_up() {
	PORTS=(1 2)
	port_up 1 ipv4 $ADDRESS && port_up 2 ipv4 $IB || return
	! wants siw || { PORTS+=(3) && port_up 3 ipv4 $SIW || return; }
	! wants tcp || { PORTS+=(4) && TRANSPORT=tcp PORT=4421 port_up 4 ipv4 $ADDRESS; }
}

some_or_exit
if ! modprobe -aq nvme_rdma nvmet_rdma nvme_tcp nvmet_tcp || ! type nvme fio >/dev/null 2>&1; then
	skip "no NVMe over RDMA and TCP here, kernel or programs (nvme-cli, fio)"
fi
up_or_exit devices_up
up_or_exit mount -t tmpfs -o "size=$((MIB + 1))m" bench "$LOGS"
up_or_exit target_up
up_or_exit ports_up
each_peer nvme
target_down "${PORTS[@]}"
umount "$LOGS" && rmdir "$LOGS"
devices_down
