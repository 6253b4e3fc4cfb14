#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Programs that connect by hand, unmodified, on devices of type srnic_ib: ibv_rc_pingpong and ibv_srq_pingpong, with each
# byte verified, and perftest without -R. What fails is run on rxe, too, on the same interfaces, and the log has what came
# of it. SIZES, ITERS; REPEAT: how often a program ends right after its last completion.
cd "$(dirname "$0")" && . ./lib.sh

SIZES=${SIZES:-1 4096 1048576}
ITERS=${ITERS:-200}
REPEAT=${REPEAT:-20}
PINGPONG="-n $ITERS -m 1024 -c"	# rxe wants that its MTU fits the interface's
PERF="-F -n $ITERS"

# The program's server on the driver's second device, its client on the first.
on() { # DRIVER KIND PROGRAM [OPTION...]
	local option=-x program="${*:3}"
	[ "$1" != rxe ] || note_indices rxe || return # its devices are new each time
	[[ $3 != ibv_* ]] || option=-g
	with_server sr1 "$program -d ${1}1 $option ${INDEX[${1}1:$2]}" \
		sr0 "exec $program -d ${1}0 $option ${INDEX[${1}0:$2]} $IP1" 18515
}

by_hand() { compared on "$@"; } # KIND PROGRAM [OPTION...]

runs() { check "$*" by_hand IPv4 "$@"; } # PROGRAM [OPTION...]

runs_if_known() { # OPTION PROGRAM [OPTION...]
	if "$2" --help 2>&1 | grep -q -e "$1"; then
		runs "${@:2}"
	else
		skip_one "${*:2}" "this $2 does not have $1"
	fi
}

runs_without_receives() { # PROGRAM [OPTION...]
	check "$*: receives run out" grows srnic1 rx_no_receive 1 by_hand IPv4 "$@"
}

# What the peer has received completes there, even if the sender is gone right after its own completion.
ends_at_once() {
	local i
	for ((i = 0; i < REPEAT; i++)); do
		by_hand IPv4 ibv_rc_pingpong -n 2 -c -e || return
	done
}

# A message and its answer are four segments: each end's Ack of the message that came goes in a segment of its own, but
# TCP acknowledges in those.
rounds_cost() { # SEGMENTS
	local before segments
	before=$(tcp_count TcpOutSegs)
	by_hand IPv4 ibv_rc_pingpong -n 2000 -s 64 -e || return
	segments=$(($(tcp_count TcpOutSegs) - before))
	echo "$segments segments for 2000 rounds"
	((segments <= $1 * 2000 + 200))
}

objects() { resources_and_streams; }

pingpongs() {
	local program size
	for program in ibv_rc_pingpong ibv_srq_pingpong; do
		for size in $SIZES; do
			# shellcheck disable=SC2086
			runs $program $PINGPONG -e -s "$size"
		done
		for kind in IPv6 default; do
			# shellcheck disable=SC2086
			check "$program $PINGPONG -e, by the $kind GIDs" by_hand $kind $program $PINGPONG -e
		done
		# shellcheck disable=SC2086
		runs $program $PINGPONG
	done
	# shellcheck disable=SC2086
	{
		runs_if_known --new_send ibv_rc_pingpong $PINGPONG -e -N
		runs ibv_rc_pingpong $PINGPONG -e -r 1
		runs ibv_srq_pingpong -n 500 -m 1024 -c -e -q 64
	}
}

# Events where the program has them: it cannot with Writes. Few Writes to measure latency: both ends poll memory.
# shellcheck disable=SC2086
perftests() {
	local size type
	for size in $SIZES; do
		runs ib_send_bw $PERF -s "$size"
		runs ib_send_lat $PERF -s "$size" -e
		runs ib_write_bw $PERF -s "$size"
		runs ib_read_bw $PERF -s "$size" -e
		runs_if_known --write_with_imm ib_write_bw $PERF -s "$size" --write_with_imm
	done
	runs ib_write_lat -F -n 20 -s 64
	runs ib_read_lat $PERF -s 64 -e
	for type in FETCH_AND_ADD CMP_AND_SWAP; do
		runs ib_atomic_bw $PERF -A $type -e
		runs ib_atomic_lat $PERF -A $type -e
	done
	runs ib_send_bw $PERF -b -s 4096
	runs ib_write_bw $PERF -b -s 65536
	runs ib_read_bw $PERF -b -s 65536
	runs ib_atomic_bw $PERF -b
	runs ib_send_bw $PERF -q 8 -s 4096
	runs ib_write_bw $PERF -q 8 -s 4096
	runs ib_read_bw $PERF -q 8 -s 4096
	runs ib_read_bw $PERF -o 1 -s 65536
	runs ib_write_bw $PERF -I 236 -s 236
	runs ib_send_bw $PERF --use-srq -q 8 -s 4096
	runs ib_send_lat $PERF --use-srq -e -s 4096
	check "ib_send_bw $PERF -s 4096, by the IPv6 GIDs" by_hand IPv6 ib_send_bw $PERF -s 4096
}

# shellcheck disable=SC2086
receives_run_out() {
	runs_without_receives ib_send_bw $PERF -r 1 -t 64 -s 4096
	runs_without_receives ib_send_bw $PERF -r 2 -t 64 -s 65536 -b
	runs_without_receives ib_send_bw $PERF --use-srq -r 8 -q 4 -t 64 -s 4096
}

needs ibv_rc_pingpong ib_send_bw python3
modprobe -a ib_uverbs srnic
hosts_up && ib_devices_up && note_indices srnic || { echo "Bail out! no devices"; exit 1; }
BEFORE=$(objects)
pingpongs
perftests
receives_run_out
check "ibv_rc_pingpong ends right after its last completion, $REPEAT times" ends_at_once
check "a message and its answer take four TCP segments" rounds_cost 4
check "nothing is left of them" settled "$BEFORE"
finish
