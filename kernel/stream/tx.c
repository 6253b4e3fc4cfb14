// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The transmit engine of a QP: drains its send queue and the peer's RDMA Reads (message.c) into
 * batches of FPDUs (fpdu.c), and these into TCP.
 *
 * One engine at a time (tx.mutex), wherever it is cheapest: in the doorbell's own system call for
 * users, else on the workqueue. A pass is bounded; what remains is requeued. Inbound reads and
 * local work take turns. Payload is copied once, into pages of the engine's own, so a request whose
 * octets are built no longer needs its buffers; it completes when TCP has taken them all (RFC 5040
 * 5.5 rule 14, RFC 5041 5.4).
 */
#include <net/tcp.h>

#include "device/stats.h"
#include "stream/attach.h"
#include "stream/tx.h"

/*
 * Octets after which a pass gives way: enough to pay for itself, little enough not to hold up a
 * doorbell's caller.
 */
#define PASS_OCTETS	(1024 * 1024)
#define RETRY_DELAY	msecs_to_jiffies(10)	/* after a failed allocation */
#define WAIT_DELAY	msecs_to_jiffies(500)
#define MAX_ROUNDS 8 /* passes on behalf of others before the workqueue takes over */

/* A Terminate at its longest: so short an FPDU has one marker at most. */
#define TERMINATE_OCTETS                                                                           \
	(CORE_FPDU_MAX_HEADER + CORE_TERM_MAX + CORE_FPDU_MAX_TRAILER + CORE_MARKER_LEN)

enum pass {
	PASS_IDLE, /* nothing to do, or something else will kick: a post, socket space, a read, the first FPDU */
	PASS_MORE,  /* out of budget */
	PASS_RETRY, /* out of memory */
	PASS_WAIT,  /* a Terminate waits for socket space, but not for ever */
};

/*
 * Fills the batch. Returns PASS_MORE if it stopped for want of room, PASS_RETRY for want of memory,
 * PASS_IDLE if there is nothing left to build.
 */
static enum pass build_batch(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;
	u32 mulpdu = core_mpa_mulpdu(READ_ONCE(tcp_sk(qp->sock->sk)->mss_cache), tx->markers.on);

	while (READ_ONCE(qp->state) == SRNIC_QP_RTS && !READ_ONCE(tx->held)) {
		struct srnic_tx_message *message = srnic_message_next(qp);
		u32 len;

		if (!message)
			return PASS_IDLE;
		len = core_markers_len(&tx->markers, core_tx_next_len(&message->msg, mulpdu));
		if (!srnic_batch_takes(&tx->batch, len))
			return PASS_MORE;
		if (srnic_batch_reserve(&tx->batch, len))
			return PASS_RETRY;
		srnic_message_build(qp, message, mulpdu);
		tx->answer_next = message == &tx->local;
	}
	return PASS_IDLE;
}

/* Tells TCP. True when it has taken the whole batch; what was built is complete then. */
static bool send_batch(struct srnic_qp *qp, bool more)
{
	struct srnic_tx *tx = &qp->tx;

	while (tx->batch.len) {
		int ret = srnic_batch_send(&tx->batch, qp->sock, more);

		if (!ret)
			return false;
		if (ret < 0) {
			srnic_qp_fail(qp);
			srnic_qp_over(qp, SRNIC_OVER_RESET);
			return false;
		}
		srnic_count(qp->dev, SRNIC_TX_OCTETS, ret);
	}
	if (tx->fpdus) {
		srnic_count(qp->dev, SRNIC_TX_FPDUS, tx->fpdus);
		tx->fpdus = 0;
	}
	if (tx->completed != tx->built) {
		srnic_sq_complete_sent(&qp->sq, tx->completed, tx->built);
		tx->completed = tx->built;
	}
	return true;
}

/* srnic-abi.h, doorbell protocol. True if the engine may go idle. */
static bool go_idle(struct srnic_qp *qp)
{
	WRITE_ONCE(qp->sq.ring.hdr->state, SRNIC_SQ_NEED_DOORBELL);
	smp_mb();
	if (READ_ONCE(qp->tx.read_stall) || READ_ONCE(qp->tx.held) || !srnic_message_pending(qp))
		return true;
	WRITE_ONCE(qp->sq.ring.hdr->state, 0);
	return false;
}

