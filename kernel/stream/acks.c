// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Acknowledgements of a QP: requests complete when the peer has done them, or are sent again, or
 * are refused (Documentation/ib.rst). The core decides (core/ib/); here are queues, timers and
 * states.
 */
#include <linux/slab.h>
#include <net/inet_connection_sock.h>
#include <net/sock.h>

#include "compat/compat.h"
#include "report/trace.h"
#include "stream/acks.h"
#include "stream/kick/kick.h"
#include "stream/owner.h"
#include "stream/state.h"

#define LATE_NS	(10 * NSEC_PER_MSEC)	/* rule 14 */

enum srnic_acks_due {
	DELAY_OVER,
	LATE,
};

/* ---- life ---- */

static enum hrtimer_restart fall_due(struct srnic_acks *acks, enum srnic_acks_due what)
{
	set_bit(what, &acks->due);
	srnic_tx_kick(acks->qp);
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart delay_over(struct hrtimer *timer)
{
	return fall_due(container_of(timer, struct srnic_acks, delay), DELAY_OVER);
}

static enum hrtimer_restart late(struct hrtimer *timer)
{
	return fall_due(container_of(timer, struct srnic_acks, late), LATE);
}

int srnic_acks_alloc(struct srnic_qp *qp)
{
	u32 entries = qp->sq.ring.entries;
	struct srnic_acks *acks;

	acks = kvzalloc(offsetof(struct srnic_acks, sent[entries]), GFP_KERNEL_ACCOUNT);
	if (!acks)
		return -ENOMEM;
	acks->qp = qp;
	srnic_compat_hrtimer(&acks->delay, delay_over);
	srnic_compat_hrtimer(&acks->late, late);
	srnic_ride_init(&acks->ride, qp, &acks->core);
	acks->core.rnr_retry = CORE_RNR_FOR_EVER;
	acks->core.access = qp->access_flags;
	acks->core.ask_every = qp->sq.sig_all ? 1 : max(entries / 2, 1U);
	acks->core.sent = acks->sent;
	acks->core.mask = entries - 1;
	core_acks_init(&acks->core);
	qp->acks = acks;
	return 0;
}

void srnic_acks_free(struct srnic_qp *qp)
{
	if (!qp->acks)
		return;
	srnic_acks_stop(qp);
	kvfree(qp->acks);
	qp->acks = NULL;
}

void srnic_acks_reset(struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->tx.mutex);
	qp->acks->core.paused = true;
	qp->acks->had_stream = false;
	qp->acks->communicates = false;
	qp->acks->draining = false;
	core_acks_init(&qp->acks->core);
	core_acks_start(&qp->acks->core, qp->sq.taken);
}

void srnic_acks_start(struct srnic_qp *qp)
{
	struct srnic_acks *acks = qp->acks;

	lockdep_assert_held(&qp->tx.mutex);
	if (!acks)
		return;
	core_acks_start(&acks->core, qp->sq.taken);
	acks->had_stream = true;
	acks->end = qp->sq.taken;
	acks->asked = acks->core.asked;
	acks->probes = acks->core.probes;
	acks->due = 0;
	srnic_ride_start(&acks->ride);
}

void srnic_acks_stop(struct srnic_qp *qp)
{
	if (!qp->acks)
		return;
	hrtimer_cancel(&qp->acks->delay);
	hrtimer_cancel(&qp->acks->late);
	srnic_ride_stop(&qp->acks->ride);
}

/* To the error state, without a Terminate. tx.mutex or the socket's lock held. */
static void leave_stream(struct srnic_qp *qp)
{
	srnic_qp_fail(qp);
	srnic_qp_over(qp, CORE_CONN_TERMINATED);
}

/* An event that is no error: it may be raised again. */
static void raise_event(struct srnic_qp *qp, enum ib_event_type type)
{
	struct ib_event event = { .device = qp->base.device, .element.qp = &qp->base,
				  .event = type };

	if (qp->base.event_handler)
		qp->base.event_handler(&event, qp->base.qp_context);
}

static enum ib_event_type event_of(u8 syndrome)
{
	return syndrome == CORE_SYNDROME_ACCESS ? IB_EVENT_QP_ACCESS_ERR : IB_EVENT_QP_REQ_ERR;
}

