#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Datagrams of strangers (strays/), by plain UDP, to a QP of type UD of a device of type srnic_ib in the other namespace:
# each field of Documentation/ib.rst's rules wrong, packets that IP or UDP drop or put together, QPs that cannot take them;
# and what such a QP sends, octet by octet. Each row is one test: what the receive gets, to its last octet, the completion,
# the memory around it, the counters of what was dropped, and that the next good datagram arrives.
#
# CASES: parts of the names of the rows to run, separated by '|'.
cd "$(dirname "$0")" && . ./lib.sh

PROGRAM=$PWD/strays/build/strays
BESIDE=10.97.0.1 # of the victim's host

link_local() { ip -n sr0 -6 -br addr show dev veth0 scope link -tentative | grep -o 'fe80::[^/ ]*'; }

victim_up() {
	ns1 rdma link add srnic1 type srnic_ib netdev veth1 && within 50 link_local >/dev/null &&
		ip -n sr1 addr add $BESIDE/32 dev lo && ip -n sr0 route add $BESIDE via "$IP1"
}

strays() {
	LIMIT=${LIMIT:-200} in_ns sr0 "'$PROGRAM' --only '${CASES:-}' srnic1 $IP1 $IP61 $IP0 $IP60 veth0 $(link_local) \
		$BESIDE"
}

needs rdma
built_or_skip "$PROGRAM"
modprobe -a ib_uverbs srnic
hosts_up && victim_up || { echo "Bail out! no devices"; exit 1; }
strays
status=$?
everything_down
exit $status
