#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Peers that are gone: the cable suddenly carries nothing. Both ends of a connection, idle or busy, notice within
# peer_timeout; a shorter cut does no harm.
cd "$(dirname "$0")" && . ./lib.sh

TIMEOUT=4	# seconds: peer_timeout

cut_cable() {
	local n
	for n in 0 1; do
		tc -n sr$n qdisc add dev veth$n root netem loss 100% || return
	done
}

mend_cable() {
	local n
	for n in 0 1; do
		tc -n sr$n qdisc del dev veth$n root 2>/dev/null
	done
}

# An endless rping; with `idle` its client is stopped, so both ends of the connection are idle.
connect() { # busy | idle
	local before
	before=$(counter srnic0 connects)
	( become_in_ns sr1 "exec rping -s -a $IP1 -p 7190" ) >"$LOGS/gone-server" 2>&1 &
	SERVER=$!
	wait_listening sr1 7190 "$SERVER"
	( become_in_ns sr0 "exec rping -c -a $IP1 -p 7190 -S 64" ) >"$LOGS/gone-client" 2>&1 &
	CLIENT=$!
	moves_data srnic0 "$before" || return
	[ "$1" = busy ] || stop_client
}

# After a moment nothing is in flight.
stop_client() {
	CLIENT_PROCESS=$(pgrep -f "^rping -c -a $IP1 -p 7190") && kill -STOP "$CLIENT_PROCESS" && sleep 0.5
}

# Whatever the outcome.
disconnect() {
	mend_cable
	[ -z "$CLIENT_PROCESS" ] || kill -CONT "$CLIENT_PROCESS" 2>/dev/null
	kill "$SERVER" "$CLIENT" 2>/dev/null
	wait "$SERVER" "$CLIENT" 2>/dev/null
	CLIENT_PROCESS=
}

hear_of_it() { # RESETS-OF-0 RESETS-OF-1
	PATIENCE=$((2 * TIMEOUT + 2)) rises srnic0 resets "$1" && PATIENCE=$TIMEOUT rises srnic1 resets "$2"
}

gone() { # busy | idle
	local resets0 resets1 status=1
	resets0=$(counter srnic0 resets) resets1=$(counter srnic1 resets)
	connect "$1" && cut_cable && hear_of_it "$resets0" "$resets1" && status=0
	disconnect
	return $status
}

short_cut() {
	local before status=1
	connect busy && cut_cable && sleep 1 && mend_cable && before=$(counter srnic0 connects) &&
		moves_data srnic0 $((before - 1)) && kill -0 "$CLIENT" && status=0
	disconnect
	return $status
}

set_timeout() { # SECONDS
	local n
	for n in 0 1; do
		echo "$1" >/sys/class/infiniband/srnic$n/peer_timeout || return
	done
}

needs rping
hosts_up && devices_up && set_timeout $TIMEOUT || { echo "Bail out! no devices"; exit 1; }
check "both ends of an idle connection hear of a cut cable within peer_timeout" gone idle
check "both ends of a busy connection hear of a cut cable within peer_timeout" gone busy
check "a cut that is shorter harms nothing" short_cut
check "no longer time than a day can be set" eval '! set_timeout 86401 2>/dev/null && set_timeout 86400'
finish
