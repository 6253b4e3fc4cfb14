// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Engines that need not run at once (stream/kick/standby.h): doorbells in a burst (srnic-abi.h,
 * struct srnic_ring_hdr) and responses to a peer, by the device's thread, by a worker, or by the
 * timer; and what a real-time task leaves to others.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "stream.h"
#include "stream/kick/standby.h"
#include "stream/transmit/engine.h"

static u32 queue_state(const struct stream *s)
{
	return READ_ONCE(s->qp->sq.ring.hdr->state);
}

/* As a user does: without telling the engine. */
static void publish_with(struct kunit *test, struct stream *s, const void *octets, int flags)
{
	struct ib_sge sge = sge_of(test->priv, octets);
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND, .send_flags = flags, .sg_list = &sge, .num_sge = 1,
	};
	const struct ib_send_wr *bad;

	KUNIT_ASSERT_EQ(test, srnic_sq_post(&s->qp->sq, &wr, &bad), 0);
	smp_mb();	/* prod before state */
}

static void publish(struct kunit *test, struct stream *s, const void *octets)
{
	publish_with(test, s, octets, 0);
}

static void ring(struct stream *s, bool burst)
{
	WRITE_ONCE(s->qp->sq.ring.hdr->burst, burst);
	srnic_tx_doorbell(s->qp);
}

static void without_a_burst_the_engine_goes_idle_after_a_doorbell(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);

	srnic_test_calm(s.qp);	/* else a worker may still run, for the connection */
	publish(test, &s, octets_for(test));
	ring(&s, false);
	KUNIT_EXPECT_EQ(test, queue_state(&s), SRNIC_SQ_NEED_DOORBELL);
	KUNIT_EXPECT_TRUE(test, list_empty(&s.qp->tx.standby.look.node));
	hear(test, &s, CORE_MSG_SEND);
	srnic_test_expect_nothing_left(test, c);
}

/* The end of the Read has the engine look. */
static void while_a_read_is_awaited_posts_need_no_doorbell(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	u8 *octets = octets_for(test);
	u32 sink;

	post(test, &s, IB_WR_RDMA_READ, octets + OCTETS);
	sink = sink_of(hear(test, &s, CORE_MSG_READ_REQUEST));
	srnic_test_calm(s.qp);
	publish_with(test, &s, octets, IB_SEND_FENCE);
	ring(&s, true);
	KUNIT_EXPECT_EQ(test, queue_state(&s), 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&s.qp->tx.standby.look.node));
	publish(test, &s, octets);
	KUNIT_EXPECT_EQ(test, queue_state(&s), 0);

	say_response(test, &s, sink, octets);
	hear(test, &s, CORE_MSG_SEND);
	hear(test, &s, CORE_MSG_SEND);
	expect_completion(test, IB_WC_RDMA_READ);
	KUNIT_EXPECT_TRUE(test,
			  srnic_test_eventually(queue_state(&s) == SRNIC_SQ_NEED_DOORBELL));
	srnic_test_expect_nothing_left(test, c);
}

/* ---- the runner that looks, and when ---- */

/* The device's thread, which does nothing else until it is released. */
struct occupied {
	struct kthread_work work;
	struct completion begun, released;
};

static void occupy(struct kthread_work *work)
{
	struct occupied *thread = container_of(work, struct occupied, work);

	complete(&thread->begun);
	wait_for_completion(&thread->released);
}

static void release(void *context)
{
	struct occupied *thread = context;

	complete(&thread->released);
	kthread_flush_work(&thread->work);
}

/* Until it is released, or the test's end. */
static struct occupied *occupy_thread(struct kunit *test, struct stream *s)
{
	struct occupied *thread = kunit_kzalloc(test, sizeof(*thread), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, thread);
	init_completion(&thread->begun);
	init_completion(&thread->released);
	kthread_init_work(&thread->work, occupy);
	kthread_queue_work(s->qp->dev->standby, &thread->work);
	wait_for_completion(&thread->begun);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, release, thread), 0);
	srnic_test_calm(s->qp);
	return thread;
}

/* The same, and the timer takes four seconds. */
static struct occupied *nobody_looks(struct kunit *test, struct stream *s)
{
	s->qp->dev->patience = U32_MAX;
	return occupy_thread(test, s);
}

