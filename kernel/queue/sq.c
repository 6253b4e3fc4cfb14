// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Send queue: posting by kernel consumers, and completion in the order of posting (RFC 5040 5.5
 * rule 15).
 */
#include <linux/slab.h>

#include "queue/flush.h"
#include "queue/opcodes.h"
#include "queue/sq.h"

int srnic_sq_alloc(struct srnic_sq *sq, u32 min_entries, u32 list)
{
	int ret;

	spin_lock_init(&sq->lock);
	spin_lock_init(&sq->done_lock);
	ret = srnic_ring_alloc(&sq->ring, max(min_entries, 1U),
			       ALIGN(sizeof(struct srnic_send_wqe) + list, 64));
	if (ret)
		return ret;
	sq->track = kvcalloc(sq->ring.entries, sizeof(*sq->track), GFP_KERNEL_ACCOUNT);
	return sq->track ? 0 : -ENOMEM;
}

void srnic_sq_free(struct srnic_sq *sq)
{
	srnic_ring_free(&sq->ring);
	kvfree(sq->track);
}

/* ---- completion ---- */

static struct srnic_sq_track *track_at(struct srnic_sq *sq, u32 index)
{
	return &sq->track[index & (sq->ring.entries - 1)];
}

void srnic_sq_track(struct srnic_sq *sq, u32 index, const struct srnic_send_wqe *wqe)
{
	*track_at(sq, index) = (struct srnic_sq_track) {
		.wr_id = wqe->wr_id,
		.opcode = wqe->opcode,
		.flags = wqe->flags | (sq->sig_all ? SRNIC_WQE_SIGNALED : 0),
	};
}

/* Only the engine has marked what comes behind a request that is not done. */
void srnic_sq_go_back(struct srnic_sq *sq, u32 index)
{
	if (WARN_ON_ONCE((s32)(index - READ_ONCE(sq->done)) < 0))
		return;
	while (sq->taken != index)
		track_at(sq, --sq->taken)->done = false;
}

/*
 * Completes the oldest request; false if it has to wait for room in the CQ. Frees its slot before
 * the completion is visible, so that a consumer that polled it finds room to post.
 */
static bool complete_oldest(struct srnic_sq *sq, struct srnic_cq_batch *batch,
			    enum srnic_flush how)
{
	struct srnic_sq_track *slot = track_at(sq, sq->done);
	/* A copy: once the slot is freed, the engine may reuse it. */
	const struct srnic_sq_track track = *slot;
	bool good = track.status == SRNIC_WC_SUCCESS;
	bool visible = how != SRNIC_FLUSH_DROP && ((track.flags & SRNIC_WQE_SIGNALED) || !good);

	lockdep_assert_held(&sq->done_lock);
	if (unlikely(visible && how == SRNIC_FLUSH_WAIT && !srnic_cq_batch_room(batch)))
		return false;
	slot->done = false;
	/* release: the slot was read before it is freed: pairs with post_send() ... */
	smp_store_release(&sq->done, sq->done + 1);
	/* ... and with the user's acquire of cons */
	smp_store_release(&sq->ring.hdr->cons, sq->done);
	if (visible)
		srnic_cq_batch_add(batch, &(struct srnic_cqe) {
			.wr_id = track.wr_id,
			.byte_len = good ? track.detail : 0,
			.qp_num = sq->qp_num,
			.opcode = track.opcode,
			.status = track.status,
			.vendor_err = good ? 0 : track.detail,
		}, false);
	return true;
}

/* Completes up to SRNIC_CQ_CHUNK done requests. True if there may be more. */
static bool complete_chunk(struct srnic_sq *sq, struct srnic_cq_batch *batch)
{
	u32 n = 0;

	srnic_cq_batch_begin(batch, sq->cq);
	for (; n < SRNIC_CQ_CHUNK && track_at(sq, sq->done)->done; n++) {
		if (!complete_oldest(sq, batch, SRNIC_FLUSH_WAIT)) {
			srnic_cq_batch_overrun(batch);
			break;
		}
	}
	srnic_cq_batch_end(batch);
	return n == SRNIC_CQ_CHUNK;
}

/* Completes done requests in order, a chunk at a time. */
static void complete_done(struct srnic_sq *sq)
{
	struct srnic_cq_batch batch;
	unsigned long flags;
	bool more;

	do {
		spin_lock_irqsave(&sq->done_lock, flags);
		more = complete_chunk(sq, &batch);
		spin_unlock_irqrestore(&sq->done_lock, flags);
		srnic_cq_batch_notify(&batch);
	} while (more);
}

void srnic_sq_complete(struct srnic_sq *sq, u32 index, u8 status, u32 detail)
{
	struct srnic_sq_track *track = track_at(sq, index);
	struct srnic_cq_batch batch;
	unsigned long flags;
	bool more;

	spin_lock_irqsave(&sq->done_lock, flags);
	if ((s32)(index - sq->done) >= 0) {
		track->status = status;
		track->detail = detail;
		track->done = true;
	}
	more = complete_chunk(sq, &batch);
	spin_unlock_irqrestore(&sq->done_lock, flags);
	srnic_cq_batch_notify(&batch);
	if (more)
		complete_done(sq);
}

