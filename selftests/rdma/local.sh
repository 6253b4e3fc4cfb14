#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A local user's errors and attacks (local/), on a device of its own namespace: through the mapped rings, descriptors,
# processes, mappings, commands, limits and races. Argument: a part of the names of the cases to run. KILL_ROUNDS: how
# often each verb's loop is killed. LIMIT_ALL: seconds for all cases. SEED: of what is left to chance; each run tells its own.
cd "$(dirname "$0")" && . ./lib.sh

hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
# iw_cm lets no process end that waits for a Reply, and where both ends are in one that is killed, none comes.
set_reply_timeout 10
LIMIT=${LIMIT_ALL:-900} in_ns sr0 "./local/local $IP0 srnic0 '$1'"
status=$?
set_reply_timeout
everything_down
exit $status
