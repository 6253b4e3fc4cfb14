#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A local user's errors and attacks through the mapped rings (local/local.cc), on a device of its own namespace.
cd "$(dirname "$0")" && . ./lib.sh

hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
LIMIT=${LIMIT:-400} in_ns sr0 "./local/local $IP0"
status=$?
everything_down
exit $status
