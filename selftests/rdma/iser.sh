#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# iSCSI over RDMA: the kernel's target (LIO, ib_isert) and initiator (ib_iser, open-iscsi), unmodified. Both know only the
# first network namespace, so both ends are on one device there:
#
#   initiator: iscsid, ib_iser ── srnic0 on iser0, 10.94.0.1, fd94::1 ── LIO: portals at port 3260 of both addresses
#
# MIB: of the disk, at least 16. LIMIT: seconds for each step.
cd "$(dirname "$0")" && . ./lib.sh && . shared/disk.sh && . shared/lio.sh && . shared/iser.sh

ADDRESS=10.94.0.1 ADDRESS6=fd94::1
MOUNT=$LOGS/mount

portal_is_taken() {
	dmesg -C
	mkdir $TPG/np/$ADDRESS:$PORT || return
	! echo 1 >$TPG/np/$ADDRESS:$PORT/iser || return
	rmdir $TPG/np/$ADDRESS:$PORT
	dmesg | grep "TCP port $PORT is in use; carry RDMA port $PORT on another: port_map"
}

# LIO has the TCP port itself.
ports_are_tcps() { [ "${DEVICE_TYPE:-srnic}" = srnic ]; }

# Some small files, and a large one.
files() {
	mkdir -p "$LOGS/files" && cp -- *.sh "$LOGS/files" && head -c 8M /dev/urandom >"$LOGS/files/random"
}

file_system() {
	files && mkdir -p "$MOUNT" && mkfs.ext4 -q "$DISK" && mount "$DISK" "$MOUNT" && cp -r "$LOGS/files/." "$MOUNT" &&
		sync -f "$MOUNT" && umount "$MOUNT" && echo 3 >/proc/sys/vm/drop_caches && mount -o ro "$DISK" "$MOUNT" &&
		diff -r "$LOGS/files" "$MOUNT" -x lost+found && umount "$MOUNT"
}

# ---- what is lost in mid-I/O comes back ----

target_away() { echo 0 >$TPG/enable && sleep 3 && echo 1 >$TPG/enable; }

target_gone() {
	within 100 only_the_initiator_is_left && return
	rdma resource show qp link srnic0
	blocked_tasks
	return 1
}

only_the_initiator_is_left() { [ "$(rdma resource show qp link srnic0 | grep lqpn | grep -vc "type GSI")" -le 1 ]; }

# The link goes first, as when hardware is pulled, so the initiator does not notice that LIO's end of the connection goes
# next. That must be gone before the device: isert_cma_handler() lets a device go when isert_release_work() has run, while
# the connection's thread may still drain the QP (isert_free_conn()), and then does so for ever. As with hardware, a portal
# does not listen again by itself.
device_away() {
	local portal
	link_down iser0 && echo 0 >$TPG/enable && target_gone &&
		rdma link delete srnic0 && sleep 1 && link_up iser0 $ADDRESS6 &&
		rdma link add srnic0 type "${DEVICE_TYPE:-srnic}" netdev iser0 && { ! ports_are_tcps || map_port; } || return
	for portal in "$ADDRESS:$PORT" "[$ADDRESS6]:$PORT"; do
		echo 0 >"$TPG/np/$portal/iser" && echo 1 >"$TPG/np/$portal/iser" || return
	done
	echo 1 >$TPG/enable
}

no_protection_information() {
	dmesg -C
	echo 2 >/sys/module/ib_isert/parameters/debug_level && echo 1 >$TPG/attrib/t10_pi && discovered "$1" &&
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
	skip "no iSER here, kernel or programs (open-iscsi, e2fsprogs, fio)"
fi
if pgrep -x iscsid >/dev/null || [ -e $TARGET/iscsi ]; then
	skip "this machine has iSCSI sessions or targets itself"
fi
modprobe -a ib_uverbs srnic && disk_device_up iser0 $ADDRESS $ADDRESS6 && disk_up || { echo "Bail out! no device or disk"; exit 1; }
OBJECTS=$(objects)
check "a target" target_up
if ports_are_tcps; then
	check "its port is in use, and the log says what to do" portal_is_taken
	check "another TCP port carries RDMA port $PORT" map_port
fi
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
