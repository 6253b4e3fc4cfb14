// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * srnic's interface to libibverbs: device matching, the ops tables, and all verbs that call the
 * kernel. The data path is in send.cc, recv.cc and cq.cc.
 *
 * A uverbs command creates a queue, and its response says where to map the ring. Destruction calls
 * the kernel first, so that a refusal (EBUSY) changes nothing.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <infiniband/driver.h>
#include <infiniband/kern-abi.h>

#include "compat.h"
#include "queue.h"
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

struct create_cq_resp {
	struct ib_uverbs_ex_create_cq_resp core;
	struct srnic_create_cq_resp srnic;
};

struct create_qp_resp {
	struct ib_uverbs_create_qp_resp core;
	struct srnic_create_qp_resp srnic;
};

struct create_ah_resp {
	struct ib_uverbs_create_ah_resp core;
	struct srnic_create_ah_resp srnic;
};

struct create_srq_resp {
	struct ib_uverbs_create_srq_resp core;
	struct srnic_create_srq_resp srnic;
};

static_assert(offsetof(struct get_context, srnic) == sizeof(struct ibv_get_context),
	      "padding in struct get_context");
static_assert(offsetof(struct get_context_resp, srnic) == sizeof(struct ib_uverbs_get_context_resp),
	      "padding in struct get_context_resp");
static_assert(offsetof(struct create_cq_resp, srnic) == sizeof(struct ib_uverbs_ex_create_cq_resp),
	      "padding in struct create_cq_resp");
static_assert(offsetof(struct create_qp_resp, srnic) == sizeof(struct ib_uverbs_create_qp_resp),
	      "padding in struct create_qp_resp");
static_assert(offsetof(struct create_ah_resp, srnic) == sizeof(struct ib_uverbs_create_ah_resp),
	      "padding in struct create_ah_resp");
static_assert(offsetof(struct create_srq_resp, srnic) == sizeof(struct ib_uverbs_create_srq_resp),
	      "padding in struct create_srq_resp");

/* queue.h repeats the heads of driver.h's objects for C++. */
static_assert(offsetof(struct srnic_cq, ring) == sizeof(struct verbs_cq),
	      "struct verbs_cq has changed");
static_assert(offsetof(struct srnic_qp, comp_mask) == offsetof(struct verbs_qp, comp_mask),
	      "struct verbs_qp has changed");
static_assert(offsetof(struct srnic_qp, xrcd) == offsetof(struct verbs_qp, xrcd),
	      "struct verbs_qp has changed");
static_assert(offsetof(struct srnic_qp, sq) == sizeof(struct verbs_qp),
	      "struct verbs_qp has changed");

struct context {
	struct verbs_context base;
	bool ib;	   /* the device is of type srnic_ib */
	uint32_t features; /* of the module: SRNIC_FEATURE_* */
};

static struct context *to_context(struct ibv_context *ctx)
{
	return container_of(ctx, struct context, base.context);
}

static struct verbs_context *to_vctx(struct ibv_context *ctx)
{
	return container_of(ctx, struct verbs_context, context);
}

/* Returns NULL with errno set to @err, as verbs that return an object do. */
static void *fail(int err)
{
	errno = err;
	return NULL;
}

/* ---- Rings ---- */

static void unmap_ring(struct srnic_ring *ring)
{
	if (ring->hdr)
		munmap(ring->hdr, ring->mapped);
}

/* Rings are not inherited by fork: a child must not touch its parent's queues. */
static int map_ring(struct ibv_context *ctx, const struct srnic_ring_map *where,
		    uint32_t smallest_slot, struct srnic_ring *ring)
{
	void *map;

	if (!where->size)
		return 0;
	map = mmap(NULL, where->size, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->cmd_fd,
		   where->offset);
	if (map == MAP_FAILED) {
		verbs_err(to_vctx(ctx), "mapping a ring of %llu octets at %#llx failed: errno %d\n",
			  where->size, where->offset, errno);
		return errno;
	}
	if (!srnic_ring_open(ring, map, where->size, smallest_slot)) {
		verbs_err(to_vctx(ctx),
			  "the kernel's ring has a layout that this provider does not know\n");
		munmap(map, where->size);
		return EPROTO;
	}
	madvise(map, where->size, MADV_DONTFORK);
	return 0;
}

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