static void what_is_posted_while_the_engine_stands_by_needs_no_doorbell(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	struct occupied *thread = nobody_looks(test, &s);

	ring(&s, true);
	KUNIT_EXPECT_EQ(test, queue_state(&s), SRNIC_SQ_STANDBY);
	publish(test, &s, octets_for(test));
	KUNIT_EXPECT_EQ(test, queue_state(&s), SRNIC_SQ_STANDBY);
	complete(&thread->released);
	hear(test, &s, CORE_MSG_SEND);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(s.qp->tx.standby.posts.late));
	srnic_test_expect_nothing_left(test, c);
}

/* A user that announces a burst and posts nothing keeps no thread busy. */
static void an_engine_that_stands_by_goes_idle(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	struct occupied *thread = nobody_looks(test, &s);

	ring(&s, true);
	KUNIT_EXPECT_EQ(test, queue_state(&s), SRNIC_SQ_STANDBY);
	complete(&thread->released);
	KUNIT_EXPECT_TRUE(test,
			  srnic_test_eventually(queue_state(&s) == SRNIC_SQ_NEED_DOORBELL));
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(list_empty(&s.qp->tx.standby.look.node)));
	srnic_test_expect_nothing_left(test, c);
}

/* From now on this processor is all that this process and the thread have. */
static void share_processor(struct kunit *test, struct stream *s)
{
	srnic_test_stay_here(test, current);
	srnic_test_stay_here(test, s->qp->dev->standby->task);
}

static enum srnic_stage stage(const struct stream *s)
{
	return READ_ONCE(s->qp->tx.standby.stage);
}

/* Wants the processor all the time. */
static void wait_while(const struct stream *s, enum srnic_stage now)
{
	unsigned long end = jiffies + SRNIC_TEST_PATIENCE;

	while (stage(s) == now && time_before(jiffies, end))
		schedule();
}

/* That is, the engine stands by for as long as the process that posts may still go on, but ends. */
static void a_thread_that_comes_between_leaves_once(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	struct occupied *thread = nobody_looks(test, &s);

	share_processor(test, &s);
	ring(&s, true);
	KUNIT_EXPECT_EQ(test, queue_state(&s), SRNIC_SQ_STANDBY);
	complete(&thread->released);
	wait_while(&s, SRNIC_STAGE_CALLED);
	KUNIT_EXPECT_NE(test, stage(&s), SRNIC_STAGE_CALLED);
	wait_while(&s, SRNIC_STAGE_LEFT);
	KUNIT_EXPECT_EQ(test, stage(&s), SRNIC_STAGE_AGAIN);
	KUNIT_EXPECT_TRUE(test,
			  srnic_test_eventually(queue_state(&s) == SRNIC_SQ_NEED_DOORBELL));
	srnic_test_expect_nothing_left(test, c);
}

/* The thread is not needed. */
static void the_timer_looks_if_nobody_else_does(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);

	nobody_looks(test, &s);
	ring(&s, true);
	publish(test, &s, octets_for(test));
	hear(test, &s, CORE_MSG_SEND);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(s.qp->tx.standby.posts.late));
	KUNIT_EXPECT_TRUE(test,
			  srnic_test_eventually(queue_state(&s) == SRNIC_SQ_NEED_DOORBELL));
	srnic_test_expect_nothing_left(test, c);
}

/* A process that keeps its processor and polls no CQ gains nothing by it. */
static void an_engine_whose_timer_found_requests_stands_by_less(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	u32 i, skipped;

	nobody_looks(test, &s);
	for (skipped = 1; skipped < 8; skipped = 2 * skipped + 1) {
		ring(&s, true);
		KUNIT_EXPECT_EQ(test, queue_state(&s), SRNIC_SQ_STANDBY);
		WRITE_ONCE(s.qp->tx.standby.posts.late, true);
		for (i = 0; i < skipped; i++) {
			ring(&s, true);
			KUNIT_EXPECT_EQ(test, queue_state(&s), SRNIC_SQ_NEED_DOORBELL);
		}
	}
	ring(&s, true);
	KUNIT_EXPECT_EQ(test, queue_state(&s), SRNIC_SQ_STANDBY);
	ring(&s, true);
	KUNIT_EXPECT_EQ(test, s.qp->tx.standby.posts.distrust, 0);
	srnic_test_expect_nothing_left(test, c);
}

