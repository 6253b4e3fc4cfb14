# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Verified traffic (carrier.cc) for tests that disturb it. Sourced after lib.sh.
# shellcheck shell=bash

CARRIER=$PWD/faults/build/carrier
CARRY_TO="sr1 $IP1"	# the server's namespace and address
CARRY_FROM=sr0		# the client's
PATIENCE=${PATIENCE:-30}	# seconds that something may take

# A carrier in a namespace, in the background and without a subshell, so $! is the carrier. Its log is emptied first, so
# that an earlier log does not count as progress.
carrier() { # NS LOG ARGUMENT...
	local ns=$1 log=$2
	shift 2
	: >"$LOGS/$log"
	nsenter --net="/run/netns/$ns" "$CARRIER" "$@" >"$LOGS/$log" 2>&1 &
}

# ended PID SECONDS: waits for the process; returns its status. If it hangs, says where and returns 99.
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
	local ns=${CARRY_TO% *}
	carrier "$ns" serve serve "${CARRY_TO#* }" "$@"
	SERVER=$!
	wait_listening "$ns" 7199 $SERVER
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

die_at_once() {
	kill -9 "$1"
	wait "$1" 2>/dev/null
	return 0
}

progress() { awk '/^at/ { round = $2 } END { print round + 0 }' "$LOGS/send"; }

progress_is_above() { [ "$(progress)" -gt "$1" ]; }

# The carrier that logs to send makes progress; each round needs both directions.
progresses() {
	local before
	before=$(progress)
	within $((PATIENCE * 10)) progress_is_above $((before + 3)) && return
	echo "no progress after round $before"
	return 1
}

# carries SECONDS [OPTION...]: data goes both ways, no connection breaks, and no byte is wrong.
carries() {
	local seconds=$1 status
	shift
	serve || return
	carrier "$CARRY_FROM" send send "${CARRY_TO#* }" -s "$seconds" -c 2 "$@"
	ended $! $((seconds + 90))
	status=$?
	cat "$LOGS/send"
	stop_serving && [ $status = 0 ] && grep -q 'rounds=[1-9]' "$LOGS/send"
}

# Devices and how many objects they have; a device that is created again has a new number.
objects() { resources | cut -d ' ' -f 2- | sort; }

works() { carries 1 && settled "$OBJECTS"; }
