// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What is different in devices of type srnic_ib: the port is one of RoCE v2, whose table of GIDs
 * the RDMA core keeps. It has a QP 1 for the core's agents: rdma_cm connects by ib_cm.
 */
#include <linux/bits.h>
#include <rdma/ib_mad.h>
#include <rdma/srnic-abi.h>

#include "datagram/ah.h"
#include "datagram/send.h"
#include "datagram/verbs.h"
#include "device/port.h"
#include "device/types.h"
#include "pairing/verbs.h"
#include "stream/datagrams.h"

#define GIDS		256
#define MAX_MSG_SIZE	BIT(31)		/* IBA volume 1, 9.7.1 */
#define MAX_VL_NUM	1		/* as PortInfo has it: VL 0 alone */

static int query_port(struct ib_device *base, u32 port, struct ib_port_attr *attr)
{
	struct srnic_dev *dev = to_srnic_dev(base);

	attr->active_mtu = srnic_active_mtu(dev);
	attr->gid_tbl_len = GIDS;
	attr->ip_gids = true;
	attr->max_msg_sz = MAX_MSG_SIZE;
	attr->max_vl_num = MAX_VL_NUM;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	return srnic_port_fill(dev, attr);
}

static int get_port_immutable(struct ib_device *base, u32 port, struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = GIDS;
	immutable->pkey_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static enum rdma_link_layer get_link_layer(struct ib_device *base, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

/* ---- QPs: RC, or of datagrams ---- */

static int create_qp(struct ib_qp *base, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	if (srnic_has_datagrams(base))
		return srnic_ud_create_qp(base, attr, udata);
	return srnic_ib_create_qp(base, attr, udata);
}

static int modify_qp(struct ib_qp *base, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	if (srnic_has_datagrams(base))
		return srnic_ud_modify_qp(base, attr, mask, udata);
	return srnic_ib_modify_qp(base, attr, mask, udata);
}

static int query_qp(struct ib_qp *base, struct ib_qp_attr *attr, int mask,
		    struct ib_qp_init_attr *init)
{
	if (srnic_has_datagrams(base))
		return srnic_ud_query_qp(base, attr, mask, init);
	return srnic_ib_query_qp(base, attr, mask, init);
}

static int destroy_qp(struct ib_qp *base, struct ib_udata *udata)
{
	return srnic_has_datagrams(base) ? srnic_ud_destroy_qp(base, udata) :
					   srnic_ib_destroy_qp(base, udata);
}

const struct ib_device_ops srnic_ib_ops = {
	.device_group = &srnic_ib_attr_group,
	.driver_id = (enum rdma_driver_id)SRNIC_IB_DRIVER_ID,

	.attach_mcast = srnic_ud_attach_mcast,
	.create_ah = srnic_create_ah,
	.create_qp = create_qp,
	.create_user_ah = srnic_create_ah,
	.destroy_ah = srnic_destroy_ah,
	.destroy_qp = destroy_qp,
	.detach_mcast = srnic_ud_detach_mcast,
	.get_link_layer = get_link_layer,
	.get_port_immutable = get_port_immutable,
	.modify_qp = modify_qp,
	.query_ah = srnic_query_ah,
	.query_port = query_port,
	.query_qp = query_qp,

	INIT_RDMA_OBJ_SIZE(ib_ah, srnic_ah, base),
};
