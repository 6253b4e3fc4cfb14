// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The asking task also runs the engine that responds (stream/kick/asker.h): when it does, and for
 * how long.
 */
#include <linux/memcontrol.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include <uapi/linux/sched/types.h>

#include "stream.h"
#include "stream/kick/asker.h"
#include "stream/kick/standby.h"
#include "stream/transmit/engine.h"
#include "stream/transmit/own_batch.h"

/* Two QPs of one device: the one that connected reads from a region of the other. */
struct ends {
	struct srnic_test_conn *c;
	struct srnic_test_pair pair;
	struct srnic_test_mr *mr;
	u8 *into;
};

static u64 counted(struct ends *e, enum srnic_counter counter)
{
	return srnic_counted(e->c->set.dev, counter);
}

static void calm(struct srnic_qp *qp)
{
	kthread_flush_work(&qp->tx.standby.look);
	srnic_test_calm(qp);
}

static bool has_batch(const struct srnic_qp *qp)
{
	return READ_ONCE(qp->tx.batch) != &srnic_no_batch;
}

static struct ends connect_ends(struct kunit *test, bool shortcut)
{
	struct ends e = { .c = test->priv };
	struct stream peer = { .qp = e.c->set.qp };

	e.into = kunit_kzalloc(test, SRNIC_TEST_PAGES * PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, e.into);
	e.mr = region_of(test, e.c->set.pd, &peer);
	for (u32 i = 0; i < SRNIC_TEST_PAGES; i++)
		memset(e.mr->page[i], i + 1, PAGE_SIZE);
	e.c->set.dev->settings.local_shortcut = shortcut;
	srnic_test_pair(test, e.c, &e.pair);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(READ_ONCE(peer.qp->tx.validated)));
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(!READ_ONCE(peer.qp->tx.standby.called)));
	calm(peer.qp);
	calm(e.pair.qp);
	return e;
}

static void read(struct kunit *test, struct ends *e, u32 octets)
{
	struct ib_sge sge = srnic_test_sge(e->c, e->into, octets);
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = IB_WR_RDMA_READ,
			.send_flags = IB_SEND_SIGNALED,
			.sg_list = &sge,
			.num_sge = 1,
		},
		.remote_addr = e->mr->base->iova,
		.rkey = e->mr->base->rkey,
	};

	memset(e->into, 0, octets);
	KUNIT_ASSERT_EQ(test, ib_post_send(&e->pair.qp->base, &wr.wr, NULL), 0);
	KUNIT_ASSERT_EQ(test, srnic_test_next_wc(test).status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, e->into[0], 1);
	KUNIT_EXPECT_EQ(test, e->into[octets - 1],
			(octets - 1 + SRNIC_TEST_OFFSET) / PAGE_SIZE + 1);
}

/* Its requests have come alone for so long that no thread is asked. */
static void ask_alone(struct ends *e)
{
	WRITE_ONCE(e->c->set.qp->tx.standby.alone, SRNIC_ALONE);
}

static void who_asks_for_one_thing_at_a_time_answers(struct kunit *test)
{
	struct ends e = connect_ends(test, true);
	u64 before = counted(&e, SRNIC_TX_PASSES_ASKER);
	u32 reads = SRNIC_ALONE_TRY - SRNIC_ALONE - 1;

	ask_alone(&e);
	for (u32 i = 0; i < reads; i++) {
		srnic_test_calm(e.c->set.qp);
		read(test, &e, OCTETS);
	}
	KUNIT_EXPECT_EQ(test, counted(&e, SRNIC_TX_PASSES_ASKER) - before, reads);
	srnic_test_disconnect(test, e.c, &e.pair);
}

/* TCP's softirq comes before its sendmsg has returned. */
static void through_tcp_as_well(struct kunit *test)
{
	struct ends e = connect_ends(test, false);
	u64 before = counted(&e, SRNIC_TX_PASSES_ASKER);
	u32 i;

	for (i = 0; i < 200 && counted(&e, SRNIC_TX_PASSES_ASKER) == before; i++)
		read(test, &e, OCTETS);
	KUNIT_EXPECT_GT(test, counted(&e, SRNIC_TX_PASSES_ASKER), before);
	srnic_test_disconnect(test, e.c, &e.pair);
}

static void a_worker_finishes_a_long_answer(struct kunit *test)
{
	struct ends e = connect_ends(test, true);
	u64 asker = counted(&e, SRNIC_TX_PASSES_ASKER);
	u64 worker = counted(&e, SRNIC_TX_PASSES_WORKER);

	ask_alone(&e);
	read(test, &e, SRNIC_TEST_PAGES * PAGE_SIZE - SRNIC_TEST_OFFSET);
	KUNIT_EXPECT_EQ(test, counted(&e, SRNIC_TX_PASSES_ASKER) - asker, 1);
	/* the request, and the rest of the answer */
	KUNIT_EXPECT_GE(test, counted(&e, SRNIC_TX_PASSES_WORKER) - worker, 2);
	srnic_test_disconnect(test, e.c, &e.pair);
}

