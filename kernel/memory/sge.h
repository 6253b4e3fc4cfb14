/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Gather and scatter lists of local memory.
 */
#ifndef SRNIC_SGE_H
#define SRNIC_SGE_H

#include <linux/bvec.h>
#include <linux/uio.h>

#include "memory/held.h"

/**
 * struct srnic_sge_list - a list, and the context of its keys
 * @held: the region that its user holds
 * @kernel: posted by a kernel consumer, which may use local_dma_lkey
 * @sge: the list. Must be a private copy that user space cannot change
 * @num: entries in @sge
 * @pd: the protection domain of its regions
 */
struct srnic_sge_list {
	struct srnic_held *held;
	const struct srnic_sge *sge;
	u32 num;
	u32 pd;
	bool kernel;
};

/* A position in a list, for sequential use. */
struct srnic_sge_cursor {
	u32 index;
	u32 offset;	/* bytes into entry index */
};

/*
 * Copies from, or to, the list at the cursor and advances it. The core has checked that len fits
 * the list. Not with hard interrupts disabled.
 */
enum core_region_verdict srnic_sges_gather(const struct srnic_sge_list *list,
					   struct srnic_sge_cursor *at, void *dst, u32 len);
enum core_region_verdict srnic_sges_scatter(const struct srnic_sge_list *list,
					    struct srnic_sge_cursor *at, const void *src, u32 len);
/* srnic_sges_scatter() of bytes that lie in several runs of memory, len together, and not none. */
enum core_region_verdict srnic_sges_scatter_runs(const struct srnic_sge_list *list,
						 struct srnic_sge_cursor *at,
						 const struct kvec *run, u32 num, u32 len);
/*
 * Where the next bytes are: the first of len, which is not 0, in at most @most pages. Advances the
 * cursor by the bytes in these. The number of pages; 0 if the bytes can only be copied. Ends with
 * an entry of a region, because only one region is held at a time; and before an entry with less
 * than @least bytes left.
 */
u32 srnic_sges_locate(const struct srnic_sge_list *list, struct srnic_sge_cursor *at, u32 len,
		      u32 least, struct bio_vec *out, u32 most);
/* Bytes from the cursor to the end of its entry, or of the next one that has any. */
u32 srnic_sges_contiguous(const struct srnic_sge_list *list, struct srnic_sge_cursor *at);
/* Checks the whole list for these local access rights. Not with hard interrupts disabled. */
enum core_region_verdict srnic_sges_verify(const struct srnic_sge_list *list, u32 rights);

#endif
