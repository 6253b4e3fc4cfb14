#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The framing of RDMA/TCP (Documentation/rdmatcp.rst): programs that know nothing of it work over it, ends with different
# framings refuse each other in time, and a device that allows both accepts both.
cd "$(dirname "$0")" && . ./lib.sh && . faults/carry.sh && . capture/tshark.sh

COUNT=${COUNT:-200}
SIZES=${SIZES:-1 65536}
ITERS=${ITERS:-50}
SEMANTICS=$PWD/semantics/build/semantics
WIRE=$LOGS/wire

built_or_skip "$SEMANTICS"

framed() { set_devices framing "$1" "$2"; }

works() { rping_between sr1 sr0 "$IP1" 10 1000; }

# The startup's time limit is ten seconds.
refused() { # FRAMING-OF-CLIENT FRAMING-OF-SERVER
	local began=$SECONDS failures
	failures=$(counter srnic1 startup_failures)
	framed "$1" "$2" || return
	LIMIT=30 works && return 1
	echo "after $((SECONDS - began)) s"
	[ $((SECONDS - began)) -lt 8 ] && [ "$(counter srnic1 startup_failures)" -gt "$failures" ]
}

# Cases whose name contains the words.
operations() { # WORDS
	local out
	out=$(in_ns sr0 "FRAMING=rdmatcp $SEMANTICS sr0 $IP0 sr1 $IP1 0 5 '$1'")
	echo "$out"
	grep -q '^# all cases' <<<"$out" && grep -q '^ok' <<<"$out" && ! grep -q '^not ok' <<<"$out"
}

# hostile/rdmatcp.cc; its TAP goes to the log.
other_peer() {
	ns0 hostile/build/rdmatcp "$IP0" "$IP1" /sys/class/infiniband/srnic1 \
		nsenter --net=/run/netns/sr1 hostile/build/victim "$IP1" "$IP0"
}

# ---- Wireshark, with the dissector in Documentation/wireshark ----

every_message() {
	rping_between sr1 sr0 "$IP1" 10 5000 && ITERS=5 perf ib_write_bw 3000 --write_with_imm &&
		operations "a Send with solicited event"
}

FIELDS="tcp.len rdmatcp.length rdmatcp.type rdmatcp.startup.kind rdmatcp.control.immediate rdmatcp.control.solicited
	rdmatcp.crc.status"

# WIRE.pcap, and its fields: a line for each packet with data, a list in each column.
captures() {
	local options=() field
	for field in $FIELDS; do
		options+=(-e "$field")
	done
	captured "$WIRE.pcap" sr1 veth1 every_message &&
		dissect rdmatcp "$WIRE.pcap" -Y 'tcp.len > 0' -T fields "${options[@]}" >"$WIRE.fields" &&
		dissect rdmatcp "$WIRE.pcap" -V >"$WIRE.verbose"
}

# How often a field has a value that matches.
dissected() { # FIELD VALUE
	local column
	column=$(tr -s ' \t' '\n' <<<"$FIELDS" | grep -nx "$1" | cut -d : -f 1)
	cut -f "$column" "$WIRE.fields" | tr ',' '\n' | grep -ciE "^($2)\$"
}

# Each kind: at least as many as rping, perftest and the case of semantics/ need.
knows_all_messages() {
	local field value many is
	while read -r field value many; do
		is=$(dissected "$field" "$value")
		echo "$field $value: $is, want $many"
		[ "$is" -ge "$many" ] || return
	done <<-'END'
		rdmatcp.type 0 20
		rdmatcp.type 1 15
		rdmatcp.type 2 10
		rdmatcp.type 3 10
		rdmatcp.startup.kind 1 3
		rdmatcp.startup.kind 2 3
		rdmatcp.control.immediate [0-9a-f]{16} 5
		rdmatcp.control.solicited 1|true 1
		rdmatcp.crc.status good 60
	END
}

