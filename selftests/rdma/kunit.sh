#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The module's KUnit tests (kernel/kunit), which run when a module built with them is loaded: one TAP line for each case.
# Skipped if the kernel has no KUnit.
cd "$(dirname "$0")" && . ./lib.sh

MODULE=$PWD/srnic-kunit.ko
RESULTS=/sys/kernel/debug/kunit
SUITES="srnic_core srnic_framing srnic_mr srnic_revoke srnic_cq srnic_srq srnic_ring srnic_qp srnic_listen srnic_connect
	srnic_stream srnic_standby srnic_extension srnic_rdmatcp srnic_batch srnic_stats"

# Replaces the installed module, which the next `rdma link add` loads again.
load() {
	local needs
	needs=$(modinfo -F depends "$MODULE")
	modprobe -r srnic && modprobe -a ${needs//,/ } && insmod "$MODULE"
}

# Prints the log of one case, the verdict last; true if it passed.
verdict() { # FILE CASE
	local said
	said=$(awk -v name="$2" '
		/^    (not )?ok / && $NF == name { printf "%s%s\n", said, $0; exit }
		/^    (not )?ok / { said = ""; next }
		{ said = said $0 "\n" }' "$1")
	echo "$said"
	[[ ${said##*$'\n'} = "    ok "* ]]
}

cases() { awk '/^    (not )?ok / { print $NF }' "$1"; }

complete() { # FILE: as many verdicts as the plan says, and the suite's own at the end
	local planned
	planned=$(sed -n 's/^    1\.\.//p' "$1" | head -n 1)
	[ "${planned:-0}" -gt 0 ] && [ "$(cases "$1" | wc -l)" = "$planned" ] && grep -q '^ok 1 ' "$1"
}

suite() {
	local file=$LOGS/$1.ktap name
	cat "$RESULTS/$1/results" >"$file" || : >"$file"
	for name in $(cases "$file"); do
		check "$1: ${name//_/ }" verdict "$file" "$name"
	done
	check "$1: the suite has run to its end" complete "$file"
}

no_others() {
	local path status=0
	for path in $RESULTS/srnic_*; do
		[[ " ${SUITES//[[:space:]]/ } " = *" ${path##*/} "* ]] || { echo "${path##*/} is not in SUITES"; status=1; }
	done
	return $status
}

modprobe -q kunit
if [ ! -d $RESULTS ]; then
	skip "this kernel has no KUnit"
fi
check "the module with its tests in it is loaded" load
check "these are all of its suites" no_others
for name in $SUITES; do
	suite "$name"
done
check "it is unloaded" rmmod srnic
echo "1..$TESTS"
rm -rf "$LOGS"
[ "$FAILED" = 0 ]
