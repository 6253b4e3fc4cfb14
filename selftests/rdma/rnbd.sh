#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# RNBD: the kernel's block device over RTRS, its transport of RDMA Writes with Immediate Data (RFC 7306), unmodified. Both
# ends know only the first network namespace, so they are on one device there:
#
#   client: rnbd_client, rtrs_client ── srnic0 on rnbd, 10.97.0.1, fd97::1 ── rnbd_server: port 1234, a loop device
#
# RTRS answers by Sends with both payload and Immediate Data, which RFC 7306 does not have, unless always_invalidate is
# off; RDMA/TCP and devices of type srnic_ib have them.
#
# MIB: of the disk, at least 16. LIMIT: seconds for each step.
cd "$(dirname "$0")" && . ./lib.sh && . shared/disk.sh

ADDRESS=10.97.0.1 ADDRESS6=fd97::1
CONTROL=/sys/class/rnbd-client/ctl

server_up() {
	truncate -s "${MIB}M" "$LOGS/disk" && LOOP=$(losetup --find --show "$LOGS/disk") &&
		modprobe rtrs_server always_invalidate=$ALWAYS_INVALIDATE && modprobe rnbd_server
}

server_down() { modprobe -r rnbd_server && losetup -d "$LOOP"; }

mapped() { # ADDRESS
	timeout "$LIMIT" sh -c "echo 'sessname=srnic path=ip:$1 device_path=$LOOP' >$CONTROL/map_device" && within 100 disk
}

disk() {
	DISK=$(ls /dev/rnbd* 2>/dev/null | head -n 1)
	[ -b "$DISK" ]
}

unmapped() { echo normal >"/sys/block/${DISK#/dev/}/rnbd/unmap_device" && within 100 eval "! [ -e '$DISK' ]"; }

each_family() { # ADDRESS
	check "RNBD, $1: the disk is mapped" mapped "$1" || return
	check "RNBD, $1: fio verifies what it writes" verified_over_rdma
	[ "$1" = $ADDRESS6 ] || check "RNBD, $1: the link is lost in mid-I/O" in_mid_io link_away rnbd $ADDRESS6
	check "RNBD, $1: the disk is unmapped" unmapped
}

if ! modprobe -aq loop rnbd_client rnbd_server || ! type fio >/dev/null 2>&1; then
	skip "no RNBD here, kernel or programs (fio)"
fi
modprobe -r rnbd_server
[ "${FRAMING:-mpa} ${DEVICE_TYPE:-srnic}" = "mpa srnic" ] && ALWAYS_INVALIDATE=N || ALWAYS_INVALIDATE=Y
modprobe -a ib_uverbs srnic && framing_up && disk_device_up rnbd $ADDRESS $ADDRESS6 || { echo "Bail out! no device"; exit 1; }
OBJECTS=$(objects)
check "a server" server_up
each_family $ADDRESS
each_family $ADDRESS6
check "the server goes" server_down
check "the client goes" modprobe -r rnbd_client
check "nothing is left behind" settled "$OBJECTS"
rdma link delete srnic0
ip link del rnbd
finish
