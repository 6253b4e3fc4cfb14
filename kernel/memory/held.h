/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A region that a stream holds from one copy to the next, so that it need not look it up.
 */
#ifndef SRNIC_HELD_H
#define SRNIC_HELD_H

#include <linux/sizes.h>

#include "memory/crc.h"
#include "memory/mr.h"

/* Bytes that are copied under one hold: an invalidation on another CPU spins meanwhile. */
#define SRNIC_HELD_MAX	SZ_64K

/**
 * struct srnic_held - the region that a stream holds, if any
 * @dev: of its regions
 * @mr: the region, or NULL. Bottom halves are off meanwhile
 * @stag: the STag that was looked up last; 0, which no region has, before the first
 * @slot: of @stag in srnic_dev.mrs; to compute it takes longer than to look there
 * @left: bytes that may be copied before it has to be dropped
 * @sums_many: of SRNIC_CRC_MANY octets or more; set with @sum
 * @sum: what is copied is added to this CRC32C (core_host_crc32c()); NULL: to none. Set for the
 *	time of a copy
 *
 * Its user calls srnic_held_drop() before it sleeps, invalidates a region, calls a consumer in the
 * kernel or does anything else that takes long.
 */
struct srnic_held {
	struct srnic_dev *dev;
	struct srnic_mr *mr;
	u32 stag, slot;
	u32 left;
	bool sums_many;
	u32 *sum;
};

/* Each use counts as so many bytes more than it copies: it takes time, too. */
#define SRNIC_HELD_USE	256U

/* What the inline functions below do seldom. */
void srnic_held_exchange(struct srnic_held *held, u32 stag);
void srnic_held_give_back(struct srnic_held *held);

/*
 * A region that is being invalidated is given up at once, though it could be used until it is
 * dropped.
 */
static inline bool srnic_held_lasts(const struct srnic_held *held, u32 len)
{
	return held->left && held->left >= len && READ_ONCE(held->mr->state) == SRNIC_MR_VALID;
}

static inline void srnic_held_use(struct srnic_held *held, u32 len)
{
	held->left -= min(held->left, len + SRNIC_HELD_USE);
}

/*
 * The region of this STag, held, for len bytes more, at most SRNIC_HELD_MAX; NULL if no VALID
 * region has it. Not with hard interrupts disabled.
 */
static inline struct srnic_mr *srnic_held_region(struct srnic_held *held, u32 stag, u32 len)
{
	if (unlikely(!held->mr || held->stag != stag || !srnic_held_lasts(held, len)))
		srnic_held_exchange(held, stag);
	srnic_held_use(held, len);
	return held->mr;
}

/* The next copies, of len octets together, are added to *sum; NULL: to nothing. */
static inline void srnic_held_sums(struct srnic_held *held, u32 *sum, u32 len)
{
	held->sum = sum;
	held->sums_many = len >= SRNIC_CRC_MANY;
}

/* Drops the region, if one is held. */
static inline void srnic_held_drop(struct srnic_held *held)
{
	if (held->mr)
		srnic_held_give_back(held);
}

/*
 * Before other work that takes as long as a copy of len bytes, any number: drops the region if it
 * would be held for long, or must go.
 */
static inline void srnic_held_pause_for(struct srnic_held *held, u32 len)
{
	if (!held->mr)
		return;
	srnic_held_use(held, min_t(u32, len, SRNIC_HELD_MAX));
	if (unlikely(!srnic_held_lasts(held, 0)))
		srnic_held_give_back(held);
}

/* Before other work that takes a while. */
static inline void srnic_held_pause(struct srnic_held *held)
{
	srnic_held_pause_for(held, 0);
}

#endif
