// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A QP on a connected socket: owner, socket callbacks, start, drain and stop (RFC 5044 7.1.2 and
 * 7.2, RFC 5041 6.2). engine.c sends and rx.c receives.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "stream/attach.h"
#include "stream/qp.h"
#include "stream/shortcut.h"

/* ---- the owner ---- */

static bool is_owner(const struct srnic_qp *qp, const struct srnic_qp_owner *owner)
{
	return READ_ONCE(qp->owner) == owner;
}

int srnic_qp_claim(struct srnic_qp *qp, struct srnic_qp_owner *owner)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&qp->state_lock, flags);
	if (qp->state != SRNIC_QP_IDLE) {
		ret = -EINVAL;
	} else if (qp->owner) {
		ret = -EBUSY;
	} else {
		owner->ops->hold(owner);
		WRITE_ONCE(qp->owner, owner);
	}
	spin_unlock_irqrestore(&qp->state_lock, flags);
	return ret;
}

/* Clears the owner if it is `only`; any owner if that is NULL. */
static void clear_owner(struct srnic_qp *qp, struct srnic_qp_owner *only)
{
	struct srnic_qp_owner *owner;
	unsigned long flags;

	spin_lock_irqsave(&qp->state_lock, flags);
	owner = !only || qp->owner == only ? qp->owner : NULL;
	if (owner)
		WRITE_ONCE(qp->owner, NULL);
	spin_unlock_irqrestore(&qp->state_lock, flags);
	if (owner)
		owner->ops->put(owner);
}

void srnic_qp_unclaim(struct srnic_qp *qp, struct srnic_qp_owner *owner)
{
	clear_owner(qp, owner);
}

/* Errors that the QP found itself were noted there, with their details. */
static enum srnic_end end_of(enum srnic_over why)
{
	switch (why) {
	case SRNIC_OVER_PEER_CLOSED:
		return SRNIC_END_PEER_CLOSED;
	case SRNIC_OVER_RESET:
		return SRNIC_END_TCP;
	case SRNIC_OVER_CLOSE:
		return SRNIC_END_CLOSED;
	default:
		return SRNIC_END_ABORTED;
	}
}

void srnic_qp_over(struct srnic_qp *qp, enum srnic_over why)
{
	srnic_qp_note_end(qp, end_of(why), 0);
	qp->owner->ops->over(qp->owner, why);
}

void srnic_qp_disconnect(struct srnic_qp *qp, enum srnic_over why)
{
	struct srnic_qp_owner *owner;
	unsigned long flags;

	spin_lock_irqsave(&qp->state_lock, flags);
	owner = qp->owner;
	if (owner) {
		/* here, while the QP cannot get another connection */
		srnic_qp_note_end_locked(qp, end_of(why), 0);
		owner->ops->hold(owner);
	}
	spin_unlock_irqrestore(&qp->state_lock, flags);
	if (!owner)
		return;
	owner->ops->over(owner, why);
	owner->ops->put(owner);
}

/*
 * ---- the socket's callbacks ----
 *
 * sk_callback_lock keeps sk_user_data, qp->owner and the old callbacks in place. Take it with
 * bottom halves off: TCP also calls from process context (release_sock()), and takes this lock
 * inside the socket's spinlock.
 */

static void data_ready(struct sock *sk)
{
	struct srnic_qp *qp;

	read_lock_bh(&sk->sk_callback_lock);
	qp = sk->sk_user_data;
	if (qp)
		srnic_rx_run(qp, sk);
	read_unlock_bh(&sk->sk_callback_lock);
}

bool srnic_qp_take(struct sock *sk, const struct bio_vec *vec, u32 num)
{
	struct srnic_qp *qp;

	read_lock_bh(&sk->sk_callback_lock);
	qp = sk->sk_data_ready == data_ready ? sk->sk_user_data : NULL;
	if (qp)
		srnic_rx_take(qp, sk, vec, num);
	read_unlock_bh(&sk->sk_callback_lock);
	return qp;
}

