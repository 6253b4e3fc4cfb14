// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Gather and scatter lists of local memory: sequential copies that check lkey, access rights and
 * bounds of every entry as it is used.
 */
#include "memory/sge.h"

/*
 * The entry at the cursor, or the next one, that has bytes left; NULL at the end. Lowers *n to the
 * bytes left in it.
 */
static const struct srnic_sge *current_sge(const struct srnic_sge_list *list,
					   struct srnic_sge_cursor *at, u32 *n)
{
	while (at->index < list->num && at->offset == list->sge[at->index].length) {
		at->index++;
		at->offset = 0;
	}
	if (at->index == list->num)
		return NULL;
	*n = min(*n, list->sge[at->index].length - at->offset);
	return &list->sge[at->index];
}

enum core_region_verdict srnic_sges_gather(const struct srnic_sge_list *list,
					   struct srnic_sge_cursor *at, void *dst, u32 len)
{
	while (len) {
		u32 n = len;
		const struct srnic_sge *cur = current_sge(list, at, &n);
		enum core_region_verdict verdict;

		if (!cur)
			return CORE_REGION_BOUNDS;
		verdict = srnic_region_read(list->held, list->pd, list->kernel, cur->lkey, 0,
					    cur->addr + at->offset, dst, n);
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
	while (len) {
		u32 n = len;
		const struct srnic_sge *cur = current_sge(list, at, &n);
		enum core_region_verdict verdict;

		if (!cur)
			return CORE_REGION_BOUNDS;
		verdict = srnic_region_write(list->held, list->pd, list->kernel, cur->lkey,
					     CORE_ACCESS_LOCAL_WRITE, cur->addr + at->offset, src,
					     n);
		if (verdict != CORE_REGION_OK)
			return verdict;
		at->offset += n;
		src += n;
		len -= n;
	}
	return CORE_REGION_OK;
}

enum core_region_verdict srnic_sges_verify(const struct srnic_sge_list *list, u32 access)
{
	enum core_region_verdict verdict = CORE_REGION_OK;

	for (u32 i = 0; i < list->num && verdict == CORE_REGION_OK; i++)
		verdict = srnic_region_verify(list->held, list->pd, list->kernel,
					      list->sge[i].lkey, access, list->sge[i].addr,
					      list->sge[i].length);
	return verdict;
}
