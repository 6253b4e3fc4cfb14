// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The memory of the queues of outstanding RDMA Reads, which a connection has.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "stream/reads.h"

int srnic_reads_alloc(struct srnic_reads *reads, u16 most, u16 stride)
{
	srnic_reads_free(reads);
	reads->most = most;
	reads->stride = stride;
	reads->size = roundup_pow_of_two(max_t(u32, most, 1));
	reads->entries = kvcalloc(reads->size, stride, GFP_KERNEL_ACCOUNT);
	return reads->entries ? 0 : -ENOMEM;
}

void srnic_reads_free(struct srnic_reads *reads)
{
	kvfree(reads->entries);
	reads->entries = NULL;
	reads->stride = 0;
	reads->size = 0;
	reads->head = 0;
	reads->tail = 0;
	reads->awaited = false;	/* and @most stays for those who ask */
}
