#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# SRP: the kernel's target (LIO, ib_srpt) and initiator (ib_srp), unmodified. The target knows only the first network
# namespace, so both ends are on one device there:
#
#   initiator: ib_srp ── srnic0 on srp0, 10.92.0.1, fd92::1 ── LIO, ib_srpt: port 5555 of both addresses
#
# Then some of it over rxe and siw, where the kernel has them: the same commands work there.
#
# MIB: of the disk, at least 16. LIMIT: seconds for each step. SHORT: 1 leaves out IPv6, what is lost in mid-I/O, and the
# other drivers.
cd "$(dirname "$0")" && . ./lib.sh && . shared/disk.sh && . shared/lio.sh

ADDRESS=10.92.0.1 ADDRESS6=fd92::1
PORT=5555
SERVICE=/sys/module/ib_srpt/parameters/srpt_service_guid
RPORTS=/sys/class/srp_remote_ports
INITIATOR=0000000000000001	# the first half of the initiator's identity; the second is of its device's GID
SHORT=${SHORT:-}

# ---- the target: a port of the device, an initiator that may use it, and the disk for both ----

gid() { # DEVICE
	local gid
	gid=$(cat "/sys/class/infiniband/$1/ports/1/gids/0") && echo "${gid//:/}"
}

set_names() { # DEVICE
	local gid
	gid=$(gid "$1") && TPORT=$TARGET/srpt/0x$gid && TPG=$TPORT/0x$gid && ACL=$TPG/acls/0x$INITIATOR${gid:16}
}

target_up() { # DEVICE
	set_names "$1" && mkdir -p "$TPORT" && mkdir "$TPG" "$TPG/lun/lun_0" "$ACL" "$ACL/lun_0" &&
		ln -s $STORE "$TPG/lun/lun_0/disk" && ln -s "$TPG/lun/lun_0" "$ACL/lun_0/disk" && echo 1 >"$TPG/enable"
}

target_down() {
	echo 0 >"$TPG/enable"
	rm "$ACL/lun_0/disk" "$TPG/lun/lun_0/disk" && rmdir "$ACL/lun_0" "$ACL" "$TPG/lun/lun_0" "$TPG" "$TPORT"
}

# On all devices, or on none.
listen_on() { # PORT
	local file=$TARGET/srpt/discovery_auth/rdma_cm_port
	echo "$1" >$file && grep -qx "$1" $file
}

# ---- the initiator ----

login() { # DEVICE INITIATOR ADDRESS [OPTION]
	local guid
	guid=$(cat $SERVICE) && echo "id_ext=$guid,ioc_guid=$guid,initiator_ext=$2,dest=$3:$PORT${4:+,$4}" \
		>"/sys/class/infiniband_srp/srp-$1-1/add_target"
}

# The initiator refuses as long as a session that ended a moment ago is not all gone. OPTION: "ch_count=2", say.
logged_in() { # DEVICE ADDRESS [OPTION]
	within 20 login "$1" $INITIATOR "${@:2}" && patient && within 100 disk
}

# A lost connection is made again after a second, and requests wait for it.
patient() {
	local rport
	rport=$(echo $RPORTS/port-*) && echo 1 >"$rport/reconnect_delay" && echo 60 >"$rport/fast_io_fail_tmo"
}

