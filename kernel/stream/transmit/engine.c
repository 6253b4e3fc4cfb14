// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The transmit engine of a QP: builds FPDUs of the messages that the core's scheduler chooses
 * (core/scheduler.cc, requests.c) in batches (build.c), and sends these (output.c).
 *
 * One caller at a time is the engine (run.c). A run is bounded; the rest is queued again. Payload
 * is copied once, into the engine's own pages, unless it is kept (kept.h) or goes to another QP of
 * this host (shortcut.h). A request completes when TCP, or on type srnic_ib the peer, has taken all
 * its bytes (RFC 5040 5.5 rule 14, RFC 5041 5.4, ib.rst rule 13).
 */
#include <net/tcp.h>

#include "report/terminate.h"
#include "report/trace.h"
#include "stream/acks.h"
#include "stream/datagrams.h"
#include "stream/kick/kick.h"
#include "stream/kick/standby.h"
#include "stream/overdue.h"
#include "stream/owner.h"
#include "stream/peer_timeout.h"
#include "stream/start.h"
#include "stream/state.h"
#include "stream/transmit/build.h"
#include "stream/transmit/engine.h"
#include "stream/transmit/output.h"
#include "stream/transmit/own_batch.h"
#include "stream/transmit/requests.h"
#include "stream/transmit/transmit.h"

/*
 * A run ends after so many bytes, where an FPDU costs SRNIC_FPDU_COST more: 1 MiB in segments of
 * an Ethernet, or 3,500 FPDUs of a few bytes. Enough to be worth a run, and few enough not to
 * delay a doorbell's caller.
 */
#define RUN_COST	(1408 * 1024)
#define ASKER_COST	(64 * 1024)	/* the bound of a run by an asker, which has its own work */

/*
 * ENGINE_MORE: the batch has no room for the next FPDU; ENGINE_RETRY: there is no memory for it;
 * ENGINE_IDLE: nothing more can be sent now.
 */
static enum engine_result build_all(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;
	u32 len;

	core_tx_set_emss(&tx->core, READ_ONCE(tcp_sk(qp->sock->sk)->mss_cache));
	while (READ_ONCE(qp->state) == SRNIC_QP_RTS) {
		len = core_tx_choose(&tx->core);
		if (!len && qp->acks && srnic_acks_go_back(qp))
			continue;
		if (!len)
			return ENGINE_IDLE;
		if (!srnic_batch_takes(tx->batch, len))
			return ENGINE_MORE;
		if (!srnic_batch_has_room(tx->batch, len)) {
			srnic_held_drop(&tx->held);
			if (srnic_own_batch_reserve(qp, len))
				return ENGINE_RETRY;
		}
		srnic_build_fpdu(qp);
		srnic_held_pause(&tx->held);
	}
	return ENGINE_IDLE;
}

static enum engine_result fill_batch(struct srnic_qp *qp)
{
	enum engine_result result;

	srnic_leave_run_next(&qp->tx);	/* this engine goes on, and may have to wait */
	result = build_all(qp);
	srnic_held_drop(&qp->tx.held);
	return result;
}

static u32 may_spend(const struct srnic_tx *tx)
{
	return tx->runner == SRNIC_RUNNER_ASKER ? ASKER_COST : RUN_COST;
}

/* ---- the work of each state ---- */

/*
 * A request waits for a Read to complete, which kicks the engine: nothing posted behind it can be
 * sent before. The count is for a request that has ceased to wait, because the engine went back.
 */
static bool read_will_kick(const struct srnic_qp *qp)
{
	return srnic_reads_awaiting(&qp->outbound) && srnic_reads_count(&qp->outbound);
}

/*
 * True if the engine may go idle, or stand by. Doorbell protocol (srnic-abi.h): sets the flag
 * before it reads the ring again.
 */
