#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# A busy QP does not starve another: round trips of one connection go on while four others of the same devices have
# requests of 1 MiB outstanding all the time, of either end.
#
# COUNT: of round trips. MOST: microseconds for half of one, on average.
cd "$(dirname "$0")" && . ./lib.sh

RATE=$PWD/bench/build/rate
COUNT=${COUNT:-200}
MOST=${MOST:-20000}
ENDS="cm sr0:$IP0 sr1:$IP1"

# In the background, for more than a test takes.
flood() { # OPERATION COUNTER
	# shellcheck disable=SC2086
	timeout 600 "$RATE" $ENDS "$1" count=10000000 size=1048576 depth=4 pairs=4 >"$LOGS/flood" 2>&1 &
	FLOOD=$!
	rises srnic0 "$2" "$(($(counter srnic0 "$2") + (16 << 20)))"
}

end_flood() {
	kill -0 $FLOOD && kill $FLOOD
	wait $FLOOD
	[ $? = 143 ] || { echo "the other connections:"; cat "$LOGS/flood"; return 1; }
}

half_round_trip() {
	local took
	# shellcheck disable=SC2086
	took=$(timeout 300 "$RATE" $ENDS ping-pong count="$COUNT" size=64) || return
	echo $((took / 1000))
}

keeps_its_turn() { # OPERATION COUNTER
	local before octets took
	flood "$1" "$2" || return
	before=$(counter srnic0 "$2")
	took=$(half_round_trip) || return
	octets=$(($(counter srnic0 "$2") - before))
	NOTE="half a round trip took $took us, alone $ALONE; the others moved $((octets >> 20)) MiB meanwhile"
	end_flood && [ "$took" -le "$MOST" ] && [ $octets -ge $((1 << 20)) ]
}

objects() { resources; }

built_or_skip "$RATE"
hosts_up && devices_up || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
ALONE=$(half_round_trip) || { echo "Bail out! no round trip"; exit 1; }
measured "round trips while the same end writes" keeps_its_turn write tx_octets
measured "round trips while the same end reads, so that the other answers" keeps_its_turn read rx_octets
measured "round trips while the other end's Sends are received" keeps_its_turn send tx_octets
check "nothing is left" settled "$OBJECTS"
finish
