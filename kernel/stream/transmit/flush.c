// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Flushes a QP that has left RTS: what is queued completes in error (RFC 5040 6.2.1).
 */
#include <net/sock.h>

#include "stream/datagrams.h"
#include "stream/receive/receive.h"
#include "stream/state.h"
#include "stream/transmit/kept.h"
#include "stream/transmit/transmit.h"

static bool flush_receive_of_datagram(struct srnic_qp *qp, enum srnic_flush how)
{
	bool flushed;

	srnic_datagrams_close(qp->datagrams);
	spin_lock_bh(&qp->datagrams->receiving);
	flushed = srnic_rq_flush_taken(&qp->rq, &qp->rx.receive, how);
	spin_unlock_bh(&qp->datagrams->receiving);
	return flushed;
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

	if (srnic_datagrams_of(qp))
		return flush_receive_of_datagram(qp, how);
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
	if (qp->rq.recv.ring.hdr)
		WRITE_ONCE(qp->rq.recv.ring.hdr->state, SRNIC_QUEUE_ERROR);
	/* state before prod; pairs with the user's barrier between prod and state (srnic-abi.h) */
	smp_mb();
	received = flush_receive(qp, how);
	srnic_kept_end(qp);
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
enum srnic_flush srnic_tx_flush_of(const struct srnic_qp *qp)
{
	if (READ_ONCE(qp->silent))
		return SRNIC_FLUSH_DROP;
	return qp->user ? SRNIC_FLUSH_LOSE : SRNIC_FLUSH_WAIT;
}
