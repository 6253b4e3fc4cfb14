// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Chooses the runner of an engine that has work: a worker, the device's thread (standby.c), or the
 * task that asked for the work (asker.c).
 */
#include <linux/cpumask.h>
#include <linux/sched.h>

#include "report/trace.h"
#include "stream/kick/asker.h"
#include "stream/kick/kick.h"
#include "stream/kick/standby.h"

/*
 * A real-time task may poll until the engine has done what it waits for, and no worker gets its
 * processor meanwhile: a worker is bound to the processor that queues it. So a worker of another
 * processor is queued, and the device's thread, which the scheduler can move if a task polls there
 * as well: the first of them to get a processor runs the engine. Workers and that thread do not
 * poll.
 */
static bool keeps_processor(const struct srnic_qp *qp)
{
	return unlikely(current->prio < MAX_RT_PRIO) && !(current->flags & PF_WQ_WORKER) &&
	       current != qp->dev->standby->task;
}

static enum srnic_runner next_runner(const struct srnic_qp *qp)
{
	return keeps_processor(qp) ? SRNIC_RUNNER_THREAD : SRNIC_RUNNER_WORKER;
}

static void queue_elsewhere(struct srnic_qp *qp)
{
	unsigned int other = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());

	if (other < nr_cpu_ids)
		mod_delayed_work_on(other, srnic_wq, &qp->tx.work, 0);
	srnic_standby_call(qp);
}

static void queue_now(struct srnic_qp *qp, enum srnic_runner runner)
{
	if (runner == SRNIC_RUNNER_THREAD)
		queue_elsewhere(qp);
	else
		mod_delayed_work(srnic_wq, &qp->tx.work, 0);
}

void srnic_tx_kick_by(struct srnic_qp *qp, const char *by)
{
	enum srnic_runner runner = next_runner(qp);

	trace_srnic_tx_kick(qp, srnic_passes_by(runner), by);
	srnic_tx_again(&qp->tx);
	queue_now(qp, runner);
}

/* All that is to be sent is an Ack: more would not make it cheaper. */
static bool only_acknowledges(const struct srnic_qp *qp)
{
	return qp->acks && !srnic_reads_count(&qp->inbound);
}

/* Has somebody run the engine before long, and returns by whom. */
static enum srnic_runner call_runner(struct srnic_qp *qp)
{
	enum srnic_runner runner = next_runner(qp);
	const struct sock *sk = qp->sock->sk;

	/* With BHs on the caller holds tx.mutex, and is no asker. */
	if (only_acknowledges(qp) && in_softirq() && srnic_asker_takes(qp, sk))
		return SRNIC_RUNNER_ASKER;
	if (srnic_standby_takes(qp))
		return SRNIC_RUNNER_THREAD;
	if (srnic_asker_takes(qp, sk))
		return SRNIC_RUNNER_ASKER;
	queue_now(qp, runner);
	return runner;
}

/*
 * `again` before `called`: while `called` is true the engine has yet to look, and then it will see.
 * BHs may be on only if the caller holds tx.mutex: then the standby says that the engine will look.
 */
void srnic_tx_soon_by(struct srnic_qp *qp, const char *by)
{
	srnic_tx_again(&qp->tx);
	trace_srnic_tx_kick(qp, srnic_passes_by(call_runner(qp)), by);
}

void srnic_tx_unlock(struct srnic_qp *qp)
{
	mutex_unlock(&qp->tx.mutex);
	if (srnic_tx_unlocked(&qp->tx))
		srnic_tx_kick(qp);
}

/* A delayed worker is bound, too: the thread finds out anew whether the rest can wait. */
void srnic_tx_requeue(struct srnic_qp *qp, unsigned long delay)
{
	enum srnic_runner runner = next_runner(qp);

	set_bit(0, &qp->tx.again);
	if (!delay || runner == SRNIC_RUNNER_THREAD)
		queue_now(qp, runner);
	else	/* keeps the earlier time of a kick that is queued */
		queue_delayed_work(srnic_wq, &qp->tx.work, delay);
}

static enum hrtimer_restart too_long(struct hrtimer *timer)
{
	struct srnic_qp *qp = container_of(timer, struct srnic_qp, tx.standby.timer);

	if (srnic_standby_missed(qp))
		srnic_tx_kick(qp);
	return HRTIMER_NORESTART;
}

void srnic_kick_init(struct srnic_qp *qp, work_func_t run, kthread_work_func_t run_in_thread)
{
	mutex_init(&qp->tx.mutex);
	INIT_DELAYED_WORK(&qp->tx.work, run);
	srnic_standby_init(&qp->tx.standby, run_in_thread, too_long);
}
