#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Kept payload on srnic_ib (Documentation/ib.rst rule 117): TCP sends that of kernel consumers from where it is, without
# CRCs, and a copy of that of programs. A kernel consumer (consumer/) uses a buffer again as soon as its request is
# complete, and compares what has arrived; so does rping.
export DEVICE_TYPE=srnic_ib
cd "$(dirname "$0")" && . ./lib.sh && . shared/kernel_consumer.sh

COUNT=200 SIZE=60000
ROUNDS=20 OCTETS=$LARGE
COPIED="tx_copied >= $ROUNDS * $OCTETS"
KEPT="tx_octets > $ROUNDS * $OCTETS and 10 * tx_copied < tx_octets"
if before_linux 6.5; then
	KEPT=$COPIED
fi

# The module in sr0 sends to sr1.
kept_as() { # EXPRESSION CASE
	grown srnic0 "$1" consume "$2" $ROUNDS $OCTETS sr0 "$IP0" sr1 "$IP1"
}

of_a_program() { # its server writes
	grown srnic1 "tx_copied >= $COUNT * $SIZE" rping_between sr1 sr0 "$IP1" "$COUNT" "$SIZE"
}

with_crcs() {
	set_devices mpa_crc 1 1 && kept_as "$COPIED" write && set_devices mpa_crc 0 0
}

needs rping
consumer_or_skip
hosts_up && devices_up && modprobe rdma_cm && insmod "$MODULE" || { echo "Bail out! no devices"; exit 1; }
for way in write send write-then-send send-then-send; do
	check "a kernel consumer's buffers are kept, and used again: $way" kept_as "$KEPT" $way
done
check "with CRCs they are copied" with_crcs
check "a program's are copied" of_a_program
check "the consumer is unloaded" rmmod srnic_consumer
finish
