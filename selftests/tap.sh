# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# TAP of tests that run on the host and are commands: builds, packages. Sourced. WORK: a directory for the command's output.
# shellcheck shell=bash

TESTS=0 FAILED=0

# check NAME COMMAND...: one line of TAP; the end of what the command said if it fails.
check() {
	local name=$1
	shift
	TESTS=$((TESTS + 1))
	if "$@" >"$WORK/log" 2>&1; then
		echo "ok $TESTS - $name"
		return
	fi
	FAILED=$((FAILED + 1))
	echo "not ok $TESTS - $name"
	tail -n 40 "$WORK/log" | sed 's/^/# /'
	return 1
}
