// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * CQs and SRQs of another size: nothing is lost and order is kept, whatever the indices are, and
 * while an interrupt adds completions or takes receives.
 */
#include <linux/hrtimer.h>

#include "compat/compat.h"
#include "fixture.h"

#define ENTRIES	8U

struct context {
	struct srnic_dev *dev;
	struct srnic_test_cq *cq;
	struct srnic_test_srq *srq;
	struct srnic_qp *qp;
};

static void push(struct context *c, u64 wr_id)
{
	struct srnic_cqe cqe = {
		.wr_id = wr_id,
		.qp_num = c->qp->base.qp_num,
		.opcode = SRNIC_OP_RECV,
	};

	srnic_cq_add(c->cq->cq, &cqe, false);
}

static void push_all(struct context *c, u64 from, u64 to)
{
	for (; from != to; from++)
		push(c, from);
}

static void expect_poll(struct kunit *test, struct context *c, u64 from, u64 to)
{
	for (; from != to; from++)
		KUNIT_EXPECT_EQ(test, srnic_test_poll(test, c->cq).wr_id, from);
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(c->cq));
}

static int resize(struct context *c, u32 entries)
{
	int err = srnic_cq_prepare(c->cq->cq, entries, NULL);

	return err ?: srnic_cq_switch(c->cq->cq, entries);
}

static void start_at(struct srnic_cq *cq, u32 index)
{
	cq->prod = index;
	cq->cons = index;
	cq->ring.hdr->prod = index;
	cq->ring.hdr->cons = index;
}

static void a_larger_cq_keeps_its_completions_and_has_room_for_more(struct kunit *test)
{
	struct context *c = test->priv;

	start_at(c->cq->cq, 0 - 3U);
	push_all(c, 0, ENTRIES);
	KUNIT_EXPECT_EQ(test, resize(c, 3 * ENTRIES), 0);
	KUNIT_EXPECT_EQ(test, c->cq->base->cqe, 4 * ENTRIES);
	push_all(c, ENTRIES, 4 * ENTRIES);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->cq->errors), 0);
	expect_poll(test, c, 0, 4 * ENTRIES);
}

static void a_smaller_cq_keeps_its_completions_and_is_full_earlier(struct kunit *test)
{
	struct context *c = test->priv;

	start_at(c->cq->cq, 0 - 1U);
	push_all(c, 0, 2);
	KUNIT_EXPECT_EQ(test, resize(c, 2), 0);
	KUNIT_EXPECT_EQ(test, c->cq->base->cqe, 2);
	push(c, 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->cq->errors), 1);
	expect_poll(test, c, 0, 2);
	push(c, 3);
	expect_poll(test, c, 3, 4);
}

