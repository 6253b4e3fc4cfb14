#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A peer that breaks every rule a receiver checks (hostile/), against a verbs program in the other namespace. Each row of
# its tables is one test: the exact Terminate, the end of the stream, the victim's memory, completions and events, and
# that another connection of the victim still works.
#
# OCTETS: which of the cases are also sent octet by octet: 1: each (default), 3: every third, 0: none. ONLY: part of the
# names of the cases to run. SETTINGS: those of both ends: mpa_crc and mpa_large_fpdus (lib.sh).
cd "$(dirname "$0")" && . ./lib.sh

BUILD=$PWD/hostile/build

if [ ! -x "$BUILD/attacker" ]; then
	skip "hostile/ is not built: make -C selftests/rdma/hostile (libibverbs-dev, librdmacm-dev)"
fi
terms=()
for setting in ${SETTINGS:-}; do
	case $setting in
	mpa_crc=*) terms+=(--crc "${setting#*=}") ;;
	mpa_large_fpdus=*) terms+=(--large-fpdus "${setting#*=}") ;;
	esac
done
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
ns0 "$BUILD/attacker" --octets-every "${OCTETS:-1}" --only "${ONLY:-}" "${terms[@]}" "$IP0" "$IP1" \
	nsenter --net=/run/netns/sr1 "$BUILD/victim" "$IP1" "$IP0"
status=$?
everything_down
exit $status
