/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the files share that call the kernel by libibverbs' private interface.
 *
 * A uverbs command creates a queue, and its response says where to map the ring. Destruction calls
 * the kernel first, so that a refusal (EBUSY) changes nothing.
 */
#ifndef SRNIC_PROVIDER_H
#define SRNIC_PROVIDER_H

#include <errno.h>

#include <infiniband/driver.h>
#include <infiniband/kern-abi.h>

#include "queue.h"

struct context {
	struct verbs_context base;
	bool ib;	   /* the device is of type srnic_ib */
	uint32_t features; /* of the module: SRNIC_FEATURE_* */
};

static inline struct context *to_context(struct ibv_context *ctx)
{
	return container_of(ctx, struct context, base.context);
}

static inline struct srnic_cq *to_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct srnic_cq, base);
}

/* Returns NULL with errno set to @err, as verbs that return an object do. */
static inline void *fail(int err)
{
	errno = err;
	return NULL;
}

/* ---- domain.c ---- */

bool srnic_pd_is_parent(struct ibv_pd *pd);
/* A parent domain with a thread domain: objects in it take no locks. */
bool srnic_pd_has_one_thread(struct ibv_pd *pd);
/* Counts an object in a parent domain, which can be deallocated when it has none. */
void srnic_pd_hold(struct ibv_pd *pd);
void srnic_pd_drop(struct ibv_pd *pd);

/* ---- ring_map.c ---- */

/* A ring that was not mapped is left alone. */
void srnic_unmap_ring(struct srnic_ring *ring);
/*
 * Maps a ring of slots of at least @smallest_slot octets; the queue may have none. 0 or an errno.
 * Rings are not inherited by fork: a child must not touch its parent's queues.
 */
int srnic_map_ring(struct ibv_context *ctx, const struct srnic_ring_map *where,
		   uint32_t smallest_slot, struct srnic_ring *ring);

/*
 * A resize has two steps, and a queue one resize at a time: these have a lock of the process in
 * between. The first fails with EOPNOTSUPP if the module does not know how.
 */
int srnic_resize_begin(struct ibv_context *ctx);
/* Maps the ring that was prepared for a queue. 0 or an errno. */
int srnic_map_next(struct ibv_context *ctx, const struct srnic_ring *of, uint32_t smallest_slot,
		   struct srnic_ring *next);
/* Unmaps the ring that is not used, of those that were mapped. */
void srnic_resize_end(struct srnic_ring *unused);

/*
 * The rest are verbs, with the arguments and results of their entries in struct
 * verbs_context_ops.
 */

/* ---- domain.c ---- */

struct ibv_pd *srnic_alloc_pd(struct ibv_context *ctx);
int srnic_dealloc_pd(struct ibv_pd *pd);
struct ibv_pd *srnic_import_pd(struct ibv_context *ctx, uint32_t handle);
void srnic_unimport_pd(struct ibv_pd *pd);
struct ibv_td *srnic_alloc_td(struct ibv_context *ctx, struct ibv_td_init_attr *attr);
int srnic_dealloc_td(struct ibv_td *td);
struct ibv_pd *srnic_alloc_parent_domain(struct ibv_context *ctx,
					 struct ibv_parent_domain_init_attr *attr);

/* ---- memory.c ---- */

struct ibv_mr *srnic_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t hca_va,
			    int access);
struct ibv_mr *srnic_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				   int fd, int access);
int srnic_rereg_mr(struct verbs_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		   int access);
int srnic_dereg_mr(struct verbs_mr *mr);
struct ibv_mw *srnic_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int srnic_dealloc_mw(struct ibv_mw *mw);
struct ibv_mr *srnic_import_mr(struct ibv_pd *pd, uint32_t handle);
void srnic_unimport_mr(struct ibv_mr *mr);

/* ---- cq_verbs.c ---- */

struct ibv_cq_ex *srnic_create_cq_ex(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr);
struct ibv_cq *srnic_create_cq(struct ibv_context *ctx, int cqe, struct ibv_comp_channel *channel,
			       int comp_vector);
int srnic_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
int srnic_resize_cq(struct ibv_cq *ibcq, int cqe);
int srnic_destroy_cq(struct ibv_cq *ibcq);

/* ---- srq_verbs.c ---- */

struct ibv_srq *srnic_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
int srnic_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int srnic_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr);
int srnic_destroy_srq(struct ibv_srq *ibsrq);

/* ---- ah_verbs.c ---- */

struct ibv_ah *srnic_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int srnic_destroy_ah(struct ibv_ah *ah);

/* ---- qp_verbs.c ---- */

struct ibv_qp *srnic_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *srnic_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
int srnic_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
int srnic_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init_attr);
int srnic_destroy_qp(struct ibv_qp *ibqp);

#endif
