#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Connection setup under attack (shared/): two srnic devices in one namespace, and an address of neither. Argument: part
# of the names of the cases to run.
#
#   namespace sr0:  srnic0 on veth0   10.99.0.1, fd99::1
#                   srnic2 on d0      10.98.0.1, fd98::1	(dummy: what leaves it is lost)
#                   d1                10.96.0.1, fd96::1
cd "$(dirname "$0")" && . ./lib.sh

spare_up() { # NETDEV IPV4 IPV6
	ip -n sr0 link add "$1" type dummy && ip -n sr0 link set "$1" up && ip -n sr0 addr add "$2/24" dev "$1" &&
		ip -n sr0 addr add "$3/64" dev "$1" nodad
}

built_or_skip shared/startup
hosts_up && devices_up && spare_up d0 10.98.0.1 fd98::1 && spare_up d1 10.96.0.1 fd96::1 &&
	ns0 rdma link add srnic2 type srnic netdev d0 || { echo "Bail out! no devices"; exit 1; }
LIMIT=${LIMIT:-300} in_ns sr0 \
	"./shared/startup srnic0 $IP0 $IP60 srnic2 10.98.0.1 fd98::1 d0 10.96.0.1 '$1'"
status=$?
everything_down
exit $status
