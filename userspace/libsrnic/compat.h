/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Differences between versions of libibverbs' private interface, and nothing else. 34 is rdma-core
 * up to 56; each later one has the number of the first rdma-core with it: 57, 59, 64, 65.
 */
#ifndef SRNIC_COMPAT_H
#define SRNIC_COMPAT_H

#include <infiniband/driver.h>

static inline int srnic_cmd_get_context(struct verbs_context *ctx, struct ibv_get_context *cmd,
					size_t cmd_size, struct ib_uverbs_get_context_resp *resp,
					size_t resp_size)
{
#if IBVERBS_PABI_VERSION >= 57	/* file descriptors of the device for new contexts */
	return ibv_cmd_get_context(ctx, cmd, cmd_size, NULL, resp, resp_size);
#else
	return ibv_cmd_get_context(ctx, cmd, cmd_size, resp, resp_size);
#endif
}

static inline int srnic_cmd_create_cq(struct ibv_context *ctx,
				      const struct ibv_cq_init_attr_ex *attr, struct verbs_cq *cq,
				      struct ibv_create_cq_ex *cmd, size_t cmd_size,
				      struct ib_uverbs_ex_create_cq_resp *resp, size_t resp_size)
{
#if IBVERBS_PABI_VERSION >= 59	/* buffers of a CQ that the program brings */
	return ibv_cmd_create_cq_ex(ctx, attr, NULL, cq, cmd, cmd_size, resp, resp_size, 0);
#else
	return ibv_cmd_create_cq_ex(ctx, attr, cq, cmd, cmd_size, resp, resp_size, 0);
#endif
}

/*
 * Registers a dma-buf. The function got one more argument in 54, but the interface kept its number:
 * its type says which of the two it is.
 */
typedef int (*srnic_reg_dmabuf_54)(struct ibv_pd *, uint64_t, size_t, uint64_t, int, int,
				   struct verbs_mr *, struct ibv_command_buffer *);
typedef int (*srnic_reg_dmabuf_34)(struct ibv_pd *, uint64_t, size_t, uint64_t, int, int,
				   struct verbs_mr *);

struct srnic_dmabuf {
	uint64_t offset;
	size_t length;
	uint64_t iova;
	int fd;
};

static inline int srnic_cmd_reg_dmabuf(struct ibv_pd *pd, const struct srnic_dmabuf *buf,
				       int access, struct verbs_mr *mr)
{
	const int has_driver = __builtin_types_compatible_p(__typeof__(ibv_cmd_reg_dmabuf_mr) *,
							    srnic_reg_dmabuf_54);
	void (*call)(void) = (void (*)(void))ibv_cmd_reg_dmabuf_mr;

	if (has_driver)
		return ((srnic_reg_dmabuf_54)call)(pd, buf->offset, buf->length, buf->iova,
						   buf->fd, access, mr, NULL);
	return ((srnic_reg_dmabuf_34)call)(pd, buf->offset, buf->length, buf->iova, buf->fd,
					   access, mr);
}

#endif
