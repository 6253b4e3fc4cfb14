#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# libfabric's verbs provider: endpoints of messages, and reliable datagrams on top (ofi_rxm), which MPI uses.
#
#   sr0: srnic0 ── fi_pingpong ──cable── fi_pingpong ── srnic1 :sr1
cd "$(dirname "$0")" && . ./lib.sh

# Each byte is checked. Both ends poll: on one processor a transfer takes as long as the scheduler lets each of them.
pingpong() { # SIZE PROVIDER ENDPOINT-TYPE [OPTION...]
	local options="-p '$2' -e $3 -S $1 -I 5 -c ${*:4}"
	with_server sr1 "fi_pingpong $options -d srnic1" sr0 "fi_pingpong $options -d srnic0 $IP1" 47592
}

if ! command -v fi_pingpong >/dev/null; then
	skip "fi_pingpong is not installed (libfabric-bin)"
fi
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
for size in 1 1000 65536 1048576; do
	check "fi_pingpong, messages of $size bytes" pingpong $size verbs msg
done
check "fi_pingpong, reliable datagrams of 1000 bytes" pingpong 1000 'verbs;ofi_rxm' rdm
check "fi_pingpong, reliable datagrams of 1 MiB" pingpong 1048576 'verbs;ofi_rxm' rdm
check "fi_pingpong, reliable datagrams with tags" pingpong 65536 'verbs;ofi_rxm' rdm -m tagged
finish
