#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# SMC-R, version 2: the kernel's AF_SMC moves the bytes of TCP programs by RDMA Writes between devices of type srnic_ib,
# whose QPs it connects by hand. Without a device that it likes it takes TCP in silence: that it did not is seen from its
# netlink interface (smc/smc.py) and from the device's counters. What fails is run on rxe, too.
#
#   sr0: srnic0 ── client, preload.so ──cable── preload.so, server ── srnic1 :sr1
#
# CONNECTIONS, at a time. MIB: of a file.
cd "$(dirname "$0")" && . ./lib.sh

PRELOAD=$PWD/smc/build/preload.so
CONNECTIONS=${CONNECTIONS:-20}
MIB=${MIB:-16}
UEID=SRNIC-SELFTEST

smc() { timeout "${LIMIT:-60}" python3 smc/smc.py "$@"; }

# Both over sockets of SMC, unless PRELOAD is another library.
programs() { # SERVER CLIENT PORT
	with_server sr1 "env LD_PRELOAD=$PRELOAD $1" sr0 "LD_PRELOAD=$PRELOAD exec $2" "$3"
}

talk() {
	programs "python3 smc/smc.py serve $IP1 7777 $CONNECTIONS" \
		"python3 smc/smc.py talk $IP1 7777 $CONNECTIONS" 7777
}

# Sends a file; the receiver's copy is the same.
copied() {
	head -c $((MIB << 20)) /dev/urandom >"$LOGS/from"
	with_server sr1 "env LD_PRELOAD=$PRELOAD nc.traditional -l -s $IP1 -p 7778 >$LOGS/to" \
		sr0 "LD_PRELOAD=$PRELOAD nc.traditional -q 1 $IP1 7778 <$LOGS/from" 7778 && cmp "$LOGS/from" "$LOGS/to"
}

iperf_runs() { programs "iperf -s -B $IP1 -P 1" "iperf -c $IP1 -n ${MIB}M $*" 5001; }

# The device goes below a connection, which ends, with whatever its program makes of that.
loses_device() {
	local before status
	before=$(counter srnic0 tx_octets)
	programs "iperf -s -B $IP1 -P 1" "iperf -c $IP1 -t 20" 5001 &
	PATIENCE=20 rises srnic0 tx_octets "$before" && rdma link delete srnic0
	status=$?
	wait $!
	return $status
}

# What the test relies on: without a device SMC takes TCP, and is seen to.
falls_back() {
	! talk >"$LOGS/talk" 2>&1 && cat "$LOGS/talk" && grep -q "not all are SMC-R" "$LOGS/talk"
}

# SMC takes whichever device it likes: rxe's only if srnic's are gone.
talk_on() { # DRIVER
	local status
	if [ "$1" = srnic ]; then
		talk
		return
	fi
	rdma link delete srnic0 && rdma link delete srnic1 && talk
	status=$?
	ib_devices_up
	return $status
}

# SMC gives the first link two seconds, and then takes TCP: a busy machine may need more.
too_late_for_smc() { [[ $1 =~ reason\ 0x20[12]0000 ]]; } # OUTPUT

talks() {
	despite_races too_late_for_smc talks_once
}

talks_once() {
	grown srnic0 "tx_octets >= $CONNECTIONS * 3066538 and rx_octets >= $CONNECTIONS * 3066538" compared talk_on
}

needs python3
built_or_skip "$PRELOAD"
modprobe -q -a smc smc_diag || skip "this kernel has no SMC (CONFIG_SMC, CONFIG_SMC_DIAG)"
modprobe -a ib_uverbs srnic
hosts_up && ib_devices_up || { echo "Bail out! no devices"; exit 1; }
check "both hosts have a name in common" smc ueid $UEID
check "it knows both devices" smc until-ready srnic0 srnic1
check "$CONNECTIONS connections at a time, all bytes checked" talks
check "netcat copies $MIB MiB" grows srnic0 tx_octets $((MIB << 20)) copied
check "iperf" grows srnic0 tx_octets $((MIB << 20)) iperf_runs
check "iperf, both ways" grows srnic1 tx_octets $((MIB << 20)) iperf_runs -d
check "a device is deleted below a connection" loses_device
check "without its device SMC takes TCP" falls_back
finish
