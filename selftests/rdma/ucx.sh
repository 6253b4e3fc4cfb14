#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# UCX's rc_verbs transport, on which MPI and others run, and its ud_verbs, between devices of type srnic_ib: ucx_perftest,
# unmodified. What passes has also moved its bytes through the device, as its counters say: UCX takes TCP in silence where
# it can. What fails is run on rxe, too, on the same interfaces, and the log has what came of it.
#
#   sr0: srnic0 ── ucx_perftest ──cable── ucx_perftest ── srnic1 :sr1
#
# COUNT: messages of each test, of SIZES. WARMUP: messages before. CASES: parts of the names of the cases to run,
# separated by '|'.
cd "$(dirname "$0")" && . ./lib.sh

COUNT=${COUNT:-100}
SIZES=${SIZES:-8 65536 1048576}
WARMUP=${WARMUP:-5}

# UCX exchanges addresses by TCP; with more than one lane half of a large message goes that way.
environment() { # DEVICE NETDEV
	echo "./own-net-sys env UCX_TLS=${TLS:-rc_verbs,tcp,self} UCX_NET_DEVICES=$1:1,$2 UCX_MAX_RNDV_LANES=1" \
		"UCX_MAX_EAGER_LANES=1 UCX_LOG_LEVEL=${UCX_LOG_LEVEL:-warn} ${EXTRA:-}"
}

perftest() { # DRIVER OPTION...
	with_server sr1 "$(environment "${1}1" veth1) ucx_perftest $ALONE ${*:2}" \
		sr0 "exec $(environment "${1}0" veth0) ucx_perftest $ALONE -f ${*:2} $IP1" 13337
}

# The device is named for UCT alone: its ends do not agree on a transport.
uct_by() { # DRIVER TRANSPORT OPTION...
	with_server sr1 "ucx_perftest $ALONE -x $2 -d ${1}1:1 ${*:3}" \
		sr0 "exec ucx_perftest $ALONE -f -x $2 -d ${1}0:1 ${*:3} $IP1" 13337
}

uct() { uct_by "$1" rc_verbs "${@:2}"; } # DRIVER OPTION...

# Alone: no TCP beside it.
datagrams() { TLS=ud_verbs,self perftest "$@"; } # DRIVER OPTION...

wanted() { [[ $1 =~ ${CASES:-.} ]]; } # NAME

moves() { # NAME BYTES COMMAND...
	! wanted "$1" || check "$1" grown srnic0 "tx_octets + rx_octets >= $2" "${@:3}"
}

# ucx_perftest's options of each, in the order in which one may look for what fails.
transport_tests() {
	local layout size test
	for layout in short bcopy zcopy; do
		for test in am_lat am_bw put_lat put_bw; do
			size=4096
			[ $layout != short ] || size=32
			moves "UCT $test, $layout" $((size * COUNT)) \
				compared uct -t $test -D $layout -s $size -n "$COUNT" -w "$WARMUP"
		done
	done
	for size in 4096 1048576; do
		moves "UCT put_bw of $size bytes" $((size * COUNT)) \
			compared uct -t put_bw -D zcopy -s $size -n "$COUNT" -w "$WARMUP"
		moves "UCT get_bw of $size bytes" $((size * COUNT)) \
			compared uct -t get_bw -D zcopy -s $size -n "$COUNT" -w "$WARMUP"
	done
	for test in add_lat add_mr fadd cswap; do
		moves "UCT $test" $((8 * COUNT)) compared uct -t $test -s 8 -n "$COUNT" -w "$WARMUP"
	done
}

protocol_tests() {
	local size test
	for size in $SIZES; do
		for test in tag_lat tag_bw tag_sync_lat ucp_put_lat ucp_put_bw ucp_get stream_bw ucp_am_lat ucp_am_bw; do
			moves "$test of $size bytes" $((size * COUNT)) \
				compared perftest -t $test -s "$size" -n "$COUNT" -w "$WARMUP"
		done
	done
	for test in ucp_add ucp_fadd ucp_swap ucp_cswap; do
		moves "$test" $((8 * COUNT)) compared perftest -t $test -s 8 -n "$COUNT" -w "$WARMUP"
	done
}

