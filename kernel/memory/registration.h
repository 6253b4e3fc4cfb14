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

/* verbs */
struct ib_mr *srnic_get_dma_mr(struct ib_pd *pd, int access);
int srnic_dereg_mr(struct ib_mr *mr, struct ib_udata *udata);

#endif
