#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What a stranger reads on the wire: tshark's MPA, DDP and RDMAP dissectors decode a capture of every RDMAP message (RFC 5040
# 4.3), and find as many of each, and as many octets in them, as capture/operations.cc says it has sent, every CRC good and
# no packet malformed.
cd "$(dirname "$0")" && . ./lib.sh

MESSAGES=${MESSAGES:-20}
OPERATIONS=$PWD/capture/build/operations

built_or_skip "$OPERATIONS"

# captured FILE COMMAND...: what goes over the cable while the command runs, nothing of it missed.
captured() {
	local file=$1 sniffer status said
	shift
	exec 3< <(exec nsenter --net=/run/netns/sr1 tcpdump -i veth1 -s 0 -B 65536 --immediate-mode -Z root -w "$file" tcp 2>&1)
	sniffer=$!
	grep -m 1 "listening on" <&3
	"$@"
	status=$?
	sleep 1	# for the packets that are still on their way to it
	kill $sniffer
	said=$(cat <&3)	# until it is gone
	echo "$said"
	[ $status = 0 ] && grep -q '^0 packets dropped by kernel' <<<"$said"
}

operations() { ns0 "$OPERATIONS" sr0 sr1 "$1" "$MESSAGES" >"$LOGS/sent"; }

# Nothing above RDMAP is to guess what our payload may be.
read_capture() { # FILE OPTION...
	tshark -r "$1" --only-protocols eth,ethertype,ip,ipv6,tcp,iwarp_mpa,iwarp_ddp_rdmap "${@:2}" 2>/dev/null
}

# One line per kind of message: its opcode, how many FPDUs were the last of one, and all octets of payload. Tagged segments
# have 14 octets of header, the others 18 (RFC 5041 4.2 and 4.3). A packet's FPDUs are columns of lists.
decoded() {
	read_capture "$1" -Y iwarp_ddp_rdmap -T fields -e iwarp_rdma.opcode -e iwarp_ddp.last_flag -e iwarp_mpa.ulpdulength |
		awk '{
			n = split($1, opcode, ","); split($2, last, ","); split($3, len, ",")
			for (i = 1; i <= n; i++) {
				op = opcode[i]
				messages[op] += last[i] == "True" || last[i] == "1"
				octets[op] += len[i] - (op == "0x00" || op == "0x02" ? 14 : 18)
			}
		} END { for (op in messages) print op, messages[op], octets[op] }' | sort
}

# The Read Requests' and the Terminates' own headers are not of the program's making: their octets are not compared.
as_sent() {
	decoded "$1" | sed -E 's/^(0x01|0x07) ([0-9]+) .*/\1 \2/' >"$LOGS/read"
	diff "$LOGS/sent" "$LOGS/read"
}

# A warning that a frame is not RFC 5044's is right: its revision is RFC 6581's. Errors are none.
nothing_malformed() {
	read_capture "$1" -q -z expert,error
	[ "$(read_capture "$1" -Y '_ws.malformed or _ws.expert.group == "Malformed"' | wc -l)" = 0 ]
}

# Every FPDU has a CRC, and it is right.
crcs_good() {
	local fpdus good bad
	read_capture "$1" -V >"$LOGS/verbose"
	fpdus=$(grep -c 'ULPDU length: ' "$LOGS/verbose")
	good=$(grep -c 'Good CRC32' "$LOGS/verbose") bad=$(grep -c 'Bad CRC32' "$LOGS/verbose")
	echo "$fpdus FPDUs, $good good CRCs, $bad bad ones"
	[ "$bad" = 0 ] && [ "$good" = "$fpdus" ] && [ "$good" -ge $((4 * MESSAGES)) ]
}

# Nothing of a data segment is left that no FPDU was found in: the startup frames and the FPDUs are all.
all_is_decoded() {
	local segments octets found
	octets=$(read_capture "$1" -T fields -e tcp.len | awk '{ n += $1 } END { print n }')
	found=$(read_capture "$1" -T fields -e iwarp_mpa.ulpdulength | tr ',' '\n' |
		awk '/[0-9]/ { n += int(($1 + 2 + 3) / 4) * 4 + 4 } END { print n }')
	segments=$(read_capture "$1" -T fields -e iwarp_mpa.pdlength | awk '/[0-9]/ { n += 20 + $1 } END { print n }')
	echo "$octets octets on TCP, $found in FPDUs, $segments in startup frames"
	[ "$octets" = $((found + segments)) ]
}

hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
for address in "$IP1" "$IP61"; do
	file=$LOGS/$address.pcap
	check "every RDMAP message, to $address" captured "$file" operations "$address"
	check "tshark decodes as many of each as were sent, and their octets" as_sent "$file"
	check "no packet is malformed" nothing_malformed "$file"
	check "every FPDU's CRC is good" crcs_good "$file"
	check "every octet of the connections is decoded" all_is_decoded "$file"
	sed 's/^/# opcode, messages, octets: /' "$LOGS/read"
done
finish
