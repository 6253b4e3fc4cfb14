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

# perftest, both ends on srnic0.
perf_here() { # PROGRAM SIZE [OPTION...]
	local run="$1 -R -s $2 -n $ITERS -F -d srnic0 ${*:3}"
	with_perftest sr0 "$run" sr0 "$run $IP0"
}

pings() { # ADDRESS
	with_server sr0 "rping -s -a $1 -p 7480 -C 50 -S 1000 -V" sr0 "rping -c -a $1 -p 7480 -C 50 -S 1000 -V" 7480
}

# Runs the command. True if srnic0 sends at least so many bytes meanwhile, all but one of a hundred without TCP (the
# connections begin, and end, with it), or, with "tcp", none.
takes() { # tcp|shortcut AT-LEAST COMMAND...
	local sent short
	sent=$(counter srnic0 tx_octets) short=$(counter srnic0 tx_shortcut)
	"${@:3}" || return
	pause 0.1 # the RDMA core keeps counters for a while
	sent=$(($(counter srnic0 tx_octets) - sent)) short=$(($(counter srnic0 tx_shortcut) - short))
	echo "sent $sent, $short of these without TCP"
	[ $sent -ge "$2" ] && case $1 in
	shortcut) [ $((short * 100)) -ge $((sent * 99)) ] && [ $short -le $sent ] ;;
	tcp) [ $short = 0 ] ;;
	esac
}

# Runs the command. True if lo gets no more than so many bytes meanwhile.
lo_gets() { # AT-MOST COMMAND...
	local before after
	before=$(in_ns sr0 "cat /proc/net/dev" | awk '$1 == "lo:" { print $2 }')
	"${@:2}" || return
	after=$(in_ns sr0 "cat /proc/net/dev" | awk '$1 == "lo:" { print $2 }')
	echo "lo got $((after - before)) bytes"
	[ $((after - before)) -le "$1" ]
}

says_so() { # srnicctl, while bytes go without TCP
	become_in_ns sr0 "exec rping -s -a $IP0 -p 7481 -C 1000000 -S 100" >"$LOGS/rping1" 2>&1 &
	local server=$! client status=0
	wait_listening sr0 7481 $server
	become_in_ns sr0 "exec rping -c -a $IP0 -p 7481 -C 1000000 -S 100" >"$LOGS/rping0" 2>&1 &
	client=$!
	rises srnic0 tx_shortcut "$(counter srnic0 tx_shortcut)" && srnicctl show srnic0 | tee "$LOGS/show" &&
		[ "$(grep -c ', without TCP' "$LOGS/show")" = 2 ] || status=1
	kill $client $server
	wait $client $server 2>/dev/null
	return $status
}

# Either end is killed at a random time, while both send and receive; the other ends by itself.
killed() {
	local n ends
	for ((n = 0; n < KILLS; n++)); do
		nsenter --net=/run/netns/sr0 rping -s -a $IP0 -p 7482 -C 1000000 -S 60000 >"$LOGS/rping1" 2>&1 &
		ends=($!)
		wait_listening sr0 7482 $!
		nsenter --net=/run/netns/sr0 rping -c -a $IP0 -p 7482 -C 1000000 -S 60000 >"$LOGS/rping0" 2>&1 &
		ends+=($!)
		rises srnic0 tx_shortcut "$(counter srnic0 tx_shortcut)" || return
		sleep "0.0$((RANDOM % 100))"
		die_at_once "${ends[n % 2]}"
		ended "${ends[1 - n % 2]}" 30
		[ $? != 99 ] || return
	done
}

needs rping ib_write_bw
hosts_up && devices_up && set_device 0 local_shortcut 1 || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
check "Writes" takes shortcut $((ITERS * 65536)) perf_here ib_write_bw 65536
check "Sends" takes shortcut $((ITERS * 65536)) perf_here ib_send_bw 65536
check "Reads" takes shortcut $((ITERS * 65536)) perf_here ib_read_bw 65536
check "Writes of 1 MiB, which lo does not see" lo_gets 500000 takes shortcut $((ITERS * 1048576)) \
	perf_here ib_write_bw 1048576
check "atomic operations" takes shortcut $((ITERS * 20)) perf_here ib_atomic_bw 8
check "IPv6" takes shortcut 10000 pings "$IP60"
check "srnicctl says so" says_so
check "RDMA/TCP" set_device 0 framing rdmatcp
check "RDMA/TCP's Writes" takes shortcut $((ITERS * 65536)) perf_here ib_write_bw 65536
check "MPA" set_device 0 framing mpa
check "markers" set_device 0 mpa_markers 1
check "Writes with markers" takes shortcut $((ITERS * 65536)) perf_here ib_write_bw 65536
check "no markers" set_device 0 mpa_markers 0
check "an end is killed, $KILLS times" killed
check "nothing is left of that" settled "$OBJECTS"
check "without local_shortcut" set_device 0 local_shortcut 0
check "TCP has all bytes" takes tcp $((ITERS * 65536)) perf_here ib_write_bw 65536
check "nothing is left behind" settled "$OBJECTS"
finish
