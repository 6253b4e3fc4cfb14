// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The batch that an engine has while it is not idle: allocated when there is something to send,
 * freed when it was not used for a second.
 */
#include <linux/slab.h>

#include "stream/kick/kick.h"
#include "stream/transmit/own_batch.h"
#include "stream/transmit/stall.h"

#define TRIM_DELAY	HZ	/* unused for this long, pages are given back */

/* Drops the batch's reference to the QP as well: the caller needs another one. */
static void free_batch(struct srnic_qp *qp)
{
	struct srnic_own_batch *own = srnic_own_batch(&qp->tx);

	qp->tx.batch = &srnic_no_batch;
	srnic_batch_release(&own->batch);
	kfree(own);
	srnic_qp_put(qp);
}

/* Waits for no engine: srnic_own_batch_release() waits for this, with the mutex held. */
static void trim_work(struct work_struct *work)
{
	struct srnic_own_batch *own =
		container_of(to_delayed_work(work), struct srnic_own_batch, trim);
	struct srnic_qp *qp = own->qp;
	bool done = false;

	srnic_qp_hold(qp);
	if (mutex_trylock(&qp->tx.mutex)) {
		done = srnic_batch_trim(&own->batch);
		if (done)
			free_batch(qp);
		srnic_tx_unlock(qp);
	}
	if (!done)
		queue_delayed_work(srnic_wq, &own->trim, TRIM_DELAY);
	srnic_qp_put(qp);
}

static int alloc_batch(struct srnic_qp *qp, gfp_t gfp)
{
	struct srnic_own_batch *own = srnic_qp_zalloc(qp, sizeof(*own), gfp);

	if (!own)
		return -ENOMEM;
	srnic_batch_init(&own->batch, qp->payer);
	INIT_DELAYED_WORK(&own->trim, trim_work);
	srnic_qp_hold(qp);
	own->qp = qp;
	qp->tx.batch = &own->batch;
	return 0;
}

static int try_reserve(struct srnic_qp *qp, u32 len)
{
	struct srnic_tx *tx = &qp->tx;
	gfp_t gfp = srnic_engine_may_wait(tx) ? SRNIC_BATCH_GFP : SRNIC_BATCH_GFP_NOW;

	if (tx->batch == &srnic_no_batch && alloc_batch(qp, gfp))
		return -ENOMEM;
	queue_delayed_work(srnic_wq, &srnic_own_batch(tx)->trim, TRIM_DELAY);
	return srnic_batch_reserve(tx->batch, len, gfp);
}

int srnic_own_batch_reserve(struct srnic_qp *qp, u32 len)
{
	int ret = try_reserve(qp, len);

	if (unlikely(ret) && srnic_engine_may_wait(&qp->tx))
		srnic_tx_stalled(qp, SRNIC_TX_NO_MEMORY);
	return ret;
}

void srnic_own_batch_release(struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->tx.mutex);
	if (qp->tx.batch == &srnic_no_batch)
		return;
	cancel_delayed_work_sync(&srnic_own_batch(&qp->tx)->trim);
	free_batch(qp);
}

struct srnic_qp *srnic_take_run_next(struct srnic_tx *tx)
{
	struct srnic_qp *run_next;

	if (tx->batch == &srnic_no_batch)
		return NULL;
	run_next = srnic_own_batch(tx)->run_next;
	srnic_own_batch(tx)->run_next = NULL;
	return run_next;
}

void srnic_leave_run_next(struct srnic_tx *tx)
{
	struct srnic_qp *run_next = srnic_take_run_next(tx);

	if (!run_next)
		return;
	srnic_tx_kick(run_next);
	srnic_qp_put(run_next);
}
