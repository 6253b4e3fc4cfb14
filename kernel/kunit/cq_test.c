// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues: arming, overrun, indices that wrap, and a user's false index.
 */
#include <linux/hrtimer.h>

#include "compat/compat.h"
#include "fixture.h"

#define ENTRIES	8U

struct context {
	struct srnic_dev *dev;
	struct srnic_test_cq *cq;
	struct srnic_qp *qp;
};

static void push(struct context *c, u64 wr_id, u8 status, bool solicited)
{
	struct srnic_cqe cqe = {
		.wr_id = wr_id,
		.qp_num = c->qp->base.qp_num,
		.opcode = SRNIC_OP_RECV,
		.status = status,
	};

	srnic_cq_add(c->cq->cq, &cqe, solicited);
}

static int arm(struct context *c, enum ib_cq_notify_flags how)
{
	return ib_req_notify_cq(c->cq->base, how);
}

static int fired(struct context *c)
{
	return atomic_xchg(&c->cq->completions, 0);
}

static void expect_poll(struct kunit *test, struct context *c, u64 from, u64 to)
{
	for (; from != to; from++)
		KUNIT_EXPECT_EQ(test, srnic_test_poll(test, c->cq).wr_id, from);
}

static void a_cq_that_is_not_armed_calls_nobody(struct kunit *test)
{
	struct context *c = test->priv;

	push(c, 0, SRNIC_WC_SUCCESS, true);
	push(c, 1, SRNIC_WC_FLUSH_ERR, false);
	KUNIT_EXPECT_EQ(test, fired(c), 0);
}

static void armed_for_the_next_it_calls_once(struct kunit *test)
{
	struct context *c = test->priv;

	KUNIT_EXPECT_EQ(test, arm(c, IB_CQ_NEXT_COMP), 0);
	push(c, 0, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, fired(c), 1);
	push(c, 1, SRNIC_WC_SUCCESS, true);
	KUNIT_EXPECT_EQ(test, fired(c), 0);
}

static void armed_for_solicited_it_waits_for_one(struct kunit *test)
{
	struct context *c = test->priv;

	KUNIT_EXPECT_EQ(test, arm(c, IB_CQ_SOLICITED), 0);
	push(c, 0, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, fired(c), 0);
	push(c, 1, SRNIC_WC_SUCCESS, true);
	KUNIT_EXPECT_EQ(test, fired(c), 1);
	push(c, 2, SRNIC_WC_SUCCESS, true);
	KUNIT_EXPECT_EQ(test, fired(c), 0);
}

static void an_error_counts_as_solicited(struct kunit *test)
{
	struct context *c = test->priv;

	KUNIT_EXPECT_EQ(test, arm(c, IB_CQ_SOLICITED), 0);
	push(c, 0, SRNIC_WC_FLUSH_ERR, false);
	KUNIT_EXPECT_EQ(test, fired(c), 1);
}

static void arming_for_solicited_does_not_weaken_what_is_armed_for_the_next(struct kunit *test)
{
	struct context *c = test->priv;

	arm(c, IB_CQ_NEXT_COMP);
	arm(c, IB_CQ_SOLICITED);
	push(c, 0, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, fired(c), 1);
	arm(c, IB_CQ_SOLICITED);
	arm(c, IB_CQ_NEXT_COMP);
	push(c, 1, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, fired(c), 1);
}

static void arming_reports_what_came_before_if_asked_to(struct kunit *test)
{
	struct context *c = test->priv;

	KUNIT_EXPECT_EQ(test, arm(c, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS), 0);
	push(c, 0, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, arm(c, IB_CQ_NEXT_COMP), 0);
	KUNIT_EXPECT_EQ(test, arm(c, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS), 1);
	expect_poll(test, c, 0, 1);
	KUNIT_EXPECT_EQ(test, arm(c, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS), 0);
}

