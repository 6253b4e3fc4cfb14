// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Regions of user memory: pinning, registering and registering again.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#include "compat/compat.h"
#include "memory/dmabuf.h"
#include "memory/registration.h"
#include "memory/table.h"
#include "memory/user_mr.h"
#include "udata.h"

/* The pages of a range of user memory. An empty range has none. */
struct backing {
	struct ib_umem *umem;
	void **pieces;
	u32 num_pieces;
	u32 offset;
};

static void put_backing(struct backing *backing)
{
	ib_umem_release(backing->umem);
	kvfree(backing->pieces);
}

static int list_pages(struct backing *backing)
{
	struct sg_table *table = &backing->umem->sgt_append.sgt;
	struct sg_page_iter iter;
	size_t n = 0;

	backing->num_pieces = ib_umem_num_pages(backing->umem);
	backing->pieces = kvmalloc_array(backing->num_pieces, sizeof(*backing->pieces),
					 GFP_KERNEL_ACCOUNT);
	if (!backing->pieces)
		return -ENOMEM;
	for_each_sgtable_page(table, &iter, 0)
		if (n < backing->num_pieces)
			backing->pieces[n++] = page_address(sg_page_iter_page(&iter));
	return n == backing->num_pieces ? 0 : -EFAULT;
}

static int get_backing(struct ib_device *dev, u64 start, u64 length, int ib_access,
		       struct backing *out)
{
	int err;

	*out = (struct backing){ .offset = offset_in_page(start) };
	if (!length)
		return 0;
	if (!srnic_user_region_fits(length))
		return -EINVAL;
	out->umem = srnic_compat_umem(dev, start, length, ib_access);
	if (IS_ERR(out->umem))
		return PTR_ERR(out->umem);
	err = list_pages(out);
	if (err)
		put_backing(out);
	return err;
}

/* Only while INVALID with no holder. Returns the old backing in *backing. */
static void swap_backing(struct srnic_mr *mr, struct backing *backing)
{
	swap(mr->umem, backing->umem);
	swap(mr->pieces, backing->pieces);
	swap(mr->num_pieces, backing->num_pieces);
	swap(mr->offset, backing->offset);
}

struct ib_mr *srnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova, int ib_access,
				struct ib_udata *udata)
{
	struct backing backing;
	struct srnic_mr *mr;
	u32 access;
	int err;

	err = srnic_udata_none(udata) ?: srnic_user_access_from_ib(ib_access, &access);
	if (err)
		return ERR_PTR(err);
	if (ib_access & IB_ZERO_BASED)
		iova = 0;
	if (srnic_range_wraps(iova, length))
		return ERR_PTR(-EINVAL);
	err = get_backing(pd->device, start, length, ib_access, &backing);
	if (err)
		return ERR_PTR(err);
	mr = srnic_mr_alloc(pd);
	if (IS_ERR(mr)) {
		put_backing(&backing);
		return ERR_CAST(mr);
	}
	swap_backing(mr, &backing);
	mr->zero_based = ib_access & IB_ZERO_BASED;
	srnic_user_region_begin(mr, iova, length, access);
	return &mr->base;
}

/* The new form of a region. */
struct rereg {
	struct backing backing;
	bool translate;
	u64 iova, length;
	u32 access, pd;
	bool zero_based;
};

/*
 * Pins memory for the new form if needed: other memory, or the same memory for writing, which only
 * the process that registered it may do.
 */
static int rereg_backing(const struct srnic_mr *mr, int flags, u64 start, u64 length, int ib_access,
			 struct rereg *new)
{
	struct ib_device *dev = mr->base.device;
	int old_access = mr->access & IB_ACCESS_LOCAL_WRITE;

	if (flags & IB_MR_REREG_TRANS) {
		new->translate = true;
		return get_backing(dev, start, length,
				   flags & IB_MR_REREG_ACCESS ? ib_access : old_access,
				   &new->backing);
	}
	if (!(flags & IB_MR_REREG_ACCESS) || !mr->umem || mr->umem->writable ||
	    !ib_access_writable(ib_access))
		return 0;
	if (mr->umem->owning_mm != current->mm)
		return -EPERM;
	new->translate = true;
	return get_backing(dev, mr->umem->address, mr->length, ib_access, &new->backing);
}

static void rereg_apply(struct srnic_mr *mr, struct rereg *new)
{
	srnic_mr_revoke(mr);
	if (new->translate)
		swap_backing(mr, &new->backing);
	mr->iova = new->iova;
	mr->length = new->length;
	mr->access = new->access;
	mr->pd = new->pd;
	mr->zero_based = new->zero_based;
	srnic_mr_enable(mr);
	put_backing(&new->backing);
}

/*
 * In place: the STag stays, and a failure leaves the region unchanged. During the change it is
 * INVALID for peers. Not while a window is bound to it, which uses its pages.
 */
struct ib_mr *srnic_rereg_user_mr(struct ib_mr *base, int flags, u64 start, u64 length, u64 iova,
				  int ib_access, struct ib_pd *pd, struct ib_udata *udata)
{
	struct srnic_mr *mr = to_srnic_mr(base);
	struct rereg new = {
		.iova = mr->iova,
		.length = mr->length,
		.access = mr->access,
		.pd = mr->pd,
		.zero_based = flags & IB_MR_REREG_ACCESS ? ib_access & IB_ZERO_BASED
							 : mr->zero_based,
	};
	int err = srnic_udata_none(udata);

	if (!err && mr->dmabuf)
		err = srnic_dmabuf_may_rereg(mr, flags, ib_access);
	if (!err && flags & IB_MR_REREG_ACCESS)
		err = srnic_user_access_from_ib(ib_access, &new.access);
	if (err)
		return ERR_PTR(err);
	if (flags & IB_MR_REREG_PD)
		new.pd = to_srnic_pd(pd)->id;
	if (flags & IB_MR_REREG_TRANS) {
		new.iova = new.zero_based ? 0 : iova;
		new.length = length;
		if (srnic_range_wraps(new.iova, length))
			return ERR_PTR(-EINVAL);
	}
	err = srnic_region_end_binding(mr);
	if (err)
		return ERR_PTR(err);
	err = rereg_backing(mr, flags, start, length, ib_access, &new);
	if (!err)
		rereg_apply(mr, &new);
	srnic_region_begin_binding(mr);
	return ERR_PTR(err);
}