static int query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(ctx, port, attr, &cmd, sizeof(cmd));
}

/* ---- Protection domains and regions ---- */

static struct ibv_pd *alloc_pd(struct ibv_context *ctx)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct ibv_alloc_pd cmd;
	struct ibv_pd *pd;
	int err;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return fail(ENOMEM);
	err = ibv_cmd_alloc_pd(ctx, pd, &cmd, sizeof(cmd), &resp, sizeof(resp));
	if (err) {
		free(pd);
		return fail(err);
	}
	return pd;
}

static int dealloc_pd(struct ibv_pd *pd)
{
	int err = ibv_cmd_dealloc_pd(pd);

	if (!err)
		free(pd);
	return err;
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t hca_va,
			     int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *mr;
	int err;

	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return fail(ENOMEM);
	err = ibv_cmd_reg_mr(pd, addr, length, hca_va, access, mr, &cmd, sizeof(cmd), &resp,
			     sizeof(resp));
	if (err) {
		free(mr);
		return fail(err);
	}
	return &mr->ibv_mr;
}

static int rereg_mr(struct verbs_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		    int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;

	if (flags & IBV_REREG_MR_CHANGE_PD && !pd) {
		errno = EINVAL;
		return EINVAL;
	}
	return ibv_cmd_rereg_mr(mr, flags, addr, length, (uintptr_t)addr, access, pd, &cmd,
				sizeof(cmd), &resp, sizeof(resp));
}

static int dereg_mr(struct verbs_mr *mr)
{
	int err = ibv_cmd_dereg_mr(mr);

	if (!err)
		free(mr);
	return err;
}

/* ---- Completion queues ---- */

static struct srnic_cq *to_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct srnic_cq, base);
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr)
{
	struct create_cq_resp resp = {};
	struct ibv_create_cq_ex cmd = {};
	/* The kernel does not know flags that are implemented here. */
	struct ibv_cq_init_attr_ex kernel_attr = *attr;
	struct srnic_cq *cq;
	int err;

	if (!check_comp_mask(attr->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS) ||
	    !check_comp_mask(attr->wc_flags, IBV_WC_STANDARD_FLAGS))
		return fail(EOPNOTSUPP);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return fail(ENOMEM);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) {
		if (!check_comp_mask(attr->flags, IBV_CREATE_CQ_ATTR_SINGLE_THREADED)) {
			err = EOPNOTSUPP;
			goto free_cq;
		}
		cq->lock.unused = attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	}
	kernel_attr.comp_mask = 0;
	kernel_attr.flags = 0;

	err = srnic_cmd_create_cq(ctx, &kernel_attr, (struct verbs_cq *)cq, &cmd, sizeof(cmd),
				  &resp.core, sizeof(resp));
	if (err)
		goto free_cq;
	err = map_ring(ctx, &resp.srnic.ring, sizeof(struct srnic_cqe), &cq->ring);
	if (!err && !cq->ring.hdr)
		err = EPROTO;	/* a CQ always has a ring */
	if (err)
		goto destroy_cq;
	srnic_cq_ex_init(cq);
	return &cq->ex;

destroy_cq:
	ibv_cmd_destroy_cq(&cq->base);
free_cq:
	free(cq);
	return fail(err);
}

static struct ibv_cq *create_cq(struct ibv_context *ctx, int cqe, struct ibv_comp_channel *channel,
				int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = comp_vector,
	};
	struct ibv_cq_ex *cq = create_cq_ex(ctx, &attr);

	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

static int destroy_cq(struct ibv_cq *ibcq)
{
	struct srnic_cq *cq = to_cq(ibcq);
	int err = ibv_cmd_destroy_cq(ibcq);

	if (err)
		return err;
	unmap_ring(&cq->ring);
	free(cq);
	return 0;
}