# The disk's node: of the only target.
disk() {
	local host
	host=$(echo $RPORTS/port-*) && host=${host##*/port-}
	DISK=$(ls -d /sys/class/scsi_device/"${host%:*}":*/device/block/* 2>/dev/null) && DISK=/dev/${DISK##*/} && [ -b "$DISK" ]
}

no_target() { ! compgen -G "$RPORTS/port-*"; }

logged_out() {
	local rport
	for rport in "$RPORTS"/port-*; do
		echo 1 >"$rport/delete" || return
	done
	within 100 no_target
}

stranger_is_refused() { ! login srnic0 2 $ADDRESS && no_target; }

# ---- I/O ----

# More than one request of the device's may carry.
large_requests() {
	grows srnic0 rx_octets $((MIB << 20)) timeout "$LIMIT" fio --name=large --filename="$DISK" --direct=1 \
		--ioengine=libaio --iodepth=4 --rw=write --bs=4M --size="${MIB}M" --verify=crc32c --verify_fatal=1
}

# Buffers of blocks that lie anywhere in pages, for a request of many of them, which the initiator has to register piece by
# piece or copy.
scattered_requests() { timeout "$LIMIT" python3 srp/scattered.py "$DISK"; }

# ---- what is lost in mid-I/O comes back ----

target_away() { echo 0 >"$TPG/enable" && sleep 3 && echo 1 >"$TPG/enable"; }

# ---- what does not ----

device_up() {
	ip addr replace $ADDRESS6/64 dev srp0 nodad && rdma link add srnic0 type "${DEVICE_TYPE:-srnic}" netdev srp0
}

# As with hardware, the target's port goes with its device.
device_away() { rdma link delete srnic0 && sleep 1 && target_down && device_up && within 50 target_up srnic0; }

# ib_srp gives up the disks of a device that goes, and fio gets errors.
device_removed() { ends_in_mid_io device_away && within 100 no_target; }

losses() { # ADDRESS
	check "SRP, $1: the target is lost in mid-I/O" in_mid_io target_away
	check "SRP, $1: the link is lost in mid-I/O" in_mid_io link_away srp0 $ADDRESS6
	check "SRP, $1: the device is removed in mid-I/O, and comes back" device_removed
	check "SRP, $1: login again" logged_in srnic0 "$1"
	check "SRP, $1: fio verifies what it writes" verified_over_rdma
}

each_family() { # ADDRESS
	check "SRP, $1: login" logged_in srnic0 "$1" || return
	check "SRP, $1: fio verifies what it writes" verified_over_rdma
	check "SRP, $1: requests of 4 MiB" large_requests
	check "SRP, $1: requests of pieces that are not pages" scattered_requests
	[ "$SHORT" = 1 ] || losses "$1"
	check "SRP, $1: logout" logged_out
}

# ---- other drivers ----

other_driver() { # TYPE ADDRESS
	rdma link add "${1}0" type "$1" netdev srp0 && listen_on $PORT && target_up "${1}0" &&
		logged_in "${1}0" "$2" && verified && scattered_requests && logged_out && listen_on 0 &&
		target_down && rdma link delete "${1}0"
}

compare_with() { # TYPE MODULE ADDRESS
	if modprobe -q "$2"; then
		check "the same over $1" other_driver "$1" "$3"
	else
		skip_one "the same over $1" "there is no module $2"
	fi
}

modprobe -aq ib_srpt ib_srp target_core_file || skip "this kernel has no SRP, as user-mode Linux; Debian's have it"
type fio python3 >/dev/null 2>&1 || skip "fio or python3 is not installed"
[ ! -e $TARGET/srpt ] || skip "this machine has SRP targets itself"
modprobe -a ib_uverbs srnic && disk_device_up srp0 $ADDRESS $ADDRESS6 && store_up && mkdir $TARGET/srpt && listen_on 0 ||
	{ echo "Bail out! no device or disk"; exit 1; }
OBJECTS=$(objects)
check "a target" target_up srnic0
check "it listens" listen_on $PORT
check "an initiator that the target does not know is refused" stranger_is_refused
each_family $ADDRESS
[ "$SHORT" = 1 ] || each_family "[$ADDRESS6]"
check "SRP, $ADDRESS: login with two channels" logged_in srnic0 "$ADDRESS" ch_count=2
check "SRP, $ADDRESS: fio verifies what it writes" verified_over_rdma
check "SRP, $ADDRESS: logout" logged_out
check "it listens no more" listen_on 0
check "the target goes" target_down
check "nothing is left behind" settled "$OBJECTS"
rdma link delete srnic0
if [ "$SHORT" != 1 ]; then
	compare_with rxe rdma_rxe $ADDRESS
	compare_with siw siw "[$ADDRESS6]"	# its listeners of all addresses get no connections by IPv4
fi
rmdir $TARGET/srpt && modprobe -r ib_srp ib_srpt
store_down
ip link del srp0
finish
