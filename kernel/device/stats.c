// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * `rdma statistic show link NAME/1`: the device's counters, summed over the CPUs.
 */
#include "device/stats.h"

static const struct rdma_stat_desc descs[SRNIC_COUNTERS] = {
	[SRNIC_TX_OCTETS] = { .name = "tx_octets" },
	[SRNIC_TX_FPDUS] = { .name = "tx_fpdus" },
	[SRNIC_RX_OCTETS] = { .name = "rx_octets" },
	[SRNIC_RX_FPDUS] = { .name = "rx_fpdus" },
	[SRNIC_RX_CRC_ERRORS] = { .name = "rx_crc_errors" },
	[SRNIC_RX_ERRORS] = { .name = "rx_errors" },
	[SRNIC_TX_TERMINATES] = { .name = "tx_terminates" },
	[SRNIC_RX_TERMINATES] = { .name = "rx_terminates" },
	[SRNIC_CONNECTS] = { .name = "connects" },
	[SRNIC_STARTUP_FAILURES] = { .name = "startup_failures" },
	[SRNIC_RESETS] = { .name = "resets" },
};

u64 srnic_counted(const struct srnic_dev *dev, enum srnic_counter counter)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(dev->stats, cpu)->count[counter]);
	return sum;
}

struct rdma_hw_stats *srnic_alloc_hw_port_stats(struct ib_device *base, u32 port)
{
	return rdma_alloc_hw_stats_struct(descs, SRNIC_COUNTERS, RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int srnic_get_hw_stats(struct ib_device *base, struct rdma_hw_stats *stats, u32 port, int index)
{
	int i;

	for (i = 0; i < SRNIC_COUNTERS; i++)
		stats->value[i] = srnic_counted(to_srnic_dev(base), i);
	return SRNIC_COUNTERS;
}
