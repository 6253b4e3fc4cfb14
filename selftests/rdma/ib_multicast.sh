#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Multicast groups on devices of type srnic_ib (Documentation/ib.rst, "Groups"): mckey, unmodified, between two hosts and
# within one; groups follow an interface into a VRF, and end with programs, devices, the namespace and the module.
#
#   sr0: srnic0 ── senders ──cable── receivers ── srnic1 :sr1
cd "$(dirname "$0")" && . ./lib.sh

GROUP=239.1.2.3
COUNT=${COUNT:-10}
STRAYS=$PWD/strays/build/strays

# mckey finds its device by the route to the group.
routes_up() { ip -n sr0 route add 224.0.0.0/4 dev veth0 && ip -n sr1 route add 224.0.0.0/4 dev veth1; }

users() { # NUMBER: how many have the group there
	ip -n sr"$1" maddr show dev veth"$1" | awk -v group=$GROUP '$2 == group { n = $4 ? $4 : 1 } END { print n + 0 }'
}

users_are() { [ "$(users "$1")" = "$2" ]; } # NUMBER USERS

# rdma_cm joins for each program, and srnic once for the device.
receiver() { become_in_ns "sr$1" "exec mckey -m $GROUP -b ${*:2} -C $COUNT -S 500" >"$LOGS/receiver$BASHPID" 2>&1; } # NUMBER ADDRESS

# Receivers on one host get what a sender sends.
receivers() { # NUMBER ADDRESS COUNT SENDER SENDER'S-ADDRESS
	local n status=0 pids=() before
	for ((n = 0; n < $3; n++)); do
		receiver "$1" "$2" & pids+=($!)
	done
	within 100 users_are "$1" $(($3 + 1)) || status=1
	before=$(counter "srnic$1" rx_datagrams)
	pause 0.5 # until all have attached, and posted receives
	in_ns "sr$4" "mckey -s -m $GROUP -b $5 -C $COUNT -S 500" || status=1
	for n in "${pids[@]}"; do
		wait "$n" || status=1
	done
	[ $(($(counter "srnic$1" rx_datagrams) - before)) -ge $((COUNT * $3)) ] || status=1
	cat "$LOGS"/receiver*
	within 50 users_are "$1" 0 && return $status
}

into_vrf() {
	ip -n sr1 link add v1 type vrf table 10 && ip -n sr1 link set v1 up && ip -n sr1 link set veth1 master v1 &&
		within 50 users_are 1 2
}

# A program stays in the group while its interface moves; datagrams still come.
moves_into_a_vrf() {
	local status=0 member
	COUNT=1 receiver 1 "$IP1" & member=$!
	within 100 users_are 1 2 || status=1
	into_vrf || status=1
	pause 0.5
	in_ns sr0 "mckey -s -m $GROUP -b $IP0 -C 1 -S 500" || status=1
	wait $member || status=1
	ip -n sr1 link del v1
	cat "$LOGS"/receiver*
	within 50 users_are 1 0 && return $status
}

# A VRF, and a device outside: UDP may give its socket what comes in the VRF as well. The interface lost its IPv6 addresses.
# The sender is a plain program, which needs the port.
beside_a_vrf() {
	rdma link delete srnic0 && ip -n sr1 link add dummy1 type dummy && ip -n sr1 link set dummy1 up &&
		ns1 rdma link add srnic2 type srnic_ib netdev dummy1 && ns1 sysctl -q net.ipv4.udp_l3mdev_accept=1 &&
		ip -n sr1 link add v1 type vrf table 10 && ip -n sr1 link set v1 up && ip -n sr1 link set veth1 master v1 &&
		ip -n sr1 addr add "$IP61/64" dev veth1 nodad && reach sr0 "$IP1" && reach sr0 "$IP61"
}

# Each QP in a group gets each datagram, and once.
gets_one_copy() {
	beside_a_vrf && LIMIT=100 in_ns sr0 "'$STRAYS' --only 'ib 102: |ib 103: each' srnic1 $IP1 $IP61 $IP0 $IP60 veth0 \
		$(ip -n sr0 -6 -br addr show dev veth0 scope link -tentative | grep -o 'fe80::[^/ ]*') 10.97.0.1"
}

# Programs that are in the group until something ends that.
until_ended() { # COMMAND...
	local member status=0
	receiver 1 "$IP1" & member=$!
	within 100 users_are 1 2 || status=1
	"$@" || status=1
	kill $member 2>/dev/null
	wait $member
	return $status
}

killed() { pkill -9 -x mckey && within 50 users_are 1 0; }
device_goes() { rdma link delete srnic1 && within 50 users_are 1 0; }
# A program that is in it keeps it.
namespace_goes() { until_ended ip netns del sr1 && within 100 [ ! -e /sys/class/infiniband/srnic1 ]; }
module_goes() { modprobe -r srnic && users_are 1 0; }
made_again() { ns1 rdma link add srnic1 type srnic_ib netdev veth1; }
all_again() { everything_down 2>/dev/null; LOGS=$(mktemp -d); hosts_up && ib_devices_up && routes_up; }

needs mckey pkill
modprobe -a rdma_ucm srnic
hosts_up && ib_devices_up && routes_up || { echo "Bail out! no devices"; exit 1; }
check "mckey between two hosts" receivers 1 "$IP1" 1 0 "$IP0"
check "three receivers on one host" receivers 1 "$IP1" 3 0 "$IP0"
check "sender and receivers on one host" receivers 0 "$IP0" 2 0 "$IP0"
check "a killed program leaves the group" until_ended killed
if modprobe -q vrf; then
	check "the interface moves into a VRF" moves_into_a_vrf
	all_again || { echo "Bail out! no devices"; exit 1; }
	if [ -x "$STRAYS" ]; then
		check "a datagram that two VRFs may have comes once" gets_one_copy
		all_again || { echo "Bail out! no devices"; exit 1; }
	else
		skip_one "a datagram that two VRFs may have comes once" "strays is not built"
	fi
else
	skip_one "the interface moves into a VRF" "the kernel has no VRFs"
	skip_one "a datagram that two VRFs may have comes once" "the kernel has no VRFs"
fi
check "the device goes" until_ended device_goes
check "it is made again" made_again
check "the module goes" until_ended module_goes
all_again || { echo "Bail out! no devices"; exit 1; }
check "the namespace goes" namespace_goes
finish
