#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# IPsec below the connections (RFC 5040 8.2, RFC 5041 8.2, RFC 7146): the kernel's ESP between the two hosts, in transport
# and tunnel mode, with AES-GCM. Everything works as without it. A sniffer on the cable sees only ESP: no TCP, and none of
# the patterns that were sent. Without ESP it sees them all.
cd "$(dirname "$0")" && . ./lib.sh

PINGS=${PINGS:-50}
ITERS=${ITERS:-20}
SIZES=${SIZES:-1 1048576}
KEY='rfc4106(gcm(aes))'
KEY0=0x000102030405060708090a0b0c0d0e0f10111213 KEY1=0x1f1e1d1c1b1a191817161514131211100f0e0d0c

# One direction, at both ends: what FROM sends to TO goes out encrypted and comes in only so.
protect() { # FAMILY-PREFIX FROM-NS FROM TO-NS TO SPI KEY MODE
	local ns dir template
	for ns in "$2" "$4"; do
		dir=out
		[ "$ns" = "$2" ] || dir=in
		template="src $3 dst $5 proto esp spi $6 reqid $6 mode $8"
		ip -n "$ns" xfrm state add src "$3" dst "$5" proto esp spi "$6" reqid "$6" mode "$8" aead "$KEY" "$7" 128 &&
			ip -n "$ns" xfrm policy add src "$3$1" dst "$5$1" dir $dir tmpl $template || return
	done
}

esp_up() { # transport | tunnel
	protect /32 sr0 "$IP0" sr1 "$IP1" 0x1000 "$KEY0" "$1" && protect /32 sr1 "$IP1" sr0 "$IP0" 0x1001 "$KEY1" "$1" &&
		protect /128 sr0 "$IP60" sr1 "$IP61" 0x1002 "$KEY0" "$1" &&
		protect /128 sr1 "$IP61" sr0 "$IP60" 0x1003 "$KEY1" "$1"
}

esp_down() {
	local n
	for n in 0 1; do
		ip -n sr$n xfrm policy flush && ip -n sr$n xfrm state flush || return
	done
}

# ---- the sniffer ----

# Only what each end sends: in tunnel mode, received packets show up a second time, decrypted.
sniff() { # FILE
	local n fd
	SNIFFERS=() SAID=()
	for n in 0 1; do
		exec {fd}< <(exec nsenter --net=/run/netns/sr$n tcpdump -i veth$n -Q out -s 0 -B 65536 --immediate-mode \
			-Z root -w "$1.$n" ip or ip6 2>&1)
		SNIFFERS+=($!) SAID+=("$fd")
		grep -m 1 "listening on" <&"$fd" || return
	done
}

# Ends once the last packet has been written; true if none was missed.
sniffed() {
	local n missed
	sleep 2
	kill "${SNIFFERS[@]}"
	for n in 0 1; do
		missed=$(sed -n 's/^\([0-9]*\) packets dropped by kernel$/\1/p' <&"${SAID[n]}")
		echo "the sniffer has missed ${missed:-?} packets"
		[ "$missed" = 0 ] || return
	done
}

packets() { { tcpdump -r "$1.0" -n "$2"; tcpdump -r "$1.1" -n "$2"; } 2>/dev/null | wc -l; }

# rping fills its messages with rows of letters. The Read and the Write of each ping carry some.
rows='BCDEFGHIJKLMNOPQRSTUVWXYZ' frames='MPA ID Re[qp] Frame'

# watched: of rping over both families, and of perftest.
watched() { # FILE
	sniff "$1" && rping_between sr1 sr0 "$IP1" "$PINGS" 4000 && rping_between sr0 sr1 "$IP60" "$PINGS" 4000 && perf ib_send_bw 4096 && sniffed
}

in_clear() {
	local file=$LOGS/clear.pcap tcp esp found mpa
	watched "$file" || return
	tcp=$(packets "$file" 'ip proto 6 or ip6 proto 6') esp=$(packets "$file" 'ip proto 50 or ip6 proto 50')
	found=$(grep -a -o "$rows" "$file".? | wc -l) mpa=$(grep -a -o "$frames" "$file".? | wc -l)
	echo "$tcp TCP segments, $esp ESP packets, $found patterns, $mpa MPA Frames"
	[ "$tcp" -ge $((2 * PINGS)) ] && [ "$esp" = 0 ] && [ "$found" -ge $((4 * PINGS)) ] && [ "$mpa" -ge 6 ]
}

# Without neighbour discovery: there is no policy for multicast or link-local addresses.
hidden() { # MODE
	local file=$LOGS/$1.pcap tcp esp other found
	watched "$file" || return
	tcp=$(packets "$file" 'ip proto 6 or ip6 proto 6') esp=$(packets "$file" 'ip proto 50 or ip6 proto 50')
	other=$(packets "$file" 'not (ip proto 50 or ip6 proto 50 or icmp6)')
	found=$(grep -a -o -e "$rows" -e "$frames" "$file".? | wc -l)
	echo "$tcp TCP segments, $esp ESP packets, $other other packets, $found patterns or MPA Frames"
	[ "$tcp" = 0 ] && [ "$other" = 0 ] && [ "$esp" -ge $((2 * PINGS)) ] && [ "$found" = 0 ]
}

# Each of the four associations carried packets, at both ends, and all of them verified.
associations_used() {
	local n said
	said=$(for n in 0 1; do ip -n sr$n -s xfrm state; done |
		awk '/^[ \t]+[0-9]+\(bytes\)/ { used += $1 + 0 > 0 }
			/replay-window .* failed/ { failed += $NF }
			END { print used + 0, "used,", failed + 0, "failed" }')
	echo "$said"
	[ "$said" = "8 used, 0 failed" ]
}

without_keys() {
	local n
	for n in 0 1; do
		ip -n sr$n xfrm state flush || return
	done
	! LIMIT=2 rping_between sr1 sr0 "$IP1" "$PINGS" 4000
}

needs rping ib_write_bw tcpdump
modprobe -aq xfrm_user esp4 esp6 || skip "this kernel has no ESP (xfrm_user, esp4, esp6)"
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
check "without ESP the sniffer sees TCP, MPA and what was sent" in_clear
for mode in transport tunnel; do
	check "ESP in $mode mode" esp_up $mode
	check "rping, $mode mode, IPv4" rping_between sr1 sr0 "$IP1" "$PINGS" 4000
	check "rping, $mode mode, IPv6, the other way round" rping_between sr0 sr1 "$IP60" "$PINGS" 4000
	for program in ib_write_bw ib_read_bw ib_send_bw; do
		for size in $SIZES; do
			check "$program, $mode mode, $size octets" perf $program "$size"
		done
	done
	check "nothing of TCP, of MPA or of what was sent is on the wire, $mode mode" hidden $mode
	check "every security association was used, without a failure, $mode mode" associations_used
	check "without the keys nothing goes through, $mode mode" without_keys
	check "no ESP any more" esp_down
done
check "in clear again" rping_between sr1 sr0 "$IP1" "$PINGS" 4000
finish
