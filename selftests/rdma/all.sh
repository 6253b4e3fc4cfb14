#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Runs every test of this folder (or those named), one after the other, and prints a summary. A name is a test, a
# group of them (programs, by_hand, consumers, modes, more_modes), or MODE:TEST, which runs TEST with other settings
# of the devices, in small: what a message means is the same code. Modes: rdmatcp, the framing of RDMA/TCP; bare,
# without CRCs; large, without CRCs and with FPDUs larger than TCP segments; shortcut, both ends on one host, without
# TCP; onecopy, the same without CRCs, which leaves one copy; ib, devices of type srnic_ib, on which rdma_cm connects as
# on InfiniBand; wire, on interfaces with DMA, where vm/run --wire has made some. OMIT: tests to leave out. Those of a
# group may be skipped, those named may not; with MAY_SKIP, of a group only these.
cd "$(dirname "$0")" || exit
status=0
failed() { # NAME: 4 is a skip
	[ $? = 4 ] && [[ " $named " != *" $1 "* && " ${MAY_SKIP-$1} " = *" $1 "* ]] || { echo "# $1 failed"; status=1; }
}
in_small() { LINKS=${LINKS:-good lossy} REUSE=3 HUGE=0 RACES=5 VERSIONS=4.2 FILES="1 1000003 8388608" MIB=16 \
	KILLS=${KILLS:-20} DELETES=${DELETES:-1} UNLOADS=${UNLOADS:-3} "$@"; }
programs="rping.sh perftest.sh statistic.sh fair.sh tenants.sh tracing.sh qperf.sh rcopy.sh rstream.sh pyverbs.sh
	examples.sh srnicctl.sh boot.sh systemd.sh capabilities.sh markers.sh lifecycle.sh ib_device.sh ib_programs.sh
	kept.sh kept_trouble.sh ib_datagrams.sh ib_datagram_port.sh ib_multicast.sh ib_pyverbs.sh pairing.sh local.sh
	semantics.sh shortcut.sh ports.sh sources.sh startup.sh hostile.sh ib_hostile.sh ib_strays.sh netem.sh gone.sh
	netns.sh underlay.sh faults.sh
	outage.sh chaos.sh capture.sh ipsec.sh rdmatcp.sh dissector.sh siw.sh rdmacm.sh ib_rdmacm.sh preload.sh fio.sh
	libfabric.sh mpi.sh kunit.sh"
by_hand="ucx.sh mpi_ucx.sh gloo.sh smc.sh"
consumers="consumer.sh crowd.sh burst.sh nfs.sh nfsload.sh iser.sh srp.sh nvme.sh mounts.sh rnbd.sh smb.sh"
modes="rdmatcp:rcopy.sh rdmatcp:rstream.sh rdmatcp:semantics.sh rdmatcp:consumer.sh rdmatcp:nfs.sh
	rdmatcp:rnbd.sh bare:semantics.sh large:rcopy.sh large:rstream.sh large:semantics.sh large:consumer.sh large:nfs.sh
	large:hostile.sh shortcut:rcopy.sh shortcut:rstream.sh shortcut:semantics.sh shortcut:consumer.sh shortcut:nfs.sh
	onecopy:semantics.sh onecopy:consumer.sh onecopy:chaos.sh ib:rping.sh ib:rdmacm.sh ib:consumer.sh ib:nfs.sh
	ib:nvme.sh ib:iser.sh ib:srp.sh"
more_modes="rdmatcp:chaos.sh bare:hostile.sh bare:local.sh large:local.sh large:startup.sh large:faults.sh
	large:outage.sh large:chaos.sh large:lifecycle.sh shortcut:local.sh shortcut:startup.sh shortcut:faults.sh
	shortcut:lifecycle.sh shortcut:chaos.sh onecopy:nfs.sh ib:rcopy.sh ib:rstream.sh ib:qperf.sh ib:preload.sh ib:fio.sh ib:rnbd.sh
	ib:smb.sh ib:libfabric.sh ib:netns.sh ib:burst.sh ib:outage.sh ib:nfsload.sh ib:mpi.sh ib:lifecycle.sh ib:examples.sh
	ib:semantics.sh"

members() { # NAME...
	local name
	for name; do
		case $name in
		programs | by_hand | consumers | modes | more_modes) echo "${!name}" ;;
		*) echo "$name" ;;
		esac
	done
}

[ $# -gt 0 ] || set -- programs by_hand consumers modes more_modes
named="$*"
for name in $(members "$@"); do
	[[ " ${OMIT:-} " != *" $name "* ]] || continue
	echo "# $name"
	began=$SECONDS
	case $name in
	rdmatcp:*) FRAMING=rdmatcp in_small ./"${name#*:}" || failed "$name" ;;
	bare:*) SETTINGS=mpa_crc=0 in_small ./"${name#*:}" || failed "$name" ;;
	shortcut:*) ONE_HOST=1 LINKS=good SETTINGS="local_shortcut=1" in_small ./"${name#*:}" || failed "$name" ;;
	onecopy:*) ONE_HOST=1 LINKS=good SETTINGS="local_shortcut=1 mpa_crc=0" in_small ./"${name#*:}" || failed "$name" ;;
	large:*) SETTINGS="mpa_crc=0 mpa_large_fpdus=1" in_small ./"${name#*:}" || failed "$name" ;;
	ib:*) DEVICE_TYPE=srnic_ib in_small ./"${name#*:}" || failed "$name" ;;
	wire:*) CABLE=wire in_small ./"${name#*:}" || failed "$name" ;;
	*) ./"$name" || failed "$name" ;;
	esac
	echo "# $name took $((SECONDS - began)) s"
done
exit $status
