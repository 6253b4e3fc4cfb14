// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Regions of memory that another driver has exported as a dma-buf: system memory (udmabuf, heaps,
 * most graphics drivers). The CPU copies, so the exporter maps the buffer for the CPU, and keeps it
 * in its place as long as it is mapped. Memory that only a device's registers reach is refused.
 *
 * For the exporter the CPU accesses the buffer from the registration to the end of the region.
 * Where devices see the CPU's caches, that is all there is to say; elsewhere a device sees what a
 * peer has written only when the region has gone.
 */
#include <linux/dma-buf.h>
#include <linux/slab.h>

#include "compat/compat.h"
#include "memory/dmabuf.h"
#include "memory/registration.h"
#include "memory/table.h"

static bool may_write(const struct dma_buf *dmabuf)
{
	return dmabuf->file->f_mode & FMODE_WRITE;
}

static enum dma_data_direction direction(const struct dma_buf *dmabuf)
{
	return may_write(dmabuf) ? DMA_BIDIRECTIONAL : DMA_FROM_DEVICE;
}

static int check(const struct dma_buf *dmabuf, u64 offset, u64 length, int access)
{
	if (srnic_range_wraps(offset, length) || offset + length > dmabuf->size ||
	    !srnic_user_region_fits(length))
		return -EINVAL;
	if (!dmabuf->ops->vmap)
		return -EOPNOTSUPP;
	return ib_access_writable(access) && !may_write(dmabuf) ? -EACCES : 0;
}

/* ---- mapping ---- */

static int begin_access(struct dma_buf *dmabuf, const struct iosys_map *map)
{
	return map->is_iomem ? -EOPNOTSUPP :
			       dma_buf_begin_cpu_access(dmabuf, direction(dmabuf));
}

/* For the CPU, until unmap(). */
static int map(struct dma_buf *dmabuf, struct iosys_map *out)
{
	int err = srnic_compat_dmabuf_vmap(dmabuf, out);

	if (err)
		return err;
	err = begin_access(dmabuf, out);
	if (err)
		srnic_compat_dmabuf_vunmap(dmabuf, out);
	return err;
}

static void unmap(struct dma_buf *dmabuf, struct iosys_map *mapped)
{
	dma_buf_end_cpu_access(dmabuf, direction(dmabuf));
	srnic_compat_dmabuf_vunmap(dmabuf, mapped);
}

static void release(struct srnic_mr *mr)
{
	unmap(mr->dmabuf, &mr->dmabuf_map);
	dma_buf_put(mr->dmabuf);
}

static int take(struct srnic_mr *mr, struct dma_buf *dmabuf)
{
	int err = map(dmabuf, &mr->dmabuf_map);

	if (err)
		return err;
	get_dma_buf(dmabuf);
	mr->dmabuf = dmabuf;
	mr->release = release;
	return 0;
}

/* In pages, as all regions of users, so that windows can be bound to it. */
static int list_pieces(struct srnic_mr *mr, u64 offset, u64 length)
{
	u8 *page = (u8 *)mr->dmabuf_map.vaddr + (offset & PAGE_MASK);
	u32 num = DIV_ROUND_UP(offset_in_page(offset) + length, PAGE_SIZE), n;

	mr->pieces = kvmalloc_array(num, sizeof(*mr->pieces), GFP_KERNEL_ACCOUNT);
	if (!mr->pieces)
		return -ENOMEM;
	for (n = 0; n < num; n++)
		mr->pieces[n] = page + (u64)n * PAGE_SIZE;
	mr->num_pieces = num;
	mr->offset = offset_in_page(offset);
	return 0;
}

/* ---- the region ---- */

struct ib_mr *srnic_dmabuf_region(struct ib_pd *pd, struct dma_buf *dmabuf, u64 offset, u64 length,
				  u64 iova, int ib_access)
{
	struct srnic_mr *mr;
	u32 access;
	int err;

	err = srnic_user_access_from_ib(ib_access, &access) ?:
		      check(dmabuf, offset, length, ib_access);
	if (err || srnic_range_wraps(iova, length))
		return ERR_PTR(err ?: -EINVAL);
	mr = srnic_mr_alloc(pd);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	err = take(mr, dmabuf) ?: list_pieces(mr, offset, length);
	if (err) {
		srnic_mr_free(mr);
		return ERR_PTR(err);
	}
	srnic_user_region_begin(mr, iova, length, access);
	return &mr->base;
}

/* Its rights and its protection domain may change, but not its memory. */
int srnic_dmabuf_may_rereg(const struct srnic_mr *mr, int flags, int access)
{
	if (flags & IB_MR_REREG_TRANS)
		return -EOPNOTSUPP;
	if (flags & IB_MR_REREG_ACCESS && ib_access_writable(access) && !may_write(mr->dmabuf))
		return -EACCES;
	return 0;
}

struct ib_mr *srnic_reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
			       int access)
{
	struct dma_buf *dmabuf = dma_buf_get(fd);
	struct ib_mr *mr;

	if (IS_ERR(dmabuf))
		return ERR_CAST(dmabuf);
	mr = srnic_dmabuf_region(pd, dmabuf, offset, length, iova, access);
	dma_buf_put(dmabuf);
	return mr;
}

SRNIC_COMPAT_NS(DMA_BUF);
