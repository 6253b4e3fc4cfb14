# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# How fast fio writes and reads what a kernel consumer offers: the last part of each consumer's bench. Sourced after
# shared/disk.sh. A line for each run, as bench.sh prints them.
#
# PEERS: which, of srnic (without CRCs), srnic-crc, siw, tcp. ROUNDS, ONLY, SCALE: as of bench.sh.
# shellcheck shell=bash

ROUNDS=${ROUNDS:-5}
PEERS=${PEERS:-srnic srnic-crc siw tcp}
ONLY=${ONLY:-}
SCALE=${SCALE:-1}

# NAME FIO'S-RW BLOCK-SIZE COUNT
patterns() {
	cat <<-'END'
		fio-write-1M write 1048576 400
		fio-read-1M read 1048576 400
		fio-write-4K randwrite 4096 8000
		fio-read-4K randread 4096 8000
	END
}

# Of one block, 16 at a time; past the caches of the end that asks.
nanoseconds() { # FILE FIO'S-RW BLOCK-SIZE COUNT
	timeout "$LIMIT" fio --name=bench --filename="$1" --direct=1 --ioengine=libaio --iodepth=16 --rw="$2" --bs="$3" \
		--size="${MIB}M" --io_size=$(($3 * $4 / SCALE)) --output-format=json --output="$LOGS/fio" >&2 &&
		python3 -c '
import json, sys
job = json.load(open(sys.argv[1]))["jobs"][0]
side = job["write" if "write" in sys.argv[2] else "read"]
print(round(side["runtime"] * 1e6 / side["total_ios"]))' "$LOGS/fio" "$2"
}

each_pattern() { # CONSUMER PEER FILE
	local name rw block count
	while read -r name rw block count; do
		echo "$1 $name $2 $(nanoseconds "$3" "$rw" "$block" "$count" </dev/null || echo failed)"
	done < <(patterns | grep -F -- "${ONLY// /}")
}

# For each round and peer, consumer_up and consumer_down of the bench; $DISK is a file or device then. A bench says which
# peers it has by HAS.
each_peer() { # CONSUMER
	local run peer
	patterns | grep -qF -- "${ONLY// /}" || return 0
	for ((run = 0; run < ROUNDS; run++)); do
		for peer in $PEERS; do
			[[ " $HAS " = *" $peer "* ]] || continue
			crc_for "$peer"
			consumer_up "$peer" >"$LOGS/up" 2>&1 || { cat "$LOGS/up"; echo "Bail out! $1, $peer"; exit 1; }
			each_pattern "$1" "$peer" "$DISK"
			consumer_down "$peer" >"$LOGS/down" 2>&1 || { cat "$LOGS/down"; echo "Bail out! $1, $peer"; exit 1; }
		done
	done
}

crc_for() { # PEER
	local file crc=0
	[ "$1" != srnic-crc ] || crc=1
	for file in /sys/class/infiniband/srnic*/mpa_crc; do echo $crc >"$file"; done
}
