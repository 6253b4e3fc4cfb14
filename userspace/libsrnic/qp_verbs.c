// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The verbs of queue pairs that call the kernel; send.cc and recv.cc post. */
#include <errno.h>
#include <stdlib.h>

#include "provider.h"

struct create_qp_resp {
	struct ib_uverbs_create_qp_resp core;
	struct srnic_create_qp_resp srnic;
};

static_assert(offsetof(struct create_qp_resp, srnic) == sizeof(struct ib_uverbs_create_qp_resp),
	      "padding in struct create_qp_resp");

/* queue.h repeats the head of driver.h's object for C++. */
static_assert(offsetof(struct srnic_qp, comp_mask) == offsetof(struct verbs_qp, comp_mask),
	      "struct verbs_qp has changed");
static_assert(offsetof(struct srnic_qp, xrcd) == offsetof(struct verbs_qp, xrcd),
	      "struct verbs_qp has changed");
static_assert(offsetof(struct srnic_qp, sq) == sizeof(struct verbs_qp),
	      "struct verbs_qp has changed");

static struct srnic_qp *to_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct srnic_qp, base);
}

static bool has_qp_type(const struct context *ctx, enum ibv_qp_type type)
{
	return type == IBV_QPT_RC ||
	       (type == IBV_QPT_UD && ctx->features & SRNIC_FEATURE_DATAGRAM);
}

static uint64_t send_ops(const struct context *ctx, enum ibv_qp_type type)
{
	if (type == IBV_QPT_UD)
		return SRNIC_DATAGRAM_OPS;
	return SRNIC_SEND_OPS |
	       (ctx->features & SRNIC_FEATURE_IMMEDIATE ? SRNIC_IMMEDIATE_OPS : 0) |
	       (ctx->features & SRNIC_FEATURE_ATOMIC ? SRNIC_ATOMIC_OPS : 0) |
	       (ctx->features & SRNIC_FEATURE_FLUSH ? SRNIC_FLUSH_OPS : 0) |
	       (ctx->features & SRNIC_FEATURE_WINDOW ? SRNIC_WINDOW_OPS : 0);
}

/* A program that does not ask for any operations has the calls of all, which may fail. */
static uint64_t wanted_ops(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ? attr->send_ops_flags :
								   UINT64_MAX;
}

/* All QPs can begin batches, however they were created. */
struct ibv_qp *srnic_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr)
{
	struct create_qp_resp resp = {};
	struct ibv_create_qp cmd = {};
	struct ibv_qp_init_attr_ex kernel_attr = *attr;
	struct verbs_qp *vqp;
	struct srnic_qp *qp;
	int err;

	/* libibverbs uses these pointers as they are. */
	if (!has_qp_type(to_context(ctx), attr->qp_type))
		return fail(EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd || !attr->send_cq ||
	    !attr->recv_cq)
		return fail(EINVAL);
	if (!check_comp_mask(attr->comp_mask, IBV_QP_INIT_ATTR_PD |
						      IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
						      IBV_QP_INIT_ATTR_CREATE_FLAGS) ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags) ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
	     !check_comp_mask(attr->send_ops_flags, send_ops(to_context(ctx), attr->qp_type))))
		return fail(EOPNOTSUPP);
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return fail(ENOMEM);
	vqp = (struct verbs_qp *)qp;
	kernel_attr.comp_mask &= ~IBV_QP_INIT_ATTR_CREATE_FLAGS; /* there are no flags */
	err = ibv_cmd_create_qp_ex(ctx, vqp, &kernel_attr, &cmd, sizeof(cmd), &resp.core,
				   sizeof(resp));
	if (err)
		goto free_qp;
	attr->cap = kernel_attr.cap;
	err = srnic_map_ring(ctx, &resp.srnic.sq, sizeof(struct srnic_send_wqe), &qp->sq.ring);
	if (err)
		goto destroy_qp;
	err = srnic_map_ring(ctx, &resp.srnic.rq, sizeof(struct srnic_recv_wqe), &qp->rq.ring);
	if (err)
		goto unmap_sq;

	srnic_pd_hold(attr->pd);
	qp->sq.lock.unused = srnic_pd_has_one_thread(attr->pd);
	qp->rq.lock.unused = qp->sq.lock.unused;
	srnic_sq_init(&qp->sq, &attr->cap);
	srnic_rq_init(&qp->rq, attr->cap.max_recv_wr, attr->cap.max_recv_sge);
	qp->sq_sig_all = attr->sq_sig_all;
	qp->features = to_context(ctx)->features;
	qp->ib = to_context(ctx)->ib;
	qp->ud = attr->qp_type == IBV_QPT_UD;
	qp->sq.imm_payload = qp->ud || qp->features & SRNIC_FEATURE_SEND_IMM;
	srnic_qp_ex_init(qp, wanted_ops(attr));
	vqp->comp_mask |= VERBS_QP_EX;
	if (qp->ib)
		srnic_qp_set_state(qp, IBV_QPS_RESET);
	return &qp->base;

unmap_sq:
	srnic_unmap_ring(&qp->sq.ring);
destroy_qp:
	ibv_cmd_destroy_qp(&qp->base);
free_qp:
	free(qp);
	return fail(err);
}

struct ibv_qp *srnic_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp = srnic_create_qp_ex(pd->context, &attr_ex);

	if (qp)
		attr->cap = attr_ex.cap;
	return qp;
}

/*
 * A QP of type srnic_ib. Nothing is posted while the kernel resets it, so that nothing is left to
 * the next connection. libibverbs sets the new state afterwards.
 */
static int modify_state(struct srnic_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_modify_qp cmd = {};
	int err;

	if (attr->qp_state == IBV_QPS_RESET)
		srnic_qp_set_state(qp, IBV_QPS_RESET);
	err = ibv_cmd_modify_qp(&qp->base, attr, mask, &cmd, sizeof(cmd));
	srnic_qp_set_state(qp, err ? qp->base.state : attr->qp_state);
	if (!err && attr->qp_state == IBV_QPS_RESET)
		srnic_qp_was_reset(qp);
	return err;
}

int srnic_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_modify_qp cmd = {};

	if (to_qp(qp)->ib && mask & IBV_QP_STATE)
		return modify_state(to_qp(qp), attr, mask);
	return ibv_cmd_modify_qp(qp, attr, mask, &cmd, sizeof(cmd));
}

int srnic_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd;

	return ibv_cmd_query_qp(qp, attr, mask, init_attr, &cmd, sizeof(cmd));
}

int srnic_destroy_qp(struct ibv_qp *ibqp)
{
	struct srnic_qp *qp = to_qp(ibqp);
	int err;

	/* A thread that polls a CQ rings for its QPs, and uverbs destroys no QP in use. */
	srnic_cq_ring(to_cq(ibqp->send_cq));
	if (ibqp->recv_cq != ibqp->send_cq)
		srnic_cq_ring(to_cq(ibqp->recv_cq));
	err = ibv_cmd_destroy_qp(ibqp);
	if (err)
		return err;
	srnic_cq_forget(to_cq(ibqp->send_cq), ibqp->qp_num);
	if (ibqp->recv_cq != ibqp->send_cq)
		srnic_cq_forget(to_cq(ibqp->recv_cq), ibqp->qp_num);
	srnic_unmap_ring(&qp->sq.ring);
	srnic_unmap_ring(&qp->rq.ring);
	srnic_pd_drop(ibqp->pd);
	free(qp);
	return 0;
}
