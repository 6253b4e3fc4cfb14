/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counters of QPs: since 6.15 the RDMA core also passes the port, of which we have one, and lets
 * the driver extend a counter, which we do not.
 */
#ifndef SRNIC_COMPAT_COUNTER_H
#define SRNIC_COMPAT_COUNTER_H

#include <linux/version.h>

#include "device/counter.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
#define srnic_compat_counter_bind_qp	srnic_counter_bind_qp
#define srnic_compat_counter_unbind_qp	srnic_counter_unbind_qp
#define SRNIC_COMPAT_COUNTER
#else
static inline int srnic_compat_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *qp,
					       u32 port)
{
	return srnic_counter_bind_qp(counter, qp);
}

static inline int srnic_compat_counter_unbind_qp(struct ib_qp *qp, u32 port)
{
	return srnic_counter_unbind_qp(qp);
}

struct srnic_compat_counter {
	struct rdma_counter base;
};

static inline void srnic_compat_counter_init(struct rdma_counter *counter)
{
}

#define SRNIC_COMPAT_COUNTER					\
	.counter_init = srnic_compat_counter_init,		\
	INIT_RDMA_OBJ_SIZE(rdma_counter, srnic_compat_counter, base),
#endif

#endif
