// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * srnic's interface to libibverbs: device matching, contexts and the ops table. The verbs that call
 * the kernel are in a file for each object: memory.c, *_verbs.c. The data path is in send.cc,
 * recv.cc and cq.cc.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "compat.h"
#include "provider.h"
#include "srnicdv.h"

/* uverbs' commands and responses, each followed by srnic's part. */
struct get_context {
	struct ibv_get_context core;
	struct srnic_alloc_ucontext_req srnic;
};

struct get_context_resp {
	struct ib_uverbs_get_context_resp core;
	struct srnic_alloc_ucontext_resp srnic;
};

static_assert(offsetof(struct get_context, srnic) == sizeof(struct ibv_get_context),
	      "padding in struct get_context");
static_assert(offsetof(struct get_context_resp, srnic) == sizeof(struct ib_uverbs_get_context_resp),
	      "padding in struct get_context_resp");

/* ---- Device and port ---- */

static int query_device_ex(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t fw;
	int err;

	err = ibv_cmd_query_device_any(ctx, input, attr, attr_size, &resp, &resp_size);
	if (err)
		return err;
	fw = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver), "%u.%u.%u",
		 (unsigned int)(fw >> 32), (unsigned int)(fw >> 16 & 0xffff),
		 (unsigned int)(fw & 0xffff));
	return 0;
}

/* Timestamps of completions are of this clock. As other devices have it: all in tv_nsec. */
static int query_rt_values(struct ibv_context *ctx, struct ibv_values_ex *values)
{
	uint32_t asked = values->comp_mask;
	struct timespec now;

	if (!(to_context(ctx)->features & SRNIC_FEATURE_TIMESTAMP))
		return EOPNOTSUPP;
	values->comp_mask = asked & IBV_VALUES_MASK_RAW_CLOCK;
	if (!values->comp_mask)
		return 0;
	if (clock_gettime(CLOCK_MONOTONIC, &now))
		return errno;
	values->raw_clock.tv_sec = 0;
	values->raw_clock.tv_nsec = now.tv_sec * 1000000000 + now.tv_nsec;
	return 0;
}

static int query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(ctx, port, attr, &cmd, sizeof(cmd));
}

/* ---- Contexts and devices ---- */

static void free_context(struct ibv_context *ibctx)
{
	struct context *ctx = to_context(ibctx);

	verbs_uninit_context(&ctx->base);
	free(ctx);
}

static const struct verbs_context_ops context_ops = {
	.alloc_parent_domain = srnic_alloc_parent_domain,
	.alloc_pd = srnic_alloc_pd,
	.alloc_td = srnic_alloc_td,
	.attach_mcast = ibv_cmd_attach_mcast,
	.cq_event = srnic_cq_event,
	.create_ah = srnic_create_ah,
	.create_cq = srnic_create_cq,
	.create_cq_ex = srnic_create_cq_ex,
	.create_qp = srnic_create_qp,
	.create_qp_ex = srnic_create_qp_ex,
	.create_srq = srnic_create_srq,
	.dealloc_pd = srnic_dealloc_pd,
	.dealloc_td = srnic_dealloc_td,
	.dereg_mr = srnic_dereg_mr,
	.destroy_ah = srnic_destroy_ah,
	.detach_mcast = ibv_cmd_detach_mcast,
	.destroy_cq = srnic_destroy_cq,
	.destroy_qp = srnic_destroy_qp,
	.destroy_srq = srnic_destroy_srq,
	.free_context = free_context,
	.import_mr = srnic_import_mr,
	.import_pd = srnic_import_pd,
	.modify_cq = srnic_modify_cq,
	.modify_qp = srnic_modify_qp,
	.modify_srq = srnic_modify_srq,
	.poll_cq = srnic_poll_cq,
	.post_recv = srnic_post_recv,
	.post_send = srnic_post_send,
	.post_srq_recv = srnic_post_srq_recv,
	.query_device_ex = query_device_ex,
	.query_port = query_port,
	.query_qp = srnic_query_qp,
	.query_rt_values = query_rt_values,
	.query_srq = srnic_query_srq,
	.reg_dmabuf_mr = srnic_reg_dmabuf_mr,
	.reg_mr = srnic_reg_mr,
	.req_notify_cq = srnic_req_notify_cq,
	.rereg_mr = srnic_rereg_mr,
	.resize_cq = srnic_resize_cq,
	.unimport_mr = srnic_unimport_mr,
	.unimport_pd = srnic_unimport_pd,
};