/* ---- answers to a peer ---- */

static u32 requests(const struct srnic_qp *qp)
{
	return READ_ONCE(qp->inbound.tail) - READ_ONCE(qp->inbound.head);
}

static void a_peer_is_answered_though_the_thread_is_busy(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	struct srnic_test_mr *mr = region_of(test, c->set.pd, &s);
	struct srnic_trust *trust = &s.qp->tx.standby.answers;
	struct occupied *thread = occupy_thread(test, &s);
	u32 i;

	/* by the timer; without the thread; by the timer; three times without the thread */
	for (i = 0; i < 6; i++) {
		srnic_test_calm(s.qp);
		WRITE_ONCE(s.qp->tx.standby.alone, 0);
		say_read(test, &s, mr->base->rkey, mr->base->iova);
		hear(test, &s, CORE_MSG_READ_RESPONSE);
		KUNIT_EXPECT_EQ(test, READ_ONCE(trust->late), i == 0 || i == 2);
		KUNIT_EXPECT_EQ(test, trust->distrust, i ? (i < 3 ? 1 : 3) : 0);
	}

	/* two by the thread; so it is relied on again */
	c->set.dev->patience = U32_MAX;
	srnic_test_calm(s.qp);
	for (i = 0; i < 2; i++)
		say_read(test, &s, mr->base->rkey, mr->base->iova);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(requests(s.qp) == 2));
	complete(&thread->released);
	for (i = 0; i < 2; i++)
		hear(test, &s, CORE_MSG_READ_RESPONSE);
	srnic_test_calm(s.qp);
	say_read(test, &s, mr->base->rkey, mr->base->iova);
	hear(test, &s, CORE_MSG_READ_RESPONSE);
	KUNIT_EXPECT_EQ(test, trust->distrust, 0);
	srnic_test_expect_nothing_left(test, c);
}

static void a_worker_answers_requests_that_come_alone(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	struct srnic_test_mr *mr = region_of(test, c->set.pd, &s);
	struct occupied *thread;
	u32 i;

	s.qp->dev->patience = U32_MAX;
	for (i = 0; i < SRNIC_ALONE_TRY - 1; i++) {
		if (i == SRNIC_ALONE)
			thread = nobody_looks(test, &s);
		srnic_test_calm(s.qp);
		say_read(test, &s, mr->base->rkey, mr->base->iova);
		hear(test, &s, CORE_MSG_READ_RESPONSE);
	}

	/* now the thread is tried, and another joins */
	srnic_test_calm(s.qp);
	for (i = 0; i < 2; i++)
		say_read(test, &s, mr->base->rkey, mr->base->iova);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(requests(s.qp) == 2));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(s.qp->tx.standby.called));
	KUNIT_EXPECT_EQ(test, READ_ONCE(s.qp->tx.standby.alone), 0);
	complete(&thread->released);
	for (i = 0; i < 2; i++)
		hear(test, &s, CORE_MSG_READ_RESPONSE);
	srnic_test_expect_nothing_left(test, c);
}

/* ---- real-time tasks (kick/kick.c, keeps_processor()) ---- */

/* What a task of SCHED_FIFO does on one processor, and what it leaves to whom. */
struct real_time {
	struct kunit *test;
	struct srnic_qp *qp;
	void (*act)(struct real_time *task);
	const void *octets;
	struct completion done;
	bool worker, thread, polled;
};

static int act(void *arg)
{
	struct real_time *task = arg;

	task->act(task);
	kthread_complete_and_exit(&task->done, 0);
}

static void run_in_real_time(struct real_time *task)
{
	struct task_struct *thread = kthread_create(act, task, "srnic_fifo");

	KUNIT_ASSERT_NOT_ERR_OR_NULL(task->test, thread);
	init_completion(&task->done);
	kthread_bind(thread, cpumask_first(cpu_online_mask));
	sched_set_fifo(thread);
	wake_up_process(thread);
	wait_for_completion(&task->done);
}

static void note_who(struct real_time *task)
{
	/* of this processor: where there is another, its worker is asked as well */
	task->worker = num_online_cpus() == 1 && delayed_work_pending(&task->qp->tx.work);
	/* occupied, so what it is called for stays in its queue, whoever runs the engine */
	task->thread = !list_empty(&task->qp->tx.standby.look.node);
}

