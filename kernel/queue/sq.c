// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Send queue: posting by kernel consumers, and completion in the order of posting (RFC 5040 5.5
 * rule 15).
 */
#include "queue/cq.h"
#include "memory/mr.h"
#include "stream/qp.h"

static struct srnic_sq_track *track_at(struct srnic_qp *qp, u32 index)
{
	return &qp->track[index & (qp->sq.entries - 1)];
}

void srnic_sq_track(struct srnic_qp *qp, u32 index, const struct srnic_send_wqe *wqe)
{
	*track_at(qp, index) = (struct srnic_sq_track) {
		.wr_id = wqe->wr_id,
		.opcode = wqe->opcode,
		.flags = wqe->flags | (qp->sig_all ? SRNIC_WQE_SIGNALED : 0),
	};
}

/*
 * The slot is given back before the completion shows, so that whoever polled it finds room to post.
 * done_lock held.
 */
static void complete_done(struct srnic_qp *qp)
{
	while (track_at(qp, qp->sq_done)->done) {
		struct srnic_sq_track *slot = track_at(qp, qp->sq_done);
		const struct srnic_sq_track track =
			*slot; /* once given back, the engine may fill it anew */

		slot->done = false;
		smp_store_release(&qp->sq_done, qp->sq_done + 1);
		smp_store_release(&qp->sq.hdr->cons, qp->sq_done);
		if ((track.flags & SRNIC_WQE_SIGNALED) || track.status != SRNIC_WC_SUCCESS)
			srnic_cq_push(qp->send_cq, &(struct srnic_cqe) {
				.wr_id = track.wr_id,
				.byte_len = track.byte_len,
				.qp_num = qp->base.qp_num,
				.opcode = track.opcode,
				.status = track.status,
			}, false);
	}
}

void srnic_sq_complete(struct srnic_qp *qp, u32 index, u8 status, u32 byte_len)
{
	struct srnic_sq_track *track = track_at(qp, index);
	unsigned long flags;

	spin_lock_irqsave(&qp->done_lock, flags);
	if ((s32)(index - qp->sq_done) >= 0) {
		track->status = status;
		track->byte_len = byte_len;
		track->done = true;
		complete_done(qp);
	}
	spin_unlock_irqrestore(&qp->done_lock, flags);
}

void srnic_sq_complete_sent(struct srnic_qp *qp, u32 from, u32 to)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->done_lock, flags);
	for (u32 i = from; i != to; i++) {
		struct srnic_sq_track *track = track_at(qp, i);

		if ((s32)(i - qp->sq_done) >= 0 && 
		    !core_operation_of(track->opcode)->by_response)
			track->done = true;
	}
	complete_done(qp);
	spin_unlock_irqrestore(&qp->done_lock, flags);
}

static void flush_taken(struct srnic_qp *qp)
{
	for (u32 i = qp->sq_done; i != qp->sq_taken; i++) {
		struct srnic_sq_track *track = track_at(qp, i);

		if (!track->done)
			track->status = SRNIC_WC_FLUSH_ERR;
		track->done = true;
	}
}

void srnic_sq_flush(struct srnic_qp *qp)
{
	u32 pending = core_ring_pending(smp_load_acquire(&qp->sq.hdr->prod), qp->sq_taken,
					qp->sq.entries);
	unsigned long flags;

	spin_lock_irqsave(&qp->done_lock, flags);
	flush_taken(qp);
	complete_done(qp);
	for (; pending; pending--) {
		const struct srnic_send_wqe *slot = srnic_ring_slot(&qp->sq, qp->sq_taken);

		*track_at(qp, qp->sq_taken) = (struct srnic_sq_track) {
			.wr_id = READ_ONCE(slot->wr_id),
			.opcode = READ_ONCE(slot->opcode),
			.status = SRNIC_WC_FLUSH_ERR,
			.done = true,
		};
		qp->sq_taken++;
		complete_done(qp);
	}
	qp->tx.built = qp->tx.completed = qp->sq_taken;
	spin_unlock_irqrestore(&qp->done_lock, flags);
}

static int opcode_of(const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE:
		return SRNIC_OP_WRITE;
	case IB_WR_SEND:
		return SRNIC_OP_SEND;
	case IB_WR_SEND_WITH_INV:
		return SRNIC_OP_SEND_INV;
	case IB_WR_RDMA_READ:
		return SRNIC_OP_READ;
	case IB_WR_RDMA_READ_WITH_INV:
		return SRNIC_OP_READ_INV;
	case IB_WR_LOCAL_INV:
		return SRNIC_OP_LOCAL_INV;
	case IB_WR_REG_MR:
		return SRNIC_OP_REG_MR;
	default:
		return -EINVAL;
	}
}