static void a_full_cq_keeps_what_it_has_and_raises_one_error(struct kunit *test)
{
	struct context *c = test->priv;
	u64 i;

	for (i = 0; i < ENTRIES; i++)
		push(c, i, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->cq->errors), 0);
	for (; i < 3 * ENTRIES; i++)
		push(c, i, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->cq->errors), 1);
	KUNIT_EXPECT_TRUE(test, c->cq->cq->overrun);
	expect_poll(test, c, 0, ENTRIES);
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(c->cq));
}

static void it_knows_how_full_it_was(struct kunit *test)
{
	struct context *c = test->priv;
	struct srnic_cq *cq = c->cq->cq;
	u64 i;

	for (i = 0; i < 3; i++)
		push(c, i, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, cq->peak, 3);
	expect_poll(test, c, 0, 2);
	push(c, i++, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, cq->seen, 2);
	KUNIT_EXPECT_EQ(test, cq->peak, 3);
	for (; i < 3 * ENTRIES; i++)
		push(c, i, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, cq->peak, ENTRIES);
}

static void order_is_kept_where_the_indices_wrap(struct kunit *test)
{
	struct context *c = test->priv;
	struct srnic_cq *cq = c->cq->cq;
	u64 i;

	cq->prod = 0 - 3U;
	cq->cons = cq->prod;
	cq->ring.hdr->prod = cq->prod;
	for (i = 0; i < ENTRIES; i++)
		push(c, i, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, cq->ring.hdr->prod, ENTRIES - 3);
	push(c, i, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->cq->errors), 1);
	expect_poll(test, c, 0, ENTRIES);
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(c->cq));
}

static void completions_of_a_destroyed_qp_are_not_delivered(struct kunit *test)
{
	struct context *c = test->priv;
	struct srnic_qp *other;

	other = srnic_test_qp(test, c->qp->base.pd, c->cq, NULL, IB_SIGNAL_REQ_WR);
	push(c, 0, SRNIC_WC_SUCCESS, false);
	push(&(struct context) { .cq = c->cq, .qp = other }, 77, SRNIC_WC_SUCCESS, false);
	push(c, 1, SRNIC_WC_SUCCESS, false);
	srnic_test_destroy_qp(test, other);
	expect_poll(test, c, 0, 2);
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(c->cq));
}

static void what_a_completion_tells_reaches_the_consumer(struct kunit *test)
{
	struct context *c = test->priv;
	struct srnic_cqe cqe = {
		.wr_id = 0x1122334455667788, .imm_inv = 0xabcdef01, .byte_len = 0xfffffff0,
		.qp_num = c->qp->base.qp_num, .opcode = SRNIC_OP_RECV, .flags = SRNIC_CQE_WITH_INV,
	};
	struct ib_wc wc;

	srnic_cq_add(c->cq->cq, &cqe, false);
	wc = srnic_test_poll(test, c->cq);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 0x1122334455667788);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 0xfffffff0);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RECV);
	KUNIT_EXPECT_EQ(test, wc.wc_flags, IB_WC_WITH_INVALIDATE);
	KUNIT_EXPECT_EQ(test, wc.ex.invalidate_rkey, 0xabcdef01);
	KUNIT_EXPECT_PTR_EQ(test, wc.qp, &c->qp->base);
}

static void a_users_false_index_loses_its_own_completions_and_nothing_else(struct kunit *test)
{
	static const u32 claims[] = { 1, 0x7fffffff, 0x80000000, 0xffffffff };
	struct context *c = test->priv;
	struct srnic_cq *cq = c->cq->cq;
	u32 i;

	cq->user = true;
	for (i = 0; i < ARRAY_SIZE(claims); i++) {
		cq->ring.hdr->cons = cq->prod + claims[i]; /* never published */
		push(c, i, SRNIC_WC_SUCCESS, false);
	}
	KUNIT_EXPECT_LE(test, cq->prod, ARRAY_SIZE(claims));
	KUNIT_EXPECT_LE(test, cq->peak, ENTRIES);
	KUNIT_EXPECT_LE(test, atomic_read(&c->cq->errors), 1);
	cq->ring.hdr->cons = cq->prod;
	i = cq->prod;
	push(c, 99, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, cq->ring.hdr->prod, i + 1);
	KUNIT_EXPECT_EQ(test, ((struct srnic_cqe *)srnic_ring_slot(&cq->ring, i))->wr_id, 99);
	cq->user = false;
}

