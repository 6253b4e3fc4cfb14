// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The transmit engine of a QP: builds FPDUs of the messages that the core's scheduler chooses
 * (core/send.cc, requests.c) in batches (build.c), and sends these through TCP, or hands them to a
 * peer in this namespace (shortcut.c).
 *
 * One caller at a time is the engine (run.c). A run is bounded; the rest is queued again. Payload
 * is copied once, into the engine's own pages, so a request whose bytes are built no longer needs
 * its buffers; it completes when TCP, or the peer, has taken all its bytes (RFC 5040 5.5 rule 14,
 * RFC 5041 5.4).
 */
#include <linux/slab.h>
#include <net/tcp.h>

#include "device/stats.h"
#include "device/terminate.h"
#include "tracing/trace.h"
#include "stream/asker.h"
#include "stream/attach.h"
#include "stream/engine.h"
#include "stream/shortcut.h"

/*
 * A run ends after so many bytes, where an FPDU costs as much as so many more: 1 MiB in segments of
 * an Ethernet, or 3,500 FPDUs of a few octets. Enough to be worth a run, and few enough not to
 * delay a doorbell's caller.
 */
#define RUN_COST	(1408 * 1024)
#define FPDU_COST	384
#define ANSWER_COST	(64 * 1024)	/* the same for an engine that another one's caller runs */
/* More than a few Read Requests or atomic operations need: what is longer is no question. */
#define QUESTION_MAX	1024
#define REST_DELAY	msecs_to_jiffies(10)	/* after a lack of TCP's memory */
#define TRIM_DELAY	HZ	/* unused for this long, pages are given back */

void srnic_tx_stalled(struct srnic_qp *qp, enum srnic_counter why)
{
	lockdep_assert_held(&qp->tx.mutex);
	trace_srnic_tx_stall(qp, why);
	srnic_qp_count(qp, why, 1);
}

/* ---- batches ---- */

/* Drops the QP's reference as well: only who has another may use the QP then. */
static void free_batch(struct srnic_qp *qp)
{
	struct srnic_own_batch *own = srnic_own_batch(&qp->tx);

	qp->tx.batch = &srnic_no_batch;
	srnic_batch_release(&own->batch);
	kfree(own);
	srnic_qp_put(qp);
}

/* Waits for no engine: srnic_tx_release() waits for this, with the mutex held. */
static void trim_work(struct work_struct *work)
{
	struct srnic_own_batch *own =
		container_of(to_delayed_work(work), struct srnic_own_batch, trim);
	struct srnic_qp *qp = own->qp;
	bool done = false;

	srnic_qp_hold(qp);
	if (mutex_trylock(&qp->tx.mutex)) {
		done = srnic_batch_trim(&own->batch);
		if (done)
			free_batch(qp);
		srnic_tx_unlock(qp);
	}
	if (!done)
		queue_delayed_work(srnic_wq, &own->trim, TRIM_DELAY);
	srnic_qp_put(qp);
}

static int alloc_batch(struct srnic_qp *qp, gfp_t gfp)
{
	struct srnic_own_batch *own = srnic_qp_zalloc(qp, sizeof(*own), gfp);

	if (!own)
		return -ENOMEM;
	srnic_batch_init(&own->batch, qp->payer);
	INIT_DELAYED_WORK(&own->trim, trim_work);
	srnic_qp_hold(qp);
	own->qp = qp;
	qp->tx.batch = &own->batch;
	return 0;
}

/* 0 or -ENOMEM. May sleep if srnic_engine_may_wait(). */
static int try_reserve(struct srnic_qp *qp, u32 len)
{
	struct srnic_tx *tx = &qp->tx;
	gfp_t gfp = srnic_engine_may_wait(tx) ? SRNIC_BATCH_GFP : SRNIC_BATCH_GFP_NOW;

	if (tx->batch == &srnic_no_batch && alloc_batch(qp, gfp))
		return -ENOMEM;
	queue_delayed_work(srnic_wq, &srnic_own_batch(tx)->trim, TRIM_DELAY);
	return srnic_batch_reserve(tx->batch, len, gfp);
}

