/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The table of regions: lookup by STag, and the hold that keeps a region unchanged during a copy.
 * For mr.c (the life of regions) and place.c (their contents).
 */
#ifndef SRNIC_PLACE_H
#define SRNIC_PLACE_H

#include "memory/mr.h"

/*
 * STags below 256 are never given out: the slot of the table whose permuted index is 0 stays
 * reserved. So an STag is never 0 and never equals local_dma_lkey, whatever key a consumer puts
 * into its low 8 bits.
 */
#define SRNIC_LOCAL_DMA_LKEY	1U

void srnic_mr_dev_init(struct srnic_dev *dev);
int srnic_mr_dev_reserve(struct srnic_dev *dev);
void srnic_mr_dev_exit(struct srnic_dev *dev);

/* The slot of the STag in srnic_dev.mrs. */
u32 srnic_mr_slot(const struct srnic_dev *dev, u32 stag);
/*
 * The VALID region of this STag in this slot, or NULL. It stays unchanged and allocated until
 * srnic_mr_drop(); until then bottom halves are off, and the caller must not sleep or invalidate a
 * region. Not with hard interrupts disabled.
 */
struct srnic_mr *srnic_mr_hold(struct srnic_dev *dev, u32 slot, u32 stag);
void srnic_mr_drop(struct srnic_mr *mr);

#endif
