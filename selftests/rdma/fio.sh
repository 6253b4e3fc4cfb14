#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# fio's rdma engine: a server in one namespace, a client that writes to it or reads from it.
#
#   sr0: srnic0 ── fio, rw=write ──cable── fio, rw=read ── srnic1 :sr1
#
# Not verb=send: its client sends without waiting for the server's next receive. RDMAP has no answer "not ready" as
# InfiniBand has: such a message ends the connection (RFC 5041 section 7.2, "no buffer available"). Nor on devices of type
# srnic_ib: fio asks for no retries (rnr_retry_count 0), so "not ready" ends the connection there, too.
cd "$(dirname "$0")" && . ./lib.sh

MIB=${MIB:-64}
PORT=7788

job() { # RW OPTION...
	printf '%s\n' "[$1]" ioengine=rdma port=$PORT rw="$1" bs=64k size="${MIB}m" iodepth=16 iodepth_batch_complete=1 "${@:2}"
}

moved() { # VERB
	job read >"$LOGS/server.fio"
	job write "hostname=$IP1" "verb=$1" >"$LOGS/client.fio"
	with_server sr1 "fio $LOGS/server.fio" sr0 "fio $LOGS/client.fio" $PORT | tee "$LOGS/said"
	[ "${PIPESTATUS[0]}" = 0 ] && grep -q "err= 0" "$LOGS/said" && grep -qE "(WRITE|READ):.* io=$MIB(\.0)?MiB" "$LOGS/said"
}

if ! fio --enghelp=rdma >/dev/null 2>&1; then
	skip "fio is not installed, or without its rdma engine"
fi
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
for verb in write read; do
	check "fio's rdma engine, $verb, $MIB MiB" moved $verb
done
finish
