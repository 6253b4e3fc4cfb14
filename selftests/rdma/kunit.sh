#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# The module's KUnit tests (kernel/kunit), which run when a module built with them is loaded: one TAP line for each case.
# Skipped if the kernel has no KUnit.
cd "$(dirname "$0")" && . ./lib.sh

MODULE=$PWD/srnic-kunit.ko
RESULTS=/sys/kernel/debug/kunit
SUITES="srnic_core srnic_framing srnic_mr srnic_gaps srnic_dmabuf srnic_window srnic_copy srnic_revoke srnic_cq
	srnic_srq srnic_ring srnic_resize srnic_qp srnic_listen srnic_connect srnic_stream srnic_standby srnic_extension
	srnic_rdmatcp srnic_batch srnic_shortcut srnic_one_copy srnic_asker srnic_stats srnic_mad srnic_acks srnic_pairing
	srnic_ib_device srnic_ah srnic_datagram srnic_datagram_drop srnic_group srnic_place srnic_word srnic_kept
	srnic_ack_ride srnic_feed"

# Replaces the installed module, which the next `rdma link add` loads again.
load() {
	local needs
	needs=$(modinfo -F depends "$MODULE")
	modprobe -r srnic && modprobe -a ${needs//,/ } && insmod "$MODULE"
}

results() { # "suite NAME" and what KUnit says of it, for each
	local name
	for name in $SUITES; do
		echo "suite $name"
		cat "$RESULTS/$name/results"
	done
}

# TAP of the results, in one go because processes are slow in emulators: a line for each case, what a failed one said behind
# it; and a line for each suite, which must have as many verdicts as its plan says, and its own at the end.
tap() {
	awk -v n="$TESTS" '
		function verdict(good, name) {
			printf "%sok %d %s: %s\n", good ? "" : "not ", ++n, suite, name
			if (!good)
				printf "%s", said
			said = ""
		}
		function end() {
			if (suite)
				verdict(planned && cases == planned && ended, "the suite has run to its end")
		}
		/^suite / { end(); suite = $2; planned = cases = ended = 0; next }
		/^    1\.\./ { planned = substr($1, 4); next }
		/^    (not )?ok / { cases++; good = $1 == "ok"; name = $NF; gsub(/_/, " ", name); verdict(good, name); next }
		/^ok 1 / { ended = 1; next }
		{ said = said "# " $0 "\n" }
		END { end() }'
}

report() {
	results 2>&1 | tap >"$LOGS/tap"
	cat "$LOGS/tap"
	TESTS=$((TESTS + $(grep -c 'ok [0-9]' "$LOGS/tap")))
	FAILED=$((FAILED + $(grep -c '^not ok [0-9]' "$LOGS/tap")))
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
report
check "it is unloaded" rmmod srnic
echo "1..$TESTS"
rm -rf "$LOGS"
[ "$FAILED" = 0 ]
