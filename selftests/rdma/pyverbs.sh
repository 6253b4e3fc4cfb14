#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# rdma-core's own tests (tests/ of its source, in Debian's python3-pyverbs as documentation), unchanged, and ours in the
# same framework (pyverbs/). One TAP line for each case, with the reason if it skips itself. Arguments, or MODULES:
# modules. Documentation/pyverbs.rst says what the cases that must fail would need.
cd "$(dirname "$0")" && . ./lib.sh

ALL="test_device test_pd test_cq test_cqex test_qp test_fork test_mr test_rdmacm rereg external_qp"
ALL+=" test_cq_events test_srq test_relaxed_ordering"
MODULES=${*:-${MODULES:-$ALL}}

# Cases that cannot pass on an RNIC: the expected message, and why they fail.
BY_HAND='Failed to modify QP state to RTS|it connects its QPs by modify_qp, without rdma_cm'
NO_RESPONSE='Expected this event: 5, got this event: RDMA_CM_EVENT_ESTABLISHED|rdma_cm has no CONNECT_RESPONSE for iWARP'
declare -A MUST_FAIL=(
	[test_cqex.CqExTestCase.test_rc_traffic_cq_ex]=$BY_HAND
	[test_mr.MRTest.test_mr_rereg_access]=$BY_HAND
	[test_mr.MRTest.test_mr_rereg_access_bad_flow]=$BY_HAND
	[test_mr.MRTest.test_mr_rereg_addr]=$BY_HAND
	[test_mr.MRTest.test_mr_rereg_atomic]=$BY_HAND
	[test_mr.MRTest.test_mr_rereg_pd]=$BY_HAND
	[test_mr.MWTest.test_invalidate_mw_type1]=$BY_HAND
	[test_mr.MWTest.test_mw_type1]=$BY_HAND
	[test_mr.MWTest.test_mw_type2]=$BY_HAND
	[test_mr.MWTest.test_mw_type2_invalidate_dealloc]=$BY_HAND
	[test_mr.MWTest.test_mw_type2_invalidate_local]=$BY_HAND
	[test_mr.MWTest.test_mw_type2_invalidate_remote]=$BY_HAND
	[test_rdmacm.CMTestCase.test_rdmacm_async_traffic_external_qp]=$NO_RESPONSE
	[test_cq_events.CqEventsTestCase.test_cq_events_rc]=$BY_HAND
	[test_relaxed_ordering.RoTestCase.test_ro_rc_traffic]=$BY_HAND
	[test_srq.SrqTestCase.test_modify_srq_limit]=$BY_HAND
	[test_srq.SrqTestCase.test_rc_srq_traffic]=$BY_HAND
	[test_srq.SrqTestCase.test_resize_srq]=$BY_HAND
)

# Cases that skip themselves, as patterns of names; Documentation/pyverbs.rst has the reasons. Any other skip means that
# a feature was lost.
MAY_SKIP=(
	'test_qp.QPTest.test_*_u[cd]_qp*' 'test_qp.QPTest.test_*_raw_qp*' test_qp.QPTest.test_query_data_in_order
	test_cq.CQTest.test_resize_cq test_cqex.CqExTestCase.test_ud_traffic_cq_ex
	test_cq_events.CqEventsTestCase.test_cq_events_ud test_relaxed_ordering.RoTestCase.test_ro_ud_traffic
	'test_device.DMTest.*' 'test_device.SharedDMTest.*' 'test_mr.DeviceMemory*.*'
	'test_mr.DmaBuf*.*'
	'test_rdmacm.CMTestCase.test_rdmacm_*multicast_traffic' test_rdmacm.CMTestCase.test_rdmacm_async_udp_traffic
	test_cqex.CqExTestCase.test_xrc_traffic_cq_ex test_relaxed_ordering.RoTestCase.test_ro_xrc_traffic
	test_device.DeviceTest.test_query_gid_ex_bad_flow
)

line() { # "ok" or "not ok", WORDS
	TESTS=$((TESTS + 1))
	echo "$1 $TESTS $2"
	[ "$1" = ok ] && return
	FAILED=$((FAILED + 1))
	tail -n 40 "$LOGS/said" | sed 's/^/# /'
}

failed() { # CASE
	local must=${MUST_FAIL[$1]}
	if [ "$must" ] && grep -qF "${must%%|*}" "$LOGS/said"; then
		line ok "$1 fails as it must: ${must#*|}"
	else
		line "not ok" "$1"
	fi
}

skipped() { # CASE REASON
	local pattern
	for pattern in "${MAY_SKIP[@]}"; do
		# shellcheck disable=SC2053 # it is a pattern
		[[ $1 != $pattern ]] || { line ok "$1 # SKIP $2"; return; }
	done
	line "not ok" "$1 skips itself and is not listed as one that may: $2"
}

# Turns the lines of verdicts.py into TAP. False if the last one did not come.
report() {
	local text verdict name reason
	: >"$LOGS/said"
	while IFS= read -r text; do
		read -r verdict name reason <<<"$text"
		case $verdict in
		pass) if [ "${MUST_FAIL[$name]}" ]; then line "not ok" "$name passes and is listed as one that must fail"
			else line ok "$name"; fi ;;
		skip) skipped "$name" "$reason" ;;
		fail) failed "$name" ;;
		done) return 0 ;;
		*) echo "$text" >>"$LOGS/said"; continue ;;
		esac
		: >"$LOGS/said"
	done
	return 1
}

# One process for each module, so a crash or hang takes no other down.
run_module() { # MODULE
	local module=$1
	[ -e "pyverbs/$1.py" ] || module=tests.$1
	report < <(in_ns sr0 "PYTHONPATH=pyverbs exec python3 pyverbs/verdicts.py $LOGS srnic0 $module" 2>&1) ||
		line "not ok" "$1 ends before its last case is reported"
}

if ! python3 -c 'import pyverbs' 2>/dev/null || ! rdma_core_tests_in "$LOGS"; then
	skip "rdma-core's tests are not here: the package python3-pyverbs, with its documentation"
fi
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
for module in $MODULES; do
	run_module "$module"
done
finish