static void kick(struct real_time *task)
{
	srnic_tx_kick(task->qp);
	note_who(task);
}

static void ring_once(struct real_time *task)
{
	srnic_tx_doorbell(task->qp);
	note_who(task);
}

/* A worker would be bound to its processor. */
static void what_a_real_time_task_leaves_waits_for_no_worker_of_its_processor(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_cq *small = srnic_test_cq(test, c->set.dev, 1);
	struct srnic_qp *full = srnic_test_qp(test, c->set.pd, small, NULL, IB_SIGNAL_REQ_WR);
	struct stream s = begin(test, c->set.pd);
	struct occupied *thread = nobody_looks(test, &s);
	struct real_time kicks = { .test = test, .qp = s.qp, .act = kick };
	struct real_time rings = { .test = test, .qp = full, .act = ring_once };
	struct ib_recv_wr wr = { };
	struct ib_wc wc;
	u32 i;

	run_in_real_time(&kicks);
	KUNIT_EXPECT_FALSE(test, kicks.worker);
	KUNIT_EXPECT_TRUE(test, kicks.thread);

	/* the rest of its own run: the second flush waits for room */
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, ib_post_recv(&full->base, &wr, NULL), 0);
	srnic_qp_move(full, BIT(SRNIC_QP_IDLE), SRNIC_QP_ERROR, NULL);
	run_in_real_time(&rings);
	KUNIT_EXPECT_FALSE(test, rings.worker);
	KUNIT_EXPECT_TRUE(test, rings.thread);

	complete(&thread->released);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_TRUE(test, srnic_test_eventually(ib_poll_cq(small->base, 1, &wc)));
	srnic_test_expect_nothing_left(test, c);
}

/* Half a second: less than the scheduler lets it, where it limits real-time tasks. */
static void send_and_poll(struct real_time *task)
{
	struct srnic_test_conn *c = task->test->priv;
	struct ib_sge sge = sge_of(c, task->octets);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
				 .sg_list = &sge, .num_sge = 1 };
	unsigned long end = jiffies + HZ / 2;
	struct ib_wc wc;

	if (ib_post_send(&task->qp->base, &wr, NULL))
		return;
	while (!task->polled && num_online_cpus() > 1 && time_before(jiffies, end)) {
		task->polled = ib_poll_cq(c->set.cq->base, 1, &wc) == 1;
		cpu_relax();
	}
}

/* With one processor only, nobody could serve it. */
static void a_real_time_task_that_polls_is_served(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	u8 *octets = octets_for(test);
	struct stream s = begin(test, c->set.pd);
	u32 i, polled = 0;

	for (i = 0; i < 5 && !polled; i++) {
		struct real_time task = {
			.test = test, .qp = s.qp, .act = send_and_poll, .octets = octets,
		};

		srnic_test_calm(s.qp);
		run_in_real_time(&task);
		hear(test, &s, CORE_MSG_SEND);
		polled += task.polled;
		if (!task.polled)
			expect_completion(test, IB_WC_SEND);
	}
	if (num_online_cpus() > 1)
		KUNIT_EXPECT_EQ(test, polled, 1);
	srnic_test_expect_nothing_left(test, c);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(without_a_burst_the_engine_goes_idle_after_a_doorbell),
	KUNIT_CASE(while_a_read_is_awaited_posts_need_no_doorbell),
	KUNIT_CASE(what_is_posted_while_the_engine_stands_by_needs_no_doorbell),
	KUNIT_CASE(an_engine_that_stands_by_goes_idle),
	KUNIT_CASE(a_thread_that_comes_between_leaves_once),
	KUNIT_CASE(the_timer_looks_if_nobody_else_does),
	KUNIT_CASE(an_engine_whose_timer_found_requests_stands_by_less),
	KUNIT_CASE(a_peer_is_answered_though_the_thread_is_busy),
	KUNIT_CASE(a_worker_answers_requests_that_come_alone),
	KUNIT_CASE(what_a_real_time_task_leaves_waits_for_no_worker_of_its_processor),
	KUNIT_CASE(a_real_time_task_that_polls_is_served),
	{ }
};

static struct kunit_suite suite = {
	.name = "srnic_standby",
	.init = srnic_test_conn_init,
	.exit = srnic_test_conn_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
