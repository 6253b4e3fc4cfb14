// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The task that sends on each processor, and the engine that it is to run afterwards.
 */
#include <linux/bottom_half.h>
#include <linux/percpu.h>
#include <linux/sched.h>

#include "stream/kick/asker.h"
#include "stream/qp.h"
#include "stream/socket_pair.h"

/**
 * struct srnic_asker - a processor on which a task sends
 * @task: the task, or NULL; it may have moved to another processor since
 * @payer: srnic_qp.payer of the QP that it sends for; accessed as @sk is
 * @sk: the socket that it sends by, which @task keeps; written and read by @task, and by softirqs
 *	that interrupt it
 * @run_next: the QP whose engine @task is to run, referenced, or NULL. Written by @task with BHs
 *	off, and by softirqs that interrupt it here: not at the same time, because once it has moved
 *	none does
 */
struct srnic_asker {
	struct task_struct *task;
	const struct mem_cgroup *payer;
	const struct sock *sk;
	struct srnic_qp *run_next;
};

static DEFINE_PER_CPU(struct srnic_asker, askers);

/* Else the engine that it runs, and its owner with it, would wait for a processor as it does. */
static bool has_normal_priority(const struct task_struct *task)
{
	return task->prio <= DEFAULT_PRIO && task->policy != SCHED_IDLE;
}

struct srnic_asker *srnic_asker_begin(const struct srnic_qp *qp)
{
	struct srnic_asker *asker = raw_cpu_ptr(&askers);

	if (!has_normal_priority(current) || cmpxchg(&asker->task, NULL, current))
		return NULL;
	WRITE_ONCE(asker->payer, qp->payer);
	WRITE_ONCE(asker->sk, qp->sock->sk);
	return asker;
}

struct srnic_qp *srnic_asker_end(struct srnic_asker *asker)
{
	struct srnic_qp *run_next;

	local_bh_disable();	/* none is taken after this look */
	run_next = asker->run_next;
	asker->run_next = NULL;
	asker->sk = NULL;
	/* release: `run_next` before the next task's; pairs with cmpxchg() */
	smp_store_release(&asker->task, NULL);
	local_bh_enable();
	return run_next;
}

/* Not before @sk is set. */
static bool sends_to(const struct srnic_asker *asker, const struct sock *sk)
{
	const struct sock *from;

	if (READ_ONCE(asker->task) != current)
		return false;
	from = READ_ONCE(asker->sk);
	return from && srnic_is_other_end(from, sk);
}

/*
 * One tenant's limits of memory, and of processors, which mostly come with them, are not for
 * another's engine.
 */
static bool of_one_tenant(const struct srnic_asker *asker, const struct srnic_qp *qp)
{
	return READ_ONCE(asker->payer) == qp->payer;
}

bool srnic_asker_takes(struct srnic_qp *qp, const struct sock *sk)
{
	struct srnic_asker *asker = this_cpu_ptr(&askers);

	lockdep_assert(in_softirq());
	if (!sends_to(asker, sk) || !of_one_tenant(asker, qp))
		return false;
	if (asker->run_next)
		return asker->run_next == qp;
	srnic_qp_hold(qp);
	asker->run_next = qp;
	return true;
}
