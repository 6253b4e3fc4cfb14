// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The names of counters, and their sums over the CPUs.
 */
#include "report/counters.h"

#define CHECK_PREFIX "rdmatcp_"

const struct rdma_stat_desc srnic_counter_descs[SRNIC_COUNTERS] = {
#define COUNTER(id, _name, ...) \
	[SRNIC_##id] = { .name = _name },
#define CHECK(id, _name) \
	[SRNIC_RX_CHECKS + CORE_RDMATCP_##id - 1] = { .name = CHECK_PREFIX _name },
#include "report/counters.def"
};

const char *srnic_check_name(enum core_rdmatcp_fault check)
{
	return srnic_counter_descs[SRNIC_RX_CHECKS + check - 1].name + strlen(CHECK_PREFIX);
}

u64 srnic_stats_sum(const struct srnic_stats __percpu *stats, enum srnic_counter counter)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(stats, cpu)->count[counter]);
	return sum;
}

u64 srnic_counted(const struct srnic_dev *dev, enum srnic_counter counter)
{
	return srnic_stats_sum(dev->stats, counter);
}
