#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Kept payload on srnic_ib (Documentation/ib.rst rule 117) meets trouble. A kernel consumer (consumer/held.c) has Writes in
# flight, which TCP sends from where they are, and the cable carries nothing, so that TCP holds them. Something ends the
# requests, their owner overwrites the sources, and the cable carries again: what TCP sends only now must be what was
# posted. Then Writes flow while devices and links go and allocations fail: no octet may be wrong, no request stay, nothing
# be left behind, and afterwards it must work.
#
# TENTHS: of a second that each flow takes.
export DEVICE_TYPE=srnic_ib
cd "$(dirname "$0")" && . ./lib.sh && . shared/kernel_consumer.sh && . faults/storm.sh

TENTHS=${TENTHS:-30}
BORROWER=$PWD/strangers/build/borrower
WARM=10		# Writes before those that are held: TCP takes more at once then
KEPT="10 * tx_copied < tx_octets"
LATER=98304	# octets: more than the engine has in its batch, which it copies in any case
if before_linux 6.5; then
	KEPT="tx_copied > 0"
fi

step() { consume "$1" $WARM "$LARGE" sr0 "$IP0" sr1 "$IP1"; } # NAME: consumer/held.c

# ---- what is in flight ----

# Not a delay: what is in the queue of an interface is read when it leaves that (rule 117).
cut_cable() { tc -n sr0 qdisc replace dev veth0 root netem loss 100%; }

mend_cable() { tc -n sr0 qdisc del dev veth0 root 2>/dev/null; true; }

post_in_vain() { cut_cable && step post && pause 0.2; }

arrived() { sed -n 's/ octets arrived$//p' "$LOGS/arrival"; }

# What has arrived is what was posted, and as much as is expected.
arrives() { # -gt|-eq OCTETS
	step arrival >"$LOGS/arrival"
	local status=$?
	cat "$LOGS/arrival"
	NOTE="$(arrived) octets came late"
	[ $status = 0 ] && test "$(arrived)" "$1" "$2"
}

# TROUBLE while nothing is carried, and then what arrives.
meets() { # TROUBLE -gt|-eq OCTETS
	local status=1
	step "${HOLD:-hold}" && grown srnic0 "tx_octets > $LATER and $KEPT" post_in_vain && "$1" && mend_cable &&
		arrives "${@:2}" && status=0
	mend_cable
	step release && return $status
}

# ---- ends of requests ----

drained() { step drain; }
disconnected() { step disconnect; }
nobody_acknowledges() { grown srnic0 "tx_overdue == 1" step all-fail; }
link_goes() { ip -n sr0 link set veth0 down && drained && ip -n sr0 link set veth0 up; }

# Its end of the stream answers what comes with a reset.
peer_is_gone() { step peer-leaves && mend_cable && step all-fail; }

# Nobody may still be on the device when it goes.
device_goes() {
	in_time rdma link delete srnic0 & DELETING=$!
	pause 0.2
	kill -0 $DELETING && drained
}

device_comes_back() { wait $DELETING && ns0 rdma link add srnic0 type srnic_ib netdev veth0; }

without_memory() {
	local status
	mark_workers 1
	set_faults task-filter Y && set_faults times -1 && set_faults probability 100 && drained
	status=$?
	set_faults probability 0
	mark_workers 0
	return $status
}

# ---- a peer that speaks TCP (strangers/borrower.cc) ----

victim_step() { consume "$1" 0 "${OCTETS:-$LARGE}" sr1 "$IP1" sr0 "$IP0"; } # NAME

# It waits where it is to be told something.
stranger_comes() { # CONDUCT
	victim_step "${HOLD:-meet}" >"$LOGS/qp" || { cat "$LOGS/qp"; return 1; }
	exec {TALK}<> <(:)
	timeout 60 nsenter --net=/run/netns/sr0 "$BORROWER" "$IP1" "$IP0" "$(sed -n 's/^QP //p' "$LOGS/qp")" "$1" \
		>"$LOGS/stranger" <&$TALK & STRANGER=$!
}

tell_stranger() { echo >&$TALK; }

post_to_stranger() { victim_step post && pause 0.3; }

# What it gets when the requests have ended.
gets() { # -gt|-ge OCTETS
	tell_stranger && wait $STRANGER
	local status=$?
	NOTE=$(tail -n 1 "$LOGS/stranger")
	echo "$NOTE"
	[ $status = 0 ] && test "${NOTE%% *}" "$1" "$2" && [[ $NOTE = *", 0 younger "* ]]
}

meets_stranger() { # CONDUCT HOW-IT-ENDS COMMAND...
	local status=1
	stranger_comes "$1" && grown srnic1 "tx_octets >= 16384 and $KEPT" post_to_stranger && "$2" && "${@:3}" && status=0
	kill $STRANGER 2>/dev/null
	exec {TALK}<&-
	victim_step release && return $status
}

