// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receive queue: posting by kernel consumers, taking work requests for incoming Sends, completing
 * and flushing them.
 */
#include "queue/cq.h"
#include "stream/qp.h"
#include "queue/srq.h"

/* Copies the oldest posted slot out of the ring, once, and gives it back. */
static bool ring_take(struct srnic_qp *qp, struct srnic_recv_wqe *wqe)
{
	unsigned long flags;
	bool taken = false;

	spin_lock_irqsave(&qp->rq_lock, flags);
	if (core_ring_pending(smp_load_acquire(&qp->rq.hdr->prod), qp->rq_taken, qp->rq.entries)) {
		memcpy(wqe, srnic_ring_slot(&qp->rq, qp->rq_taken), qp->rq.slot_size);
		WRITE_ONCE(qp->rq_taken, qp->rq_taken + 1);
		smp_store_release(&qp->rq.hdr->cons, qp->rq_taken);
		taken = true;
	}
	spin_unlock_irqrestore(&qp->rq_lock, flags);
	return taken;
}

enum core_take srnic_rq_take(struct srnic_qp *qp, u32 *room)
{
	struct srnic_recv_wqe *wqe = (struct srnic_recv_wqe *)qp->rx.wqe;
	u32 slot_size = qp->srq ? qp->srq->ring.slot_size : qp->rq.slot_size;

	if (qp->srq ? !srnic_srq_take(qp->srq, wqe, sizeof(qp->rx.wqe)) : !ring_take(qp, wqe))
		return CORE_TAKE_EMPTY;
	qp->rx.wqe_active = true;
	qp->rx.cursor = (struct srnic_sge_cursor) { };
	if (core_recv_wqe_check(wqe, slot_size, room) == CORE_WQE_OK)
		return CORE_TAKE_OK;
	srnic_rq_complete(qp, NULL, SRNIC_WC_LOC_QP_OP_ERR);
	return CORE_TAKE_BROKEN;
}

/* message is NULL for completions in error. */
void srnic_rq_complete(struct srnic_qp *qp, const struct core_rx_message *message, u8 status)
{
	const struct srnic_recv_wqe *wqe = (const struct srnic_recv_wqe *)qp->rx.wqe;
	struct srnic_cqe cqe = {
		.wr_id = wqe->wr_id,
		.qp_num = qp->base.qp_num,
		.opcode = SRNIC_OP_RECV,
		.status = status,
	};

	if (message) {
		cqe.byte_len = message->length;
		if (message->invalidate) {
			cqe.flags = SRNIC_CQE_WITH_INV;
			cqe.imm_inv = message->inv_stag;
		}
	}
	qp->rx.wqe_active = false;
	srnic_cq_push(qp->recv_cq, &cqe, message && message->solicited);
}

/*
 * Bounded by the ring's size, however fast a user posts; what comes later is flushed by the
 * doorbell that goes with it.
 */
void srnic_rq_flush(struct srnic_qp *qp)
{
	u8 slot[SRNIC_RECV_SLOT_MAX] __aligned(8);
	const struct srnic_recv_wqe *wqe = (const struct srnic_recv_wqe *)slot;

	if (qp->srq)
		return;
	for (u32 i = 0; i < qp->rq.entries && ring_take(qp, (struct srnic_recv_wqe *)slot); i++)
		srnic_cq_push(qp->recv_cq, &(struct srnic_cqe) {
			.wr_id = wqe->wr_id,
			.qp_num = qp->base.qp_num,
			.opcode = SRNIC_OP_RECV,
			.status = SRNIC_WC_FLUSH_ERR,
		}, false);
}

static int post_one(struct srnic_qp *qp, const struct ib_recv_wr *wr)
{
	int ret;

	if (qp->rq_posted - READ_ONCE(qp->rq_taken) >= qp->cap.max_recv_wr)
		return -ENOMEM;
	ret = srnic_recv_wqe_fill(srnic_ring_slot(&qp->rq, qp->rq_posted), qp->rq.slot_size, wr);
	if (!ret)
		smp_store_release(&qp->rq.hdr->prod, ++qp->rq_posted);
	return ret;
}

int srnic_post_recv(struct ib_qp *base, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct srnic_qp *qp = to_srnic_qp(base);
	unsigned long flags;
	int ret = 0;

	if (qp->srq || qp->user) {
		*bad = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&qp->rq_lock, flags);
	for (; wr && !ret; wr = ret ? wr : wr->next)
		ret = post_one(qp, wr);
	spin_unlock_irqrestore(&qp->rq_lock, flags);
	if (ret)
		*bad = wr;
	smp_mb(); /* either the flush that follows the move to an error state sees the slot, or this sees the state */
	if (READ_ONCE(qp->state) >= SRNIC_QP_TERMINATING)
		srnic_tx_kick(qp);
	return ret;
}
