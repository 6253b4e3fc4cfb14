// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The verbs of shared receive queues that call the kernel; recv.cc posts. */
#include <errno.h>
#include <stdlib.h>

#include "provider.h"

struct create_srq_resp {
	struct ib_uverbs_create_srq_resp core;
	struct srnic_create_srq_resp srnic;
};

static_assert(offsetof(struct create_srq_resp, srnic) == sizeof(struct ib_uverbs_create_srq_resp),
	      "padding in struct create_srq_resp");

struct modify_srq {
	struct ibv_modify_srq core;
	struct srnic_resize_req srnic;
};

static_assert(offsetof(struct modify_srq, srnic) == sizeof(struct ibv_modify_srq),
	      "padding in struct modify_srq");

static struct srnic_srq *to_srq(struct ibv_srq *srq)
{
	return container_of(srq, struct srnic_srq, base);
}

struct ibv_srq *srnic_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct create_srq_resp resp = {};
	struct ibv_create_srq cmd = {};
	struct srnic_srq *srq;
	int err;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return fail(ENOMEM);
	attr->attr.srq_limit = 0; /* ibv_create_srq(3): irrelevant, so it may be anything */
	err = ibv_cmd_create_srq(pd, &srq->base, attr, &cmd, sizeof(cmd), &resp.core, sizeof(resp));
	if (err)
		goto free_srq;
	err = srnic_map_ring(pd->context, &resp.srnic.ring, sizeof(struct srnic_recv_wqe),
			     &srq->wq.ring);
	if (err)
		goto destroy_srq;
	srnic_pd_hold(pd);
	srq->wq.lock.unused = srnic_pd_has_one_thread(pd);
	srnic_rq_init(&srq->wq, attr->attr.max_wr, attr->attr.max_sge);
	return &srq->base;

destroy_srq:
	ibv_cmd_destroy_srq(&srq->base);
free_srq:
	free(srq);
	return fail(err);
}

static int resize_step(struct srnic_srq *srq, struct ibv_srq_attr *attr, int mask, uint32_t step)
{
	struct modify_srq cmd = { .srnic.step = step };

	return ibv_cmd_modify_srq(&srq->base, attr, mask, &cmd.core, sizeof(cmd));
}

int srnic_srq_switch_in_kernel(struct srnic_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	return resize_step(srq, attr, mask, SRNIC_RESIZE_SWITCH);
}

static int resize_srq(struct srnic_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct ibv_context *ctx = srq->base.context;
	struct srnic_ring next = {};
	int err;

	err = srnic_resize_begin(ctx);
	if (err)
		return err;
	err = resize_step(srq, attr, mask, SRNIC_RESIZE_PREPARE);
	if (!err)
		err = srnic_map_next(ctx, &srq->wq.ring, srq->wq.ring.slot_size, &next);
	if (!err)
		err = srnic_srq_switch(srq, &next, attr, mask);
	srnic_resize_end(&next);
	return err;
}

int srnic_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct ibv_modify_srq cmd;

	if (mask & IBV_SRQ_MAX_WR)
		return resize_srq(to_srq(srq), attr, mask);
	return ibv_cmd_modify_srq(srq, attr, mask, &cmd, sizeof(cmd));
}

int srnic_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd;

	return ibv_cmd_query_srq(srq, attr, &cmd, sizeof(cmd));
}

int srnic_destroy_srq(struct ibv_srq *ibsrq)
{
	struct srnic_srq *srq = to_srq(ibsrq);
	int err = ibv_cmd_destroy_srq(ibsrq);

	if (err)
		return err;
	srnic_unmap_ring(&srq->wq.resized);
	srnic_unmap_ring(&srq->wq.ring);
	srnic_pd_drop(ibsrq->pd);
	free(srq);
	return 0;
}
