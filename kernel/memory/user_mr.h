/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Regions of user memory: verbs.
 */
#ifndef SRNIC_USER_MR_H
#define SRNIC_USER_MR_H

#include <rdma/ib_verbs.h>

struct ib_mr *srnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,
				struct ib_udata *udata);
struct ib_mr *srnic_rereg_user_mr(struct ib_mr *mr, int flags, u64 start, u64 length, u64 iova,
				  int access, struct ib_pd *pd, struct ib_udata *udata);

#endif
