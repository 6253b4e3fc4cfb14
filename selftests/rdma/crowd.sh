#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Thousands of connected QPs that are idle: what each takes of the kernel's memory beyond a TCP socket, and that none of
# them wakes a processor up. Both ends are in one process (crowd/).
#
# CONNECTIONS: how many are counted, with two ends each; half as many are not (crowd.cc). The kernel's free lists of each
# processor make some hundred octets of difference. MOST: octets for each end beyond a TCP socket and beyond its rings.
# TYPE: another driver, to compare with; then nothing is expected.
cd "$(dirname "$0")" && . ./lib.sh

PROGRAM=$PWD/crowd/build/crowd
CONNECTIONS=${CONNECTIONS:-600}
MOST=${MOST:-9216}
TYPE=${TYPE:-srnic}

crowd() { # rdma|tcp
	in_ns sr0 "ulimit -n 16384; '$PROGRAM' $1 $HOST0 $CONNECTIONS" >"$LOGS/$1" || return
	sed "s/^/$1: /" "$LOGS/$1"
}

of() { sed -n "s/^$2 //p" "$LOGS/$1"; } # rdma|tcp NAME

frugal() {
	local rdma tcp beyond
	rdma=$(of rdma octets)
	tcp=$(of tcp octets)
	beyond=$((rdma - tcp))
	NOTE="an end takes $beyond octets beyond $tcp of a TCP socket, and $(of rdma rings) of rings"
	[ -n "$rdma" ] && [ -n "$tcp" ] && [ $beyond -le "$MOST" ] || [ "$TYPE" != srnic ]
}

# A timer a second for each end would be thousands.
at_rest() {
	NOTE="processors were given to somebody $(of rdma switches) times in 4 s, with TCP $(of tcp switches) times"
	[ "$(of rdma switches)" -le $(($(of tcp switches) + CONNECTIONS)) ] || [ "$TYPE" != srnic ]
}

objects() { rdma resource show | grep srnic; }

built_or_skip "$PROGRAM"
hosts_up && modprobe -a ib_uverbs rdma_ucm "$TYPE" && host_device_up "$TYPE" || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
check "$((3 * CONNECTIONS)) ends of TCP connections, for comparison" crowd tcp
check "$((3 * CONNECTIONS)) ends of RDMA connections" crowd rdma
measured "an idle end takes at most $MOST octets beyond a TCP socket and its rings" frugal
measured "idle ends use no processor" at_rest
check "nothing is left behind" settled "$OBJECTS"
finish
