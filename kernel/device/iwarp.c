// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What is different in devices of type srnic: the port and its GID are those of an RNIC, which
 * rdma_cm uses by iw_cm.
 */
#include <rdma/srnic-abi.h>

#include "compat/compat.h"
#include "connection/connect.h"
#include "device/port.h"
#include "device/types.h"
#include "stream/qp.h"
#include "stream/verbs.h"

/* RDMA Read and Write; RFC 5040 4.4, and the limit of a work request */
#define MAX_MSG_SIZE	U32_MAX

/*
 * The RDMA core has filled in the MTU, and a state that depends on an IPv4 address; ours depends on
 * the link alone.
 */
static int query_port(struct ib_device *base, u32 port, struct ib_port_attr *attr)
{
	attr->gid_tbl_len = 1;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = MAX_MSG_SIZE;
	return srnic_port_fill(to_srnic_dev(base), attr);
}

static int get_port_immutable(struct ib_device *base, u32 port, struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->pkey_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

static int query_gid(struct ib_device *base, u32 port, int index, union ib_gid *gid)
{
	srnic_compat_gid(base, to_srnic_dev(base)->netdev, gid);
	return 0;
}

const struct ib_device_ops srnic_iwarp_ops = {
	.device_group = &srnic_attr_group,
	.driver_id = (enum rdma_driver_id)SRNIC_DRIVER_ID,

	.create_qp = srnic_create_qp,
	.destroy_qp = srnic_destroy_qp,
	.get_port_immutable = get_port_immutable,
	.iw_accept = srnic_accept,
	.iw_add_ref = srnic_iw_add_ref,
	.iw_connect = srnic_connect,
	.iw_create_listen = srnic_create_listen,
	.iw_destroy_listen = srnic_destroy_listen,
	.iw_get_qp = srnic_iw_get_qp,
	.iw_reject = srnic_reject,
	.iw_rem_ref = srnic_iw_rem_ref,
	.modify_qp = srnic_modify_qp,
	.query_gid = query_gid,
	.query_port = query_port,
	.query_qp = srnic_query_qp,
};
