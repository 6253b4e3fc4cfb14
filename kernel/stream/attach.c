// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A QP on a connected socket: start, drain and stop (RFC 5044 7.1.2 and 7.2, RFC 5041 6.2).
 */
#include <linux/sched/mm.h>
#include <net/sock.h>

#include "stream/acks.h"
#include "stream/attach.h"
#include "stream/callbacks.h"
#include "stream/kick/kick.h"
#include "stream/overdue.h"
#include "stream/peer_timeout.h"
#include "stream/receive/receive.h"
#include "stream/start.h"
#include "stream/state.h"
#include "stream/transmit/kept.h"
#include "stream/transmit/own_batch.h"
#include "stream/transmit/rest.h"
#include "stream/transmit/shortcut.h"
#include "stream/transmit/transmit.h"

/* ---- beginning ---- */

void srnic_qp_free_reads(struct srnic_qp *qp)
{
	srnic_reads_free(&qp->inbound);
	srnic_reads_free(&qp->outbound);
}

static int alloc_reads(struct srnic_qp *qp, const struct core_startup_agreed *agreed)
{
	const struct srnic_outbound_read *read = NULL;	/* only for its size */
	struct mem_cgroup *former;
	int ret;

	/* Sizes and counts fit their fields. */
	BUILD_BUG_ON(max(SRNIC_MAX_IRD, SRNIC_MAX_ORD) > SHRT_MAX);
	BUILD_BUG_ON(sizeof(*read) + SRNIC_MAX_SGE * sizeof(read->sge[0]) > USHRT_MAX);
	srnic_qp_free_reads(qp);	/* before the new ones are charged */
	former = set_active_memcg(qp->payer);
	ret = srnic_reads_alloc(&qp->inbound, min_t(u32, agreed->ird, SRNIC_MAX_IRD),
				sizeof(struct core_asked)) ?:
	      srnic_reads_alloc(&qp->outbound, min_t(u32, agreed->ord, SRNIC_MAX_ORD),
				struct_size(read, sge, qp->cap.max_send_sge));
	set_active_memcg(former);
	if (ret)
		srnic_qp_free_reads(qp);
	return ret;
}

/* A QP has acknowledgements if its streams have them. */
static bool fits(const struct srnic_qp *qp, enum core_framing framing)
{
	return !qp->acks == !core_framing_traits_of(framing)->acknowledges;
}

static int prepare(struct srnic_qp *qp, const struct srnic_qp_start *start)
{
	int ret;

	lockdep_assert_held(&qp->tx.mutex);
	if (qp->sock || READ_ONCE(qp->state) != SRNIC_QP_IDLE ||
	    !srnic_qp_is_owner(qp, start->owner) || !fits(qp, start->agreed.framing))
		return -EINVAL;
	ret = alloc_reads(qp, &start->agreed);
	if (ret)
		return ret;
	srnic_acks_start(qp);
	srnic_tx_start(qp, start);
	srnic_rx_start(qp, start);
	qp->event_raised = false;
	qp->sock = start->sock;
	if (srnic_qp_move(qp, BIT(SRNIC_QP_IDLE), SRNIC_QP_RTS, NULL))
		return 0;
	qp->sock = NULL;	/* a modify or destroy came in between */
	return -EINVAL;
}

int srnic_qp_start_locked(struct srnic_qp *qp, const struct srnic_qp_start *start)
{
	struct sock *sk = start->sock->sk;
	int ret = prepare(qp, start);

	if (ret)
		return ret;
	srnic_qp_watch_peer(qp);
	srnic_overdue_begin(qp);
	lock_sock(sk);
	srnic_kept_start(qp, sk, start->agreed.crc);
	srnic_callbacks_install(qp, sk);
	srnic_rx_run(qp, sk);
	srnic_callbacks_report_end(qp, sk);
	release_sock(sk);
	srnic_shortcut_begin(qp);
	srnic_tx_kick(qp);
	return 0;
}