# Large messages by Reads of the receiver, by Writes of the sender, and in pieces.
rendezvous_tests() {
	local scheme
	for scheme in get_zcopy put_zcopy am; do
		EXTRA="UCX_RNDV_SCHEME=$scheme UCX_RNDV_THRESH=4096" moves "tag_bw by $scheme" $((65536 * COUNT)) \
			compared perftest -t tag_bw -s 65536 -n "$COUNT" -w "$WARMUP"
	done
}

mode_tests() {
	moves "tag_lat, sleeping for events" $((4096 * COUNT)) \
		compared perftest -t tag_lat -E sleep -s 4096 -n "$COUNT" -w "$WARMUP"
	moves "tag_bw, with error handling" $((65536 * COUNT)) \
		compared perftest -t tag_bw -e -s 65536 -n "$COUNT" -w "$WARMUP"
	moves "tag_bw, of unexpected messages" $((65536 * COUNT)) \
		compared perftest -t tag_bw -U -s 65536 -n "$COUNT" -w "$WARMUP"
	moves "tag_bw, of a list of pieces" $((65536 * COUNT)) \
		compared perftest -t tag_bw -D iov,iov -s 1024,64512 -n "$COUNT" -w "$WARMUP"
}

moves_datagrams() { # NAME BYTES COMMAND...
	! wanted "$1" || check "$1" grown srnic0 "tx_datagram_octets + rx_datagram_octets >= $2" "${@:3}"
}

# UCX makes them reliable. More than a datagram has goes in pieces. On rxe they fail: UCX takes from the completion whether
# the datagram came by IPv4 (wc.sl, as adapters report it), and rxe does not say.
datagram_tests() {
	local layout size test
	for layout in short bcopy zcopy; do
		for test in am_lat am_bw; do
			size=800
			[ $layout != short ] || size=32
			moves_datagrams "UCT $test by datagrams, $layout" $((size * COUNT)) \
				compared uct_by ud_verbs -t $test -D $layout -s $size -n "$COUNT" -w "$WARMUP"
		done
	done
	for size in 8 65536; do
		for test in tag_lat tag_bw ucp_put_lat ucp_get ucp_am_bw; do
			moves_datagrams "$test of $size bytes by datagrams" $((size * COUNT)) \
				compared datagrams -t $test -s "$size" -n "$COUNT" -w "$WARMUP"
		done
	done
	moves_datagrams "tag_lat by datagrams, sleeping for events" $((4096 * COUNT)) \
		compared datagrams -t tag_lat -E sleep -s 4096 -n "$COUNT" -w "$WARMUP"
}

# What the other tests rely on: UCX without our device passes, and the device's counters stand still.
over_tcp() { TLS=tcp,self grown srnic0 "tx_octets + rx_octets == 0" perftest srnic -t tag_bw -s 4096 -n 10 -w 1; }

objects() { resources_and_streams; }

needs ucx_perftest python3
compgen -G "/usr/lib/*/ucx/libuct_ib.so.0" >/dev/null || skip "this UCX is built without verbs, as Debian's 1.23.0~rc1"
# Debian 13's is an MPI program otherwise; others take -P's argument for the server's address.
ALONE=$(! ucx_perftest -h 2>&1 | grep -qe '-P <' || echo "-P 0")
modprobe -a ib_uverbs srnic
hosts_up && ib_devices_up || { echo "Bail out! no devices"; exit 1; }
BEFORE=$(objects)
! wanted TCP || check "over TCP the device's counters stand still" over_tcp
transport_tests
protocol_tests
rendezvous_tests
mode_tests
datagram_tests
check "nothing is left of them" settled "$BEFORE"
finish
