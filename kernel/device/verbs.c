// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table of verbs that devices of both types have, and the verbs for device, protection domain
 * and user context.
 */
#include <rdma/uverbs_ioctl.h>

#define UVERBS_MODULE_NAME srnic
#include <rdma/uverbs_named_ioctl.h>

#include "compat/compat.h"
#include "device/counter.h"
#include "device/create.h"
#include "device/mad.h"
#include "device/res.h"
#include "device/stats.h"
#include "device/types.h"
#include "memory/dmabuf.h"
#include "memory/fast_reg.h"
#include "memory/registration.h"
#include "memory/user_mr.h"
#include "memory/window.h"
#include "queue/cq.h"
#include "queue/ring.h"
#include "queue/srq.h"
#include "report/counters.h"
#include "stream/qp.h"
#include "stream/verbs.h"
#include "udata.h"
#include "version.h"

#define VENDOR_ID	0x53524e	/* "SRN": we have no OUI */
#define PART_ID		1
#define HW_VERSION	1
#define ACK_DELAY	15		/* 134 ms: software that waits for a processor */
#define CLOCK_KHZ	1000000		/* timestamps are nanoseconds */
#define PKEY		0xffff		/* the default partition, full member: there is no other */

static void limits(struct ib_device_attr *attr)
{
	attr->max_mr_size = SRNIC_MAX_MR_SIZE;
	attr->page_size_cap = GENMASK(30, 12);	/* srnic_map_mr_sg() */
	attr->max_qp = SRNIC_MAX_QP;
	attr->max_qp_wr = SRNIC_MAX_QP_WR;
	attr->max_send_sge = SRNIC_MAX_SGE;
	attr->max_recv_sge = SRNIC_MAX_SGE;
	attr->max_sge_rd = SRNIC_MAX_SGE;
	attr->max_cq = SRNIC_MAX_CQ;
	attr->max_cqe = SRNIC_MAX_CQE;
	attr->max_mr = SRNIC_MAX_MR;
	attr->max_mw = SRNIC_MAX_MW;
	attr->max_pd = SRNIC_MAX_PD;
	attr->max_qp_rd_atom = SRNIC_MAX_IRD;
	attr->max_qp_init_rd_atom = SRNIC_MAX_ORD;
	attr->max_res_rd_atom = SRNIC_MAX_QP * SRNIC_MAX_IRD;
	attr->max_srq = SRNIC_MAX_SRQ;
	attr->max_srq_wr = SRNIC_MAX_SRQ_WR;
	attr->max_srq_sge = SRNIC_MAX_SGE;
	attr->max_fast_reg_page_list_len = SRNIC_MAX_FAST_REG;
	attr->max_pkeys = 1;
	attr->hca_core_clock = CLOCK_KHZ;
	attr->timestamp_mask = U64_MAX;
}

/* What only type srnic_ib has. */
static void ib_attributes(struct ib_device_attr *attr)
{
	attr->device_cap_flags |= IB_DEVICE_RC_RNR_NAK_GEN | IB_DEVICE_SYS_IMAGE_GUID |
				  SRNIC_COMPAT_CAN_FLUSH;
	attr->local_ca_ack_delay = ACK_DELAY;
	attr->max_ah = SRNIC_MAX_AH;
	attr->max_mcast_grp = SRNIC_MAX_GROUPS;
	attr->max_mcast_qp_attach = SRNIC_MAX_GROUP_QPS;
	attr->max_total_mcast_qp_attach = SRNIC_MAX_GROUPS * SRNIC_MAX_GROUP_QPS;
}

static int query_device(struct ib_device *base, struct ib_device_attr *attr, struct ib_udata *udata)
{
	int err = srnic_udata_none(udata); /* 7.x gives none for the core's own query */

	if (err)
		return err;
	attr->fw_ver =
		(u64)SRNIC_VERSION_MAJOR << 32 | SRNIC_VERSION_MINOR << 16 | SRNIC_VERSION_PATCH;
	attr->sys_image_guid = base->node_guid;
	attr->vendor_id = VENDOR_ID;
	attr->vendor_part_id = PART_ID;
	attr->hw_ver = HW_VERSION;
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS | IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B |
				 IB_DEVICE_SRQ_RESIZE;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG |
				 IBK_SG_GAPS_REG;
	attr->atomic_cap = srnic_atomic_cap(to_srnic_dev(base));
	attr->masked_atomic_cap = attr->atomic_cap;
	limits(attr);
	if (to_srnic_dev(base)->ib)
		ib_attributes(attr);
	return 0;
}

