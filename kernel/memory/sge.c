// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Gather and scatter lists of local memory: sequential copies that check the lkey, the rights and
 * the bounds of every entry as it is used.
 */
#include "memory/mr.h"
#include "stream/qp.h"

/*
 * The entry at the cursor that has octets left, or NULL at the end; *n is lowered to what is left
 * in it.
 */
static const struct srnic_sge *current_sge(const struct srnic_sge *sge, u32 num,
					   struct srnic_sge_cursor *at, u32 *n)
{
	while (at->index < num && at->offset == sge[at->index].length) {
		at->index++;
		at->offset = 0;
	}
	if (at->index == num)
		return NULL;
	*n = min(*n, sge[at->index].length - at->offset);
	return &sge[at->index];
}

enum core_region_verdict srnic_sges_gather(struct srnic_qp *qp, const struct srnic_sge *sge,
					   u32 num, struct srnic_sge_cursor *at, void *dst, u32 len)
{
	while (len) {
		u32 n = len;
		const struct srnic_sge *cur = current_sge(sge, num, at, &n);
		enum core_region_verdict verdict;

		if (!cur)
			return CORE_REGION_BOUNDS;
		verdict = srnic_region_read(qp->dev, qp->pd, !qp->user, cur->lkey, 0,
					    cur->addr + at->offset, dst, n);
		if (verdict != CORE_REGION_OK)
			return verdict;
		at->offset += n;
		dst += n;
		len -= n;
	}
	return CORE_REGION_OK;
}

enum core_region_verdict srnic_sges_scatter(struct srnic_qp *qp, u32 pd,
					    const struct srnic_sge *sge, u32 num,
					    struct srnic_sge_cursor *at, const void *src, u32 len)
{
	while (len) {
		u32 n = len;
		const struct srnic_sge *cur = current_sge(sge, num, at, &n);
		enum core_region_verdict verdict;

		if (!cur)
			return CORE_REGION_BOUNDS;
		verdict =
			srnic_region_write(qp->dev, pd, !qp->user, cur->lkey,
					   CORE_ACCESS_LOCAL_WRITE, cur->addr + at->offset, src, n);
		if (verdict != CORE_REGION_OK)
			return verdict;
		at->offset += n;
		src += n;
		len -= n;
	}
	return CORE_REGION_OK;
}

enum core_region_verdict srnic_sges_verify(struct srnic_qp *qp, const struct srnic_sge *sge,
					   u32 num, u32 access)
{
	for (u32 i = 0; i < num; i++) {
		enum core_region_verdict verdict =
			srnic_region_verify(qp->dev, qp->pd, !qp->user, sge[i].lkey, access,
					    sge[i].addr, sge[i].length);

		if (verdict != CORE_REGION_OK)
			return verdict;
	}
	return CORE_REGION_OK;
}
