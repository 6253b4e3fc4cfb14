/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A region that a stream holds from one copy to the next, so that it need not look it up.
 */
#ifndef SRNIC_HELD_H
#define SRNIC_HELD_H

#include <linux/sizes.h>

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
	u32 *sum;
};

/*
 * The region of this STag, held, for len bytes more, at most SRNIC_HELD_MAX; NULL if no VALID
 * region has it. Not with hard interrupts disabled.
 */
struct srnic_mr *srnic_held_region(struct srnic_held *held, u32 stag, u32 len);
/* Drops the region, if one is held. */
void srnic_held_drop(struct srnic_held *held);
/* Before other work that takes a while: drops the region if it was held for long, or must go. */
void srnic_held_pause(struct srnic_held *held);

#endif
