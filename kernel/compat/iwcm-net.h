/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The network namespace, the VRF, the QP and the timeout of an iw_cm consumer. An iw_cm id has none
 * of them, but its only user in the kernel is rdma_cm (cma_iw_listen(), cma_connect_iw()), whose
 * own id is in ->context; struct rdma_cm_id is the first member of its private one. True of 6.1 to
 * 7.2.
 */
#ifndef SRNIC_COMPAT_IWCM_NET_H
#define SRNIC_COMPAT_IWCM_NET_H

#include <net/l3mdev.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

static inline struct net *srnic_iwcm_net(const struct iw_cm_id *id)
{
	const struct rdma_cm_id *cma = id->context;

	return cma->route.addr.dev_addr.net;
}

/*
 * The VRF (L3 master device) of the interface that rdma_cm found for the id's address, or, for a
 * wildcard, of the device's; 0: none.
 */
static inline int srnic_iwcm_l3mdev(const struct iw_cm_id *id, const struct net_device *netdev)
{
	const struct rdma_cm_id *cma = id->context;
	int ifindex = cma->route.addr.dev_addr.bound_dev_if ?: netdev->ifindex;

	return l3mdev_master_ifindex_by_index(srnic_iwcm_net(id), ifindex);
}

/* For kernel consumers only: rdma_cm in the kernel does not know a user's QP. */
static inline struct ib_qp *srnic_iwcm_qp(const struct iw_cm_id *id)
{
	const struct rdma_cm_id *cma = id->context;

	return cma->qp;
}

/*
 * RDMA_OPTION_ID_ACK_TIMEOUT, or 0. rdma_cm returns it with the attributes of a QP state. iw_cm has
 * no attributes for ERR, so nothing else is filled in, and the return value does not matter.
 */
static inline u8 srnic_iwcm_ack_timeout(const struct iw_cm_id *id)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	int mask = IB_QP_TIMEOUT;

	rdma_init_qp_attr(id->context, &attr, &mask);
	return attr.timeout;
}

#endif
