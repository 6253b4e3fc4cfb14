#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The demonstration, in the guest: unmodified RDMA programs between two "hosts" (lib.sh has a drawing).
NO_TAP=1
cd "$(dirname "$0")" && . ./lib.sh

SUMMARY=()
ITERS=${ITERS:-500}

title() { printf '\n--- %s\n' "$*"; }
line() { SUMMARY+=("$(printf '%-34s %s' "$1" "$2")"); }
give_up() { echo "demo: $*"; everything_down; exit 1; }

show_devices() {
	title "rdma link"
	rdma link
	title "ibv_devinfo -d srnic0"
	ibv_devinfo -d srnic0
}

show_rping() {
	title "rping: 100 round trips of 64 KiB, every octet compared"
	with_server sr1 "rping -s -a $IP1 -C 100 -S 65535 -v -p 7174" \
		sr0 "rping -c -a $IP1 -C 100 -S 65535 -v -V -p 7174 | cut -c1-70 | tail -n 2" 7174 ||
		give_up "rping failed"
	line "rping, 100 x 64 KiB, verified" ok
}

show_rcopy() {
	title "rcopy: a file of 64 MiB"
	head -c $((64 << 20)) /dev/urandom >"$LOGS/from"
	become_in_ns sr1 "exec rcopy" >"$LOGS/server" 2>&1 &
	local server=$!
	wait_listening sr1 7427 $server
	in_ns sr0 "rcopy $LOGS/from $IP1:$LOGS/to" || give_up "rcopy failed"
	kill $server
	sha256sum "$LOGS/from" "$LOGS/to"
	cmp "$LOGS/from" "$LOGS/to" || give_up "the copy differs"
	line "rcopy, 64 MiB, sha256" same
}

# The number in a column of perftest's result line.
figure() { awk -v column="$1" '/^ *[0-9]+ +[0-9]+ +[0-9.]+/ {value = $column} END {print value}'; }

show_perftest() { # PROGRAM SIZE COLUMN UNIT
	local out
	out=$(with_perftest sr1 "$1 -R -d srnic1 -s $2 -n $ITERS -F" sr0 "$1 -R -d srnic0 -s $2 -n $ITERS -F $IP1") ||
		give_up "$1 failed: $out"
	echo "$out" | grep -A 1 '#bytes'
	line "$1, $2 octets" "$(echo "$out" | figure "$3") $4"
}

modprobe srnic || give_up "the module does not load"
hosts_up && devices_up || give_up "the devices could not be made"
show_devices
show_rping
show_rcopy
title "perftest"
for operation in write read send; do
	show_perftest ib_${operation}_bw 65536 4 MiB/s
	show_perftest ib_${operation}_lat 64 5 "us (median)"
done
title "summary (emulated machines are slow: compare, do not quote)"
printf '%s\n' "${SUMMARY[@]}"
everything_down
