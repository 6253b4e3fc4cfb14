#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# libfabric's verbs provider: endpoints of messages, and reliable datagrams on top (ofi_rxm), which MPI uses.
#
#   sr0: srnic0 ── fi_pingpong ──cable── fi_pingpong ── srnic1 :sr1
cd "$(dirname "$0")" && . ./lib.sh

# Each byte is checked. Both ends poll: on one processor a transfer takes as long as the scheduler lets each of them.
pingpong() { # SIZE PROVIDER ENDPOINT-TYPE [OPTION...]
	local options="-p '$2' -e $3 -S $1 -I 5 -c ${*:4}"
	with_server sr1 "fi_pingpong $options -d srnic1${OF:-}" sr0 "fi_pingpong $options -d srnic0${OF:-} $IP1" 47592
}

# libfabric's name for the QPs of type UD of a device
unreliable() { OF=-dgram pingpong "$1" verbs dgram; } # SIZE

all_arrived() { [ "$(counter srnic0 tx_fpdus)" = "$(counter srnic1 rx_fpdus)" ]; }

# Two races of libfabric (2.6), with any device. As soon as ofi_rxm sees that the client has left it destroys the QP, and
# the completions with it that it has not read: a server that was not scheduled meanwhile waits for the client's last
# message for ever. And it listens on a port that rdma_cm chose, which may be that of a TCP connection.
raced() { # OUTPUT
	[[ ! $1 =~ 'not done after' ]] && [[ $1 =~ 'server: not done in time'|'Address already in use' ]] && all_arrived
}

datagrams() { # SIZE [OPTION...]
	LIMIT=$((${LIMIT:-120} / 4)) despite_races raced pingpong "$1" 'verbs;ofi_rxm' rdm "${@:2}"
}

# Addresses of InfiniBand (AF_IB), which rdma_cm does not take for iWARP, would be endpoints that cannot connect.
offers_ip_only() {
	ns0 fi_info -v -p verbs >"$LOGS/fi_info" && grep -n "addr_format\|src_addr:\|domain_name\|name: srnic" "$LOGS/fi_info" &&
		grep -q "addr_format: FI_SOCKADDR_IN$" "$LOGS/fi_info" && ! grep "FI_SOCKADDR_IB" "$LOGS/fi_info"
}

device_without_address() {
	ip -n sr0 link add dummy0 type dummy && ip -n sr0 link set dummy0 addrgenmode none up &&
		ns0 rdma link add srnic2 type srnic netdev dummy0
}

if ! command -v fi_pingpong >/dev/null; then
	skip "fi_pingpong is not installed (libfabric-bin)"
fi
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
for size in 1 1000 65536 1048576; do
	check "fi_pingpong, messages of $size bytes" pingpong $size verbs msg
done
check "fi_pingpong, reliable datagrams of 1000 bytes" datagrams 1000
check "fi_pingpong, reliable datagrams of 1 MiB" datagrams 1048576
check "fi_pingpong, reliable datagrams with tags" datagrams 65536 -m tagged
check "a device without an IP address" device_without_address
if [ "${DEVICE_TYPE:-srnic}" = srnic ]; then
	check "fi_info offers endpoints with IP addresses only" offers_ip_only
else
	check "fi_pingpong, datagrams of 1000 bytes" unreliable 1000
fi
finish