# No CRC is bad, nothing malformed, and segments account for every octet.
dissects_everything() {
	local octets found
	octets=$(cut -f 1 "$WIRE.fields" | awk '{n += $1} END {print n}')
	found=$(cut -f 2 "$WIRE.fields" | tr ',' '\n' | awk 'NF {n += int(($1 + 3) / 4) * 4 + 4} END {print n}')
	echo "$octets octets on TCP, $found in segments"
	[ "$octets" = "$found" ] && [ "$(dissected rdmatcp.crc.status bad)" = 0 ] &&
		! grep -iE 'malformed|lua error' "$WIRE.verbose"
}

atomic_cap() { [ "$(in_ns sr0 "ibv_devinfo -v -d srnic0" | awk '/atomic_cap/ {print $2}')" = "$1" ]; }

refuses_atomics() { ! ITERS=5 perf ib_atomic_bw 8; }

default_is() { # FRAMING: of new devices
	echo "$1" >/sys/module/srnic/parameters/framing && ns0 rdma link delete srnic0 &&
		ns0 rdma link add srnic0 type srnic netdev veth0 && grep -qx "$1" /sys/class/infiniband/srnic0/framing
}

rejects_words() { ! echo iwarp >/sys/class/infiniband/srnic0/framing; }

needs rping ib_write_bw tcpdump tshark
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
check "MPA is the default" grep -qx mpa /sys/class/infiniband/srnic0/framing
check "both ends frame as RDMA/TCP does" framed rdmatcp rdmatcp
OBJECTS=$(objects)
check "rping, IPv4" rping_between sr1 sr0 "$IP1" "$COUNT" 65535
check "rping, IPv6" rping_between sr0 sr1 "$IP60" "$COUNT" 65535
for program in ib_write_bw ib_read_bw ib_send_bw ib_write_lat ib_send_lat; do
	for size in $SIZES; do
		check "$program, $size octets" perf $program "$size"
	done
done
check "ib_write_bw --write_with_imm, 65536 octets" perf ib_write_bw 65536 --write_with_imm
for part in "RFC 5040 5.2:" "RFC 5040 5.2.1" "RFC 5040 5.3" "RFC 5040 5.5" "RFC 5041 6"; do
	check "the cases of ${part%:}" operations "$part"
done
check "Immediate Data with Solicited Event" operations "Immediate Data with Solicited"
check "no device claims atomic operations" atomic_cap ATOMIC_NONE
check "atomic operations are refused" refuses_atomics
check "a capture of every kind of message" undisturbed captures
check "Wireshark's dissector knows all of them" knows_all_messages
check "Wireshark's dissector accounts for every octet, and every CRC is good" dissects_everything
check "without CRCs: both devices" set_devices mpa_crc 0 0
check "without CRCs: rping" works
check "without CRCs: the cases of RFC 5040 5.5" operations "RFC 5040 5.5"
check "with CRCs that one end wants: rping" eval "set_devices mpa_crc 1 0 && works"
check "no segment failed a check" [ "$(counter srnic0 rx_errors)$(counter srnic1 rx_errors)" = 00 ]
check "with CRCs: both devices" set_devices mpa_crc 1 1
check "a peer of our own that breaks every rule" other_peer
check "a client of MPA is refused by a server of RDMA/TCP" refused mpa rdmatcp
check "a client of RDMA/TCP is refused by a server of MPA" refused rdmatcp mpa
check "a server of both" framed mpa any
check "accepts MPA" works
check "accepts RDMA/TCP" eval "framed rdmatcp any && works"
check "a client of both connects with MPA" eval "framed any mpa && works"
check "MPA has atomic operations" atomic_cap ATOMIC_GLOB
check "another word is refused" rejects_words
check "nothing is left behind" settled "$OBJECTS"
check "new devices have the module's default: rdmatcp" default_is rdmatcp
check "new devices have the module's default: mpa" default_is mpa
finish
