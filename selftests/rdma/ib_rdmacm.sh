#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# rdma_cm on devices of type srnic_ib, where it connects by MADs between the QPs 1 of two devices (Documentation/ib.rst, "QP
# 1"): datagrams of RDMA_PS_UDP; what is refused, lost or deleted meanwhile; VLANs; many connections at once; and which
# device it takes where an interface has both types.
#
#   sr0: srnic0 ── client ──cable── server ── srnic1 :sr1
#
# rdmacm.sh and the tests of programs and consumers run on such devices as ib:TEST of all.sh.
#
# CONNECTIONS: how many at once.
cd "$(dirname "$0")" && . ./lib.sh
DEVICE_TYPE=srnic_ib

CONNECTIONS=${CONNECTIONS:-300}
VLAN0=10.99.5.1 VLAN1=10.99.5.2

between() { # SERVER CLIENT
	with_server sr1 "$1" sr0 "$2" 7174
}

# It listens for its rdma_cm connections on the port on which it has a TCP connection.
cmtime_runs() {
	between "cmtime -b $IP1 -p 7174 -c 100" "cmtime -s $IP1 -p 7174 -c 100" >"$LOGS/said" && grep "cm connect" "$LOGS/said"
}

# -p is ucmatose's port; udaddy, whose port is 7174, has another option of that name.
complete() { # PROGRAM SERVER'S-ADDRESS CLIENT'S-ADDRESS OPTION...
	local port=
	[ "$1" = udaddy ] || port="-p 7174"
	between "$1 $port -b $2 ${*:4}" "$1 $port -s $2 -b $3 ${*:4}" | tee "$LOGS/said"
	[ "${PIPESTATUS[0]}" = 0 ] && grep -q 'data transfers complete' "$LOGS/said" && ! grep -q event "$LOGS/said"
}

objects() { resources; }

nobody_listens() {
	local said
	said=$(in_ns sr0 "timeout 30 rping -c -a $IP1 -C 1 -p 7175" 2>&1) && return 1
	echo "$said"
	[[ $said = *RDMA_CM_EVENT_REJECTED* ]]
}

# A MAD that is lost is sent again after four seconds.
while_a_fifth_is_lost() {
	local status=0
	lose 0 && lose 1 && LIMIT=300 complete ucmatose "$IP1" "$IP0" -c 5 -C 10 -S 1000 || status=1
	ns0 tc qdisc del dev veth0 root
	ns1 tc qdisc del dev veth1 root
	return $status
}

lose() { ns"$1" tc qdisc add dev veth"$1" root netem loss 20%; } # NUMBER

vlan_up() {
	local n address
	for n in 0 1; do
		address=VLAN$n
		ip -n sr$n link add link veth$n name veth$n.5 type vlan id 5 && ip -n sr$n addr add "${!address}/24" dev veth$n.5 &&
			ip -n sr$n link set veth$n.5 up || return
	done
	reach sr0 $VLAN1 && within 50 gid_index srnic0 "$(gid_of $VLAN0)" && within 50 gid_index srnic1 "$(gid_of $VLAN1)"
}

on_a_vlan() { vlan_up && complete ucmatose $VLAN1 $VLAN0 -c 3 -C 10 -S 1000 && rping_between sr1 sr0 $VLAN1 10 1000; }

# The ends of rping are told, and go.
until_deleted() { # COMMAND...
	local server client status=0
	become_in_ns sr1 "exec rping -s -a $IP1 -p 7174" >/dev/null 2>&1 & server=$!
	wait_listening sr1 7174 $server
	become_in_ns sr0 "exec rping -c -a $IP1 -p 7174 -C 1000000" >/dev/null 2>&1 & client=$!
	within 50 moving srnic0 && "$@" || status=1
	within 100 gone $client || { echo "the client is still there"; status=1; }
	kill $server $client 2>/dev/null
	wait
	return $status
}

moving() { # DEVICE
	local before
	before=$(counter "$1" tx_fpdus) && pause 0.2 && [ "$(counter "$1" tx_fpdus)" -gt "$before" ]
}

gone() { ! kill -0 "$1" 2>/dev/null; } # PID

is_vacant() { ! rdma resource show cm_id | grep -q "srnic$1"; } # NUMBER

made_again() { ns"$1" rdma link add srnic"$1" type srnic_ib netdev veth"$1"; } # NUMBER

# srnic before srnic_ib.
both_types_up() {
	rdma link delete srnic0 && rdma link delete srnic1 && devices_of srnic 0 1 && devices_of srnic_ib 2 3
}

devices_of() { # TYPE NUMBER NUMBER
	ns0 rdma link add srnic"$2" type "$1" netdev veth0 && ns1 rdma link add srnic"$3" type "$1" netdev veth1
}

takes_srnic() { DEVICE_TYPE=srnic grown srnic0 "tx_fpdus >= 20 and rx_fpdus >= 20" rping_between sr1 sr0 "$IP1" 10 1000; }

both_types_down() {
	rdma link delete srnic2 && rdma link delete srnic3 && rdma link delete srnic1
}

# The server's host has srnic_ib alone.
another_type_is_refused() {
	local said status server
	ns1 rdma link add srnic1 type srnic_ib netdev veth1 || return
	become_in_ns sr1 "exec rping -s -a $IP1 -p 7174" >/dev/null 2>&1 & server=$!
	wait_listening sr1 7174 $server
	said=$(in_ns sr0 "timeout 30 rping -c -a $IP1 -C 1 -p 7174" 2>&1)
	status=$?
	kill $server
	wait $server
	echo "$said"
	[ $status != 0 ] && [ $status != 124 ] && [[ $said = *RDMA_CM_EVENT_REJECTED* ]]
}

needs ucmatose udaddy rping cmtime python3
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
check "udaddy, 10 messages of 1000 bytes on each of 10 QPs" complete udaddy "$IP1" "$IP0" -c 10 -C 10 -S 1000
check "udaddy, IPv6" complete udaddy "$IP61" "$IP60" -c 3 -C 10 -S 1000
check "a request for a port on which nobody listens is rejected" nobody_listens
check "ucmatose, $CONNECTIONS connections at once" complete ucmatose "$IP1" "$IP0" -c "$CONNECTIONS" -C 2 -S 64
check "cmtime, 100 connections" cmtime_runs
check "ucmatose, a fifth of all packets is lost" while_a_fifth_is_lost
check "ucmatose and rping, on a VLAN" on_a_vlan
check "nothing is left behind" settled "$OBJECTS"
check "the client's device is deleted" until_deleted rdma link delete srnic0
check "it is made again" made_again 0
check "the server's device is deleted" until_deleted rdma link delete srnic1
check "it is made again" made_again 1
check "both types on an interface" both_types_up
check "rdma_cm takes type srnic" takes_srnic
check "they go" both_types_down
check "an end of type srnic is refused by one of type srnic_ib" another_type_is_refused
finish
