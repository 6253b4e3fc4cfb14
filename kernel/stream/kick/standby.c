// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Engines that need not run at once, because more work may follow: those that stand by in a burst
 * of doorbells (srnic-abi.h, struct srnic_ring_hdr), and those that are to answer a peer. A thread
 * of the device runs them.
 *
 * SCHED_BATCH: a thread that wakes up does not take the processor from the process that posts. It
 * runs when that waits, or on another processor that has nothing to do. A worker of a workqueue
 * would run after each doorbell and each Read Request, and find one at a time. That is what the
 * timer uses, when something has waited for too long, and what answers a peer that asks for one
 * thing at a time anyway.
 */
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <uapi/linux/sched/types.h>

#include "compat/compat.h"
#include "stream/kick/standby.h"
#include "stream/qp.h"

/* Some of a slow virtual machine's context switches: with less, a thread that comes seems late. */
#define PATIENCE	NSEC_PER_MSEC
/* For which the thread leaves the processor to others. */
#define GLANCE		(100 * NSEC_PER_USEC)

int srnic_standby_dev_init(struct srnic_dev *dev)
{
	const struct sched_attr attr = { .size = sizeof(attr), .sched_policy = SCHED_BATCH };
	struct kthread_worker *worker = srnic_compat_run_worker("srnic_tx/%d", dev->index);

	if (IS_ERR(worker))
		return PTR_ERR(worker);
	sched_setattr_nocheck(worker->task, &attr);
	dev->standby = worker;
	dev->patience = PATIENCE;
	return 0;
}

void srnic_standby_dev_exit(struct srnic_dev *dev)
{
	kthread_destroy_worker(dev->standby);
}

/* The user may write the flag, too: without it the user's requests wait for a doorbell. */
static bool stands_by(const struct srnic_qp *qp)
{
	return READ_ONCE(qp->sq.ring.hdr->state) & SRNIC_SQ_STANDBY;
}

static bool is_called(const struct srnic_qp *qp)
{
	return READ_ONCE(qp->tx.standby.called);
}

/*
 * A timer that is set is left alone: srnic_standby_missed() sets it anew. The caller has set before
 * what it is for: STANDBY or `called`.
 */
static void call(struct srnic_qp *qp, enum srnic_stage stage)
{
	struct srnic_standby *standby = &qp->tx.standby;
	u32 patience = qp->dev->patience;

	WRITE_ONCE(standby->stage, stage);
	WRITE_ONCE(standby->end, ktime_add_ns(ktime_get(), patience));
	/* the flags before the timer's own state; pairs with srnic_standby_missed() */
	smp_mb();
	if (!hrtimer_is_queued(&standby->timer))
		hrtimer_start(&standby->timer, ns_to_ktime(patience), HRTIMER_MODE_REL);
	kthread_queue_work(qp->dev->standby, &standby->look);
}

static void leave(struct srnic_standby *standby)
{
	ktime_t end = ktime_add_ns(ktime_get(), GLANCE);

	WRITE_ONCE(standby->end, end);
	smp_wmb();	/* end before stage; pairs with srnic_standby_missed() */
	WRITE_ONCE(standby->stage, SRNIC_STAGE_LEFT);
	hrtimer_start(&standby->timer, end, HRTIMER_MODE_ABS);
}

/*
 * The thread came in between, while the process that posts has yet to go on: a worker that answers
 * took its processor. To go idle now would cost a doorbell for each request. Once only, so that a
 * user that announces a burst and does not post keeps no thread busy. Not where timers are coarse.
 */
static bool came_between(const struct srnic_qp *qp)
{
	return READ_ONCE(qp->tx.standby.stage) == SRNIC_STAGE_CALLED && !is_called(qp) &&
	       !srnic_sq_pending(&qp->sq) && !single_task_running() && hrtimer_resolution < GLANCE;
}

bool srnic_standby_due(struct srnic_qp *qp)
{
	if (!stands_by(qp) && !is_called(qp))
		return false;
	if (!came_between(qp))
		return true;
	leave(&qp->tx.standby);
	return false;
}

