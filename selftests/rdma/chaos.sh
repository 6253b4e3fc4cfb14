#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Takes away for good what a connection needs while it moves data: the peer's process, the device, the interface, the
# module. Nothing may hang or leak, and afterwards everything must work. What comes back is in outage.sh.
#
# KILLS, DELETES, UNLOADS: how often. Use UNLOADS=0 with KASAN in user-mode Linux: it reports memcmp falsely in a module
# that is loaded a second time.
cd "$(dirname "$0")" && . ./lib.sh && . faults/carry.sh

KILLS=${KILLS:-200}
DELETES=${DELETES:-5}
UNLOADS=${UNLOADS:-50}

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
	[ -n "$SERVER" ] || serve || return
	carrier sr0 send send "$IP1" -c 2 -w 20000 -f 20000
	SENDER=$!
	sleep "$(printf '%d.%03d' $((life / 1000)) $((life % 1000)))"
	if [ "$1" = client ]; then
		die_at_once $SENDER
		kill -0 "$SERVER" || { cat "$LOGS/serve"; return 1; }
		! grep octet "$LOGS/send"
	else
		die_at_once "$SERVER"
		SERVER=
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
	[ -z "$SERVER" ] || stop_serving || return
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

built_or_skip "$CARRIER"
needs rping ib_write_bw
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
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
