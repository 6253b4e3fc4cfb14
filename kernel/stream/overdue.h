/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Requests that the peer does not acknowledge (Documentation/ib.rst rule 28). For QPs with
 * acknowledgements.
 */
#ifndef SRNIC_OVERDUE_H
#define SRNIC_OVERDUE_H

#include "stream/qp.h"

/**
 * struct srnic_overdue - for how long requests have been unacknowledged
 * @timer: looks, while there are such requests. Never queued when the QP is freed
 * @qp: whose requests
 * @since: jiffies of the last progress: the peer has said something, or TCP has delivered bytes of a
 *	request or response. Either half's
 * @looked: @since when the timer looked last. This, @sent, @received and @delivered are the timer's
 *	while it is queued, else the engine's
 * @due: the engine is to look. Atomic
 * @waits: requests wait for the peer, as the engine knows it. The engine's
 * @sent: what TCP had delivered when the engine looked last
 * @received: bytes that had come then
 * @delivered: TCP has delivered all: what it delivers now is this end's question
 */
struct srnic_overdue {
	struct hrtimer timer;
	struct srnic_qp *qp;
	unsigned long since;
	unsigned long looked;
	unsigned long due;
	u32 sent, received;
	bool delivered, waits;
};

void srnic_overdue_init(struct srnic_overdue *overdue, struct srnic_qp *qp);
/* The QP is freed, or reset. Process context. */
void srnic_overdue_stop(struct srnic_overdue *overdue);

/* The peer has said something. Any context. */
static inline void srnic_overdue_progress(struct srnic_overdue *overdue)
{
	WRITE_ONCE(overdue->since, jiffies);
}

/*
 * For the engine, before it does anything, and for a QP that has left its stream. tx.mutex held.
 *
 * The first fails the oldest request if its time is over, and the QP with it, and asks a silent peer
 * for an Ack. After the second, time counts for requests that wait.
 */
void srnic_overdue_look(struct srnic_qp *qp);
void srnic_overdue_watch(struct srnic_qp *qp);

#endif
