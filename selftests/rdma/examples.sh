#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The programs of userspace/examples: processes in both namespaces share a counter and a lock; a ring buffer carries a file.
#
# ROUNDS_EACH: of each of the four clients. MIB: of the file.
cd "$(dirname "$0")" && . ./lib.sh

COUNTER=$PWD/examples/build/counter RING=$PWD/examples/build/ring
ROUNDS_EACH=${ROUNDS_EACH:-100}
MIB=${MIB:-64}

built_or_skip "$COUNTER" "$RING"

counter() {
	local client clients=() server status=0
	become_in_ns sr1 "exec $COUNTER $IP1 7200 serve 4" >"$LOGS/sums" 2>&1 &
	server=$!
	wait_listening sr1 7200 $server
	for client in 1 2 3 4; do
		in_ns sr$((client % 2)) "$COUNTER $IP1 7200 use $client $ROUNDS_EACH" &
		clients+=($!)
	done
	for client in "${clients[@]}"; do
		wait "$client" || status=1
	done
	wait $server || status=1
	cat "$LOGS/sums"
	return $status
}

nothing_lost() {
	[ "$(cat "$LOGS/sums")" = "counter $((4 * ROUNDS_EACH)) guarded $((4 * ROUNDS_EACH)) lock 0" ]
}

ring() {
	local receiver
	head -c "$((MIB * 1024 * 1024 + 1))" /dev/urandom >"$LOGS/from"
	become_in_ns sr1 "exec $RING $IP1 7201 receive" >"$LOGS/to" &
	receiver=$!
	wait_listening sr1 7201 $receiver
	in_ns sr0 "$RING $IP1 7201 send <$LOGS/from" && wait $receiver
}

hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
check "four clients add to a counter, and under a lock, $ROUNDS_EACH times each" counter
check "nothing was lost" nothing_lost
check "a ring buffer carries $MIB MiB" ring
check "the copy equals the original" cmp "$LOGS/from" "$LOGS/to"
finish
