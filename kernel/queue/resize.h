/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Queues that change their size: another ring's slots take the place of those of the queue's own
 * (include/uapi/rdma/srnic-abi.h, struct srnic_resize_req).
 */
#ifndef SRNIC_RESIZE_H
#define SRNIC_RESIZE_H

#include <linux/mutex.h>
#include <linux/spinlock.h>

#include "queue/ring.h"

/**
 * struct srnic_resize - the rings of a queue beside its own
 * @lock: mutex, for one command at a time; protects @next and @used. The queue's lock nests inside
 * @next: prepared; no header: none is
 * @used: the ring whose slots the queue uses; no header: its own
 */
struct srnic_resize {
	struct mutex lock;
	struct srnic_ring next;
	struct srnic_ring used;
};

/* What is in a queue: the slots from index @from up to, without, @to. */
struct srnic_span {
	u32 from, to;
};

/**
 * struct srnic_resizing - a queue that shall switch to the prepared ring
 * @resize: with its lock held
 * @ring: the queue's
 * @lock: irqsave, under which both sides of the kernel use @ring
 * @span: what is in the queue now. A user may have moved its index anywhere. @lock held
 */
struct srnic_resizing {
	struct srnic_resize *resize;
	struct srnic_ring *ring;
	spinlock_t *lock;
	struct srnic_span (*span)(struct srnic_resizing *resizing);
};

void srnic_resize_init(struct srnic_resize *resize);
/* With the queue: frees the rings. */
void srnic_resize_free(struct srnic_resize *resize);
/*
 * Makes a ring of at least entries slots for a queue with this one, in place of one that was
 * prepared before; a user's context is to map it. @lock held. 0 or -errno.
 */
int srnic_resize_prepare(struct srnic_resize *resize, struct srnic_ring *ring, u32 entries,
			 struct ib_ucontext *context);
/*
 * Moves what is in the queue to the ring prepared for so many entries, and uses its slots from then
 * on. 0, or -EINVAL: there is no such ring, more is in the queue than it holds, or the user goes on
 * using the queue. May sleep.
 */
int srnic_resize_switch(struct srnic_resizing *resizing, u32 entries);

/* The step that a user wants (enum srnic_resize_step), or -errno. Nothing is responded. */
int srnic_resize_step(struct ib_udata *udata);
/* The context of that user. */
struct ib_ucontext *srnic_resize_context(struct ib_udata *udata);

#endif
