#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Network namespaces: a device belongs to that of its netdev. Two containers, first in the RDMA core's shared mode, where
# every namespace sees every device, then in exclusive mode:
#
#   sr0: srnic0 on veth0, 10.99.0.1 ──cable── sr1: srnic1 on veth1, 10.99.0.2        the first namespace: no device
#
# Programs run as in a container: with the namespace's own /sys. Devices of type srnic_ib: byhand/ opens each in its own.
cd "$(dirname "$0")" && . ./lib.sh

PORT=7180

inside() { timeout "${LIMIT:-60}" ip netns exec "$@"; }

# The first namespace is "-".
devices_of() { # NS
	if [ "$1" = - ]; then ibv_devices; else inside "$1" ibv_devices; fi | awk 'NR > 2 {print $1}' | sort | xargs
}

sees() { # NS DEVICE...
	[ "$(devices_of "$1")" = "${*:2}" ] && return
	echo "$1 sees $(devices_of "$1")"
	return 1
}

pings() { # SERVER-NS CLIENT-NS ADDRESS
	with_server "$1" "ip netns exec $1 rping -s -C 5 -p $PORT" "$2" "ip netns exec $2 rping -c -a $3 -C 5 -p $PORT" $PORT
}

# Both containers listen on all addresses, on the same port; each client reaches the right one.
one_port_in_both() {
	local servers=() status=0
	inside sr0 rping -s -C 5 -p $PORT & servers+=($!)
	inside sr1 rping -s -C 5 -p $PORT & servers+=($!)
	wait_listening sr0 $PORT "${servers[0]}" && wait_listening sr1 $PORT "${servers[1]}" &&
		inside sr0 rping -c -a "$IP1" -C 5 -p $PORT && inside sr1 rping -c -a "$IP0" -C 5 -p $PORT || status=1
	kill "${servers[@]}" 2>/dev/null
	wait
	return $status
}

