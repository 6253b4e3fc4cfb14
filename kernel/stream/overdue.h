/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Requests that the peer does not acknowledge (Documentation/ib.rst rule 28). For QPs with
 * acknowledgements.
 */
#ifndef SRNIC_OVERDUE_H
#define SRNIC_OVERDUE_H

#include "stream/acks.h"

/* The QP has got its acknowledgements. */
void srnic_overdue_init(struct srnic_qp *qp);
/*
 * A stream begins. While few packets are under way, TCP sends them again at each timeout, six times
 * before it backs off: after an outage they arrive before their requests are overdue. Any QP;
 * process context, the socket not locked.
 */
void srnic_overdue_begin(struct srnic_qp *qp);
/* The QP is freed, or in ERROR. Process context. */
void srnic_overdue_stop(struct srnic_qp *qp);

/*
 * No time counts any more if all is acknowledged. Before the QP leaves its stream. tx.mutex held.
 */
void srnic_overdue_settle(struct srnic_qp *qp);
/*
 * For the engine, before it does anything, and for a QP that has left its stream. tx.mutex held.
 *
 * The first fails the oldest request if its time is over, and the QP with it, and asks a silent
 * peer for an Ack. After the second, time counts for requests that wait.
 */
void srnic_overdue_look(struct srnic_qp *qp);
void srnic_overdue_watch(struct srnic_qp *qp);

#endif
