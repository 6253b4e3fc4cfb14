// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receive queue of a QP: taking, completing and flushing of receives.
 */
#include <linux/if_vlan.h>
#include <linux/slab.h>

#include "queue/flush.h"
#include "queue/rq.h"
#include "queue/srq.h"

int srnic_rq_alloc(struct srnic_rq *rq, u32 min_entries, u32 max_sge)
{
	spin_lock_init(&rq->recv.lock);	/* a lockdep class other than an SRQ's */
	return rq->srq ? 0 : srnic_recv_ring_alloc(&rq->recv, min_entries, max_sge);
}

void srnic_rq_free(struct srnic_rq *rq)
{
	srnic_ring_free(&rq->recv.ring);
}

int srnic_receive_alloc(struct srnic_receive *receive, const struct srnic_rq *rq)
{
	receive->size = rq->srq ? rq->srq->recv.ring.slot_size : rq->recv.ring.slot_size;
	receive->wqe = kzalloc(receive->size, GFP_KERNEL_ACCOUNT);
	return receive->wqe ? 0 : -ENOMEM;
}

void srnic_receive_free(struct srnic_receive *receive)
{
	kfree(receive->wqe);
	receive->wqe = NULL;
}

void srnic_rq_update_seen(struct srnic_rq *rq)
{
	unsigned long flags;

	if (rq->srq)
		return;
	spin_lock_irqsave(&rq->recv.lock, flags);
	srnic_recv_ring_pending(&rq->recv);
	spin_unlock_irqrestore(&rq->recv.lock, flags);
}

static enum srnic_taken take_own(struct srnic_rq *rq, struct srnic_recv_wqe *wqe, u32 need)
{
	enum srnic_taken taken;
	unsigned long flags;
	u32 left;

	spin_lock_irqsave(&rq->recv.lock, flags);
	taken = srnic_recv_ring_take(&rq->recv, wqe, rq->recv.ring.slot_size, need, &left);
	spin_unlock_irqrestore(&rq->recv.lock, flags);
	return taken;
}

static enum srnic_taken take_again(struct srnic_receive *receive, u32 need)
{
	if (srnic_recv_is_small(receive->wqe, receive->size, need))
		return SRNIC_TAKEN_TOO_SMALL;
	receive->again = false;
	return SRNIC_TAKEN_ONE;
}

static enum srnic_taken take(struct srnic_rq *rq, struct srnic_receive *receive, u32 need)
{
	if (unlikely(receive->again))
		return take_again(receive, need);
	return rq->srq ? srnic_srq_take(rq->srq, receive->wqe, receive->size, need) :
			 take_own(rq, receive->wqe, need);
}

static enum core_take begin(struct srnic_rq *rq, struct srnic_receive *receive, u32 *room)
{
	receive->active = true;
	if (core_recv_wqe_check(receive->wqe, receive->size, room) == CORE_WQE_OK)
		return CORE_TAKE_OK;
	srnic_rq_fail(rq, receive, SRNIC_WC_LOC_QP_OP_ERR, 0);
	return CORE_TAKE_BROKEN;
}

enum core_take srnic_rq_take(struct srnic_rq *rq, struct srnic_receive *receive, u32 *room)
{
	if (take(rq, receive, 0) != SRNIC_TAKEN_ONE)
		return CORE_TAKE_EMPTY;
	return begin(rq, receive, room);
}

enum core_take srnic_rq_take_for(struct srnic_rq *rq, struct srnic_receive *receive, u32 need,
				 bool *small)
{
	enum srnic_taken taken = take(rq, receive, need);
	u32 room;

	*small = taken == SRNIC_TAKEN_TOO_SMALL;
	return taken == SRNIC_TAKEN_ONE ? begin(rq, receive, &room) : CORE_TAKE_EMPTY;
}

void srnic_rq_push(struct srnic_rq *rq)
{
	struct srnic_rq_together *together = rq->together;
	u32 num = together->num, solicited = together->solicited;

	together->num = 0;
	together->solicited = 0;
	srnic_cq_add_all(rq->cq, together->cqe, num, solicited);
}

static void add_together(struct srnic_rq *rq, const struct srnic_cqe *cqe, bool solicited)
{
	struct srnic_rq_together *together = rq->together;

	together->solicited |= (u32)solicited << together->num;
	together->cqe[together->num++] = *cqe;
	if (together->num == SRNIC_RQ_TOGETHER)
		srnic_rq_push(rq);
}