static void get_dev_fw_str(struct ib_device *base, char *str)
{
	strscpy(str, SRNIC_VERSION, IB_FW_VERSION_NAME_MAX);
}

static int query_pkey(struct ib_device *base, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = PKEY;
	return 0;
}

static int alloc_pd(struct ib_pd *base, struct ib_udata *udata)
{
	int id = srnic_udata_none(udata);

	if (id)
		return id;
	id = ida_alloc_range(&to_srnic_dev(base->device)->pd_ids, 1, SRNIC_MAX_PD, GFP_KERNEL);
	if (id < 0)
		return id;
	to_srnic_pd(base)->id = id;
	return 0;
}

static int dealloc_pd(struct ib_pd *base, struct ib_udata *udata)
{
	ida_free(&to_srnic_dev(base->device)->pd_ids, to_srnic_pd(base)->id);
	return 0;
}

/* The highest ABI version that both sides speak; -EPROTO if there is none. */
static int common_abi(const struct srnic_alloc_ucontext_req *req)
{
	u32 lowest = req->min_abi ?: SRNIC_ABI_MIN, highest = req->max_abi ?: lowest;

	if (lowest > highest)
		return -EINVAL;
	if (lowest > SRNIC_ABI_MAX || highest < SRNIC_ABI_MIN)
		return -EPROTO;
	return min_t(u32, highest, SRNIC_ABI_MAX);
}

static u32 features(const struct srnic_dev *dev)
{
	u32 framings = READ_ONCE(dev->framings);

	return SRNIC_FEATURE_IMMEDIATE | SRNIC_FEATURE_WINDOW |
	       SRNIC_FEATURE_RESIZE | SRNIC_FEATURE_TIMESTAMP |
	       (core_framings_have_atomics(framings) ? SRNIC_FEATURE_ATOMIC : 0) |
	       (core_framings_have_immediate_payload(framings) ? SRNIC_FEATURE_SEND_IMM : 0) |
	       (dev->ib ? SRNIC_FEATURE_DATAGRAM : 0) |
	       (dev->ib && SRNIC_COMPAT_FLUSH ? SRNIC_FEATURE_FLUSH : 0);
}

static struct srnic_alloc_ucontext_resp describe(const struct srnic_dev *dev)
{
	return (struct srnic_alloc_ucontext_resp) {
		.abi_version = SRNIC_ABI_MAX,
		.device_id = dev->index,
		.features = features(dev),
		.min_abi = SRNIC_ABI_MIN,
		.max_abi = SRNIC_ABI_MAX,
	};
}

static int alloc_ucontext(struct ib_ucontext *base, struct ib_udata *udata)
{
	struct srnic_alloc_ucontext_resp resp = describe(to_srnic_dev(base->device));
	struct srnic_alloc_ucontext_req req;
	int ret;

	if (udata->outlen < sizeof(resp.abi_version))
		return -EINVAL;
	ret = srnic_udata_request(udata, &req, sizeof(req));
	if (ret)
		return ret;
	if (req.rsvd)
		return -EOPNOTSUPP;
	ret = common_abi(&req);
	if (ret < 0)
		return ret;
	resp.abi_version = ret;
	resp.features &= req.features;
	return srnic_udata_respond(udata, &resp, sizeof(resp));
}

/* For a provider that imports the context. It asks for no feature: it is given all. */
static int query_ucontext(struct ib_ucontext *base, struct uverbs_attr_bundle *attrs)
{
	struct srnic_alloc_ucontext_resp resp = describe(to_srnic_dev(base->device));

	return uverbs_copy_to_struct_or_zero(attrs, SRNIC_ATTR_QUERY_CONTEXT_RESP, &resp,
					     sizeof(resp));
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(query_context, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(SRNIC_ATTR_QUERY_CONTEXT_RESP,
						 UVERBS_ATTR_MIN_SIZE(sizeof(u32)),
						 UA_MANDATORY));

const struct uapi_definition srnic_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &query_context),
	{}
};

static void dealloc_ucontext(struct ib_ucontext *base)
{
}

/*
 * The device goes away under an open user context. The RDMA core does this only if the verb exists.
 * It destroys the context's objects right after; rings still mapped are plain memory and stay.
 */
static void disassociate_ucontext(struct ib_ucontext *base)
{
}

/* ---- verbs with more arguments in newer kernels ---- */

#ifdef SRNIC_HAS_DMA_HANDLE
static struct ib_mr *reg_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
			    struct ib_dmah *dmah, struct ib_udata *udata)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return srnic_reg_user_mr(pd, start, length, iova, access, udata);
}

