/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The transmit engine, for its own files: engine.c, run.c, requests.c, build.c. tx.mutex held for
 * all but srnic_tx_work().
 */
#ifndef SRNIC_ENGINE_H
#define SRNIC_ENGINE_H

#include "stream/qp.h"

/*
 * How a run ended.
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
void srnic_tx_stalled(struct srnic_qp *qp, enum srnic_counter why);

/* The request that was taken last, or may be taken next. */
static inline const struct srnic_send_wqe *srnic_tx_wqe(const struct srnic_tx *tx)
{
	return tx->wqe;
}

static inline const struct srnic_sge *srnic_tx_sges(const struct srnic_tx *tx)
{
	return (const struct srnic_sge *)(srnic_tx_wqe(tx) + 1);
}

/**
 * struct srnic_own_batch - what an engine has while it is not idle
 * @batch: srnic_tx.batch
 * @trim: frees this when it was not used for a second
 * @qp: referenced
 * @asked: the QP that heard from this one in the last sendmsg and is to be answered by its caller
 *	(asker.h), referenced, or NULL. Always NULL when tx.mutex is dropped
 */
struct srnic_own_batch {
	struct srnic_batch batch;
	struct delayed_work trim;
	struct srnic_qp *qp;
	struct srnic_qp *asked;
};

/* Not while tx->batch is &srnic_no_batch. */
static inline struct srnic_own_batch *srnic_own_batch(const struct srnic_tx *tx)
{
	return container_of(tx->batch, struct srnic_own_batch, batch);
}

/* ---- engine.c ---- */

/* What the QP's state asks for. */
enum engine_result srnic_engine_pass(struct srnic_qp *qp);

/* ---- run.c ---- */

void srnic_tx_work(struct work_struct *work);
/* A worker answers who was asked: the caller goes on with its own work, and may have to wait. */
void srnic_engine_asked_wait(struct srnic_tx *tx);

/* May it wait for the memory of the QP's user? Not who also works for others. */
static inline bool srnic_engine_may_wait(const struct srnic_tx *tx)
{
	return tx->where == SRNIC_TX_PASSES_DOORBELL || tx->where == SRNIC_TX_PASSES_WORKER;
}

/* ---- requests.c: callbacks of the core ---- */

/* Is there a send request that may be taken? */
bool srnic_request_pending(struct srnic_qp *qp);
/* The peer's oldest RDMA Read that is not answered, or NULL. */
const struct core_asked *srnic_inbound_read(struct srnic_qp *qp);

/* ---- build.c: FPDUs in the batch ---- */

/*
 * Adds the FPDU that the core has chosen, or nothing if its payload cannot be read: the core then
 * terminates the stream. The caller has reserved room for it.
 */
void srnic_build_fpdu(struct srnic_qp *qp);

#endif
