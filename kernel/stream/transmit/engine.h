/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The transmit engine, for its own files. tx.mutex held for all.
 *
 *	batch		bytes that are built and not yet given to TCP
 *	pass		one look at the QP's state, and the work that it asks for (engine.c)
 *	run		passes of one caller until there is nothing to do (run.c)
 *	runner		who makes a run (enum srnic_runner)
 *	kick		has an engine look for work (kick/kick.h)
 *	stand by	between doorbells of a burst: the engine looks again by itself
 *	asker		the task whose sendmsg has brought this end a request of its peer
 *	response	a Read or Atomic Response, which the peer asked for
 *	held region	a region that a half may copy from or to without another lookup
 *	stall		a pass ends though there is more to send
 */
#ifndef SRNIC_ENGINE_H
#define SRNIC_ENGINE_H

#include "stream/qp.h"
#include "stream/transmit/own_batch.h"
#include "report/trace.h"

/*
 * How a pass ended.
 *
 * ENGINE_IDLE		nothing to do until a kick: a post, socket space, a read, an FPDU
 * ENGINE_MORE		there is more to do
 * ENGINE_RETRY		an allocation failed, or a CQ has no room for flushed requests
 * ENGINE_WAIT		a Terminate waits for socket space, until its deadline
 */
enum engine_result {
	ENGINE_IDLE,
	ENGINE_MORE,
	ENGINE_RETRY,
	ENGINE_WAIT,
};

/* A pass has to stop for this: counts and traces it. */
static inline void srnic_tx_stalled(struct srnic_qp *qp, enum srnic_counter why)
{
	lockdep_assert_held(&qp->tx.mutex);
	trace_srnic_tx_stall(qp, why);
	srnic_qp_count(qp, why, 1);
}

/* The request that was taken last, or may be taken next. */
static inline const struct srnic_send_wqe *srnic_tx_wqe(const struct srnic_tx *tx)
{
	return tx->wqe;
}

static inline const struct srnic_sge *srnic_tx_sges(const struct srnic_tx *tx)
{
	return (const struct srnic_sge *)(srnic_tx_wqe(tx) + 1);
}

/* The peer's oldest request that is not answered, or NULL. */
static inline const struct core_asked *srnic_tx_oldest_asked(const struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->tx.mutex);
	return srnic_reads_nth(&qp->inbound, 0);
}

/* ---- requests.c: callbacks of the core ---- */

/* Is there a send request that may be taken? */
bool srnic_request_pending(struct srnic_qp *qp);

/* ---- build.c: FPDUs in the batch ---- */

/*
 * Adds the FPDU that the core has chosen, or nothing if its payload cannot be read: the core then
 * terminates the stream. The caller has reserved room for it.
 */
void srnic_build_fpdu(struct srnic_qp *qp);

/* ---- output.c ---- */

/* What an FPDU costs the caller of a run, as bytes. */
#define SRNIC_FPDU_COST	384

/* The bytes that the batch has, or `octets` of it, cost the caller. */
static inline void srnic_tx_spend(struct srnic_tx *tx, u32 octets)
{
	tx->spent += octets + tx->core.fpdus * SRNIC_FPDU_COST;
}

/*
 * True when the whole batch is gone; then completes the requests that were built. more: a batch
 * follows at once.
 */
bool srnic_tx_send_batch(struct srnic_qp *qp, bool more);

/* ---- flush.c ---- */

/* How requests are flushed: depends on the consumer. */
enum srnic_flush srnic_tx_flush_of(const struct srnic_qp *qp);

/* ---- engine.c ---- */

/* Does what the QP's state asks for. */
enum engine_result srnic_engine_pass(struct srnic_qp *qp);

#endif
