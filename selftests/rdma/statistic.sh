#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The counters show how data moves: batches, copies, the runners of the transmit engine, and what it waits for. Counters of
# single QPs (rdma statistic qp) have the same names, and the device's sum does not lose what they counted. Terminates are
# also in the kernel's log, and the most important counters where tools look for them that know InfiniBand's.
cd "$(dirname "$0")" && . ./lib.sh

ITERS=${ITERS:-100}
PORT=7174

large_writes() { ITERS=100 perf ib_write_lat 1048576; }
small_writes() { ITERS=163840 perf ib_write_bw 8 --post_list=8192 --tx-depth=8192; }

# Of 64 octets, 64 outstanding.
rate() { bench/build/rate cm "sr0:$IP0" "sr1:$IP1" "$1" count=6400 size=64 depth=64 "${@:2}"; } # OPERATION OPTION...
sends() { rate send "$@"; }
reads() { rate read; } # four times the ORD

# ---- Terminates ----

refused() { # a Write
	dmesg >"$LOGS/dmesg"
	end_by terminate
}

logged() { # REGEX: in the log, not before
	within 20 new_line "$1"
}

new_line() { dmesg | tail -n "+$(($(wc -l <"$LOGS/dmesg") + 1))" | grep -E "$1"; }

terminates() {
	grown srnic0 "tx_terminates == rx_terminates == rx_errors == 1" refused &&
		logged "srnic0: qp [0-9]+: Terminate sent: tagged message: there is no such STag [(]layer 1 type 1 code 0[)]" &&
		logged "srnic0: qp [0-9]+: peer's Terminate: tagged message: there is no such STag [(]layer 1 type 1 code 0[)]"
}

# ---- InfiniBand's names ----

of_port() { cat "/sys/class/infiniband/srnic0/ports/1/counters/$1"; } # NAME

# Data are counted there in words of four octets.
port_counters() {
	pause 0.1 # the RDMA core keeps the device's counters for a while
	grep . /sys/class/infiniband/srnic0/ports/1/counters/*
	[ "$(of_port port_xmit_data)" = $(($(counter srnic0 tx_octets) / 4)) ] &&
		[ "$(of_port port_rcv_data)" = $(($(counter srnic0 rx_octets) / 4)) ] &&
		[ "$(of_port port_xmit_packets)" = "$(counter srnic0 tx_fpdus)" ] &&
		[ "$(of_port port_rcv_packets)" = "$(counter srnic0 rx_fpdus)" ] &&
		[ "$(of_port port_rcv_errors)" = "$(counter srnic0 rx_errors)" ]
}

# iWARP has no MADs, which InfiniBand's management sends.
no_umad() {
	modprobe ib_umad || return
	! grep -rs srnic /sys/class/infiniband_mad/*/ibdev && ! compgen -G "/dev/infiniband/umad*"
}

# ---- single QPs ----

# rping from srnic0 to srnic1, until disconnected.
connect_ends() {
	become_in_ns sr1 "exec rping -s -a $IP1 -p $PORT -C 1000000 -S 100" >"$LOGS/rping1" 2>&1 &
	SERVER=$!
	wait_listening sr1 "$PORT" "$SERVER"
	become_in_ns sr0 "exec rping -c -a $IP1 -p $PORT -C 1000000 -S 100" >"$LOGS/rping0" 2>&1 &
	CLIENT=$!
	within 50 has_qp
}

disconnect_ends() {
	kill "$CLIENT" "$SERVER" 2>/dev/null
	wait "$CLIENT" "$SERVER" 2>/dev/null
	within 50 has_no_qp
}

lqpn() { ns0 rdma resource show qp link srnic0/1 | sed -n 's/.* lqpn \([0-9]*\) .*state RTS.*/\1/p'; }
has_qp() { [ -n "$(lqpn)" ]; }
has_no_qp() { [ -z "$(lqpn)" ]; }

of_qp() { # NAME: a value of the only counter of srnic0's QPs
	rdma statistic qp show link srnic0/1 | tr ' ' '\n' | grep -A 1 -x "$1" | tail -n 1
}

qp_counts() { [ "$(of_qp "$1")" -gt "$2" ]; } # NAME MORE-THAN

counts_alone() { # WHAT-OTHERS-HAD-SENT
	local octets all
	within 50 qp_counts tx_octets 10000 && within 50 qp_counts tx_passes_doorbell 100 &&
		within 50 qp_counts rx_fpdus 100 || return
	octets=$(of_qp tx_octets)
	sleep 0.1 # the RDMA core keeps the device's counters for a while
	all=$(counter srnic0 tx_octets)
	echo "$octets octets of the QP, $all of the device, $1 of others"
	[ "$all" -ge "$((octets + $1))" ]
}

