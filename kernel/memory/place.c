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

#include "memory/copy.h"
#include "memory/crc.h"
#include "memory/place.h"

/*
 * Bytes copied under one hold: an invalidation on another CPU spins meanwhile. A use that copies
 * few bytes or none counts as so many more.
 */
#define HELD_MAX	SZ_64K
#define HELD_USE	256U

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

/* Which way octets go. */
enum way { INTO_REGION, FROM_REGION };

/*
 * Adds the bytes to *sum, unless that is NULL. Of the two sides only `octets` is private: a program
 * may change its region meanwhile, and the sum is to be that of what the peer sent, or gets.
 */
static void copy_octets(void *region, void *octets, u32 len, enum way way, u32 *sum)
{
	void *to = way == INTO_REGION ? region : octets;
	void *from = way == INTO_REGION ? octets : region;

	if (sum && srnic_crc32c_copy(sum, to, from, len))
		return;
	srnic_copy(to, from, len);
	if (sum)
		*sum = core_host_crc32c(*sum, octets, len);
}

static void copy_pieces(const struct srnic_mr *mr, u64 to, u8 *octets, u32 len, enum way way,
			u32 *sum)
{
	u32 n;

	for (; len; to += n, octets += n, len -= n) {
		void *at;

		n = len;
		at = locate(mr, to, &n);
		copy_octets(at, octets, n, way, sum);
	}
}

void srnic_held_drop(struct srnic_held *held)
{
	if (held->mr)
		srnic_mr_drop(held->mr);
	held->mr = NULL;
}

/*
 * A region that is being invalidated is given up at once, though it could be used until it is
 * dropped.
 */
static bool still_holds(const struct srnic_held *held, u32 stag, u32 len)
{
	return held->mr && held->stag == stag && held->left && held->left >= len &&
	       READ_ONCE(held->mr->state) == SRNIC_MR_VALID;
}

static void charge(struct srnic_held *held, u32 len)
{
	held->left -= min(held->left, len + HELD_USE);
}

void srnic_held_pause(struct srnic_held *held)
{
	if (!held->mr)
		return;
	charge(held, 0);
	if (!held->left || READ_ONCE(held->mr->state) != SRNIC_MR_VALID)
		srnic_held_drop(held);
}

/* The region of this STag, held, for len bytes more (at most HELD_MAX); or NULL. */
static struct srnic_mr *hold(struct srnic_held *held, u32 stag, u32 len)
{
	if (!still_holds(held, stag, len)) {
		srnic_held_drop(held);
		if (held->stag != stag)
			held->slot = srnic_mr_slot(held->dev, stag);
		held->stag = stag;
		held->mr = srnic_mr_hold(held->dev, held->slot, stag);
		held->left = HELD_MAX;
	}
	charge(held, len);
	return held->mr;
}

/* The same if the request is for it; else NULL, and why. */
static struct srnic_mr *hold_for(struct srnic_held *held, const struct request *req, u32 stag,
				 u64 to, u32 len, enum core_region_verdict *why)
{
	struct srnic_mr *mr = hold(held, stag, len);

	*why = mr ? check(mr, req, to, len) : CORE_REGION_INVALID;
	return *why == CORE_REGION_OK ? mr : NULL;
}

static enum core_region_verdict copy(struct srnic_held *held, const struct request *req, u32 stag,
				     u64 to, u8 *octets, u32 len, enum way way)
{
	enum core_region_verdict verdict = CORE_REGION_OK;
	struct srnic_mr *mr;
	u32 n;

	if (stag == SRNIC_LOCAL_DMA_LKEY) {
		srnic_held_pause(held);
		verdict = len ? check_local_dma(req) : CORE_REGION_OK;
		if (verdict == CORE_REGION_OK)
			copy_octets((void *)(uintptr_t)to, octets, len, way, held->sum);
		return verdict;
	}
	for (; len; to += n, octets += n, len -= n) {
		n = min_t(u32, len, HELD_MAX);
		mr = hold_for(held, req, stag, to, n, &verdict);
		if (!mr)
			return verdict;
		copy_pieces(mr, to, octets, n, way, held->sum);
	}
	return CORE_REGION_OK;
}

enum core_region_verdict srnic_region_write(struct srnic_held *held, u32 pd, bool kernel, u32 stag,
					    u32 access, u64 to, const void *src, u32 len)
{
	const struct request req = { .pd = pd, .access = access, .kernel = kernel };

	return copy(held, &req, stag, to, (void *)src, len, INTO_REGION);
}

enum core_region_verdict srnic_region_read(struct srnic_held *held, u32 pd, bool kernel, u32 stag,
					   u32 access, u64 to, void *dst, u32 len)
{
	const struct request req = { .pd = pd, .access = access, .kernel = kernel };

	return copy(held, &req, stag, to, dst, len, FROM_REGION);
}

enum core_region_verdict srnic_region_atomic(struct srnic_held *held, u32 pd, u32 stag, u64 to,
					     const struct core_atomic *op, u64 *original)
{
	const struct request req = { .pd = pd, .access = CORE_ACCESS_REMOTE_ATOMIC };
	enum core_region_verdict verdict;
	u32 len = sizeof(*original);
	struct srnic_mr *mr;
	void *word;

	mr = hold_for(held, &req, stag, to, len, &verdict);
	if (!mr)
		return verdict;
	word = locate(mr, to, &len);
	/* An aligned word never crosses a piece. */
	if (!IS_ALIGNED((uintptr_t)word, sizeof(*original)))
		return CORE_REGION_ALIGNMENT;
	*original = core_atomic_execute(op, word);
	return CORE_REGION_OK;
}

enum core_region_verdict srnic_region_verify(struct srnic_held *held, u32 pd, bool kernel, u32 stag,
					     u32 access, u64 to, u64 len)
{
	const struct request req = { .pd = pd, .access = access, .kernel = kernel };
	struct srnic_mr *mr;

	if (!len)
		return CORE_REGION_OK;
	if (stag == SRNIC_LOCAL_DMA_LKEY)
		return check_local_dma(&req);
	mr = hold(held, stag, 0);
	return mr ? check(mr, &req, to, len) : CORE_REGION_INVALID;
}

bool srnic_region_snapshot(struct srnic_held *held, u32 stag, struct core_region *out)
{
	const struct srnic_mr *mr = hold(held, stag, 0);

	if (mr)
		snapshot(mr, out);
	return mr;
}
