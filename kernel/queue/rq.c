// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receive queue: posting by kernel consumers, and taking, completing and flushing of receives.
 */
#include <linux/slab.h>

#include "queue/rq.h"
#include "queue/srq.h"

int srnic_rq_alloc(struct srnic_rq *rq, u32 min_entries, u32 max_sge)
{
	spin_lock_init(&rq->lock);
	if (rq->srq)
		return 0;
	return srnic_ring_alloc(&rq->ring, max(min_entries, 1U),
				sizeof(struct srnic_recv_wqe) + max_sge * sizeof(struct srnic_sge));
}

void srnic_rq_free(struct srnic_rq *rq)
{
	srnic_ring_free(&rq->ring);
}

int srnic_receive_alloc(struct srnic_receive *receive, const struct srnic_rq *rq)
{
	receive->size = rq->srq ? rq->srq->ring.slot_size : rq->ring.slot_size;
	receive->wqe = kzalloc(receive->size, GFP_KERNEL_ACCOUNT);
	return receive->wqe ? 0 : -ENOMEM;
}

void srnic_receive_free(struct srnic_receive *receive)
{
	kfree(receive->wqe);
	receive->wqe = NULL;
}

/* Slots published and not taken. rq->lock held. */
static u32 pending(struct srnic_rq *rq)
{
	u32 n;

	lockdep_assert_held(&rq->lock);
	/* acquire: the index before the slots that it publishes */
	n = core_ring_pending(smp_load_acquire(&rq->ring.hdr->prod), rq->taken, rq->ring.entries);
	WRITE_ONCE(rq->seen, rq->taken + n);
	return n;
}

void srnic_rq_look(struct srnic_rq *rq)
{
	unsigned long flags;

	if (rq->srq)
		return;
	spin_lock_irqsave(&rq->lock, flags);
	pending(rq);
	spin_unlock_irqrestore(&rq->lock, flags);
}

/* Frees the oldest slot. rq->lock held. */
static void give_back(struct srnic_rq *rq)
{
	lockdep_assert_held(&rq->lock);
	WRITE_ONCE(rq->taken, rq->taken + 1);
	/* release: the slot is copied before the producer may write it again */
	smp_store_release(&rq->ring.hdr->cons, rq->taken);
}

/* Copies the oldest posted slot once, and frees it. */
static bool ring_take(struct srnic_rq *rq, struct srnic_recv_wqe *wqe)
{
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&rq->lock, flags);
	taken = pending(rq);
	if (taken) {
		memcpy(wqe, srnic_ring_slot(&rq->ring, rq->taken), rq->ring.slot_size);
		give_back(rq);
	}
	spin_unlock_irqrestore(&rq->lock, flags);
	return taken;
}

enum core_take srnic_rq_take(struct srnic_rq *rq, struct srnic_receive *receive, u32 *room)
{
	struct srnic_recv_wqe *wqe = receive->wqe;

	if (rq->srq ? !srnic_srq_take(rq->srq, wqe, receive->size) : !ring_take(rq, wqe))
		return CORE_TAKE_EMPTY;
	receive->active = true;
	if (core_recv_wqe_check(wqe, receive->size, room) == CORE_WQE_OK)
		return CORE_TAKE_OK;
	srnic_rq_fail(rq, receive, SRNIC_WC_LOC_QP_OP_ERR, 0);
	return CORE_TAKE_BROKEN;
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
	srnic_cq_push(rq->cq, &cqe, message->solicited);
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

	receive->active = false;
	srnic_cq_push(rq->cq, &cqe, false);
}

bool srnic_rq_flush_taken(struct srnic_rq *rq, struct srnic_receive *receive,
			  enum srnic_flush how)
{
	struct srnic_cqe cqe =
		failed(rq, srnic_receive_wqe(receive)->wr_id, SRNIC_WC_FLUSH_ERR, 0);

	if (receive->active)
		receive->active = !srnic_cq_flush(rq->cq, &cqe, how);
	return !receive->active;
}

/* Receives flushed with interrupts off at a time; then handlers are called. */
#define CHUNK 64

/* Returns how many; fewer than max at the end, or if the CQ is full (*full). rq->lock held. */
static u32 flush_chunk(struct srnic_rq *rq, struct srnic_cq_batch *batch, u32 max,
		       enum srnic_flush how, bool *full)
{
	u32 n = 0;

	lockdep_assert_held(&rq->lock);
	srnic_cq_begin(batch, rq->cq);
	for (; n < max && pending(rq); n++) {
		const struct srnic_recv_wqe *slot = srnic_ring_slot(&rq->ring, rq->taken);
		struct srnic_cqe cqe =
			failed(rq, READ_ONCE(slot->wr_id), SRNIC_WC_FLUSH_ERR, 0);

		*full = how == SRNIC_FLUSH_WAIT && !srnic_cq_room(batch);
		if (*full)
			break;
		give_back(rq);
		if (how != SRNIC_FLUSH_DROP)
			srnic_cq_add(batch, &cqe, false);
	}
	srnic_cq_end(batch);
	return n;
}

/*
 * Bounded by the ring's size, however fast a user posts. The doorbell of a later post flushes that.
 */
bool srnic_rq_flush(struct srnic_rq *rq, enum srnic_flush how)
{
	u32 left = rq->srq ? 0 : rq->ring.entries;
	struct srnic_cq_batch batch;
	unsigned long flags;
	bool full = false;

	while (left && !full) {
		u32 max = min_t(u32, left, CHUNK), n;

		spin_lock_irqsave(&rq->lock, flags);
		n = flush_chunk(rq, &batch, max, how, &full);
		spin_unlock_irqrestore(&rq->lock, flags);
		srnic_cq_tell(&batch);
		cond_resched();
		left = n == max ? left - n : 0;
	}
	return !full;
}

static int post_one(struct srnic_rq *rq, const struct ib_recv_wr *wr)
{
	int ret;

	if (rq->posted - READ_ONCE(rq->taken) >= rq->ring.entries)
		return -ENOMEM;
	ret = srnic_recv_wqe_fill(srnic_ring_slot(&rq->ring, rq->posted), rq->ring.slot_size, wr);
	if (!ret) /* release: the slot before prod; pairs with pending() */
		smp_store_release(&rq->ring.hdr->prod, ++rq->posted);
	return ret;
}

int srnic_rq_post(struct srnic_rq *rq, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&rq->lock, flags);
	for (; wr && !ret; wr = ret ? wr : wr->next)
		ret = post_one(rq, wr);
	spin_unlock_irqrestore(&rq->lock, flags);
	if (ret)
		*bad = wr;
	return ret;
}
