#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# qperf (connections by rdma_cm, -cm1): Writes with Immediate Data, atomic operations, and its other RC tests. Those that
# verify (ver_rc_*) check each original value. Its server ends each test by destroying a QP that is not there, a
# segmentation fault without consequence.
#
# rc_bw sends without asking whether the receiver has receives left, of which it posts 1,024 ahead. On type srnic messages
# of 1 MiB give it time; and there the other end's disconnection is an error to rc_bi_bw. On type srnic_ib a message waits
# for its receive.
#
# SECONDS_EACH: of each test.
cd "$(dirname "$0")" && . ./lib.sh

SECONDS_EACH=${SECONDS_EACH:-1}

if ! command -v qperf >/dev/null; then
	skip "qperf is not installed"
fi

# Its server sends the client the port before it listens: a client that is faster is refused, and tries again.
qperf_runs() { # TEST [OPTION...]
	local try said
	for try in {1..30}; do
		said=$(in_ns sr0 "qperf -t $SECONDS_EACH -cm1 $IP1 ${*:2} $1" 2>&1)
		[[ $said = *"Event rejected"* ]] || break
		echo "refused, try $try"
		sleep 0.$((try % 10))	# ten in a row, each at once, have been lost
	done
	echo "$said"
	[[ $said =~ =\ +[0-9.]*[1-9] ]]
}

hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
become_in_ns sr1 "exec qperf" >"$LOGS/server" 2>&1 &
server=$!
wait_listening sr1 19765 $server
for test in rc_rdma_write_bw rc_rdma_write_lat rc_rdma_write_poll_lat rc_rdma_read_bw rc_rdma_read_lat rc_bw rc_lat \
	rc_fetch_add_mr rc_compare_swap_mr ver_rc_fetch_add ver_rc_compare_swap; do
	check "qperf, $test" qperf_runs $test $([ $test != rc_bw ] || echo -m 1M)
done
if [ "${DEVICE_TYPE:-srnic}" = srnic_ib ]; then
	for test in rc_bw rc_bi_bw; do
		check "qperf, $test, small messages" qperf_runs $test -m 64
	done
fi
kill $server
wait $server 2>/dev/null
finish