static bool go_idle(struct srnic_qp *qp)
{
	bool standby;

	if (read_will_kick(qp))
		return true;
	standby = srnic_standby_wanted(qp);
	WRITE_ONCE(qp->sq.ring.hdr->state, standby ? SRNIC_SQ_STANDBY : SRNIC_SQ_NEED_DOORBELL);
	smp_mb();	/* flag before prod; pairs with the producer's, prod before flag */
	if (!srnic_reads_awaiting(&qp->outbound) && core_tx_may_take(&qp->tx.core) &&
	    srnic_request_pending(qp)) {
		WRITE_ONCE(qp->sq.ring.hdr->state, 0);
		srnic_standby_retract(&qp->tx.standby);
		return false;
	}
	if (standby)
		srnic_standby_begin(qp);
	return true;
}

/* If TCP lacks memory, no kick will come when it has some. */
static enum engine_result not_sent(const struct srnic_tx *tx)
{
	return tx->starved ? ENGINE_RETRY : ENGINE_IDLE;
}

/* RTS: sends everything that can be sent. */
static enum engine_result send_all(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;
	enum engine_result filled;

	WRITE_ONCE(qp->sq.ring.hdr->state, 0);
	srnic_reads_cancel_await(&qp->outbound);
	if (qp->acks)
		srnic_acks_take_due(qp);
	do {
		if (!srnic_tx_send_batch(qp, false))
			return not_sent(tx);
		filled = fill_batch(qp);
		srnic_tx_spend(tx, tx->batch->len);
		if (!srnic_tx_send_batch(qp, filled == ENGINE_MORE))
			return not_sent(tx);
		if (READ_ONCE(qp->state) != SRNIC_QP_RTS)
			return ENGINE_MORE;
		if (filled == ENGINE_RETRY)
			return ENGINE_RETRY;
		if (qp->acks && filled == ENGINE_IDLE && srnic_acks_over(qp))
			return ENGINE_MORE;
		if (qp->acks && filled == ENGINE_IDLE)
			srnic_acks_rest(qp);
		if (filled == ENGINE_IDLE && go_idle(qp))
			return ENGINE_IDLE;
	} while (tx->spent < may_spend(tx));
	return ENGINE_MORE;
}

static void report_terminate(struct srnic_qp *qp, const struct core_terminate *term)
{
	srnic_qp_count(qp, SRNIC_TX_TERMINATES, 1);
	trace_srnic_terminate_sent(qp, term, srnic_terminate_words(term));
	srnic_terminate_sent(&qp->base, term);
}

/* Adds the Terminate to the empty batch, if the core allows it. False if memory is short. */
static bool build_terminate(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;
	u32 len = core_tx_terminate(&tx->core, &tx->term);

	if (len && srnic_own_batch_reserve(qp, len))
		return false;
	tx->term_pending = false;
	if (!len)
		return true;
	srnic_build_fpdu(qp);
	report_terminate(qp, &tx->term);
	return true;
}

/* This framing has no error message: resets, without sending the batch first. */
static enum engine_result reset_peer(struct srnic_qp *qp)
{
	qp->tx.term_pending = false;
	srnic_qp_fail(qp);
	srnic_qp_over(qp, CORE_CONN_FAULT);
	return ENGINE_IDLE;
}

/*
 * TERMINATING: sends the rest of the batch and the Terminate (RFC 5040 5.4), then has the LLP
 * closed gracefully (6.2.1). A framing without a Terminate has a reset instead.
 */
static enum engine_result send_terminate(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;

	if (!core_framing_traits_of(tx->core.params.framing)->terminate)
		return reset_peer(qp);
	if (tx->term_pending && srnic_tx_send_batch(qp, true) && !build_terminate(qp))
		return ENGINE_RETRY;
	if (!tx->term_pending && srnic_tx_send_batch(qp, false)) {
		srnic_qp_fail(qp);
		srnic_qp_over(qp, CORE_CONN_TERMINATED);
		return ENGINE_IDLE;
	}
	if (time_before(jiffies, tx->term_deadline))
		return ENGINE_WAIT;
	srnic_qp_fail(qp);
	srnic_qp_over(qp, CORE_CONN_RESET);
	return ENGINE_IDLE;
}

/* RTS, with a socket. */
static enum engine_result use_stream(struct srnic_qp *qp)
{
	enum engine_result result;
	u32 acks;

