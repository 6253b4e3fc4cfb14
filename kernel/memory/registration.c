// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What all ways to register memory have in common: allocating and freeing regions, access rights.
 * And a kernel consumer's region over all memory.
 */
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "compat/compat.h"
#include "memory/registration.h"
#include "memory/table.h"

#define ACCESS_MASK                                                                                \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |                  \
	 IB_ACCESS_REMOTE_ATOMIC | SRNIC_COMPAT_ACCESS_FLUSH)
/* Accepted without effect: nothing here is weakly ordered or faults. */
#define ACCESS_NEUTRAL	(IB_ZERO_BASED | IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

struct srnic_mr *srnic_mr_alloc(struct ib_pd *pd)
{
	struct srnic_dev *dev = to_srnic_dev(pd->device);
	struct srnic_mr *mr;
	int err;

	if (atomic_inc_return(&dev->num_mrs) > SRNIC_MAX_MR) {
		atomic_dec(&dev->num_mrs);
		return ERR_PTR(-ENOSPC);
	}
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr) {
		atomic_dec(&dev->num_mrs);
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&mr->users, 1);
	init_completion(&mr->freed);
	mr->pd = to_srnic_pd(pd)->id;
	err = srnic_mr_add_to_table(dev, mr);
	if (err) {
		atomic_dec(&dev->num_mrs);
		kfree(mr);
		return ERR_PTR(err);
	}
	mr->base.device = &dev->base;
	mr->base.page_size = PAGE_SIZE;
	mr->piece_shift = PAGE_SHIFT;
	mr->base.lkey = mr->stag;
	mr->base.rkey = mr->stag;
	return mr;
}

void srnic_mr_free(struct srnic_mr *mr)
{
	struct srnic_dev *dev = to_srnic_dev(mr->base.device);

	srnic_mr_remove_from_table(dev, mr);
	ib_umem_release(mr->umem);
	kvfree(mr->pieces);
	kfree_rcu(mr, rcu);
	atomic_dec(&dev->num_mrs);
}

int srnic_mr_access_from_ib(int ib, u32 *access)
{
	BUILD_BUG_ON(IB_ACCESS_LOCAL_WRITE != CORE_ACCESS_LOCAL_WRITE);
	BUILD_BUG_ON(IB_ACCESS_REMOTE_WRITE != CORE_ACCESS_REMOTE_WRITE);
	BUILD_BUG_ON(IB_ACCESS_REMOTE_READ != CORE_ACCESS_REMOTE_READ);
	BUILD_BUG_ON(IB_ACCESS_REMOTE_ATOMIC != CORE_ACCESS_REMOTE_ATOMIC);
	BUILD_BUG_ON(SRNIC_COMPAT_FLUSH && SRNIC_COMPAT_ACCESS_FLUSH != CORE_ACCESS_FLUSH_GLOBAL);
	if (ib & ~(ACCESS_MASK | ACCESS_NEUTRAL))
		return -EOPNOTSUPP;
	if ((ib & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)) &&
	    !(ib & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	*access = ib & ACCESS_MASK;
	return 0;
}

/*
 * A kernel consumer's region over all memory, by kernel virtual address. Never for a peer, whose
 * TOs could be any kernel address, mapped or not.
 */
struct ib_mr *srnic_get_dma_mr(struct ib_pd *pd, int ib_access)
{
	struct srnic_mr *mr;
	u32 access;
	int err;

	if (ib_access & (IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE |
			 IB_ACCESS_REMOTE_ATOMIC | SRNIC_COMPAT_ACCESS_FLUSH)) {
		ibdev_err_ratelimited(pd->device,
				      "no remote key to all memory (IB_PD_UNSAFE_GLOBAL_RKEY)\n");
		return ERR_PTR(-EOPNOTSUPP);
	}
	err = srnic_mr_access_from_ib(ib_access, &access);
	if (err)
		return ERR_PTR(err);
	mr = srnic_mr_alloc(pd);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->dma = true;
	mr->length = U64_MAX;
	mr->access = access;
	srnic_mr_enable(mr);
	return &mr->base;
}

int srnic_dereg_mr(struct ib_mr *base, struct ib_udata *udata)
{
	srnic_mr_free(to_srnic_mr(base));
	return 0;
}
