#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Wireshark's dissector of streams with acknowledgements, Documentation/wireshark/srnic_ib.lua, on captures that
# capture/ib.cc makes: every message, syndrome and reason, frames and FPDUs that break rules, TCP segments that begin at any
# octet, and captures that lack octets, segments or the beginning. Needs no devices.
cd "$(dirname "$0")" && . ./lib.sh && . capture/tshark.sh

IB=$PWD/capture/build/ib
FILE=$LOGS/ib

# There are no devices.
everything_down() { rm -rf "$LOGS"; }

built_or_skip "$IB"

made() { "$IB" "$FILE.pcap" "$FILE.want" && ls -l "$FILE.pcap"; }

# One line for each message of a TCP stream, and what is wrong with those of the packet; and Info of the packets.
messages_of() { # OPTION...
	dissect srnic_ib "$FILE.pcap" "$@" -d tcp.port==9998,srnic_ib -Y 'tcp.len > 0' -T fields -E 'aggregator=;' \
		-e tcp.stream -e srnic_ib.message -e _ws.expert.message -e _ws.col.info \
		-e srnic_ib.crc.status >"$FILE.fields" || return
	awk -F '\t' '{
		n = split($2, message, ";")
		for (i = 1; i <= n; i++)
			print $1, message[i]
		n = split($3, wrong, ";")
		for (i = 1; i <= n; i++)
			print $1, "!" wrong[i]
	}' "$FILE.fields"
}

# Also no packet is malformed, and the script has no error: Wireshark reports both as what is wrong.
says_what_it_should() { # OPTION...
	messages_of "$@" >"$FILE.is" && diff "$FILE.want" "$FILE.is"
}

# Of stream 0, where each packet has one message.
info_is_the_message() {
	awk -F '\t' '$1 == 0 { n++; if ($2 != $4) { print; bad = 1 } } END { print n " packets"; exit bad || !n }' \
		"$FILE.fields"
}

# One is wrong, and five messages are of a stream without CRCs.
crcs_are_checked() {
	local found
	found=$(cut -f 5 "$FILE.fields" | tr ';' '\n' | grep . | sort | uniq -c | xargs)
	echo "$found"
	[[ $found =~ ^1\ bad\ [0-9]{3}\ good\ 5\ none$ ]]
}

# Of stream 0: each field, and its values in all messages that have it.
wanted_fields() {
	cat <<-'END'
		startup.revision 2 2
		startup.length 96 96
		startup.c 1 1
		startup.r 0 0
		startup.version 1 1
		startup.reason 0 0
		startup.features 0x00000001 0x00000001
		startup.needs 0x00000000 0x00000000
		startup.source_gid ::ffff:10.99.0.1 fe80::202:3ff:fe04:506
		startup.destination_gid fe80::202:3ff:fe04:506 ::ffff:10.99.0.1
		startup.source_qpn 0x000051 0xabcdef
		startup.destination_qpn 0xabcdef 0x000051
		startup.ird 16 8
		startup.ord 65535 8
		startup.sent 100 4294967295
		startup.delivered 4294967295 100
		startup.source_attempt 7 6
		startup.destination_attempt 5 7
		startup.source_incarnation 0x1112131415161718 0x2122232425262728
		startup.destination_incarnation 0x2122232425262728 0x1112131415161718
		length 26 26 28 18 18 18 18 18 18 22 17 19 26 14 26 46 70 70 22 22 15 30 30 26 26 26 26 26 26 42 42 70 22
		opcode 12 12 3 3 4 5 6 13 14 0 0 0 8 0 9 1 10 10 2 3 2 11 11 12 12 12 12 12 12 15 15 7 7
		last 1 1 1 1 1 1 1 1 1 0 1 1 1 1 1 1 1 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1
		ask 1 0 0 1 0 0 0 0 0 0 1 1 0 0 1 0 0 0 0 1 0 0 0 0 0 0 0 0 0 0 1 0 0
		more 0 0 0 0 0 0 0 0 0 0 0 1 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
		queue 4 4 0 0 0 0 0 0 0 0 0 1 1 1 0 3 3 4 4 4 4 4 4 5 5 2 2
		msn 1 1 1 2 3 4 5 6 7 8 9 1 2 3 1 1 2 2 2 3 4 5 6 1 2 1 1
		stag 0x00001234 0x00001234 0x00001234 0x00001234 0x00005151 0x00005151
		to 0x0000000000001000 0x0000000000001008 0x0000000000001000 0x0000000000001000 0x0000000000001000 0x0000000000001008
		number 101 102 103 104 105 106 107 108 108 109 109 110 110 111 112 113 0 114 115
		answers 111 111 112 113
		invalidate 0x0000beef 0x0000bee5
		immediate 0x01020304 0x05060708 0x0a0b0c0d 0x0a0b0c0e
		padding 0000 00 000000 000000
		read.sink_stag 0x00005151
		read.sink_to 0x0000000000001000
		read.length 9
		read.source_stag 0x00004321
		read.source_to 0x0000000000002000
		atomic.code 0 2
		atomic.id 0x01234567 0x00000009 0x01234567 0x00000009
		atomic.stag 0x00000077 0x00000078
		atomic.to 0x0000000000003000 0x0000000000000000
		atomic.data 0x0000000000000005 0x0000000000000001
		atomic.mask 0x0000000000000000 0x00000000000000f0
		atomic.compare 0x0000000000000000 0x0000000000000006
		atomic.compare_mask 0xffffffffffffffff 0xffffffffffffffff
		atomic.original 0x000000000000000c 0x0000000000000011
		extended.code 1 2
		extended.type 0x01 0x00
		extended.level 1 0
		extended.stag 0x00000079 0x0000007a
		extended.to 0x0000000000000000 0x0000000000004000
		extended.length 0
		extended.data 0102030405060708
		ack.delivered 4294967295 100 0 113 113 113 113 4294967295
		ack.syndrome 0 0 0 1 1 2 3 4
		ack.timer 0 0 0 12 0 0 0 0
		ack.timer_ms 0.64 655.36
		ack.refused 114 114 114 114 0
		terminate.layer 0 0
		terminate.type 1 2
		terminate.code 0x02 0x10
		terminate.m 1 0
		terminate.d 1 0
		terminate.r 1 0
		terminate.length 46
		terminate.header 41410000000000000001000000040000000000005151000000000000100000000009000043210000000000002000
	END
}

fields_are_right() {
	local options=() name rest names=
	while read -r name rest; do
		options+=(-e "srnic_ib.$name")
		names+="$name "
	done < <(wanted_fields)
	dissect srnic_ib "$FILE.pcap" -Y "tcp.stream == 0 && srnic_ib" -T fields -E 'aggregator= ' "${options[@]}" |
		awk -F '\t' -v names="$names" '{
			for (i = 1; i <= NF; i++)
				if ($i != "")
					values[i] = values[i] " " $i
		} END {
			n = split(names, name, " ")
			for (i = 1; i <= n; i++)
				print name[i] values[i]
		}' | sed 's/\<True\>/1/g; s/\<False\>/0/g' | diff <(wanted_fields) -
}

needs tshark
check "captures are made" made
check "every message is told in words, and what breaks a rule" says_what_it_should
check "a packet's Info is its messages" info_is_the_message
check "CRCs are checked where the Reply says so" crcs_are_checked
check "packets dissected again say the same" says_what_it_should -2
check "each field has the value that was sent" fields_are_right
finish
