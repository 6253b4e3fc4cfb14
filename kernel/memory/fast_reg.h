/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Fast registration, for kernel consumers: the verbs, and what the request REG_MR does. Its
 * opposite, LOCAL_INV, is srnic_mr_invalidate().
 */
#ifndef SRNIC_FAST_REG_H
#define SRNIC_FAST_REG_H

#include "memory/mr.h"

/*
 * REG_MR. mr: as the request names it; the consumer may have deregistered the region since. Spins
 * while another CPU finishes its copy. Not with hard interrupts disabled. 0 or -EINVAL.
 */
int srnic_mr_register(struct srnic_dev *dev, struct srnic_mr *mr, u32 pd, u32 qpn, u32 key,
		      u32 access);

/* verbs */
struct ib_mr *srnic_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg);
int srnic_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int nents, unsigned int *offset);

#endif