static void write_space(struct sock *sk)
{
	struct srnic_qp *qp;

	read_lock_bh(&sk->sk_callback_lock);
	qp = sk->sk_user_data;
	if (qp) {
		if (sk_stream_is_writeable(sk))
			srnic_tx_kick(qp);
		qp->old_write_space(sk);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void tcp_failed(struct srnic_qp *qp, const struct sock *sk)
{
	srnic_qp_note_end(qp, SRNIC_END_TCP, READ_ONCE(sk->sk_err));
	srnic_qp_over(qp, SRNIC_OVER_RESET);
}

/*
 * FIN may be reported before the bytes ahead of it: srnic_qp_close() and srnic_qp_stop() read them.
 */
static void state_change(struct sock *sk)
{
	struct srnic_qp *qp;

	read_lock_bh(&sk->sk_callback_lock);
	qp = sk->sk_user_data;
	if (qp) {
		if (sk->sk_err || sk->sk_state == TCP_CLOSE)
			tcp_failed(qp, sk);
		else if (sk->sk_shutdown & RCV_SHUTDOWN)
			srnic_qp_over(qp, SRNIC_OVER_PEER_CLOSED);
		qp->old_state_change(sk);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void error_report(struct sock *sk)
{
	struct srnic_qp *qp;

	read_lock_bh(&sk->sk_callback_lock);
	qp = sk->sk_user_data;
	if (qp) {
		tcp_failed(qp, sk);
		qp->old_error_report(sk);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void install_callbacks(struct srnic_qp *qp, struct sock *sk)
{
	write_lock_bh(&sk->sk_callback_lock);
	qp->old_data_ready = sk->sk_data_ready;
	qp->old_state_change = sk->sk_state_change;
	qp->old_write_space = sk->sk_write_space;
	qp->old_error_report = sk->sk_error_report;
	sk->sk_user_data = qp;
	sk->sk_data_ready = data_ready;
	sk->sk_state_change = state_change;
	sk->sk_write_space = write_space;
	sk->sk_error_report = error_report;
	write_unlock_bh(&sk->sk_callback_lock);
}

static void restore_callbacks(struct srnic_qp *qp, struct sock *sk)
{
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_data_ready = qp->old_data_ready;
	sk->sk_state_change = qp->old_state_change;
	sk->sk_write_space = qp->old_write_space;
	sk->sk_error_report = qp->old_error_report;
	write_unlock_bh(&sk->sk_callback_lock);
}

/* ---- a peer that is gone ---- */

#define MIN_PEER_TIMEOUT	2000	/* ms: time for TCP to retransmit a few times */

#define MAX_ACK_TIMEOUT		31	/* IBTA has five bits for it */

/* In ms; 0: TCP's own time. IBTA's timeout t is 4.096 us * 2^t, for each try. */
static u32 peer_timeout(const struct srnic_qp *qp)
{
	u32 tries = 1 + qp->retry_cnt;

	if (!qp->ack_timeout)
		return READ_ONCE(qp->dev->peer_timeout) * MSEC_PER_SEC;
	return clamp_t(u64, div_u64((4096ULL << qp->ack_timeout) * tries, NSEC_PER_MSEC),
		       MIN_PEER_TIMEOUT, SRNIC_MAX_PEER_TIMEOUT * MSEC_PER_SEC);
}

static void stop_keepalive(struct sock *sk)
{
	lock_sock(sk);
	if (sk->sk_prot->keepalive)
		sk->sk_prot->keepalive(sk, 0);
	sock_reset_flag(sk, SOCK_KEEPOPEN);
	release_sock(sk);
}

void srnic_qp_watch_peer(struct srnic_qp *qp)
{
	u32 timeout = peer_timeout(qp), seconds = timeout / MSEC_PER_SEC;
	struct sock *sk = qp->sock->sk;

	lockdep_assert_held(&qp->tx.mutex);
	/* Bounds unacknowledged bytes and probes, so the number of probes does not matter. */
	tcp_sock_set_user_timeout(sk, timeout);
	if (!timeout) {
		stop_keepalive(sk);
		return;
	}
	tcp_sock_set_keepidle(sk, max(seconds / 3, 1U));
	tcp_sock_set_keepintvl(sk, max(seconds / 6, 1U));
	sock_set_keepalive(sk);
}

void srnic_qp_set_ack_timeout(struct srnic_qp *qp, const struct srnic_qp_owner *owner, u8 timeout)
{
	if (!timeout)
		return;
	mutex_lock(&qp->tx.mutex);
	if (is_owner(qp, owner))
		qp->ack_timeout = min_t(u8, timeout, MAX_ACK_TIMEOUT);
	srnic_tx_unlock(qp);
}

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

	qp->ord = min_t(u32, agreed->ord, SRNIC_MAX_ORD);
	qp->ird = min_t(u32, agreed->ird, SRNIC_MAX_IRD);
	former = set_active_memcg(qp->payer);
	ret = srnic_reads_alloc(&qp->inbound, qp->ird, sizeof(struct core_asked)) ?:
	      srnic_reads_alloc(&qp->outbound, qp->ord,
				struct_size(read, sge, qp->cap.max_send_sge));
	set_active_memcg(former);
	if (ret)
		srnic_qp_free_reads(qp);
	return ret;
}

static int start_locked(struct srnic_qp *qp, const struct srnic_qp_start *start)
{
	int ret;

	lockdep_assert_held(&qp->tx.mutex);
	if (qp->sock || READ_ONCE(qp->state) != SRNIC_QP_IDLE || !is_owner(qp, start->owner))
		return -EINVAL;
	ret = alloc_reads(qp, &start->agreed);
	if (ret)
		return ret;
	srnic_tx_start(qp, start);
	srnic_rx_start(qp, start);
	qp->event_raised = false;
	qp->sock = start->sock;
	if (srnic_qp_move(qp, BIT(SRNIC_QP_IDLE), SRNIC_QP_RTS, NULL))
		return 0;
	qp->sock = NULL;	/* a modify or destroy came in between */
	return -EINVAL;
}

int srnic_qp_start(struct srnic_qp *qp, const struct srnic_qp_start *start)
{
	struct sock *sk = start->sock->sk;
	int ret;

	mutex_lock(&qp->tx.mutex);
	ret = start_locked(qp, start);
	if (!ret) {
		srnic_qp_watch_peer(qp);
		lock_sock(sk);
		install_callbacks(qp, sk);
		srnic_rx_run(qp, sk);
		if (sk->sk_err || sk->sk_state == TCP_CLOSE)
			tcp_failed(qp, sk);
		else if (sk->sk_shutdown & RCV_SHUTDOWN)
			srnic_qp_over(qp, SRNIC_OVER_PEER_CLOSED);
		release_sock(sk);
		srnic_shortcut_begin(qp);
		srnic_tx_kick(qp);
	}
	srnic_tx_unlock(qp);
	return ret;
}

/* ---- ending ---- */

static void stop_receiving(struct srnic_qp *qp, struct sock *sk)
{
	lock_sock(sk);
	srnic_rx_run(qp, sk);
	restore_callbacks(qp, sk);
	release_sock(sk);
}

void srnic_qp_stop(struct srnic_qp *qp, const struct srnic_qp_owner *owner)
{
	mutex_lock(&qp->tx.mutex);
	if (owner && !is_owner(qp, owner)) {
		srnic_tx_unlock(qp);
		return;
	}
	if (qp->sock) {
		stop_receiving(qp, qp->sock->sk);
		srnic_qp_note_end(qp, SRNIC_END_ABORTED, 0);
		srnic_shortcut_end(qp);
		qp->sock = NULL;
		srnic_tx_release(qp);
	}
	if (!owner)	/* one that has come since the caller told the former */
		srnic_qp_disconnect(qp, SRNIC_OVER_ABORT);
	clear_owner(qp, NULL);
	srnic_qp_move(qp, SRNIC_QP_ANY_BUT(SRNIC_QP_ERROR), SRNIC_QP_ERROR, NULL);
	mutex_unlock(&qp->tx.mutex);
	srnic_tx_run(qp);
}

void srnic_qp_give_up(struct srnic_qp *qp, const struct srnic_qp_owner *owner)
{
	mutex_lock(&qp->tx.mutex);
	if (is_owner(qp, owner) && srnic_qp_move(qp, BIT(SRNIC_QP_IDLE), SRNIC_QP_ERROR, NULL))
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
	if (is_owner(qp, owner)) {
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
	closed = !is_owner(qp, owner) || srnic_tx_closed(qp);
	srnic_tx_unlock(qp);
	return closed;
}
