#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Payload of a program on srnic_ib that TCP sends from where it is (Documentation/ib.rst rule 117): on the way to
# interfaces with DMA (CABLE=wire, vm/run --wire), and on no other way. rping's server writes, and its client compares.
export DEVICE_TYPE=srnic_ib
cd "$(dirname "$0")" && . ./lib.sh

COUNT=200 SIZE=60000
KEPT="tx_octets > $COUNT * $SIZE and 10 * tx_copied < tx_octets"
COPIED="tx_copied >= $COUNT * $SIZE"
if [ "${CABLE:-veth}" != wire ]; then
	WAY="a pair of virtual interfaces" EXPECTED=$COPIED
elif before_linux 6.5; then
	WAY="hardware, before Linux 6.5" EXPECTED=$COPIED
else
	WAY="hardware" EXPECTED=$KEPT
fi

written() { grown srnic1 "$1" rping_between sr1 sr0 "$IP1" "$COUNT" "$SIZE"; } # EXPRESSION

with_crcs() { set_devices mpa_crc 1 1 && written "$COPIED" && set_devices mpa_crc 0 0; }

# Its addresses are GIDs of the devices below.
on_a_vlan() {
	local n
	for n in 0 1; do
		ip -n sr$n link add link veth$n name vlan$n type vlan id 5 && ip -n sr$n link set vlan$n up &&
			ip -n sr$n addr add "10.95.0.$((n + 1))/24" dev vlan$n || return
	done
	reach sr0 10.95.0.2 && grown srnic1 "$EXPECTED" rping_between sr1 sr0 10.95.0.2 "$COUNT" "$SIZE"
}

needs rping
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
check "what a program writes arrives, and is kept as it should be, to $WAY" written "$EXPECTED"
check "with CRCs it is copied" with_crcs
check "the same on a VLAN" on_a_vlan
finish
