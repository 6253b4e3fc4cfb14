#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# MPA markers (RFC 5044 4.3): one end, the other, or both ask for them (mpa_markers of the device). Data of every size
# arrives intact, with CRCs and without. hostile/markers.cc checks every octet on the wire.
cd "$(dirname "$0")" && . ./lib.sh && . capture/tshark.sh

COUNT=${COUNT:-50}
SIZES=${SIZES:-1 500 65536}
ITERS=${ITERS:-50}

# Every 508 octets of FPDUs need a marker of four: the data must get longer by just that.
grows_by_markers() {
	local plain marked
	set_devices mpa_markers 0 0 && plain=$(sent_by perf ib_write_bw 1048576) && set_devices mpa_markers 0 1 &&
		marked=$(sent_by perf ib_write_bw 1048576) || return
	echo "$plain octets without markers, $marked with them"
	# Markers also make MULPDU smaller by 12 octets of 1448, which adds headers: 1.4 % in all, instead of 0.8 %.
	[ $((marked * 1000)) -gt $((plain * 1007)) ] && [ $((marked * 1000)) -lt $((plain * 1025)) ]
}

sent_by() {
	local before
	before=$(counter srnic0 tx_octets)
	"$@" >&2 || return
	echo $(($(counter srnic0 tx_octets) - before))
}

# hostile/markers.cc; its TAP goes to the log.
other_peer() {
	ns0 hostile/build/markers "$IP0" "$IP1" /sys/class/infiniband/srnic1/mpa_markers \
		nsenter --net=/run/netns/sr1 hostile/build/victim "$IP1" "$IP0"
}

# Wireshark's decoder removes the markers and computes the CRCs. It does not find every FPDU, so they are counted. It
# finds most if segments start with an FPDU, so offloads that merge segments are off.
tshark_reads() {
	local file=$LOGS/wire.pcap frames good bad markers
	set_devices mpa_markers 1 1 && ip -n sr0 link set veth0 gso_max_size 1500 &&
		ip -n sr1 link set veth1 gso_max_size 1500 || return
	captured "$file" sr1 veth1 with_server sr1 "rping -s -a $IP1 -C 20 -S 1000 -p 7174" \
		sr0 "rping -c -a $IP1 -C 20 -S 1000 -p 7174" 7174 || return
	frames=$(wc -l <"$file.fields")
	good=$(grep -c 'Good CRC32' "$file.verbose")
	bad=$(grep -c 'Bad CRC32' "$file.verbose")
	markers=$(tshark -r "$file" -T fields -e iwarp_mpa.marker_fpduptr | tr ',' '\n' | grep -c .)
	echo "$frames segments with data, $good good CRCs, $bad bad ones, $markers markers"
	[ "$bad" = 0 ] && [ $((good * 2)) -ge "$frames" ] && [ "$markers" -ge 40 ]
}

# default_is ATTRIBUTE VALUE, of both devices
default_is() { [ "$(cat /sys/class/infiniband/srnic{0,1}/"$1" | tr '\n' ' ')" = "$2 $2 " ]; }
refuses_nonsense() { ! echo maybe >"/sys/class/infiniband/srnic0/$1" && default_is "$@"; }

needs rping ib_write_bw tcpdump tshark
built_or_skip hostile/build/markers hostile/build/victim
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
check "markers are off by default" default_is mpa_markers 0
check "mpa_markers takes a boolean and nothing else" refuses_nonsense mpa_markers 0
check "RFC 5044 4.4: CRCs are on by default" default_is mpa_crc 1
check "mpa_crc takes a boolean and nothing else" refuses_nonsense mpa_crc 1
for crc in 1 0; do
	for who in "1 0" "0 1" "1 1"; do
		# shellcheck disable=SC2086 # two arguments
		check "mpa_markers $who, mpa_crc $crc can be set" eval "set_devices mpa_markers $who && set_devices mpa_crc $crc $crc"
		check "rping, markers $who, CRC $crc, IPv4" rping_between sr1 sr0 "$IP1" "$COUNT" 65535
		check "rping, markers $who, CRC $crc, IPv6, the other way round" rping_between sr0 sr1 "$IP60" "$COUNT" 65535
	done
done
set_devices mpa_crc 1 1
for who in "1 0" "0 1" "1 1"; do
	# shellcheck disable=SC2086
	set_devices mpa_markers $who
	for program in ib_write_bw ib_read_bw ib_send_bw; do
		for size in $SIZES; do
			check "$program, $size octets, markers $who" perf $program "$size"
		done
	done
done
check "markers take their share of the wire" grows_by_markers
check "tshark reads FPDUs with markers" tshark_reads
set_devices mpa_markers 0 0
check "a peer of another make, octet by octet" other_peer
finish
