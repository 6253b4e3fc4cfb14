/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The network namespace and the QP of an iw_cm consumer. iw_cm ids do not say them, but their only user in the kernel is
 * rdma_cm (cma_iw_listen(), cma_connect_iw()), which keeps its own id behind ->context; struct rdma_cm_id is the first
 * member of its private one. True of 6.1 and 6.12.
 */
#ifndef SRNIC_COMPAT_IWCM_NET_H
#define SRNIC_COMPAT_IWCM_NET_H

#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

static inline struct net *srnic_iwcm_net(const struct iw_cm_id *id)
{
	const struct rdma_cm_id *cma = id->context;

	return cma->route.addr.dev_addr.net;
}

/* Kernel consumers' only: a user's QP is not known to the kernel's part of rdma_cm. */
static inline struct ib_qp *srnic_iwcm_qp(const struct iw_cm_id *id)
{
	const struct rdma_cm_id *cma = id->context;

	return cma->qp;
}

#endif