/* Of modules that know windows; for others libibverbs returns EOPNOTSUPP. */
static const struct verbs_context_ops window_ops = {
	.alloc_mw = srnic_alloc_mw,
	.bind_mw = srnic_bind_mw,
	.dealloc_mw = srnic_dealloc_mw,
};

/*
 * The module of this device speaks no ABI version of this provider. To stderr, as libibverbs itself
 * does with what keeps a device from programs: verbs_err() would be silent.
 */
static void explain_abi(struct ibv_device *device)
{
	fprintf(stderr, "srnic: %s: %s\n", device->name,
		srnic_abi_advice(verbs_get_device(device)->sysfs->abi_ver));
}

/* That of the match table which fits. Some commands need it, too. */
static uint32_t driver_of(struct ibv_device *device)
{
	return verbs_get_device(device)->sysfs->driver_id;
}

static void set_up(struct context *ctx, const struct srnic_alloc_ucontext_resp *resp)
{
	ctx->ib = driver_of(ctx->base.context.device) == SRNIC_IB_DRIVER_ID;
	ctx->features = resp->features & SRNIC_KNOWN_FEATURES;
	verbs_set_ops(&ctx->base, &context_ops);
	if (ctx->features & SRNIC_FEATURE_WINDOW)
		verbs_set_ops(&ctx->base, &window_ops);
}

static struct verbs_context *alloc_context(struct ibv_device *device, int cmd_fd,
					   void *private_data)
{
	struct get_context_resp resp = {};
	struct get_context cmd = {
		.srnic = {
			.min_abi = SRNIC_ABI_MIN,
			.max_abi = SRNIC_ABI_MAX,
			.features = SRNIC_KNOWN_FEATURES,
		},
	};
	struct context *ctx;
	int err;

	ctx = verbs_init_and_alloc_context(device, cmd_fd, ctx, base, driver_of(device));
	if (!ctx)
		return NULL;
	err = srnic_cmd_get_context(&ctx->base, &cmd.core, sizeof(cmd), &resp.core, sizeof(resp));
	if (!err && !srnic_speaks(resp.srnic.abi_version))
		err = EPROTO;
	if (err == EPROTO)
		explain_abi(device);
	if (err) {
		free_context(&ctx->base.context);
		return fail(err);
	}
	set_up(ctx, &resp.srnic);
	return &ctx->base;
}

/* Another process opened it, and gave this one the descriptor. */
static struct verbs_context *import_context(struct ibv_device *device, int cmd_fd)
{
	DECLARE_COMMAND_BUFFER_LINK(attrs, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, 1,
				    NULL);
	struct srnic_alloc_ucontext_resp resp = {};
	struct context *ctx;
	int err;

	ctx = verbs_init_and_alloc_context(device, cmd_fd, ctx, base, driver_of(device));
	if (!ctx)
		return NULL;
	fill_attr_out_ptr(attrs, SRNIC_ATTR_QUERY_CONTEXT_RESP, &resp);
	err = ibv_cmd_query_context(&ctx->base.context, attrs);
	if (!err && !srnic_speaks(resp.abi_version))
		err = EPROTO;
	if (err) {
		free_context(&ctx->base.context);
		return fail(err);
	}
	set_up(ctx, &resp);
	return &ctx->base;
}

static struct verbs_device *alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	return calloc(1, sizeof(struct verbs_device));
}

static void uninit_device(struct verbs_device *device)
{
	free(device);
}

/* Devices may have any name, so match by the driver id that RDMA netlink reports. */
static const struct verbs_match_ent match_table[] = {
	VERBS_DRIVER_ID(SRNIC_DRIVER_ID),
	VERBS_DRIVER_ID(SRNIC_IB_DRIVER_ID),
	{}
};

