#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Out of memory. First in a program's calls, one allocation after the other, and all pages of a post (faults/nth.cc); then
# at random, for a while, in kernel threads (which set up connections and run the engine), in programs, and in TCP. Whatever
# fails: nothing may hang, no byte be wrong, no object be left, and afterwards everything must work.
#
# STEP: from the 100th allocation of a call on, only every STEP-th fails. ROUNDS: of each kind of random failure.
# LIMIT_ALL: seconds for all calls.
cd "$(dirname "$0")" && . ./lib.sh && . faults/carry.sh && . faults/storm.sh

NTH=$PWD/faults/build/nth
ROUNDS=${ROUNDS:-4}

# ---- one after the other ----

# nth's lines count as this script's.
each_allocation() {
	ip -n sr0 link add spare0 type dummy
	set_faults task-filter Y && set_faults times -1 && echo 100 >"$DEBUGFS/fail_page_alloc/probability"
	LIMIT=${LIMIT_ALL:-900} in_ns sr0 "$NTH $IP0 veth0 spare0 ${STEP:-1}" | tee "$LOGS/nth"
	TESTS=$((TESTS + $(grep -cE '^(not )?ok' "$LOGS/nth")))
	FAILED=$((FAILED + $(grep -c '^not ok' "$LOGS/nth")))
	set_faults probability 0
	check "all calls were tried" grep -q '^# all calls' "$LOGS/nth"
	ip -n sr0 link delete spare0
	leak_check "srnic has leaked nothing in calls that ran out of memory"
}

leak_check() { # NAME
	[ ! -w "$DEBUGFS/kmemleak" ] || check "$1" no_leaks
}

# ---- at random ----

# As carrier(), but with failing allocations.
failing_carrier() {
	local ns=$1 log=$2
	shift 2
	: >"$LOGS/$log"
	nsenter --net="/run/netns/$ns" bash -c 'echo 1 >/proc/self/make-it-fail; exec "$@"' bash "$CARRIER" "$@" \
		>"$LOGS/$log" 2>&1 &
}

# Carriers may break and reconnect, but must move data after the storm. Both end when they have to, without a wrong byte or a
# crash. A limit that is never reached counts the failures.
under_storm() { # CARRIER PERCENT
	local i sender status=0 INJECTED=0
	serve -m || return
	"$1" sr0 send send "$IP1" -s 600 -c 3 -n 5 -r -m -w 2000 -f 2000
	sender=$!
	progresses || status=1
	for ((i = 0; i < ROUNDS || (INJECTED == 0 && i < ROUNDS + 5); i++)); do
		storm "$2" 1000000 1 2>/dev/null
		INJECTED=$((INJECTED + 2000000 - $(injections_left)))
		sleep 0.2
	done
	progresses || status=1
	kill $sender
	ended $sender 30 || { status=$?; echo "the client's status is $status"; }
	grep -v '^at' "$LOGS/send" | sort | uniq -c
	NOTE="$INJECTED failures; $(grep rounds= "$LOGS/send")"
	stop_serving || { status=$?; echo "the server's status is $status"; }
	[ $status = 0 ] && [ $INJECTED -gt 0 ]
}

in_workers() {
	local status
	set_faults task-filter Y && mark_workers 1
	under_storm carrier 10
	status=$?
	mark_workers 0
	return $status
}

in_programs() { set_faults task-filter Y && under_storm failing_carrier 3; }

# fail_sockets 1 or 0: the slab caches of socket buffers, except merged ones, which cannot be selected.
fail_sockets() {
	local cache
	for cache in /sys/kernel/slab/skbuff_*; do
		echo "$1" >"$cache/failslab"
	done 2>/dev/null
}

# Socket buffer caches fail in any context, also in interrupts. (Not all caches: a failed fork kills user-mode Linux.)
in_network() {
	local status
	set_faults task-filter N && echo Y >"$DEBUGFS/failslab/cache-filter" && fail_sockets 1
	echo 100 >"$DEBUGFS/fail_page_alloc/min-order"
	under_storm carrier 5
	status=$?
	echo 0 >"$DEBUGFS/fail_page_alloc/min-order"
	fail_sockets 0
	echo N >"$DEBUGFS/failslab/cache-filter"
	return $status
}

works() { settled "$OBJECTS" && carries 1 && settled "$OBJECTS"; }

can_inject || skip "this kernel has no fault injection"
built_or_skip "$CARRIER" "$NTH"
hosts_up && devices_up && arm_faults || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
each_allocation
measured "allocations fail at random in kernel threads" in_workers
check "and then everything works" works
measured "allocations fail at random in a program" in_programs
check "and then everything works" works
measured "socket buffers fail at random, in any context" in_network
check "and then everything works" works
leak_check "srnic has leaked nothing in the storms"
finish
