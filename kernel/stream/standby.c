// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Engines that stand by in a burst of doorbells (srnic-abi.h, struct srnic_ring_hdr): a thread of
 * the device has them look at their queues once more.
 *
 * SCHED_BATCH: a thread that wakes up does not take the processor from the process that posts. It
 * runs when that waits, or on another processor that has nothing to do. A worker of a workqueue
 * would run after each doorbell, and find one request at a time; that is what the timer uses, when
 * requests have waited for too long.
 */
#include <linux/sched.h>
#include <uapi/linux/sched/types.h>

#include "compat/compat.h"
#include "stream/qp.h"

#define TOO_LONG	(100 * NSEC_PER_USEC)

int srnic_standby_dev_init(struct srnic_dev *dev)
{
	const struct sched_attr attr = { .size = sizeof(attr), .sched_policy = SCHED_BATCH };
	struct kthread_worker *worker = srnic_compat_run_worker("srnic_tx/%d", dev->index);

	if (IS_ERR(worker))
		return PTR_ERR(worker);
	sched_setattr_nocheck(worker->task, &attr);
	dev->standby = worker;
	return 0;
}

void srnic_standby_dev_exit(struct srnic_dev *dev)
{
	kthread_destroy_worker(dev->standby);
}

/* The flag is the user's, too: without it the user's requests wait for a doorbell. */
static bool stands_by(const struct srnic_qp *qp)
{
	return READ_ONCE(qp->sq.ring.hdr->state) & SRNIC_SQ_STANDBY;
}

static void look(struct kthread_work *work)
{
	struct srnic_qp *qp = container_of(work, struct srnic_qp, tx.standby.look);

	if (stands_by(qp))
		srnic_tx_run(qp);
}

static enum hrtimer_restart too_long(struct hrtimer *timer)
{
	struct srnic_qp *qp = container_of(timer, struct srnic_qp, tx.standby.timer);
	ktime_t end = ktime_add_ns(READ_ONCE(qp->tx.standby.since), TOO_LONG);

	if (!stands_by(qp))
		return HRTIMER_NORESTART;
	if (ktime_before(ktime_get(), end)) {	/* the engine has stood by anew meanwhile */
		hrtimer_set_expires(timer, end);
		return HRTIMER_RESTART;
	}
	if (srnic_sq_pending(&qp->sq))
		WRITE_ONCE(qp->tx.standby.late, true);
	srnic_tx_kick(qp);
	return HRTIMER_NORESTART;
}

/*
 * If requests have waited for the timer, the process keeps its processor and polls no CQ. Each such
 * event doubles the doorbells after which the engine does not stand by, until one of a burst comes
 * in time.
 */
bool srnic_standby_wanted(struct srnic_qp *qp)
{
	struct srnic_standby *standby = &qp->tx.standby;
	bool burst = qp->tx.doorbell && READ_ONCE(qp->sq.ring.hdr->burst);
	bool stood = standby->stood;

	lockdep_assert_held(&qp->tx.mutex);
	standby->stood = false;
	if (READ_ONCE(standby->late)) {
		WRITE_ONCE(standby->late, false);
		standby->distrust = min(2 * standby->distrust + 1, SRNIC_DISTRUST_MAX);
		standby->distrusted = standby->distrust;
	} else if (burst && stood) {
		standby->distrust = 0;
	}
	if (!burst)
		return false;
	if (standby->distrusted) {
		standby->distrusted--;
		return false;
	}
	return true;
}

void srnic_standby_init(struct srnic_qp *qp)
{
	kthread_init_work(&qp->tx.standby.look, look);
	srnic_compat_hrtimer(&qp->tx.standby.timer, too_long);
}

/* A timer that runs is left alone: too_long() sets it anew. */
void srnic_standby_begin(struct srnic_qp *qp)
{
	struct srnic_standby *standby = &qp->tx.standby;

	lockdep_assert_held(&qp->tx.mutex);
	standby->stood = true;
	WRITE_ONCE(standby->since, ktime_get());
	if (!hrtimer_is_queued(&standby->timer))
		hrtimer_start(&standby->timer, ns_to_ktime(TOO_LONG), HRTIMER_MODE_REL);
	kthread_queue_work(qp->dev->standby, &standby->look);
}

void srnic_standby_exit(struct srnic_qp *qp)
{
	hrtimer_cancel(&qp->tx.standby.timer);
	kthread_cancel_work_sync(&qp->tx.standby.look);
}
