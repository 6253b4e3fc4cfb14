/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The network namespace, the QP and the timeout of an iw_cm consumer. iw_cm ids do not say them,
 * but their only user in the kernel is rdma_cm (cma_iw_listen(), cma_connect_iw()), which keeps its
 * own id behind ->context; struct rdma_cm_id is the first member of its private one. True of 6.1
 * and 6.12.
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

/*
 * RDMA_OPTION_ID_ACK_TIMEOUT, or 0. Before a connection is made or accepted rdma_cm tells it with
 * the attributes of the QP's next state; of a state that iw_cm has no attributes for it tells
 * nothing else, whatever it returns.
 */
static inline u8 srnic_iwcm_ack_timeout(const struct iw_cm_id *id)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	int mask = IB_QP_TIMEOUT;

	rdma_init_qp_attr(id->context, &attr, &mask);
	return attr.timeout;
}

#endif
