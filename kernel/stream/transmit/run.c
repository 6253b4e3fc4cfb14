// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Runs a transmit engine. One caller at a time (tx.mutex): a user's doorbell in its system call, a
 * worker, the device's thread (kick/standby.c), or the task that has asked this end for something
 * (kick/asker.c). A caller that finds the engine running has it look again.
 */
#include <linux/sched/mm.h>

#include "report/trace.h"
#include "stream/kick/kick.h"
#include "stream/kick/standby.h"
#include "stream/state.h"
#include "stream/transmit/engine.h"
#include "stream/transmit/kept.h"
#include "stream/transmit/own_batch.h"
#include "stream/transmit/transmit.h"

#define MAX_ROUNDS	8	/* passes in one caller before the workqueue takes over */
#define RETRY_DELAY	msecs_to_jiffies(10)	/* after a lack of memory or room in a CQ */
#define WAIT_DELAY	msecs_to_jiffies(500)

/* There may be much to flush, or to copy (kept.h): too much for who also serves others. */
static bool must_leave(struct srnic_qp *qp, enum srnic_runner runner)
{
	if (READ_ONCE(qp->state) == SRNIC_QP_RTS)
		return false;
	return runner == SRNIC_RUNNER_ASKER ||
	       (runner == SRNIC_RUNNER_THREAD && srnic_kept_wanted(qp));
}

/* A caller that must not sleep hands a pass that ran out of memory to a worker. */
static enum engine_result run_once(struct srnic_qp *qp, enum srnic_runner runner, int round)
{
	struct srnic_tx *tx = &qp->tx;
	enum engine_result result;

	lockdep_assert_held(&tx->mutex);
	if (must_leave(qp, runner))
		return ENGINE_MORE;
	tx->runner = runner;
	if (!round)
		tx->spent = 0;
	else
		srnic_standby_retract(&tx->standby);
	srnic_qp_count(qp, srnic_passes_by(runner), 1);
	result = srnic_engine_pass(qp);
	if (result == ENGINE_RETRY && !srnic_engine_may_wait(tx))
		result = ENGINE_MORE;
	trace_srnic_tx_pass(qp, srnic_passes_by(runner), result);
	return result;
}

static void run_engine(struct srnic_qp *qp, enum srnic_runner runner);

/*
 * Runs the engine that the caller was asked to run, or leaves it to a worker if the caller has more
 * to do. An engine that an asker runs has its caller run no other, so this goes no deeper.
 */
static void run_other(struct srnic_qp *other, bool free)
{
	if (!other)
		return;
	if (free)
		run_engine(other, SRNIC_RUNNER_ASKER);
	else
		srnic_tx_kick(other);
	srnic_qp_put(other);
}

static unsigned long delay_of(enum engine_result result)
{
	switch (result) {
	case ENGINE_RETRY:
		return RETRY_DELAY;
	case ENGINE_WAIT:
		return WAIT_DELAY;
	default:
		return 0;
	}
}

/* kick/kick.h has the rules for `again`. */
static void run_engine(struct srnic_qp *qp, enum srnic_runner runner)
{
	struct srnic_tx *tx = &qp->tx;
	enum engine_result result = ENGINE_IDLE;
	struct srnic_qp *other;
	int rounds = 0;

	while (result == ENGINE_IDLE && test_bit(0, &tx->again) && mutex_trylock(&tx->mutex)) {
		srnic_standby_runs(&tx->standby);
		srnic_tx_looks(tx);
		result = run_once(qp, runner, rounds++);
		other = srnic_take_run_next(tx);
		mutex_unlock(&tx->mutex);
		run_other(other, result == ENGINE_IDLE && !test_bit(0, &tx->again));
		if (srnic_tx_unlocked(tx) && result == ENGINE_IDLE && rounds >= MAX_ROUNDS)
			result = ENGINE_MORE;
	}
	if (result != ENGINE_IDLE)
		srnic_tx_requeue(qp, delay_of(result));
}

/* ---- calls ---- */

void srnic_tx_run(struct srnic_qp *qp)
{
	srnic_tx_again(&qp->tx);
	run_engine(qp, SRNIC_RUNNER_WORKER);
}

void srnic_tx_doorbell(struct srnic_qp *qp)
{
	trace_srnic_tx_post(qp);
	srnic_qp_count(qp, SRNIC_TX_DOORBELLS, 1);
	srnic_tx_again(&qp->tx);
	run_engine(qp, SRNIC_RUNNER_DOORBELL);
}

static void run_in_worker(struct work_struct *work)
{
	/* Storage may wait for this connection, and TCP's accounting ignores sk_allocation. */
	unsigned int noio = memalloc_noio_save();

	run_engine(container_of(to_delayed_work(work), struct srnic_qp, tx.work),
		   SRNIC_RUNNER_WORKER);
	memalloc_noio_restore(noio);
}

static void run_in_thread(struct kthread_work *work)
{
	struct srnic_qp *qp = container_of(work, struct srnic_qp, tx.standby.look);
	unsigned int noio;

	if (!srnic_standby_due(qp))
		return;
	noio = memalloc_noio_save();	/* as in run_in_worker() */
	srnic_tx_again(&qp->tx);
	run_engine(qp, SRNIC_RUNNER_THREAD);
	memalloc_noio_restore(noio);
}

void srnic_tx_init(struct srnic_qp *qp)
{
	srnic_kick_init(qp, run_in_worker, run_in_thread);
	qp->tx.batch = &srnic_no_batch;
	qp->tx.held.dev = qp->dev;
	qp->rx.held.dev = qp->dev;
	qp->sq.ring.hdr->state = SRNIC_SQ_NEED_DOORBELL;
}