/* ---- tasks that cannot run the other engine at once ---- */

/* Both ends have a batch, and keep it until they use it. */
static void keep_batches(struct kunit *test, struct ends *e)
{
	struct srnic_qp *qp = e->pair.qp, *peer = e->c->set.qp;
	int i;

	for (i = 0; i < 10 && !(has_batch(qp) && has_batch(peer)); i++) {
		read(test, e, OCTETS);
		calm(peer);
		calm(qp);
	}
	KUNIT_ASSERT_TRUE(test, has_batch(qp) && has_batch(peer));
}

/* What sendmsg leaves behind if the peer was asked by it. tx.mutex held. */
static void ask(struct srnic_qp *qp, struct srnic_qp *peer)
{
	set_bit(0, &peer->tx.again);
	srnic_qp_hold(peer);
	srnic_own_batch(&qp->tx)->run_next = peer;
}

static void a_worker_answers_for_who_has_more_to_send(struct kunit *test)
{
	struct ends e = connect_ends(test, true);
	struct srnic_qp *qp = e.pair.qp, *peer = e.c->set.qp;
	u64 asker, worker;
	u32 users;

	keep_batches(test, &e);
	users = refcount_read(&peer->users);
	asker = counted(&e, SRNIC_TX_PASSES_ASKER);
	worker = counted(&e, SRNIC_TX_PASSES_WORKER);
	mutex_lock(&qp->tx.mutex);
	ask(qp, peer);
	srnic_leave_run_next(&qp->tx);
	KUNIT_EXPECT_NULL(test, srnic_own_batch(&qp->tx)->run_next);
	srnic_tx_unlock(qp);
	flush_delayed_work(&peer->tx.work);
	KUNIT_EXPECT_EQ(test, counted(&e, SRNIC_TX_PASSES_ASKER), asker);
	KUNIT_EXPECT_EQ(test, counted(&e, SRNIC_TX_PASSES_WORKER), worker + 1);
	KUNIT_EXPECT_EQ(test, refcount_read(&peer->users), users);
	srnic_test_disconnect(test, e.c, &e.pair);
}

struct destroyer {
	struct work_struct work;
	struct kunit *test;
	struct srnic_qp *qp;
	bool done;
};

static void destroy(struct work_struct *work)
{
	struct destroyer *destroyer = container_of(work, struct destroyer, work);

	srnic_test_destroy_qp(destroyer->test, destroyer->qp);
	WRITE_ONCE(destroyer->done, true);
}

static void a_qp_that_was_asked_is_not_destroyed_before_it_is_left_to_a_worker(struct kunit *test)
{
	struct ends e = connect_ends(test, true);
	struct srnic_qp *qp = e.c->set.qp;
	struct destroyer peer = { .test = test, .qp = e.pair.qp };

	keep_batches(test, &e);
	INIT_WORK_ONSTACK(&peer.work, destroy);
	mutex_lock(&qp->tx.mutex);
	ask(qp, peer.qp);
	schedule_work(&peer.work);
	/* the last reference */
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(refcount_read(&peer.qp->users) == 1));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(peer.done));
	srnic_leave_run_next(&qp->tx);
	srnic_tx_unlock(qp);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(READ_ONCE(peer.done)));
	flush_work(&peer.work);
	destroy_work_on_stack(&peer.work);
	srnic_test_expect_close(test, e.pair.client);
	srnic_test_expect_close(test, e.c->server);
	srnic_test_expect_nothing_left(test, e.c);
}

/* ---- the two calls ---- */

static bool takes(struct srnic_qp *qp)
{
	bool taken;

	local_bh_disable();
	taken = srnic_asker_takes(qp, qp->sock->sk);
	local_bh_enable();
	return taken;
}

struct other_task {
	struct work_struct work;
	struct ends *ends;
	bool begun, taken;
};

static void try_both(struct work_struct *work)
{
	struct other_task *task = container_of(work, struct other_task, work);

	task->begun = srnic_asker_begin(task->ends->pair.qp);
	task->taken = takes(task->ends->c->set.qp);
}

static void only_the_peer_of_who_sends_is_taken(struct kunit *test)
{
	struct ends e = connect_ends(test, false);
	struct srnic_qp *peer = e.c->set.qp, *asked;
	bool own, first, second;
	struct srnic_asker *asker;
	u32 users = refcount_read(&peer->users);

	srnic_test_stay_here(test, current);
	KUNIT_EXPECT_FALSE(test, takes(peer));
	asker = srnic_asker_begin(e.pair.qp);
	KUNIT_ASSERT_NOT_NULL(test, asker);
	own = takes(e.pair.qp);
	first = takes(peer);
	second = takes(peer);
	asked = srnic_asker_end(asker);
	KUNIT_EXPECT_FALSE(test, own);
	KUNIT_EXPECT_TRUE(test, first);
	KUNIT_EXPECT_TRUE(test, second);
	KUNIT_ASSERT_PTR_EQ(test, asked, peer);
	KUNIT_EXPECT_EQ(test, refcount_read(&peer->users), users + 1);
	srnic_qp_put(asked);
	KUNIT_EXPECT_FALSE(test, takes(peer));
	srnic_test_disconnect(test, e.c, &e.pair);
}

