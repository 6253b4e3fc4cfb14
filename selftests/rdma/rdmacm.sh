#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# librdmacm's own programs, each a server in one namespace and a client in the other:
#
#   sr0: srnic0 ── client ──cable── server ── srnic1 :sr1
#
# ucmatose moves data over many connections, rdma_server and rdma_xserver use the simple interface (rdma_create_ep). Not
# here: mckey, udaddy and udpong, whose datagrams iWARP does not have; the modes of rdma_xserver for XRC; and cmtime,
# which listens on a TCP port and on the same port of the device, for iWARP one and the same.
cd "$(dirname "$0")" && . ./lib.sh

between() { # SERVER CLIENT
	with_server sr1 "$1" sr0 "$2" 7471
}

objects() { resources; }

# No connection is lost, and each message is there.
ucmatose_runs() { # SERVER'S-ADDRESS CLIENT'S-ADDRESS OPTION...
	between "ucmatose -b $1 ${*:3}" "ucmatose -s $1 -b $2 ${*:3}" | tee "$LOGS/said"
	[ "${PIPESTATUS[0]}" = 0 ] && grep -q 'data transfers complete' "$LOGS/said" && ! grep -q event "$LOGS/said"
}

needs ucmatose
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
check "ucmatose, 100 connections, 10 messages of 4096 bytes on each" ucmatose_runs "$IP1" "$IP0" -c 100 -C 10 -S 4096
check "ucmatose, IPv6" ucmatose_runs "$IP61" "$IP60" -c 10 -C 10 -S 100
check "ucmatose, bound before, one message of 1 MiB" ucmatose_runs "$IP1" "$IP0" -c 2 -C 1 -S 1048576
check "rdma_server and rdma_client" between "rdma_server -s $IP1" "rdma_client -s $IP1"
check "rdma_xserver and rdma_xclient" between "rdma_xserver -c r" "rdma_xclient -s $IP1 -c r"
check "nothing is left behind" settled "$OBJECTS"
finish
