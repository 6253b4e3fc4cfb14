#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# rcopy copies a file of 64 MiB from one namespace to the other; its digest is the same at both ends.
cd "$(dirname "$0")" && . ./lib.sh

MIB=${MIB:-64}

copy() {
	head -c "$((MIB * 1024 * 1024))" /dev/urandom >"$LOGS/from"
	rm -f "$LOGS/to"
	become_in_ns sr1 "exec rcopy" >"$LOGS/server" 2>&1 &
	local server=$!
	wait_listening sr1 7427 $server
	in_ns sr0 "rcopy $LOGS/from $IP1:$LOGS/to"
	local status=$?
	kill $server
	wait $server 2>/dev/null
	sha256sum "$LOGS/from" "$LOGS/to"
	return $status
}

same() { cmp "$LOGS/from" "$LOGS/to"; }

needs rcopy
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
check "rcopy of $MIB MiB" copy
check "the copy equals the original" same
finish