static int reserve(struct srnic_qp *qp, u32 len)
{
	int ret = try_reserve(qp, len);

	if (unlikely(ret) && srnic_engine_may_wait(&qp->tx))
		srnic_tx_stalled(qp, SRNIC_TX_NO_MEMORY);
	return ret;
}

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
		if (!len)
			return ENGINE_IDLE;
		if (!srnic_batch_takes(tx->batch, len))
			return ENGINE_MORE;
		if (!srnic_batch_has_room(tx->batch, len)) {
			srnic_held_drop(&tx->held);
			if (reserve(qp, len))
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

	srnic_engine_asked_wait(&qp->tx);
	result = build_all(qp);
	srnic_held_drop(&qp->tx.held);
	return result;
}

/*
 * TCP has taken nothing. If it holds nothing either, it lacks memory, and no acknowledgment will
 * tell when it has some. It then calls write_space() from within sendmsg, which kicks the engine.
 * So it is asked again at once, for that may have been an acknowledgment, and then only after a
 * while.
 */
static void nothing_taken(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;

	if (READ_ONCE(qp->sock->sk->sk_wmem_queued)) {
		tx->starved = 0;
		srnic_tx_stalled(qp, SRNIC_TX_SOCKET_FULL);
		return;
	}
	tx->starved = min(tx->starved + 1, 2);
	tx->rest = jiffies + REST_DELAY;
	srnic_tx_stalled(qp, SRNIC_TX_NO_MEMORY);
}

static bool resting(const struct srnic_tx *tx)
{
	return tx->starved > 1 && time_before(jiffies, tx->rest);
}

static u32 may_spend(const struct srnic_tx *tx)
{
	return tx->where == SRNIC_TX_PASSES_ASKER ? ANSWER_COST : RUN_COST;
}

/* What the batch costs its caller. */
static void spend(struct srnic_tx *tx, u32 octets)
{
	tx->spent += octets + tx->core.fpdus * FPDU_COST;
}

/* Without TCP the peer's part of the work is this caller's as well. */
static int send_by_shortcut(struct srnic_qp *qp)
{
	int ret = srnic_shortcut_send(qp);

	if (ret)
		spend(&qp->tx, ret);
	return ret;
}

/* Returns the bytes taken; 0: none now; or -errno. */
static int try_to_send(struct srnic_qp *qp, bool more)
{
	struct srnic_tx *tx = &qp->tx;
	int ret = send_by_shortcut(qp);

	if (ret || unlikely(resting(tx)))
		return ret;
	ret = srnic_batch_send(tx->batch, qp->sock, more, srnic_engine_may_wait(tx));
	if (!ret)
		nothing_taken(qp);
	return ret;
}

/* May the caller answer whom it asks? Not if it is to send more, or is answering itself. */
static bool may_answer(const struct srnic_qp *qp, bool more)
{
	const struct srnic_tx *tx = &qp->tx;

	return !more && tx->batch->len <= QUESTION_MAX && tx->where != SRNIC_TX_PASSES_ASKER &&
	       !srnic_own_batch(tx)->asked && READ_ONCE(qp->state) == SRNIC_QP_RTS;
}

/* The same; may set `asked`. */
static int send_some(struct srnic_qp *qp, bool more)
{
	struct srnic_asker *asker = NULL;
	int ret;

	if (may_answer(qp, more))
		asker = srnic_asker_begin(qp);
	ret = try_to_send(qp, more);
	if (asker)
		srnic_own_batch(&qp->tx)->asked = srnic_asker_end(asker);
	return ret;
}

/* True when the whole batch is gone; then completes the requests that were built. */
static bool send_batch(struct srnic_qp *qp, bool more)
{
	struct srnic_tx *tx = &qp->tx;

	while (tx->batch->len) {
		int ret = send_some(qp, more);

		if (!ret)
			return false;
		tx->starved = 0;
		if (ret < 0) {
			srnic_qp_note_end(qp, SRNIC_END_TCP, -ret);
			srnic_qp_fail(qp);
			srnic_qp_over(qp, SRNIC_OVER_RESET);
			return false;
		}
		WRITE_ONCE(tx->octets, tx->octets + ret);
		trace_srnic_tx_batch(qp, ret);
		srnic_qp_count(qp, SRNIC_TX_BATCHES, 1);
		srnic_qp_count(qp, SRNIC_TX_OCTETS, ret);
	}
	if (tx->core.fpdus) {
		srnic_qp_count(qp, SRNIC_TX_FPDUS, tx->core.fpdus);
		tx->core.fpdus = 0;
	}
	if (tx->completed != tx->built) {
		srnic_sq_complete_sent(&qp->sq, tx->completed, tx->built);
		tx->completed = tx->built;
	}
	return true;
}

