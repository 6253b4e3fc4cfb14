# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Block devices over RDMA: what fio writes to $DISK it must read again, also if something is lost meanwhile. Sourced by the
# tests of kernel consumers, after lib.sh. Both ends are on srnic0.
#
# MIB: of the disk. BLOCK: octets of its blocks. LIMIT: seconds for each step.
# shellcheck shell=bash

MIB=${MIB:-64}
BLOCK=${BLOCK:-512}
LIMIT=${LIMIT:-120}

# A device of the first network namespace, on an interface of its own.
disk_device_up() { # NETDEV ADDRESS ADDRESS6
	ip link add "$1" type dummy && ip addr add "$2/24" dev "$1" && ip addr add "$3/64" dev "$1" nodad &&
		ip link set "$1" up && rdma link add srnic0 type "${DEVICE_TYPE:-srnic}" netdev "$1"
}

verified() { # fio's options
	timeout "$LIMIT" fio --name=verify --filename="$DISK" --direct=1 --ioengine=libaio --iodepth=16 --rw=randwrite \
		--bsrange="$BLOCK-512k" --blockalign="$BLOCK" --size=$((MIB / 2))M --verify=crc32c --verify_fatal=1 "$@"
}

# All of what fio has written and read crossed the device.
verified_over_rdma() { grows srnic0 rx_octets $((MIB << 20)) verified; }

# Its errors, not the pages of figures after them.
fio_said() { grep -vE '^ .*[=:]|^$' "$LOGS/fio" | head -n 25; }

fio_is_at_work() { ls -l /proc/[0-9]*/fd 2>/dev/null | grep -qF -- "-> $DISK"; }

# fio goes on while something is lost, and comes back. It verifies soon after each write: what it has not verified when its
# time is over it never will. It begins anew at the end of the file, and must not write there what it is still verifying.
in_mid_io() { # COMMAND...
	local fio status=0
	verified --time_based --runtime=8 --verify_backlog=16 --serialize_overlap=1 >"$LOGS/fio" 2>&1 &
	fio=$!
	within 100 fio_is_at_work && sleep 2 && kill -0 $fio || { fio_said; return 1; }
	"$@" || status=1
	wait $fio || { echo "fio's status: $?"; fio_said; status=1; }
	return $status
}

# fio does not come back: it gets errors, and ends.
ends_in_mid_io() { # COMMAND...
	local fio status
	verified --time_based --runtime=60 >"$LOGS/fio" 2>&1 &
	fio=$!
	within 100 fio_is_at_work && sleep 2
	kill -0 $fio && "$@" || { fio_said; return 1; }
	wait $fio
	status=$?
	[ $status != 0 ] && [ $status != 124 ] && return	# 124: timeout's
	echo "fio's status: $status"
	return 1
}

# NETDEV ADDRESS6, which goes with the link
link_up() { ip link set "$1" up && ip addr replace "$2/64" dev "$1" nodad; }

# Both ends are here, and reach the IPv4 addresses of an interface that is down, too, unless their routes go.
link_down() { ip link set "$1" down && ip route flush table local dev "$1"; } # NETDEV

link_away() { link_down "$1" && sleep 3 && link_up "$1" "$2"; }

# Not the CQs, which the RDMA core keeps for the next consumer until the device goes.
objects() { resources | sed 's/ cq [0-9]*//'; }
