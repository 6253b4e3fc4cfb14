# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Captures a connection and decodes it with tshark's MPA, DDP and RDMAP dissectors, or with ours. Sourced after lib.sh.
# shellcheck shell=bash

OPERATIONS=$PWD/capture/build/operations
WRITES=$PWD/capture/build/writes

# captured FILE NS LINK COMMAND...: captures the link while the command runs; fails if a packet was missed.
captured() {
	local file=$1 ns=$2 link=$3 sniffer status said
	shift 3
	exec 3< <(exec nsenter --net="/run/netns/$ns" tcpdump -i "$link" -s 0 -B 65536 --immediate-mode -Z root \
		-w "$file" tcp 2>&1)
	sniffer=$!
	grep -m 1 "listening on" <&3
	"$@"
	status=$?
	sleep 2	# for the packets that are still on their way to it
	kill $sniffer
	said=$(cat <&3)	# until it is gone
	echo "$said"
	[ $status = 0 ] && grep -q '^0 packets dropped by kernel' <<<"$said" && decode "$file"
}

# Runs a command, again if TCP retransmitted something: the sniffer would see it twice. That happens on slow machines
# even without loss.
undisturbed() { # COMMAND...
	local try before
	for try in 1 2 3 4 5; do
		before=$(tcp_count TcpRetransSegs)
		"$@" || return
		[ "$(tcp_count TcpRetransSegs)" != "$before" ] || return 0
		echo "TCP has sent segments again, try $try"
	done
	return 1
}

# Dissectors above RDMAP are off: they would guess at our payload. FILE.fields has a line for each packet with data; the
# fields are lists if a packet has several FPDUs.
read_capture() { # FILE OPTION...
	tshark -r "$1" --only-protocols eth,ethertype,ip,ipv6,tcp,iwarp_mpa,iwarp_ddp_rdmap "${@:2}" 2>/dev/null
}

# With a dissector of Documentation/wireshark. Not as root: then tshark runs no scripts. -2 cannot read from -r -.
dissect() { # NAME FILE OPTION...
	HOME=/nonexistent setpriv --reuid=65534 --regid=65534 --clear-groups \
		tshark -X "lua_script:$PWD/capture/build/$1.lua" -r /dev/stdin "${@:3}" <"$2" 2>&1
}

decode() { # FILE
	read_capture "$1" -Y 'tcp.len > 0' -T fields -e tcp.len -e iwarp_mpa.pdlength -e iwarp_mpa.ulpdulength \
		-e iwarp_ddp.last_flag -e iwarp_rdma.opcode >"$1.fields" && read_capture "$1" -V >"$1.verbose"
}

# One line for each FPDU: ULPDU_Length, the L flag, opcode.
fpdus() { # FILE
	awk -F '\t' '{
		n = split($3, len, ","); split($4, last, ","); split($5, opcode, ",")
		for (i = 1; i <= n; i++)
			print len[i], last[i] == "True" || last[i] == "1", opcode[i]
	}' "$1.fields"
}

# One line for each kind of message: opcode, number of FPDUs with the L flag, octets of payload. Tagged segments have 14
# octets of header, untagged 18 (RFC 5041 4.2 and 4.3). Requests, Terminates and Atomic Responses carry no payload of the
# program's: their octets are left out.
messages() { # FILE
	fpdus "$1" | awk '{
		messages[$3] += $2
		octets[$3] += $1 - ($3 == "0x00" || $3 == "0x02" ? 14 : 18)
	} END {
		for (op in messages)
			print op, messages[op] (op ~ /0x01|0x07|0x0a|0x0b/ ? "" : " " octets[op])
	}' | sort
}

as_sent() { # FILE: and FILE.sent, of capture/operations.cc
	messages "$1" | diff "$1.sent" -
}

# A warning that a frame is not RFC 5044's is expected: its revision is RFC 6581's.
nothing_malformed() { # FILE
	! grep -i 'malformed' "$1.verbose"
}

# Every FPDU has a CRC, and it is right; or none has one.
crcs_good() { # FILE 1|0
	local fpdus good bad
	fpdus=$(grep -c 'ULPDU length: ' "$1.verbose")
	good=$(grep -c 'Good CRC32' "$1.verbose") bad=$(grep -c 'Bad CRC32' "$1.verbose")
	echo "$fpdus FPDUs, $good good CRCs, $bad bad ones"
	[ "$bad" = 0 ] && [ "$good" = $((fpdus * $2)) ] && [ "$fpdus" -ge $((4 * MESSAGES)) ]
}

# The startup frames and FPDUs account for all of the data.
all_is_decoded() { # FILE
	local octets found frames
	octets=$(awk -F '\t' '{ n += $1 } END { print n }' "$1.fields")
	frames=$(awk -F '\t' '$2 != "" { n += 20 + $2 } END { print n }' "$1.fields")
	found=$(fpdus "$1" | awk '{ n += int(($1 + 2 + 3) / 4) * 4 + 4 } END { print n }')
	echo "$octets octets on TCP, $found in FPDUs, $frames in startup frames"
	[ "$octets" = $((found + frames)) ]
}

# The ULPDU_Lengths of all segments without the L flag, in wire order, repeats removed.
full_ulpdus() { # FILE
	fpdus "$1" | awk '$2 == 0 { print $1 }' | uniq
}

# reads_well FILE CRC NAME: the checks of a capture of operations.
reads_well() {
	check "tshark decodes as many of each as were sent, and their octets: $3" as_sent "$1"
	check "no packet is malformed: $3" nothing_malformed "$1"
	check "the FPDUs' CRCs are as agreed: $3" crcs_good "$1" "$2"
	check "every octet of the connections is decoded: $3" all_is_decoded "$1"
}
