# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# How fast fio writes and reads what a kernel consumer offers: the last part of each consumer's bench. Sourced after
# shared/disk.sh. A line for each run, as bench.sh prints them.
#
# PEERS: which, of srnic (without CRCs), srnic-crc, srnic-shortcut, srnic-ib (type srnic_ib), srnic-ib-shortcut, siw, tcp;
# a bench says by HAS which of them it can have. ROUNDS, ONLY, SCALE, COUNTS: as of bench.sh. If instructions are counted, so
# are those of the program that makes the marks, two million, and each run has 200 blocks or more.
# shellcheck shell=bash

. bench/wanted.sh
. bench/counts.sh
ROUNDS=${ROUNDS:-5}
PEERS=${PEERS:-$HAS}
SCALE=${SCALE:-1}
MARKS=()
[ -z "$COUNTS" ] || SCALE=2 MARKS=(--exec_prerun="$PWD/bench/build/mark begin" --exec_postrun="$PWD/bench/build/mark end")

# NAME FIO'S-RW BLOCK-SIZE COUNT, of those that are wanted.
patterns() {
	local name rest
	while read -r name rest; do
		! wanted "$name" || echo "$name $rest"
	done <<-'END'
		fio-write-1M write 1048576 400
		fio-read-1M read 1048576 400
		fio-write-4K randwrite 4096 8000
		fio-read-4K randread 4096 8000
	END
}

# Before anything is set up.
some_or_exit() { [ -n "$(patterns)" ] || { rm -rf "$LOGS"; exit 0; }; }

wants() { [[ " $PEERS " = *" $1 "* ]]; } # PEER

# With what it said, if it failed.
up_or_exit() { # COMMAND...
	"$@" >"$LOGS.up" 2>&1 && rm "$LOGS.up" && return
	cat "$LOGS.up"
	echo "Bail out! $* failed"
	exit 1
}

# Of one block, 16 at a time; past the caches of the end that asks. In $LOGS, where fio makes a file for each mark.
nanoseconds() { # FILE FIO'S-RW BLOCK-SIZE COUNT
	cd "$LOGS" && timeout "$LIMIT" fio "${MARKS[@]}" --name=bench --filename="$1" --direct=1 --ioengine=libaio \
		--iodepth=16 --rw="$2" --bs="$3" --size="${MIB}M" --io_size=$(($3 * $4 / SCALE)) --eta=never \
		--output-format=json --output="$LOGS/fio" >&2 &&
		python3 -c '
import json, sys
job = json.load(open(sys.argv[1]))["jobs"][0]
side = job["write" if "write" in sys.argv[2] else "read"]
print(round(side["runtime"] * 1e6 / side["total_ios"]))' "$LOGS/fio" "$2"
}

each_pattern() { # CONSUMER PEER FILE
	local name rw block count took
	keep_symbols
	while read -r name rw block count; do
		took=$(nanoseconds "$3" "$rw" "$block" "$count" </dev/null) || took=failed
		echo "$1 $name $2 $took"
		[ "$took" = failed ] || counted "$1" "$name" "$2" $((count / SCALE))
	done < <(patterns)
}

# For each round and peer, consumer_up and consumer_down of the bench; $DISK is a file or device then. consumer_up calls
# talk when the device is there.
each_peer() { # CONSUMER
	local run peer
	for ((run = 0; run < ROUNDS; run++)); do
		for peer in $PEERS; do
			[[ " $HAS " = *" $peer "* ]] || continue
			up_or_exit consumer_up "$peer"
			each_pattern "$1" "$peer" "$DISK"
			up_or_exit consumer_down "$peer"
		done
	done
}

# How srnic's devices are to talk.
talk() { # PEER
	local device crc=0 shortcut=0
	case $1 in
	*-crc) crc=1 ;;
	*-shortcut) shortcut=1 ;;
	esac
	for device in /sys/class/infiniband/{srnic,ib}0; do
		[ -e "$device" ] || continue
		echo $crc >"$device/mpa_crc" && echo $shortcut >"$device/local_shortcut" || return
	done
}

# Of type srnic_ib, in the first network namespace.
ib_device_up() { # NETDEV ADDRESS
	ip link add "$1" type dummy && ip addr add "$2/24" dev "$1" && ip link set "$1" up &&
		rdma link add ib0 type srnic_ib netdev "$1"
}
