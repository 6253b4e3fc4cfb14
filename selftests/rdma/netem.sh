#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Bad networks: loss, reordering, duplication and corruption. Every byte that arrives is compared with what was sent
# (faults/carrier.cc); none may be wrong.
#
# netem corrupts data after the checksum was computed, so TCP detects it. faults/wire.cc corrupts data and corrects the
# checksum; only MPA's CRC detects that (RFC 5044 4.4, 8.1).
#
# SECONDS_EACH: time with each network. DAMAGE: per mille of segments that the wire corrupts. CAUGHT: CRC errors that
# must be seen within CAUGHT_LIMIT seconds.
cd "$(dirname "$0")" && . ./lib.sh && . faults/carry.sh

WIRE=$PWD/faults/build/wire
SECONDS_EACH=${SECONDS_EACH:-3}
DAMAGE=${DAMAGE:-10}
CAUGHT=${CAUGHT:-100}
CAUGHT_LIMIT=${CAUGHT_LIMIT:-240}

netem() { # OPTION...: for both directions; none: a good network again
	local n
	for n in 0 1; do
		tc -n sr$n qdisc del dev veth$n root 2>/dev/null
		[ $# = 0 ] || tc -n sr$n qdisc add dev veth$n root netem "$@" || return
	done
}

# bad_network COUNTER OPTION...: of netem. No connection may break, and TCP's counter must show the effect; on a slow
# machine that may take several tries.
bad_network() {
	local name=$1 before status try
	shift
	before=$(tcp_count "$name")
	netem "$@" || return
	for try in 1 2 3 4 5; do
		carries "$SECONDS_EACH" -w 60000
		status=$?
		[ $status = 0 ] && [ "$(tcp_count "$name")" = "$before" ] || break
	done
	netem
	NOTE="$(grep rounds= "$LOGS/send"), $name $(($(tcp_count "$name") - before)), try $try"
	[ $status = 0 ] && [ "$(tcp_count "$name")" -gt "$before" ]
}

# Without offloads the payload is not in page fragments, so netem can corrupt it.
corrupt() { # ETHTOOL-OPTION...
	local n
	for n in 0 1; do
		ip netns exec sr$n ethtool -K veth$n "$@" >/dev/null || return
	done
	bad_network TcpInCsumErrors limit 10000 corrupt 1%
}

# ---- the corrupting wire ----

devices_down() { rdma link delete srnic0 && rdma link delete srnic1; }

# Replaces veth0 and veth1: same names, addresses and devices, on the wire.
wire_up() {
	local n i
	devices_down && ip -n sr0 link delete veth0 || return
	modprobe tun
	"$WIRE" sr0 veth0 sr1 veth1 "$DAMAGE" >"$LOGS/wire" 2>&1 &
	WIRE_PID=$!
	for ((i = 0; i < 100; i++)); do
		ip -n sr1 link show veth1 >/dev/null 2>&1 && break
		sleep 0.05
	done
	for n in 0 1; do
		ip -n sr$n addr add 10.99.0.$((n + 1))/24 dev veth$n && ip -n sr$n link set veth$n up || return
	done
	ip netns exec sr0 ping -q -c 1 -W 5 "$IP1" >/dev/null && devices_up
}

wire_down() {
	kill "$WIRE_PID" && wait "$WIRE_PID"
	WIRE_SAID=$(cat "$LOGS/wire")
	echo "$WIRE_SAID"
}

crc_errors() { echo $(($(counter srnic0 rx_crc_errors) + $(counter srnic1 rx_crc_errors))); }

# Connections break and are made again until both ends have caught enough corruption.
catches() {
	local end=$((SECONDS + CAUGHT_LIMIT)) sender status
	serve || return
	carrier sr0 send send "$IP1" -s "$CAUGHT_LIMIT" -c 3 -r -w 1500 -f 3000
	sender=$!
	until [ "$(crc_errors)" -ge "$CAUGHT" ] && told_the_peer; do
		[ $SECONDS -lt $end ] && kill -0 $sender 2>/dev/null || break
		sleep 0.2
	done
	kill $sender && ended $sender 20
	status=$?
	tail -n 5 "$LOGS/send"
	stop_serving || return
	NOTE="$(crc_errors) CRC errors caught; $(grep rounds= "$LOGS/send")"
	echo "$NOTE"
	[ $status = 0 ] && grep -q 'rounds=[1-9].* wrong=0' "$LOGS/send" && [ "$(crc_errors)" -ge "$CAUGHT" ]
}

# Terminate: the receiver says why (RFC 5044 8.1, RFC 5040 4.8: LLP, MPA, CRC error).
told_the_peer() {
	[ "$(counter srnic0 rx_terminates)" -gt 0 ] && [ "$(counter srnic1 rx_terminates)" -gt 0 ]
}

good_again() { settled "$OBJECTS" && carries 1 && settled "$OBJECTS"; }

built_or_skip "$CARRIER" "$WIRE"
modprobe -q sch_netem || skip "this kernel has no netem (sch_netem)"
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
measured "loss of 2 %" bad_network TcpRetransSegs limit 10000 loss 2%
measured "reordering of 10 %, delayed by 20 ms" bad_network TcpExtTCPOFOQueue limit 10000 delay 20ms reorder 90%
measured "duplication of 10 %" bad_network TcpExtTCPDSACKOldSent limit 10000 duplicate 10%
measured "loss, reordering and duplication at once" bad_network TcpRetransSegs limit 10000 delay 1ms 1ms loss 1% duplicate 5%
measured "1 % of the segments corrupted, checksums offloaded: TCP catches all" corrupt tx on sg on
measured "1 % of the segments corrupted, nothing offloaded: TCP catches all" corrupt tx off sg off tso off
check "a good network again, with nothing left behind" good_again
check "a wire that damages $DAMAGE of 1000 segments behind TCP's back" wire_up
OBJECTS=$(objects)
measured "the CRC catches at least $CAUGHT of them, and no octet delivered is wrong" catches
check "both ends have it in a Terminate" told_the_peer
check "nothing is left behind" settled "$OBJECTS"
check "the wire stops" wire_down
echo "# wire: $WIRE_SAID"
finish
