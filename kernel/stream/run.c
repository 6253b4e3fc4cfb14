// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Who runs a transmit engine, and when. One at a time (tx.mutex): a user's doorbell in its system
 * call, a worker, the device's thread (standby.c), or who has asked this end for something
 * (asker.c). Whoever finds it running has it look again.
 */
#include <linux/cpumask.h>
#include <linux/sched/mm.h>

#include "device/stats.h"
#include "tracing/trace.h"
#include "stream/asker.h"
#include "stream/engine.h"

#define MAX_ROUNDS	8	/* passes in one caller before the workqueue takes over */
#define RETRY_DELAY	msecs_to_jiffies(10)	/* after a lack of memory or room in a CQ */
#define WAIT_DELAY	msecs_to_jiffies(500)

/*
 * A real-time task may poll until the engine has done what it waits for, and no worker gets its
 * processor meanwhile: a worker is bound to the processor that queues it. So a worker of another
 * one is asked, and the device's thread, which the scheduler can move if a task polls there as
 * well: whoever comes first. Workers and that thread do not poll.
 */
static bool keeps_processor(const struct srnic_qp *qp)
{
	return unlikely(current->prio < MAX_RT_PRIO) && !(current->flags & PF_WQ_WORKER) &&
	       current != qp->dev->standby->task;
}

static enum srnic_counter next_runner(const struct srnic_qp *qp)
{
	return keeps_processor(qp) ? SRNIC_TX_PASSES_THREAD : SRNIC_TX_PASSES_WORKER;
}

static void queue_elsewhere(struct srnic_qp *qp)
{
	unsigned int other = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());

	if (other < nr_cpu_ids)
		mod_delayed_work_on(other, srnic_wq, &qp->tx.work, 0);
	srnic_standby_call(qp);
}

static void queue_now(struct srnic_qp *qp, enum srnic_counter runner)
{
	if (runner == SRNIC_TX_PASSES_THREAD)
		queue_elsewhere(qp);
	else
		mod_delayed_work(srnic_wq, &qp->tx.work, 0);
}

/* A delayed worker is bound, too: the thread finds out anew whether the rest can wait. */
static void queue_rest(struct srnic_qp *qp, enum engine_result result)
{
	enum srnic_counter runner = next_runner(qp);

	set_bit(0, &qp->tx.again);
	if (result == ENGINE_MORE || runner == SRNIC_TX_PASSES_THREAD)
		queue_now(qp, runner);
	else	/* keeps the earlier time of a kick that is queued */
		queue_delayed_work(srnic_wq, &qp->tx.work,
				   result == ENGINE_RETRY ? RETRY_DELAY : WAIT_DELAY);
}

/* Who may not wait leaves what lacks memory to a worker. */
static enum engine_result run_once(struct srnic_qp *qp, enum srnic_counter where, int round)
{
	struct srnic_tx *tx = &qp->tx;
	enum engine_result result;

	lockdep_assert_held(&tx->mutex);
	if (where == SRNIC_TX_PASSES_ASKER && READ_ONCE(qp->state) != SRNIC_QP_RTS)
		return ENGINE_MORE;	/* there may be much to flush */
	tx->where = where;
	if (!round)
		tx->spent = 0;
	else
		srnic_standby_retract(&tx->standby);
	srnic_qp_count(qp, where, 1);
	result = srnic_engine_pass(qp);
	if (result == ENGINE_RETRY && !srnic_engine_may_wait(tx))
		result = ENGINE_MORE;
	trace_srnic_tx_pass(qp, where, result);
	return result;
}

/* ---- who was asked (asker.h) ---- */

static struct srnic_qp *take_asked(struct srnic_tx *tx)
{
	struct srnic_qp *asked;

	if (tx->batch == &srnic_no_batch)
		return NULL;
	asked = srnic_own_batch(tx)->asked;
	srnic_own_batch(tx)->asked = NULL;
	return asked;
}

static void run_engine(struct srnic_qp *qp, enum srnic_counter where);

/*
 * free: the caller has nothing else to do, else a worker answers. An engine that runs for this lets
 * its caller answer nobody, so it goes no deeper.
 */
static void answer(struct srnic_qp *asked, bool free)
{
	if (!asked)
		return;
	if (free)
		run_engine(asked, SRNIC_TX_PASSES_ASKER);
	else
		srnic_tx_kick(asked);
	srnic_qp_put(asked);
}