void srnic_rq_complete(struct srnic_rq *rq, struct srnic_receive *receive,
		       const struct core_rx_message *message)
{
	struct srnic_cqe cqe = {
		.wr_id = srnic_receive_wqe(receive)->wr_id,
		.byte_len = message->length,
		.qp_num = rq->qp_num,
		.opcode = SRNIC_OP_RECV,
	};

	if (message->invalidate) {
		cqe.flags = SRNIC_CQE_WITH_INV;
		cqe.imm_inv = message->inv_stag;
	} else if (message->is_immediate || message->has_immediate) {
		cqe.flags = SRNIC_CQE_WITH_IMM |
			    (message->has_immediate ? SRNIC_CQE_OF_SEND : 0);
		memcpy(&cqe.imm_inv, message->immediate, sizeof(message->immediate));
	}
	receive->active = false;
	if (rq->together)
		add_together(rq, &cqe, message->solicited);
	else
		srnic_cq_add(rq->cq, &cqe, message->solicited);
}

void srnic_rq_complete_datagram(struct srnic_rq *rq, struct srnic_receive *receive,
				const struct core_datagram *datagram,
				const struct srnic_datagram_way *way)
{
	struct srnic_cqe cqe = {
		.wr_id = srnic_receive_wqe(receive)->wr_id,
		.byte_len = CORE_DATAGRAM_GRH + datagram->payload,
		.qp_num = rq->qp_num,
		.opcode = SRNIC_OP_RECV,
		.flags = SRNIC_CQE_GRH | (way->v4 ? SRNIC_CQE_IPV4 : 0),
		.src_qp = datagram->from,
	};

	if (datagram->with_imm) {
		cqe.flags |= SRNIC_CQE_WITH_IMM | SRNIC_CQE_OF_SEND;
		memcpy(cqe.imm, datagram->imm, sizeof(cqe.imm));
	}
	if (way->vlan < VLAN_N_VID) {
		cqe.flags |= SRNIC_CQE_VLAN;
		cqe.vlan = way->vlan;
	}
	receive->active = false;
	srnic_cq_add(rq->cq, &cqe, datagram->solicited);
}

static struct srnic_cqe failed(const struct srnic_rq *rq, u64 wr_id, u8 status, u32 vendor_err)
{
	return (struct srnic_cqe) {
		.wr_id = wr_id,
		.qp_num = rq->qp_num,
		.opcode = SRNIC_OP_RECV,
		.status = status,
		.vendor_err = vendor_err,
	};
}

void srnic_rq_fail(struct srnic_rq *rq, struct srnic_receive *receive, u8 status, u32 vendor_err)
{
	struct srnic_cqe cqe =
		failed(rq, srnic_receive_wqe(receive)->wr_id, status, vendor_err);

	srnic_rq_push_together(rq);
	receive->active = false;
	srnic_cq_add(rq->cq, &cqe, false);
}

bool srnic_rq_flush_taken(struct srnic_rq *rq, struct srnic_receive *receive,
			  enum srnic_flush how)
{
	struct srnic_cqe cqe =
		failed(rq, srnic_receive_wqe(receive)->wr_id, SRNIC_WC_FLUSH_ERR, 0);

	WARN_ON_ONCE(rq->together);	/* the receive half consumes nothing now */
	if (receive->active)
		receive->active = !srnic_cq_flush(rq->cq, &cqe, how);
	receive->again = false;
	return !receive->active;
}

/* @left: receives to flush at most: a ring's length, however fast a user posts. */
struct rq_flushing {
	struct srnic_flushing base;
	struct srnic_rq *rq;
	u32 left;
};

static enum srnic_flushed flush_posted(struct srnic_flushing *base, struct srnic_cq_batch *batch)
{
	struct rq_flushing *flushing = container_of(base, struct rq_flushing, base);
	struct srnic_rq *rq = flushing->rq;
	struct srnic_cqe cqe;

	if (!flushing->left || !srnic_recv_ring_pending(&rq->recv))
		return SRNIC_FLUSHED_ALL;
	if (base->how == SRNIC_FLUSH_WAIT && !srnic_cq_batch_room(batch))
		return SRNIC_FLUSHED_FULL;
	cqe = failed(rq, READ_ONCE(srnic_recv_ring_oldest(&rq->recv)->wr_id), SRNIC_WC_FLUSH_ERR,
		     0);
	srnic_recv_ring_advance(&rq->recv);
	if (base->how != SRNIC_FLUSH_DROP)
		srnic_cq_batch_add(batch, &cqe, false);
	flushing->left--;
	return SRNIC_FLUSHED_ONE;
}

/* The doorbell of a later post flushes that post. */
bool srnic_rq_flush(struct srnic_rq *rq, enum srnic_flush how)
{
	struct rq_flushing flushing = {
		.base = {
			.cq = rq->cq,
			.lock = &rq->recv.lock,
			.how = how,
			.oldest = flush_posted,
		},
		.rq = rq,
		.left = rq->recv.ring.entries,
	};

	return rq->srq || srnic_flush_queue(&flushing.base);
}
