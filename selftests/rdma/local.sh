#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A local user's errors and attacks (local/), on a device of its own namespace: by mapped rings, descriptors, processes,
# mappings, commands, limits, races and ids answered twice. CASES: parts of the names of the cases to run, separated by
# "|"; default: all. KILL_ROUNDS: how often each verb's loop is killed. ANSWER_ROUNDS: how often an id is answered twice in
# each way. LIMIT_ALL: seconds for all cases. SEED: of the random numbers; each run prints its own.
cd "$(dirname "$0")" && . ./lib.sh

built_or_skip local/local
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
# iw_cm keeps a killed process until its Reply arrives; if both ends are in that process, none does.
set_reply_timeout 10
LIMIT=${LIMIT_ALL:-900} in_ns sr0 "./local/local $IP0 srnic0 '$CASES'"
status=$?
set_reply_timeout
everything_down
exit $status
