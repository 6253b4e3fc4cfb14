/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Completion queues.
 */
#ifndef SRNIC_CQ_H
#define SRNIC_CQ_H

#include "queue/ring.h"
#include "srnic.h"

/**
 * struct srnic_cq - a completion queue
 * @ring: CQEs; the kernel produces, user space (or srnic_poll_cq for kernel consumers) consumes
 * @lock: irqsave; protects @prod, @cons and the ring's producer side. Innermost: nothing is taken
 *	under it. Completion handlers run after it was dropped, possibly with a socket lock held:
 *	they may post, poll and arm, not sleep
 * @prod: the kernel's own producer index
 * @cons: kernel consumers' index
 * @overrun: an entry was lost; IB_EVENT_CQ_ERR was raised once
 * @id: the number that user space sees
 */
struct srnic_cq {
	struct ib_cq base;
	struct srnic_ring ring;
	spinlock_t lock;
	u32 prod;
	u32 cons;
	bool overrun;
	bool user;
	int id;
};

static inline struct srnic_cq *to_srnic_cq(struct ib_cq *base)
{
	return container_of(base, struct srnic_cq, base);
}

/*
 * Adds a completion and raises the CQ's event if it is armed for it (solicited, or any error,
 * counts for SRNIC_CQ_ARM_SOLICITED). Any context. A full ring loses the entry and raises
 * IB_EVENT_CQ_ERR.
 */
void srnic_cq_push(struct srnic_cq *cq, const struct srnic_cqe *cqe, bool solicited);

/* verbs */
int srnic_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
		    struct uverbs_attr_bundle *attrs);
int srnic_destroy_cq(struct ib_cq *cq, struct ib_udata *udata);
int srnic_poll_cq(struct ib_cq *cq, int num, struct ib_wc *wc);
int srnic_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags);

#endif
