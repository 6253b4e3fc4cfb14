#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Compares srnic and siw in one guest: in turn on one dummy interface, both ends in one namespace (so packets take `lo`,
# where siw's servers work). Every figure is the median of RUNS alternating runs.
cd "$(dirname "$0")" && . ./lib.sh

ADDRESS=10.77.0.1 RUNS=${RUNS:-5} ITERS=${ITERS:-1000}
CASES=${CASES:-"ib_write_bw:65536 ib_read_bw:65536 ib_send_bw:65536 ib_write_bw:1048576 ib_write_bw:64 ib_send_lat:64 ib_write_lat:64"}

# One device at a time: siw's wildcard listeners fail if anybody else listens on the port.
device_up() { # srnic, siw, or srnic-nocrc: siw's default is no CRC, RFC 5044's is CRC
	rdma link add "$1_b" type "${1%-*}" netdev dummy_b || return
	[ "$1" != srnic-nocrc ] || echo 0 >"/sys/class/infiniband/$1_b/mpa_crc"
}

one_run() { # TYPE PROGRAM SIZE: prints bandwidth in MiB/s or the median latency in us
	local out server events=
	device_up "$1" || return
	[ -n "${EVENTS:-}" ] && events=-e
	timeout 120 "$2" -R -d "$1_b" -s "$3" -n "$ITERS" -F $events >/dev/null 2>&1 &
	server=$!
	for _ in {1..100}; do ss -Hltn | grep -q :18515 && break; sleep 0.05; done
	out=$(timeout 120 "$2" -R -d "$1_b" -s "$3" -n "$ITERS" -F $events $ADDRESS 2>&1)
	wait $server
	rdma link delete "$1_b"
	echo "$out" | awk -v column="$([[ $2 = *_lat ]] && echo 5 || echo 4)" \
		'/^ *[0-9]+ +[0-9]+ +[0-9.]+/ {value = $column} END {print value}'
}

median() { sort -n | awk '{v[NR] = $1} END {printf "%s (%s-%s)", v[int((NR + 1) / 2)], v[1], v[NR]}'; }

ip link set lo up
modprobe -a srnic siw rdma_ucm && ip link add dummy_b type dummy && ip addr add $ADDRESS/24 dev dummy_b &&
	ip link set dummy_b up || exit 1
printf '%-20s' "MiB/s, us for _lat"
printf ' %-24s' "srnic" "srnic-nocrc" "siw (no CRC)"
echo " median (min-max) of $RUNS"
for case in $CASES; do
	rm -f "$LOGS"/bench-*
	for ((run = 0; run < RUNS; run++)); do
		for type in srnic srnic-nocrc siw; do
			one_run $type "${case%:*}" "${case#*:}" >>"$LOGS/bench-$type"
		done
	done
	printf '%-20s' "$case"
	for type in srnic srnic-nocrc siw; do
		printf ' %-24s' "$(median <"$LOGS/bench-$type")"
	done
	echo
done