static enum pass pass_connected(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;
	u32 octets = 0;
	enum pass built;

	WRITE_ONCE(qp->sq.ring.hdr->state, 0);
	WRITE_ONCE(tx->read_stall, false);
	do {
		if (!send_batch(qp, false))
			return PASS_IDLE;
		built = build_batch(qp);
		octets += tx->batch.len;
		if (!send_batch(qp, built == PASS_MORE))
			return PASS_IDLE;
		if (READ_ONCE(qp->state) != SRNIC_QP_RTS)
			return PASS_MORE;
		if (built == PASS_RETRY)
			return PASS_RETRY;
	} while (octets < PASS_OCTETS && (built == PASS_MORE || !go_idle(qp)));
	return built == PASS_MORE || octets >= PASS_OCTETS ? PASS_MORE : PASS_IDLE;
}

/*
 * RFC 5040 5.4: one Terminate, at an FPDU boundary, then nothing more; then the LLP is closed
 * gracefully (6.2.1). Even that FPDU is not a responder's to send before it has validated one (RFC
 * 5044 7.1.2 rule 4).
 */
static enum pass pass_terminating(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;

	if (READ_ONCE(tx->held))
		tx->term_pending = false;
	if (tx->term_pending && send_batch(qp, true)) {
		if (srnic_batch_reserve(&tx->batch, TERMINATE_OCTETS))
			return PASS_RETRY;
		tx->term_pending = false;
		srnic_message_start(&tx->local, (struct core_tx_msg) {
			.opcode = CORE_RDMAP_TERMINATE,
			.length = core_terminate_build(&tx->term, tx->control),
			.msn = 1,
		}, SRNIC_SOURCE_BYTES, tx->control);
		srnic_message_build(qp, &tx->local, core_mpa_mulpdu(0, false));
		srnic_count(qp->dev, SRNIC_TX_TERMINATES, 1);
	}
	if (!tx->term_pending && send_batch(qp, false)) {
		srnic_qp_fail(qp);
		srnic_qp_over(qp, SRNIC_OVER_TERMINATED);
		return PASS_IDLE;
	}
	if (time_before(jiffies, tx->term_deadline))
		return PASS_WAIT;
	srnic_qp_fail(qp);
	srnic_qp_over(qp, SRNIC_OVER_RESET);
	return PASS_IDLE;
}

/*
 * From here on nothing lands any more and nothing completes well: only then may a flush say that
 * all is over.
 */
static void silence_rx(struct srnic_qp *qp)
{
	if (!qp->sock)
		return;
	lock_sock(qp->sock->sk);
	core_rx_stop(&qp->rx.core);
	if (qp->rx.receive.active)
		srnic_rq_fail(&qp->rq, &qp->rx.receive, SRNIC_WC_FLUSH_ERR, 0);
	release_sock(qp->sock->sk);
}

void srnic_tx_flush(struct srnic_qp *qp)
{
	WRITE_ONCE(qp->sq.ring.hdr->state, SRNIC_SQ_NEED_DOORBELL | SRNIC_QUEUE_ERROR);
	if (qp->rq.ring.hdr)
		WRITE_ONCE(qp->rq.ring.hdr->state, SRNIC_QUEUE_ERROR);
	smp_mb();
	silence_rx(qp);
	srnic_rx_blame_write(qp);
	srnic_sq_flush(&qp->sq);
	qp->tx.built = qp->tx.completed = qp->sq.taken;
	srnic_rq_flush(&qp->rq);
	srnic_qp_last_wqe(qp);
}

static enum pass pass(struct srnic_qp *qp)
{
	switch (smp_load_acquire(&qp->state)) {
	case SRNIC_QP_RTS:
		return qp->sock ? pass_connected(qp) : PASS_IDLE;
	case SRNIC_QP_TERMINATING:
		srnic_tx_flush(qp);
		return qp->sock ? pass_terminating(qp) : PASS_IDLE;
	case SRNIC_QP_ERROR:
		srnic_tx_flush(qp);
		return PASS_IDLE;
	default:
		return PASS_IDLE;
	}
}

