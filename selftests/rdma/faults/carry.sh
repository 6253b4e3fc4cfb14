# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Verified traffic (carrier.cc) for tests that disturb it. Sourced after lib.sh.
# shellcheck shell=bash

CARRIER=$PWD/faults/build/carrier

# A carrier in a namespace, in the background and with nothing around it, so that $! is the carrier.
carrier() { # NS LOG ARGUMENT...
	local ns=$1 log=$2
	shift 2
	nsenter --net="/run/netns/$ns" "$CARRIER" "$@" >"$LOGS/$log" 2>&1 &
}

# ended PID SECONDS: the process ends in this time; its status. A hang: says where, and returns 99.
ended() {
	local i
	for ((i = 0; i < $2 * 20; i++)); do
		kill -0 "$1" 2>/dev/null || break
		sleep 0.05
	done
	if kill -0 "$1" 2>/dev/null; then
		echo "process $1 hangs:"
		head -n 20 /proc/"$1"/task/*/{wchan,stack} 2>/dev/null
		kill -9 "$1"
		wait "$1" 2>/dev/null
		return 99
	fi
	wait "$1" 2>/dev/null
}

serve() { # [OPTION...]
	carrier sr1 serve serve "$IP1" "$@"
	SERVER=$!
	wait_listening sr1 7199 $SERVER
	kill -0 $SERVER || cat "$LOGS/serve"
	kill -0 $SERVER
}

stop_serving() {
	local status
	kill "$SERVER"
	ended "$SERVER" 20
	status=$?
	cat "$LOGS/serve"
	return $status
}

# carries SECONDS [OPTION...]: data goes both ways for a while, no connection breaks, and nothing is wrong.
carries() {
	local seconds=$1 status
	shift
	serve || return
	carrier sr0 send send "$IP1" -s "$seconds" -c 2 "$@"
	ended $! $((seconds + 30))
	status=$?
	cat "$LOGS/send"
	stop_serving && [ $status = 0 ] && grep -q 'rounds=[1-9]' "$LOGS/send"
}

# A counter of a device.
counter() { # DEVICE NAME
	rdma statistic show link "$1/1" | tr ' ' '\n' | grep -A 1 -x "$2" | tail -n 1
}

# check, and then a line with what the test has left in NOTE.
measured() {
	local status
	NOTE=
	check "$@"
	status=$?
	[ -z "$NOTE" ] || echo "# $NOTE"
	return $status
}

# Devices and how many objects they have; the number of a device changes when it is made anew.
objects() { resources | cut -d ' ' -f 2- | sort; }

# settled BEFORE: the objects are, at the latest in some seconds, what they were.
settled() {
	local i
	for ((i = 0; i < 150; i++)); do
		[ "$(objects)" = "$1" ] && return
		sleep 0.1
	done
	echo "before:" "$1"
	echo "after: " "$(objects)"
	return 1
}
