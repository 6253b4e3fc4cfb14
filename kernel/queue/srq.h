/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared receive queues.
 */
#ifndef SRNIC_SRQ_H
#define SRNIC_SRQ_H

#include "queue/recv_ring.h"
#include "queue/resize.h"
#include "srnic.h"

/**
 * struct srnic_srq - a receive queue shared by QPs
 * @base: the core's part
 * @recv: the receives. Its lock is innermost, and also protects @limit
 * @resize: the rings of another size; its lock serializes modify_srq
 * @limit: IB_EVENT_SRQ_LIMIT_REACHED is raised, once, when fewer than this many are left; 0: not
 *	armed
 * @max_wr: most WQEs in the queue
 * @max_sge: most entries in a WQE's list
 * @pd: number of its protection domain
 * @user: user space produces; else srnic_post_srq_recv()
 * @id: the number that user space sees
 */
struct srnic_srq {
	struct ib_srq base;
	struct srnic_recv_ring recv;
	struct srnic_resize resize;
	u32 limit;
	u32 max_wr;
	u32 max_sge;
	u32 pd;
	bool user;
	int id;
};

static inline struct srnic_srq *to_srnic_srq(struct ib_srq *base)
{
	return container_of(base, struct srnic_srq, base);
}

/*
 * Takes the oldest receive WQE: copies its slot (at most size bytes) into wqe and frees the slot,
 * unless it can hold less than @need bytes. Any context.
 */
enum srnic_taken srnic_srq_take(struct srnic_srq *srq, struct srnic_recv_wqe *wqe, u32 size,
				u32 need);

/* verbs */
int srnic_create_srq(struct ib_srq *srq, struct ib_srq_init_attr *attr, struct ib_udata *udata);
int srnic_modify_srq(struct ib_srq *srq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		     struct ib_udata *udata);
int srnic_query_srq(struct ib_srq *srq, struct ib_srq_attr *attr);
int srnic_destroy_srq(struct ib_srq *srq, struct ib_udata *udata);
int srnic_post_srq_recv(struct ib_srq *srq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad);

#endif