static void a_report_says_what_a_user_has_polled_by_now(struct kunit *test)
{
	struct context *c = test->priv;
	struct srnic_cq *cq = c->cq->cq;

	cq->user = true;
	push(c, 0, SRNIC_WC_SUCCESS, false);
	push(c, 1, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, srnic_cq_consumed(cq), 0);
	cq->ring.hdr->cons = cq->prod;
	KUNIT_EXPECT_EQ(test, srnic_cq_consumed(cq), cq->prod);
	cq->ring.hdr->cons = cq->prod + 1;	/* never published */
	KUNIT_EXPECT_EQ(test, srnic_cq_consumed(cq), cq->prod - ENTRIES);
	cq->user = false;
}

static void the_kernel_does_not_read_back_its_own_index(struct kunit *test)
{
	struct context *c = test->priv;

	push(c, 0, SRNIC_WC_SUCCESS, false);
	c->cq->cq->ring.hdr->prod = 0x12345678;
	push(c, 1, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, c->cq->cq->ring.hdr->prod, 2);
	expect_poll(test, c, 0, 2);
}

static void push_to(struct srnic_test_cq *cq)
{
	struct srnic_cqe cqe = { .opcode = SRNIC_OP_RECV };

	ib_req_notify_cq(cq->base, IB_CQ_NEXT_COMP);
	srnic_cq_add(cq->cq, &cqe, false);
}

static void overrun_of_nobody(struct srnic_cq_user *user)
{
}

static void a_handler_runs_on_the_processor_of_its_vector(struct kunit *test)
{
	struct srnic_cq_user user = { .overrun = overrun_of_nobody };
	struct context *c = test->priv;
	int cpu;

	KUNIT_EXPECT_EQ(test, c->dev->base.num_comp_vectors, nr_cpu_ids);
	for_each_online_cpu(cpu) {
		struct srnic_test_cq *cq = srnic_test_cq_of_vector(test, c->dev, ENTRIES, cpu);
		int here;

		srnic_cq_attach(cq->cq, &user);
		migrate_disable();
		here = smp_processor_id();
		push_to(cq);
		migrate_enable();
		srnic_cq_detach(cq->cq, &user);
		KUNIT_EXPECT_EQ(test, atomic_read(&cq->completions), 1);
		KUNIT_EXPECT_EQ(test, cq->processor, cpu ?: here);
	}
}

/* The core cancels what the handler has begun and then destroys the CQ. */
static void no_handler_is_on_its_way_once_the_queues_are_detached(struct kunit *test)
{
	struct context *c = test->priv;
	struct srnic_test_cq *cq = srnic_test_cq_of_vector(test, c->dev, ENTRIES, nr_cpu_ids - 1);
	struct srnic_cq_user user = { .overrun = overrun_of_nobody };

	for (u32 i = 0; i < ENTRIES; i++) {
		srnic_cq_attach(cq->cq, &user);
		push_to(cq);
		srnic_cq_detach(cq->cq, &user);
		KUNIT_EXPECT_EQ(test, atomic_read(&cq->completions), i + 1);
	}
}

/* A timer interrupt plays the processor on which the handler is to be called. */
struct call {
	struct hrtimer timer;
	struct srnic_cq *cq;
	bool done;
};

static enum hrtimer_restart end_call(struct hrtimer *timer)
{
	struct call *call = container_of(timer, struct call, timer);

	WRITE_ONCE(call->done, true);
	if (atomic_dec_and_test(&call->cq->calls))
		wake_up_var(&call->cq->calls);
	return HRTIMER_NORESTART;
}

