// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Copying between regions and kernel memory, and the checks before it (RFC 5041 7.1, RFC 5040 7.2;
 * the core decides).
 *
 * The bytes are in the region when these functions return. The CQE is published later with a
 * release, so a consumer that sees the CQE sees the bytes.
 */
#include <linux/mm.h>
#include <linux/sizes.h>

#include "memory/place.h"

/* The requester: its protection domain, and the access it wants. */
struct request {
	u32 pd;
	u32 access;
	bool kernel;
};

static void snapshot(const struct srnic_mr *mr, struct core_region *out)
{
	out->base = mr->iova;
	out->length = mr->length;
	out->pd = mr->pd;
	out->access = mr->access;
}

static enum core_region_verdict check(const struct srnic_mr *mr, const struct request *req, u64 to,
				      u64 len)
{
	struct core_region region;

	snapshot(mr, &region);
	return core_region_check(&region, req->pd, req->access, to, len);
}

/* The kernel consumers' key to all memory. For a peer there is no such STag. */
static enum core_region_verdict check_local_dma(const struct request *req)
{
	bool remote = req->access & (CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ |
				     CORE_ACCESS_REMOTE_ATOMIC);

	return req->kernel && !remote ? CORE_REGION_OK : CORE_REGION_INVALID;
}

/*
 * The address of TO `to`; lowers *len to the contiguous bytes there. No page is in high memory
 * (64-bit only).
 */
static void *locate(const struct srnic_mr *mr, u64 to, u32 *len)
{
	u64 at = to - mr->iova + mr->offset;
	u32 size = BIT(mr->piece_shift), offset = at & (size - 1);

	if (mr->dma)
		return (void *)(uintptr_t)to;
	*len = min(*len, size - offset);
	return mr->pieces[at >> mr->piece_shift] + offset;
}

static void copy_in(const struct srnic_mr *mr, u64 to, const u8 *src, u32 len)
{
	u32 n;

	for (; len; to += n, src += n, len -= n) {
		void *at;

		n = len;
		at = locate(mr, to, &n);
		memcpy(at, src, n);
	}
}

static void copy_out(const struct srnic_mr *mr, u64 to, u8 *dst, u32 len)
{
	u32 n;

	for (; len; to += n, dst += n, len -= n) {
		const void *at;

		n = len;
		at = locate(mr, to, &n);
		memcpy(dst, at, n);
	}
}

/* The region, held, if the request is for it; else NULL, and why. */
static struct srnic_mr *hold_for(struct srnic_dev *dev, const struct request *req, u32 stag, u64 to,
				 u64 len, enum core_region_verdict *why)
{
	struct srnic_mr *mr = srnic_mr_hold(dev, stag);

	*why = mr ? check(mr, req, to, len) : CORE_REGION_INVALID;
	if (*why == CORE_REGION_OK)
		return mr;
	if (mr)
		srnic_mr_drop(mr);
	return NULL;
}

/* Copies one piece under one hold. Either src or dst is NULL, which gives the direction. */
static enum core_region_verdict copy_piece(struct srnic_dev *dev, const struct request *req,
					   u32 stag, u64 to, const void *src, void *dst, u32 len)
{
	enum core_region_verdict verdict;
	struct srnic_mr *mr = hold_for(dev, req, stag, to, len, &verdict);

	if (!mr)
		return verdict;
	if (src)
		copy_in(mr, to, src, len);
	else
		copy_out(mr, to, dst, len);
	srnic_mr_drop(mr);
	return CORE_REGION_OK;
}

enum core_region_verdict srnic_region_write(struct srnic_dev *dev, u32 pd, bool kernel, u32 stag,
					    u32 access, u64 to, const void *src, u32 len)
{
	const struct request req = { .pd = pd, .access = access, .kernel = kernel };
	enum core_region_verdict verdict = CORE_REGION_OK;
	u32 n;

	if (stag == SRNIC_LOCAL_DMA_LKEY) {
		verdict = len ? check_local_dma(&req) : CORE_REGION_OK;
		if (verdict == CORE_REGION_OK)
			memcpy((void *)(uintptr_t)to, src, len);
		return verdict;
	}
	for (; len && verdict == CORE_REGION_OK; to += n, src += n, len -= n) {
		n = min_t(u32, len, SZ_64K);
		verdict = copy_piece(dev, &req, stag, to, src, NULL, n);
	}
	return verdict;
}

enum core_region_verdict srnic_region_read(struct srnic_dev *dev, u32 pd, bool kernel, u32 stag,
					   u32 access, u64 to, void *dst, u32 len)
{
	const struct request req = { .pd = pd, .access = access, .kernel = kernel };
	enum core_region_verdict verdict = CORE_REGION_OK;
	u32 n;

	if (stag == SRNIC_LOCAL_DMA_LKEY) {
		verdict = len ? check_local_dma(&req) : CORE_REGION_OK;
		if (verdict == CORE_REGION_OK)
			memcpy(dst, (const void *)(uintptr_t)to, len);
		return verdict;
	}
	for (; len && verdict == CORE_REGION_OK; to += n, dst += n, len -= n) {
		n = min_t(u32, len, SZ_64K);
		verdict = copy_piece(dev, &req, stag, to, NULL, dst, n);
	}
	return verdict;
}

enum core_region_verdict srnic_region_atomic(struct srnic_dev *dev, u32 pd, u32 stag, u64 to,
					     const struct core_atomic *op, u64 *original)
{
	const struct request req = { .pd = pd, .access = CORE_ACCESS_REMOTE_ATOMIC };
	enum core_region_verdict verdict;
	u32 len = sizeof(*original);
	struct srnic_mr *mr;
	void *word;

	mr = hold_for(dev, &req, stag, to, len, &verdict);
	if (!mr)
		return verdict;
	word = locate(mr, to, &len);
	/* An aligned word never crosses a piece. */
	if (IS_ALIGNED((uintptr_t)word, sizeof(*original)))
		*original = core_atomic_execute(op, word);
	else
		verdict = CORE_REGION_ALIGNMENT;
	srnic_mr_drop(mr);
	return verdict;
}

enum core_region_verdict srnic_region_verify(struct srnic_dev *dev, u32 pd, bool kernel, u32 stag,
					     u32 access, u64 to, u64 len)
{
	const struct request req = { .pd = pd, .access = access, .kernel = kernel };
	enum core_region_verdict verdict;
	struct srnic_mr *mr;

	if (!len)
		return CORE_REGION_OK;
	if (stag == SRNIC_LOCAL_DMA_LKEY)
		return check_local_dma(&req);
	mr = hold_for(dev, &req, stag, to, len, &verdict);
	if (mr)
		srnic_mr_drop(mr);
	return verdict;
}

bool srnic_region_snapshot(struct srnic_dev *dev, u32 stag, struct core_region *out)
{
	struct srnic_mr *mr;

	mr = srnic_mr_hold(dev, stag);
	if (!mr)
		return false;
	snapshot(mr, out);
	srnic_mr_drop(mr);
	return true;
}
