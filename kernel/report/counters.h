/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counters of a device, per CPU.
 */
#ifndef SRNIC_COUNTERS_H
#define SRNIC_COUNTERS_H

#include <linux/percpu.h>

#include "srnic.h"

/**
 * enum srnic_counter - counters of a device
 * @SRNIC_TX_OCTETS: bytes given to TCP, or to a peer, by connections in full operation
 * @SRNIC_TX_FPDUS: FPDUs sent, or RDMA/TCP's segments
 * @SRNIC_RX_OCTETS: bytes taken from TCP, or from a peer, by connections in full operation
 * @SRNIC_RX_FPDUS: FPDUs or segments received whole and with a good CRC, if CRCs are on
 * @SRNIC_RX_CRC_ERRORS: streams that ended because an FPDU had a wrong CRC
 * @SRNIC_RX_ERRORS: streams that this end ended because the peer broke a rule, CRC errors included
 * @SRNIC_TX_TERMINATES: Terminate messages begun
 * @SRNIC_RX_TERMINATES: Terminate messages received
 * @SRNIC_CONNECTS: connections that reached full operation
 * @SRNIC_STARTUP_FAILURES: connections that failed before that; rejected ones do not count
 * @SRNIC_STARTUP_TIMEOUTS: of these, those for which TCP, the peer or a consumer took too long
 * @SRNIC_STARTUP_GAVE_WAY: of these, idle ones whose place another connection took
 * @SRNIC_STARTUP_NO_DEVICE: of these, those to an address of no device that listens; counted at the
 *	first that does
 * @SRNIC_BACKLOG_FULL: Requests that were rejected because the program's backlog was full
 * @SRNIC_RESETS: connections that ended by a reset, a timeout or another TCP error
 * @SRNIC_TX_DOORBELLS: system calls that announced a user's posted requests
 * @SRNIC_TX_BATCHES: times that TCP, or a peer, took bytes, at once as many as a batch has
 * @SRNIC_TX_SHORTCUT: bytes given to a peer in this namespace without TCP
 *	(stream/transmit/shortcut.c)
 * @SRNIC_TX_COPIED: bytes of payload that were copied to be sent
 * @SRNIC_TX_PASSES_DOORBELL: passes of transmit engines in a user's doorbell
 * @SRNIC_TX_PASSES_WORKER: in a worker of the workqueue, or in a call that ends a connection
 * @SRNIC_TX_PASSES_THREAD: in the device's thread (stream/kick/standby.c)
 * @SRNIC_TX_PASSES_ASKER: by the task that has sent it a request of its peer (stream/kick/asker.c)
 * @SRNIC_TX_ORD_STALLS: passes that stopped at a request that waits for reads: ORD, or a fence
 * @SRNIC_TX_SOCKET_FULL: passes that stopped because the socket had no room
 * @SRNIC_TX_NO_MEMORY: passes that stopped for want of memory; repeated after a while
 * @SRNIC_RX_BATCHES: times that bytes were taken from TCP, at once as many as there were
 * @SRNIC_RX_NO_RECEIVE: streams that ended because a message found no receive, in the RQ or SRQ
 * @SRNIC_SRQ_LIMITS: limit events of SRQs
 * @SRNIC_RX_CHECKS: the first of one counter for each check of RDMA/TCP's segments: streams that
 *	ended because of it. In the order of enum core_rdmatcp_fault
 * @SRNIC_COUNTERS: number of counters
 */
enum srnic_counter {
	SRNIC_TX_OCTETS,
	SRNIC_TX_FPDUS,
	SRNIC_RX_OCTETS,
	SRNIC_RX_FPDUS,
	SRNIC_RX_CRC_ERRORS,
	SRNIC_RX_ERRORS,
	SRNIC_TX_TERMINATES,
	SRNIC_RX_TERMINATES,
	SRNIC_CONNECTS,
	SRNIC_STARTUP_FAILURES,
	SRNIC_STARTUP_TIMEOUTS,
	SRNIC_STARTUP_GAVE_WAY,
	SRNIC_STARTUP_NO_DEVICE,
	SRNIC_BACKLOG_FULL,
	SRNIC_RESETS,
	SRNIC_TX_DOORBELLS,
	SRNIC_TX_BATCHES,
	SRNIC_TX_SHORTCUT,
	SRNIC_TX_COPIED,
	SRNIC_TX_PASSES_DOORBELL,
	SRNIC_TX_PASSES_WORKER,
	SRNIC_TX_PASSES_THREAD,
	SRNIC_TX_PASSES_ASKER,
	SRNIC_TX_ORD_STALLS,
	SRNIC_TX_SOCKET_FULL,
	SRNIC_TX_NO_MEMORY,
	SRNIC_RX_BATCHES,
	SRNIC_RX_NO_RECEIVE,
	SRNIC_SRQ_LIMITS,
	SRNIC_RX_CHECKS,
	SRNIC_COUNTERS = SRNIC_RX_CHECKS + CORE_RDMATCP_FAULTS - 1,
};

struct srnic_stats {
	u64 count[SRNIC_COUNTERS];
};

/* Any context. */
static inline void srnic_count(struct srnic_dev *dev, enum srnic_counter counter, u64 n)
{
	this_cpu_add(dev->stats->count[counter], n);
}

/* The names that statistics show, as "tx_octets". */
extern const struct rdma_stat_desc srnic_counter_descs[SRNIC_COUNTERS];
/* "crc", "version" and so on, for messages. */
const char *srnic_check_name(enum core_rdmatcp_fault check);

/* A counter's value, summed over all CPUs. Any context. */
u64 srnic_stats_sum(const struct srnic_stats __percpu *stats, enum srnic_counter counter);
/* A device's counter, without what QPs count that are bound to a counter of their own. */
u64 srnic_counted(const struct srnic_dev *dev, enum srnic_counter counter);

#endif