/* A program may arm its CQ, which has completions, when no queue is attached any more. */
static void a_cq_goes_after_the_handler_that_is_on_its_way(struct kunit *test)
{
	struct ib_cq_init_attr attr = { .cqe = 1 };
	struct context *c = test->priv;
	struct ib_cq *cq = ib_create_cq(&c->dev->base, NULL, NULL, NULL, &attr);
	struct call call = { };
	bool done;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, cq);
	call.cq = to_srnic_cq(cq);
	atomic_inc(&call.cq->calls);
	srnic_compat_hrtimer_on_stack(&call.timer, end_call);
	hrtimer_start(&call.timer, ms_to_ktime(20), HRTIMER_MODE_REL);
	ib_destroy_cq(cq);
	done = READ_ONCE(call.done);
	hrtimer_cancel(&call.timer);
	destroy_hrtimer_on_stack(&call.timer);
	KUNIT_EXPECT_TRUE(test, done);
}

/* ---- moderation: with a period that does not end by itself ---- */

static void moderate(struct kunit *test, struct context *c, u16 count)
{
	KUNIT_ASSERT_EQ(test, rdma_set_cq_moderation(c->cq->base, count, U16_MAX), 0);
	c->cq->cq->moderation->period = ktime_set(3600, 0);
}

static void a_moderated_event_waits_for_more_completions(struct kunit *test)
{
	struct context *c = test->priv;

	moderate(test, c, 3);
	arm(c, IB_CQ_NEXT_COMP);
	push(c, 0, SRNIC_WC_SUCCESS, false);
	push(c, 1, SRNIC_WC_FLUSH_ERR, true);
	KUNIT_EXPECT_EQ(test, fired(c), 0);
	push(c, 2, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, fired(c), 1);
	push(c, 3, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, fired(c), 0);	/* not armed */
	arm(c, IB_CQ_NEXT_COMP);
	push(c, 4, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, fired(c), 0);
	push(c, 5, SRNIC_WC_SUCCESS, false);
	KUNIT_EXPECT_EQ(test, fired(c), 1);
	expect_poll(test, c, 0, 6);
}

static void a_moderated_event_waits_no_longer_than_its_period(struct kunit *test)
{
	struct context *c = test->priv;

	moderate(test, c, 100);
	c->cq->cq->moderation->period = ms_to_ktime(20);
	arm(c, IB_CQ_NEXT_COMP);
	push(c, 0, SRNIC_WC_SUCCESS, false);
	msleep(500);
	KUNIT_EXPECT_EQ(test, fired(c), 1);
	msleep(100);
	KUNIT_EXPECT_EQ(test, fired(c), 0);
}

/* A CQ with this one user, whose events wait for 100 completions. */
static struct context another_moderated(struct kunit *test, struct srnic_cq_user *user)
{
	struct context *c = test->priv;
	struct context other = *c;

	other.cq = srnic_test_cq(test, c->dev, ENTRIES);
	srnic_cq_attach(other.cq->cq, user);
	moderate(test, &other, 100);
	return other;
}

static void moderation_ends_with_the_event_that_waits(struct kunit *test)
{
	struct srnic_cq_user user = { .overrun = overrun_of_nobody };
	struct context other = another_moderated(test, &user);
	struct srnic_test_cq *cq = other.cq;

	push_to(cq);
	KUNIT_EXPECT_EQ(test, fired(&other), 0);
	KUNIT_EXPECT_EQ(test, rdma_set_cq_moderation(cq->base, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, fired(&other), 1);
	push_to(cq);
	KUNIT_EXPECT_EQ(test, fired(&other), 1);
	moderate(test, &other, 100);
	push_to(cq);
	srnic_cq_detach(cq->cq, &user);
	KUNIT_EXPECT_EQ(test, fired(&other), 1);
}

/* As a program does that arms its CQ while its last queue goes. */
static void arm_once_more(struct ib_cq *base, void *context)
{
	struct srnic_test_cq *cq = context;

	if (atomic_inc_return(&cq->completions) == 1)
		push_to(cq);
}

static void an_event_that_begins_to_wait_then_is_not_lost(struct kunit *test)
{
	struct srnic_cq_user user = { .overrun = overrun_of_nobody };
	struct context other = another_moderated(test, &user);
	struct srnic_test_cq *cq = other.cq;

	cq->base->comp_handler = arm_once_more;
	push_to(cq);
	cq->cq->moderation->period = ms_to_ktime(20);
	srnic_cq_detach(cq->cq, &user);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(atomic_read(&cq->completions) == 2));
}

