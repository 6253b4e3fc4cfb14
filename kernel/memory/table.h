/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The table of regions: finding a region by its STag, holding it unchanged during a copy, and
 * revoking what it grants.
 */
#ifndef SRNIC_TABLE_H
#define SRNIC_TABLE_H

#include "memory/mr.h"

/*
 * STags below 256 are never given out: the slot of the table whose permuted index is 0 stays
 * reserved. So an STag is never 0 and never equals local_dma_lkey, whatever key a consumer puts
 * into its low 8 bits.
 */
#define SRNIC_LOCAL_DMA_LKEY	1U
#define SRNIC_STAG_KEY_BITS	8	/* of an STag; the rest is the scrambled index */

void srnic_mr_dev_init(struct srnic_dev *dev);
int srnic_mr_dev_reserve(struct srnic_dev *dev);
void srnic_mr_dev_exit(struct srnic_dev *dev);

/* The slot of the STag in srnic_dev.mrs. */
u32 srnic_mr_slot(const struct srnic_dev *dev, u32 stag);
/* Gives an INVALID region or window its slot and its STag. 0, -ENOSPC or -ENOMEM; may sleep. */
int srnic_mr_add_to_table(struct srnic_dev *dev, struct srnic_mr *mr);
/* Of a region in any state. Returns after its last holder has left; sleeps. */
void srnic_mr_remove_from_table(struct srnic_dev *dev, struct srnic_mr *mr);

/*
 * The VALID region of this STag in this slot, or NULL. It stays unchanged and allocated until
 * srnic_mr_drop(); until then bottom halves are off, and the caller must not sleep or invalidate a
 * region. Not with hard interrupts disabled.
 */
struct srnic_mr *srnic_mr_hold(struct srnic_dev *dev, u32 slot, u32 stag);
void srnic_mr_drop(struct srnic_mr *mr);

/* Makes a region VALID, as its other fields describe it. */
void srnic_mr_enable(struct srnic_mr *mr);
/*
 * Waits until no holder is left, after the state was set INVALID or the STag was changed. The
 * caller keeps the region allocated, by owning the verbs object or by RCU, and is not a holder
 * itself.
 */
void srnic_mr_wait_for_holders(struct srnic_mr *mr);
/* Makes a region INVALID and waits for its holders, as srnic_mr_wait_for_holders(). */
void srnic_mr_revoke(struct srnic_mr *mr);
/* From now on windows may be bound to a region that grants CORE_ACCESS_MW_BIND. */
void srnic_region_begin_binding(struct srnic_mr *region);
/*
 * From now on none may be bound; -EBUSY if one is. One caller at a time calls these two, for one
 * region.
 */
int srnic_region_end_binding(struct srnic_mr *region);
/*
 * Makes a window INVALID, waits for its holders, and gives up its region. Under @binding; the
 * caller is no holder.
 */
void srnic_window_unbind(struct srnic_mr *window);
/*
 * Invalidates a region of fast registration, or a window of type 2. After it has returned
 * CORE_REGION_OK no byte is placed under this STag. Not with hard interrupts disabled; spins while
 * another CPU finishes its copy. core_may_invalidate() decides.
 */
enum core_region_verdict srnic_mr_invalidate(struct srnic_dev *dev,
					     const struct core_revoker *revoker);

#endif