/* The sender was preempted: what others ask for meanwhile does not wait for it. */
static void another_task_of_its_processor_takes_nothing(struct kunit *test)
{
	struct ends e = connect_ends(test, false);
	struct other_task other = { .ends = &e };
	struct srnic_asker *asker;

	srnic_test_stay_here(test, current);
	asker = srnic_asker_begin(e.pair.qp);
	KUNIT_ASSERT_NOT_NULL(test, asker);
	INIT_WORK_ONSTACK(&other.work, try_both);
	schedule_work_on(raw_smp_processor_id(), &other.work);
	flush_work(&other.work);
	destroy_work_on_stack(&other.work);
	KUNIT_EXPECT_NULL(test, srnic_asker_end(asker));
	KUNIT_EXPECT_FALSE(test, other.begun);
	KUNIT_EXPECT_FALSE(test, other.taken);
	srnic_test_disconnect(test, e.c, &e.pair);
}

/* ---- tenants ---- */

static u8 nobodys;	/* without control groups nobody looks into one */

static void pay_nothing(void *qp)
{
	struct mem_cgroup *payer = ((struct srnic_qp *)qp)->payer;

	((struct srnic_qp *)qp)->payer = NULL;
	if (payer != (void *)&nobodys)
		mem_cgroup_put(payer);
}

/* Its peer pays for nothing, because the kernel made it. */
static void pay(struct kunit *test, struct srnic_qp *qp)
{
	KUNIT_ASSERT_NULL(test, qp->payer);
	qp->payer = get_mem_cgroup_from_mm(NULL) ?: (void *)&nobodys;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, pay_nothing, qp), 0);
}

static void a_worker_answers_another_tenants_requests(struct kunit *test)
{
	struct ends e = connect_ends(test, true);
	u64 asker = counted(&e, SRNIC_TX_PASSES_ASKER);
	u32 i;

	pay(test, e.pair.qp);
	ask_alone(&e);
	for (i = 0; i < 4; i++) {
		srnic_test_calm(e.c->set.qp);
		read(test, &e, OCTETS);
	}
	KUNIT_EXPECT_EQ(test, counted(&e, SRNIC_TX_PASSES_ASKER), asker);
	kunit_release_action(test, pay_nothing, e.pair.qp);
	srnic_test_calm(e.c->set.qp);
	read(test, &e, OCTETS);
	KUNIT_EXPECT_EQ(test, counted(&e, SRNIC_TX_PASSES_ASKER), asker + 1);
	srnic_test_disconnect(test, e.c, &e.pair);
}

static bool begins(struct ends *e)
{
	struct srnic_asker *asker = srnic_asker_begin(e->pair.qp);

	if (asker)
		srnic_asker_end(asker);
	return asker;
}

static void set_policy(struct kunit *test, u32 policy, s32 nice)
{
	const struct sched_attr attr = {
		.size = sizeof(attr), .sched_policy = policy, .sched_nice = nice,
	};

	KUNIT_EXPECT_EQ(test, sched_setattr_nocheck(current, &attr), 0);
}

/* It may get no processor for long, and then nor would the engine that it runs. */
static void who_has_a_low_priority_answers_nobody(struct kunit *test)
{
	struct ends e = connect_ends(test, false);

	set_policy(test, SCHED_IDLE, 0);
	KUNIT_EXPECT_FALSE(test, begins(&e));
	set_policy(test, SCHED_NORMAL, 1);
	KUNIT_EXPECT_FALSE(test, begins(&e));
	set_policy(test, SCHED_BATCH, 0);	/* as the device's thread */
	KUNIT_EXPECT_TRUE(test, begins(&e));
	set_policy(test, SCHED_NORMAL, 0);
	KUNIT_EXPECT_TRUE(test, begins(&e));
	srnic_test_disconnect(test, e.c, &e.pair);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(who_asks_for_one_thing_at_a_time_answers),
	KUNIT_CASE(through_tcp_as_well),
	KUNIT_CASE(a_worker_finishes_a_long_answer),
	KUNIT_CASE(a_worker_answers_for_who_has_more_to_send),
	KUNIT_CASE(a_qp_that_was_asked_is_not_destroyed_before_it_is_left_to_a_worker),
	KUNIT_CASE(only_the_peer_of_who_sends_is_taken),
	KUNIT_CASE(another_task_of_its_processor_takes_nothing),
	KUNIT_CASE(a_worker_answers_another_tenants_requests),
	KUNIT_CASE(who_has_a_low_priority_answers_nobody),
	{ }
};

static struct kunit_suite suite = {
	.name = "srnic_asker",
	.init = srnic_test_conn_init,
	.exit = srnic_test_conn_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
