// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queues that change their size: a ring is prepared, and what is in the queue moves to it, piece by
 * piece, while completions are added or receives taken.
 */
#include <linux/log2.h>
#include <rdma/uverbs_ioctl.h>

#include "queue/resize.h"
#include "srnic.h"
#include "udata.h"

#define CHUNK	64U	/* slots that are moved with interrupts off at a time */

void srnic_resize_init(struct srnic_resize *resize)
{
	mutex_init(&resize->lock);
}

void srnic_resize_free(struct srnic_resize *resize)
{
	srnic_ring_free(&resize->next);
	srnic_ring_free(&resize->used);
}

int srnic_resize_prepare(struct srnic_resize *resize, struct srnic_ring *ring, u32 entries,
			 struct ib_ucontext *context)
{
	int err;

	lockdep_assert_held(&resize->lock);
	srnic_ring_free(&resize->next);
	err = srnic_ring_alloc(&resize->next, entries, ring->slot_size);
	if (!err && context)
		err = srnic_ring_export(&resize->next, context, &ring->hdr->next);
	if (err)
		srnic_ring_free(&resize->next);
	return err;
}

/* @at: all before it is moved. @left: slots that may still be moved: a ring's length is enough. */
struct progress {
	u32 at, left;
};

static void copy_slots(const struct srnic_ring *to, const struct srnic_ring *from, u32 at, u32 n)
{
	for (; n; n--, at++)
		memcpy(srnic_ring_slot(to, at), srnic_ring_slot(from, at), from->slot_size);
}

/* The queue's lock is held. 1: all is moved; 0: not yet. */
static int move_some(struct srnic_resizing *resizing, struct progress *moved)
{
	const struct srnic_ring *next = &resizing->resize->next;
	struct srnic_span span = resizing->span(resizing);
	u32 n;

	if (span.to - span.from > min(resizing->ring->entries, next->entries))
		return -EINVAL;
	if ((s32)(span.from - moved->at) > 0)
		moved->at = span.from;
	n = min(span.to - moved->at, CHUNK);
	if (n > moved->left)
		return -EINVAL;
	copy_slots(next, resizing->ring, moved->at, n);
	moved->at += n;
	moved->left -= n;
	return moved->at == span.to;
}

/* The queue's lock is held. */
static void use_next(struct srnic_resizing *resizing)
{
	struct srnic_resize *resize = resizing->resize;

	resizing->ring->slots = resize->next.slots;
	WRITE_ONCE(resizing->ring->entries, resize->next.entries);
	swap(resize->next, resize->used);
}

static int move_and_switch(struct srnic_resizing *resizing)
{
	struct progress moved = { .left = resizing->ring->entries };
	unsigned long flags;
	int ret;

	spin_lock_irqsave(resizing->lock, flags);
	moved.at = resizing->span(resizing).from;
	while (!(ret = move_some(resizing, &moved))) {
		spin_unlock_irqrestore(resizing->lock, flags);
		cond_resched();
		spin_lock_irqsave(resizing->lock, flags);
	}
	if (ret > 0)
		use_next(resizing);
	spin_unlock_irqrestore(resizing->lock, flags);
	return min(ret, 0);
}

int srnic_resize_switch(struct srnic_resizing *resizing, u32 entries)
{
	struct srnic_resize *resize = resizing->resize;
	int err;

	lockdep_assert_held(&resize->lock);
	if (!resize->next.hdr || resize->next.entries != roundup_pow_of_two(entries))
		return -EINVAL;
	err = move_and_switch(resizing);
	srnic_ring_free(&resize->next);	/* the one that was used before, or that does not do */
	return err;
}

int srnic_resize_step(struct ib_udata *udata)
{
	struct srnic_resize_req req;
	int err = srnic_udata_request(udata, &req, sizeof(req));

	if (err)
		return err;
	if (req.rsvd)
		return -EOPNOTSUPP;
	if (req.step != SRNIC_RESIZE_PREPARE && req.step != SRNIC_RESIZE_SWITCH)
		return -EINVAL;
	return srnic_udata_respond(udata, NULL, 0) ?: req.step;
}

struct ib_ucontext *srnic_resize_context(struct ib_udata *udata)
{
	return &rdma_udata_to_drv_context(udata, struct srnic_ucontext, base)->base;
}
