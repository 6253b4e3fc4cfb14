/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Gather and scatter lists of local memory.
 */
#ifndef SRNIC_SGE_H
#define SRNIC_SGE_H

#include "memory/mr.h"

/**
 * struct srnic_sge_list - a list, and whose memory its keys are looked up in
 * @dev: the device of its regions
 * @kernel: of a kernel consumer, who may use local_dma_lkey
 * @sge: the list. A private copy: user space must not be able to change it
 * @num: entries in @sge
 * @pd: the protection domain of its regions
 */
struct srnic_sge_list {
	struct srnic_dev *dev;
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
 * the list. Any context.
 */
enum core_region_verdict srnic_sges_gather(const struct srnic_sge_list *list,
					   struct srnic_sge_cursor *at, void *dst, u32 len);
enum core_region_verdict srnic_sges_scatter(const struct srnic_sge_list *list,
					    struct srnic_sge_cursor *at, const void *src, u32 len);
/* May the whole list be used with these local rights? */
enum core_region_verdict srnic_sges_verify(const struct srnic_sge_list *list, u32 access);

#endif
