#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# local_shortcut: between two QPs of one host, programs' bytes bypass TCP, and so the interface lo, unless they may not; a
# process that is killed leaves nothing behind. What messages mean is tested by all.sh's mode "shortcut".
#
# ITERS, as of perftest.sh. KILLS: how often an end is killed.
export ONE_HOST=1
cd "$(dirname "$0")" && . ./lib.sh && . faults/carry.sh

ITERS=${ITERS:-200}
KILLS=${KILLS:-10}

pings() { # ADDRESS
	with_server sr0 "rping -s -a $1 -p 7480 -C 50 -S 1000 -V" sr0 "rping -c -a $1 -p 7480 -C 50 -S 1000 -V" 7480
}

# Runs the command. True if srnic0 sends at least so many bytes meanwhile, all but one of a hundred without TCP (the
# connections begin, and end, with it), or, with "tcp", none.
takes() { # tcp|shortcut AT-LEAST COMMAND...
	local way="tx_shortcut == 0"
	[ "$1" = tcp ] || way="tx_octets * 99 <= tx_shortcut * 100 <= tx_octets * 100"
	grown srnic0 "tx_octets >= $2 and $way" "${@:3}"
}

lo_octets() { in_ns sr0 "cat /proc/net/dev" | awk '$1 == "lo:" { print $2 }'; }

# Runs the command. True if lo gets no more than so many bytes meanwhile.
lo_gets() { # AT-MOST COMMAND...
	local before gets
	before=$(lo_octets)
	"${@:2}" || return
	gets=$(($(lo_octets) - before))
	echo "lo got $gets bytes"
	[ $gets -le "$1" ]
}

# Two ends ping each other until they are killed, and use the shortcut already. ENDS: their processes.
ends_ping() { # SIZE
	ENDS=()
	nsenter --net=/run/netns/sr0 rping -s -a $IP0 -p 7481 -C 1000000 -S "$1" >"$LOGS/rping1" 2>&1 &
	ENDS+=($!)
	wait_listening sr0 7481 $!
	nsenter --net=/run/netns/sr0 rping -c -a $IP0 -p 7481 -C 1000000 -S "$1" >"$LOGS/rping0" 2>&1 &
	ENDS+=($!)
	rises srnic0 tx_shortcut "$(counter srnic0 tx_shortcut)"
}

says_so() { # srnicctl
	local status=0
	ends_ping 100 && srnicctl show srnic0 | tee "$LOGS/show" &&
		[ "$(grep -c ', without TCP' "$LOGS/show")" = 2 ] || status=1
	kill "${ENDS[@]}"
	wait "${ENDS[@]}" 2>/dev/null
	return $status
}

# Either end is killed at a random time, while both send and receive; the other ends by itself.
killed() {
	local n
	for ((n = 0; n < KILLS; n++)); do
		ends_ping 60000 || return
		sleep "0.0$((RANDOM % 100))"
		die_at_once "${ENDS[n % 2]}"
		ended "${ENDS[1 - n % 2]}" 30
		[ $? != 99 ] || return
	done
}

needs rping ib_write_bw python3
hosts_up && devices_up && set_device 0 local_shortcut 1 || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
check "Writes" takes shortcut $((ITERS * 65536)) perf ib_write_bw 65536
check "Sends" takes shortcut $((ITERS * 65536)) perf ib_send_bw 65536
check "Reads" takes shortcut $((ITERS * 65536)) perf ib_read_bw 65536
check "Writes of 1 MiB, which lo does not see" lo_gets 500000 takes shortcut $((ITERS * 1048576)) \
	perf ib_write_bw 1048576
check "atomic operations" takes shortcut $((ITERS * 20)) perf ib_atomic_bw 8
check "IPv6" takes shortcut 10000 pings "$IP60"
check "srnicctl says so" says_so
check "RDMA/TCP" set_device 0 framing rdmatcp
check "RDMA/TCP's Writes" takes shortcut $((ITERS * 65536)) perf ib_write_bw 65536
check "MPA" set_device 0 framing mpa
check "markers" set_device 0 mpa_markers 1
check "Writes with markers" takes shortcut $((ITERS * 65536)) perf ib_write_bw 65536
check "no markers" set_device 0 mpa_markers 0
check "an end is killed, $KILLS times" killed
check "nothing is left of that" settled "$OBJECTS"
check "without local_shortcut" set_device 0 local_shortcut 0
check "TCP has all bytes" takes tcp $((ITERS * 65536)) perf ib_write_bw 65536
check "nothing is left behind" settled "$OBJECTS"
finish
