#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# One tenant's limit of memory is no other's: a control group (v2) that is at its memory.max reads, and the device's
# thread answers. Counted are the times that the devices' threads reclaim memory of that group, for which all QPs that
# they serve would wait: at most one in a thousand passes, because what arrives while TCP releases its socket may still
# be charged there. Skipped without the memory controller or trace events, and that check where the thread comes too
# late.
#
# COUNT: of Reads. LIMIT: MiB, less than there is to read in /usr/lib. PASSES: of the thread, at least.
cd "$(dirname "$0")" && . ./lib.sh

RATE=$PWD/bench/build/rate
COUNT=${COUNT:-10000}
LIMIT=${LIMIT:-64}
PASSES=${PASSES:-1000}
ROOT=/sys/fs/cgroup
GROUP=$ROOT/srnic-tenant
TRACE=/sys/kernel/tracing/instances/srnic-tenants
RECLAIM=$TRACE/events/vmscan/mm_vmscan_memcg_reclaim_begin

in_group() { bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$GROUP" "$@"; }

# Pages that can be reclaimed, as many as the limit lets it have, all the time. Its processor is any other task's at once:
# a thread that comes late is not relied on.
fill() {
	in_group chrt --idle 0 bash -c 'while :; do find /usr/lib -xdev -type f -exec cat {} + >/dev/null; done' &
	FILLER=$!
}

times_at_limit() { awk '$1 == "max" { print $2 }' "$GROUP/memory.events"; }
at_limit() { [ "$(times_at_limit)" -gt "$1" ]; }

limited() {
	echo 1 >/proc/sys/vm/drop_caches
	echo $((LIMIT << 20)) >"$GROUP/memory.max"
	fill
	within 300 at_limit 0
}

# Commands of the tasks that reclaimed memory of a group, and how often each.
reclaimers() { sed -nE 's/^ *(.*)-[0-9]+ +\[.*/\1/p' "$TRACE/trace" | sort | uniq -c; }

read_once() {
	# shellcheck disable=SC2086
	in_group timeout 300 "$RATE" cm sr0:$IP0 sr1:$IP1 read count="$COUNT" size=4096 depth=16
}

passes() { counter srnic1 tx_passes_thread; }

# Until the thread has had its passes: more than once if it is late, because then it is not relied on for a while.
reads() {
	local before try
	before=$(passes)
	for ((try = 0; try < 5; try++)); do
		read_once || return
		pause 0.1 # the RDMA core keeps counters for a while
		HAD=$(($(passes) - before))
		[ "$HAD" -lt "$PASSES" ] || return 0
	done
}

the_threads_wait_for_nobody() {
	local reclaimed
	reclaimers
	reclaimed=$(reclaimers | awk '/srnic_tx/ { n += $1 } END { print n + 0 }')
	NOTE="the group was at its limit $(times_at_limit) times; in $HAD passes the threads reclaimed $reclaimed times"
	[ $((reclaimed * 1000)) -le "$HAD" ]
}

leave() {
	[ -z "${FILLER:-}" ] || kill "$FILLER" 2>/dev/null
	[ ! -d $GROUP ] || { echo 1 >$GROUP/cgroup.kill; within 50 rmdir $GROUP; }
	[ ! -d $TRACE ] || rmdir $TRACE
	everything_down
}

built_or_skip "$RATE"
grep -qs memory $ROOT/cgroup.controllers || skip "this kernel has no memory controller in cgroup v2 on $ROOT"
[ -d /sys/kernel/tracing/events/vmscan ] || skip "this kernel has no trace events of memory"
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
trap leave EXIT
echo +memory >$ROOT/cgroup.subtree_control
mkdir $GROUP $TRACE && echo 1 >$RECLAIM/enable || { echo "Bail out! no control group, or no trace"; exit 1; }
check "a control group reaches its limit of memory" limited
check "it reads" reads
NAME="the devices' threads answer and do not reclaim its memory"
if [ "${HAD:-0}" -ge "$PASSES" ]; then
	measured "$NAME" the_threads_wait_for_nobody
else
	skip_one "$NAME" "the thread had ${HAD:-no} passes: this machine had no processor for it in time"
fi
leave
finish