static void note_lateness(struct srnic_qp *qp)
{
	struct srnic_standby *standby = &qp->tx.standby;

	if (stands_by(qp) && srnic_sq_pending(&qp->sq))
		WRITE_ONCE(standby->posts.late, true);
	if (is_called(qp))
		WRITE_ONCE(standby->answers.late, true);
}

bool srnic_standby_missed(struct srnic_qp *qp)
{
	struct srnic_standby *standby = &qp->tx.standby;
	enum srnic_stage stage;
	ktime_t end;

	smp_mb();	/* the timer's own state before the flags; pairs with call() */
	if (!stands_by(qp) && !is_called(qp))
		return false;
	stage = READ_ONCE(standby->stage);
	smp_rmb();	/* stage before end; pairs with leave() */
	end = READ_ONCE(standby->end);
	if (ktime_before(ktime_get(), end)) {	/* the thread was called anew meanwhile */
		hrtimer_start(&standby->timer, end, HRTIMER_MODE_ABS);	/* call() may have, too */
		return false;
	}
	if (stage == SRNIC_STAGE_LEFT) {
		call(qp, SRNIC_STAGE_AGAIN);
		return false;
	}
	note_lateness(qp);
	return true;
}

/*
 * Each time that the thread is late doubles the occasions on which it is not relied on, until it is
 * in time once. It is late if the process keeps its processor, and no other one is free.
 */
static bool rely(struct srnic_trust *trust)
{
	bool relied = trust->relied;

	trust->relied = false;
	if (READ_ONCE(trust->late)) {
		WRITE_ONCE(trust->late, false);
		trust->distrust = min(2U * trust->distrust + 1, SRNIC_DISTRUST_MAX);
		trust->left = trust->distrust;
	} else if (relied) {
		trust->distrust = 0;
	}
	if (trust->left) {
		trust->left--;
		return false;
	}
	trust->relied = true;
	return true;
}

bool srnic_standby_wanted(struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->tx.mutex);
	return qp->tx.runner == SRNIC_RUNNER_DOORBELL && READ_ONCE(qp->sq.ring.hdr->burst) &&
	       rely(&qp->tx.standby.posts);
}

void srnic_standby_init(struct srnic_standby *standby, kthread_work_func_t run,
			enum hrtimer_restart (*too_long)(struct hrtimer *timer))
{
	kthread_init_work(&standby->look, run);
	srnic_compat_hrtimer(&standby->timer, too_long);
}

void srnic_standby_begin(struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->tx.mutex);
	call(qp, SRNIC_STAGE_CALLED);
}

void srnic_standby_call(struct srnic_qp *qp)
{
	WRITE_ONCE(qp->tx.standby.called, true);
	call(qp, SRNIC_STAGE_CALLED);
}

/* The peer's newest request is among those to be answered. */
static bool comes_alone(const struct srnic_qp *qp)
{
	return srnic_reads_count(&qp->inbound) < 2;
}

static bool others_may_join(const struct srnic_standby *standby)
{
	return standby->alone <= SRNIC_ALONE || standby->alone % SRNIC_ALONE_TRY == 0;
}

bool srnic_standby_takes(struct srnic_qp *qp)
{
	struct srnic_standby *standby = &qp->tx.standby;

	standby->alone = comes_alone(qp) ? standby->alone + 1 : 0;
	/* A running engine looks at `again`; 1 MiB may take it longer than the timer. */
	if (is_called(qp) || mutex_is_locked(&qp->tx.mutex))
		return true;
	if (!others_may_join(standby) || !rely(&standby->answers))
		return false;
	srnic_standby_call(qp);
	return true;
}

void srnic_standby_exit(struct srnic_qp *qp)
{
	/* The thread may set the timer, which then calls the thread once more. */
	kthread_cancel_work_sync(&qp->tx.standby.look);
	hrtimer_cancel(&qp->tx.standby.timer);
	kthread_cancel_work_sync(&qp->tx.standby.look);
}
