# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Allocations that fail (the kernel's fault injection). Sourced after lib.sh.
# shellcheck shell=bash

DEBUGFS=/sys/kernel/debug

can_inject() { [ -e "$DEBUGFS/failslab" ] && [ -e /proc/self/fail-nth ]; }

set_faults() { # NAME VALUE: of both kinds
	echo "$2" >"$DEBUGFS/failslab/$1" && echo "$2" >"$DEBUGFS/fail_page_alloc/$1"
}

# All allocations may fail, also those that may sleep; failures are not logged.
arm_faults() {
	set_faults probability 0 && set_faults ignore-gfp-wait N && set_faults verbose 0 && set_faults interval 1 &&
		echo 0 >"$DEBUGFS/fail_page_alloc/min-order"
}

# The kernel threads that srnic's work runs in. Not the unbound ones of iw_cm and rdma_cm: rdma_ucm of 6.12 deadlocks if it
# has no memory for a CONNECT_REQUEST (it destroys the id that its caller has locked).
mark_workers() { # 1 or 0
	local p name
	for p in /proc/[0-9]*; do
		read -r name 2>/dev/null <"$p/comm" || continue
		[[ $name != kworker/[0-9]* ]] || echo "$1" >"$p/make-it-fail"
	done 2>/dev/null
}

injections_left() { echo $(($(cat "$DEBUGFS/failslab/times") + $(cat "$DEBUGFS/fail_page_alloc/times"))); }

# Builtins only: a fork of this shell might fail, too.
storm() { # PERCENT TIMES SECONDS
	set_faults times "$2"
	set_faults probability "$1"
	pause "$3"
	until set_faults probability 0; do :; done
}

# Leaks of memory that srnic itself allocated: it is the innermost module in kmemleak's backtrace. Others are cleared: the
# RDMA core leaks when memory runs out (uverbs some nodes of its tables, if "rdma link add" fails half way), with srnic
# among its callers.
no_leaks() {
	local list=$DEBUGFS/kmemleak
	sleep 6
	echo scan >"$list" && echo scan >"$list"
	awk 'BEGIN { RS = "unreferenced object" } match($0, /\[[a-z0-9_]+\]\n/) && substr($0, RSTART, 7) == "[srnic]"' \
		"$list" >"$LOGS/leaks"
	cat "$LOGS/leaks"
	echo clear >"$list"
	[ ! -s "$LOGS/leaks" ]
}
