#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Devices, modules and connections come and go at any time and leave nothing behind.
cd "$(dirname "$0")" && . ./lib.sh

CONNECTS=${CONNECTS:-200}
RELOADS=${RELOADS:-20}

# How many QPs, CQs, MRs, PDs and connections srnic has.
objects() { rdma resource show | grep srnic | tr '\n' ' '; }

connects() {
	local i before
	before=$(objects)
	for ((i = 0; i < CONNECTS; i++)); do
		with_server sr1 "rping -s -a $IP1 -C 1 -p 7174" sr0 "exec ./rping-client $IP1 7174 1" 7174 || return
	done
	settled "$before" 100
}

reloads() {
	local i
	for ((i = 0; i < RELOADS; i++)); do
		modprobe -r srnic && ns0 rdma link add srnic0 type "${DEVICE_TYPE:-srnic}" netdev veth0 &&
			ns1 rdma link add srnic1 type "${DEVICE_TYPE:-srnic}" netdev veth1 || return
	done
	lsmod | grep srnic
}

# Starts an endless rping in the background; returns when it moves data.
start_traffic() {
	local connects
	connects=$(counter srnic0 connects)
	become_in_ns sr1 "exec rping -s -a $IP1 -S 4096 -p 7180" >"$LOGS/traffic-server" 2>&1 &
	SERVER=$!
	wait_listening sr1 7180 $SERVER
	become_in_ns sr0 "exec rping -c -a $IP1 -S 4096 -p 7180" >"$LOGS/traffic-client" 2>&1 &
	CLIENT=$!
	moves_data srnic0 "$connects" && kill -0 $CLIENT && return
	cat "$LOGS/traffic-server" "$LOGS/traffic-client"
	stop_traffic
	return 1
}

stop_traffic() {
	kill $SERVER $CLIENT 2>/dev/null
	wait $SERVER $CLIENT 2>/dev/null
	return 0
}

gone() { ! rdma link show "$1" 2>/dev/null; }

delete_under_traffic() {
	start_traffic && rdma link delete srnic0 && gone srnic0 && stop_traffic &&
		ns0 rdma link add srnic0 type "${DEVICE_TYPE:-srnic}" netdev veth0
}

unload_under_traffic() {
	start_traffic && modprobe -r srnic && stop_traffic && devices_up
}

netdev_removed_under_traffic() {
	start_traffic && ip -n sr0 link delete veth0 && stop_traffic && gone srnic0 && gone srnic1
}

open_fd_does_not_pin() {
	python3 - <<'PY' || return
import subprocess, sys
from pyverbs.device import Context
context = Context(name='srnic0')
subprocess.run(['modprobe', '-r', 'srnic'], check=True)
event = context.get_async_event()
sys.exit(0 if event.event_type == 8 else f'event {event.event_type}, not DEVICE_FATAL')
PY
	devices_up
}

port_state() { rdma link show "$1/1" | awk '{print $3, $4}'; }

port_follows_netdev() {
	[ "$(port_state srnic0)" = "state ACTIVE" ] || return
	ip -n sr0 link set veth0 down
	sleep 0.2
	[ "$(port_state srnic0)" = "state DOWN" ] || return
	ip -n sr0 link set veth0 up
	ip -n sr0 addr add fd99::1/64 dev veth0 nodad
	sleep 1
	[ "$(port_state srnic0)" = "state ACTIVE" ]
}

no_such_netdev() { ! ns0 rdma link add other type "${DEVICE_TYPE:-srnic}" netdev nothere; }

on_bridge_port() {
	ip -n sr0 link add br0 type bridge && ip -n sr0 link add d0 type dummy && ip -n sr0 link set d0 master br0 || return
	refused_and_logged "not supported" "cannot add .*other on d0" ns0 rdma link add other type "${DEVICE_TYPE:-srnic}" netdev d0
	local status=$?
	ip -n sr0 link delete d0
	ip -n sr0 link delete br0
	return $status
}

needs rping python3
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
ip -n sr0 link add spare0 type dummy
check "a name that is taken is refused, and the log says so" \
	refused_and_logged "exists" "cannot add .*srnic1 on spare0" ns0 rdma link add srnic1 type "${DEVICE_TYPE:-srnic}" netdev spare0
check "a netdev that has a device is refused, and the log says so" \
	refused_and_logged "busy" "cannot add .*other on veth0" ns0 rdma link add other type "${DEVICE_TYPE:-srnic}" netdev veth0
check "a bridge port is refused, and the log says so" on_bridge_port
check "a netdev that does not exist is refused" no_such_netdev
check "the port state follows the netdev" port_follows_netdev
check "$CONNECTS connects and disconnects leave nothing behind" connects
check "$RELOADS module reloads" reloads
check "link delete with a connection open" delete_under_traffic
check "modprobe -r with a connection open" unload_under_traffic
check_with_pyverbs "an open uverbs fd does not pin the module, its owner gets DEVICE_FATAL" open_fd_does_not_pin
check "the netdev is deleted with a connection open" netdev_removed_under_traffic
finish
