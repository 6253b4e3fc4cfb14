// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Copying between regions and kernel memory, and the checks before it (RFC 5041 7.1, RFC 5040 7.2;
 * the core decides).
 *
 * The bytes are in the region when these functions return. The CQE is published later with a
 * release, so a consumer that sees the CQE sees the bytes.
 */
#include <linux/mm.h>
#include <linux/net.h>

#include "memory/access.h"
#include "memory/copy.h"
#include "memory/crc.h"
#include "memory/table.h"

/* ---- checks ---- */

static void take_snapshot(const struct srnic_mr *mr, struct core_region *out)
{
	out->base = mr->iova;
	out->length = mr->length;
	out->pd = mr->pd;
	out->access = mr->access;
	out->qpn = mr->window ? mr->qpn : 0;
	out->window = mr->window != 0;
}

/* For these bytes, which may be a part of those of the access. */
static enum core_region_verdict check_region(const struct srnic_mr *mr,
					     const struct srnic_region_access *access, u64 to,
					     u64 len)
{
	struct core_region region;

	take_snapshot(mr, &region);
	return core_region_check(&region, access->requester, access->rights, to, len);
}

/* The kernel consumers' key to all memory. For a peer there is no such STag. */
static enum core_region_verdict check_local_dma(const struct srnic_region_access *access)
{
	bool remote = access->rights & (CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ |
					CORE_ACCESS_REMOTE_ATOMIC);

	return access->kernel && !remote ? CORE_REGION_OK : CORE_REGION_INVALID;
}

/* The region, held, if the access to these bytes is allowed; else NULL, and why. */
static __always_inline struct srnic_mr *hold_checked(struct srnic_held *held,
						     const struct srnic_region_access *access,
						     u64 to, u32 len,
						     enum core_region_verdict *why)
{
	struct srnic_mr *mr = srnic_held_region(held, access->stag, len);

	*why = mr ? check_region(mr, access, to, len) : CORE_REGION_INVALID;
	return *why == CORE_REGION_OK ? mr : NULL;
}

/* ---- copying ---- */

/* The piece with byte `at` of a region with gaps, whose bounds have been checked. */
static u32 find_piece(const struct srnic_mr *mr, u64 at)
{
	u32 first = 0, last = mr->num_pieces - 1;

	while (first < last) {
		u32 middle = first + (last - first) / 2;

		if (at < mr->ends[middle])
			last = middle;
		else
			first = middle + 1;
	}
	return first;
}

static void *locate_between_gaps(const struct srnic_mr *mr, u64 at, u32 *len)
{
	u32 n = find_piece(mr, at);
	u64 begin = n ? mr->ends[n - 1] : 0;

	*len = min_t(u64, *len, mr->ends[n] - at);
	return mr->pieces[n] + (at - begin);
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
	if (mr->ends)
		return locate_between_gaps(mr, at, len);
	*len = min(*len, size - offset);
	return mr->pieces[at >> mr->piece_shift] + offset;
}

enum direction { INTO_REGION, FROM_REGION };

/*
 * Adds the bytes to held->sum, unless that is NULL. A program may change its region meanwhile: the
 * sum is that of `bytes`, which the peer sent, or gets.
 */
static void copy_and_sum(const struct srnic_held *held, void *region, void *bytes, u32 len,
			 enum direction direction)
{
	u32 *sum = held->sum;
	void *to = direction == INTO_REGION ? region : bytes;
	void *from = direction == INTO_REGION ? bytes : region;

	if (sum)
		srnic_crc32c_copy(sum, to, from, len, direction == FROM_REGION, held->sums_many);
	else
		srnic_copy(to, from, len);
}

static __always_inline void copy_pieces(const struct srnic_held *held, const struct srnic_mr *mr,
					u64 to, u8 *bytes, u32 len, enum direction direction)
{
	u32 n;

	for (; len; to += n, bytes += n, len -= n) {
		void *at;

		n = len;
		at = locate(mr, to, &n);
		copy_and_sum(held, at, bytes, n, direction);
	}
}

static enum core_region_verdict copy_local_dma(struct srnic_held *held,
					       const struct srnic_region_access *access, u8 *bytes,
					       u32 len, enum direction direction)
{
	enum core_region_verdict verdict = len ? check_local_dma(access) : CORE_REGION_OK;

	srnic_held_pause_for(held, len);
	if (verdict == CORE_REGION_OK)
		copy_and_sum(held, (void *)(uintptr_t)access->to, bytes, len, direction);
	return verdict;
}

/* At most SRNIC_HELD_MAX bytes, and not none. */
static enum core_region_verdict copy_under_one_hold(struct srnic_held *held,
						    const struct srnic_region_access *access,
						    u64 to, u8 *bytes, u32 len,
						    enum direction direction)
{
	enum core_region_verdict verdict;
	struct srnic_mr *mr = hold_checked(held, access, to, len, &verdict);

	if (likely(mr))
		copy_pieces(held, mr, to, bytes, len, direction);
	return verdict;
}

static enum core_region_verdict copy(struct srnic_held *held,
				     const struct srnic_region_access *access, u8 *bytes, u32 len,
				     enum direction direction)
{
	enum core_region_verdict verdict = CORE_REGION_OK;
	u64 to = access->to;
	u32 n;

	if (unlikely(access->stag == SRNIC_LOCAL_DMA_LKEY))
		return copy_local_dma(held, access, bytes, len, direction);
	for (; len && verdict == CORE_REGION_OK; to += n, bytes += n, len -= n) {
		n = min_t(u32, len, SRNIC_HELD_MAX);
		verdict = copy_under_one_hold(held, access, to, bytes, n, direction);
	}
	return verdict;
}