/* ---- Shared receive queues ---- */

static struct srnic_srq *to_srq(struct ibv_srq *srq)
{
	return container_of(srq, struct srnic_srq, base);
}

static struct ibv_srq *create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
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
	err = map_ring(pd->context, &resp.srnic.ring, sizeof(struct srnic_recv_wqe), &srq->wq.ring);
	if (err)
		goto destroy_srq;
	srnic_rq_init(&srq->wq, attr->attr.max_wr, attr->attr.max_sge);
	return &srq->base;

destroy_srq:
	ibv_cmd_destroy_srq(&srq->base);
free_srq:
	free(srq);
	return fail(err);
}

static int modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct ibv_modify_srq cmd;

	return ibv_cmd_modify_srq(srq, attr, mask, &cmd, sizeof(cmd));
}

static int query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd;

	return ibv_cmd_query_srq(srq, attr, &cmd, sizeof(cmd));
}

static int destroy_srq(struct ibv_srq *ibsrq)
{
	struct srnic_srq *srq = to_srq(ibsrq);
	int err = ibv_cmd_destroy_srq(ibsrq);

	if (err)
		return err;
	unmap_ring(&srq->wq.ring);
	free(srq);
	return 0;
}

/* ---- Address handles ---- */

static struct ibv_ah *create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct create_ah_resp resp = {};
	struct srnic_ah *ah;
	int err;

	if (!(to_context(pd->context)->features & SRNIC_FEATURE_DATAGRAM))
		return fail(EOPNOTSUPP);
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return fail(ENOMEM);
	err = ibv_cmd_create_ah(pd, &ah->base, attr, &resp.core, sizeof(resp));
	if (err) {
		free(ah);
		return fail(err);
	}
	ah->number = resp.srnic.number;
	return &ah->base;
}

static int destroy_ah(struct ibv_ah *ah)
{
	int err = ibv_cmd_destroy_ah(ah);

	if (!err)
		free(container_of(ah, struct srnic_ah, base));
	return err;
}

/* ---- Queue pairs ---- */

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
	       (ctx->features & SRNIC_FEATURE_ATOMIC ? SRNIC_ATOMIC_OPS : 0);
}

/* All QPs can begin batches, however they were created. */
static struct ibv_qp *create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr)
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
	err = map_ring(ctx, &resp.srnic.sq, sizeof(struct srnic_send_wqe), &qp->sq.ring);
	if (err)
		goto destroy_qp;
	err = map_ring(ctx, &resp.srnic.rq, sizeof(struct srnic_recv_wqe), &qp->rq.ring);
	if (err)
		goto unmap_sq;

	srnic_sq_init(&qp->sq, &attr->cap);
	srnic_rq_init(&qp->rq, attr->cap.max_recv_wr, attr->cap.max_recv_sge);
	qp->sq_sig_all = attr->sq_sig_all;
	qp->features = to_context(ctx)->features;
	qp->ib = to_context(ctx)->ib;
	qp->ud = attr->qp_type == IBV_QPT_UD;
	qp->sq.imm_payload = qp->ud || qp->features & SRNIC_FEATURE_SEND_IMM;
	srnic_qp_ex_init(qp);
	vqp->comp_mask |= VERBS_QP_EX;
	if (qp->ib)
		srnic_qp_set_state(qp, IBV_QPS_RESET);
	return &qp->base;

unmap_sq:
	unmap_ring(&qp->sq.ring);
destroy_qp:
	ibv_cmd_destroy_qp(&qp->base);
free_qp:
	free(qp);
	return fail(err);
}

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
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
	struct ibv_qp *qp = create_qp_ex(pd->context, &attr_ex);

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

static int modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_modify_qp cmd = {};

	if (to_qp(qp)->ib && mask & IBV_QP_STATE)
		return modify_state(to_qp(qp), attr, mask);
	return ibv_cmd_modify_qp(qp, attr, mask, &cmd, sizeof(cmd));
}

