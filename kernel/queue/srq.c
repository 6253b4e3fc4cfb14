// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shared receive queues: one ring of receive WQEs for many QPs.
 */
#include <rdma/uverbs_ioctl.h>

#include "queue/srq.h"
#include "report/counters.h"
#include "udata.h"

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

enum srnic_taken srnic_srq_take(struct srnic_srq *srq, struct srnic_recv_wqe *wqe, u32 size,
				u32 need)
{
	enum srnic_taken taken;
	unsigned long flags;
	bool limit;
	u32 left;

	spin_lock_irqsave(&srq->recv.lock, flags);
	taken = srnic_recv_ring_take(&srq->recv, wqe, min(size, srq->recv.ring.slot_size), need,
				     &left);
	limit = taken == SRNIC_TAKEN_ONE && below_limit(srq, left);
	spin_unlock_irqrestore(&srq->recv.lock, flags);
	if (limit)
		raise_limit(srq);
	return taken;
}

int srnic_post_srq_recv(struct ib_srq *base, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad)
{
	struct srnic_srq *srq = to_srnic_srq(base);

	if (srq->user) {
		*bad = wr;
		return -EINVAL;
	}
	return srnic_recv_ring_post(&srq->recv, wr, bad);
}

static int init_srq(struct srnic_srq *srq, struct srnic_dev *dev)
{
	srq->pd = to_srnic_pd(srq->base.pd)->id;
	srq->id = ida_alloc_max(&dev->srq_ids, SRNIC_MAX_SRQ - 1, GFP_KERNEL);
	if (srq->id < 0)
		return srq->id;
	srnic_resize_init(&srq->resize);
	spin_lock_init(&srq->recv.lock);
	if (srnic_recv_ring_alloc(&srq->recv, srq->max_wr, srq->max_sge)) {
		ida_free(&dev->srq_ids, srq->id);
		return -ENOMEM;
	}
	srq->max_wr = srq->recv.ring.entries;
	return 0;
}

static int export_srq(struct srnic_srq *srq, struct ib_udata *udata)
{
	struct srnic_ucontext *context =
		rdma_udata_to_drv_context(udata, struct srnic_ucontext, base);
	struct srnic_create_srq_resp resp = { .srq_id = srq->id };
	int err;

	err = srnic_ring_export(&srq->recv.ring, &context->base, &resp.ring);
	if (err)
		return err;
	return srnic_udata_respond(udata, &resp, sizeof(resp));
}

static void release_srq(struct srnic_srq *srq)
{
	srnic_resize_free(&srq->resize);
	srnic_ring_free(&srq->recv.ring);
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

/* A user's index that is impossible counts as an empty queue. */
static struct srnic_span receives_of(struct srnic_resizing *resizing)
{
	struct srnic_recv_ring *recv = container_of(resizing->ring, struct srnic_recv_ring, ring);

	return (struct srnic_span) {
		.from = recv->taken,
		.to = recv->taken + srnic_recv_ring_pending(recv),
	};
}

static int prepare(struct srnic_srq *srq, u32 max_wr, struct ib_ucontext *context)
{
	return srnic_resize_prepare(&srq->resize, &srq->recv.ring, max_wr, context);
}

static int switch_ring(struct srnic_srq *srq, u32 max_wr)
{
	struct srnic_resizing resizing = {
		.resize = &srq->resize,
		.ring = &srq->recv.ring,
		.lock = &srq->recv.lock,
		.span = receives_of,
	};
	int err = srnic_resize_switch(&resizing, max_wr);

	if (!err)
		WRITE_ONCE(srq->max_wr, srq->recv.ring.entries);
	return err;
}

/* A user does this in two steps (struct srnic_resize_req): 1 after the first. */
static int resize_srq(struct srnic_srq *srq, u32 max_wr, struct ib_udata *udata)
{
	int ret;

	if (udata) {
		ret = srnic_resize_step(udata);
		if (ret == SRNIC_RESIZE_PREPARE)
			return prepare(srq, max_wr, srnic_resize_context(udata)) ?: 1;
		return ret == SRNIC_RESIZE_SWITCH ? switch_ring(srq, max_wr) : ret;
	}
	ret = prepare(srq, max_wr, NULL);
	return ret ?: switch_ring(srq, max_wr);
}

static void set_limit(struct srnic_srq *srq, u32 limit)
{
	unsigned long flags;

	spin_lock_irqsave(&srq->recv.lock, flags);
	srq->limit = limit;
	spin_unlock_irqrestore(&srq->recv.lock, flags);
}

/* With the size and limit that the SRQ shall have then. */
static int modify(struct srnic_srq *srq, const struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		  struct ib_udata *udata)
{
	u32 max_wr = mask & IB_SRQ_MAX_WR ? attr->max_wr : srq->max_wr;
	u32 limit = mask & IB_SRQ_LIMIT ? attr->srq_limit : READ_ONCE(srq->limit);
	int ret;

	lockdep_assert_held(&srq->resize.lock);
	if (max_wr < 1 || max_wr > SRNIC_MAX_SRQ_WR || limit > max_wr)
		return -EINVAL;
	ret = mask & IB_SRQ_MAX_WR ? resize_srq(srq, max_wr, udata) : srnic_udata_none(udata);
	if (!ret && mask & IB_SRQ_LIMIT)
		set_limit(srq, limit);
	return min(ret, 0);
}

int srnic_modify_srq(struct ib_srq *base, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		     struct ib_udata *udata)
{
	struct srnic_srq *srq = to_srnic_srq(base);
	int err;

	if (mask & ~(IB_SRQ_LIMIT | IB_SRQ_MAX_WR))
		return -EOPNOTSUPP;
	mutex_lock(&srq->resize.lock);
	err = modify(srq, attr, mask, udata);
	mutex_unlock(&srq->resize.lock);
	return err;
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
