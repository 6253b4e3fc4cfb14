/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Completion queues.
 */
#ifndef SRNIC_CQ_H
#define SRNIC_CQ_H

#include "queue/ring.h"
#include "srnic.h"

/*
 * Who completes into a CQ. overrun() is called, in process context, when entries were lost. The
 * user is attached while it may produce; srnic_cq_detach() returns when no call is under way.
 */
struct srnic_cq_user {
	struct list_head entry;
	void (*overrun)(struct srnic_cq_user *user);
};

/**
 * struct srnic_cq - a completion queue
 * @base: the core's part
 * @ring: CQEs; the kernel produces, user space (or srnic_poll_cq for kernel consumers) consumes
 * @lock: irqsave; protects @prod, @cons, @overrun and the ring's producer side. Innermost: nothing
 *	is taken under it. Completion handlers run after it was dropped, possibly with a socket lock
 *	held, never with a lock of a queue: they may post, poll and arm, not sleep
 * @prod: the kernel's own producer index
 * @cons: kernel consumers' index
 * @overrun: there was no room for an entry; IB_EVENT_CQ_ERR was raised once
 * @user: user space consumes; else srnic_poll_cq()
 * @users: everybody attached, under @users_lock (a mutex, held while they are told of an overrun)
 * @overrun_work: tells them
 * @id: the number that user space sees
 * @users_lock: mutex; protects @users; held while they are told of an overrun
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
	struct mutex users_lock;
	struct list_head users;
	struct work_struct overrun_work;
};

static inline struct srnic_cq *to_srnic_cq(struct ib_cq *base)
{
	return container_of(base, struct srnic_cq, base);
}

/* Process context, both. */
void srnic_cq_attach(struct srnic_cq *cq, struct srnic_cq_user *user);
void srnic_cq_detach(struct srnic_cq *cq, struct srnic_cq_user *user);

/*
 * Adds a completion and raises the CQ's event if it is armed for it (solicited, or any error,
 * counts for SRNIC_CQ_ARM_SOLICITED). Any context. A full ring loses the entry: IB_EVENT_CQ_ERR,
 * and all users are told.
 */
void srnic_cq_push(struct srnic_cq *cq, const struct srnic_cqe *cqe, bool solicited);

/* Several completions at once, by an owner of locks under which no handler may be called. */
struct srnic_cq_batch {
	struct srnic_cq *cq;
	bool any, solicited, lost;	/* while cq->lock is held */
	bool fire, first;		/* what is left to srnic_cq_tell() */
};

/* Takes cq->lock, interrupts being off. */
void srnic_cq_begin(struct srnic_cq_batch *batch, struct srnic_cq *cq);
bool srnic_cq_room(const struct srnic_cq_batch *batch);
/* Where there is no room the entry is lost. */
void srnic_cq_add(struct srnic_cq_batch *batch, const struct srnic_cqe *cqe, bool solicited);
/* There was no room for an entry that its owner keeps. */
void srnic_cq_refuse(struct srnic_cq_batch *batch);
/* Drops cq->lock. */
void srnic_cq_end(struct srnic_cq_batch *batch);
/* Calls the handlers. No lock of a queue held. */
void srnic_cq_tell(const struct srnic_cq_batch *batch);

/* What becomes of flushed requests for whose completions a CQ has no room. */
enum srnic_flush {
	SRNIC_FLUSH_WAIT,	/* they stay, to be flushed once it was polled */
	SRNIC_FLUSH_LOSE,	/* the CQ overruns */
};

/* verbs */
int srnic_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
		    struct uverbs_attr_bundle *attrs);
int srnic_destroy_cq(struct ib_cq *cq, struct ib_udata *udata);
int srnic_poll_cq(struct ib_cq *cq, int num, struct ib_wc *wc);
int srnic_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags);

#endif
