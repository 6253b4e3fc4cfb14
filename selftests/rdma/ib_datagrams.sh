#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Programs that send datagrams, unmodified, on devices of type srnic_ib: ibv_ud_pingpong, with each page verified, and
# perftest with -c UD, between two hosts and on one device with itself. What fails is run on rxe, too, on the same
# interfaces, and the log has what came of it.
#
# SIZES: up to the MTU; ITERS: fewer than perftest posts receives (512), since nothing holds back a sender.
cd "$(dirname "$0")" && . ./lib.sh

SIZES=${SIZES:-1 64 1000 1024}
ITERS=${ITERS:-200}
PINGPONG="ibv_ud_pingpong -n $ITERS -c"
PERF="-c UD -F -n $ITERS"

# The program's server on the driver's second device, or on its first, its client on the first.
on_two_hosts() { # DRIVER KIND PROGRAM [OPTION...]
	run_on "$1" sr1 1 "$IP1" "${@:2}"
}

on_one_device() { run_on "$1" sr0 0 "$IP0" "${@:2}"; } # DRIVER KIND PROGRAM [OPTION...]

run_on() { # DRIVER SERVER-NS SERVER ADDRESS KIND PROGRAM [OPTION...]
	local option=-x program="${*:6}"
	[ "$1" != rxe ] || note_indices rxe || return # its devices are new each time
	[[ $6 != ibv_* ]] || option=-g
	with_server "$2" "$program -d $1$3 $option ${INDEX[$1$3:$5]}" \
		sr0 "exec $program -d ${1}0 $option ${INDEX[${1}0:$5]} $4" 18515
}

# On both, by the addresses of KIND.
runs_by() { # KIND PROGRAM [OPTION...]
	check "${*:2}, by the $1 GIDs" compared on_two_hosts "$@"
	check "${*:2}, by the $1 GIDs, one device with itself" compared on_one_device "$@"
}

runs() { runs_by IPv4 "$@"; } # PROGRAM [OPTION...]

# The default GID is the link-local address.
# shellcheck disable=SC2086
pingpongs() {
	local size kind
	for size in $SIZES; do
		runs $PINGPONG -s "$size"
	done
	for kind in IPv6 default; do
		runs_by $kind $PINGPONG
		runs_by $kind $PINGPONG -e
	done
	runs $PINGPONG -e
	runs $PINGPONG -r 1
}

# Few datagrams to measure latency without events: both ends poll.
# shellcheck disable=SC2086
perftests() {
	local size
	for size in $SIZES; do
		runs ib_send_bw $PERF -s "$size"
		runs ib_send_lat $PERF -e -s "$size"
	done
	runs ib_send_lat -c UD -F -n 20
	runs ib_send_bw $PERF -e
	runs ib_send_bw $PERF -b -s 1024
	runs ib_send_bw $PERF -q 4 -s 1024
	runs ib_send_bw $PERF -I 236 -s 236
	runs ib_send_bw $PERF --use-srq -s 1024
	runs ib_send_lat $PERF --use-srq -e -s 1024
	runs_by IPv6 ib_send_bw $PERF -s 1024
	runs_by default ib_send_lat $PERF -e -s 1024
}

larger_mtu() {
	ip -n sr0 link set veth0 mtu "$1" && ip -n sr1 link set veth1 mtu "$1" && within 50 mtu_is "$2"
}

mtu_is() { ibv_devinfo -d srnic0 | grep "active_mtu:.*$1 (" && ibv_devinfo -d srnic1 | grep "active_mtu:.*$1 ("; }

# The largest datagram that there is.
# shellcheck disable=SC2086
with_larger_mtu() {
	check "interfaces whose MTU is 9000" larger_mtu 9000 4096
	runs $PINGPONG -e -s 4096
	runs_by IPv6 $PINGPONG -s 4096
	runs ib_send_bw $PERF -s 4096
	runs ib_send_lat $PERF -e -s 4096
}

objects() { resources_and_streams; }

needs ibv_ud_pingpong ib_send_bw python3
modprobe -a ib_uverbs srnic
hosts_up && ib_devices_up && note_indices srnic || { echo "Bail out! no devices"; exit 1; }
BEFORE=$(objects)
pingpongs
perftests
with_larger_mtu
check "nothing is left of them" settled "$BEFORE"
finish