int srnic_qp_start(struct srnic_qp *qp, const struct srnic_qp_start *start)
{
	int ret;

	mutex_lock(&qp->tx.mutex);
	ret = srnic_qp_start_locked(qp, start);
	srnic_tx_unlock(qp);
	return ret;
}

/* ---- ending ---- */

static void stop_receiving(struct srnic_qp *qp, struct sock *sk)
{
	lock_sock(sk);
	srnic_rx_run(qp, sk);
	srnic_callbacks_restore(qp, sk);
	release_sock(sk);
}

/* Where the peer waits for Acks it gets one more, whatever becomes of the QP. */
static void leave_rest(struct srnic_qp *qp)
{
	struct srnic_rest rest;

	if (!qp->acks || !qp->owner->ops->leave_rest)
		return;
	srnic_rest_take(qp, &rest);
	qp->owner->ops->leave_rest(qp->owner, &rest);
}

void srnic_qp_leave_socket(struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->tx.mutex);
	stop_receiving(qp, qp->sock->sk);
	srnic_shortcut_end(qp);
	srnic_kept_end(qp);
	leave_rest(qp);
	qp->sock = NULL;
	srnic_acks_stop(qp);
	srnic_own_batch_release(qp);
}

void srnic_qp_stop(struct srnic_qp *qp, const struct srnic_qp_owner *owner)
{
	mutex_lock(&qp->tx.mutex);
	if (owner && !srnic_qp_is_owner(qp, owner)) {
		srnic_tx_unlock(qp);
		return;
	}
	if (qp->sock) {
		srnic_qp_leave_socket(qp);
		srnic_qp_note_end(qp, SRNIC_END_ABORTED, 0);
	}
	if (qp->acks)
		srnic_overdue_stop(qp);
	if (!owner)	/* one that has come since the caller disconnected the former one */
		srnic_qp_disconnect(qp, CORE_CONN_ABORT);
	srnic_qp_clear_owner(qp, NULL);
	srnic_qp_move(qp, SRNIC_QP_ANY_BUT(SRNIC_QP_ERROR), SRNIC_QP_ERROR, NULL);
	mutex_unlock(&qp->tx.mutex);
	srnic_tx_run(qp);
}

void srnic_qp_give_up(struct srnic_qp *qp, const struct srnic_qp_owner *owner)
{
	mutex_lock(&qp->tx.mutex);
	if (srnic_qp_is_owner(qp, owner) &&
	    srnic_qp_move(qp, BIT(SRNIC_QP_IDLE), SRNIC_QP_ERROR, NULL))
		srnic_tx_kick(qp);
	srnic_tx_unlock(qp);
}

/*
 * The peer has closed its half. Reads what came before that; true if it leaves a message or a read
 * unfinished.
 */
static bool cut_short(struct srnic_qp *qp)
{
	bool cut;

	lock_sock(qp->sock->sk);
	srnic_rx_run(qp, qp->sock->sk);
	cut = !core_rx_between(&qp->rx.core) || srnic_reads_nth(&qp->outbound, 0);
	release_sock(qp->sock->sk);
	return cut;
}

void srnic_qp_close(struct srnic_qp *qp, const struct srnic_qp_owner *owner, bool peer)
{
	struct srnic_tx *tx = &qp->tx;

	mutex_lock(&tx->mutex);
	if (srnic_qp_is_owner(qp, owner)) {
		core_tx_close(&tx->core, srnic_sq_pending(&qp->sq), peer);
		if (peer && cut_short(qp))	/* the error is not for the owner's successor */
			srnic_qp_host_error(qp, CORE_HOST_LLP_LOST);
	}
	srnic_tx_unlock(qp);
	srnic_tx_run(qp);
}

bool srnic_qp_closed(struct srnic_qp *qp, const struct srnic_qp_owner *owner)
{
	bool closed;

	mutex_lock(&qp->tx.mutex);
	closed = !srnic_qp_is_owner(qp, owner) || srnic_tx_closed(qp);
	srnic_tx_unlock(qp);
	return closed;
}
