#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Takes away what a connection needs while it moves data: the link, the address, the interface, the peer's process, the
# device, the module. Nothing may hang or leak, and afterwards everything must work.
#
# KILLS, DELETES, UNLOADS: how often. Use UNLOADS=0 with KASAN in user-mode Linux: it reports memcmp falsely in a module
# that is loaded a second time.
cd "$(dirname "$0")" && . ./lib.sh && . faults/carry.sh

KILLS=${KILLS:-200}
DELETES=${DELETES:-5}
UNLOADS=${UNLOADS:-50}

# ---- the link and the address ----

die_at_once() {
	kill -9 "$1"
	wait "$1" 2>/dev/null
	return 0
}

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
	stop_sending && grep -q 'broken=0 stalled=0 wrong=0' "$LOGS/send"
}

# set_peer_timeout SECONDS: of srnic0, for connections established later.
set_peer_timeout() { echo "$1" >/sys/class/infiniband/srnic0/peer_timeout; }

# Also resolves the neighbours again: rdma_cm waits for them only briefly (lib.sh).
address_back() { ip -n sr0 addr add "$IP0/24" dev veth0 && reach sr0 "$IP1" && reach sr1 "$IP0"; }

# The peer cannot tell: connections end by peer_timeout, and the sender gets an event. The delay keeps bytes in flight on
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

# The sender gives up before TCP does: its objects are cleaned up without the peer's help.
address_removed_impatiently() {
	local status
	start_sending -w 5000 && ip -n sr0 addr del "$IP0/24" dev veth0 || return
	ended $SENDER 40
	status=$?
	die_at_once "$SERVER"
	address_back
	[ $status = 2 ] && settled "$OBJECTS"
}

# ---- the peer ----

milliseconds() { local now=$EPOCHREALTIME; echo $(("${now/./}" / 1000)); }

# How long a client lives before it is connected, in milliseconds.
connecting_takes() {
	local began before
	began=$(milliseconds)
	before=$(counter srnic0 connects)
	carrier sr0 send send "$IP1" -c 2 -s 60
	while [ "$(counter srnic0 connects)" -lt $((before + 2)) ]; do
		kill -0 $! || return
	done
	CONNECTING=$(($(milliseconds) - began))
	die_at_once $!
}

# Kills the client or the server at a random time in the client's life; it is connected in the second half. If the server
# dies, the client gets an event.
kill_one() { # WHICH
	local life=$((RANDOM % (CONNECTING + (CONNECTING < 400 ? CONNECTING : 400))))
	kill -0 "$SERVER" 2>/dev/null || serve || return
	carrier sr0 send send "$IP1" -c 2 -w 20000 -f 20000
	SENDER=$!
	sleep "$(printf '%d.%03d' $((life / 1000)) $((life % 1000)))"
	if [ "$1" = client ]; then
		die_at_once $SENDER
	else
		die_at_once "$SERVER"
		ended $SENDER 30
		[ $? = 1 ] || { tail -n 3 "$LOGS/send"; return 1; }
	fi
}

kills() {
	local i before
	serve && connecting_takes || return
	before=$(counter srnic0 connects)
	for ((i = 0; i < KILLS; i++)); do
		kill_one "$( ((i % 2)) && echo client || echo server)" || return
	done
	NOTE="$(($(counter srnic0 connects) - before)) connections were open when one end was killed, others were on their way"
	die_at_once "$SERVER"
	[ "$(($(counter srnic0 connects) - before))" -ge $((KILLS / 4)) ] && settled "$OBJECTS"
}

# ---- the device, the interface and the module ----

in_background() { # NS COMMAND...
	local ns=$1
	shift
	nsenter --net="/run/netns/$ns" "$@" >>"$LOGS/load" 2>&1 &
	LOAD+=($!)
}

as_many_listen() { [ "$(nsenter --net="/run/netns/$1" ss -Hltn | wc -l)" -ge "$2" ]; }

# listeners NS N: as many servers listen there.
listeners() {
	within $((PATIENCE * 10)) as_many_listen "$@" && return
	nsenter --net="/run/netns/$1" ss -ltn
	return 1
}

# Verified traffic in both directions, two rpings and a perftest. Four connections move data when it returns; the others
# may still be connecting.
load() {
	local connects
	connects=$(counter srnic0 connects)
	reach sr1 "$IP60" || return
	LOAD=()
	in_background sr1 "$CARRIER" serve "$IP1"
	in_background sr0 "$CARRIER" serve "$IP0"
	in_background sr1 rping -s -a "$IP1" -S 30000 -p 7181
	in_background sr0 rping -s -a "$IP60" -S 100 -p 7182
	in_background sr1 ib_write_bw -R -d srnic1 -s 65536 -D 60 -F
	listeners sr1 3 && listeners sr0 2 || return
	in_background sr0 "$CARRIER" send "$IP1" -c 2 -r
	in_background sr0 rping -c -a "$IP1" -S 30000 -p 7181
	in_background sr1 rping -c -a "$IP60" -S 100 -p 7182
	moves_data srnic0 $((connects + 3)) || return
	in_background sr1 "$CARRIER" send "$IP0" -c 2 -r
	in_background sr0 ib_write_bw -R -d srnic0 -s 65536 -D 60 -F "$IP1"
	sleep "$(printf '0.%03d' $((RANDOM % 300)))"
}

# All of it ends when killed, whatever it was doing.
unload() {
	local pid
	kill -9 "${LOAD[@]}" 2>/dev/null
	for pid in "${LOAD[@]}"; do
		ended "$pid" "$PATIENCE"
		[ $? != 99 ] || return
	done
	! grep -E 'wrong=[1-9]|octet' "$LOGS/load"
}

gone() { ! rdma link show "$1" 2>/dev/null; }

both_gone() { gone srnic0 && gone srnic1; }

in_time() { timeout "$PATIENCE" "$@"; }

delete_one() { # DEVICE
	local n=${1#srnic}
	load && in_time rdma link delete "$1" && gone "$1" && unload &&
		nsenter --net="/run/netns/sr$n" rdma link add "$1" type srnic netdev "veth$n"
}

deletes() {
	local i
	for ((i = 0; i < DELETES; i++)); do
		delete_one srnic$((i % 2)) || return
	done
	settled "$OBJECTS"
}

unloads() {
	local i
	for ((i = 0; i < UNLOADS; i++)); do
		load && in_time modprobe -r srnic && unload && devices_up || return
	done
	settled "$OBJECTS"
}

netdev_deleted() {
	load && in_time ip -n sr$1 link delete veth$1 || return
	within $((PATIENCE * 10)) both_gone && unload && cable_up && devices_up && settled "$OBJECTS"
}

works() { carries 1 && settled "$OBJECTS"; }

built_or_skip "$CARRIER"
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
check "the link goes down and comes up three times: the transfer goes on" link_flaps
check "the address is removed: the connection times out, its owner hears of it" address_removed
check "the address is removed: its owner gives up, and nothing is left" address_removed_impatiently
check "and everything works again" works
# iw_cm drops a Request whose listener is being destroyed, as with a killed server: the client sees a timeout.
set_reply_timeout 8
measured "kill -9 of one end in the middle of a transfer, $KILLS times" kills
set_reply_timeout
check "and everything works again" works
check "link delete under load, $DELETES times" deletes
check "the interface of the clients is deleted under load" netdev_deleted 0
check "the interface of the servers is deleted under load" netdev_deleted 1
check "and everything works again" works
[ "$UNLOADS" = 0 ] || check "modprobe -r under load, $UNLOADS times" unloads
[ "$UNLOADS" = 0 ] || check "and everything works again" works
finish