static int create(struct context *c, struct ib_cq_init_attr attr)
{
	struct ib_cq *cq = ib_create_cq(&c->dev->base, NULL, NULL, NULL, &attr);

	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ib_destroy_cq(cq);
	return 0;
}

/* By the driver itself: newer cores refuse a CQ without entries, and warn. */
static int create_without_entries(struct context *c)
{
	struct ib_device *base = &c->dev->base;
	struct ib_cq *cq = rdma_zalloc_drv_obj(base, ib_cq);
	struct ib_cq_init_attr attr = { };
	int ret;

	if (!cq)
		return -ENOMEM;
	cq->device = base;
	ret = base->ops.create_cq(cq, &attr, NULL);
	kfree(cq);
	return ret;
}

static void a_cq_that_cannot_be_is_refused(struct kunit *test)
{
	struct context *c = test->priv;

	KUNIT_EXPECT_EQ(test, create(c, (struct ib_cq_init_attr) { .cqe = 1 }), 0);
	KUNIT_EXPECT_EQ(test, create_without_entries(c), -EINVAL);
	KUNIT_EXPECT_EQ(test, create(c, (struct ib_cq_init_attr){.cqe = SRNIC_MAX_CQE + 1}),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, create(c, (struct ib_cq_init_attr) { .cqe = ~0U }), -EINVAL);
	KUNIT_EXPECT_EQ(test, create(c, (struct ib_cq_init_attr){.cqe = 1, .comp_vector = 99999}),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, create(c, (struct ib_cq_init_attr){.cqe = 1, .flags = 1}),
			-EOPNOTSUPP);
}

static int init(struct kunit *test)
{
	struct context *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	c->dev = srnic_test_device(test);
	c->cq = srnic_test_cq(test, c->dev, ENTRIES);
	c->qp = srnic_test_qp(test, srnic_test_pd(test, c->dev), c->cq, NULL, IB_SIGNAL_REQ_WR);
	return 0;
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_cq_that_is_not_armed_calls_nobody),
	KUNIT_CASE(armed_for_the_next_it_calls_once),
	KUNIT_CASE(armed_for_solicited_it_waits_for_one),
	KUNIT_CASE(an_error_counts_as_solicited),
	KUNIT_CASE(arming_for_solicited_does_not_weaken_what_is_armed_for_the_next),
	KUNIT_CASE(arming_reports_what_came_before_if_asked_to),
	KUNIT_CASE(a_full_cq_keeps_what_it_has_and_raises_one_error),
	KUNIT_CASE(it_knows_how_full_it_was),
	KUNIT_CASE(order_is_kept_where_the_indices_wrap),
	KUNIT_CASE(completions_of_a_destroyed_qp_are_not_delivered),
	KUNIT_CASE(what_a_completion_tells_reaches_the_consumer),
	KUNIT_CASE(a_users_false_index_loses_its_own_completions_and_nothing_else),
	KUNIT_CASE(a_report_says_what_a_user_has_polled_by_now),
	KUNIT_CASE(the_kernel_does_not_read_back_its_own_index),
	KUNIT_CASE(a_handler_runs_on_the_processor_of_its_vector),
	KUNIT_CASE(no_handler_is_on_its_way_once_the_queues_are_detached),
	KUNIT_CASE(a_cq_goes_after_the_handler_that_is_on_its_way),
	KUNIT_CASE(a_moderated_event_waits_for_more_completions),
	KUNIT_CASE(a_moderated_event_waits_no_longer_than_its_period),
	KUNIT_CASE(moderation_ends_with_the_event_that_waits),
	KUNIT_CASE(an_event_that_begins_to_wait_then_is_not_lost),
	KUNIT_CASE(a_cq_that_cannot_be_is_refused),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_cq", .init = init, .test_cases = cases };

kunit_test_suite(suite);
