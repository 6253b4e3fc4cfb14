// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Flushing a queue (RFC 5040 6.2.1), however long, with interrupts off for a chunk at a time.
 */
#include "queue/flush.h"

static enum srnic_flushed flush_chunk(struct srnic_flushing *flushing,
				      struct srnic_cq_batch *batch)
{
	enum srnic_flushed flushed = SRNIC_FLUSHED_ONE;

	lockdep_assert_held(flushing->lock);
	srnic_cq_batch_begin(batch, flushing->cq);
	for (u32 n = 0; n < SRNIC_CQ_CHUNK && flushed == SRNIC_FLUSHED_ONE; n++)
		flushed = flushing->oldest(flushing, batch);
	srnic_cq_batch_end(batch);
	return flushed;
}

bool srnic_flush_queue(struct srnic_flushing *flushing)
{
	enum srnic_flushed flushed;
	struct srnic_cq_batch batch;
	unsigned long flags;

	do {
		spin_lock_irqsave(flushing->lock, flags);
		flushed = flush_chunk(flushing, &batch);
		spin_unlock_irqrestore(flushing->lock, flags);
		srnic_cq_batch_notify(&batch);
		cond_resched();
	} while (flushed == SRNIC_FLUSHED_ONE);
	return flushed == SRNIC_FLUSHED_ALL;
}
