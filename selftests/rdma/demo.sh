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

# The same hosts, with a device of the other type each.
show_pingpong() {
	local out
	title "ibv_rc_pingpong: QPs that are connected by hand"
	ns0 rdma link add ib0 type srnic_ib netdev veth0 && ns1 rdma link add ib1 type srnic_ib netdev veth1 ||
		give_up "the devices of type srnic_ib could not be made"
	out=$(with_server sr1 "ibv_rc_pingpong -e -d ib1 -g $(gid_index ib1 "$(gid_of $IP1)") -n $ITERS -c" \
		sr0 "ibv_rc_pingpong -e -d ib0 -g $(gid_index ib0 "$(gid_of $IP0)") -n $ITERS -c $IP1" 18515) ||
		give_up "ibv_rc_pingpong failed: $out"
	echo "$out"
	line "ibv_rc_pingpong, 4096 octets" "$(awk '/usec.iter/ {print $(NF - 1)}' <<<"$out") us (round trip)"
	rdma link delete ib0
	rdma link delete ib1
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
show_pingpong
title "summary (emulated machines are slow: compare, do not quote)"
printf '%s\n' "${SUMMARY[@]}"
everything_down
