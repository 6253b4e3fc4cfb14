// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The region that a stream holds from one copy to the next: how long, and for which STag.
 */
#include "memory/held.h"
#include "memory/table.h"

/* Each use counts as so many bytes more than it copies: it takes time, too. */
#define USE	256U

void srnic_held_drop(struct srnic_held *held)
{
	if (held->mr)
		srnic_mr_drop(held->mr);
	held->mr = NULL;
}

/*
 * A region that is being invalidated is given up at once, though it could be used until it is
 * dropped.
 */
static bool still_holds(const struct srnic_held *held, u32 stag, u32 len)
{
	return held->mr && held->stag == stag && held->left && held->left >= len &&
	       READ_ONCE(held->mr->state) == SRNIC_MR_VALID;
}

static void use_up(struct srnic_held *held, u32 len)
{
	held->left -= min(held->left, len + USE);
}

void srnic_held_pause(struct srnic_held *held)
{
	if (!held->mr)
		return;
	use_up(held, 0);
	if (!held->left || READ_ONCE(held->mr->state) != SRNIC_MR_VALID)
		srnic_held_drop(held);
}

struct srnic_mr *srnic_held_region(struct srnic_held *held, u32 stag, u32 len)
{
	if (!still_holds(held, stag, len)) {
		srnic_held_drop(held);
		if (held->stag != stag)
			held->slot = srnic_mr_slot(held->dev, stag);
		held->stag = stag;
		held->mr = srnic_mr_hold(held->dev, held->slot, stag);
		held->left = SRNIC_HELD_MAX;
	}
	use_up(held, len);
	return held->mr;
}