file_of() { # DEVICE, of sr0
	local name
	name=$(inside sr0 sh -c "grep -lx $1 /sys/class/infiniband_verbs/*/ibdev") && echo "/dev/infiniband/$(basename "${name%/*}")"
}

# A container that has a file of its own device only, while /sys lists both: librdmacm passes over the other.
with_own_file() {
	local own
	own=$(file_of srnic0) || return
	with_server sr1 "ip netns exec sr1 rping -s -C 5 -p $PORT" sr0 "exec unshare --mount sh -c '
		mkdir /run/own && cp -a $own /dev/infiniband/rdma_cm /run/own && mount --bind /run/own /dev/infiniband &&
			ls /dev/infiniband && exec rping -c -a $IP1 -C 5 -p $PORT'" $PORT
	local status=$?
	rm -r /run/own
	return $status
}

# Runs the command while a server in sr1 serves any client.
with_a_server() { beside sr1 "ip netns exec sr1 rping -s -P -a $IP1 -p $PORT" $PORT "$@"; } # COMMAND...

reaches() { inside "$1" rping -c -a "$IP1" -C 1 -p $PORT "${@:2}"; } # NS RPING'S-OPTION...

# At once: a device or address is not there.
does_not_reach() { fails_within 5 reaches "$@"; } # NS RPING'S-OPTION...

# No program of sr1's uses srnic0: not by name, not from its address, and not by its file, which is there.
stranger_is_refused() {
	local file
	file=$(file_of srnic0)
	[ -c "$file" ] || { echo "no file of srnic0"; return 1; }
	inside sr0 sh -c "exec 3<>$file" || return
	! inside sr1 sh -c "exec 3<>$file" && ! inside sr1 ibv_devinfo -d srnic0 &&
		with_a_server strangers_address_is_refused
}

strangers_address_is_refused() { reaches sr0 && does_not_reach sr1 -I "$IP0"; }

# A device whose netdev stays behind is of no use, and harms nobody.
moved_and_back() {
	inside sr0 rdma dev set srnic0 netns sr1 && sees sr0 && sees sr1 srnic0 srnic1 && with_a_server of_no_use &&
		inside sr1 rdma dev set srnic0 netns sr0 && sees sr0 srnic0 && pings sr1 sr0 "$IP1" && pings sr0 sr1 "$IP0"
}

of_no_use() { does_not_reach sr0 && does_not_reach sr1 -I "$IP0"; }

# A container gets a netdev, and makes its own device there.
netdev_moves() {
	ip -n sr0 link add gift type dummy && inside sr0 rdma link add srnic2 type "${DEVICE_TYPE:-srnic}" netdev gift && sees sr0 srnic0 srnic2 &&
		ip -n sr0 link set gift netns sr1 && within 50 sees sr0 srnic0 && ip -n sr1 link set gift up &&
		inside sr1 rdma link add srnic2 type "${DEVICE_TYPE:-srnic}" netdev gift && within 50 sees sr1 srnic1 srnic2 &&
		ip -n sr1 link del gift && within 50 sees sr1 srnic1
}

# TCP has peer_timeout for the last Ack of a device of type srnic_ib (Documentation/ib.rst rule 31).
patience() { if [ "${DEVICE_TYPE:-srnic}" = srnic ]; then echo 150; else echo 900; fi; }

no_such_netdev() { ! ip -n "$1" link show "$2" >/dev/null 2>&1; }

# The container goes with its processes, in the middle of a transfer: so does its device, and the cable, soon.
container_goes() { # CUT: the peer does not answer any more
	local server client status=0
	inside sr1 rping -s -S 65535 -p $PORT & server=$!
	wait_listening sr1 $PORT $server || return
	inside sr0 rping -c -a "$IP1" -C 100000000 -S 65535 -p $PORT & client=$!
	sleep 2
	kill -0 $client || { echo "the client has ended"; status=1; }
	[ "$1" != cut ] || tc -n sr1 qdisc add dev veth1 root netem loss 100% || status=1
	ip netns pids sr0 | xargs -r kill -KILL
	ip netns del sr0
	wait $client
	within "$(patience)" no_such_netdev sr1 veth1 || { echo "the namespace is still there"; status=1; }
	within 50 sees_one_less || { rdma dev show; status=1; }
	kill $server 2>/dev/null
	wait $server
	return $status
}

sees_one_less() { ! rdma dev show | grep -q srnic0 && ! inside sr1 rdma dev show | grep -q srnic0; }

containers_up() { hosts_up && ns0 rdma link add srnic0 type "${DEVICE_TYPE:-srnic}" netdev veth0 && ns1 rdma link add srnic1 type "${DEVICE_TYPE:-srnic}" netdev veth1; }

containers_down() {
	inside sr1 rdma link delete srnic1
	ip netns del sr1
	within 50 eval '! ls /run/netns/sr* 2>/dev/null'
}

# ---- type srnic_ib ----

BYHAND=$PWD/byhand/build/byhand
OWN="srnic0=sr0 srnic1=sr1 srnic2=sr2"

by_hand() { # CASES [CONTAINERS]
	LIMIT=120 CONTAINERS=${2:-$OWN} in_ns sr0 "ulimit -n 8192; exec '$BYHAND' srnic0 $IP0 $IP60 srnic1 $IP1 $IP61 10 '$1'"
}

ib_containers_up() { hosts_up && ib_devices_up; }

# Its port stays where its interface is, as all its addresses do.
ib_moved_and_back() {
	inside sr0 rdma dev set srnic0 netns sr1 && sees sr1 srnic0 srnic1 && by_hand "over IPv" "srnic0=sr1 srnic1=sr1" &&
		inside sr1 rdma dev set srnic0 netns sr0 && sees sr0 srnic0 && by_hand "over IPv"
}

# It goes with its processes, in the middle of transfers and of pairing: so does its device.
ib_container_goes() {
	local status=0
	UNTIL=/never by_hand "it goes on" & pause 2
	[ -n "$(ip netns pids sr0)" ] || { echo "the program has ended"; status=1; }
	ip netns pids sr0 | xargs -r kill -KILL
	ip netns del sr0
	wait $!
	within 150 no_such_netdev sr1 veth1 || { echo "the namespace is still there"; status=1; }
	within 50 sees_one_less || { rdma dev show; status=1; }
	return $status
}

ib_in_exclusive_mode() {
	ib_containers_up || { echo "Bail out! no devices"; exit 1; }
	check "exclusive, srnic_ib: QPs of two containers" by_hand "over IPv|both ends are reset|is killed|goes and comes"
	check "exclusive, srnic_ib: a container goes, with QPs or without" by_hand "a namespace is deleted"
	check "exclusive, srnic_ib: a device moves without its netdev, and back" ib_moved_and_back
	check "exclusive, srnic_ib: a container goes in the middle of transfers" ib_container_goes
	check "exclusive, srnic_ib: nothing is left of the others" containers_down
}

in_mode() { # shared | exclusive
	check "$1: rping, server in sr1" pings sr1 sr0 "$IP1"
	check "$1: rping, server in sr0" pings sr0 sr1 "$IP0"
	check "$1: both containers listen on one port" one_port_in_both
}

set_mode() { rdma system set netns "$1" && rdma system show | grep "netns $1"; }

needs rping
modprobe -a ib_uverbs rdma_ucm sch_netem srnic
if ! rdma system show | grep -q 'netns shared' || [ -n "$(ls /run/netns 2>/dev/null)" ]; then
	skip "this machine has network namespaces, or is in exclusive mode"
fi
containers_up || { echo "Bail out! no devices"; exit 1; }
in_mode shared
check "shared: every namespace sees both devices" eval "sees - srnic0 srnic1 && sees sr0 srnic0 srnic1"
check "shared: a container has the file of its own device only" with_own_file
check "shared: a device moves to no other namespace" eval "! inside sr0 rdma dev set srnic0 netns sr1"
check "shared: a container goes in the middle of a transfer" container_goes
check "shared: nothing is left of the others" containers_down

check "the RDMA core is in exclusive mode" set_mode exclusive
containers_up || { echo "Bail out! no devices"; exit 1; }
check "exclusive: a container sees its own device" eval "sees sr0 srnic0 && sees sr1 srnic1 && sees -"
in_mode exclusive
check "exclusive: a program uses no device of another container" stranger_is_refused
check "exclusive: a device moves without its netdev, and back" moved_and_back
check "exclusive: a netdev moves to another container" netdev_moves
check "exclusive: a container goes in the middle of a transfer" container_goes
check "exclusive: nothing is left of the others" containers_down
containers_up || { echo "Bail out! no devices"; exit 1; }
check "exclusive: a container goes and its peer does not answer" container_goes cut
check "exclusive: nothing is left of the others" containers_down
if [ -x "$BYHAND" ]; then
	ib_in_exclusive_mode
else
	skip_one "exclusive, srnic_ib" "byhand/ is not built"
fi
check "the RDMA core is in shared mode again" set_mode shared
finish