void srnic_tx_last_terminate(struct srnic_qp *qp)
{
	mutex_lock(&qp->tx.mutex);
	if (smp_load_acquire(&qp->state) == SRNIC_QP_TERMINATING)
		pass(qp);
	srnic_tx_unlock(qp);
}

/* ---- whose turn it is to be the engine ---- */

/*
 * Whoever has something for the engine sets `again` before it tries the mutex; the engine reads
 * `again` after it has dropped the mutex: so either the newcomer gets the mutex or the engine sees
 * the flag.
 */
static void run(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;
	enum pass result = PASS_IDLE;
	int rounds = 0;

	while (result == PASS_IDLE && test_bit(0, &tx->again) && mutex_trylock(&tx->mutex)) {
		clear_bit(0, &tx->again);
		smp_mb__after_atomic();
		result = pass(qp);
		mutex_unlock(&tx->mutex);
		smp_mb();
		if (result == PASS_IDLE && ++rounds == MAX_ROUNDS)
			result = PASS_MORE;
	}
	if (result == PASS_IDLE)
		return;
	set_bit(0, &tx->again);
	if (result == PASS_MORE)
		mod_delayed_work(srnic_wq, &tx->work, 0);
	else	/* a kick that is queued already goes first */
		queue_delayed_work(srnic_wq, &tx->work,
				   result == PASS_RETRY ? RETRY_DELAY : WAIT_DELAY);
}

/*
 * What there is to do is visible before the flag: pairs with the engine, which clears the flag and
 * then looks.
 */
static void ask_again(struct srnic_tx *tx)
{
	smp_mb__before_atomic();
	set_bit(0, &tx->again);
	smp_mb__after_atomic();
}

void srnic_tx_run(struct srnic_qp *qp)
{
	ask_again(&qp->tx);
	run(qp);
}

void srnic_tx_kick(struct srnic_qp *qp)
{
	ask_again(&qp->tx);
	mod_delayed_work(srnic_wq, &qp->tx.work, 0);
}

void srnic_tx_unlock(struct srnic_qp *qp)
{
	mutex_unlock(&qp->tx.mutex);
	smp_mb();
	if (test_bit(0, &qp->tx.again))
		srnic_tx_kick(qp);
}

static void tx_work(struct work_struct *work)
{
	run(container_of(to_delayed_work(work), struct srnic_qp, tx.work));
}

/* ---- its life ---- */

void srnic_tx_init(struct srnic_qp *qp)
{
	mutex_init(&qp->tx.mutex);
	INIT_DELAYED_WORK(&qp->tx.work, tx_work);
	qp->sq.ring.hdr->state = SRNIC_SQ_NEED_DOORBELL;
}

void srnic_tx_start(struct srnic_qp *qp, const struct srnic_qp_start *start)
{
	struct srnic_tx *tx = &qp->tx;

	tx->crc = start->agreed.crc;
	core_markers_start(&tx->markers, start->agreed.send_markers);
	tx->held = !start->initiator;
	tx->rtr = start->agreed.rtr;
	tx->want_rtr = start->initiator && start->agreed.p2p && start->agreed.rtr;
	tx->answer_next = false;
	tx->send_msn = 0;
	tx->read_msn = 0;
	tx->read_stall = false;
	tx->term_pending = false;
	tx->last_wqe = false;
	tx->closing = tx->peer_closed = false;
	tx->local.active = tx->answer.active = false;
	tx->fpdus = 0;
	tx->built = tx->completed = qp->sq.taken;
}

bool srnic_tx_closed(struct srnic_qp *qp)
{
	const struct srnic_tx *tx = &qp->tx;
	enum srnic_qp_state state = READ_ONCE(qp->state);

	if (state != SRNIC_QP_RTS)
		return state != SRNIC_QP_TERMINATING;
	if (tx->peer_closed && READ_ONCE(tx->held))
		return true;	/* nothing may be sent, nor will that change */
	if (!tx->peer_closed && srnic_reads_outstanding(qp))
		return false;
	return !tx->batch.len && !tx->local.active && !tx->answer.active &&
	       qp->sq.taken == tx->close_at &&
	       qp->inbound_head == smp_load_acquire(&qp->inbound_tail);
}

void srnic_tx_release(struct srnic_qp *qp)
{
	srnic_batch_release(&qp->tx.batch);
}
