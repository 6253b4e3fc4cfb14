#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Interoperability with the kernel's own siw, in both roles: all of its operations, messages from 1 byte to 16 MiB, with
# and without CRCs (RFC 5044 7.1: used unless neither end asks). rping and faults/carrier.cc compare all data in both
# directions, up to 256 KiB. capture/operations.cc sends all seven messages, and tshark decodes them.
#
# What siw does differently, or wrong:
# - It initiates without a ready-to-receive message, also with a Request of revision 2.
# - It lets the peer invalidate a program's own region. Its library does not show the program which, and takes the STag of
#   a Send with Invalidate from the field for a Write's rkey.
# - The control field of its Terminates (RFC 5040 figure 8) has layer and error type swapped, and M, D and R at the other
#   end of the octet, where bits are reserved. Its DDP Segment Length excludes the header.
# - For a peer of revision 1 it reports depths of zero to its consumer, so rping's server cannot read.
#
# - It does not know RFC 7306.
# - It returns the bit of large FPDUs when asked, also without try_gso; it takes them.
#
# SIZES: bytes of messages. ITERS: how many of each, fewer from 1 MiB on. MESSAGES: of each kind, for tshark. VARIANT_CRCS: 1
# or 0 or both, srnic's setting beside each of siw's.
cd "$(dirname "$0")" && . ./lib.sh && . faults/carry.sh && . capture/tshark.sh

STRANGER=$PWD/semantics/build/stranger
MESSAGES=${MESSAGES:-5}
COUNT=${COUNT:-30}
SIZES=${SIZES:-1 65536 16777216}
VARIANT_CRCS=${VARIANT_CRCS:-1 0}
ITERS=${ITERS:-50}

siw_up() {
	hosts_up && modprobe siw && modprobe rdma_ucm && ns0 rdma link add srnic0 type srnic netdev veth0 &&
		ns1 rdma link add siw1 type siw netdev veth1
}

iterations() { # SIZE
	[ "$1" -ge 1048576 ] && echo 5 || echo "$ITERS"
}

siw_serves() { # PROGRAM SIZE
	local options
	options="-R -s $2 -n $(iterations "$2") -F"
	with_perftest sr1 "$1 -d siw1 $options" sr0 "$1 -d srnic0 $options $IP1"
}

# The server listens on one address: with a wildcard siw would also listen in this namespace, and take srnic's port.
srnic_serves() { # PROGRAM SIZE
	local options
	options="-R -s $2 -n $(iterations "$2") -F"
	with_perftest sr0 "$1 -d srnic0 --bind_source_ip $IP0 $options" sr1 "$1 -d siw1 $options $IP0"
}

# ---- every operation, as seen by tshark ----

operations() { # FILE CLIENT-NS SERVER-NS ADDRESS [HOW-IT-DIFFERS...]
	"$OPERATIONS" "${@:2:3}" "$MESSAGES" "${@:5}" >"$1.sent"
}

decodes() { # NAME CRC CLIENT-NS SERVER-NS ADDRESS [HOW-IT-DIFFERS...]
	local file=$LOGS/operations.pcap
	check "every operation, $1" undisturbed captured "$file" sr1 veth1 operations "$file" "${@:3}" && reads_well "$file" "$2" "$1"
	sed 's/^/# opcode, messages, octets: /' "$file.sent"
}

# ---- RFC 7306 1.1: a peer without the extensions ----

stranger() { # CASE
	ns0 "$STRANGER" sr0 "$IP0" sr1 "$IP1" "$1"
}

noticed() { ns0 srnicctl doctor | grep -A 1 '^warn	siw: siw1 of siw here'; }

strangers() {
	check "an addition fails with REM_OP_ERR at a peer that does not know RFC 7306" stranger fetch-add
	check "so does a comparison" stranger cmp-swap
	check "a probe says that it does not know atomic operations" stranger probe
	check "Immediate Data ends the connection with it" stranger immediate
	check "srnicdv refuses objects of its device" stranger foreign
}

# ---- siw's compile-time constants, as module parameters (vm/run --peer siw-params) ----

PARAMETERS=/sys/module/siw/parameters

set_siw() { # NAME=VALUE...; the others as siw has them
	local each
	for each in mpa_version=2 try_gso=0 mpa_crc_required=0 mpa_crc_strict=0 peer_to_peer=0 "$@"; do
		echo "${each#*=}" >"$PARAMETERS/${each%=*}" || return
	done
}

