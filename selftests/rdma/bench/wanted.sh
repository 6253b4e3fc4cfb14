# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Which cases are wanted. Sourced by bench.sh and its parts.
#
# ONLY: parts of the cases' names, separated by "|"; " NAME " is a whole one. Nothing: all of them.
# shellcheck shell=bash

wanted() { # NAME
	local part parts
	IFS='|' read -ra parts <<<"${ONLY:-}"
	[ ${#parts[@]} -gt 0 ] || return 0
	for part in "${parts[@]}"; do
		[[ " $1 " != *"$part"* ]] || return 0
	done
	return 1
}
