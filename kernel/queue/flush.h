/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Flushing a queue: its requests complete in error, a chunk at a time.
 */
#ifndef SRNIC_QUEUE_FLUSH_H
#define SRNIC_QUEUE_FLUSH_H

#include "queue/cq.h"

enum srnic_flushed {
	SRNIC_FLUSHED_ONE,
	SRNIC_FLUSHED_ALL,	/* there was none left */
	SRNIC_FLUSHED_FULL,	/* it has to wait for room in the CQ */
};

/**
 * struct srnic_flushing - a queue that is being flushed
 * @cq: where its requests complete
 * @lock: irqsave; protects the queue. cq->lock nests inside
 * @how: what becomes of completions if @cq has no room
 * @oldest: flushes the oldest request into the batch, with @lock held; calls no handler
 */
struct srnic_flushing {
	struct srnic_cq *cq;
	spinlock_t *lock;
	enum srnic_flush how;
	enum srnic_flushed (*oldest)(struct srnic_flushing *flushing,
				     struct srnic_cq_batch *batch);
};

/* False if some requests wait for room in the CQ. Process context; may sleep. */
bool srnic_flush_queue(struct srnic_flushing *flushing);

#endif
