// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Callbacks of the core's send scheduler (core/scheduler.cc): send requests from the ring, RDMA
 * Reads of both ends, and local operations. Only the engine calls them (tx.mutex held).
 */
#include <linux/random.h>

#include "memory/fast_reg.h"
#include "memory/table.h"
#include "memory/window.h"
#include "stream/state.h"
#include "stream/transmit/kept.h"
#include "stream/transmit/output.h"
#include "stream/transmit/requests.h"
#include "stream/transmit/stall.h"

bool core_host_validated(void *ctx)
{
	struct srnic_qp *qp = ctx;

	return READ_ONCE(qp->tx.validated);
}

/* ---- send requests ---- */

/*
 * The second test stops a hostile producer: a correct one never overwrites a slot that has not
 * completed. It limits the window of srnic_sq_track() to one ring.
 */
bool srnic_request_pending(struct srnic_qp *qp)
{
	struct srnic_sq *sq = &qp->sq;

	lockdep_assert_held(&qp->tx.mutex);
	return srnic_sq_pending(sq) && sq->taken - READ_ONCE(sq->done) < sq->ring.entries;
}

/* Bytes of a slot that belong to its request behind the head; what they say is not checked yet. */
static u32 behind_head(const struct srnic_send_wqe *wqe, u32 room)
{
	u32 len = wqe->num_sge * sizeof(struct srnic_sge);

	if (wqe->flags & SRNIC_WQE_INLINE)
		len = wqe->inline_len;
	return min(len, room);
}

/* The user may write the slot meanwhile, so nothing is read twice. */
static void copy_slot(struct srnic_send_wqe *wqe, const struct srnic_send_wqe *slot, u32 size)
{
	memcpy(wqe, slot, sizeof(*wqe));
	barrier();	/* how long the rest is, the copy says */
	memcpy(wqe + 1, slot + 1, behind_head(wqe, size - sizeof(*wqe)));
}

const struct srnic_send_wqe *srnic_request_next(struct srnic_qp *qp)
{
	struct srnic_ring *ring = &qp->sq.ring;

	if (READ_ONCE(qp->state) != SRNIC_QP_RTS || !srnic_request_pending(qp))
		return NULL;
	copy_slot(qp->tx.wqe, srnic_ring_slot(ring, qp->sq.taken), ring->slot_size);
	return srnic_tx_wqe(&qp->tx);
}

void srnic_request_take(struct srnic_qp *qp)
{
	srnic_sq_track(&qp->sq, qp->sq.taken++, srnic_tx_wqe(&qp->tx));
	qp->tx.cursor = (struct srnic_sge_cursor) { };
}

/* The core validates the copy and uses the copy. */
const struct srnic_send_wqe *core_host_next_send(void *ctx)
{
	return srnic_request_next(ctx);
}

void core_host_take_send(void *ctx)
{
	srnic_request_take(ctx);
}

bool core_host_verify_list(void *ctx, u32 access)
{
	struct srnic_qp *qp = ctx;
	struct srnic_sge_list list = srnic_qp_list(qp, &qp->tx.held, srnic_tx_sges(&qp->tx),
						   srnic_tx_wqe(&qp->tx)->num_sge);

	return srnic_sges_verify(&list, access) == CORE_REGION_OK;
}

void core_host_built(void *ctx)
{
	struct srnic_qp *qp = ctx;

	if (!qp->acks)	/* else it completes when the peer acknowledges it */
		qp->tx.built = qp->sq.taken;
}

void core_host_complete(void *ctx, u8 status)
{
	struct srnic_qp *qp = ctx;

	srnic_held_drop(&qp->tx.held);
	if (status != SRNIC_WC_SUCCESS)	/* some of it may be sent */
		srnic_kept_end(qp);
	srnic_sq_complete(&qp->sq, qp->sq.taken - 1, status, 0);
}

void core_host_terminate(void *ctx, const struct core_terminate *term)
{
	struct srnic_qp *qp = ctx;

	srnic_held_drop(&qp->tx.held);
	srnic_qp_terminate(qp, term);
}

/* ---- local operations ---- */

/* Each counts as an FPDU: a program may post them as fast as the engine does them. */
static void begin_local(struct srnic_qp *qp)
{
	srnic_held_drop(&qp->tx.held);
	qp->tx.spent += SRNIC_FPDU_COST;
}

bool core_host_local_invalidate(void *ctx, u32 stag)
{
	struct srnic_qp *qp = ctx;
	const struct core_revoker revoker = srnic_qp_revoker(qp, stag, false);

	begin_local(qp);
	return srnic_mr_invalidate(qp->dev, &revoker) == CORE_REGION_OK;
}

bool core_host_register(void *ctx, const struct srnic_send_wqe *wqe)
{
	struct srnic_mr *mr = to_srnic_mr((struct ib_mr *)(uintptr_t)wqe->arg[0]);
	struct srnic_qp *qp = ctx;

	begin_local(qp);
	return !srnic_mr_register(qp->dev, mr, qp->pd, qp->base.qp_num, wqe->arg[1] >> 32,
				  (u32)wqe->arg[1]);
}

/* Bits of a flag that does not exist are refused by the core. */
bool core_host_bind(void *ctx, const struct srnic_send_wqe *wqe)
{
	struct srnic_qp *qp = ctx;
	const struct core_bind bind = {
		.to = wqe->remote_addr,
		.length = wqe->arg[0],
		.stag = wqe->rkey,
		.region = wqe->imm_inv,
		.access = min_t(u64, wqe->arg[1], U32_MAX),
		.requester = srnic_qp_requester(qp),
	};

	begin_local(qp);
	return !srnic_window_bind(qp->dev, &bind);
}

/* ---- reads that this end issues ---- */

u32 core_host_random(void *ctx)
{
	return get_random_u32();
}

u32 core_host_reads(void *ctx)
{
	struct srnic_qp *qp = ctx;

	return srnic_reads_count(&qp->outbound);
}

bool core_host_wait_for_reads(void *ctx, u32 most)
{
	struct srnic_qp *qp = ctx;

	if (!srnic_reads_await(&qp->outbound, most))
		return false;
	srnic_tx_stalled(qp, SRNIC_TX_ORD_STALLS);
	return true;
}

static void fill_sink_of_request(struct srnic_qp *qp, struct srnic_outbound_read *read)
{
	const struct srnic_send_wqe *wqe = srnic_tx_wqe(&qp->tx);

	read->sq_index = qp->sq.taken - 1;
	read->num_sge = wqe->num_sge;
	memcpy(read->sge, srnic_tx_sges(&qp->tx), wqe->num_sge * sizeof(read->sge[0]));
}

void core_host_expect_read(void *ctx, const struct core_read_sink *sink, enum core_read_kind kind)
{
	struct srnic_qp *qp = ctx;
	struct srnic_outbound_read *read = srnic_reads_next(&qp->outbound);

	*read = (struct srnic_outbound_read) { .sink = *sink, .rtr = kind == CORE_READ_RTR };
	if (kind != CORE_READ_RTR)
		fill_sink_of_request(qp, read);
	if (kind == CORE_READ_INVALIDATE) {
		read->invalidate = true;
		read->inv_stag = read->sge[0].lkey;
	}
	srnic_reads_push(&qp->outbound);
}

/* ---- reads of the peer ---- */

bool core_host_next_read(void *ctx, struct core_asked *out)
{
	const struct core_asked *asked = srnic_tx_oldest_asked(ctx);

	if (asked)
		*out = *asked;
	return asked;
}

void core_host_answered(void *ctx)
{
	struct srnic_qp *qp = ctx;

	srnic_reads_pop(&qp->inbound);
}
