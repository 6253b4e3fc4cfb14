/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The transmit engine, for its own files: engine.c, requests.c, build.c. tx.mutex held for all.
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
 */
struct srnic_own_batch {
	struct srnic_batch batch;
	struct delayed_work trim;
	struct srnic_qp *qp;
};

/* Not while tx->batch is &srnic_no_batch. */
static inline struct srnic_own_batch *srnic_own_batch(const struct srnic_tx *tx)
{
	return container_of(tx->batch, struct srnic_own_batch, batch);
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