enum core_region_verdict srnic_region_write(struct srnic_held *held,
					    const struct srnic_region_access *access,
					    const void *src, u32 len)
{
	return copy(held, access, (void *)src, len, INTO_REGION);
}

enum core_region_verdict srnic_region_read(struct srnic_held *held,
					   const struct srnic_region_access *access,
					   void *dst, u32 len)
{
	return copy(held, access, dst, len, FROM_REGION);
}

static void copy_runs(const struct srnic_held *held, const struct srnic_mr *mr, u64 to,
		      const struct kvec *run, u32 num)
{
	for (u32 i = 0; i < num; to += run[i++].iov_len)
		copy_pieces(held, mr, to, run[i].iov_base, run[i].iov_len, INTO_REGION);
}

static enum core_region_verdict write_each(struct srnic_held *held,
					   struct srnic_region_access access,
					   const struct kvec *run, u32 num)
{
	enum core_region_verdict verdict = CORE_REGION_OK;

	for (u32 i = 0; i < num && verdict == CORE_REGION_OK; access.to += run[i++].iov_len)
		verdict = srnic_region_write(held, &access, run[i].iov_base, run[i].iov_len);
	return verdict;
}

enum core_region_verdict srnic_region_write_runs(struct srnic_held *held,
						 const struct srnic_region_access *access,
						 const struct kvec *run, u32 num, u32 len)
{
	enum core_region_verdict verdict;
	struct srnic_mr *mr;

	if (access->stag == SRNIC_LOCAL_DMA_LKEY || len > SRNIC_HELD_MAX)
		return write_each(held, *access, run, num);
	mr = hold_checked(held, access, access->to, len, &verdict);
	if (likely(mr))
		copy_runs(held, mr, access->to, run, num);
	return verdict;
}

/* ---- bytes in their place ---- */

/* *n bytes at this address, or so many of them as are in its page. */
static bool find_page(void *at, u32 *n, struct bio_vec *out)
{
	if (!virt_addr_valid(at) || !sendpage_ok(virt_to_page(at)))
		return false;
	*n = min_t(u32, *n, PAGE_SIZE - offset_in_page(at));
	*out = (struct bio_vec) {
		.bv_page = virt_to_page(at),
		.bv_offset = offset_in_page(at),
		.bv_len = *n,
	};
	return true;
}

/* mr: NULL for the key to all memory. The access has been checked. */
static u32 find_pages(const struct srnic_mr *mr, u64 to, u32 len, struct bio_vec *out, u32 most)
{
	u32 num = 0, n;

	for (; len && num < most; to += n, len -= n) {
		n = len;
		if (!find_page(mr ? locate(mr, to, &n) : (void *)(uintptr_t)to, &n, &out[num]))
			break;
		num++;
	}
	return num;
}

u32 srnic_region_locate(struct srnic_held *held, const struct srnic_region_access *access, u32 len,
			struct bio_vec *out, u32 most)
{
	enum core_region_verdict verdict;
	struct srnic_mr *mr = NULL;

	len = min_t(u32, len, SRNIC_HELD_MAX);
	if (access->stag == SRNIC_LOCAL_DMA_LKEY) {
		srnic_held_pause(held);
		verdict = check_local_dma(access);
	} else {
		mr = hold_checked(held, access, access->to, len, &verdict);
	}
	return verdict == CORE_REGION_OK ? find_pages(mr, access->to, len, out, most) : 0;
}

/* ---- other access ---- */

/* The aligned word at access->to, whose region is held; else NULL, and why. */
static void *find_word(struct srnic_held *held, const struct srnic_region_access *access,
		       enum core_region_verdict *why)
{
	u32 len = sizeof(u64);
	struct srnic_mr *mr;
	void *word;

	mr = hold_checked(held, access, access->to, len, why);
	if (!mr)
		return NULL;
	word = locate(mr, access->to, &len);
	/* Only between gaps does an aligned word cross a piece. */
	if (IS_ALIGNED((uintptr_t)word, sizeof(u64)) && len == sizeof(u64))
		return word;
	*why = CORE_REGION_ALIGNMENT;
	return NULL;
}

enum core_region_verdict srnic_region_atomic(struct srnic_held *held,
					     const struct srnic_region_access *access,
					     const struct core_atomic *op, u64 *original)
{
	enum core_region_verdict verdict;
	void *word;

	if (WARN_ON_ONCE(!(access->rights & CORE_ACCESS_REMOTE_ATOMIC)))
		return CORE_REGION_ACCESS;
	word = find_word(held, access, &verdict);
	if (word)
		*original = core_atomic_execute(op, word);
	return verdict;
}

enum core_region_verdict srnic_region_atomic_write(struct srnic_held *held,
						   const struct srnic_region_access *access,
						   const u8 data[8])
{
	enum core_region_verdict verdict;
	void *word;

	if (WARN_ON_ONCE(!(access->rights & CORE_ACCESS_REMOTE_WRITE)))
		return CORE_REGION_ACCESS;
	word = find_word(held, access, &verdict);
	if (word)
		core_atomic_write(data, word);
	return verdict;
}

enum core_region_verdict srnic_region_verify(struct srnic_held *held,
					     const struct srnic_region_access *access, u64 len)
{
	struct srnic_mr *mr;

	if (!len)
		return CORE_REGION_OK;
	if (access->stag == SRNIC_LOCAL_DMA_LKEY)
		return check_local_dma(access);
	mr = srnic_held_region(held, access->stag, 0);
	return mr ? check_region(mr, access, access->to, len) : CORE_REGION_INVALID;
}

bool srnic_region_snapshot(struct srnic_held *held, u32 stag, struct core_region *out)
{
	const struct srnic_mr *mr = srnic_held_region(held, stag, 0);

	if (mr)
		take_snapshot(mr, out);
	return mr;
}