static u8 flags_of(const struct ib_send_wr *wr)
{
	return (wr->send_flags & IB_SEND_SIGNALED ? SRNIC_WQE_SIGNALED : 0) |
	       (wr->send_flags & IB_SEND_SOLICITED ? SRNIC_WQE_SOLICITED : 0) |
	       (wr->send_flags & IB_SEND_INLINE ? SRNIC_WQE_INLINE : 0) |
	       (wr->send_flags & IB_SEND_FENCE ? SRNIC_WQE_FENCE : 0);
}

/* Kernel consumers' inline SGEs hold kernel virtual addresses. */
static int fill_inline(struct srnic_send_wqe *wqe, u32 room, const struct ib_send_wr *wr)
{
	u8 *at = (u8 *)(wqe + 1);

	for (int i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length > room)
			return -EINVAL;
		memcpy(at, (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		at += wr->sg_list[i].length;
		room -= wr->sg_list[i].length;
		wqe->inline_len += wr->sg_list[i].length;
	}
	return 0;
}

static int fill_sges(struct srnic_send_wqe *wqe, u32 room, const struct ib_send_wr *wr)
{
	struct srnic_sge *sge = (struct srnic_sge *)(wqe + 1);

	if (wr->num_sge * sizeof(*sge) > room)
		return -EINVAL;
	for (int i = 0; i < wr->num_sge; i++)
		sge[i] = (struct srnic_sge) {
			.addr = wr->sg_list[i].addr,
			.length = wr->sg_list[i].length,
			.lkey = wr->sg_list[i].lkey,
		};
	wqe->num_sge = wr->num_sge;
	return 0;
}

static int fill_wqe(struct srnic_qp *qp, struct srnic_send_wqe *wqe, const struct ib_send_wr *wr)
{
	u32 room = qp->sq.slot_size - sizeof(*wqe);
	int opcode = opcode_of(wr);

	if (opcode < 0)
		return opcode;
	*wqe = (struct srnic_send_wqe) {
		.wr_id = wr->wr_id,
		.opcode = opcode,
		.flags = flags_of(wr),
		.imm_inv = wr->ex.invalidate_rkey,
	};
	if (opcode == SRNIC_OP_REG_MR) {
		wqe->arg[0] = (uintptr_t)reg_wr(wr)->mr;
		wqe->arg[1] = (u64)reg_wr(wr)->key << 32 | (u32)reg_wr(wr)->access;
		return 0;
	}
	if (core_operation_of(opcode)->remote) {
		wqe->remote_addr = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
	}
	return wr->send_flags & IB_SEND_INLINE ? fill_inline(wqe, room, wr)
					       : fill_sges(wqe, room, wr);
}

static int post_one(struct srnic_qp *qp, const struct ib_send_wr *wr)
{
	if (qp->sq_posted - smp_load_acquire(&qp->sq_done) >= qp->cap.max_send_wr)
		return -ENOMEM;
	return fill_wqe(qp, srnic_ring_slot(&qp->sq, qp->sq_posted), wr);
}

/*
 * Kernel consumers may be in any context: the engine always runs from the workqueue for them. For
 * users, wr is NULL and this is the doorbell: the caller's own time pays for the engine.
 */
int srnic_post_send(struct ib_qp *base, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct srnic_qp *qp = to_srnic_qp(base);
	unsigned long flags;
	int ret = 0;

	if (qp->user) {
		if (wr) {
			*bad = wr;
			return -EINVAL;
		}
		srnic_tx_run(qp);
		return 0;
	}
	spin_lock_irqsave(&qp->sq_lock, flags);
	for (; wr; wr = wr->next) {
		ret = post_one(qp, wr);
		if (ret) {
			*bad = wr;
			break;
		}
		smp_store_release(&qp->sq.hdr->prod, ++qp->sq_posted);
	}
	spin_unlock_irqrestore(&qp->sq_lock, flags);
	smp_mb();	/* pairs with the engine's going idle: srnic-abi.h, doorbell protocol */
	if (READ_ONCE(qp->sq.hdr->state))
		srnic_tx_kick(qp);
	return ret;
}
