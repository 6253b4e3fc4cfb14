/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Regions of memory that another driver has exported as a dma-buf.
 */
#ifndef SRNIC_DMABUF_H
#define SRNIC_DMABUF_H

#include "memory/mr.h"

struct dma_buf;

/*
 * Makes a region of these bytes of the buffer, the first at TO @iova. It has a reference of its own
 * to the buffer, until it is deregistered. ERR_PTR: -EINVAL for bytes that the buffer has not,
 * -EACCES for writing to a buffer that was opened for reading, -EOPNOTSUPP if the CPU cannot reach
 * the memory, or only as a device's; and errors of the exporter.
 */
struct ib_mr *srnic_dmabuf_region(struct ib_pd *pd, struct dma_buf *dmabuf, u64 offset, u64 length,
				  u64 iova, int access);
/* May a region of a dma-buf be registered again with these IB_MR_REREG_* flags? 0 or an errno. */
int srnic_dmabuf_may_rereg(const struct srnic_mr *mr, int flags, int access);

/* verbs */
struct ib_mr *srnic_reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 iova, int fd,
			       int access);

#endif
