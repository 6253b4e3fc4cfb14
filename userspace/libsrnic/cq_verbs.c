// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The verbs of completion queues that call the kernel; cq.cc has the others. */
#include <errno.h>
#include <stdlib.h>

#include "provider.h"
#include "compat.h"

struct create_cq_resp {
	struct ib_uverbs_ex_create_cq_resp core;
	struct srnic_create_cq_resp srnic;
};

static_assert(offsetof(struct create_cq_resp, srnic) == sizeof(struct ib_uverbs_ex_create_cq_resp),
	      "padding in struct create_cq_resp");

struct resize_cq {
	struct ibv_resize_cq core;
	struct srnic_resize_req srnic;
};

static_assert(offsetof(struct resize_cq, srnic) == sizeof(struct ibv_resize_cq),
	      "padding in struct resize_cq");

/* queue.h repeats the head of driver.h's object for C++. */
static_assert(offsetof(struct srnic_cq, ring) == sizeof(struct verbs_cq),
	      "struct verbs_cq has changed");

#define TIMES	((uint64_t)(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |                                  \
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK))

/* 0 or an errno. */
static int check_attr(const struct context *ctx, const struct ibv_cq_init_attr_ex *attr)
{
	uint64_t wc_flags =
		IBV_WC_STANDARD_FLAGS | (ctx->features & SRNIC_FEATURE_TIMESTAMP ? TIMES : 0);

	if (!check_comp_mask(attr->comp_mask,
			     IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD) ||
	    !check_comp_mask(attr->wc_flags, wc_flags))
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    !check_comp_mask(attr->flags, IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	    !(attr->parent_domain && srnic_pd_is_parent(attr->parent_domain)))
		return EINVAL;
	return 0;
}

/* Only one thread at a time uses the CQ: it says so, or its thread domain does. */
static bool has_one_thread(const struct ibv_cq_init_attr_ex *attr)
{
	return (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
		attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) ||
	       (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
		srnic_pd_has_one_thread(attr->parent_domain));
}

static uint32_t slot_size(const struct ibv_cq_init_attr_ex *attr)
{
	return sizeof(struct srnic_cqe) +
	       (attr->wc_flags & TIMES ? sizeof(struct srnic_cqe_times) : 0);
}

struct ibv_cq_ex *srnic_create_cq_ex(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr)
{
	struct create_cq_resp resp = {};
	struct ibv_create_cq_ex cmd = {};
	/* The kernel does not know what is implemented here. */
	struct ibv_cq_init_attr_ex kernel_attr = *attr;
	struct srnic_cq *cq;
	int err;

	err = check_attr(to_context(ctx), attr);
	if (err)
		return fail(err);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return fail(ENOMEM);
	cq->lock.unused = has_one_thread(attr);
	kernel_attr.comp_mask = 0;
	kernel_attr.flags = 0;

	err = srnic_cmd_create_cq(ctx, &kernel_attr, (struct verbs_cq *)cq, &cmd, sizeof(cmd),
				  &resp.core, sizeof(resp));
	if (err)
		goto free_cq;
	err = srnic_map_ring(ctx, &resp.srnic.ring, slot_size(attr), &cq->ring);
	if (!err && !cq->ring.hdr)
		err = EPROTO;	/* a CQ always has a ring */
	if (err)
		goto destroy_cq;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		cq->parent = attr->parent_domain;
		srnic_pd_hold(cq->parent);
	}
	srnic_cq_ex_init(cq);
	return &cq->ex;

destroy_cq:
	ibv_cmd_destroy_cq(&cq->base);
free_cq:
	free(cq);
	return fail(err);
}

struct ibv_cq *srnic_create_cq(struct ibv_context *ctx, int cqe, struct ibv_comp_channel *channel,
			       int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = comp_vector,
	};
	struct ibv_cq_ex *cq = srnic_create_cq_ex(ctx, &attr);

	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

int srnic_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	if (!check_comp_mask(attr->attr_mask, IBV_CQ_ATTR_MODERATE))
		return EOPNOTSUPP;
	return ibv_cmd_modify_cq(cq, attr, &cmd, sizeof(cmd));
}

static int resize_step(struct srnic_cq *cq, int cqe, uint32_t step)
{
	struct resize_cq cmd = { .srnic.step = step };
	struct ib_uverbs_resize_cq_resp resp;

	return ibv_cmd_resize_cq(&cq->base, cqe, &cmd.core, sizeof(cmd), &resp, sizeof(resp));
}

int srnic_cq_switch_in_kernel(struct srnic_cq *cq, int cqe)
{
	return resize_step(cq, cqe, SRNIC_RESIZE_SWITCH);
}

int srnic_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct srnic_cq *cq = to_cq(ibcq);
	struct srnic_ring next = {};
	int err;

	err = srnic_resize_begin(ibcq->context);
	if (err)
		return err;
	err = resize_step(cq, cqe, SRNIC_RESIZE_PREPARE);
	if (!err)
		err = srnic_map_next(ibcq->context, &cq->ring, cq->ring.slot_size, &next);
	if (!err)
		err = srnic_cq_switch(cq, &next, cqe);
	srnic_resize_end(&next);
	return err;
}

int srnic_destroy_cq(struct ibv_cq *ibcq)
{
	struct srnic_cq *cq = to_cq(ibcq);
	int err = ibv_cmd_destroy_cq(ibcq);

	if (err)
		return err;
	srnic_unmap_ring(&cq->resized);
	srnic_unmap_ring(&cq->ring);
	if (cq->parent)
		srnic_pd_drop(cq->parent);
	free(cq);
	return 0;
}

/* A module that does not know the command leaves the CQ as it is: armed for what comes. */
int srnic_cq_arm_in_kernel(struct srnic_cq *cq, int solicited_only)
{
	int err = ibv_cmd_req_notify_cq(&cq->base, solicited_only);

	return err == EOPNOTSUPP ? 0 : err;
}
