// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What all ways to register memory have in common: allocating and freeing regions, access rights.
 * And a kernel consumer's region over all memory. Windows have their entries from here, too.
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

/* An entry of the table, which nobody may bind a window to. */
static struct srnic_mr *alloc_entry(struct ib_pd *pd, u8 window)
{
	struct srnic_dev *dev = to_srnic_dev(pd->device);
	struct srnic_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	int err;

	if (!mr)
		return ERR_PTR(-ENOMEM);
	refcount_set(&mr->users, 1);
	init_completion(&mr->freed);
	spin_lock_init(&mr->binding);
	atomic_set(&mr->bindable, -1);
	mr->window = window;
	mr->pd = to_srnic_pd(pd)->id;
	mr->piece_shift = PAGE_SHIFT;
	err = srnic_mr_add_to_table(dev, mr);
	if (err) {
		kfree(mr);
		return ERR_PTR(err);
	}
	mr->base.device = &dev->base;
	mr->base.page_size = PAGE_SIZE;
	mr->base.lkey = mr->stag;
	mr->base.rkey = mr->stag;
	return mr;
}

static struct srnic_mr *alloc_counted(struct ib_pd *pd, u8 window, atomic_t *count, int most)
{
	struct srnic_mr *mr;

	if (atomic_inc_return(count) > most) {
		atomic_dec(count);
		return ERR_PTR(-ENOSPC);
	}
	mr = alloc_entry(pd, window);
	if (IS_ERR(mr))
		atomic_dec(count);
	return mr;
}

struct srnic_mr *srnic_mr_alloc(struct ib_pd *pd)
{
	return alloc_counted(pd, 0, &to_srnic_dev(pd->device)->num_mrs, SRNIC_MAX_MR);
}

struct srnic_mr *srnic_window_alloc(struct ib_pd *pd, enum ib_mw_type type)
{
	return alloc_counted(pd, type, &to_srnic_dev(pd->device)->num_mws, SRNIC_MAX_MW);
}

void srnic_mr_free(struct srnic_mr *mr)
{
	struct srnic_dev *dev = to_srnic_dev(mr->base.device);
	atomic_t *count = mr->window ? &dev->num_mws : &dev->num_mrs;

	srnic_mr_remove_from_table(dev, mr);
	ib_umem_release(mr->umem);
	if (mr->release)
		mr->release(mr);
	kvfree(mr->pieces);
	kvfree(mr->ends);
	kfree_rcu(mr, rcu);
	atomic_dec(count);
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

int srnic_user_access_from_ib(int ib, u32 *access)
{
	int err = srnic_mr_access_from_ib(ib & ~IB_ACCESS_MW_BIND, access);

	BUILD_BUG_ON(IB_ACCESS_MW_BIND != CORE_ACCESS_MW_BIND);
	if (!err)
		*access |= ib & IB_ACCESS_MW_BIND;
	return err;
}

void srnic_user_region_begin(struct srnic_mr *mr, u64 iova, u64 length, u32 access)
{
	mr->iova = iova;
	mr->length = length;
	mr->access = access;
	srnic_mr_enable(mr);
	srnic_region_begin_binding(mr);
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
	struct srnic_mr *mr = to_srnic_mr(base);
	int err = srnic_region_end_binding(mr);

	if (!err)
		srnic_mr_free(mr);
	return err;
}
