#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# rdma-core's own tests, unchanged, whose QPs are connected by hand or by rdma_cm: on a device of type srnic_ib, and on
# rxe, which shows what else they pass on. One TAP line for each case that passes on either. Arguments, or MODULES:
# modules.
cd "$(dirname "$0")" && . ./lib.sh

ALL="test_device test_pd test_mr test_cq test_cq_events test_cqex test_qp test_qpex test_srq test_fork test_atomic"
ALL+=" test_relaxed_ordering test_addr test_odp test_rdmacm test_parent_domain test_shared_pd"
NEWER="test_buf test_dmah"	# Debian 13 has no such modules yet
MODULES=${*:-${MODULES:-$ALL $NEWER}}

# Cases that may skip themselves here and not on rxe, as patterns of names, and what they need.
WANTING=(
	'test_qp.QPTest.test_*_uc_qp*|UC'
	'test_qp.QPTest.test_*_raw_qp_*|raw packets'
	'test_odp.*|paging on demand'
)

wants() { # CASE
	local entry
	for entry in "${WANTING[@]}"; do
		# shellcheck disable=SC2053 # it is a pattern
		[[ $1 != ${entry%%|*} ]] || { echo "${entry#*|}"; return; }
	done
	return 1
}

# Writes the verdicts on one device, and what the cases said, to a file. False if the last case did not come.
run_on() { # DEVICE MODULE
	in_ns sr0 "PYTHONPATH=pyverbs exec python3 pyverbs/verdicts.py $LOGS $1 tests.$2" >"$LOGS/$1" 2>&1
	grep -qx "done" "$LOGS/$1"
}

verdict() { # DEVICE CASE
	awk -v name="$2" '$2 == name && /^(pass|fail|skip) / { print $1; exit }' "$LOGS/$1"
}

passes() { # CASE
	[ "$(verdict srnic0 "$1")" = pass ] && return
	sed "/^fail ${1//./\\.}/q" "$LOGS/srnic0"
	return 1
}

judge() { # CASE
	local why
	if [ "$(verdict srnic0 "$1")" = skip ] && why=$(wants "$1"); then
		[ "$(verdict rxe0 "$1")" != pass ] || skip_one "$1" "it needs $why"
	elif [ "$(verdict srnic0 "$1")" != skip ] || [ "$(verdict rxe0 "$1")" = pass ]; then
		check "$1" passes "$1"
	fi
}

run_module() { # MODULE
	local name
	: >"$LOGS/rxe0"
	[ ! -e /sys/class/infiniband/rxe0 ] || run_on rxe0 "$1" # it may fail there
	run_on srnic0 "$1" || check "$1 comes to its end" false
	while read -r name; do
		judge "$name"
	done < <(awk '/^(pass|fail|skip) / { print $2 }' "$LOGS/srnic0")
}

python3 -c 'import pyverbs' 2>/dev/null || skip "python3-pyverbs is not installed"
modprobe -a ib_uverbs srnic
rdma_core_tests_in "$LOGS" || skip "rdma-core's tests are not here: the documentation of python3-pyverbs"
hosts_up && ib_devices_up || { echo "Bail out! no devices"; exit 1; }
ip -n sr0 route add 224.0.0.0/4 dev veth0 # rdma_cm finds the device for a group by its route
! modprobe -q rdma_rxe || ns0 rdma link add rxe0 type rxe netdev veth0
for module in $MODULES; do
	[[ " $NEWER " = *" $module "* && ! -e $LOGS/tests/$module.py ]] || run_module "$module"
done
rdma link delete rxe0 2>/dev/null
finish
