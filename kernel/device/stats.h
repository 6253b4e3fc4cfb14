/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counters of a device, per CPU, as `rdma statistic show link` prints them.
 */
#ifndef SRNIC_STATS_H
#define SRNIC_STATS_H

#include <linux/percpu.h>

#include "srnic.h"

/**
 * enum srnic_counter - what is counted, since the device was made
 * @SRNIC_TX_OCTETS: octets given to TCP by connections in full operation
 * @SRNIC_TX_FPDUS: the FPDUs among them
 * @SRNIC_RX_OCTETS: octets taken from TCP by connections in full operation
 * @SRNIC_RX_FPDUS: FPDUs among them that were whole and, with CRCs, good
 * @SRNIC_RX_CRC_ERRORS: streams that ended because of an FPDU whose CRC was wrong
 * @SRNIC_RX_ERRORS: streams that this end ended because the peer broke a rule, CRC errors included
 * @SRNIC_TX_TERMINATES: Terminate messages that were begun
 * @SRNIC_RX_TERMINATES: Terminate messages received
 * @SRNIC_CONNECTS: connections that came to full operation
 * @SRNIC_STARTUP_FAILURES: connections that failed before; refusals do not count
 * @SRNIC_RESETS: connections that ended by a reset, a timeout or another TCP error
 * @SRNIC_COUNTERS: how many counters there are
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
	SRNIC_RESETS,
	SRNIC_COUNTERS,
};

struct srnic_stats {
	u64 count[SRNIC_COUNTERS];
};

/* Any context. */
static inline void srnic_count(struct srnic_dev *dev, enum srnic_counter counter, u64 n)
{
	this_cpu_add(dev->stats->count[counter], n);
}

/* What the counter stands at, over all CPUs. Any context. */
u64 srnic_counted(const struct srnic_dev *dev, enum srnic_counter counter);

struct rdma_hw_stats *srnic_alloc_hw_port_stats(struct ib_device *base, u32 port);
int srnic_get_hw_stats(struct ib_device *base, struct rdma_hw_stats *stats, u32 port, int index);

#endif