automatic() { rdma statistic qp set link srnic0/1 auto "$@"; }

# The rest of its traffic may make the sum larger, never smaller.
unbound() {
	local before cntn
	before=$(counter srnic0 tx_octets)
	cntn=$(of_qp cntn)
	rdma statistic qp unbind link srnic0/1 cntn "$cntn" lqpn "$(lqpn)" &&
		[ -z "$(rdma statistic qp show link srnic0/1)" ] && sleep 0.1 &&
		[ "$(counter srnic0 tx_octets)" -ge "$before" ] && rises srnic0 tx_octets "$before"
}

ended() {
	local before
	before=$(counter srnic0 tx_octets)
	disconnect_ends && [ -z "$(rdma statistic qp show link srnic0/1)" ] && sleep 0.1 &&
		[ "$(counter srnic0 tx_octets)" -ge "$before" ]
}

objects() { resources; }

needs rping ib_write_bw python3
built_or_skip bench/build/rate
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
check "Writes: several FPDUs in a batch, each byte is copied once" \
	grown srnic0 "tx_fpdus > 4 * tx_batches > 0 and tx_copied >= $ITERS * 65536 and tx_octets > tx_copied" \
	perf ib_write_bw 65536
check "small Writes one at a time: a batch and a pass for each, in the doorbell" \
	grown srnic0 "tx_batches >= $ITERS and tx_passes_doorbell >= $ITERS" perf ib_write_lat 8
check "a Write of 1 MiB: the doorbell sends all of it, and leaves nothing to a worker" \
	grown srnic0 "tx_passes_doorbell >= 100 > 2 * tx_passes_worker" large_writes
check "20 lists of 8192 small Writes: the doorbell leaves the rest of each to a worker" \
	grown srnic0 "tx_passes_worker >= 20 and tx_socket_full == 0" small_writes
check "Sends in lists of 16: a system call for ten at the most" grown srnic0 "0 < tx_doorbells <= 640" sends list=16
check "Sends posted one by one: a system call for two at the most" grown srnic0 "0 < tx_doorbells <= 3200" sends
check "Reads posted one by one, four times the ORD: they wait once for 16, and need no more system calls" \
	grown srnic0 "100 <= tx_ord_stalls <= 400 and 0 < tx_doorbells <= 400" reads
check "reads are answered by thread, workers or the asking task" \
	grown srnic1 "tx_passes_thread + tx_passes_worker + tx_passes_asker > 0 and tx_copied >= $ITERS * 65536" perf ib_read_bw 65536
check "reads one at a time: the asking task answers, being on the same host" \
	grown srnic1 "tx_passes_asker >= $ITERS / 2" perf ib_read_lat 8
check "reads one at a time wait for each other" grown srnic0 "tx_ord_stalls >= $ITERS / 2" \
	perf ib_read_bw 4096 --outs=1
check "receives: several FPDUs at a time" grown srnic1 "rx_fpdus > rx_batches > 0" perf ib_send_bw 65536
check "a slow link fills the socket" slow_link grown srnic0 "tx_socket_full > 0" perf ib_write_bw 65536
check "nothing else waits for it" grown srnic0 "tx_ord_stalls == 0 and tx_no_memory == 0" perf ib_write_lat 8
check_with_pyverbs "a Terminate is counted at both ends, and in words in the kernel's log" terminates
check "the port's counters by InfiniBand's names are the same" port_counters
if modinfo ib_umad >/dev/null 2>&1; then
	check "there is no file for MADs of it" no_umad
else
	skip_one "there is no file for MADs of it" "no ib_umad in this kernel"
fi

SUM=$(counter srnic0 tx_octets)
check "counters for QPs by type" automatic type on
check "a QP connects" connect_ends
check "its counter has its traffic, and the device's sum includes it" counts_alone "$SUM"
check "when it ends the sum stays" ended
check "the port's counters have it, too" port_counters
check "no more counters for QPs" automatic off
SUM=$(counter srnic0 tx_octets)
check "another QP connects" connect_ends
check "it is bound to a counter" rdma statistic qp bind link srnic0/1 lqpn "$(lqpn)"
check "that counts from now on" counts_alone "$SUM"
check "it is unbound and the sum stays" unbound
check "it is bound again" rdma statistic qp bind link srnic0/1 lqpn "$(lqpn)"
check "it ends while it is bound" ended
check "nothing is left behind" settled "$OBJECTS"
finish
