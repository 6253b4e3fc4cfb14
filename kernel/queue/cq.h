/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Completion queues.
 */
#ifndef SRNIC_CQ_H
#define SRNIC_CQ_H

#include <linux/smp.h>

#include "compat/compat.h"
#include "queue/moderation.h"
#include "queue/resize.h"
#include "queue/ring.h"
#include "srnic.h"

/*
 * A queue that completes into a CQ, attached while it may do so. overrun() is called in process
 * context when entries were lost; never after srnic_cq_detach() has returned.
 */
struct srnic_cq_user {
	struct list_head entry;
	void (*overrun)(struct srnic_cq_user *user);
};

/**
 * struct srnic_cq - a completion queue
 * @base: the core's part
 * @ring: CQEs; the kernel produces, user space (or srnic_poll_cq for kernel consumers) consumes
 * @resize: the rings of another size
 * @lock: irqsave; protects @prod, @cons, @seen, @solicited, @peak, @overrun and the ring's
 *	producer side. Innermost. Completion handlers are called without it, possibly with a socket
 *	lock held or in an interrupt, never with a queue's lock: they may post, poll and arm, but
 *	not sleep
 * @prod: the kernel's own producer index
 * @cons: kernel consumers' index
 * @seen: the consumer's index as of the newest completions that were added together
 * @solicited: @prod after the newest completion that wakes who waits for solicited ones
 * @peak: the most entries that were in use
 * @overrun: an entry found no room; IB_EVENT_CQ_ERR was raised once
 * @moderation: NULL: no event of the CQ has to wait. It and its contents: @lock
 * @user: user space consumes; else srnic_poll_cq()
 * @users: struct srnic_cq_user, all that are attached
 * @overrun_work: calls overrun() of all @users
 * @id: the number that user space sees
 * @vector: the completion vector: the processor on which the handler is called while it is online;
 *	0: the one on which the completion was added
 * @call: calls the handler there, with interrupts off
 * @called: bit 0: @call is on its way and has not begun to call the handler
 * @calls: how many calls are on their way or in the handler. None once all users are detached: the
 *	core frees what the handler needs before it destroys a kernel consumer's CQ. A program may
 *	arm its CQ later still: destroying it waits for these
 * @users_lock: mutex; protects @users; one change of @moderation at a time; held while overrun() is
 *	called
 */
struct srnic_cq {
	struct ib_cq base;
	struct srnic_ring ring;
	struct srnic_resize resize;
	spinlock_t lock;
	u32 prod;
	u32 cons;
	u32 seen, solicited, peak;
	bool overrun;
	struct srnic_moderation *moderation;
	bool user;
	int id;
	u32 vector;
	call_single_data_t call;
	unsigned long called;
	atomic_t calls;
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

/* How to flush requests: what becomes of their completions if the CQ has no room. */
enum srnic_flush {
	SRNIC_FLUSH_WAIT,	/* they stay queued until the CQ was polled */
	SRNIC_FLUSH_LOSE,	/* the CQ overruns */
	SRNIC_FLUSH_DROP,	/* they are never added, even with room */
};

/*
 * Adds a completion and calls the handler if the CQ is armed for it (for SRNIC_CQ_ARM_SOLICITED:
 * solicited, or an error). Any context. A full ring loses the entry: raises IB_EVENT_CQ_ERR and
 * calls all users' overrun().
 */
void srnic_cq_add(struct srnic_cq *cq, const struct srnic_cqe *cqe, bool solicited);
/* srnic_cq_add() of several: entry i is solicited if bit i of solicited is set. */
void srnic_cq_add_all(struct srnic_cq *cq, const struct srnic_cqe *cqe, u32 num, u32 solicited);
/*
 * Adds the completion of a flushed request. how: what to do if there is no room. False if it has to
 * wait for room. Any context.
 */
bool srnic_cq_flush(struct srnic_cq *cq, const struct srnic_cqe *cqe, enum srnic_flush how);

/* Adds several completions, for a caller that holds locks under which no handler may run. */
struct srnic_cq_batch {
	struct srnic_cq *cq;
	bool added, solicited, lost;	/* while cq->lock is held */
	bool notify, first_lost;	/* for srnic_cq_batch_notify() */
};

/* Most completions that are added or polled with interrupts off at a time. */
#define SRNIC_CQ_CHUNK	64

/* Takes cq->lock. Interrupts must be off. */
void srnic_cq_batch_begin(struct srnic_cq_batch *batch, struct srnic_cq *cq);
/* Does the CQ have room for another? */
bool srnic_cq_batch_room(struct srnic_cq_batch *batch);
/* Without room the entry is lost. */
void srnic_cq_batch_add(struct srnic_cq_batch *batch, const struct srnic_cqe *cqe, bool solicited);
/* An entry found no room, and the caller keeps it: the CQ overruns. */
void srnic_cq_batch_overrun(struct srnic_cq_batch *batch);
/* Drops cq->lock. */
void srnic_cq_batch_end(struct srnic_cq_batch *batch);
/* Calls the handlers. No queue's lock held. */
void srnic_cq_batch_notify(const struct srnic_cq_batch *batch);

/*
 * For reports: the consumer's index as it is now. If a user's is impossible: a ring's length before
 * @prod. Process context; the CQ may be in destruction.
 */
u32 srnic_cq_consumed(struct srnic_cq *cq);

/*
 * The two steps of a resize, process context; context: that of the user. 0 or -errno, as in
 * queue/resize.h.
 */
int srnic_cq_prepare(struct srnic_cq *cq, u32 entries, struct ib_ucontext *context);
int srnic_cq_switch(struct srnic_cq *cq, u32 entries);

/* verbs */
int srnic_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
		    struct srnic_compat_cq_attrs *attrs);
/* count completions raise an event, or a period of so many microseconds; either 0: each does. */
int srnic_modify_cq(struct ib_cq *cq, u16 count, u16 period);
/* Of user space: a step of struct srnic_resize_req. */
int srnic_resize_cq(struct ib_cq *cq, srnic_compat_cqe cqe, struct ib_udata *udata);
int srnic_destroy_cq(struct ib_cq *cq, struct ib_udata *udata);
int srnic_poll_cq(struct ib_cq *cq, int num, struct ib_wc *wc);
/*
 * A user arms its CQ by itself, and calls this if it has not taken all completions: then the event
 * is raised at once. A kernel consumer is told of them by the result (IB_CQ_REPORT_MISSED_EVENTS).
 */
int srnic_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags);

#endif
