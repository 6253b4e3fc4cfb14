/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The counters of a device, as `rdma statistic show link` prints them.
 */
#ifndef SRNIC_STATS_H
#define SRNIC_STATS_H

#include <rdma/ib_verbs.h>

struct rdma_hw_stats *srnic_alloc_hw_port_stats(struct ib_device *base, u32 port);
int srnic_get_hw_stats(struct ib_device *base, struct rdma_hw_stats *stats, u32 port, int index);

#endif
