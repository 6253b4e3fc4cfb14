// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fast registration: regions that a kernel consumer maps by a verb, and registers by a request in
 * its send queue.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "compat/compat.h"
#include "memory/fast_reg.h"
#include "memory/registration.h"
#include "memory/table.h"

/* Page sizes for fast registration. */
#define MIN_PAGE_SHIFT	12
#define MAX_PAGE_SHIFT	30

static int alloc_pieces(struct srnic_mr *mr, u32 num, bool gaps)
{
	mr->pieces = kvcalloc(num, sizeof(*mr->pieces), GFP_KERNEL);
	if (gaps)
		mr->ends = kvcalloc(num, sizeof(*mr->ends), GFP_KERNEL);
	mr->max_pieces = num;
	return mr->pieces && (mr->ends || !gaps) ? 0 : -ENOMEM;
}

struct ib_mr *srnic_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg)
{
	struct srnic_mr *mr;
	int err;

	if (type != IB_MR_TYPE_MEM_REG && type != IB_MR_TYPE_SG_GAPS)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > SRNIC_MAX_FAST_REG)
		return ERR_PTR(-EINVAL);
	mr = srnic_mr_alloc(pd);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = alloc_pieces(mr, max_num_sg, type == IB_MR_TYPE_SG_GAPS);
	if (err) {
		srnic_mr_free(mr);
		return ERR_PTR(err);
	}
	mr->fast_reg = true;
	return &mr->base;
}

/* ---- mapping ---- */

static int add_page(struct ib_mr *base, u64 addr)
{
	struct srnic_mr *mr = to_srnic_mr(base);

	if (mr->num_pieces == mr->max_pieces)
		return -ENOMEM;
	mr->pieces[mr->num_pieces++] = srnic_compat_virt_dma(addr);
	return 0;
}

/*
 * The consumer chooses the page size (ib_map_mr_sg): smaller or larger than the kernel's. Each page
 * is one piece: "DMA" addresses are kernel virtual addresses, so an sg entry is contiguous.
 */
static int map_pages(struct srnic_mr *mr, struct scatterlist *sg, int nents, unsigned int *offset)
{
	u32 size = mr->base.page_size;
	int mapped;

	mr->piece_shift = ilog2(size);
	mapped = ib_sg_to_pages(&mr->base, sg, nents, offset, add_page);
	mr->offset = mr->base.iova & (size - 1);
	return mapped;
}

/* Makes the last piece longer if these bytes are behind it. -ENOMEM: there is no room. */
static int add_bytes(struct srnic_mr *mr, void *bytes, u64 length, void **expected)
{
	u64 end = mr->base.length + length;

	if (!mr->num_pieces || bytes != *expected) {
		if (mr->num_pieces == mr->max_pieces)
			return -ENOMEM;
		mr->pieces[mr->num_pieces++] = bytes;
	}
	mr->ends[mr->num_pieces - 1] = end;
	mr->base.length = end;
	*expected = bytes + length;
	return 0;
}

/*
 * With gaps any list will do, and the page size says nothing. The number of entries that have found
 * room; *offset is 0 then, because none is mapped in part.
 */
static int map_with_gaps(struct srnic_mr *mr, struct scatterlist *sgl, int nents,
			 unsigned int *offset)
{
	unsigned int skip = offset ? *offset : 0;
	struct scatterlist *sg;
	void *expected = NULL;
	int n;

	if (skip > sg_dma_len(sgl))
		return -EINVAL;
	mr->base.iova = sg_dma_address(sgl) + skip;
	for_each_sg(sgl, sg, nents, n) {
		u64 addr = sg_dma_address(sg) + skip, length = sg_dma_len(sg) - skip;

		if (length && add_bytes(mr, srnic_compat_virt_dma(addr), length, &expected))
			break;
		skip = 0;
	}
	if (offset)
		*offset = skip;
	return n;
}

static bool is_page_size(u32 size)
{
	return is_power_of_2(size) && size >= BIT(MIN_PAGE_SHIFT) && size <= BIT(MAX_PAGE_SHIFT);
}

/*
 * Consumers map again while the LOCAL_INV of the old mapping is still queued before the REG_MR
 * (iSER), or was flushed. Either way the old grant is over, so it is revoked here.
 */
int srnic_map_mr_sg(struct ib_mr *base, struct scatterlist *sg, int nents, unsigned int *offset)
{
	struct srnic_mr *mr = to_srnic_mr(base);

	if (!mr->fast_reg || nents < 1 || (!mr->ends && !is_page_size(base->page_size)))
		return -EINVAL;
	srnic_mr_revoke(mr);
	mr->num_pieces = 0;
	base->length = 0;
	return mr->ends ? map_with_gaps(mr, sg, nents, offset) :
			  map_pages(mr, sg, nents, offset);
}

/* ---- registering ---- */

/* The mapping has this range; the consumer may have changed base.iova and base.length. */
static bool is_mapped(const struct srnic_mr *mr)
{
	u64 length = mr->base.length;

	if (srnic_range_wraps(mr->base.iova, length))
		return false;
	if (mr->ends)
		return length <= (mr->num_pieces ? mr->ends[mr->num_pieces - 1] : 0);
	return mr->offset + length <= (u64)mr->num_pieces << mr->piece_shift &&
	       (mr->base.iova & (BIT(mr->piece_shift) - 1)) == mr->offset;
}

/*
 * Reads base.iova here, because the consumer may have changed its upper part after mapping (NFS).
 */
static int register_region(struct srnic_mr *mr, u32 pd, u32 qpn, u32 key, u32 ib_access)
{
	u32 access;

	if (!mr->fast_reg || mr->pd != pd ||
	    key >> SRNIC_STAG_KEY_BITS != mr->stag >> SRNIC_STAG_KEY_BITS)
		return -EINVAL;
	if (srnic_mr_access_from_ib(ib_access, &access) || READ_ONCE(mr->state) == SRNIC_MR_VALID)
		return -EINVAL;
	if (!is_mapped(mr))
		return -EINVAL;
	WRITE_ONCE(mr->stag, key);
	srnic_mr_wait_for_holders(mr);
	mr->iova = mr->base.iova;
	mr->length = mr->base.length;
	mr->access = access;
	mr->qpn = qpn;
	srnic_mr_enable(mr);
	return 0;
}

/* Until it is found in its slot, the pointer is only a number. */
int srnic_mr_register(struct srnic_dev *dev, struct srnic_mr *mr, u32 pd, u32 qpn, u32 key,
		      u32 access)
{
	int err = -EINVAL;

	rcu_read_lock();	/* keeps its memory, even if it is deregistered meanwhile */
	if (mr && xa_load(&dev->mrs, srnic_mr_slot(dev, key)) == mr)
		err = register_region(mr, pd, qpn, key, access);
	rcu_read_unlock();
	return err;
}
