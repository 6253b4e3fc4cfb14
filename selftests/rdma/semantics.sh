#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What programs rely on: that a completed request gives its buffer back (semantics/reuse.cc), on links on which TCP has
# to keep what it sends for long; and the operations themselves (semantics/main.cc).
#
# REUSE: rounds of each way on each link. REUSE_OCTETS: of each. HUGE: octets of the largest messages, 0: none. RACES:
# how often what races is tried. PART: of the names of the operations to try. TYPE: another driver, first part only;
# with siw some of it fails, which shows that it can.
cd "$(dirname "$0")" && . ./lib.sh && . faults/carry.sh

PROGRAM=$PWD/semantics/build/semantics
REUSE_PROGRAM=$PWD/semantics/build/reuse
REUSE=${REUSE:-20}
REUSE_OCTETS=${REUSE_OCTETS:-1048576}
HUGE=${HUGE:-2362232013}
RACES=${RACES:-20}
TYPE=${TYPE:-srnic}
HOST0=10.98.0.1 # of a device of its own in sr0: both ends are on it, and the octets go through lo

# srnic0, srnic1: the names, whatever the driver.
typed_devices_up() {
	modprobe rdma_ucm && modprobe "$TYPE" && ns0 rdma link add srnic0 type "$TYPE" netdev veth0 &&
		ns1 rdma link add srnic1 type "$TYPE" netdev veth1 &&
		ip -n sr0 link add dummy0 type dummy && ip -n sr0 addr add $HOST0/24 dev dummy0 &&
		ip -n sr0 link set dummy0 up && ns0 rdma link add srnic2 type "$TYPE" netdev dummy0
}

# ---- buffers that are given back ----

LINKS=(sr0:lo sr0:veth0 sr1:veth1)

# shaped QDISC...: all links; none: good links again.
shaped() {
	local link
	for link in "${LINKS[@]}"; do
		tc -n "${link%:*}" qdisc del dev "${link#*:}" root 2>/dev/null
		[ $# = 0 ] || tc -n "${link%:*}" qdisc add dev "${link#*:}" root "$@" || return
	done
}

no_crc_errors() {
	local device
	for device in srnic0 srnic1 srnic2; do
		[ "$(counter $device rx_crc_errors)" = 0 ] || { echo "$device has CRC errors"; return 1; }
	done
}

gives_back() { # WAY NS ADDRESS PEER-NS PEER-ADDRESS
	local way=$1
	shift
	timeout "${LIMIT:-120}" "$REUSE_PROGRAM" "$@" "$way" "$REUSE" "$REUSE_OCTETS" || return
	[ "$TYPE" != srnic ] || no_crc_errors
}

# All ways on the links as they are now.
buffers_come_back() { # LINK'S-NAME
	local way
	for way in write send write-then-send send-then-send; do
		check "RFC 5040 5.5: a buffer is given back: $way, $1, between namespaces" \
			gives_back $way sr0 "$IP0" sr1 "$IP1"
		check "RFC 5040 5.5: a buffer is given back: $way, $1, on one host" \
			gives_back $way sr0 $HOST0 sr0 $HOST0
	done
}

built_or_skip "$PROGRAM" "$REUSE_PROGRAM"
hosts_up && typed_devices_up && modprobe sch_netem && modprobe sch_tbf || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
buffers_come_back "a good link"
check "links of 300 Mb/s" shaped tbf rate 300mbit burst 128kb latency 200ms
buffers_come_back "a slow link"
check "links that lose 2 % and take 2 ms" shaped netem limit 10000 delay 2ms loss 2%
buffers_come_back "a lossy link"
check "good links again" shaped
if [ "$TYPE" != srnic ]; then
	finish
	exit
fi

# ---- operations ----

# Its lines are this script's own.
operations() {
	LIMIT=900 in_ns sr0 "$PROGRAM sr0 $IP0 sr1 $IP1 $HUGE $RACES '$PART'" | tee "$LOGS/operations"
	TESTS=$((TESTS + $(grep -cE '^(not )?ok' "$LOGS/operations")))
	FAILED=$((FAILED + $(grep -c '^not ok' "$LOGS/operations")))
}

operations
check "all of them were run" grep -q '^# all cases' "$LOGS/operations"
check "nothing is left behind" settled "$OBJECTS"
finish
