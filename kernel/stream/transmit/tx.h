/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The transmit engine of a QP, as an object.
 */
#ifndef SRNIC_TX_H
#define SRNIC_TX_H

#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "memory/sge.h"

struct srnic_batch;

/*
 * The runners of an engine. The first two may wait for the memory of the QP's user; the other two
 * also serve other QPs.
 *
 * DOORBELL	the user's system call
 * WORKER	a worker of the workqueue, or a call that ends a connection
 * THREAD	the device's thread (kick/standby.c)
 * ASKER	the task that has sent this end a request of the peer (kick/asker.c)
 */
enum srnic_runner {
	SRNIC_RUNNER_DOORBELL,
	SRNIC_RUNNER_WORKER,
	SRNIC_RUNNER_THREAD,
	SRNIC_RUNNER_ASKER,
};

/*
 * How a pass of the engine ended.
 *
 * ENGINE_IDLE		nothing to do until a kick: a post, socket space, a read, an FPDU
 * ENGINE_MORE		there is more to do
 * ENGINE_RETRY		an allocation failed, a CQ has no room for flushed requests, or UDP has none
 * ENGINE_WAIT		a Terminate waits for socket space, until its deadline
 */
enum engine_result {
	ENGINE_IDLE,
	ENGINE_MORE,
	ENGINE_RETRY,
	ENGINE_WAIT,
};

/**
 * struct srnic_trust - does the device's thread come in time?
 * @late: it did not: the timer was first, which sets this without a lock
 * @relied: it was relied on the last time
 * @distrust: occasions on which it was not relied on after it was late last
 * @left: those of them that are to come
 */
struct srnic_trust {
	bool late;
	bool relied;
	u16 distrust, left;
};

/**
 * enum srnic_stage - how far the device's thread has come
 * @SRNIC_STAGE_CALLED: it was called to look
 * @SRNIC_STAGE_LEFT: it found nothing, and yielded the processor. The timer calls it once more
 * @SRNIC_STAGE_AGAIN: that was done
 */
enum srnic_stage {
	SRNIC_STAGE_CALLED,
	SRNIC_STAGE_LEFT,
	SRNIC_STAGE_AGAIN,
};

/**
 * struct srnic_standby - of a transmit engine
 * @look: has the device's thread run the engine, before long
 * @timer: has the engine run in another way if @look takes too long
 * @end: when the timer is to act; written without a lock
 * @stage: enum srnic_stage of the thread; written without a lock
 * @called: srnic_standby_call() has called the thread, and the engine has not run since; written
 *	without a lock
 * @posts: for doorbells; tx.mutex held
 * @answers: for srnic_tx_soon(); the socket's lock held
 * @alone: requests of the peer that came last, each when all before it were answered, modulo 65536;
 *	the socket's lock held
 */
struct srnic_standby {
	struct kthread_work look;
	struct hrtimer timer;
	ktime_t end;
	u8 stage;
	bool called;
	struct srnic_trust posts, answers;
	u16 alone;
};

/**
 * struct srnic_tx - the transmit engine of a QP
 * @mutex: its holder is the engine, and owns everything here without another rule and the consumer
 *	side of the send queue. Taken in process context only; the socket lock nests inside
 * @work: runs the engine if the caller may not
 * @standby: has @work's part done by a thread that can wait (kick/standby.h)
 * @again: there may be work that the running engine has not seen; atomic
 * @validated: the peer has sent a valid FPDU (RFC 5044 7.1.2 rule 4); set by the receive half
 * @starved: times in a row that TCP lacked memory, up to 2
 * @spent: what its caller has sent, and done locally, in bytes and FPDU_COST
 * @term_pending: @term is to be sent
 * @last_wqe: LAST_WQE_REACHED was raised for this connection
 * @built: send queue index up to which all bytes are in the batch or sent; those requests complete
 *	once the batch is empty
 * @completed: send queue index up to which requests were completed as sent
 * @term: the Terminate to send; written under state_lock, before state becomes TERMINATING
 * @runner: enum srnic_runner of the run in progress, or of the last one
 * @term_deadline: jiffies after which an unsent Terminate is dropped
 * @rest: jiffies before which TCP is not asked again if @starved is 2
 * @bytes: bytes of this connection given to TCP, or to the peer
 * @batch: bytes built and not yet given away; &srnic_no_batch while idle
 * @core: the send scheduler's state
 * @held: a region that payload is read from; only while fill_batch() runs
 * @cursor: in the list of @wqe
 * @wqe: copy of the slot of the request that was taken last, or may be taken next
 */
struct srnic_tx {
	struct mutex mutex;
	struct delayed_work work;
	struct srnic_standby standby;
	unsigned long again;
	bool term_pending;
	bool last_wqe;
	u8 starved;
	u8 runner;
	u32 spent;
	u32 built;
	u32 completed;
	u64 bytes;
	struct srnic_batch *batch;

	struct core_tx core;
	struct srnic_held held;
	struct srnic_sge_cursor cursor;
	struct srnic_send_wqe *wqe;

	/* Seldom written, so that what is above shares no cache line with the receive half. */
	struct core_terminate term;
	bool validated;
	unsigned long term_deadline;
	unsigned long rest;
};

/* May the engine's caller wait for the memory of the QP's user? tx.mutex held. */
static inline bool srnic_engine_may_wait(const struct srnic_tx *tx)
{
	return tx->runner == SRNIC_RUNNER_DOORBELL || tx->runner == SRNIC_RUNNER_WORKER;
}

#endif
