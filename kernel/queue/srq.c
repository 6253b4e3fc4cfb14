// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shared receive queues: one ring of receive WQEs for many QPs.
 */
#include <rdma/uverbs_ioctl.h>

#include "queue/srq.h"
#include "report/counters.h"
#include "udata.h"

static u32 slot_size_of(u32 max_sge)
{
	return sizeof(struct srnic_recv_wqe) + max_sge * sizeof(struct srnic_sge);
}

/* WQEs posted and not taken; 0 if a user's index is impossible. */
static u32 pending(const struct srnic_srq *srq)
{
	if (!srq->user)
		return srq->posted - srq->taken;
	/* acquire: the index before the slots that it publishes */
	return core_ring_pending(smp_load_acquire(&srq->ring.hdr->prod), srq->taken,
				 srq->ring.entries);
}

static void raise_limit(struct srnic_srq *srq)
{
	struct ib_event event = {
		.device = srq->base.device,
		.event = IB_EVENT_SRQ_LIMIT_REACHED,
		.element.srq = &srq->base,
	};

	srnic_count(to_srnic_dev(srq->base.device), SRNIC_SRQ_LIMITS, 1);
	if (srq->base.event_handler)
		srq->base.event_handler(&event, srq->base.srq_context);
}

/* True once when the limit is reached: that disarms it. */
static bool below_limit(struct srnic_srq *srq, u32 left)
{
	if (left >= srq->limit)
		return false;
	srq->limit = 0;
	return true;
}

bool srnic_srq_take(struct srnic_srq *srq, struct srnic_recv_wqe *wqe, u32 size)
{
	bool limit = false;
	unsigned long flags;
	u32 left;

	spin_lock_irqsave(&srq->lock, flags);
	left = pending(srq);
	WRITE_ONCE(srq->seen, srq->taken + left);
	if (left) {
		memcpy(wqe, srnic_ring_slot(&srq->ring, srq->taken),
		       min(size, srq->ring.slot_size));
		/* release: our copy of the slot before the user may write it again */
		smp_store_release(&srq->ring.hdr->cons, ++srq->taken);
		limit = below_limit(srq, left - 1);
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	if (limit)
		raise_limit(srq);
	return left;
}

int srnic_recv_wqe_fill(void *slot, u32 slot_size, const struct ib_recv_wr *wr)
{
	struct srnic_recv_wqe *wqe = slot;
	struct srnic_sge *sge = slot + sizeof(*wqe);
	int i;

	if (wr->num_sge < 0 || wr->num_sge > SRNIC_MAX_SGE || slot_size_of(wr->num_sge) > slot_size)
		return -EINVAL;
	*wqe = (struct srnic_recv_wqe){ .wr_id = wr->wr_id, .num_sge = wr->num_sge };
	for (i = 0; i < wr->num_sge; i++)
		sge[i] = (struct srnic_sge){
			.addr = wr->sg_list[i].addr,
			.length = wr->sg_list[i].length,
			.lkey = wr->sg_list[i].lkey,
		};
	return 0;
}

static int post_one(struct srnic_srq *srq, const struct ib_recv_wr *wr)
{
	int err;

	if (srq->posted - srq->taken >= srq->ring.entries)
		return -ENOMEM;
	err = srnic_recv_wqe_fill(srnic_ring_slot(&srq->ring, srq->posted), srq->ring.slot_size,
				  wr);
	if (!err)
		srq->posted++;
	return err;
}

int srnic_post_srq_recv(struct ib_srq *base, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad)
{
	struct srnic_srq *srq = to_srnic_srq(base);
	unsigned long flags;
	int err = 0;

	if (srq->user) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&srq->lock, flags);
	for (; wr && !err; wr = err ? wr : wr->next)
		err = post_one(srq, wr);
	spin_unlock_irqrestore(&srq->lock, flags);
	if (err)
		*bad = wr;
	return err;
}

static int init_srq(struct srnic_srq *srq, struct srnic_dev *dev)
{
	spin_lock_init(&srq->lock);
	srq->pd = to_srnic_pd(srq->base.pd)->id;
	srq->id = ida_alloc_max(&dev->srq_ids, SRNIC_MAX_SRQ - 1, GFP_KERNEL);
	if (srq->id < 0)
		return srq->id;
	if (srnic_ring_alloc(&srq->ring, srq->max_wr, slot_size_of(srq->max_sge))) {
		ida_free(&dev->srq_ids, srq->id);
		return -ENOMEM;
	}
	srq->max_wr = srq->ring.entries;
	return 0;
}

static int export_srq(struct srnic_srq *srq, struct ib_udata *udata)
{
	struct srnic_ucontext *context =
		rdma_udata_to_drv_context(udata, struct srnic_ucontext, base);
	struct srnic_create_srq_resp resp = { .srq_id = srq->id };
	int err;

	err = srnic_ring_export(&srq->ring, &context->base, &resp.ring);
	if (err)
		return err;
	return srnic_udata_respond(udata, &resp, sizeof(resp));
}

static void release_srq(struct srnic_srq *srq)
{
	srnic_ring_free(&srq->ring);
	ida_free(&to_srnic_dev(srq->base.device)->srq_ids, srq->id);
}

static int check_srq(const struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (init->attr.max_wr < 1 || init->attr.max_wr > SRNIC_MAX_SRQ_WR ||
	    init->attr.max_sge > SRNIC_MAX_SGE || init->attr.srq_limit > init->attr.max_wr)
		return -EINVAL;
	if (udata && udata->outlen < offsetofend(struct srnic_create_srq_resp, ring))
		return -EINVAL;
	return srnic_udata_no_request(udata);
}

int srnic_create_srq(struct ib_srq *base, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct srnic_srq *srq = to_srnic_srq(base);
	int err;

	err = check_srq(init, udata);
	if (err)
		return err;
	srq->user = udata;
	srq->max_wr = init->attr.max_wr;
	srq->max_sge = max(init->attr.max_sge, 1U);
	srq->limit = init->attr.srq_limit;
	err = init_srq(srq, to_srnic_dev(base->device));
	if (err)
		return err;
	if (udata)
		err = export_srq(srq, udata);
	if (err) {
		release_srq(srq);
		return err;
	}
	init->attr.max_wr = srq->max_wr;
	init->attr.max_sge = srq->max_sge;
	return 0;
}

/* The limit can be set; the size cannot. */
int srnic_modify_srq(struct ib_srq *base, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		     struct ib_udata *udata)
{
	struct srnic_srq *srq = to_srnic_srq(base);
	unsigned long flags;
	int err = srnic_udata_none(udata);

	if (err)
		return err;
	if (mask & ~IB_SRQ_LIMIT)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > srq->max_wr)
		return -EINVAL;
	spin_lock_irqsave(&srq->lock, flags);
	srq->limit = attr->srq_limit;
	spin_unlock_irqrestore(&srq->lock, flags);
	return 0;
}

int srnic_query_srq(struct ib_srq *base, struct ib_srq_attr *attr)
{
	struct srnic_srq *srq = to_srnic_srq(base);

	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	return 0;
}

int srnic_destroy_srq(struct ib_srq *base, struct ib_udata *udata)
{
	release_srq(to_srnic_srq(base));
	return 0;
}
