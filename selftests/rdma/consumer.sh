#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# What kernel consumers rely on, tested by a module (consumer/): the buffer of a completed request may be reused, also on
# links where TCP must keep data for long; fast registration and invalidation of keys; chains of requests; draining; all
# contexts of polling.
#
# REUSE: rounds of each way on each link. REUSE_OCTETS: bytes of each, whole pages. RACES: tries of
# each race. TYPE: another driver, first part only; siw fails some of it, which shows that the test can fail. (siw listens
# in the caller's namespace, so it has no connections between namespaces.)
cd "$(dirname "$0")" && . ./lib.sh && . shared/kernel_consumer.sh && . faults/carry.sh && . semantics/links.sh

REUSE=${REUSE:-20}
REUSE_OCTETS=${REUSE_OCTETS:-$LARGE}
RACES=${RACES:-20}

gives_back() { # WAY NS ADDRESS PEER-NS PEER-ADDRESS
	consume "$1" "$REUSE" "$REUSE_OCTETS" "${@:2}" || return
	no_crc_errors
}

between() { # CASE [ROUNDS [OCTETS]]
	consume "$1" "${2:-1}" "${3:-65536}" sr0 "$IP0" sr1 "$IP1"
}

rights() {
	check "RFC 5040 8.1.1: a fast-registered region is written and read by its key" between written-and-read
	check "RFC 5040 8.1.1: rights are as registered: no Write where only Reads are allowed" between no-write-to-readable
	check "RFC 5040 8.1.1: the local key to all of memory is none for a peer" between no-write-to-all-memory
	check "RFC 5041 7.1: no Write by a key that LOCAL_INV has taken back" between invalidated-for-writes
	check "RFC 5040 7.2: no Read by a key that LOCAL_INV has taken back" between invalidated-for-reads
	check "RFC 5042 6.2.2: once LOCAL_INV is complete nothing lands" \
		between nothing-lands-behind-local-inv "$RACES" 1048576
	check "RFC 5040 5.3: Send with Invalidate is delivered with the key, and nothing lands behind it" \
		between send-with-inv "$RACES"
	check "RFC 5040 5.3: an empty Send with Solicited Event and Invalidate takes the key as well" \
		between empty-send-with-inv
	check "RFC 5040 8.1.1: once a Read with Invalidate is complete nothing lands in its sink" \
		between read-with-inv "$RACES"
	check "RFC 5040 7.1: a Read with Invalidate of a key that is none fails, and ends the stream" \
		between read-with-false-inv
	check "RFC 5040 8.1.1: a region is given 300 keys in turn, of which the last alone is valid" between renewed-key
}

queues() {
	check "RFC 5040 5.5: of a chain with a bad request what is before it is sent, and nothing else" \
		between bad-in-the-middle
	check "RFC 5040 5.5: of a chain that does not fit what fits is done in order" between more-than-fits
	check "RFC 5040 5.3: a Send is gathered from as many pieces as can be, and scattered" between many-pieces
	check "RFC 5040 5.5: inline octets are the sender's again at once" between inline-octets
	check "RFC 5040 6.2.1: a drained QP has completed all, and flushes what comes" between drained "$RACES" 1048576
}

contexts() {
	local polled
	for polled in directly in-softirq in-workqueue unbound elsewhere; do
		check "RFC 5040 5.5: handlers post 300 Sends in turn, polled ${polled//-/ }" between polled-$polled
	done
}

consumer_or_skip
hosts_up && typed_devices_up && modprobe rdma_cm && insmod "$MODULE" ${FRAMING:+resets=1} || { echo "Bail out! no devices"; exit 1; }
OBJECTS=$(objects)
on_each_link buffers_come_back "a kernel's buffer"
if is_ours; then
	rights
	queues
	contexts
	check "nothing is left behind" settled "$OBJECTS"
fi
check "the consumer is unloaded" rmmod srnic_consumer
finish
