#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# perftest (connections by rdma_cm, -R) runs every operation with 1 byte to 1 MiB, polling and with events.
cd "$(dirname "$0")" && . ./lib.sh

SIZES=${SIZES:-1 64 4096 65536 1048576}
ITERS=${ITERS:-200}

hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
for program in ib_write_bw ib_read_bw ib_send_bw ib_write_lat ib_read_lat ib_send_lat; do
	for size in $SIZES; do
		check "$program, $size octets" perf $program "$size"
	done
done
check "ib_send_bw -e, 65536 octets" perf ib_send_bw 65536 -e
check "ib_write_bw -b, both directions, 65536 octets" perf ib_write_bw 65536 -b
finish
