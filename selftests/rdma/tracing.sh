#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The tracepoints: a connection from its SYN to its FIN, every byte of a transfer, and what an engine waits for and who
# wakes it. Skipped if the kernel has no trace events.
cd "$(dirname "$0")" && . ./lib.sh

ITERS=100 # with few, each answer may come before the next post
TRACE=/sys/kernel/tracing/instances/srnic

# Runs the command with these events on. Their output is in $LOGS/trace.
traced() { # "EVENT..." COMMAND...
	local event status
	echo >$TRACE/trace
	for event in $1; do
		echo 1 >"$TRACE/events/srnic/$event/enable" || return
	done
	"${@:2}"
	status=$?
	echo 0 >$TRACE/events/srnic/enable
	grep -v '^#' $TRACE/trace >"$LOGS/trace"
	return $status
}

everything() { (cd $TRACE/events/srnic && echo srnic_*); }

shows() { # REGEX...: each stands there at least once
	local line
	for line; do
		grep -qE "$line" "$LOGS/trace" && continue
		echo "nothing like \"$line\" in $(wc -l <"$LOGS/trace") lines, such as"
		head -n 20 "$LOGS/trace"
		return 1
	done
}

sum_of() { # REGEX-WITH-A-GROUP
	sed -nE "s/.*$1.*/\1/p" "$LOGS/trace" | awk '{ n += $1 } END { print n + 0 }'
}

# The events name every byte that was given to TCP, and none of them was lost.
all_octets() {
	local before
	before=$(counter srnic0 tx_octets)
	traced srnic_tx_batch perf ib_write_bw 65536 || return
	sleep 0.1 # the RDMA core keeps counters for a while
	echo "$(sum_of 'srnic0 qp [0-9]+: ([0-9]+) octets taken') octets in the trace, $before before"
	[ "$(sum_of 'srnic0 qp [0-9]+: ([0-9]+) octets taken')" = "$(($(counter srnic0 tx_octets) - before))" ]
}

terminates() {
	traced "srnic_terminate_sent srnic_terminate_received" end_by terminate && shows \
		"srnic_terminate_sent: srnic0 qp [0-9]+: layer 1 type 1 code 0: tagged message: there is no such STag" \
		"srnic_terminate_received: srnic0 qp [0-9]+: layer 1 type 1 code 0: tagged message: there is no such STag"
}

nothing_when_off() {
	echo >$TRACE/trace
	perf ib_write_bw 4096 && ! grep -q srnic $TRACE/trace
}

needs rping ib_write_bw
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
if [ ! -d /sys/kernel/tracing/events/srnic ]; then
	everything_down
	skip "this kernel has no trace events (CONFIG_EVENT_TRACING, tracefs on /sys/kernel/tracing)"
fi
mkdir $TRACE && echo 16384 >$TRACE/buffer_size_kb || { echo "Bail out! no trace instance"; exit 1; }

check "rping is traced" traced "$(everything)" rping_between sr1 sr0 "$IP1" 5 64
check "how the initiator connects" shows \
	"srnic_conn_state: srnic0 .* CONNECTING -> REQUESTING by TCP_CONNECTED" \
	"srnic_conn_state: srnic0 .* AWAIT_REPLY -> OPERATION by QP_STARTED" "srnic_qp_state: srnic0 .* IDLE -> RTS"
check "how the responder does" shows "srnic_conn_state: srnic1 .* AWAIT_REQUEST -> ANNOUNCED by TOOK_REQUEST" \
	"srnic_conn_state: srnic1 .* ANNOUNCED -> REPLYING by ACCEPT" "srnic_qp_state: srnic1 .* IDLE -> RTS"
check "how it ends" shows "srnic_conn_state: srnic0 .* -> DEAD" "srnic_conn_state: srnic1 .* -> DEAD" \
	"srnic_qp_state: srnic0 .* RTS -> ERROR"
check "doorbells, passes and batches" shows "srnic_tx_post: srnic0 qp [0-9]+: doorbell, [1-9]" \
	"srnic_tx_pass: srnic0 qp [0-9]+: doorbell, idle" "srnic_tx_batch: srnic0 qp [0-9]+: [0-9]+ octets taken, 0 left, 1 FPDUs"
check "segments, FPDUs and messages" shows "srnic_rx_segment: srnic1 qp [0-9]+: [0-9]+ octets" \
	"srnic_rx_batch: srnic1 qp [0-9]+: [0-9]+ octets, 1 FPDUs" "srnic_rx_message: srnic1 qp [0-9]+: Send" \
	"srnic_rx_message: srnic0 qp [0-9]+: Read Request" "srnic_rx_message: srnic1 qp [0-9]+: Read Response"
check "completions, and the consumers that they wake" shows "srnic_completion: srnic0 qp [0-9]+ cq [0-9]+: Send, status 0" \
	"srnic_completion: srnic1 qp [0-9]+ cq [0-9]+: receive, status 0, [1-9]" "srnic_cq_event: srnic1 cq"
check "each byte of a transfer" all_octets
check "reads one at a time are traced" traced "srnic_tx_stall srnic_tx_kick" perf ib_read_bw 4096 --outs=1
check "they wait for reads, whose responses wake the engine" shows \
	"srnic_tx_stall: srnic0 qp [0-9]+: reads, [0-9]+ octets to send, [1-9]" \
	"srnic_tx_kick: srnic0 qp [0-9]+: worker, by deliver_read_response"
check "a slow link is traced" slow_link traced "srnic_tx_stall srnic_tx_kick" perf ib_write_bw 65536
check "it fills the socket, and room in it wakes the engine" shows \
	"srnic_tx_stall: srnic0 qp [0-9]+: socket full, [1-9][0-9]* octets to send" \
	"srnic_tx_kick: srnic0 qp [0-9]+: worker, by write_space"
check_with_pyverbs "a Terminate is traced at both ends, in words" terminates
check "nothing is traced when it is off" nothing_when_off
rmdir $TRACE
finish