victim_drained() { victim_step drain; }
victim_waits_in_vain() { grown srnic1 "tx_overdue == 1" victim_step all-fail; }
lie() { tell_stranger && victim_step all-fail; }
victim_is_lied_to() { grown srnic1 "rx_errors == 1" lie; }

strangers() {
	HOLD=meet-impatiently measured "ib 28, 117: a peer acknowledges nothing: it has only what was posted" \
		meets_stranger silent victim_waits_in_vain gets -ge "$LARGE"
	measured "ib 117: a peer reads nothing: it gets later what was posted" meets_stranger deaf victim_drained gets -gt 8192
	before_linux 6.5 || OCTETS=16384 measured "ib 18, 117: a peer acknowledges what TCP has not delivered: no Write succeeds" \
		meets_stranger liar victim_is_lied_to gets -gt 2048
	check "ib 117: a peer resets the stream: all Writes end" meets_stranger resets victim_drained true
	measured "ib 117: a peer closes the stream: all Writes end" meets_stranger closes victim_drained gets -gt 0
}

# ---- Writes one after the other ----

in_time() { timeout 30 "$@"; }

flow() { consume flow "$TENTHS" "$LARGE" sr0 "$IP0" sr1 "$IP1"; }

# In spite of what the command does; connections may break.
flows() { # COMMAND...
	local flow status=0
	flow >"$LOGS/flow" & flow=$!
	pause 0.5
	kill -0 $flow && "$@" || status=1
	wait $flow || status=1
	cat "$LOGS/flow"
	NOTE=$(grep Writes "$LOGS/flow")
	return $status
}

device_away() { # NUMBER
	in_time rdma link delete srnic"$1" && pause 0.3 && ns"$1" rdma link add srnic"$1" type srnic_ib netdev veth"$1"
}

# By the sender's device, which was made anew meanwhile.
kept_since_then() {
	local sent copied
	sent=$(counter srnic0 tx_octets) copied=$(counter srnic0 tx_copied)
	echo "$sent octets sent, $copied copied"
	[ "$sent" -gt "$LARGE" ] && { before_linux 6.5 || [ $((10 * copied)) -lt "$sent" ]; }
}

devices_and_links_go() {
	local n
	for n in 0 1; do
		device_away $n && pause 0.3 && ip -n sr$n link set veth$n down && pause 0.3 && ip -n sr$n link set veth$n up &&
			pause 0.3 || return
	done
}

storms() {
	local i
	set_faults task-filter Y && mark_workers 1
	for i in 1 2 3; do
		storm 10 1000000 0.6 2>/dev/null
		INJECTED=$((INJECTED + 2000000 - $(injections_left)))
		pause 0.3
	done
	mark_workers 0
	[ $INJECTED -gt 0 ]
}

works() { TENTHS=10 flow | tee "$LOGS/flow" && grep -q ' 1 connections, and 0 ' "$LOGS/flow"; }

# Not the numbers of the devices.
objects() { resources | sort; }

consumer_or_skip
hosts_up && devices_up && modprobe -a rdma_cm sch_netem && insmod "$MODULE" || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
measured "ib 117: the QP fails: what comes late is as it was posted" meets drained -gt $LATER
measured "ib 117: the connection is closed: what comes late is as it was posted" meets disconnected -gt $LATER
measured "ib 117: the link is down: what comes late is as it was posted" meets link_goes -gt $LATER
HOLD=hold-impatiently measured "ib 117: nobody acknowledges: what comes late is as it was posted" \
	meets nobody_acknowledges -gt $LATER
measured "ib 117: the device goes: what comes late is as it was posted" meets device_goes -gt $LATER
check "and comes back" device_comes_back
HOLD=hold-impatiently measured "ib 117: the peer's QP is no more: nothing comes late" meets peer_is_gone -eq 0
if [ -x "$BORROWER" ]; then
	strangers
else
	skip_one "ib 117: peers that break rules" "$BORROWER is not built: make guest-tests"
fi
check "nothing is left behind" settled "$OBJECTS"
measured "devices and links go while Writes flow" flows devices_and_links_go
check "which were kept" kept_since_then
if can_inject && arm_faults; then
	before_linux 6.5 || measured "ib 117: without memory for copies nothing comes late" meets without_memory -eq 0
	INJECTED=0
	measured "allocations fail in kernel threads while Writes flow" grown srnic0 "$KEPT" flows storms
	echo "# $INJECTED failures"
	[ ! -w $DEBUGFS/kmemleak ] || check "srnic has leaked nothing" no_leaks
else
	skip_one "ib 117: without memory for copies nothing comes late" "this kernel has no fault injection"
fi
check "and then everything works" grown srnic0 "tx_octets > 0 and $KEPT" works
check "nothing is left behind" settled "$OBJECTS"
check "the consumer is unloaded" rmmod srnic_consumer
finish
