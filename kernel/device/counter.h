/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counters of `rdma statistic qp`: for one QP, or for those that the RDMA core puts together.
 */
#ifndef SRNIC_COUNTER_H
#define SRNIC_COUNTER_H

#include <rdma/ib_verbs.h>	/* before rdma_counter.h: 7.x includes it half way */
#include <rdma/rdma_counter.h>

#include "report/counters.h"

struct rdma_hw_stats *srnic_counter_alloc_stats(struct rdma_counter *counter);
int srnic_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *qp);
int srnic_counter_unbind_qp(struct ib_qp *qp);
int srnic_counter_dealloc(struct rdma_counter *counter);
int srnic_counter_update_stats(struct rdma_counter *counter);

/* A counter of the device, with what QPs count, or counted, in counters of their own. May sleep. */
u64 srnic_counted_in_all(struct srnic_dev *dev, enum srnic_counter counter);

#endif
