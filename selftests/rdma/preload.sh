#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Unmodified TCP programs over RDMA: librspreload.so turns their sockets into rsockets.
#
#   sr0: srnic0 ── client, librspreload.so ──cable── librspreload.so, server ── srnic1 :sr1
#
# That they did not fall back to TCP is seen from the device's counters. The library takes only what is opened by a
# plain socket(PF_INET, SOCK_STREAM, 0): not Python's and Perl's sockets, which are closed on exec. riostream, rsockets
# with remote writes of the application's own, is here as well.
cd "$(dirname "$0")" && . ./lib.sh

LIBRARY=$(ls /usr/lib/*/rsocket/librspreload.so 2>/dev/null)
MIB=${MIB:-16}

# Sends a file; the receiver's copy is the same.
copied() {
	head -c $((MIB << 20)) /dev/urandom >"$LOGS/from"
	with_server sr1 "env LD_PRELOAD=$LIBRARY nc.traditional -l -s $IP1 -p 7777 >$LOGS/to" \
		sr0 "LD_PRELOAD=$LIBRARY nc.traditional -q 1 $IP1 7777 <$LOGS/from" 7777 && cmp "$LOGS/from" "$LOGS/to"
}

iperf_runs() {
	with_server sr1 "env LD_PRELOAD=$LIBRARY iperf -s -B $IP1 -P 1" \
		sr0 "LD_PRELOAD=$LIBRARY iperf -c $IP1 -n ${MIB}M" 5001
}

riostream_runs() {
	with_server sr1 "riostream -b $IP1 -S all -C 20 -T v" sr0 "riostream -s $IP1 -S all -C 20 -T v" 7471
}

if [ -z "$LIBRARY" ] || ! type nc.traditional iperf >/dev/null 2>&1; then
	skip "librspreload.so or its programs are not installed (librdmacm1, netcat-traditional, iperf)"
fi
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
check "netcat copies $MIB MiB" grows srnic0 tx_octets $((MIB << 20)) copied
check "iperf" grows srnic0 tx_octets $((MIB << 20)) iperf_runs
check "riostream, every byte verified" riostream_runs
finish
