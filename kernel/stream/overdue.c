// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Requests that the peer does not acknowledge (Documentation/ib.rst rule 28). How long they may be
 * is the core's decision (core/ib/times.cc). A long message is acknowledged when it is complete, so
 * bytes of it that TCP delivers, and those of a response that are placed, count as signs of life.
 */
#include <net/sock.h>
#include <net/tcp.h>

#include "compat/compat.h"
#include "stream/kick/kick.h"
#include "stream/overdue.h"
#include "stream/owner.h"
#include "stream/state.h"
#include "stream/transmit/kept.h"

/* How often to look: often enough to be late by no more than a tenth. */
#define LOOKS		16
#define SHORTEST	(HZ / 8)
#define LONGEST		(5 * HZ)

/* jiffies; 0: for ever */
static unsigned long limit_of(const struct srnic_qp *qp)
{
	u64 us = core_ack_timeout(READ_ONCE(qp->ack_timeout), READ_ONCE(qp->retry_cnt));

	return us ? nsecs_to_jiffies(us * NSEC_PER_USEC) + 1 : 0;	/* never early */
}

static ktime_t interval(const struct srnic_qp *qp)
{
	unsigned long limit = limit_of(qp);

	limit = limit ? clamp_t(unsigned long, limit / LOOKS, SHORTEST, LONGEST) : LONGEST;
	return ns_to_ktime(jiffies_to_nsecs(limit));
}

/* Most of the time the peer has said something since. */
static enum hrtimer_restart look(struct hrtimer *timer)
{
	struct srnic_overdue *overdue = container_of(timer, struct srnic_overdue, timer);
	unsigned long since = READ_ONCE(overdue->since);

	if (since != overdue->looked) {
		overdue->looked = since;
		overdue->delivered = false;
		hrtimer_forward_now(timer, interval(overdue->qp));
		return HRTIMER_RESTART;
	}
	set_bit(0, &overdue->due);
	srnic_tx_kick(overdue->qp);
	return HRTIMER_NORESTART;
}

void srnic_overdue_init(struct srnic_qp *qp)
{
	qp->acks->overdue.qp = qp;
	srnic_compat_hrtimer(&qp->acks->overdue.timer, look);
}

/* Only QPs with requests that become overdue need it: iWARP's sockets stay as TCP has them. */
void srnic_overdue_begin(struct srnic_qp *qp)
{
	int on = 1;

	if (qp->acks)
		sock_common_setsockopt(qp->sock, SOL_TCP, TCP_THIN_LINEAR_TIMEOUTS,
				       KERNEL_SOCKPTR(&on), sizeof(on));
}

void srnic_overdue_stop(struct srnic_qp *qp)
{
	hrtimer_cancel(&qp->acks->overdue.timer);
	qp->acks->overdue.due = 0;
}

/* Has TCP delivered more of what was sent? */
static bool sends_move(struct srnic_overdue *overdue, const struct tcp_sock *tp)
{
	u32 sent = READ_ONCE(tp->snd_una);
	bool moved = !overdue->delivered && sent != overdue->sent;

	overdue->sent = sent;
	overdue->delivered |= sent == READ_ONCE(tp->write_seq);
	return moved;
}

static bool bytes_move(struct srnic_qp *qp)
{
	return qp->sock && sends_move(&qp->acks->overdue, tcp_sk(qp->sock->sk));
}

static void look_again(struct srnic_qp *qp)
{
	hrtimer_start(&qp->acks->overdue.timer, interval(qp), HRTIMER_MODE_REL);
}

/*
 * Unacknowledged; or posted to a QP that has lost its stream (rule 68: "the next request finds
 * out"). What is posted before the first stream waits for ever (rule 54).
 */
static bool waits(const struct srnic_qp *qp)
{
	const struct srnic_acks *acks = qp->acks;

	return core_acks_unacknowledged(&acks->core) ||
	       (acks->had_stream && !qp->sock && !acks->core.paused &&
		srnic_sq_pending(&qp->sq));
}

void srnic_overdue_settle(struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->tx.mutex);
	if (!waits(qp))
		qp->acks->overdue.waits = false;
}

void srnic_overdue_watch(struct srnic_qp *qp)
{
	struct srnic_overdue *overdue = &qp->acks->overdue;
	bool waited = overdue->waits;

	lockdep_assert_held(&qp->tx.mutex);
	overdue->waits = waits(qp);
	if (!overdue->waits)
		return;
	if (!waited)
		srnic_note_progress(overdue);
	if (hrtimer_is_queued(&overdue->timer) || test_bit(0, &overdue->due))
		return;
	if (hrtimer_active(&overdue->timer)) {	/* it looks, and may queue itself */
		srnic_tx_kick(qp);
		return;
	}
	overdue->looked = READ_ONCE(overdue->since);
	overdue->delivered = false;
	bytes_move(qp);
	look_again(qp);
}

/*
 * Without an answer nothing of this end shows that the peer is gone, once TCP has delivered all.
 * What TCP could not send for want of a route or link it sends late after their return (its probe
 * backs off), or now: setting the option again pushes.
 */
static void ask(struct srnic_qp *qp)
{
	if (!qp->sock)
		return;
	if (qp->acks->overdue.delivered)
		core_tx_probe(&qp->tx.core);
	else
		tcp_sock_set_nodelay(qp->sock->sk);
}

/* Once its receive half has stopped, the peer acknowledges nothing more. */
static void fail(struct srnic_qp *qp)
{
	struct sock *sk = qp->sock ? qp->sock->sk : NULL;

	if (sk) {
		lock_sock(sk);
		core_rx_stop(&qp->rx.core);
		release_sock(sk);
	}
	srnic_kept_end(qp);
	srnic_sq_fail_oldest(&qp->sq, SRNIC_WC_RETRY_EXC_ERR);
	srnic_qp_count(qp, SRNIC_TX_OVERDUE, 1);
	srnic_qp_note_end(qp, SRNIC_END_TCP, ETIMEDOUT);
	srnic_qp_fail(qp);
	if (sk)
		srnic_qp_over(qp, CORE_CONN_TERMINATED);
}

static bool is_over(struct srnic_qp *qp)
{
	struct srnic_overdue *overdue = &qp->acks->overdue;
	unsigned long limit = limit_of(qp);

	if (bytes_move(qp)) {
		srnic_note_progress(overdue);
		return false;
	}
	return limit && time_after(jiffies, READ_ONCE(overdue->since) + limit);
}

void srnic_overdue_look(struct srnic_qp *qp)
{
	struct srnic_overdue *overdue = &qp->acks->overdue;

	srnic_overdue_settle(qp);
	if (!test_and_clear_bit(0, &overdue->due) || !overdue->waits)
		return;
	if (overdue->looked != READ_ONCE(overdue->since))
		overdue->delivered = false;
	if (is_over(qp)) {
		fail(qp);
		return;
	}
	overdue->looked = READ_ONCE(overdue->since);
	ask(qp);
	look_again(qp);
}