static int query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		    struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd;

	return ibv_cmd_query_qp(qp, attr, mask, init_attr, &cmd, sizeof(cmd));
}

static int destroy_qp(struct ibv_qp *ibqp)
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
	unmap_ring(&qp->sq.ring);
	unmap_ring(&qp->rq.ring);
	free(qp);
	return 0;
}

/* The same as a command of libibverbs, which may be a cancellation point. */
static int ring_by_command(struct srnic_qp *qp)
{
	struct ibv_send_wr *none;
	int state, err;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	err = ibv_cmd_post_send(&qp->base, NULL, &none);
	pthread_setcancelstate(state, NULL);
	return err;
}

/*
 * A plain system call is cheapest. Not write(), a cancellation point: callers have published
 * requests, and may hold a CQ's lock. uverbs refuses it if the process's credentials have changed
 * since it opened the device; libibverbs' own command works even then.
 */
static int ring_doorbell(struct srnic_qp *qp)
{
	struct ib_uverbs_post_send_resp resp;
	struct ibv_post_send cmd = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_POST_SEND,
			.in_words = sizeof(cmd) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.core_payload = {
			.response = (uintptr_t)&resp,
			.qp_handle = qp->base.handle,
			.wqe_size = sizeof(struct ib_uverbs_send_wr),
		},
	};

	if (syscall(SYS_write, qp->base.context->cmd_fd, &cmd, sizeof(cmd)) == sizeof(cmd))
		return 0;
	return errno == EACCES ? ring_by_command(qp) : errno;
}

/*
 * The doorbell is uverbs' POST_SEND command without work requests. Requests in the ring cannot be
 * withdrawn, so it is retried if uverbs is out of memory.
 */
int srnic_doorbell(struct srnic_qp *qp)
{
	int err;

	while ((err = ring_doorbell(qp)) == ENOMEM)
		sched_yield();
	return err;
}

/* A module that does not know the command leaves the CQ as it is: armed for what comes. */
int srnic_cq_arm_in_kernel(struct srnic_cq *cq, int solicited_only)
{
	int err = ibv_cmd_req_notify_cq(&cq->base, solicited_only);

	return err == EOPNOTSUPP ? 0 : err;
}

/* ---- Contexts and devices ---- */

static void free_context(struct ibv_context *ibctx)
{
	struct context *ctx = to_context(ibctx);

	verbs_uninit_context(&ctx->base);
	free(ctx);
}

static const struct verbs_context_ops context_ops = {
	.alloc_pd = alloc_pd,
	.cq_event = srnic_cq_event,
	.create_ah = create_ah,
	.create_cq = create_cq,
	.create_cq_ex = create_cq_ex,
	.create_qp = create_qp,
	.create_qp_ex = create_qp_ex,
	.create_srq = create_srq,
	.dealloc_pd = dealloc_pd,
	.dereg_mr = dereg_mr,
	.destroy_ah = destroy_ah,
	.destroy_cq = destroy_cq,
	.destroy_qp = destroy_qp,
	.destroy_srq = destroy_srq,
	.free_context = free_context,
	.modify_qp = modify_qp,
	.modify_srq = modify_srq,
	.poll_cq = srnic_poll_cq,
	.post_recv = srnic_post_recv,
	.post_send = srnic_post_send,
	.post_srq_recv = srnic_post_srq_recv,
	.query_device_ex = query_device_ex,
	.query_port = query_port,
	.query_qp = query_qp,
	.query_srq = query_srq,
	.reg_mr = reg_mr,
	.req_notify_cq = srnic_req_notify_cq,
	.rereg_mr = rereg_mr,
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
	ctx->ib = driver_of(device) == SRNIC_IB_DRIVER_ID;
	ctx->features = resp.srnic.features & SRNIC_KNOWN_FEATURES;
	verbs_set_ops(&ctx->base, &context_ops);
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
	return create_qp_ex(ctx, attr);
}
