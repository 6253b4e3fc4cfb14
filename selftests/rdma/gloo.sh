#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Gloo's ibverbs transport on devices of type srnic_ib: all collectives that it has, with every element checked
# (gloo/gloo.cc, built here), among two, three and four ranks in two namespaces. Gloo sends by RDMA Writes with Immediate
# Data. What fails is run on rxe, too; Gloo's TCP transport shows that the program is right.
#
# BUILT: a folder that has the program, gloo, built before: the compiler takes minutes in an emulated guest.
#
#   ranks 0, 2 :sr0 ── srnic0 ──cable── srnic1 ── sr1: ranks 1, 3
cd "$(dirname "$0")" && . ./lib.sh

HEADER=/usr/include/gloo/transport/ibverbs/device.h
PROGRAM=${BUILT:-$LOGS}/gloo
LEAST=$((131072 * 8))	# bytes of one of the largest messages

build() {
	[ -n "${BUILT:-}" ] || g++ -std=c++20 -O1 -o "$PROGRAM" gloo/gloo.cc -lgloo -libverbs
}

# The device of this end, and the index of its GID for IPv4.
device() { # DRIVER END
	local address=IP$2
	if [ "$1" = tcp ]; then
		echo "tcp:${!address} 0"
	else
		echo "$1$2 $(within 50 gid_index "$1$2" "$(gid_of "${!address}")")"
	fi
}

# True if all ranks come to their end.
ranks() { # DRIVER NUMBER
	local rank pid pids=() status=0
	rm -rf "$LOGS/meeting" && mkdir "$LOGS/meeting"
	for ((rank = 0; rank < $2; rank++)); do
		become_in_ns sr$((rank % 2)) \
			"exec $PROGRAM $(device "$1" $((rank % 2))) $rank $2 $LOGS/meeting" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || status=1
	done
	return $status
}

objects() { resources_and_streams; }

[ -e $HEADER ] && command -v g++ >/dev/null || skip "Gloo is not installed (libgloo-dev, g++)"
modprobe -a ib_uverbs srnic
hosts_up && ib_devices_up || { echo "Bail out! no devices"; exit 1; }
BEFORE=$(objects)
check "the program is built" build || { finish; exit; }
check "four ranks over TCP; the device's counters stand still" grown srnic0 "tx_octets + rx_octets == 0" ranks tcp 4
for number in 2 3 4; do
	check "$number ranks" grown srnic0 "tx_octets >= $LEAST and rx_octets >= $LEAST" compared ranks "$number"
done
check "nothing is left of them" settled "$BEFORE"
finish