/* A request of the peer is refused, which the engine says behind the responses that come before. */
static void report_refusal(struct srnic_qp *qp, u32 number, u8 syndrome)
{
	trace_srnic_refused(qp, number, syndrome);
	if (syndrome == CORE_SYNDROME_NOT_READY) {
		srnic_qp_count(qp, SRNIC_RX_NOT_READY, 1);
		return;
	}
	srnic_qp_count(qp, SRNIC_RX_REFUSED, 1);
	srnic_qp_event(qp, event_of(syndrome));
}

/* ---- the engine ---- */

void srnic_acks_take_due(struct srnic_qp *qp)
{
	struct srnic_acks *acks = qp->acks;

	lockdep_assert_held(&qp->tx.mutex);
	if (test_and_clear_bit(DELAY_OVER, &acks->due))
		core_tx_resume(&qp->tx.core);
	if (test_and_clear_bit(LATE, &acks->due))
		core_tx_ack_now(&qp->tx.core);
}

/* The socket's lock keeps acknowledgements of the peer out meanwhile. */
bool srnic_acks_go_back(struct srnic_qp *qp)
{
	struct sock *sk = qp->sock->sk;
	struct core_rewind how;

	lockdep_assert_held(&qp->tx.mutex);
	if (!core_tx_must_rewind(&qp->tx.core, &how))
		return false;
	srnic_held_drop(&qp->tx.held);
	lock_sock(sk);
	srnic_sq_go_back(&qp->sq, how.index);
	srnic_reads_forget(&qp->outbound, how.reads);
	core_tx_rewind(&qp->tx.core);
	release_sock(sk);
	srnic_qp_count(qp, SRNIC_TX_REWINDS, 1);
	trace_srnic_rewind(qp, how.index, how.delay);
	hrtimer_start(&qp->acks->delay, ns_to_ktime((u64)how.delay * NSEC_PER_USEC),
		      HRTIMER_MODE_REL);
	return true;
}

bool srnic_acks_over(struct srnic_qp *qp)
{
	struct sock *sk = qp->sock->sk;

	lockdep_assert_held(&qp->tx.mutex);
	if (core_tx_over(&qp->tx.core) == CORE_OVER_NOT)
		return false;
	lock_sock(sk);	/* what the peer has acknowledged completes before the flush */
	release_sock(sk);
	leave_stream(qp);
	return true;
}

void srnic_acks_rest(struct srnic_qp *qp)
{
	struct srnic_acks *acks = qp->acks;

	if (core_acks_owed(&acks->core) && !hrtimer_is_queued(&acks->late))
		hrtimer_start(&acks->late, ns_to_ktime(LATE_NS), HRTIMER_MODE_REL);
}

void srnic_acks_source_gone(struct srnic_qp *qp, u32 number)
{
	lockdep_assert_held(&qp->tx.mutex);
	srnic_held_drop(&qp->tx.held);
	report_refusal(qp, number, CORE_SYNDROME_ACCESS);
}

void srnic_acks_look_drained(struct srnic_qp *qp)
{
	struct srnic_acks *acks = qp->acks;

	lockdep_assert_held(&qp->tx.mutex);
	if (!acks->draining || core_acks_unacknowledged(&acks->core))
		return;
	if (qp->sock) {
		lock_sock(qp->sock->sk);	/* what is acknowledged completes before */
		release_sock(qp->sock->sk);
	}
	WRITE_ONCE(acks->draining, false);
	raise_event(qp, IB_EVENT_SQ_DRAINED);
}

/* ---- the receive half ---- */

/* Does the engine wait for what the peer has just acknowledged? */
static bool is_awaited(const struct srnic_acks *acks)
{
	return core_acks_awaited(&acks->core) || READ_ONCE(acks->draining);
}

/* Requests before this index are done, but for those that a response completes. */
static void complete_before(struct srnic_qp *qp, u32 end)
{
	struct srnic_acks *acks = qp->acks;

	if ((s32)(end - acks->end) <= 0)
		return;
	srnic_sq_complete_sent(&qp->sq, acks->end, end);
	acks->end = end;
}

