/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The batch that an engine has while it is not idle. tx.mutex held for all.
 */
#ifndef SRNIC_OWN_BATCH_H
#define SRNIC_OWN_BATCH_H

#include "stream/qp.h"
#include "stream/transmit/batch.h"

/**
 * struct srnic_own_batch - what an engine has while it is not idle
 * @batch: srnic_tx.batch
 * @trim: frees this when it was not used for a second
 * @qp: referenced
 * @run_next: the QP that got a request in the last sendmsg, and whose engine the caller is to run
 *	(kick/asker.h), referenced, or NULL. Always NULL when tx.mutex is dropped
 */
struct srnic_own_batch {
	struct srnic_batch batch;
	struct delayed_work trim;
	struct srnic_qp *qp;
	struct srnic_qp *run_next;
};

/* Not while tx->batch is &srnic_no_batch. */
static inline struct srnic_own_batch *srnic_own_batch(const struct srnic_tx *tx)
{
	return container_of(tx->batch, struct srnic_own_batch, batch);
}

/*
 * Reserves room for the next `len` bytes in the batch, and gets a batch if there is none. 0 or
 * -ENOMEM. May sleep if srnic_engine_may_wait().
 */
int srnic_own_batch_reserve(struct srnic_qp *qp, u32 len);
/* Frees the batch and drops its reference; no engine builds any more. Sleeps. */
void srnic_own_batch_release(struct srnic_qp *qp);
/* Takes @run_next out: NULL, or the QP with its reference. */
struct srnic_qp *srnic_take_run_next(struct srnic_tx *tx);
/* Takes @run_next out and leaves it to a worker. */
void srnic_leave_run_next(struct srnic_tx *tx);

#endif
