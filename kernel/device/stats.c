// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * `rdma statistic show link NAME/1`: the device's counters, summed over the CPUs.
 */
#include "device/stats.h"
#include "report/counters.h"

struct rdma_hw_stats *srnic_alloc_hw_port_stats(struct ib_device *base, u32 port)
{
	return rdma_alloc_hw_stats_struct(srnic_counter_descs, SRNIC_COUNTERS,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int srnic_get_hw_stats(struct ib_device *base, struct rdma_hw_stats *stats, u32 port, int index)
{
	int i;

	for (i = 0; i < SRNIC_COUNTERS; i++)
		stats->value[i] = srnic_counted(to_srnic_dev(base), i);
	return SRNIC_COUNTERS;
}
