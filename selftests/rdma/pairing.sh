#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# QPs that a program connects by hand, over devices of type srnic_ib: what they carry, in what order their ends may become
# ready, the last Ack, errors, and what happens to their interfaces, addresses and devices (byhand/).
#
# ROUNDS: of what is repeated. CROWD: pairs at once. CASES: parts of the names of the cases to run, separated by '|'.
cd "$(dirname "$0")" && . ./lib.sh

PROGRAM=$PWD/byhand/build/byhand
ROUNDS=${ROUNDS:-200}

settled_addresses() { [ -z "$(ip -n sr0 addr show tentative)$(ip -n sr1 addr show tentative)" ]; }

cases() {
	LIMIT=${LIMIT:-300} in_ns sr0 "ulimit -n 8192; '$PROGRAM' srnic0 $IP0 $IP60 srnic1 $IP1 $IP61 $ROUNDS '${CASES:-}'"
}

# The program's lines are tests of this script.
run_cases() {
	local line last=
	while read -r line; do
		case $line in
		"ok "* | "not ok "*)
			TESTS=$((TESTS + 1))
			[[ $line = "ok "* ]] || FAILED=$((FAILED + 1))
			echo "${line/ok +([0-9]) /ok $TESTS }"
			;;
		*) echo "$line" ;;
		esac
		last=$line
	done < <(cases 2>&1)
	check "all cases ran" [ "$last" = "# all cases" ]
}

objects() { resources; }

unloads() {
	rdma link delete srnic0 && rdma link delete srnic1 && within 100 modprobe -r srnic
}

shopt -s extglob
needs rdma tc
built_or_skip "$PROGRAM"
modprobe -a ib_uverbs srnic
modprobe -q tun
hosts_up && within 50 settled_addresses && ib_devices_up || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
run_cases
check "nothing is left behind" settled "$OBJECTS"
check "the module can be unloaded" unloads
finish
