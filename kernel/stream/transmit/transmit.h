/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The transmit engine, for callers that run, flush or end it.
 */
#ifndef SRNIC_TRANSMIT_H
#define SRNIC_TRANSMIT_H

#include "stream/qp.h"

struct srnic_qp_start;

/* ---- run.c ---- */

void srnic_tx_init(struct srnic_qp *qp);
/* Runs the engine now, for a bounded time; the workqueue does the rest. Process context. */
void srnic_tx_run(struct srnic_qp *qp);
/* Runs it for a user's doorbell: in a burst the engine stands by afterwards (srnic-abi.h). */
void srnic_tx_doorbell(struct srnic_qp *qp);

/* ---- engine.c ---- */

/* Resets the engine for a new connection. tx.mutex held. */
void srnic_tx_start(struct srnic_qp *qp, const struct srnic_qp_start *start);
/* Is everything sent that srnic_qp_close() waits for? tx.mutex held. */
bool srnic_tx_closed(struct srnic_qp *qp);
/*
 * Before the QP fails or is destroyed: gives a pending Terminate to TCP, if TCP has room, because
 * the engine would not send it later (RFC 5040 6.2.1). Does not wait for room. tx.mutex held.
 */
void srnic_tx_last_terminate(struct srnic_qp *qp);

/* ---- flush.c ---- */

/*
 * Flushes everything queued. A later post must ring the doorbell (srnic-abi.h, SRNIC_QUEUE_ERROR).
 * False if some of it waits for room in a CQ: then call it again. tx.mutex held, the state ERROR or
 * TERMINATING.
 */
bool srnic_tx_flush(struct srnic_qp *qp, enum srnic_flush how);
/* How requests are flushed: depends on the consumer. */
enum srnic_flush srnic_tx_flush_of(const struct srnic_qp *qp);

#endif
