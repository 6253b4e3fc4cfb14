#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Peers that break each rule of Documentation/ib.rst (strangers/), by plain TCP, against a device of type srnic_ib in the
# other namespace: each field of a startup frame wrong, FPDUs, Acks and responses that lie, and peers that die. Each row is
# one test: what the peer gets to its last byte, the victim's completions, state, events and memory, and that sound QPs
# of the device, and the same QP, work afterwards.
#
# OCTETS: which of the rows are also sent byte by byte: 1: each (default), 3: every third, 0: none. CASES: parts of the
# names of the rows to run, separated by '|'.
cd "$(dirname "$0")" && . ./lib.sh

PROGRAM=$PWD/strangers/build/strangers
GREATER=10.99.0.3 # of the strangers, above the victim's

victim_up() {
	ip -n sr0 addr add $GREATER/24 dev veth0 && ns1 rdma link add srnic1 type srnic_ib netdev veth1
}

strangers() {
	LIMIT=${LIMIT:-400} in_ns sr0 "'$PROGRAM' --octets-every ${OCTETS:-1} --only '${CASES:-}' srnic1 $IP1 $IP61 \
		$IP0 $IP60 $GREATER"
}

needs rdma
built_or_skip "$PROGRAM"
modprobe -a ib_uverbs srnic
hosts_up && victim_up || { echo "Bail out! no devices"; exit 1; }
strangers
status=$?
everything_down
exit $status