static void a_cq_does_not_become_too_small_for_what_it_has(struct kunit *test)
{
	struct context *c = test->priv;

	push_all(c, 0, 3);
	KUNIT_EXPECT_EQ(test, resize(c, 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, c->cq->base->cqe, ENTRIES);
	push_all(c, 3, ENTRIES);
	expect_poll(test, c, 0, ENTRIES);
	KUNIT_EXPECT_EQ(test, resize(c, 2), 0);
}

static void what_is_more_than_a_piece_moves(struct kunit *test)
{
	struct context *c = test->priv;
	u32 many = 1000;

	KUNIT_ASSERT_EQ(test, resize(c, 1024), 0);
	push_all(c, 0, many);
	KUNIT_ASSERT_EQ(test, resize(c, 4096), 0);
	KUNIT_ASSERT_EQ(test, resize(c, 1024), 0);
	expect_poll(test, c, 0, many);
}

static void a_switch_takes_what_was_prepared(struct kunit *test)
{
	struct srnic_cq *cq = ((struct context *)test->priv)->cq->cq;

	KUNIT_EXPECT_EQ(test, srnic_cq_switch(cq, 2 * ENTRIES), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_cq_prepare(cq, 2 * ENTRIES, NULL), 0);
	KUNIT_EXPECT_EQ(test, srnic_cq_switch(cq, 4 * ENTRIES), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_cq_prepare(cq, 4 * ENTRIES, NULL), 0);
	KUNIT_EXPECT_EQ(test, srnic_cq_switch(cq, 4 * ENTRIES), 0);
	KUNIT_EXPECT_EQ(test, srnic_cq_switch(cq, 4 * ENTRIES), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_cq_prepare(cq, ~0U, NULL), -ENOMEM);
	KUNIT_EXPECT_EQ(test, srnic_cq_switch(cq, ~0U), -EINVAL);
	KUNIT_EXPECT_EQ(test, cq->ring.entries, 4 * ENTRIES);
}

static void a_users_false_index_is_refused(struct kunit *test)
{
	static const u32 claims[] = { 1, 0x7fffffff, 0x80000000, 0 - 9U };
	struct context *c = test->priv;
	struct srnic_cq *cq = c->cq->cq;

	cq->user = true;
	push_all(c, 0, 2);
	for (u32 i = 0; i < ARRAY_SIZE(claims); i++) {
		cq->ring.hdr->cons = cq->prod + claims[i];
		KUNIT_EXPECT_EQ(test, resize(c, 64), -EINVAL);
	}
	cq->ring.hdr->cons = cq->prod - 2;
	KUNIT_EXPECT_EQ(test, resize(c, 64), 0);
	cq->user = false;
	expect_poll(test, c, 0, 2);
}

/* What a user's index says each time it is read; the last one is repeated. */
struct script {
	struct srnic_resizing base;
	const struct srnic_span *spans;
	u32 num, calls;
};

static struct srnic_span next_span(struct srnic_resizing *resizing)
{
	struct script *script = container_of(resizing, struct script, base);

	return script->spans[min(script->calls++, script->num - 1)];
}

/* One call is before anything is moved. */
static void indices_that_jump_end_a_move(struct kunit *test)
{
	static const struct srnic_span scripts[][3] = {
		{ { 0, 200 }, { 0, 200 }, { 0, 0 } },
		{ { 0, 200 }, { 300, 200 }, { 300, 200 } },
		{ { 0, 257 }, { 0, 257 }, { 0, 257 } },
		{ { 0, 200 }, { 0, 200 }, { 0xfffffff0, 0xfffffff0 } },
		{ { 0, 64 }, { 0, 128 }, { 0, ~0U } },
	};
	struct srnic_ring ring = { };
	struct srnic_resize resize = { };
	spinlock_t lock;

	spin_lock_init(&lock);
	srnic_resize_init(&resize);
	KUNIT_ASSERT_EQ(test, srnic_ring_alloc(&ring, 256, 32), 0);
	for (u32 i = 0; i < ARRAY_SIZE(scripts); i++) {
		struct script script = {
			.base = { &resize, &ring, &lock, next_span },
			.spans = scripts[i],
			.num = ARRAY_SIZE(scripts[i]),
		};

		mutex_lock(&resize.lock);
		KUNIT_EXPECT_EQ(test, srnic_resize_prepare(&resize, &ring, 512, NULL), 0);
		KUNIT_EXPECT_EQ_MSG(test, srnic_resize_switch(&script.base, 512), -EINVAL,
				    "script %u", i);
		mutex_unlock(&resize.lock);
		KUNIT_EXPECT_LT(test, script.calls, 10);
		KUNIT_EXPECT_EQ(test, ring.entries, 256);
	}
	srnic_ring_free(&ring);
}

/* ---- an interrupt adds completions, or takes receives, meanwhile ---- */

struct meddler {
	struct hrtimer timer;
	struct context *c;
	void (*act)(struct meddler *meddler);
	u64 count, wrong;
	bool stop;
	u8 wqe[SRNIC_TEST_RECV_MAX] __aligned(8);
};

static enum hrtimer_restart meddle(struct hrtimer *timer)
{
	struct meddler *meddler = container_of(timer, struct meddler, timer);

	if (READ_ONCE(meddler->stop))
		return HRTIMER_NORESTART;
	meddler->act(meddler);
	hrtimer_forward_now(timer, ns_to_ktime(20 * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

static struct meddler *begin_meddling(struct kunit *test, void (*act)(struct meddler *meddler))
{
	struct meddler *meddler = kunit_kzalloc(test, sizeof(*meddler), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, meddler);
	meddler->c = test->priv;
	meddler->act = act;
	srnic_compat_hrtimer(&meddler->timer, meddle);
	hrtimer_start(&meddler->timer, ns_to_ktime(20 * NSEC_PER_USEC), HRTIMER_MODE_REL);
	return meddler;
}

static void end_meddling(struct meddler *meddler)
{
	WRITE_ONCE(meddler->stop, true);
	hrtimer_cancel(&meddler->timer);
}

static void add_some(struct meddler *meddler)
{
	struct srnic_cq *cq = meddler->c->cq->cq;

	for (u32 n = 5; n && cq->prod - READ_ONCE(cq->cons) < 500; n--)
		push(meddler->c, meddler->count++);
}

/* *polled: how many before. Returns how many of them are out of order. */
static u64 poll_some(struct context *c, u64 *polled, u32 most)
{
	struct ib_wc wc;
	u64 wrong = 0;

	for (; most && ib_poll_cq(c->cq->base, 1, &wc) == 1; most--)
		wrong += wc.wr_id != (*polled)++;
	return wrong;
}

static void completions_that_come_meanwhile_are_not_lost(struct kunit *test)
{
	unsigned long end = jiffies + HZ / 2;
	struct context *c = test->priv;
	u64 polled = 0, wrong = 0;
	struct meddler *meddler;
	u32 resizes = 0;

	KUNIT_ASSERT_EQ(test, resize(c, 1024), 0);
	meddler = begin_meddling(test, add_some);
	for (u32 round = 0; time_before(jiffies, end); round++) {
		resizes += !resize(c, 512U << round % 3);
		wrong += poll_some(c, &polled, round % 7 ? 10 : 1000);
		cond_resched();
	}
	end_meddling(meddler);
	wrong += poll_some(c, &polled, ~0U);
	KUNIT_EXPECT_GT(test, resizes, 10);
	KUNIT_EXPECT_GT(test, polled, 100);
	KUNIT_EXPECT_EQ(test, polled, meddler->count);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->cq->errors), 0);
}

/* ---- SRQs ---- */

static int post(struct context *c, u64 wr_id)
{
	struct ib_recv_wr wr = { .wr_id = wr_id };

	return ib_post_srq_recv(c->srq->base, &wr, NULL);
}

static int resize_srq(struct context *c, u32 max_wr)
{
	struct ib_srq_attr attr = { .max_wr = max_wr };

	return ib_modify_srq(c->srq->base, &attr, IB_SRQ_MAX_WR);
}

static void take_one(struct meddler *meddler)
{
	struct srnic_recv_wqe *wqe = (struct srnic_recv_wqe *)meddler->wqe;

	for (u32 n = 3; n; n--)
		if (srnic_srq_take(meddler->c->srq->srq, wqe, sizeof(meddler->wqe), 0) ==
		    SRNIC_TAKEN_ONE)
			meddler->wrong += wqe->wr_id != meddler->count++;
}

static void an_srq_keeps_its_receives(struct kunit *test)
{
	struct context *c = test->priv;
	struct meddler meddler = { .c = c };
	u64 i;

	for (i = 0; i < ENTRIES; i++)
		KUNIT_ASSERT_EQ(test, post(c, i), 0);
	KUNIT_EXPECT_EQ(test, post(c, i), -ENOMEM);
	KUNIT_EXPECT_EQ(test, resize_srq(c, ENTRIES / 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, resize_srq(c, 2 * ENTRIES), 0);
	for (; i < 2 * ENTRIES; i++)
		KUNIT_EXPECT_EQ(test, post(c, i), 0);
	KUNIT_EXPECT_EQ(test, post(c, i), -ENOMEM);
	while (meddler.count < 2 * ENTRIES - 2)
		take_one(&meddler);
	KUNIT_EXPECT_EQ(test, resize_srq(c, 2), 0);
	take_one(&meddler);
	KUNIT_EXPECT_EQ(test, meddler.count, 2 * ENTRIES);
	KUNIT_EXPECT_EQ(test, meddler.wrong, 0);
}

static void an_srq_that_cannot_be_is_refused(struct kunit *test)
{
	struct ib_srq_attr attr = { .max_wr = 4, .srq_limit = 5 };
	struct context *c = test->priv;
	struct ib_srq_attr now;

	KUNIT_EXPECT_EQ(test, resize_srq(c, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, resize_srq(c, SRNIC_MAX_SRQ_WR + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, ib_modify_srq(c->srq->base, &attr, IB_SRQ_MAX_WR | IB_SRQ_LIMIT),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ib_modify_srq(c->srq->base, &attr, IB_SRQ_LIMIT), 0);
	KUNIT_EXPECT_EQ(test, resize_srq(c, 4), -EINVAL); /* smaller than its limit */
	attr.srq_limit = 3;
	KUNIT_EXPECT_EQ(test, ib_modify_srq(c->srq->base, &attr, IB_SRQ_MAX_WR | IB_SRQ_LIMIT), 0);
	KUNIT_EXPECT_EQ(test, ib_query_srq(c->srq->base, &now), 0);
	KUNIT_EXPECT_EQ(test, now.max_wr, 4);
	KUNIT_EXPECT_EQ(test, now.srq_limit, 3);
}

static void receives_that_are_taken_meanwhile_are_taken_once(struct kunit *test)
{
	unsigned long end = jiffies + HZ / 2;
	struct context *c = test->priv;
	struct meddler *meddler;
	u32 resizes = 0;
	u64 posted = 0;

	KUNIT_ASSERT_EQ(test, resize_srq(c, 512), 0);
	meddler = begin_meddling(test, take_one);
	for (u32 round = 0; time_before(jiffies, end); round++) {
		while (posted - READ_ONCE(meddler->count) < 300 && !post(c, posted))
			posted++;
		resizes += !resize_srq(c, 512U << round % 3);
		cond_resched();
	}
	end_meddling(meddler);
	while (meddler->count < posted && !meddler->wrong)
		take_one(meddler);
	KUNIT_EXPECT_GT(test, resizes, 10);
	KUNIT_EXPECT_GT(test, posted, 100);
	KUNIT_EXPECT_EQ(test, meddler->wrong, 0);
}

static int init(struct kunit *test)
{
	struct context *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct ib_pd *pd;

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	c->dev = srnic_test_device(test);
	pd = srnic_test_pd(test, c->dev);
	c->cq = srnic_test_cq(test, c->dev, ENTRIES);
	c->srq = srnic_test_srq(test, pd, ENTRIES, 0);
	c->qp = srnic_test_qp(test, pd, c->cq, NULL, IB_SIGNAL_REQ_WR);
	return 0;
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_larger_cq_keeps_its_completions_and_has_room_for_more),
	KUNIT_CASE(a_smaller_cq_keeps_its_completions_and_is_full_earlier),
	KUNIT_CASE(a_cq_does_not_become_too_small_for_what_it_has),
	KUNIT_CASE(what_is_more_than_a_piece_moves),
	KUNIT_CASE(a_switch_takes_what_was_prepared),
	KUNIT_CASE(a_users_false_index_is_refused),
	KUNIT_CASE(indices_that_jump_end_a_move),
	KUNIT_CASE(completions_that_come_meanwhile_are_not_lost),
	KUNIT_CASE(an_srq_keeps_its_receives),
	KUNIT_CASE(an_srq_that_cannot_be_is_refused),
	KUNIT_CASE(receives_that_are_taken_meanwhile_are_taken_once),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_resize", .init = init, .test_cases = cases };

kunit_test_suite(suite);