void srnic_engine_asked_wait(struct srnic_tx *tx)
{
	answer(take_asked(tx), false);
}

/*
 * A caller sets `again` before it tries the mutex; the engine reads `again` after it has dropped
 * the mutex. So the caller gets the mutex, or the engine sees the flag. where: counts the passes.
 */
static void run_engine(struct srnic_qp *qp, enum srnic_counter where)
{
	struct srnic_tx *tx = &qp->tx;
	enum engine_result result = ENGINE_IDLE;
	struct srnic_qp *asked;
	int rounds = 0;

	while (result == ENGINE_IDLE && test_bit(0, &tx->again) && mutex_trylock(&tx->mutex)) {
		srnic_standby_runs(&tx->standby);
		clear_bit(0, &tx->again);
		/* `again` before the work; pairs with ask_again() */
		smp_mb__after_atomic();
		result = run_once(qp, where, rounds++);
		asked = take_asked(tx);
		mutex_unlock(&tx->mutex);
		answer(asked, result == ENGINE_IDLE && !test_bit(0, &tx->again));
		smp_mb();	/* the mutex before `again`; pairs with ask_again() */
		if (result == ENGINE_IDLE && rounds >= MAX_ROUNDS && test_bit(0, &tx->again))
			result = ENGINE_MORE;
	}
	if (result != ENGINE_IDLE)
		queue_rest(qp, result);
}

/* ---- calls ---- */

/*
 * The caller's work must be visible before the flag: the engine clears the flag, then looks for
 * work.
 */
static void ask_again(struct srnic_tx *tx)
{
	smp_mb__before_atomic();	/* pairs with run_engine(), after its clear_bit() */
	set_bit(0, &tx->again);
	smp_mb__after_atomic();		/* pairs with run_engine(), after its mutex_unlock() */
}

void srnic_tx_run(struct srnic_qp *qp)
{
	ask_again(&qp->tx);
	run_engine(qp, SRNIC_TX_PASSES_WORKER);
}

void srnic_tx_run_thread(struct srnic_qp *qp)
{
	unsigned int noio = memalloc_noio_save();	/* as in srnic_tx_work() */

	ask_again(&qp->tx);
	run_engine(qp, SRNIC_TX_PASSES_THREAD);
	memalloc_noio_restore(noio);
}

void srnic_tx_doorbell(struct srnic_qp *qp)
{
	trace_srnic_tx_post(qp);
	srnic_qp_count(qp, SRNIC_TX_DOORBELLS, 1);
	ask_again(&qp->tx);
	run_engine(qp, SRNIC_TX_PASSES_DOORBELL);
}

void srnic_tx_kick_by(struct srnic_qp *qp, const char *by)
{
	enum srnic_counter runner = next_runner(qp);

	trace_srnic_tx_kick(qp, runner, by);
	ask_again(&qp->tx);
	queue_now(qp, runner);
}

/*
 * `again` before `asked`: a true `asked` says that the engine has yet to look; then it will see.
 * BHs may be on only if the caller holds tx.mutex: then the standby says that the engine will look.
 */
void srnic_tx_soon_by(struct srnic_qp *qp, const char *by)
{
	enum srnic_counter where = next_runner(qp);

	ask_again(&qp->tx);
	if (srnic_standby_ask(qp))
		where = SRNIC_TX_PASSES_THREAD;
	else if (srnic_asker_takes(qp, qp->sock->sk))
		where = SRNIC_TX_PASSES_ASKER;
	else
		queue_now(qp, where);
	trace_srnic_tx_kick(qp, where, by);
}

void srnic_tx_unlock(struct srnic_qp *qp)
{
	mutex_unlock(&qp->tx.mutex);
	smp_mb();	/* the mutex before `again`; pairs with ask_again() */
	if (test_bit(0, &qp->tx.again))
		srnic_tx_kick(qp);
}

void srnic_tx_work(struct work_struct *work)
{
	/* Storage may wait for this connection, and TCP's accounting ignores sk_allocation. */
	unsigned int noio = memalloc_noio_save();

	run_engine(container_of(to_delayed_work(work), struct srnic_qp, tx.work),
		   SRNIC_TX_PASSES_WORKER);
	memalloc_noio_restore(noio);
}