/* Marks requests in [from, to) done that complete when sent. done_lock held. */
static void mark_sent(struct srnic_sq *sq, u32 from, u32 to)
{
	lockdep_assert_held(&sq->done_lock);
	for (u32 i = from; i != to; i++) {
		struct srnic_sq_track *track = track_at(sq, i);

		if ((s32)(i - sq->done) >= 0 &&
		    !core_operation_of(track->opcode)->by_response)
			track->done = true;
	}
}

/* The oldest Write in [from, to), with or without Immediate Data, that is not done, or NULL. */
static struct srnic_sq_track *find_undone_write(struct srnic_sq *sq, u32 from, u32 to)
{
	lockdep_assert_held(&sq->done_lock);
	for (u32 i = from; i != to; i++) {
		struct srnic_sq_track *track = track_at(sq, i);

		if ((s32)(i - sq->done) >= 0 && !track->done &&
		    core_operation_of(track->opcode)->wire == CORE_MSG_WRITE)
			return track;
	}
	return NULL;
}

void srnic_sq_blame(struct srnic_sq *sq, u32 index, u8 status)
{
	struct srnic_sq_track *track = track_at(sq, index);
	unsigned long flags;

	spin_lock_irqsave(&sq->done_lock, flags);
	if ((s32)(index - sq->done) >= 0 && !track->done)
		track->status = status;
	spin_unlock_irqrestore(&sq->done_lock, flags);
}

void srnic_sq_blame_write(struct srnic_sq *sq, u8 status, u32 vendor_err)
{
	struct srnic_sq_track *track = NULL;
	unsigned long flags;

	for (u32 n, from = READ_ONCE(sq->done); from != sq->taken && !track; from += n) {
		n = min_t(u32, sq->taken - from, SRNIC_CQ_CHUNK);
		spin_lock_irqsave(&sq->done_lock, flags);
		track = find_undone_write(sq, from, from + n);
		if (track) {
			track->status = status;
			track->detail = vendor_err;
		}
		spin_unlock_irqrestore(&sq->done_lock, flags);
	}
}

void srnic_sq_complete_sent(struct srnic_sq *sq, u32 from, u32 to)
{
	struct srnic_cq_batch batch;
	unsigned long flags;
	bool more;

	while (from != to) {
		u32 n = min_t(u32, to - from, SRNIC_CQ_CHUNK);

		spin_lock_irqsave(&sq->done_lock, flags);
		mark_sent(sq, from, from + n);
		more = complete_chunk(sq, &batch);
		spin_unlock_irqrestore(&sq->done_lock, flags);
		srnic_cq_batch_notify(&batch);
		if (more)
			complete_done(sq);
		from += n;
	}
}

/* Takes the next posted request, only to flush it. */
static void take_flushed(struct srnic_sq *sq)
{
	const struct srnic_send_wqe *slot = srnic_ring_slot(&sq->ring, sq->taken);

	*track_at(sq, sq->taken) = (struct srnic_sq_track) {
		.wr_id = READ_ONCE(slot->wr_id),
		.opcode = READ_ONCE(slot->opcode),
	};
	sq->taken++;
}

void srnic_sq_fail_oldest(struct srnic_sq *sq, u8 status)
{
	u32 oldest = READ_ONCE(sq->done);

	if (oldest == sq->taken) {
		if (!srnic_sq_pending(sq))
			return;
		take_flushed(sq);
	}
	srnic_sq_complete(sq, oldest, status, 0);
}

/* @posted: requests that were posted, but not taken, when flushing began. */
struct sq_flushing {
	struct srnic_flushing base;
	struct srnic_sq *sq;
	u32 posted;
};

/* Those taken come before those posted. */
static enum srnic_flushed flush_oldest(struct srnic_flushing *base, struct srnic_cq_batch *batch)
{
	struct sq_flushing *flushing = container_of(base, struct sq_flushing, base);
	struct srnic_sq *sq = flushing->sq;
	struct srnic_sq_track *oldest = track_at(sq, sq->done);

	if (sq->done == sq->taken) {
		if (!flushing->posted)
			return SRNIC_FLUSHED_ALL;
		take_flushed(sq);
		flushing->posted--;
	}
	if (!oldest->done && oldest->status == SRNIC_WC_SUCCESS)
		oldest->status = SRNIC_WC_FLUSH_ERR;
	oldest->done = true;
	return complete_oldest(sq, batch, base->how) ? SRNIC_FLUSHED_ONE : SRNIC_FLUSHED_FULL;
}

bool srnic_sq_flush(struct srnic_sq *sq, enum srnic_flush how)
{
	struct sq_flushing flushing = {
		.base = {
			.cq = sq->cq,
			.lock = &sq->done_lock,
			.how = how,
			.oldest = flush_oldest,
		},
		.sq = sq,
		.posted = srnic_sq_pending(sq),
	};

	return srnic_flush_queue(&flushing.base);
}

/* ---- posting ---- */

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
	srnic_ring_fill_sges(sge, wr->sg_list, wr->num_sge);
	wqe->num_sge = wr->num_sge;
	return 0;
}

