// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Gather and scatter lists of local memory: sequential copies that check lkey, access rights and
 * bounds of every entry as it is used.
 */
#include "memory/access.h"
#include "memory/sge.h"
#include "memory/table.h"

/*
 * Sets *access to the bytes at the cursor, or of the next entry that has any left, and lowers *n to
 * their number. False at the list's end.
 */
static bool access_at(const struct srnic_sge_list *list, struct srnic_sge_cursor *at,
		      struct srnic_region_access *access, u32 *n)
{
	const struct srnic_sge *sge;

	while (at->index < list->num && at->offset == list->sge[at->index].length) {
		at->index++;
		at->offset = 0;
	}
	if (at->index == list->num)
		return false;
	sge = &list->sge[at->index];
	*n = min(*n, sge->length - at->offset);
	access->stag = sge->lkey;
	access->to = sge->addr + at->offset;
	return true;
}

/* An access under the list's keys, to bytes that the caller names. */
static struct srnic_region_access access_of(const struct srnic_sge_list *list, u32 rights)
{
	return (struct srnic_region_access) {
		.requester.pd = list->pd,
		.rights = rights,
		.kernel = list->kernel,
	};
}

enum core_region_verdict srnic_sges_gather(const struct srnic_sge_list *list,
					   struct srnic_sge_cursor *at, void *dst, u32 len)
{
	struct srnic_region_access access = access_of(list, 0);

	while (len) {
		u32 n = len;
		enum core_region_verdict verdict;

		if (!access_at(list, at, &access, &n))
			return CORE_REGION_BOUNDS;
		verdict = srnic_region_read(list->held, &access, dst, n);
		if (verdict != CORE_REGION_OK)
			return verdict;
		at->offset += n;
		dst += n;
		len -= n;
	}
	return CORE_REGION_OK;
}

enum core_region_verdict srnic_sges_scatter(const struct srnic_sge_list *list,
					    struct srnic_sge_cursor *at, const void *src, u32 len)
{
	struct srnic_region_access access = access_of(list, CORE_ACCESS_LOCAL_WRITE);

	while (len) {
		u32 n = len;
		enum core_region_verdict verdict;

		if (!access_at(list, at, &access, &n))
			return CORE_REGION_BOUNDS;
		verdict = srnic_region_write(list->held, &access, src, n);
		if (verdict != CORE_REGION_OK)
			return verdict;
		at->offset += n;
		src += n;
		len -= n;
	}
	return CORE_REGION_OK;
}

static enum core_region_verdict scatter_each(const struct srnic_sge_list *list,
					     struct srnic_sge_cursor *at, const struct kvec *run,
					     u32 num)
{
	enum core_region_verdict verdict = CORE_REGION_OK;

	for (u32 i = 0; i < num && verdict == CORE_REGION_OK; i++)
		verdict = srnic_sges_scatter(list, at, run[i].iov_base, run[i].iov_len);
	return verdict;
}

enum core_region_verdict srnic_sges_scatter_runs(const struct srnic_sge_list *list,
						 struct srnic_sge_cursor *at,
						 const struct kvec *run, u32 num, u32 len)
{
	struct srnic_region_access access = access_of(list, CORE_ACCESS_LOCAL_WRITE);
	u32 n = len;

	if (!access_at(list, at, &access, &n) || n < len)
		return scatter_each(list, at, run, num);
	at->offset += len;
	return srnic_region_write_runs(list->held, &access, run, num, len);
}

static u32 bytes_in(const struct bio_vec *pages, u32 num)
{
	u32 bytes = 0;

	for (u32 i = 0; i < num; i++)
		bytes += pages[i].bv_len;
	return bytes;
}

u32 srnic_sges_locate(const struct srnic_sge_list *list, struct srnic_sge_cursor *at, u32 len,
		      u32 least, struct bio_vec *out, u32 most)
{
	struct srnic_region_access access = access_of(list, 0);
	u32 num = 0, more, bytes;

	do {
		u32 n = len;

		if (!access_at(list, at, &access, &n) || n < least)
			break;
		more = srnic_region_locate(list->held, &access, n, out + num, most - num);
		bytes = bytes_in(out + num, more);
		at->offset += bytes;
		len -= bytes;
		num += more;
	} while (more && len && num < most && access.stag == SRNIC_LOCAL_DMA_LKEY);
	return num;
}

u32 srnic_sges_contiguous(const struct srnic_sge_list *list, struct srnic_sge_cursor *at)
{
	struct srnic_region_access access;
	u32 n = U32_MAX;

	return access_at(list, at, &access, &n) ? n : 0;
}

enum core_region_verdict srnic_sges_verify(const struct srnic_sge_list *list, u32 rights)
{
	struct srnic_region_access access = access_of(list, rights);
	enum core_region_verdict verdict = CORE_REGION_OK;

	for (u32 i = 0; i < list->num && verdict == CORE_REGION_OK; i++) {
		access.stag = list->sge[i].lkey;
		access.to = list->sge[i].addr;
		verdict = srnic_region_verify(list->held, &access, list->sge[i].length);
	}
	return verdict;
}
