/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Rings of receive WQEs: what a QP's own receive queue and a shared one have in common.
 */
#ifndef SRNIC_RECV_RING_H
#define SRNIC_RECV_RING_H

#include <linux/spinlock.h>

#include "core/api/core.h"
#include "queue/ring.h"

/**
 * struct srnic_recv_ring - a ring of receive WQEs
 * @ring: the WQEs; the consumer (user space or kernel posts) produces
 * @lock: irqsave; protects @posted, @taken and @seen. cq->lock nests inside
 * @posted: kernel consumers' producer index
 * @taken: the kernel's own consumer index
 * @seen: the producer index as it was read last
 */
struct srnic_recv_ring {
	struct srnic_ring ring;
	spinlock_t lock;
	u32 posted;
	u32 taken;
	u32 seen;
};

/*
 * With lists of up to max_sge entries. 0 or -ENOMEM; may sleep. Free it with
 * srnic_ring_free(). The caller initializes @lock.
 */
int srnic_recv_ring_alloc(struct srnic_recv_ring *recv, u32 min_entries, u32 max_sge);
/* Posts a kernel consumer's requests; *bad is the first that was refused. Any context. */
int srnic_recv_ring_post(struct srnic_recv_ring *recv, const struct ib_recv_wr *wr,
			 const struct ib_recv_wr **bad);

/* WQEs published and not taken; 0 if a user's index is impossible. @lock held. */
static inline u32 srnic_recv_ring_pending(struct srnic_recv_ring *recv)
{
	u32 n;

	lockdep_assert_held(&recv->lock);
	/* acquire: the index before the slots that it publishes */
	n = core_ring_pending(smp_load_acquire(&recv->ring.hdr->prod), recv->taken,
			      recv->ring.entries);
	WRITE_ONCE(recv->seen, recv->taken + n);
	return n;
}

static inline const struct srnic_recv_wqe *
srnic_recv_ring_oldest(const struct srnic_recv_ring *recv)
{
	return srnic_ring_slot(&recv->ring, recv->taken);
}

/* Frees the oldest slot. @lock held. */
static inline void srnic_recv_ring_advance(struct srnic_recv_ring *recv)
{
	lockdep_assert_held(&recv->lock);
	WRITE_ONCE(recv->taken, recv->taken + 1);
	/* release: the slot is copied before the producer may write it again */
	smp_store_release(&recv->ring.hdr->cons, recv->taken);
}

enum srnic_taken { SRNIC_TAKEN_NONE, SRNIC_TAKEN_ONE, SRNIC_TAKEN_TOO_SMALL };

/* Is this copy of a slot, of len bytes, in order, and can it hold less than @need bytes? */
static inline bool srnic_recv_is_small(const struct srnic_recv_wqe *wqe, u32 len, u32 need)
{
	u32 room;

	return need && core_recv_wqe_check(wqe, len, &room) == CORE_WQE_OK && room < need;
}

/*
 * Copies the oldest slot once, len bytes of it, and frees it; *left: how many WQEs are left. One
 * that is in order and can hold less than @need bytes stays where it is. @lock held.
 */
static inline enum srnic_taken srnic_recv_ring_take(struct srnic_recv_ring *recv,
						    struct srnic_recv_wqe *wqe, u32 len, u32 need,
						    u32 *left)
{
	u32 n = srnic_recv_ring_pending(recv);

	if (!n)
		return SRNIC_TAKEN_NONE;
	memcpy(wqe, srnic_recv_ring_oldest(recv), len);
	if (srnic_recv_is_small(wqe, len, need))
		return SRNIC_TAKEN_TOO_SMALL;
	srnic_recv_ring_advance(recv);
	*left = n - 1;
	return SRNIC_TAKEN_ONE;
}

#endif
