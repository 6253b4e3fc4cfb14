// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * `rdma statistic qp`: a QP that is bound to a counter counts there, no longer in the device's own
 * statistics. The RDMA core adds all counters, also those that are gone, to what it shows of the
 * device. The names are the same.
 *
 * counters_lock keeps a counter while it is read. When it goes, what it had counted is added to
 * that of former counters, under the same lock, so that sums never fall.
 */
#include "device/counter.h"
#include "device/stats.h"
#include "report/counters.h"
#include "stream/qp.h"

struct rdma_hw_stats *srnic_counter_alloc_stats(struct rdma_counter *counter)
{
	return srnic_alloc_hw_port_stats(counter->device, counter->port);
}

/*
 * Entries of srnic_dev.counters. By way of a number: gcc may have an address space of its own for
 * what is per CPU, and warns of casts to another.
 */
static void *to_entry(struct srnic_stats __percpu *stats)
{
	return (void *)(__force uintptr_t)stats;
}

static struct srnic_stats __percpu *of_entry(void *entry)
{
	return (__force struct srnic_stats __percpu *)(uintptr_t)entry;
}

/* The RDMA core has no place for what is ours but an id, which it expects to find set. */
static int alloc_counts(struct srnic_dev *dev, u32 *id)
{
	struct srnic_stats __percpu *stats = alloc_percpu(struct srnic_stats);
	int ret;

	if (!stats)
		return -ENOMEM;
	ret = xa_alloc(&dev->counters, id, to_entry(stats), XA_LIMIT(1, INT_MAX), GFP_KERNEL);
	if (ret)
		free_percpu(stats);
	return ret;
}

/* NULL: it is gone, or had no QP yet. */
static struct srnic_stats __percpu *counts_of(const struct rdma_counter *counter)
{
	return of_entry(xa_load(&to_srnic_dev(counter->device)->counters, READ_ONCE(counter->id)));
}

/*
 * The core calls bind and unbind of a counter with its lock held, but may call bind for one QP and
 * two counters at once: -EBUSY for the second.
 */
int srnic_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *base)
{
	int ret;

	if (cmpxchg(&base->counter, NULL, counter))
		return -EBUSY;
	ret = counter->id ? 0 : alloc_counts(to_srnic_dev(counter->device), &counter->id);
	if (ret) {
		base->counter = NULL;
		return ret;
	}
	/* release: the counts are zero before they are found */
	smp_store_release(&to_srnic_qp(base)->stats, counts_of(counter));
	return 0;
}

int srnic_counter_unbind_qp(struct ib_qp *base)
{
	struct srnic_qp *qp = to_srnic_qp(base);

	WRITE_ONCE(qp->stats, qp->dev->stats);
	base->counter = NULL;
	return 0;
}

/*
 * No QP is bound any more, but one may be counting still: see srnic_qp_count(). Older cores list
 * the counter until this returns, so it may be read as well.
 */
int srnic_counter_dealloc(struct rdma_counter *counter)
{
	struct srnic_dev *dev = to_srnic_dev(counter->device);
	struct srnic_stats __percpu *stats;
	int i;

	synchronize_rcu();
	mutex_lock(&dev->counters_lock);
	stats = counts_of(counter);
	for (i = 0; stats && i < SRNIC_COUNTERS; i++)
		dev->former->count[i] += srnic_stats_sum(stats, i);
	xa_erase(&dev->counters, counter->id);
	WRITE_ONCE(counter->id, 0);
	mutex_unlock(&dev->counters_lock);
	free_percpu(stats);
	return 0;
}

int srnic_counter_update_stats(struct rdma_counter *counter)
{
	struct srnic_dev *dev = to_srnic_dev(counter->device);
	struct srnic_stats __percpu *stats;
	int i;

	mutex_lock(&dev->counters_lock);
	stats = counts_of(counter);
	for (i = 0; stats && i < SRNIC_COUNTERS; i++)
		counter->stats->value[i] = srnic_stats_sum(stats, i);
	mutex_unlock(&dev->counters_lock);
	return stats ? 0 : -EINVAL;
}

u64 srnic_counted_in_all(struct srnic_dev *dev, enum srnic_counter counter)
{
	unsigned long id;
	void *entry;
	u64 sum;

	mutex_lock(&dev->counters_lock);
	sum = srnic_counted(dev, counter) + dev->former->count[counter];
	xa_for_each(&dev->counters, id, entry) {
		sum += srnic_stats_sum(of_entry(entry), counter);
		cond_resched();
	}
	mutex_unlock(&dev->counters_lock);
	return sum;
}