/* ---- the work of each state ---- */

/*
 * True if the engine may go idle, or stand by. Doorbell protocol (srnic-abi.h): sets the flag
 * before it reads the ring again.
 */
static bool go_idle(struct srnic_qp *qp)
{
	bool standby = srnic_standby_wanted(qp);

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

/* If TCP lacks memory, no kick will tell when it has some. */
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
	do {
		if (!send_batch(qp, false))
			return not_sent(tx);
		filled = fill_batch(qp);
		spend(tx, tx->batch->len);
		if (!send_batch(qp, filled == ENGINE_MORE))
			return not_sent(tx);
		if (READ_ONCE(qp->state) != SRNIC_QP_RTS)
			return ENGINE_MORE;
		if (filled == ENGINE_RETRY)
			return ENGINE_RETRY;
		if (filled == ENGINE_IDLE && go_idle(qp))
			return ENGINE_IDLE;
	} while (tx->spent < may_spend(tx));
	return ENGINE_MORE;
}

/* Adds the Terminate to the empty batch, if the core allows it. False if memory is short. */
static bool build_terminate(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;
	u32 len = core_tx_terminate(&tx->core, &tx->term);

	if (len && reserve(qp, len))
		return false;
	tx->term_pending = false;
	if (!len)
		return true;
	srnic_build_fpdu(qp);
	srnic_terminate_sent(qp, &tx->term);
	return true;
}

/* What there is no message for is told by a reset, for which the batch need not be sent first. */
static enum engine_result reset_peer(struct srnic_qp *qp)
{
	qp->tx.term_pending = false;
	srnic_qp_fail(qp);
	srnic_qp_over(qp, SRNIC_OVER_FAULT);
	return ENGINE_IDLE;
}

/*
 * TERMINATING: sends the rest of the batch and the Terminate (RFC 5040 5.4), then has the LLP
 * closed gracefully (6.2.1). RDMA/TCP has no Terminate.
 */
static enum engine_result send_terminate(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;

	if (tx->core.params.framing != CORE_FRAMING_MPA)
		return reset_peer(qp);
	if (tx->term_pending && send_batch(qp, true) && !build_terminate(qp))
		return ENGINE_RETRY;
	if (!tx->term_pending && send_batch(qp, false)) {
		srnic_qp_fail(qp);
		srnic_qp_over(qp, SRNIC_OVER_TERMINATED);
		return ENGINE_IDLE;
	}
	if (time_before(jiffies, tx->term_deadline))
		return ENGINE_WAIT;
	srnic_qp_fail(qp);
	srnic_qp_over(qp, SRNIC_OVER_RESET);
	return ENGINE_IDLE;
}

/*
 * Stops placement and successful completions, and flushes the receive in progress. Must come before
 * the rest of the flush. The socket's lock excludes the receive half, unless that was stopped under
 * it before. False if the receive waits for room in the CQ.
 */
static bool flush_receive(struct srnic_qp *qp, enum srnic_flush how)
{
	struct sock *sk = qp->sock ? qp->sock->sk : NULL;
	bool flushed;

	if (sk) {
		lock_sock(sk);
		core_rx_stop(&qp->rx.core);
	}
	flushed = srnic_rq_flush_taken(&qp->rq, &qp->rx.receive, how);
	if (sk)
		release_sock(sk);
	return flushed;
}