	if (!qp->acks)
		return send_all(qp);
	acks = qp->acks->core.ack_msn;
	if (qp->acks->keepalive && READ_ONCE(qp->tx.validated))
		srnic_qp_watch_peer(qp);
	srnic_overdue_look(qp);
	if (READ_ONCE(qp->state) != SRNIC_QP_RTS)
		return ENGINE_MORE;
	result = send_all(qp);
	acks = qp->acks->core.ack_msn - acks;
	if (acks)
		srnic_qp_count(qp, SRNIC_TX_ACKS, acks);
	srnic_acks_look_drained(qp);
	srnic_overdue_watch(qp);
	return result;
}

static enum engine_result operate(struct srnic_qp *qp)
{
	if (srnic_datagrams_of(qp))
		return qp->datagrams->send(qp);
	return qp->sock ? use_stream(qp) : ENGINE_IDLE;
}

/* IDLE: a QP may have lost its stream: what is sent or posted does not wait for ever. */
static enum engine_result wait_for_stream(struct srnic_qp *qp)
{
	if (!qp->acks)
		return ENGINE_IDLE;
	srnic_overdue_look(qp);
	if (READ_ONCE(qp->state) != SRNIC_QP_IDLE)
		return ENGINE_MORE;
	srnic_acks_look_drained(qp);
	srnic_overdue_watch(qp);
	return ENGINE_IDLE;
}

enum engine_result srnic_engine_pass(struct srnic_qp *qp)
{
	enum engine_result result = ENGINE_IDLE;
	bool flushed;

	switch (smp_load_acquire(&qp->state)) {	/* before term; pairs with srnic_qp_move() */
	case SRNIC_QP_RTS:
		return operate(qp);
	case SRNIC_QP_TERMINATING:
		flushed = srnic_tx_flush(qp, srnic_tx_flush_of(qp));
		if (qp->sock)
			result = send_terminate(qp);
		return flushed ? result : ENGINE_RETRY;
	case SRNIC_QP_ERROR:
		return srnic_tx_flush(qp, srnic_tx_flush_of(qp)) ? ENGINE_IDLE : ENGINE_RETRY;
	case SRNIC_QP_IDLE:
		return wait_for_stream(qp);
	default:
		return ENGINE_IDLE;
	}
}

void srnic_tx_last_terminate(struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->tx.mutex);
	qp->tx.runner = SRNIC_RUNNER_WORKER;
	/* acquire: state before term; pairs with srnic_qp_move() */
	if (smp_load_acquire(&qp->state) == SRNIC_QP_TERMINATING)
		srnic_engine_pass(qp);
}

/* ---- its life ---- */

void srnic_tx_start(struct srnic_qp *qp, const struct srnic_qp_start *start)
{
	const struct core_startup_agreed *agreed = &start->agreed;
	struct core_tx_params params = {
		.ctx = qp,
		.framing = agreed->framing,
		.connection_id = agreed->connection_id,
		.first_msn = agreed->send_msn,
		.long_segments = agreed->long_segments,
		.ord = qp->outbound.most,
		.slot_size = qp->sq.ring.slot_size,
		.kernel = !qp->user,
		.crc = agreed->crc,
		.markers = agreed->send_markers,
		.initiator = start->initiator,
		.rtr = start->initiator && agreed->p2p ? agreed->rtr : 0,
		.extended = agreed->extended,
	};
	struct srnic_tx *tx = &qp->tx;

	lockdep_assert_held(&qp->tx.mutex);
	if (core_framing_traits_of(agreed->framing)->acknowledges)
		params.acks = &qp->acks->core;
	core_tx_init(&tx->core, &params);
	WRITE_ONCE(qp->sq.framing, agreed->framing);
	tx->validated = false;
	tx->term_pending = false;
	tx->last_wqe = false;
	tx->starved = 0;
	tx->bytes = 0;
	tx->built = qp->sq.taken;
	tx->completed = qp->sq.taken;
}

bool srnic_tx_closed(struct srnic_qp *qp)
{
	enum srnic_qp_state state = READ_ONCE(qp->state);

	lockdep_assert_held(&qp->tx.mutex);
	if (state != SRNIC_QP_RTS)
		return state != SRNIC_QP_TERMINATING;
	return !qp->tx.batch->len && core_tx_closed(&qp->tx.core);
}
