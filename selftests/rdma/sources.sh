#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Source ports: as many connections as TCP makes of few ports to several servers, at once and one after the other, leave
# TCP its ports, and come from the port that rdma_cm said. Both ends are on srnic2 (sources/).
cd "$(dirname "$0")" && . ./lib.sh

PROGRAM=$PWD/sources/build/sources
FEW=120			# three times as many as ports; to eight servers
MANY=${MANY:-1000}	# five times as many as ports

# Each check has ports of its own: those of the one before are in TIME_WAIT.
NEXT=40000
with_ports() { # NUMBER COMMAND...
	local first=$NEXT
	NEXT=$((NEXT + $1))
	ns0 sysctl -q "net.ipv4.ip_local_port_range=$first $((NEXT - 1))" && "${@:2}"
}

sources() { # rdma|tcp ADDRESS held|short|PORT NUMBER
	LIMIT=${LIMIT:-300} in_ns sr0 "ulimit -n 16384; '$PROGRAM' $*" >"$LOGS/sources"
	local status=$?
	cat "$LOGS/sources"
	return $status
}

# Each from rdma_cm's port, unless the kernel cannot ask connect() for one.
truly() { # COMMAND...
	"$@" && { grep -x "untrue 0" "$LOGS/sources" || before_linux 6.3; }
}

leave_tcp_its_ports() { sources rdma $HOST0 short "$MANY" && sources tcp $HOST0 held $FEW; }

# By REUSEADDR.
from_one_port() { # PORT
	sources rdma $HOST0 "$1" 8 && grep -x "untrue 0" "$LOGS/sources"
}

objects() { resources; }

built_or_skip "$PROGRAM"
hosts_up && modprobe -a ib_uverbs rdma_ucm srnic && host_device_up srnic || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
for KIND in tcp rdma; do
	for ADDRESS in $HOST0 $HOST60; do
		check "$KIND: $FEW connections at once from 40 ports of $ADDRESS" with_ports 40 truly sources $KIND $ADDRESS held $FEW
		check "$KIND: one after the other" with_ports 40 sources $KIND $ADDRESS short $FEW
	done
done
check "$MANY connections that are over leave TCP its 200 ports" with_ports 200 leave_tcp_its_ports
check "servers see the privileged port of 8 connections at once" from_one_port 900
check "and again, when those are in TIME_WAIT" from_one_port 900
check "servers see the port, of those that TCP chooses from, of 8 connections at once" with_ports 40 truly \
	sources rdma $HOST0 $((NEXT + 7)) 8
check "nothing is left behind" settled "$OBJECTS"
finish
