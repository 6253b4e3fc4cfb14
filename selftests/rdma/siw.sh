#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A stranger as the peer: the kernel's own siw, in both roles, with each operation that it has, messages from one octet to
# 16 MiB, and CRCs where our end asks for them (RFC 5044 7.1: they are used unless neither end does).
#
# SIZES: the messages' octets, and PLAIN_SIZES those without CRCs; ITERS: how many of each, less of 1 MiB and more.
cd "$(dirname "$0")" && . ./lib.sh

COUNT=${COUNT:-100}
PLAIN_SIZES=${PLAIN_SIZES:-${SIZES:-1 65536 16777216}}
SIZES=${SIZES:-1 4096 65536 1048576 16777216}
ITERS=${ITERS:-50}

siw_up() {
	hosts_up && modprobe siw && modprobe rdma_ucm && ns0 rdma link add srnic0 type srnic netdev veth0 &&
		ns1 rdma link add siw1 type siw netdev veth1
}

ping_pong() { # SERVER-NS CLIENT-NS ADDRESS SIZE
	with_server "$1" "rping -s -a $3 -C $COUNT -S $4 -v -p 7174" \
		"$2" "set -o pipefail; rping -c -a $3 -C $COUNT -S $4 -v -V -p 7174 | tail -n 1 | cut -c 1-100" 7174
}

iterations() { # SIZE
	[ "$1" -ge 1048576 ] && echo 5 || echo "$ITERS"
}

siw_serves() { # PROGRAM SIZE
	local options
	options="-R -s $2 -n $(iterations "$2") -F"
	with_perftest sr1 "$1 -d siw1 $options" sr0 "$1 -d srnic0 $options $IP1"
}

# The server is at one address: on a wildcard siw would listen in this namespace too, and take srnic's port.
srnic_serves() { # PROGRAM SIZE
	local options
	options="-R -s $2 -n $(iterations "$2") -F"
	with_perftest sr0 "$1 -d srnic0 --bind_source_ip $IP0 $options" sr1 "$1 -d siw1 $options $IP0"
}

set_crc() { echo "$1" >/sys/class/infiniband/srnic0/mpa_crc && [ "$(cat /sys/class/infiniband/srnic0/mpa_crc)" = "$1" ]; }

# ---- what siw has as compile-time constants: with a siw of which they are parameters (vm/run --peer siw-params) ----

PARAMETERS=/sys/module/siw/parameters

set_siw() { # NAME=VALUE...; the others as siw has them
	local each
	for each in mpa_version=2 try_gso=0 mpa_crc_required=0 mpa_crc_strict=0 peer_to_peer=0 "$@"; do
		echo "${each#*=}" >"$PARAMETERS/${each%=*}" || return
	done
}

# rping's Sends, Reads and Writes in both roles, their octets compared; and large Writes of siw's.
every_operation() {
	ping_pong sr1 sr0 "$IP1" 64 && ping_pong sr0 sr1 "$IP60" 65535 && ping_pong sr1 sr0 "$IP61" 65535 &&
		srnic_serves ib_write_bw 1048576
}

# In neither role does a connection come about, and nobody waits for long.
refused() {
	! LIMIT=5 ping_pong sr1 sr0 "$IP1" 64 && ! LIMIT=5 ping_pong sr0 sr1 "$IP0" 64
}

variants() {
	local crc variant
	for crc in 1 0; do
		set_crc $crc
		for variant in try_gso=1 mpa_crc_required=1 "mpa_crc_required=1 mpa_crc_strict=1" peer_to_peer=1 mpa_version=1; do
			# shellcheck disable=SC2086 # two words
			check "siw with $variant, CRC $crc, can be set" set_siw $variant
			check "every operation, siw with $variant, CRC $crc" every_operation
		done
	done
	check "siw with mpa_crc_strict=1 can be set" set_siw mpa_crc_strict=1
	check "every operation, siw that insists on no CRCs, CRC 0" every_operation
	set_crc 1
	check "a siw that insists on no CRCs and an end that asks for them do not connect" refused
	set_siw mpa_crc_strict=0
}

if ! modinfo siw >/dev/null 2>&1; then
	echo "1..0 # SKIP this kernel has no siw"
	exit 0
fi
siw_up || { echo "Bail out! no devices"; exit 1; }
for crc in 1 0; do
	check "mpa_crc $crc can be set" set_crc $crc
	for size in 64 65535; do
		check "rping, siw serves, $size octets, IPv4, CRC $crc" ping_pong sr1 sr0 "$IP1" $size
		check "rping, srnic serves, $size octets, IPv4, CRC $crc" ping_pong sr0 sr1 "$IP0" $size
		check "rping, siw serves, $size octets, IPv6, CRC $crc" ping_pong sr1 sr0 "$IP61" $size
		check "rping, srnic serves, $size octets, IPv6, CRC $crc" ping_pong sr0 sr1 "$IP60" $size
	done
	[ $crc = 1 ] || SIZES=$PLAIN_SIZES
	for size in $SIZES; do
		for program in ib_write_bw ib_read_bw ib_send_bw; do
			check "$program, siw serves, $size octets, CRC $crc" siw_serves $program "$size"
			check "$program, srnic serves, $size octets, CRC $crc" srnic_serves $program "$size"
		done
	done
done
[ ! -e $PARAMETERS/try_gso ] || variants
rdma link delete siw1
finish
