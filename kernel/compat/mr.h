/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Regions: since 6.17 the RDMA core also passes a DMA handle: hints for a bus, which this device
 * does not have.
 */
#ifndef SRNIC_COMPAT_MR_H
#define SRNIC_COMPAT_MR_H

#include <linux/version.h>

#include "memory/mr.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define srnic_compat_reg_user_mr	srnic_reg_user_mr
#else
static inline struct ib_mr *srnic_compat_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
						     u64 iova, int access, struct ib_dmah *dmah,
						     struct ib_udata *udata)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return srnic_reg_user_mr(pd, start, length, iova, access, udata);
}
#endif

#endif
