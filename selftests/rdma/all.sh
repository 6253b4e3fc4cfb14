#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Runs every test of this folder (or those named), one after the other, and prints a summary. rdmatcp:TEST runs TEST
# with the framing of RDMA/TCP, in small: what a message means is the same code.
cd "$(dirname "$0")" || exit
status=0
in_small() { FRAMING=rdmatcp LINKS="good lossy" REUSE=3 HUGE=0 RACES=5 VERSIONS=4.2 FILES="1 1000003 8388608" MIB=16 "$@"; }
ALL="rping.sh perftest.sh qperf.sh rcopy.sh rstream.sh pyverbs.sh examples.sh markers.sh lifecycle.sh local.sh semantics.sh
	consumer.sh nfs.sh startup.sh hostile.sh netem.sh gone.sh faults.sh chaos.sh capture.sh ipsec.sh rdmatcp.sh
	rdmatcp:rcopy.sh rdmatcp:rstream.sh rdmatcp:semantics.sh rdmatcp:consumer.sh rdmatcp:nfs.sh siw.sh kunit.sh"
for test in "${@:-$ALL}"; do
	for name in $test; do
		echo "# $name"
		began=$SECONDS
		case $name in
		rdmatcp:*) in_small ./"${name#*:}" || status=1 ;;
		*) ./"$name" || status=1 ;;
		esac
		echo "# $name took $((SECONDS - began)) s"
	done
done
exit $status