/* RFC 7306 has eight bytes, verbs four of them. */
static void fill_immediate(struct srnic_send_wqe *wqe, const struct ib_send_wr *wr)
{
	memcpy(wqe->arg, &wr->ex.imm_data, sizeof(wr->ex.imm_data));
	wqe->imm_inv = 0;
}

/* RFC 7306 has no message with both payload and Immediate Data. */
static int check_empty(const struct ib_send_wr *wr)
{
	for (int i = 0; i < wr->num_sge; i++)
		if (wr->sg_list[i].length)
			return -EOPNOTSUPP;
	return 0;
}

/* An operation without masks is of the whole word. */
static void fill_atomic(struct srnic_send_wqe *wqe, const struct ib_send_wr *wr)
{
	const struct ib_atomic_wr *atomic = atomic_wr(wr);

	wqe->remote_addr = atomic->remote_addr;
	wqe->rkey = atomic->rkey;
	switch (wqe->opcode) {
	case SRNIC_OP_FETCH_ADD:
		wqe->arg[0] = atomic->compare_add;
		break;
	case SRNIC_OP_MASKED_FETCH_ADD:
		wqe->arg[0] = atomic->compare_add;
		wqe->arg[1] = atomic->compare_add_mask;
		break;
	case SRNIC_OP_CMP_SWAP:
		wqe->arg[0] = atomic->swap;
		wqe->arg[1] = U64_MAX;
		wqe->arg[2] = atomic->compare_add;
		wqe->arg[3] = U64_MAX;
		break;
	case SRNIC_OP_MASKED_CMP_SWAP:
		wqe->arg[0] = atomic->swap;
		wqe->arg[1] = atomic->swap_mask;
		wqe->arg[2] = atomic->compare_add;
		wqe->arg[3] = atomic->compare_add_mask;
		break;
	}
}

/* A request of a QP of type UD. */
static int fill_datagram(struct srnic_send_wqe *wqe, const struct ib_send_wr *wr)
{
	const struct ib_ud_wr *ud = ud_wr(wr);

	if ((wqe->opcode != SRNIC_OP_SEND && wqe->opcode != SRNIC_OP_IMM) || !ud->ah)
		return -EINVAL;
	wqe->remote_addr = (u64)ud->remote_qkey << 32 | ud->remote_qpn;
	wqe->rkey = to_srnic_ah(ud->ah)->number;
	return 0;
}

static const struct core_framing_traits *traits_of(const struct srnic_sq *sq)
{
	return core_framing_traits_of(READ_ONCE(sq->framing));
}

static int fill_wqe(struct srnic_sq *sq, struct srnic_send_wqe *wqe, const struct ib_send_wr *wr)
{
	u32 room = sq->ring.slot_size - sizeof(*wqe);
	int opcode = srnic_opcode_of(wr->opcode);

	if (opcode < 0)
		return opcode;
	*wqe = (struct srnic_send_wqe) {
		.wr_id = wr->wr_id,
		.opcode = opcode,
		.flags = flags_of(wr),
		.imm_inv = wr->ex.invalidate_rkey,
	};
	if (sq->datagrams) {
		int ret = fill_datagram(wqe, wr);

		if (ret)
			return ret;
	}
	if (opcode == SRNIC_OP_REG_MR) {
		wqe->arg[0] = (uintptr_t)reg_wr(wr)->mr;
		wqe->arg[1] = (u64)reg_wr(wr)->key << 32 | (u32)reg_wr(wr)->access;
		return 0;
	}
	if (core_operation_of(opcode)->immediate)
		fill_immediate(wqe, wr);
	if (opcode == SRNIC_OP_IMM && !traits_of(sq)->immediate_payload)
		return check_empty(wr);
	if (core_operation_of(opcode)->handler == CORE_HANDLE_ATOMIC) {
		if (!traits_of(sq)->atomics)
			return -EOPNOTSUPP;
		fill_atomic(wqe, wr);
		return fill_sges(wqe, room, wr);
	}
	if (core_operation_of(opcode)->remote) {
		wqe->remote_addr = rdma_wr(wr)->remote_addr;
		wqe->rkey = rdma_wr(wr)->rkey;
	}
	return wr->send_flags & IB_SEND_INLINE ? fill_inline(wqe, room, wr)
					       : fill_sges(wqe, room, wr);
}

static int post_send(struct srnic_sq *sq, const struct ib_send_wr *wr)
{
	/* acquire: pairs with complete_oldest(), which frees the slot */
	if (sq->posted - smp_load_acquire(&sq->done) >= sq->ring.entries)
		return -ENOMEM;
	return fill_wqe(sq, srnic_ring_slot(&sq->ring, sq->posted), wr);
}

int srnic_sq_post(struct srnic_sq *sq, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&sq->lock, flags);
	for (; wr; wr = wr->next) {
		ret = post_send(sq, wr);
		if (ret) {
			*bad = wr;
			break;
		}
		/* release: the slot before the index that publishes it */
		smp_store_release(&sq->ring.hdr->prod, ++sq->posted);
	}
	spin_unlock_irqrestore(&sq->lock, flags);
	return ret;
}
