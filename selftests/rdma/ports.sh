#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# One port for TCP and for RDMA, as iSER's target has it: iperf3 listens on it, and rping too, once both devices carry the
# RDMA port on another TCP port (port_map). rdma_cm knows only the RDMA port.
cd "$(dirname "$0")" && . ./lib.sh

PORT=3260 CARRIER=13260
COUNT=${COUNT:-200}

map() { # OF-SRNIC0 OF-SRNIC1
	set_devices port_map "$1" "$2"
}

port_is_taken() {
	dmesg -C
	! in_ns sr1 "rping -s -C 1 -a $1 -p $PORT" || return
	dmesg | grep "TCP port $PORT is in use; carry RDMA port $PORT on another: port_map"
}

rping_by() { # ADDRESS-TO-LISTEN-ON ADDRESS
	with_server sr1 "rping -s -C $COUNT -V -S 1000 -a $1 -p $PORT" sr0 "rping -c -C $COUNT -V -S 1000 -a $2 -p $PORT" $CARRIER
}

tcp_by() { in_ns sr0 "iperf3 -c $IP1 -p $PORT -n 1M"; }

# An established connection, as TCP and as rdma_cm have it. A listener keeps the port that the map gave it.
both_views() {
	local server client status=0
	become_in_ns sr1 "exec rping -s -V -C 1000000 -a $IP1 -p $PORT" >"$LOGS/server" 2>&1 &
	server=$!
	wait_listening sr1 $CARRIER $server
	map $PORT:$CARRIER ""
	become_in_ns sr0 "exec rping -c -V -C 1000000 -a $IP1 -p $PORT" >"$LOGS/client" 2>&1 &
	client=$!
	within 50 in_ns sr0 "ss -Htn state established dst $IP1 dport = $CARRIER | grep -q ." || status=1
	ns0 rdma resource show cm_id >"$LOGS/cm_ids"
	cat "$LOGS/cm_ids"
	grep "state CONNECT.*dst-addr $IP1:$PORT" "$LOGS/cm_ids" || status=1
	grep "state CONNECT.*src-addr $IP1:$PORT" "$LOGS/cm_ids" || status=1
	! grep ":$CARRIER" "$LOGS/cm_ids" || status=1
	kill $client $server
	wait $client $server
	map $PORT:$CARRIER $PORT:$CARRIER && return $status
}

refused() { # TEXT
	! echo "$1" >/sys/class/infiniband/srnic0/port_map
}

new_device_has() { # MAP
	echo "$1" >/sys/module/srnic/parameters/port_map && ns1 rdma link delete srnic1 &&
		ns1 rdma link add srnic1 type srnic netdev veth1 && [ "$(cat /sys/class/infiniband/srnic1/port_map)" = "$1" ]
}

# A server waits on the other TCP port; the client gets to iperf3.
one_end_only() { beside sr1 "rping -s -C 1 -a $IP1 -p $PORT" $CARRIER does_not_connect; }

does_not_connect() {
	grows srnic0 startup_failures 1 fails_within 20 in_ns sr0 "rping -c -C 1 -a $IP1 -p $PORT"
}

# A service listens on all addresses before there is a device, and TCP has its port there: the device serves all others.
service_is_there_first() {
	local server status=0
	map "" "" && ns1 rdma link delete srnic1 || return
	become_in_ns sr1 "exec rping -s -P -p $PORT" &
	server=$!
	pause 1
	kill -0 $server && dmesg -C && ns1 rdma link add srnic1 type srnic netdev veth1 || status=1
	dmesg | grep "srnic1: TCP port $PORT is in use" || status=1
	rping_between sr1 sr0 "$IP1" 5 64 && rping_on_wildcard sr1 sr0 "$IP1" || status=1
	kill $server
	wait $server
	return $status
}

objects() { resources; }

needs rping
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
become_in_ns sr1 "exec iperf3 -s -p $PORT" >"$LOGS/iperf3" 2>&1 &
iperf3=$!
wait_listening sr1 $PORT $iperf3
check "a TCP port that is in use is no RDMA port, and the log says what to do" port_is_taken "$IP1"
check "both ends carry the RDMA port on another TCP port" map $PORT:$CARRIER $PORT:$CARRIER
check "rping" rping_by "$IP1" "$IP1"
check "rping, on a wildcard address" rping_by 0.0.0.0 "$IP1"
check "rping, IPv6" rping_by "$IP61" "$IP61"
check "TCP on the same port" tcp_by
check "rdma_cm knows the RDMA port, TCP the other" both_views
check "one end has no map" map "" $PORT:$CARRIER
check "it does not connect to the other" one_end_only
for text in $PORT $PORT: $PORT:0 $PORT:65536 $PORT:$PORT 1:2:3 "1:2 2:3"; do
	check "'$text' is no map" refused "$text"
done
check "no maps" map "" ""
check "a new device has the module's map" new_device_has "1:2 3:4"
check "or none" new_device_has ""
check "a service that cannot listen on a new device takes nothing else from it" service_is_there_first
kill $iperf3
wait $iperf3 2>/dev/null
check "nothing is left behind" settled "$OBJECTS"
finish
