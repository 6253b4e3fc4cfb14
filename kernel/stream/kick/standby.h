/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Engines that stand by in a burst of doorbells, or that are to respond to a peer soon: when the
 * device's thread runs them, and what happens if it comes late.
 */
#ifndef SRNIC_STANDBY_H
#define SRNIC_STANDBY_H

#include "stream/qp.h"

/* The most occasions in a row on which the device's thread is not relied on. */
#define SRNIC_DISTRUST_MAX	1023U
/*
 * After this many single requests in a row, a worker or the asking task (asker.h) responds instead:
 * it is faster, and the thread would find no more requests. Every SRNIC_ALONE_TRY requests the
 * thread is tried again, because a faster response leaves no time for a second request to come.
 */
#define SRNIC_ALONE		4U
#define SRNIC_ALONE_TRY		16U

/* The device's thread. 0 or -errno; may sleep. */
int srnic_standby_dev_init(struct srnic_dev *dev);
/* No QP is left. May sleep. */
void srnic_standby_dev_exit(struct srnic_dev *dev);

/* run: the thread's function, which asks srnic_standby_due(); too_long: the timer's. */
void srnic_standby_init(struct srnic_standby *standby, kthread_work_func_t run,
			enum hrtimer_restart (*too_long)(struct hrtimer *timer));
/*
 * In the thread: is the engine to run? If not, the thread is not needed, or came too early: then
 * this has set the timer, which calls it once more.
 */
bool srnic_standby_due(struct srnic_qp *qp);
/*
 * In the timer: did the thread not come in time, so that a worker has to run the engine? Notes
 * that. If not, this may have set the timer anew, or called the thread once more.
 */
bool srnic_standby_missed(struct srnic_qp *qp);
/*
 * Is the engine to stand by now? Only after a doorbell, so that a user that lies makes it look just
 * once more. tx.mutex held.
 */
bool srnic_standby_wanted(struct srnic_qp *qp);
/* There was more to do, so the thread had no occasion to come in time. tx.mutex held. */
static inline void srnic_standby_retract(struct srnic_standby *standby)
{
	standby->posts.relied = false;
}

/*
 * Has the engine run before long if the queue's state is SRNIC_SQ_STANDBY then. tx.mutex held.
 */
void srnic_standby_begin(struct srnic_qp *qp);
/* Has the device's thread run the engine before long. Any context. */
void srnic_standby_call(struct srnic_qp *qp);
/*
 * Has the device's thread run the engine before long, unless one that runs will see `again`. False
 * if a worker is better: the thread was late the last time, or the peer's requests come alone. The
 * socket's lock held; srnic_tx_soon() calls this.
 */
bool srnic_standby_takes(struct srnic_qp *qp);
/* The engine is about to look: it will see what the thread was called for. tx.mutex held. */
static inline void srnic_standby_runs(struct srnic_standby *standby)
{
	if (!READ_ONCE(standby->called))
		return;
	WRITE_ONCE(standby->called, false);
	smp_mb();	/* `called` before the work; pairs with srnic_tx_again() */
}

/* Nobody rings or asks any more. May sleep. */
void srnic_standby_exit(struct srnic_qp *qp);

#endif
