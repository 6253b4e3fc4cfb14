#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Takes the link and the address away from connections that move data, and gives them back: TCP carries on, or the
# connection times out. What is taken away for good is in chaos.sh.
cd "$(dirname "$0")" && . ./lib.sh && . faults/carry.sh

start_sending() { # OPTION...
	serve && carrier sr0 send send "$IP1" -c 2 "$@" || return
	SENDER=$!
	progresses
}

# As start_sending, and waits until so many connections are up.
start_all_sending() { # CONNECTIONS OPTION...
	local connects
	connects=$(counter srnic0 connects)
	start_sending -c "$@" && rises srnic0 connects $((connects + $1 - 1)) && progresses
}

stop_sending() {
	kill $SENDER && ended $SENDER 20 && grep rounds= "$LOGS/send" && stop_serving
}

# IPv6 addresses go with the link.
link_down_and_up() {
	ip -n sr$1 link set veth$1 down && sleep 0.7 && ip -n sr$1 link set veth$1 up &&
		ip -n sr$1 addr add fd99::$(($1 + 1))/64 dev veth$1 nodad
}

link_flaps() {
	local i
	start_all_sending 2 || return
	for i in 1 2 3; do
		link_down_and_up $((i % 2)) && progresses || return
	done
	stop_sending && grep -q 'broken=0 stalled=0 wrong=0' "$LOGS/send" && return
	tail -n 3 "$LOGS/send"
	return 1
}

# set_peer_timeout SECONDS: of srnic0, for connections established later.
set_peer_timeout() { echo "$1" >/sys/class/infiniband/srnic0/peer_timeout; }

# Also resolves the neighbours again: rdma_cm waits for them only briefly (lib.sh).
address_back() { ip -n sr0 addr add "$IP0/24" dev veth0 && reach sr0 "$IP1" && reach sr1 "$IP0"; }

# The peer cannot announce its end: connections end by peer_timeout, and the sender gets an event. The delay keeps bytes in flight on
# at least one of many connections.
address_removed() {
	modprobe sch_netem && tc -n sr0 qdisc add dev veth0 root netem limit 10000 delay 100ms || return
	set_peer_timeout 8
	start_all_sending 24 -w 30000 && ip -n sr0 addr del "$IP0/24" dev veth0 && ended $SENDER 50
	set_peer_timeout 60
	tc -n sr0 qdisc del dev veth0 root
	address_back
	tail -n 3 "$LOGS/send"
	die_at_once "$SERVER"
	grep -q 'broken=[1-9].*wrong=0' "$LOGS/send" && settled "$OBJECTS"
}

# The sender gives up before TCP does, and before a request of srnic_ib is overdue, 2 s with what the carrier asks of
# rdma_cm: its objects are cleaned up without the peer's help.
address_removed_impatiently() {
	local status
	start_sending -w 1500 && ip -n sr0 addr del "$IP0/24" dev veth0 || return
	ended $SENDER 40
	status=$?
	die_at_once "$SERVER"
	address_back
	[ $status = 2 ] && settled "$OBJECTS"
}

built_or_skip "$CARRIER"
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
check "the link goes down and comes up three times: the transfer goes on" link_flaps
check "the address is removed: the connection times out, its owner hears of it" address_removed
check "the address is removed: its owner gives up, and nothing is left" address_removed_impatiently
check "and everything works again" works
finish
