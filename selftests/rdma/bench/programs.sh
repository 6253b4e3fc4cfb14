#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Programs of others as they are, each end a process: ucmatose, rstream, perftest. Over srnic, srnic-ib, siw, rxe or TCP.
# Both ends are on one device in the first network namespace, so data goes through lo (rxe bypasses it):
#
#   server ── srnic0, ib0, siw0 or rxe0, each on an interface of its own, 10.91.N.1; TCP on srnic0's ── client
#
# A line for each run, as bench.sh prints them; a second one, NAME-switches, says how often the guest switched between
# threads for an operation. Switches of the programs' beginning and end, some hundreds, are among them.
#
# ucmatose polls, also where both ends share a processor. Its count is that of its receives, of which srnic has room for
# 16384. ib_send_bw with events waits for ever if it has taken all completions while it lacks a credit, which comes as a
# Write. Here it never lacks one: an odd number of Sends has a receive for each of them, and one more.
#
# ROUNDS, PEERS, ONLY, SCALE: as of bench.sh.
cd "$(dirname "$0")/.." && . ./lib.sh && . bench/wanted.sh

ROUNDS=${ROUNDS:-5}
HAS="srnic srnic-shortcut srnic-ib srnic-ib-shortcut siw rxe tcp"
PEERS=${PEERS:-$HAS}
SCALE=${SCALE:-1}
PORT=7471
declare -A DEVICES=([srnic]=srnic0 [srnic-shortcut]=srnic0 [srnic-ib]=ib0 [srnic-ib-shortcut]=ib0 [siw]=siw0 [rxe]=rxe0)
declare -A ADDRESSES=([srnic0]=10.91.0.1 [ib0]=10.91.1.1 [siw0]=10.91.2.1 [rxe0]=10.91.3.1)

# NAME COUNT FUNCTION PROGRAM, of those that are wanted. rstream counts half round trips, or messages in a stream.
programs() {
	local name rest
	while read -r name rest; do
		! wanted "$name" || echo "$name $rest"
	done <<-'END'
		ucmatose-64 16000 ucmatose_takes 64
		rstream-64 8000 rstream_takes 64 1
		rstream-64-stream 20000 rstream_takes 64 0
		ib_send_bw-64K 7999 perftest_takes ib_send_bw 65536 -e -r 8192
		ib_read_bw-64K 8000 perftest_takes ib_read_bw 65536 -e
	END
}

wants() { [[ " $PEERS " = *" $1 "* ]]; } # PEER

has() { [ "$1" != tcp ] || [[ $2 = rstream* ]]; } # PEER NAME

# ---- the programs: each prints nanoseconds for an operation; BEFORE is how often the guest had switched by then ----

# Connections of InfiniBand's kind listen on no TCP port. siw's sometimes come to nothing.
both() { # PEER PORT SERVER CLIENT
	local type=srnic again=()
	[[ $1 != srnic-ib* && $1 != rxe ]] || type=srnic_ib
	[ "$1" != siw ] || again=(despite_races did_not_connect)
	DEVICE_TYPE=$type "${again[@]}" with_server sr0 "$3" sr0 "$4" "$2"
}

did_not_connect() { [[ $1 =~ RDMA_CM_EVENT_CONNECT_ERROR ]]; } # OUTPUT

# All messages one way, and then as many back; with the connection, because the first come before the client says so.
ucmatose_takes() { # PEER ADDRESS COUNT SIZE
	both "$1" $PORT "ucmatose -b $2 -p $PORT -C $3 -S $4" "stdbuf -oL ucmatose -s $2 -p $PORT -C $3 -S $4 |
		while read -r line; do echo \$EPOCHREALTIME \$line; done" >"$LOGS/said" &&
		awk -v count="$3" '/connecting/ { began = $1 } /transfers complete/ { ended = $1 }
			END { if (!ended) exit 1; printf "%d\n", (ended - began) * 1e9 / count / 2 }' "$LOGS/said"
}

