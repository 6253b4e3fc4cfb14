/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What all ways to register memory have in common, and the verbs for a region over all memory and
 * for deregistration.
 */
#ifndef SRNIC_REGISTRATION_H
#define SRNIC_REGISTRATION_H

#include <linux/overflow.h>

#include "memory/mr.h"

/* The range ends beyond the largest address. */
static inline bool srnic_range_wraps(u64 base, u64 length)
{
	u64 end;

	return check_add_overflow(base, length, &end);
}

/* Can a user's region be so long? kvmalloc() has INT_MAX bytes for the array of its pages. */
static inline bool srnic_user_region_fits(u64 length)
{
	const u64 most = INT_MAX / sizeof(void *) - 1;

	return length <= SRNIC_MAX_MR_SIZE && length <= most << PAGE_SHIFT;
}

/* An INVALID region in the table, with its STag, or an ERR_PTR. Sleeps. */
struct srnic_mr *srnic_mr_alloc(struct ib_pd *pd);
/* Likewise a window that is not bound, of this type. */
struct srnic_mr *srnic_window_alloc(struct ib_pd *pd, enum ib_mw_type type);
/* Frees a region or window in any state, after its last holder has left. Sleeps. */
void srnic_mr_free(struct srnic_mr *mr);
/* Converts IB_ACCESS_* flags; -EINVAL, -EOPNOTSUPP. */
int srnic_mr_access_from_ib(int ib, u32 *access);
/* Likewise for a user's region, the only kind that may have windows. */
int srnic_user_access_from_ib(int ib, u32 *access);
/* A user's new region, whose memory it has: grants this from now on, and may have windows. */
void srnic_user_region_begin(struct srnic_mr *mr, u64 iova, u64 length, u32 access);

/* verbs */
struct ib_mr *srnic_get_dma_mr(struct ib_pd *pd, int access);
int srnic_dereg_mr(struct ib_mr *mr, struct ib_udata *udata);

#endif