void srnic_acks_responded(struct srnic_qp *qp)
{
	srnic_note_progress(&qp->acks->overdue);
	complete_before(qp, core_rx_acked(&qp->rx.core)->end);
	if (is_awaited(qp->acks))
		srnic_tx_kick(qp);
}

/* What only answers a question of this end leaves the time of a request as it is (rule 28). */
static bool has_news(const struct srnic_qp *qp, const struct core_acked *acked)
{
	return acked->kind != CORE_ACKED || (s32)(acked->end - qp->acks->end) > 0;
}

static void deliver_acked(struct srnic_qp *qp)
{
	const struct core_acked *acked = core_rx_acked(&qp->rx.core);

	if (has_news(qp, acked))
		srnic_note_progress(&qp->acks->overdue);
	srnic_qp_count(qp, SRNIC_RX_ACKS, 1);
	complete_before(qp, acked->end);
	if (acked->kind == CORE_ACKED_REFUSED) {
		core_rx_stop(&qp->rx.core);
		srnic_sq_blame(&qp->sq, acked->end, acked->status);	/* flushed: kept.h */
		leave_stream(qp);
	} else if (acked->kind == CORE_ACKED_AGAIN || is_awaited(qp->acks)) {
		srnic_tx_kick(qp);
	}
}

/* The engine tells the peer, after the responses that come before. */
static void deliver_refused(struct srnic_qp *qp)
{
	u8 syndrome = qp->acks->core.refusing, status = core_rx_receive_status(&qp->rx.core);

	if (qp->rx.receive.active && status != SRNIC_WC_FLUSH_ERR)
		srnic_rq_fail(&qp->rq, &qp->rx.receive, status, 0);
	report_refusal(qp, qp->acks->core.received + 1, syndrome);
	srnic_tx_kick(qp);
}

/* InfiniBand has an event for the first request that comes before the QP may send. */
static void communicate(struct srnic_qp *qp)
{
	qp->acks->communicates = true;
	if (READ_ONCE(qp->ib_state) == IB_QPS_RTR)
		raise_event(qp, IB_EVENT_COMM_EST);
}

static bool is_request(enum core_rx_event event)
{
	return event == CORE_RX_SEND || event == CORE_RX_WRITE || event == CORE_RX_READ_REQUEST ||
	       event == CORE_RX_ATOMIC_REQUEST || event == CORE_RX_EXTENDED;
}

void srnic_acks_deliver(struct srnic_qp *qp, enum core_rx_event event)
{
	if (unlikely(!qp->acks->communicates) && is_request(event))
		communicate(qp);
	switch (event) {
	case CORE_RX_SEND:
	case CORE_RX_EXTENDED:
	case CORE_RX_WRITE:	/* a Read or Atomic Request counts where it is queued */
		core_rx_done(&qp->rx.core);
		break;
	case CORE_RX_ACK:
		deliver_acked(qp);
		break;
	case CORE_RX_REFUSED:
		deliver_refused(qp);
		break;
	case CORE_RX_FAILED:	/* this end's own memory: nothing is said to the peer */
		leave_stream(qp);
		break;
	default:
		break;
	}
}

/* Has the peer asked for an Ack since the engine was kicked last? */
static bool asked_anew(struct srnic_acks *acks)
{
	u32 asked = acks->asked, probes = acks->probes;

	acks->asked = acks->core.asked;
	acks->probes = acks->core.probes;
	return asked != acks->asked || probes != acks->probes;
}

/*
 * TCP would acknowledge small segments in one of its own as soon as they are read: just before the
 * Ack or the program's answer goes out, which acknowledges them, too.
 */
void srnic_acks_begin_run(struct sock *sk)
{
	inet_csk(sk)->icsk_ack.pending &= ~(ICSK_ACK_PUSHED | ICSK_ACK_PUSHED2);
}

void srnic_acks_end_run(struct srnic_qp *qp)
{
	if (!asked_anew(qp->acks))
		srnic_acks_rest(qp);
	else if (!srnic_ride_takes(&qp->acks->ride))
		srnic_tx_soon(qp);
}
