// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * States of a QP, why its connection ended, and the events that its consumer gets.
 */
#include <rdma/ib_verbs.h>

#include "report/trace.h"
#include "stream/kick/kick.h"
#include "stream/state.h"

/* How long a Terminate may wait for room in the socket. */
#define TERMINATE_TIMEOUT (5 * HZ)

static bool replaces(enum srnic_end end, enum srnic_end old)
{
	switch (old) {
	case SRNIC_END_NONE:
		return true;
	case SRNIC_END_CLOSED:
	case SRNIC_END_PEER_CLOSED:
		return end > SRNIC_END_ABORTED;
	default:
		return false;
	}
}

void srnic_qp_note_end_locked(struct srnic_qp *qp, enum srnic_end end, u16 detail)
{
	lockdep_assert_held(&qp->state_lock);
	if (replaces(end, srnic_end_of(qp->end)))
		WRITE_ONCE(qp->end, srnic_end_word(end, detail));
}

void srnic_qp_note_end(struct srnic_qp *qp, enum srnic_end end, u16 detail)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->state_lock, flags);
	srnic_qp_note_end_locked(qp, end, detail);
	spin_unlock_irqrestore(&qp->state_lock, flags);
}

bool srnic_qp_move(struct srnic_qp *qp, u32 from, enum srnic_qp_state to,
		   const struct core_terminate *term)
{
	unsigned long flags;
	bool moved;

	spin_lock_irqsave(&qp->state_lock, flags);
	moved = from & BIT(qp->state);
	if (moved) {
		trace_srnic_qp_state(qp, qp->state, to);
		if (term) {
			qp->tx.term = *term;
			qp->tx.term_pending = true;
			qp->tx.term_deadline = jiffies + TERMINATE_TIMEOUT;
			srnic_qp_note_end_locked(qp, SRNIC_END_ERROR, core_terminate_code(term));
		}
		if (to == SRNIC_QP_RTS)
			WRITE_ONCE(qp->end, srnic_end_word(SRNIC_END_NONE, 0));
		/* release: after term; pairs with srnic_engine_pass() */
		smp_store_release(&qp->state, to);
	}
	spin_unlock_irqrestore(&qp->state_lock, flags);
	return moved;
}

void srnic_qp_fail(struct srnic_qp *qp)
{
	if (srnic_qp_move(qp, SRNIC_QP_ANY_BUT(SRNIC_QP_ERROR), SRNIC_QP_ERROR, NULL))
		srnic_tx_kick(qp);
}

static enum ib_event_type event_of(const struct core_terminate *term)
{
	switch (core_terminate_event(term)) {
	case CORE_STREAM_ACCESS_ERROR:
		return IB_EVENT_QP_ACCESS_ERR;
	case CORE_STREAM_REQUEST_ERROR:
		return IB_EVENT_QP_REQ_ERR;
	default:
		return IB_EVENT_QP_FATAL;
	}
}

void srnic_qp_terminate(struct srnic_qp *qp, const struct core_terminate *term)
{
	if (!srnic_qp_move(qp, BIT(SRNIC_QP_RTS), SRNIC_QP_TERMINATING, term))
		return;
	ibdev_dbg(qp->base.device, "qp %u: terminating: layer %u type %u code %u\n",
		  qp->base.qp_num, term->layer, term->etype, term->code);
	srnic_qp_event(qp, event_of(term));
	srnic_tx_kick(qp);
}

void srnic_qp_host_error(struct srnic_qp *qp, enum core_host_error what)
{
	struct core_terminate term;

	core_terminate_of_host(what, &term);
	srnic_qp_terminate(qp, &term);
}

void srnic_qp_event(struct srnic_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {.device = qp->base.device, .element.qp = &qp->base, .event = type};

	if (!qp->base.event_handler || xchg(&qp->event_raised, true))
		return;
	qp->base.event_handler(&event, qp->base.qp_context);
}

void srnic_qp_last_wqe(struct srnic_qp *qp)
{
	struct ib_event event = { .device = qp->base.device, .element.qp = &qp->base,
				  .event = IB_EVENT_QP_LAST_WQE_REACHED };

	lockdep_assert_held(&qp->tx.mutex);
	if (!qp->rq.srq || !qp->base.event_handler || qp->tx.last_wqe || qp->silent)
		return;
	qp->tx.last_wqe = true;
	qp->base.event_handler(&event, qp->base.qp_context);
}