# rping's Sends, Reads and Writes in both roles, data compared; and large Writes from siw.
every_operation() {
	rping_between sr1 sr0 "$IP1" "$COUNT" 64 && rping_between sr0 sr1 "$IP60" "$COUNT" 65535 &&
		rping_between sr1 sr0 "$IP61" "$COUNT" 65535 && srnic_serves ib_write_bw 1048576
}

every_large_operation() { every_operation && siw_serves ib_write_bw 1048576 && siw_serves ib_send_bw 1048576; }

set_large() { echo "$1" >/sys/class/infiniband/srnic0/mpa_large_fpdus; }

# The client gets an event and exits with rping's 255, not by the time limit (124) or a signal.
is_refused() { # SERVER-NS CLIENT-NS ADDRESS
	local said status
	said=$(LIMIT=20 rping_between "$@" "$COUNT" 64 2>&1)
	status=$?
	echo "status $status: $said"
	[ $status = 255 ] && [[ $said = *RDMA_CM_EVENT_REJECTED* ]]
}

# Neither role gets a connection, and neither waits for long.
refused() { is_refused sr1 sr0 "$IP1" && is_refused sr0 sr1 "$IP0"; }

variants() {
	local crc variant
	for crc in $VARIANT_CRCS; do
		set_device 0 mpa_crc $crc
		for variant in try_gso=1 mpa_crc_required=1 "mpa_crc_required=1 mpa_crc_strict=1" peer_to_peer=1 mpa_version=1; do
			# shellcheck disable=SC2086 # two words
			check "siw with $variant, CRC $crc, can be set" set_siw $variant
			check "every operation, siw with $variant, CRC $crc" every_operation
		done
	done
	set_large 1
	for crc in 1 0; do
		set_device 0 mpa_crc $crc
		check "siw with try_gso=1, CRC $crc, can be set" set_siw try_gso=1
		check "every operation, with large FPDUs both ways, CRC $crc" fpdus_are srnic0 -gt 16384 every_large_operation
	done
	check "siw without try_gso can be set" set_siw
	check "FPDUs to a siw that asks without try_gso fit TCP segments" fpdus_are srnic0 -le 1460 srnic_serves ib_read_bw 1048576
	set_large 0
	check "siw with mpa_crc_strict=1 can be set" set_siw mpa_crc_strict=1
	check "every operation, siw that insists on no CRCs, CRC 0" every_operation
	set_device 0 mpa_crc 1
	check "a siw that insists on no CRCs and an end that asks for them do not connect" refused
	set_siw mpa_crc_strict=0
}

if ! modinfo siw >/dev/null 2>&1; then
	skip "this kernel has no siw"
fi
needs rping ib_write_bw tcpdump tshark srnicctl
built_or_skip "$OPERATIONS" "$CARRIER" "$STRANGER"
siw_up || { echo "Bail out! no devices"; exit 1; }
check "srnicctl doctor warns of a device of siw" noticed
for crc in 1 0; do
	check "mpa_crc $crc can be set" set_device 0 mpa_crc $crc
	for size in 64 65535; do
		check "rping, siw serves, $size octets, IPv4, CRC $crc" rping_between sr1 sr0 "$IP1" "$COUNT" $size
		check "rping, srnic serves, $size octets, IPv4, CRC $crc" rping_between sr0 sr1 "$IP0" "$COUNT" $size
		check "rping, siw serves, $size octets, IPv6, CRC $crc" rping_between sr1 sr0 "$IP61" "$COUNT" $size
		check "rping, srnic serves, $size octets, IPv6, CRC $crc" rping_between sr0 sr1 "$IP60" "$COUNT" $size
	done
	decodes "siw serves, CRC $crc" $crc sr0 sr1 "$IP1" invalidates
	decodes "srnic serves, CRC $crc" $crc sr1 sr0 "$IP0" no-rtr
	for size in $SIZES; do
		for program in ib_write_bw ib_read_bw ib_send_bw; do
			check "$program, siw serves, $size octets, CRC $crc" siw_serves $program "$size"
			check "$program, srnic serves, $size octets, CRC $crc" srnic_serves $program "$size"
		done
	done
done
check "256 KiB and less, each octet compared, siw serves, CRC 0" carries 1
check "256 KiB and less, each octet compared, srnic serves, CRC 0" eval "CARRY_TO='sr0 $IP0' CARRY_FROM=sr1 carries 1"
strangers
check "mpa_revision can be 1" set_revision 1
check "RFC 6581 10: our Requests of revision 1, siw serves" carries 1
check "mpa_revision 2 again" set_revision 2
if [ -e $PARAMETERS/try_gso ]; then
	variants
elif [ -n "${VARIANT_CRCS:-}" ]; then
	check "this siw has parameters" false
fi
rdma link delete siw1
finish
