#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# perftest (connections by rdma_cm, -R) runs every operation with 1 byte to 1 MiB, polling and with events; atomic
# operations have 8 bytes.
cd "$(dirname "$0")" && . ./lib.sh

SIZES=${SIZES:-1 4096 1048576}
ITERS=${ITERS:-200}

atomics() { # PROGRAM TYPE [OPTION...]
	local run="$1 -R -A $2 -n $ITERS -F ${*:3}"
	with_perftest sr1 "$run -d srnic1" sr0 "$run -d srnic0 $IP1"
}

needs ib_write_bw
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
for program in ib_write_bw ib_read_bw ib_send_bw ib_write_lat ib_read_lat ib_send_lat; do
	for size in $SIZES; do
		check "$program, $size octets" perf $program "$size"
	done
done
# Not ib_send_bw -e: its client waits for a completion also when all it lacks is the server's credit, which is a Write.
check "ib_read_bw -e, 65536 octets" perf ib_read_bw 65536 -e
check "ib_send_lat -e, 65536 octets" perf ib_send_lat 65536 -e
check "ib_write_bw -b, both directions, 65536 octets" perf ib_write_bw 65536 -b
for size in $SIZES; do
	if grep -q write_with_imm < <(ib_write_bw --help 2>&1); then
		check "ib_write_bw --write_with_imm, $size octets" perf ib_write_bw "$size" --write_with_imm
	else
		skip_one "ib_write_bw --write_with_imm, $size octets" "this perftest does not have it (Debian 12)"
	fi
done
for program in ib_atomic_bw ib_atomic_lat; do
	for type in FETCH_AND_ADD CMP_AND_SWAP; do
		check "$program, $type" atomics $program $type
	done
done
check "one end asks for large FPDUs" set_devices mpa_large_fpdus 1 0
check "FPDUs fit TCP segments" fpdus_are srnic0 -le 1460 perf ib_write_bw 1048576
check "both ends ask for large FPDUs" set_devices mpa_large_fpdus 1 1
check "FPDUs are large" fpdus_are srnic0 -gt 30000 perf ib_write_bw 1048576
for program in ib_read_bw ib_send_bw ib_write_lat; do
	check "$program, 65536 octets, with large FPDUs" perf $program 65536
done
check "nobody asks for large FPDUs" set_devices mpa_large_fpdus 0 0
check "ib_atomic_bw -e" atomics ib_atomic_bw FETCH_AND_ADD -e
finish
