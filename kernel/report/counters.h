/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counters of a device, per CPU. The table of them is counters.def.
 */
#ifndef SRNIC_COUNTERS_H
#define SRNIC_COUNTERS_H

#include <linux/percpu.h>

#include "srnic.h"

/* What each counts: counters.def. */
enum srnic_counter {
#define COUNTER(id, ...) SRNIC_##id,
#include "report/counters.def"
	/* The first of one for each check of RDMA/TCP's segments, in the order of their faults. */
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