/*
 * Any ABI version matches: of a newer module it is the highest of several. Opening a context finds
 * one that both speak.
 */
static const struct verbs_device_ops device_ops = {
	.name = "srnic",
	.match_min_abi_version = 0,
	.match_max_abi_version = UINT32_MAX,
	.match_table = match_table,
	.alloc_device = alloc_device,
	.uninit_device = uninit_device,
	.alloc_context = alloc_context,
	.import_context = import_context,
};

PROVIDER_DRIVER(srnic, device_ops);

/* ---- Direct verbs (srnicdv.h) that are not of the data path ---- */

bool srnicdv_is_supported(struct ibv_device *device)
{
	return verbs_get_device(device)->ops == &device_ops;
}

/* The device's setting rdmap_swap. A kernel module without it allows none. */
static bool allows_swap(struct ibv_device *device)
{
	char value[8];

	return ibv_read_sysfs_file(device->ibdev_path, "rdmap_swap", value, sizeof(value)) > 0 &&
	       value[0] == '1';
}

/*
 * Streams of type srnic_ib have the verbs' four bytes of Immediate Data, and no Swap
 * (Documentation/ib.rst).
 */
static bool has_long_immediates(const struct context *ctx)
{
	return ctx->features & SRNIC_FEATURE_IMMEDIATE && !ctx->ib;
}

static bool has_swap(const struct context *ctx)
{
	return ctx->features & SRNIC_FEATURE_ATOMIC && !ctx->ib;
}

int srnicdv_query_device(struct ibv_context *ctx, struct srnicdv_device_attr *attr, size_t size)
{
	if (!srnicdv_is_supported(ctx->device))
		return EOPNOTSUPP;
	if (!attr || size < sizeof(*attr))
		return EINVAL;
	memset(attr, 0, size);
	if (has_long_immediates(to_context(ctx)))
		attr->caps |= SRNICDV_CAP_IMMEDIATE;
	if (to_context(ctx)->features & SRNIC_FEATURE_ATOMIC)
		attr->caps |= SRNICDV_CAP_ATOMIC;
	if (has_swap(to_context(ctx)))
		attr->caps |= SRNICDV_CAP_SWAP;
	if (allows_swap(ctx->device))
		attr->caps |= SRNICDV_CAP_SWAP_ALLOWED;
	return 0;
}

static uint64_t dv_send_ops(struct ibv_context *ctx, enum ibv_qp_type type)
{
	const struct context *of = to_context(ctx);
	uint64_t ops = 0;

	if (type == IBV_QPT_UD)
		return 0;

	if (has_long_immediates(of))
		ops |= SRNICDV_QP_WITH_RDMA_WRITE_IMM64 | SRNICDV_QP_WITH_SEND_IMM64;
	if (of->features & SRNIC_FEATURE_ATOMIC)
		ops |= SRNICDV_QP_WITH_MASKED_FETCH_ADD | SRNICDV_QP_WITH_MASKED_CMP_SWAP;
	if (has_swap(of))
		ops |= SRNICDV_QP_WITH_SWAP;
	return ops;
}

struct ibv_qp *srnicdv_create_qp(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
				 const struct srnicdv_qp_init_attr *options, size_t size)
{
	if (!srnicdv_is_supported(ctx->device))
		return fail(EOPNOTSUPP);
	if (!attr || !options || size < sizeof(*options) ||
	    !(attr->comp_mask & IBV_QP_INIT_ATTR_PD))
		return fail(EINVAL);
	if (!srnicdv_known(options, sizeof(*options), size) ||
	    !check_comp_mask(options->comp_mask, SRNICDV_QP_INIT_ATTR_SEND_OPS) ||
	    (options->comp_mask & SRNICDV_QP_INIT_ATTR_SEND_OPS &&
	     !check_comp_mask(options->send_ops, dv_send_ops(ctx, attr->qp_type))))
		return fail(EOPNOTSUPP);
	return srnic_create_qp_ex(ctx, attr);
}