bool srnic_tx_flush(struct srnic_qp *qp, enum srnic_flush how)
{
	bool received, all;

	lockdep_assert_held(&qp->tx.mutex);
	WRITE_ONCE(qp->sq.ring.hdr->state, SRNIC_SQ_NEED_DOORBELL | SRNIC_QUEUE_ERROR);
	if (qp->rq.ring.hdr)
		WRITE_ONCE(qp->rq.ring.hdr->state, SRNIC_QUEUE_ERROR);
	/* state before prod; pairs with the user's barrier between prod and state (srnic-abi.h) */
	smp_mb();
	received = flush_receive(qp, how);
	srnic_rx_blame_write(qp);
	all = srnic_sq_flush(&qp->sq, how);
	qp->tx.built = qp->sq.taken;
	qp->tx.completed = qp->sq.taken;
	if (!received)	/* the others come after it */
		return false;
	all = srnic_rq_flush(&qp->rq, how) && all;
	srnic_qp_last_wqe(qp);
	return all;
}

/*
 * Kernel consumers drain: no flush completion may be lost, so it waits until they poll. If a user's
 * CQ has no room, they are lost; of a QP that its user destroys, all are.
 */
static enum srnic_flush flush_of(const struct srnic_qp *qp)
{
	if (!qp->user)
		return SRNIC_FLUSH_WAIT;
	return READ_ONCE(qp->silent) ? SRNIC_FLUSH_DROP : SRNIC_FLUSH_LOSE;
}

enum engine_result srnic_engine_pass(struct srnic_qp *qp)
{
	enum engine_result result = ENGINE_IDLE;
	bool flushed;

	switch (smp_load_acquire(&qp->state)) {	/* before term; pairs with srnic_qp_move() */
	case SRNIC_QP_RTS:
		return qp->sock ? send_all(qp) : ENGINE_IDLE;
	case SRNIC_QP_TERMINATING:
		flushed = srnic_tx_flush(qp, flush_of(qp));
		if (qp->sock)
			result = send_terminate(qp);
		return flushed ? result : ENGINE_RETRY;
	case SRNIC_QP_ERROR:
		return srnic_tx_flush(qp, flush_of(qp)) ? ENGINE_IDLE : ENGINE_RETRY;
	default:
		return ENGINE_IDLE;
	}
}

void srnic_tx_last_terminate(struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->tx.mutex);
	qp->tx.where = SRNIC_TX_PASSES_WORKER;
	/* acquire: state before term; pairs with srnic_qp_move() */
	if (smp_load_acquire(&qp->state) == SRNIC_QP_TERMINATING)
		srnic_engine_pass(qp);
}

/* ---- its life ---- */

void srnic_tx_init(struct srnic_qp *qp)
{
	mutex_init(&qp->tx.mutex);
	qp->tx.batch = &srnic_no_batch;
	INIT_DELAYED_WORK(&qp->tx.work, srnic_tx_work);
	srnic_standby_init(qp);
	qp->tx.held.dev = qp->dev;
	qp->rx.held.dev = qp->dev;
	qp->sq.ring.hdr->state = SRNIC_SQ_NEED_DOORBELL;
}

void srnic_tx_start(struct srnic_qp *qp, const struct srnic_qp_start *start)
{
	const struct core_startup_agreed *agreed = &start->agreed;
	const struct core_tx_params params = {
		.ctx = qp,
		.framing = agreed->framing,
		.connection_id = agreed->connection_id,
		.first_msn = agreed->send_msn,
		.long_segments = agreed->long_segments,
		.ord = qp->ord,
		.slot_size = qp->sq.ring.slot_size,
		.kernel = !qp->user,
		.crc = agreed->crc,
		.markers = agreed->send_markers,
		.initiator = start->initiator,
		.rtr = start->initiator && agreed->p2p ? agreed->rtr : 0,
	};
	struct srnic_tx *tx = &qp->tx;

	lockdep_assert_held(&qp->tx.mutex);
	core_tx_init(&tx->core, &params);
	WRITE_ONCE(qp->sq.rdmatcp, agreed->framing != CORE_FRAMING_MPA);
	tx->validated = false;
	tx->term_pending = false;
	tx->last_wqe = false;
	tx->starved = 0;
	tx->octets = 0;
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

void srnic_tx_release(struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->tx.mutex);
	if (qp->tx.batch == &srnic_no_batch)
		return;
	cancel_delayed_work_sync(&srnic_own_batch(&qp->tx)->trim);
	free_batch(qp);
}
