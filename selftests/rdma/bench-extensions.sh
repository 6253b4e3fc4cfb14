#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Atomic operations and RDMA Writes with Immediate Data, srnic beside rxe: each on a cable of its own, both ends in one
# process. Prints microseconds for each operation, the median of RUNS alternating runs, and how often srnic does it
# while rxe does it once. rxe always has a CRC.
#	taskset -c 1 selftests/vm/run --kernel uml -- selftests/rdma/bench-extensions.sh
cd "$(dirname "$0")" && . ./lib.sh

RATE=$PWD/bench/build/rate RUNS=${RUNS:-5} COUNT=${COUNT:-20000} MTU=${MTU:-1500}
TYPES="srnic srnic-nocrc rxe"

built_or_skip "$RATE"

# rxe works in the first namespace only. Between link-local addresses the cable is used there, too.
rxe_up() {
	ip link add rxe_a mtu "$MTU" type veth peer name rxe_b mtu "$MTU" && ip link set rxe_a up && ip link set rxe_b up &&
		rdma link add rxe_a type rxe netdev rxe_a && rdma link add rxe_b type rxe netdev rxe_b
}

srnic_up() {
	hosts_up && devices_up && ip -n sr0 link set veth0 mtu "$MTU" && ip -n sr1 link set veth1 mtu "$MTU"
}

crcs() { # 0 or 1
	in_ns sr0 "echo $1 >/sys/class/infiniband/srnic0/mpa_crc" && in_ns sr1 "echo $1 >/sys/class/infiniband/srnic1/mpa_crc"
}

one_run() { # TYPE ARGUMENT...: prints nanoseconds
	local way="cm sr0:$IP0 sr1:$IP1"
	case $1 in
	srnic) crcs 1 ;;
	srnic-nocrc) crcs 0 ;;
	rxe) way="hand rxe_a rxe_b" ;;
	esac
	# shellcheck disable=SC2086
	timeout 120 "$RATE" $way "${@:2}" || echo failed
}

median() { sort -n | awk '{v[NR] = $1 / 1000} END {printf "%.1f %.1f %.1f", v[int((NR + 1) / 2)], v[1], v[NR]}'; }

row() { # NAME ARGUMENT...
	local run type median low high of=() name=$1
	shift
	rm -f "$LOGS"/bench-*
	for ((run = 0; run < RUNS; run++)); do
		for type in $TYPES; do
			one_run $type "$@" >>"$LOGS/bench-$type"
		done
	done
	printf '%-34s' "$name"
	for type in $TYPES; do
		read -r median low high < <(median <"$LOGS/bench-$type"; echo)
		of+=("$median")
		printf ' %-24s' "$median ($low-$high)"
	done
	awk -v a="${of[0]}" -v b="${of[1]}" -v rxe="${of[2]}" 'BEGIN {printf " %.2f %.2f\n", rxe / a, rxe / b}'
}

srnic_up && modprobe rdma_rxe && rxe_up && sleep 2 || exit 1
printf '%-34s' "us, median (min-max) of $RUNS"
printf ' %-24s' $TYPES
echo " rxe/srnic, without CRC"
row "fetch and add, depth 1" fetch-add 1 "$COUNT"
row "fetch and add, depth 16" fetch-add 16 "$COUNT"
row "write with imm, 64 B, depth 1" write-imm 1 "$COUNT" 64
row "write with imm, 64 B, depth 16" write-imm 16 "$COUNT" 64
row "write with imm, 64 KiB, depth 1" write-imm 1 "$((COUNT / 8))" 65536
row "write with imm, 64 KiB, depth 16" write-imm 16 "$((COUNT / 8))" 65536
