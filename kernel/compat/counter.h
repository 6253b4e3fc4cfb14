/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counters of QPs: since 6.15 the RDMA core also passes the port. We have one.
 */
#ifndef SRNIC_COMPAT_COUNTER_H
#define SRNIC_COMPAT_COUNTER_H

#include <linux/version.h>

#include "device/counter.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
#define srnic_compat_counter_bind_qp	srnic_counter_bind_qp
#define srnic_compat_counter_unbind_qp	srnic_counter_unbind_qp
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
#endif

#endif
