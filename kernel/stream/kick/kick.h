/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Kicks: having an engine look for work. A kick sets srnic_tx.again and queues the runner of
 * the engine; an engine that runs already sees the flag.
 *
 * A caller sets `again` before it tries tx.mutex; the engine reads `again` after it has dropped the
 * mutex. So the caller gets the mutex, or the engine sees the flag. And the engine clears the flag
 * before it looks for work, which the caller made visible before it set the flag.
 */
#ifndef SRNIC_KICK_H
#define SRNIC_KICK_H

#include "stream/qp.h"

/* There is work, which is visible to others: the engine is to look once more. Any context. */
static inline void srnic_tx_again(struct srnic_tx *tx)
{
	smp_mb__before_atomic();	/* the work before `again`; pairs with srnic_tx_looks() */
	set_bit(0, &tx->again);
	/* before tx.mutex and `called`; pairs with srnic_tx_unlocked(), srnic_standby_runs() */
	smp_mb__after_atomic();
}

/* The engine is about to look for work. tx.mutex held. */
static inline void srnic_tx_looks(struct srnic_tx *tx)
{
	clear_bit(0, &tx->again);
	smp_mb__after_atomic();	/* `again` before the work; pairs with srnic_tx_again() */
}

/* tx.mutex was dropped: has an engine to look again, because a caller may have found it locked? */
static inline bool srnic_tx_unlocked(const struct srnic_tx *tx)
{
	smp_mb();	/* the mutex before `again`; pairs with srnic_tx_again() */
	return test_bit(0, &tx->again);
}

/* Queues the engine. Any context. by: the caller's name, for the trace. */
void srnic_tx_kick_by(struct srnic_qp *qp, const char *by);
#define srnic_tx_kick(qp) srnic_tx_kick_by(qp, __func__)
/*
 * Has the engine run before long, for work that more of its kind may follow. The socket's lock
 * held, and BHs off unless tx.mutex is held.
 */
void srnic_tx_soon_by(struct srnic_qp *qp, const char *by);
#define srnic_tx_soon(qp) srnic_tx_soon_by(qp, __func__)
/* Queues the rest of a run, after `delay` jiffies if it can wait for that. Process context. */
void srnic_tx_requeue(struct srnic_qp *qp, unsigned long delay);
/*
 * Unlocks tx.mutex for a holder that did not run the engine, and repeats a kick that found it
 * locked.
 */
void srnic_tx_unlock(struct srnic_qp *qp);
/* run, run_in_thread: run the engine, for the workqueue and the device's thread. */
void srnic_kick_init(struct srnic_qp *qp, work_func_t run, kthread_work_func_t run_in_thread);

/* The counter of the passes that this runner makes. */
static inline enum srnic_counter srnic_passes_by(enum srnic_runner runner)
{
	static const enum srnic_counter passes[] = {
		[SRNIC_RUNNER_DOORBELL] = SRNIC_TX_PASSES_DOORBELL,
		[SRNIC_RUNNER_WORKER] = SRNIC_TX_PASSES_WORKER,
		[SRNIC_RUNNER_THREAD] = SRNIC_TX_PASSES_THREAD,
		[SRNIC_RUNNER_ASKER] = SRNIC_TX_PASSES_ASKER,
	};

	return passes[runner];
}

#endif
