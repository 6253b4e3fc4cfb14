#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Many connections that begin at the same moment, as those of parallel programs do: all of them connect, whatever the
# scheduling class of the program, how far the server is, and from how many processes and addresses they come (burst/).
#
# CONNECTIONS: how many from one process. RANKS: processes of one connection each.
cd "$(dirname "$0")" && . ./lib.sh

PROGRAM=$PWD/burst/build/burst
CONNECTIONS=${CONNECTIONS:-1000}
RANKS=${RANKS:-256}
PORT=7176
FROM=()

burst() { # SERVER CLASS PROCESSES CONNECTIONS [FROM]...
	in_ns sr1 "exec '$PROGRAM' connect $1 $PORT ${*:2}"
}

served() { # SERVER COMMAND...
	beside sr0 "'$PROGRAM' serve $1 $PORT" $PORT "${@:2}"
}

one_process() { served "$IP0" burst "$IP0" "$1" 1 "$CONNECTIONS"; } # CLASS
ranks() { served "$IP0" burst "$IP0" other "$RANKS" 1; }

far_away() { # COMMAND...: 100 ms there and back
	local n status
	for n in 0 1; do
		tc -n sr$n qdisc add dev veth$n root netem delay 50ms limit 100000 || return
	done
	"$@"
	status=$?
	for n in 0 1; do
		tc -n sr$n qdisc del dev veth$n root
	done
	return $status
}

# Of the network that the server has, too.
many_addresses() {
	local i
	for ((i = 1; i <= 200; i++)); do
		FROM+=("fd99::1:$i")
	done
	printf 'addr add %s/64 dev veth1 nodad\n' "${FROM[@]}" | ip -n sr1 -batch -
}

one_network() { served "$IP60" burst "$IP60" other 4 $((CONNECTIONS / 4)) "${FROM[@]}"; }

# The default limits: neither these tests nor an administrator has to raise them.
nobody_gave_way() {
	NOTE="$(counter srnic0 startup_failures) startups failed at the server"
	[ "$(counter srnic0 startup_failures)" = 0 ] && [ "$(counter srnic0 startup_gave_way)" = 0 ]
}

built_or_skip "$PROGRAM"
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
for class in other batch idle fifo rr; do
	check "$CONNECTIONS connections of a program of the scheduling class $class" one_process $class
done
check "one connection of each of $RANKS processes" ranks
check "$CONNECTIONS connections over 100 ms" far_away one_process other
check "$CONNECTIONS connections over 100 ms, of a real-time program" far_away one_process fifo
check "$RANKS processes over 100 ms" far_away ranks
# The RDMA core looks for one neighbour at a time, for a second each, when MADs come from hosts that are new to it: over any
# device that connects by them, rxe too, so the clients would give up.
if [ "${DEVICE_TYPE:-srnic}" = srnic ]; then
	check "200 addresses of one network for the next test" many_addresses
	check "$CONNECTIONS connections from 200 addresses of one /64" one_network
	check "the same over 100 ms" far_away one_network
fi
measured "none of them had to give way" nobody_gave_way
finish
