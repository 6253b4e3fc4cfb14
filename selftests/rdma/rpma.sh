#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# librpma, unmodified, of which Debian 12 has the last package: no program of Debian's uses it, so rpma/rpma.cc, built here,
# calls all of its operations, and checks every byte. Then the same over rxe, which shows that the program is right.
#
#   sr0: srnic0 ── rpma client ──cable── rpma server ── srnic1 :sr1
#
# LIBRPMA: a folder with librpma 1.3 built from source, as include/ and lib/; its examples, and run-all-examples.sh, run on
# type srnic_ib if they are there, too: one sends Immediate Data with payload. This librpma posts Atomic Writes and Flushes
# where rdma-core and the device have them; Debian 12's makes them of Writes and Reads.
cd "$(dirname "$0")" && . ./lib.sh

PORT=7205
PROGRAM=$LOGS/rpma
SERVER=sr1 CLIENT=sr0 ADDRESS=$IP1
HOST=rpma0
CASES="connect messages writes writes-with-immediate reads atomic-writes flushes-to-visibility flushes-to-persistence"
CASES+=" rights refused messages-with-immediate"

build() {
	g++ -std=c++20 -O1 ${LIBRPMA:+-I"$LIBRPMA/include" -L"$LIBRPMA/lib" -Wl,-rpath,"$LIBRPMA/lib"} -o "$PROGRAM" \
		rpma/rpma.cc -lrpma -libverbs
}

run_case() { # CASE
	with_server $SERVER "$PROGRAM server $ADDRESS $PORT" $CLIENT "exec $PROGRAM client $ADDRESS $PORT $1" $PORT
}

what_it_said() { # STATUS
	cat "$LOGS/said"
	return "$1"
}

# The program's status is 4 if it finds that the library or the device does not have the case.
judge() { # DRIVER CASE
	local status=0
	run_case "$2" >"$LOGS/said" 2>&1 || status=$?
	if [ $status = 4 ]; then
		skip_one "$1: $2" "$(sed -n 's/^cannot: //p' "$LOGS/said")"
	else
		check "$1: $2" what_it_said $status
	fi
}

over() { # DRIVER
	local name
	for name in $CASES; do
		if [ "$1 $name" = "srnic messages-with-immediate" ]; then
			skip_one "$1: $name" "RDMAP has no such messages"
		else
			judge "$1" "$name"
		fi
	done
}

# Both ends on a device of the first namespace: Debian 12's rxe works nowhere else.
over_rxe() {
	SERVER=first CLIENT=first ADDRESS=$HOST0
	if ! modprobe -q rdma_rxe; then
		skip_one rxe "there is no module rdma_rxe"
	elif check "a device of type rxe" rdma link add rxe0 type rxe netdev $HOST; then
		DEVICE_TYPE=srnic_ib over rxe	# wait_listening() then looks for both kinds of listener
		rdma link delete rxe0
	fi
}

# librpma's own, as its script runs them, on one host.
examples() {
	rdma link add srnic0 type srnic_ib netdev $HOST && within 50 gid_index srnic0 "$(gid_of $HOST0)" || return
	LD_LIBRARY_PATH=$LIBRPMA/lib bash "$LIBRPMA/run-all-examples.sh" "$LIBRPMA/examples" $HOST0 $PORT \
		>"$LOGS/examples" 2>&1
	local status=$?
	rdma link delete srnic0
	cat "$LOGS/examples"
	[ $status = 0 ] && ! grep "FAILED" "$LOGS/examples"
}

first_namespace_up() {
	ip netns attach first $$ && ip link add $HOST type dummy && ip addr add $HOST0/24 dev $HOST && ip link set $HOST up
}

objects() { resources_and_streams; }

[ -e "${LIBRPMA:-/usr}/include/librpma.h" ] && command -v g++ >/dev/null ||
	skip "librpma is not installed (Debian 12's librpma-dev, g++)"
modprobe -a ib_uverbs srnic
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
BEFORE=$(objects)
check "the program is built" build || { finish; exit; }
over "${DEVICE_TYPE:-srnic}"
check "nothing is left of them" settled "$BEFORE"
rdma link delete srnic0
rdma link delete srnic1
if check "an interface of the first namespace" first_namespace_up; then
	[ "${DEVICE_TYPE:-srnic}" != srnic_ib ] || [ ! -d "${LIBRPMA:-}/examples" ] || check "librpma's examples" examples
	over_rxe
	ip link del $HOST
fi
ip netns del first
finish
