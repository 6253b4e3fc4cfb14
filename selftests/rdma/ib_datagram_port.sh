#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The UDP port of devices of type srnic_ib: it may be taken, devices share it, it follows an interface into a VRF and out
# of it, and it goes with the last device, with the interface, the namespace or the module, in the middle of traffic.
#
# ROUNDS: how often devices go in the middle of traffic.
cd "$(dirname "$0")" && . ./lib.sh

ROUNDS=${ROUNDS:-5}
PORT=291

has_port() { nsenter --net="/run/netns/$1" ss -Huan "sport = $PORT" | grep -q .; }
has_no_port() { ! has_port "$1"; }

pingpong() { # KIND [OPTION...]
	local run="ibv_ud_pingpong -c -n 100 ${*:2}"
	with_server sr1 "$run -d srnic1 -g ${INDEX[srnic1:$1]}" sr0 "exec $run -d srnic0 -g ${INDEX[srnic0:$1]} $IP1" 18515
}

# ---- it may be taken ----

hold_port() { # FAMILY ADDRESS
	become_in_ns sr0 "exec python3 -c '
import socket, time
s = socket.socket(socket.$1, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1) if s.family == socket.AF_INET6 else None
s.bind((\"$2\", $PORT))
time.sleep(60)'"
}

refused_while_taken() { # FAMILY ADDRESS
	local holder status=0
	rdma link delete srnic0 && within 20 has_no_port sr0 || return
	hold_port "$@" & holder=$!
	within 50 has_port sr0 || status=1
	! ns0 rdma link add srnic0 type srnic_ib netdev veth0 || status=1
	kill $holder
	wait $holder
	dmesg | tail -n 5 | grep "cannot add srnic_ib device srnic0 on veth0: its TCP or UDP port is in use" || status=1
	within 50 has_no_port sr0 && ns0 rdma link add srnic0 type srnic_ib netdev veth0 && note_indices srnic || status=1
	return $status
}

# ---- devices share it ----

shared() {
	host_device_up srnic_ib && pingpong IPv4 && rdma link delete srnic2 && pingpong IPv4 &&
		ns0 rdma link add srnic2 type srnic_ib netdev dummy0 && rdma link delete srnic0 && has_port sr0 &&
		rdma link delete srnic2 && within 20 has_no_port sr0 && ip -n sr0 link del dummy0 &&
		ns0 rdma link add srnic0 type srnic_ib netdev veth0 && note_indices srnic && pingpong IPv4
}

# ---- VRFs ----

accept_all() { ns1 sysctl -q net.ipv4.tcp_l3mdev_accept="$1"; } # the programs' own TCP

# An interface that enters or leaves a VRF loses its IPv6 addresses.
address_again() { ip -n sr1 addr add "$IP61/64" dev veth1 nodad && reach sr0 "$IP1" && reach sr0 "$IP61" && note_indices srnic; }

into_vrf() {
	ip -n sr1 link add v1 type vrf table 10 && ip -n sr1 link set v1 up && ip -n sr1 link set veth1 master v1 &&
		accept_all 1 && address_again && within 50 bound_to_vrf && within 50 is_settled
}
# The interface gets another link-local address there, to which nobody answers while it may be a duplicate.
is_settled() { ! ip -n sr1 -6 addr show tentative | grep -q inet6; }
bound_to_vrf() { ns1 ss -Huan "sport = $PORT" | grep -q "%v1:$PORT"; }
out_of_vrf() { ip -n sr1 link del v1 && accept_all 0 && address_again && within 50 not_bound; }
not_bound() { has_port sr1 && ! bound_to_vrf; }

# ---- it goes in the middle of traffic ----

# Programs of both ends run until they cannot.
traffic() { # COMMAND...: what happens meanwhile
	local server client status=0
	become_in_ns sr1 "exec ibv_ud_pingpong -n 100000000 -d srnic1 -g ${INDEX[srnic1:IPv4]}" >/dev/null 2>&1 & server=$!
	wait_listening sr1 18515 $server || return
	become_in_ns sr0 "exec ibv_ud_pingpong -n 100000000 -d srnic0 -g ${INDEX[srnic0:IPv4]} $IP1" >/dev/null 2>&1 & client=$!
	within 50 moves || status=1
	"$@" || status=1
	kill $server $client 2>/dev/null
	wait $server $client
	return $status
}

moves() {
	local before
	before=$(counter srnic1 rx_datagrams) && pause 0.1 && [ "$(counter srnic1 rx_datagrams)" -gt "$before" ]
}

devices_again() { rdma link delete srnic0 2>/dev/null; rdma link delete srnic1 2>/dev/null; ib_devices_up && note_indices srnic; }

devices_go() {
	local n
	for ((n = 0; n < ROUNDS; n++)); do
		traffic rdma link delete srnic$((n % 2)) && devices_again || return
	done
	pingpong IPv4
}

programs_are_killed() {
	local n
	for ((n = 0; n < ROUNDS; n++)); do
		traffic pkill -9 -x ibv_ud_pingpong || return
	done
	pingpong IPv4
}

interface_goes() { traffic ip -n sr1 link del veth1 && within 50 has_no_port sr1 && [ ! -e /sys/class/infiniband/srnic1 ]; }

all_again() { everything_down 2>/dev/null; LOGS=$(mktemp -d); hosts_up && ib_devices_up && note_indices srnic; }

namespace_goes() { traffic ip netns del sr1 && within 100 [ ! -e /sys/class/infiniband/srnic1 ]; }

# Programs do not keep the module: their devices go under them.
module_goes() { traffic modprobe -r srnic && [ ! -d /sys/module/srnic ] && has_no_port sr0 && has_no_port sr1; }

needs ibv_ud_pingpong python3 ss
modprobe -a ib_uverbs srnic
hosts_up && ib_devices_up && note_indices srnic || { echo "Bail out! no devices"; exit 1; }
check "a device has UDP port $PORT" has_port sr0
check "no device is added while something else has the port, with IPv4" refused_while_taken AF_INET 0.0.0.0
check "no device is added while something else has the port, with IPv6" refused_while_taken AF_INET6 ::
check "devices share it, and the last one takes it along" shared
check "link-local addresses" pingpong default
if modprobe -q vrf; then
	check "an interface enters a VRF" into_vrf
	check "in a VRF" pingpong IPv4
	check "in a VRF, IPv6" pingpong IPv6
	check "in a VRF, link-local addresses" pingpong default
	check "it leaves the VRF" out_of_vrf
	check "outside again" pingpong IPv4
	all_again || { echo "Bail out! no devices"; exit 1; }
else
	skip_one "in a VRF" "the kernel has no VRFs"
fi
check "devices go in the middle of traffic" devices_go
check "programs are killed in the middle of traffic" programs_are_killed
check "an interface goes in the middle of traffic" interface_goes
all_again || { echo "Bail out! no devices"; exit 1; }
check "a namespace goes in the middle of traffic" namespace_goes
all_again || { echo "Bail out! no devices"; exit 1; }
check "the module goes in the middle of traffic" module_goes
finish
