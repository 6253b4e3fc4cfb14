#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What programs rely on: the buffer of a completed request may be reused (semantics/reuse.cc), also on links where TCP
# must keep data for long; and the operations themselves (semantics/main.cc).
#
# REUSE: rounds of each way on each link. REUSE_OCTETS: bytes of each. HUGE: bytes of the largest messages, above 2^31, or
# 0 for none. RACES: tries of each race. LIMIT_ALL: seconds for all operations. CASES: parts of the names of the
# operations to try, separated by "|"; default: all, and on type srnic_ib those that iWARP and InfiniBand have in common.
# TYPE: another driver, first part only; siw fails some of it, which shows that the test can fail.
cd "$(dirname "$0")" && . ./lib.sh && . faults/carry.sh && . semantics/links.sh

PROGRAM=$PWD/semantics/build/semantics
REUSE_PROGRAM=$PWD/semantics/build/reuse
REUSE=${REUSE:-20}
REUSE_OCTETS=${REUSE_OCTETS:-1048576}
HUGE=${HUGE:-4294967295}
RACES=${RACES:-20}

gives_back() { # WAY NS ADDRESS PEER-NS PEER-ADDRESS
	local way=$1
	shift
	timeout "${LIMIT:-120}" "$REUSE_PROGRAM" "$@" "$way" "$REUSE" "$REUSE_OCTETS" || return
	no_crc_errors
}

built_or_skip "$PROGRAM" "$REUSE_PROGRAM"
hosts_up && typed_devices_up || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
on_each_link buffers_come_back "a buffer"
if ! is_ours; then
	finish
	exit
fi

# ---- operations ----

# An error if CASES match no case: it may have been renamed.
all_were_run() { grep -qE '^(not )?ok' "$LOGS/operations" && grep '^# all cases' "$LOGS/operations"; }

# Its TAP lines count as this script's. all_were_run detects a crash.
operations() { # CASES ON-WHAT
	LIMIT=${LIMIT_ALL:-900} in_ns sr0 "$PROGRAM sr0 $IP0 sr1 $IP1 $HUGE $RACES '$1'" | tee "$LOGS/operations"
	TESTS=$((TESTS + $(grep -cE '^(not )?ok' "$LOGS/operations")))
	FAILED=$((FAILED + $(grep -c '^not ok' "$LOGS/operations")))
	check "all of them were run, $2" all_were_run
}

# How streams and QPs end, and what messages carry, differs: on type srnic_ib byhand/ and strangers/ have it.
IN_COMMON="RFC 5040 5.2|RFC 5040 5.3|RFC 5040 5.5|RFC 5041 5.2|armed after|gathers|odd places|inline|unsignaled|cancelled|\
fork|RFC 7306 5|lands|is shown as such"

if [ "$TYPE" = srnic_ib ]; then
	operations "${CASES:-$IN_COMMON}" "good links"
else
	operations "$CASES" "good links"
	check "links of 3 Mb/s" shaped tbf rate 3mbit burst 32kb latency 5s
	operations "a Read that was posted before a disconnect completes" "slow links"
	check "good links again" shaped
fi
check "nothing is left behind" settled "$OBJECTS"
finish
