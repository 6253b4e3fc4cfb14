// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Buffers and regions, and their contents.
 */
#include <linux/delay.h>
#include <linux/hash.h>
#include <linux/random.h>
#include <linux/vmalloc.h>

#include "consumer.h"

#define REGION_SKIP 24	/* bytes of the first page before the region */

const char *buffer_make(struct buffer *buffer, struct ib_device *dev, size_t len)
{
	buffer->at = alloc_pages_exact(len, GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
	if (!buffer->at)
		return "no memory for a buffer";
	buffer->dev = dev;
	buffer->len = len;
	buffer->dma = ib_dma_map_single(dev, buffer->at, len, DMA_BIDIRECTIONAL);
	return failed("ib_dma_map_single", ib_dma_mapping_error(dev, buffer->dma));
}

void buffer_free(struct buffer *buffer)
{
	if (!buffer->at)
		return;
	ib_dma_unmap_single(buffer->dev, buffer->dma, buffer->len, DMA_BIDIRECTIONAL);
	free_pages_exact(buffer->at, buffer->len);
}

struct ib_sge piece(const struct end *end, const struct buffer *buffer, u32 offset, u32 len)
{
	return (struct ib_sge){
		.addr = buffer->dma + offset, .length = len, .lkey = end->pd->local_dma_lkey};
}

static const char *list_pages(struct region *region)
{
	size_t left = REGION_SKIP + region->len;
	struct scatterlist *sg;
	int i;

	if (sg_alloc_table(&region->sgt, DIV_ROUND_UP(left, PAGE_SIZE), GFP_KERNEL))
		return "no memory for a list of pages";
	for_each_sgtable_sg(&region->sgt, sg, i) {
		size_t in_page = min(left, PAGE_SIZE), skip = i ? 0 : REGION_SKIP;

		sg_set_page(sg, vmalloc_to_page(region->pages + i * PAGE_SIZE), in_page - skip,
			    skip);
		left -= in_page;
	}
	return NULL;
}

static const char *map_pages(struct region *region)
{
	struct sg_table *sgt = &region->sgt;

	sgt->nents =
		ib_dma_map_sg(region->mr->device, sgt->sgl, sgt->orig_nents, DMA_BIDIRECTIONAL);
	region->mapped = sgt->nents;
	return region->mapped ? NULL : "ib_dma_map_sg failed";
}

const char *region_make(struct region *region, struct ib_pd *pd, size_t len)
{
	struct ib_mr *mr;

	region->len = len;
	region->pages = vzalloc(REGION_SKIP + len);
	if (!region->pages || list_pages(region))
		return "no memory for a region";
	region->at = region->pages + REGION_SKIP;
	mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, region->sgt.orig_nents);
	if (IS_ERR(mr))
		return failed("ib_alloc_mr", PTR_ERR(mr));
	region->mr = mr;
	return map_pages(region);
}

void region_free(struct region *region)
{
	if (region->mapped)
		ib_dma_unmap_sg(region->mr->device, region->sgt.sgl, region->sgt.orig_nents,
				DMA_BIDIRECTIONAL);
	if (region->mr)
		ib_dereg_mr(region->mr);
	sg_free_table(&region->sgt);
	vfree(region->pages);
}

const char *region_register(struct region *region, struct end *end, u32 slot, int access)
{
	struct ib_mr *mr = region->mr;
	struct ib_reg_wr wr = {
		.wr = { .opcode = IB_WR_REG_MR, .send_flags = IB_SEND_SIGNALED },
		.mr = mr,
		.key = mr->rkey,
		.access = access,
	};

	if (ib_map_mr_sg(mr, region->sgt.sgl, region->sgt.nents, NULL, PAGE_SIZE) !=
		    region->sgt.nents ||
	    mr->length != region->len)
		return "ib_map_mr_sg has not mapped all";
	return post_send(end, slot, &wr.wr) ?: await(&end->sent[slot]);
}

const char *region_invalidate(struct end *end, u32 slot, u32 key)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = key,
	};

	return post_send(end, slot, &wr) ?: await(&end->sent[slot]);
}

const char *region_awaits(const struct region *region)
{
	const unsigned long until = jiffies + PATIENCE;

	while (!READ_ONCE(*(u64 *)region->at)) {
		if (time_after(jiffies, until))
			return "nothing lands at all";
		usleep_range(20, 50);
	}
	udelay(get_random_u32_below(500));
	return NULL;
}

static u64 word(u64 seed, size_t i)
{
	return (seed << 32 | (i + 1)) * GOLDEN_RATIO_64;
}

void fill(void *at, size_t len, u64 seed)
{
	u64 *words = at;

	for (size_t i = 0; i < len / sizeof(u64); i++)
		words[i] = word(seed, i);
}

const char *verify(const void *at, size_t len, u64 seed)
{
	const u64 *words = at;

	for (size_t i = 0; i < len / sizeof(u64); i++)
		if (words[i] != word(seed, i)) {
			say("at %zu: %016llx, not %016llx\n", i * sizeof(u64), words[i],
			    word(seed, i));
			return "other octets than were posted";
		}
	return NULL;
}

size_t filled(const void *at, size_t len, u64 seed)
{
	const u64 *words = at;
	size_t count = 0;

	for (size_t i = 0; i < len / sizeof(u64); i++)
		count += READ_ONCE(words[i]) == word(seed, i);
	return count * sizeof(u64);
}
