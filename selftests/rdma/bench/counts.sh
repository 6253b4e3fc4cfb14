# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Keeps what vm/run --count counts, run by run. Sourced by bench.sh and its parts.
#
# COUNTS: the file in which instructions are counted; nothing: they are not. It gets another name after each run, which a
# line says: environment, case, peer, name, how many operations there were. NAME.symbols has the kernel's symbols from that
# run on.
# shellcheck shell=bash

COUNTS=${COUNTS:-} COUNTED=0

# To be called before the first run, and when modules have come or gone.
keep_symbols() { [ -z "$COUNTS" ] || cat /proc/kallsyms >"$COUNTS.$$.$((COUNTED + 1)).symbols"; }

counted() { # ENVIRONMENT CASE PEER OPERATIONS
	[ -n "$COUNTS" ] || return 0
	COUNTED=$((COUNTED + 1))
	mv "$COUNTS" "$COUNTS.$$.$COUNTED" && echo "$1 $2 $3 ${COUNTS##*/}.$$.$COUNTED $4"
}