static struct ib_mr *reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				int access, struct ib_dmah *dmah,
				struct srnic_compat_dmabuf_attrs *attrs)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return srnic_reg_dmabuf(pd, offset, length, iova, fd, access);
}
#else
#define reg_mr	srnic_reg_user_mr

static struct ib_mr *reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
				int access, struct srnic_compat_dmabuf_attrs *attrs)
{
	return srnic_reg_dmabuf(pd, offset, length, iova, fd, access);
}
#endif

#ifdef SRNIC_HAS_COUNTER_PORT
static int bind_counter(struct rdma_counter *counter, struct ib_qp *qp, u32 port)
{
	return srnic_counter_bind_qp(counter, qp);
}

static int unbind_counter(struct ib_qp *qp, u32 port)
{
	return srnic_counter_unbind_qp(qp);
}
#else
#define bind_counter	srnic_counter_bind_qp
#define unbind_counter	srnic_counter_unbind_qp
#endif

#ifdef SRNIC_HAS_COUNTER_INIT
/* The RDMA core wants both, though we extend no counter. */
struct extended_counter {
	struct rdma_counter base;
};

static void init_counter(struct rdma_counter *counter)
{
}
#endif

const struct ib_device_ops srnic_common_ops = {
	.owner = THIS_MODULE,
	.uverbs_abi_ver = SRNIC_ABI_MAX,

	.alloc_hw_port_stats = srnic_alloc_hw_port_stats,
	.alloc_mr = srnic_alloc_mr,
	.alloc_mw = srnic_alloc_mw,
	.alloc_pd = alloc_pd,
	.alloc_ucontext = alloc_ucontext,
	.counter_alloc_stats = srnic_counter_alloc_stats,
	.counter_bind_qp = bind_counter,
	.counter_dealloc = srnic_counter_dealloc,
	.counter_unbind_qp = unbind_counter,
	.counter_update_stats = srnic_counter_update_stats,
	.create_cq = srnic_create_cq,
	.create_srq = srnic_create_srq,
	.dealloc_driver = srnic_dealloc_driver,
	.dealloc_mw = srnic_dealloc_mw,
	.dealloc_pd = dealloc_pd,
	.dealloc_ucontext = dealloc_ucontext,
	.dereg_mr = srnic_dereg_mr,
	.destroy_cq = srnic_destroy_cq,
	.destroy_srq = srnic_destroy_srq,
	.disassociate_ucontext = disassociate_ucontext,
	.fill_res_cq_entry = srnic_fill_res_cq,
	.fill_res_mr_entry = srnic_fill_res_mr,
	.fill_res_qp_entry = srnic_fill_res_qp,
	.get_dev_fw_str = get_dev_fw_str,
	.get_dma_mr = srnic_get_dma_mr,
	.get_hw_stats = srnic_get_hw_stats,
	.map_mr_sg = srnic_map_mr_sg,
	.mmap = srnic_mmap,
	.mmap_free = srnic_mmap_free,
	.modify_cq = srnic_modify_cq,
	.modify_srq = srnic_modify_srq,
	.poll_cq = srnic_poll_cq,
	.post_recv = srnic_post_recv,
	.post_send = srnic_post_send,
	.post_srq_recv = srnic_post_srq_recv,
	.process_mad = srnic_process_mad,
	.query_device = query_device,
	.query_pkey = query_pkey,
	.query_srq = srnic_query_srq,
	.query_ucontext = query_ucontext,
	.reg_user_mr = reg_mr,
	.reg_user_mr_dmabuf = reg_dmabuf,
	.req_notify_cq = srnic_req_notify_cq,
	.rereg_user_mr = srnic_rereg_user_mr,
	.srnic_compat_resize_cq = srnic_resize_cq,

#ifdef SRNIC_HAS_COUNTER_INIT
	.counter_init = init_counter,
	INIT_RDMA_OBJ_SIZE(rdma_counter, extended_counter, base),
#endif
	SRNIC_COMPAT_FILL_RES_SRQ(srnic_fill_res_srq)
	INIT_RDMA_OBJ_SIZE(ib_cq, srnic_cq, base),
	INIT_RDMA_OBJ_SIZE(ib_mw, srnic_mw, base),
	INIT_RDMA_OBJ_SIZE(ib_pd, srnic_pd, base),
	INIT_RDMA_OBJ_SIZE(ib_qp, srnic_qp, base),
	INIT_RDMA_OBJ_SIZE(ib_srq, srnic_srq, base),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, srnic_ucontext, base),
};
