#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Runs every test of this folder (or those named), one after the other, and prints a summary. rdmatcp:TEST runs TEST with
# the framing of RDMA/TCP.
cd "$(dirname "$0")" || exit
status=0
ALL="rping.sh perftest.sh qperf.sh rcopy.sh pyverbs.sh examples.sh markers.sh rdmatcp.sh lifecycle.sh local.sh semantics.sh consumer.sh nfs.sh
	startup.sh hostile.sh netem.sh gone.sh faults.sh chaos.sh capture.sh ipsec.sh siw.sh kunit.sh"
for test in "${@:-$ALL}"; do
	for name in $test; do
		echo "# $name"
		began=$SECONDS
		case $name in
		rdmatcp:*) FRAMING=rdmatcp ./"${name#*:}" || status=1 ;;
		*) ./"$name" || status=1 ;;
		esac
		echo "# $name took $((SECONDS - began)) s"
	done
done
exit $status