# Both directions by turns: message by message, or half of them one way, and then half of them back.
rstream_takes() { # PEER ADDRESS COUNT SIZE ONE-AT-A-TIME
	local sockets='' turns=$((${5} ? $3 / 2 : 1))
	[ "$1" != tcp ] || sockets="-T s"
	local options="-p $PORT -S $4 -I $turns -C $(($3 / 2 / turns)) -T b $sockets"
	both "$1" $PORT "rstream -b $2 $options" "rstream -s $2 $options" >"$LOGS/said" &&
		awk '$1 == "custom" { print int($NF * 1000); found = 1 } END { exit !found }' "$LOGS/said"
}

# perftest measures the processor's clock first, and has no figures if it does not trust what it got.
perftest_takes() { # PEER ADDRESS COUNT PROGRAM SIZE [OPTION...]
	local try run="$4 -R -F -d ${DEVICES[$1]} -s $5 -n $3 ${*:6}"
	for ((try = 0; try < 20; try++)); do
		BEFORE=$(switches)
		despite_races came_between_listeners both "$1" 18515 "$run --bind_source_ip $2" "$run $2" >"$LOGS/said" || return
		awk -v size="$5" '$1 == size && $5 > 0 { took = int(1000 / $5) }
			END { if (!took) exit 1; print took }' "$LOGS/said" && return
		grep -q '^Correlation coefficient' "$LOGS/said" || return 1
	done
	return 1
}

# ---- devices ----

device_up() { # TYPE DEVICE
	local link=bench_$2
	ip link add "$link" type dummy && ip addr add "${ADDRESSES[$2]}/24" dev "$link" && ip link set "$link" up &&
		rdma link add "$2" type "$1" netdev "$link"
}

devices_up() {
	ip netns attach sr0 $$ && modprobe -a ib_uverbs rdma_ucm srnic && device_up srnic srnic0 &&
		device_up srnic_ib ib0 && echo 0 >/sys/class/infiniband/srnic0/mpa_crc || return
	! wants siw || { modprobe siw && device_up siw siw0 || return; }
	! wants rxe || { modprobe rdma_rxe && device_up rxe rxe0; }
}

devices_down() {
	local device
	for device in "${!ADDRESSES[@]}"; do
		[ -e "/sys/class/infiniband/$device" ] || continue
		rdma link delete "$device" && ip link del "bench_$device"
	done
	ip netns del sr0
}

shortcut_for() { # PEER
	local device on=0
	[[ $1 != *-shortcut ]] || on=1
	for device in srnic0 ib0; do
		echo $on >/sys/class/infiniband/$device/local_shortcut
	done
}

# ---- all of them ----

one_run() { # PEER NAME COUNT FUNCTION ARGUMENT...
	local address=${ADDRESSES[${DEVICES[$1]:-srnic0}]} count=$(($3 / SCALE)) BEFORE
	BEFORE=$(switches)
	if "$4" "$1" "$address" $count "${@:5}" >"$LOGS/took" </dev/null; then
		echo "programs $2-switches $1 $((($(switches) - BEFORE) * 1000 / count))"
		echo "programs $2 $1 $(cat "$LOGS/took")"
	else
		cat "$LOGS/said" >&2
		echo "programs $2 $1 failed"
	fi
}

switches() {
	local name count
	while read -r name count; do
		[ "$name" != ctxt ] || echo "$count"
	done </proc/stat
}

each_program() { # PEER
	local name rest
	shortcut_for "$1"
	while read -r name rest; do
		# shellcheck disable=SC2086 # words
		! has "$1" "$name" || one_run "$1" "$name" $rest
	done < <(programs)
}

[ -n "$(programs)" ] || { rm -rf "$LOGS"; exit 0; }
needs ucmatose rstream ib_send_bw
devices_up || { echo "Bail out! no devices"; exit 1; }
for ((run = 0; run < ROUNDS; run++)); do
	for peer in $HAS; do
		! wants "$peer" || each_program "$peer"
	done
done
devices_down
rm -rf "$LOGS"
