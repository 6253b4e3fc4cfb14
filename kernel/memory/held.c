// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The region that a stream holds from one copy to the next: how long, and for which STag.
 */
#include "memory/held.h"
#include "memory/table.h"

void srnic_held_give_back(struct srnic_held *held)
{
	srnic_mr_drop(held->mr);
	held->mr = NULL;
}

void srnic_held_exchange(struct srnic_held *held, u32 stag)
{
	srnic_held_drop(held);
	if (held->stag != stag)
		held->slot = srnic_mr_slot(held->dev, stag);
	held->stag = stag;
	held->mr = srnic_mr_hold(held->dev, held->slot, stag);
	held->left = SRNIC_HELD_MAX;
}
