#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# tshark's MPA, DDP and RDMAP dissectors decode a capture of every RDMAP message (RFC 5040 4.3). They must find as many of
# each, with as many octets, as capture/operations.cc says it sent, every CRC good and no packet malformed. Also checks
# the size of FPDUs and the Request of revision 1. siw.sh does the same with siw as the peer.
#
# MESSAGES: of each kind, to each address.
cd "$(dirname "$0")" && . ./lib.sh && . capture/tshark.sh

MESSAGES=${MESSAGES:-20}

built_or_skip "$OPERATIONS" "$WRITES"

operations() { # FILE ADDRESS
	ns0 "$OPERATIONS" sr0 sr1 "$2" "$MESSAGES" extensions >"$1.sent"
}

# ---- RFC 7306 5.2: the operands of capture/operations.cc, as tshark reads them ----

# How often each field has which value.
operands() { # FILE
	local names="opcode add_data swap_data compare_data original_remote_data_value" name options=() value
	for name in $names; do
		options+=(-e "iwarp_rdma.atomic.$name")
	done
	read_capture "$1" -Y 'iwarp_rdma.opcode == 0x0a || iwarp_rdma.opcode == 0x0b' -T fields "${options[@]}" |
		awk -F '\t' -v names="$names" '{
			split(names, name, " ")
			for (i = 1; i <= NF; i++)
				for (n = split($i, value, ","); n; n--)
					print name[i], value[n]
		}' | while read -r name value; do echo "$name $((value))"; done | sort | uniq -c | sed 's/^ *//'
}

operands_are_read() { # FILE
	diff <(printf "$MESSAGES %s\n" "add_data 5" "compare_data 0" "compare_data 12" "opcode 0" "opcode 2" \
		"original_remote_data_value 12" "original_remote_data_value 7" "swap_data 7") <(operands "$1")
}

# ---- RFC 5044 4.5: the MULPDU ----

# 1500 octets less the headers of IP and TCP and 12 for TCP's timestamps, a multiple of four; less length and CRC field.
ulpdus_are() { # FILE LENGTH...
	local found
	found=$(full_ulpdus "$1" | tr '\n' ' ')
	echo "ULPDUs of all segments but messages' last: $found"
	[ "$found" = "${*:2} " ]
}

# Segments already built when the MTU changes may still have the old size, later ones not.
mtu_changes() { # FILE ADDRESS
	captured "$1" sr1 veth1 ns0 "$WRITES" sr0 sr1 "$2" 4 "ip link set veth0 mtu 1400"
	local status=$?
	ip -n sr0 link set veth0 mtu 1500
	return $status
}

# TCP segments have 65483 octets there once TCP has learned the peer's window.
largest_is() { # FILE LENGTH
	local found
	found=$(full_ulpdus "$1" | sort -n | uniq | tr '\n' ' ')
	echo "ULPDUs of all segments but messages' last: $found"
	[[ " $found" = *" $2 " ]]
}

# ---- RFC 5044 7.1.1, RFC 6581 6: revision 1 ----

# S and the reserved bits are zero, there is no private data.
plain_frames() { # FILE
	local key_request=4d504120494420526571204672616d65 key_reply=4d504120494420526570204672616d65
	tshark -r "$1" -Y 'tcp.len > 0' -c 20 -T fields -e tcp.payload 2>/dev/null | head -n 2 | tee "$1.frames"
	diff <(printf '%s\n' ${key_request}40010000 ${key_reply}40010000) "$1.frames"
}

needs rping tcpdump tshark
hosts_up && devices_up && host_device_up srnic || { echo "Bail out! no devices"; exit 1; }
for family in "IPv4 $IP1 1442 1342" "IPv6 $IP61 1422 1322"; do
	read -r name address mulpdu changed <<<"$family"
	file=$LOGS/$name.pcap
	check "every RDMAP message, $name" undisturbed captured "$file" sr1 veth1 operations "$file" "$address"
	reads_well "$file" 1 "$name"
	check "tshark reads operands and original values of atomic operations: $name" operands_are_read "$file"
	check "ULPDUs are of $mulpdu octets but for a message's last: $name" ulpdus_are "$file" "$mulpdu"
	sed 's/^/# opcode, messages, octets: /' "$file.sent"
	check "Writes while the MTU changes, $name" mtu_changes "$file" "$address"
	check "ULPDUs follow the MTU, from $mulpdu to $changed octets: $name" ulpdus_are "$file" "$mulpdu" "$changed"
done
for address in $HOST0 $HOST60; do
	file=$LOGS/host.pcap
	check "Writes through lo, to $address" captured "$file" sr0 lo ns0 "$WRITES" sr0 sr0 "$address" 20 true
	check "where segments are larger the largest ULPDUs have whole cache lines of payload: $address" largest_is "$file" $((1011 * 64 + 14))
done
file=$LOGS/plain.pcap
check "mpa_revision can be 1" set_revision 1
check "rping, mpa_revision 1" captured "$file" sr1 veth1 rping_between sr1 sr0 "$IP1" 10 65535
check "RFC 6581 10: Request and Reply of revision 1 have nothing enhanced" plain_frames "$file"
check "mpa_revision 2 again" set_revision 2
finish
