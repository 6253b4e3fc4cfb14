// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Gives the batch to TCP, or to a peer in this namespace (shortcut.c), and completes the requests
 * whose bytes are all gone (RFC 5040 5.5 rule 14, RFC 5041 5.4).
 */
#include <net/tcp.h>

#include "report/trace.h"
#include "stream/kick/asker.h"
#include "stream/owner.h"
#include "stream/state.h"
#include "stream/transmit/kept.h"
#include "stream/transmit/output.h"
#include "stream/transmit/own_batch.h"
#include "stream/transmit/shortcut.h"
#include "stream/transmit/stall.h"

/*
 * Some Read Requests or atomic operations. A longer batch is not just requests for responses, but
 * where requests are acknowledged each batch asks for an answer.
 */
#define ASKER_BATCH_MAX	1024
#define REST_DELAY	msecs_to_jiffies(10)	/* after a lack of TCP's memory */

/*
 * TCP has taken nothing. With bytes queued, an ACK will wake the engine. With none, TCP lacks
 * memory: no ACK will arrive, and sendmsg itself calls write_space(), which kicks the engine. One
 * retry follows at once, because that kick may have been from an ACK; then TCP is left alone for
 * REST_DELAY.
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

/* Without TCP the peer's part of the work is this caller's as well. */
static int send_by_shortcut(struct srnic_qp *qp)
{
	int ret = srnic_shortcut_send(qp);

	if (ret)
		srnic_tx_spend(&qp->tx, ret);
	return ret;
}

/* TCP gets only what nobody changes, and what is kept. */
static void own(struct srnic_qp *qp)
{
	u32 copied;

	if (srnic_kept_wanted(qp)) {
		srnic_kept_give(qp, qp->tx.batch->num_borrowed);
		return;
	}
	copied = srnic_batch_own(qp->tx.batch);
	if (unlikely(copied))
		srnic_qp_count(qp, SRNIC_TX_COPIED, copied);
}

/* Returns the bytes taken; 0: none now; or -errno. */
static int try_to_send(struct srnic_qp *qp, bool more)
{
	struct srnic_tx *tx = &qp->tx;
	int ret = send_by_shortcut(qp);

	if (ret)
		return ret;
	own(qp);
	if (unlikely(resting(tx)))
		return 0;
	ret = srnic_batch_send(tx->batch, qp->sock, more, srnic_engine_may_wait(tx));
	if (!ret)
		nothing_taken(qp);
	return ret;
}

static bool asks_for_little_else(const struct srnic_qp *qp)
{
	return qp->acks || qp->tx.batch->len <= ASKER_BATCH_MAX;
}

/*
 * May the caller run the peer's engine afterwards? Not if it is to send more, or runs this one as
 * an asker itself: so it goes no deeper.
 */
static bool may_run_other(const struct srnic_qp *qp, bool more)
{
	const struct srnic_tx *tx = &qp->tx;

	return !more && asks_for_little_else(qp) && tx->runner != SRNIC_RUNNER_ASKER &&
	       !srnic_own_batch(tx)->run_next && READ_ONCE(qp->state) == SRNIC_QP_RTS;
}

/* Does the same as try_to_send(); may set `run_next`. */
static int send_some(struct srnic_qp *qp, bool more)
{
	struct srnic_asker *asker = NULL;
	int ret;

	if (may_run_other(qp, more))
		asker = srnic_asker_begin(qp);
	ret = try_to_send(qp, more);
	if (asker)
		srnic_own_batch(&qp->tx)->run_next = srnic_asker_end(asker);
	return ret;
}

/* A QP with acknowledgements outlives its stream: its owner has it leave this one. */
static void tcp_failed(struct srnic_qp *qp, int error)
{
	srnic_qp_note_end(qp, SRNIC_END_TCP, error);
	if (!qp->acks)
		srnic_qp_fail(qp);
	srnic_qp_over(qp, CORE_CONN_RESET);
}

bool srnic_tx_send_batch(struct srnic_qp *qp, bool more)
{
	struct srnic_tx *tx = &qp->tx;

	while (tx->batch->len) {
		int ret = send_some(qp, more);

		if (!ret)
			return false;
		tx->starved = 0;
		if (ret < 0) {
			tcp_failed(qp, -ret);
			return false;
		}
		WRITE_ONCE(tx->bytes, tx->bytes + ret);
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
