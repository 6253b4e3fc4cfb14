#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# rstream: sockets over RDMA (rsocket), every byte verified. Its mode with poll (-T a) does not connect over any iWARP device.
#
# SIZES: bytes of transfers. ITERS: how many.
cd "$(dirname "$0")" && . ./lib.sh

SIZES=${SIZES:-64 65536 1048576}
ITERS=${ITERS:-50}

streams() { # ADDRESS SIZE OPTION...
	with_server sr1 "rstream -b $1 -p 7475 -S $2 -I $ITERS -C 1 -T v ${*:3}" \
		sr0 "rstream -s $1 -p 7475 -S $2 -I $ITERS -C 1 -T v ${*:3}" 7475
}

needs rstream
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
for size in $SIZES; do
	check "$size bytes" streams "$IP1" "$size"
done
check "65536 bytes, IPv6" streams "$IP61" 65536
check "65536 bytes, blocking" streams "$IP1" 65536 -T b
check "65536 bytes, nonblocking" streams "$IP1" 65536 -T n
finish
