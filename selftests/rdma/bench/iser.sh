#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A file as an iSCSI disk, over srnic or srnic_ib (iSER) or TCP; the target has it in memory. Not over siw: LIO has a TCP
# listener on the port where it would listen for RDMA. Both ends are on one device, so data goes through lo:
#
#   initiator ── srnic0 on bench0, 10.94.0.1; ib0 on bench1, 10.94.1.1; or TCP on bench0 ── LIO
cd "$(dirname "$0")/.." && . ./lib.sh && . shared/disk.sh && . shared/lio.sh && . shared/iser.sh && . bench/fio.sh

HAS="srnic srnic-crc srnic-shortcut srnic-ib srnic-ib-shortcut tcp"
ADDRESS=10.94.0.1 IB=10.94.1.1

consumer_up() { # PEER
	TRANSPORT=iser PORTAL=$ADDRESS:$PORT
	case $1 in
	srnic-ib*) PORTAL=$IB:$PORT ;;
	tcp) TRANSPORT=tcp ;;
	esac
	talk "$1" && discovered $PORTAL && logged_in $PORTAL
}

consumer_down() { logged_out $PORTAL; }

portals_ready() { target_up && map_port && portal_up $ADDRESS:$PORT && portal_up $IB:$PORT; }

some_or_exit
if ! modprobe -aq ib_iser ib_isert target_core_file iscsi_tcp || ! type iscsid fio >/dev/null 2>&1; then
	skip "no iSER here, kernel or programs (open-iscsi, fio)"
fi
up_or_exit modprobe -a ib_uverbs srnic
up_or_exit disk_device_up bench0 $ADDRESS fd94::1
up_or_exit ib_device_up bench1 $IB
up_or_exit mount -t tmpfs -o "size=$((MIB + 1))m" bench "$LOGS"
up_or_exit disk_up
up_or_exit portals_ready
up_or_exit initiator_up
each_peer iser
initiator_down
target_down
umount "$LOGS" && rmdir "$LOGS"
rdma link delete srnic0
rdma link delete ib0
ip link del bench0
ip link del bench1
