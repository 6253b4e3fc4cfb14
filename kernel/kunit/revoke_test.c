// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The end of a grant: no byte is placed after an invalidation or deregistration has returned (RFC
 * 5040 8.1), also where a region stays held from one copy to the next.
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>

#include "compat/compat.h"
#include "mr.h"

/* ---- revocation: a timer interrupt plays the other CPU that copies, for single-CPU guests ---- */

struct holder {
	struct hrtimer timer;
	struct srnic_mr *mr;
	u8 *at;
	bool done;
};

static void drop(struct srnic_mr *mr)
{
	if (refcount_dec_and_test(&mr->users))
		complete(&mr->freed);
}

static enum hrtimer_restart copy_and_drop(struct hrtimer *timer)
{
	struct holder *holder = container_of(timer, struct holder, timer);

	WRITE_ONCE(*holder->at, 0xaa);
	WRITE_ONCE(holder->done, true);
	drop(holder->mr);
	return HRTIMER_NORESTART;
}

/* Holds the region now; copies and drops it after 20 ms. */
static void hold(struct holder *holder, struct srnic_test_mr *mr)
{
	*holder = (struct holder) { .mr = mr->mr, .at = mr->page[1] };
	refcount_inc(&mr->mr->users);
	srnic_compat_hrtimer_on_stack(&holder->timer, copy_and_drop);
	hrtimer_start(&holder->timer, ms_to_ktime(20), HRTIMER_MODE_REL);
}

/* The holder has dropped the region. gone: the region was freed, so do not drop it here. */
static void expect_over(struct kunit *test, struct holder *holder, bool gone)
{
	bool done = READ_ONCE(holder->done);

	if (hrtimer_cancel(&holder->timer) && !gone)
		drop(holder->mr);
	destroy_hrtimer_on_stack(&holder->timer);
	KUNIT_EXPECT_TRUE_MSG(test, done, "it did not wait for the holder");
}

/* ---- a region that stays held from one copy to the next ---- */

static enum core_region_verdict put_held(struct context *c, struct srnic_held *held, u32 stag,
					 u64 to, u32 len)
{
	const struct srnic_region_access access = {
		.to = to, .stag = stag, .requester.pd = c->id, .rights = CORE_ACCESS_REMOTE_WRITE,
	};

	return srnic_region_write(held, &access, c->buf, len);
}

/* Expectations may sleep, so they come after the drop. */

static void what_is_held_serves_its_own_stag_only(struct kunit *test)
{
	struct context *c = test->priv;
	struct srnic_test_mr *other = srnic_test_mr(test, c->pd);
	u32 ours = srnic_test_reg(test, c->mr, WRITES),
	    theirs = srnic_test_reg(test, other, WRITES), good = 0, right = 0, i;
	struct srnic_held held = { .dev = c->dev };
	enum core_region_verdict stranger;
	bool none;

	for (i = 0; i < 3; i++) {
		c->buf[0] = 0x10 + i;
		good += put_held(c, &held, ours, c->mr->base->iova, 1) == CORE_REGION_OK;
		right += held.mr == c->mr->mr;
		c->buf[0] = 0x20 + i;
		good += put_held(c, &held, theirs, other->base->iova, 1) == CORE_REGION_OK;
		right += c->mr->page[0][SRNIC_TEST_OFFSET] == 0x10 + i &&
			 other->page[0][SRNIC_TEST_OFFSET] == 0x20 + i;
	}
	stranger = put_held(c, &held, theirs ^ 1, other->base->iova, 1);
	none = !held.mr;
	srnic_held_drop(&held);
	KUNIT_EXPECT_EQ(test, good, 6);
	KUNIT_EXPECT_EQ(test, right, 6);
	KUNIT_EXPECT_EQ(test, stranger, CORE_REGION_INVALID);
	KUNIT_EXPECT_TRUE(test, none);
}

static void every_copy_checks_what_is_held(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, WRITES);
	u64 base = c->mr->base->iova, end = base + c->mr->base->length;
	const struct srnic_region_access reading = {
		.to = base, .stag = stag, .requester.pd = c->id, .rights = CORE_ACCESS_REMOTE_READ,
	};
	struct srnic_held held = { .dev = c->dev };
	enum core_region_verdict good, beyond, read;

	good = put_held(c, &held, stag, base, 1);
	beyond = put_held(c, &held, stag, end, 1);
	read = srnic_region_read(&held, &reading, c->buf, 1);
	srnic_held_drop(&held);
	KUNIT_EXPECT_EQ(test, good, CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, beyond, CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, read, CORE_REGION_ACCESS);
}

/* The state changes as another CPU changes it. */
static void what_is_held_is_given_up_when_it_must_go(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, WRITES);
	struct srnic_held held = { .dev = c->dev };
	enum core_region_verdict before, after;
	bool by_copy, by_pause;

	before = put_held(c, &held, stag, c->mr->base->iova, 1);
	WRITE_ONCE(c->mr->mr->state, SRNIC_MR_INVALID);
	after = put_held(c, &held, stag, c->mr->base->iova, 1);
	by_copy = !held.mr;
	WRITE_ONCE(c->mr->mr->state, SRNIC_MR_VALID);
	put_held(c, &held, stag, c->mr->base->iova, 1);
	WRITE_ONCE(c->mr->mr->state, SRNIC_MR_INVALID);
	srnic_held_pause(&held);
	by_pause = !held.mr;
	srnic_held_drop(&held);
	WRITE_ONCE(c->mr->mr->state, SRNIC_MR_VALID);
	KUNIT_EXPECT_EQ(test, before, CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, after, CORE_REGION_INVALID);
	KUNIT_EXPECT_TRUE(test, by_copy);
	KUNIT_EXPECT_TRUE(test, by_pause);
}

static void nothing_is_held_for_long(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, WRITES), i;
	struct srnic_held held = { .dev = c->dev };
	enum core_region_verdict good;

	good = put_held(c, &held, stag, c->mr->base->iova, 1);
	for (i = 0; held.mr && i < 1000; i++)
		srnic_held_pause(&held);
	srnic_held_drop(&held);
	KUNIT_EXPECT_EQ(test, good, CORE_REGION_OK);
	KUNIT_EXPECT_GT(test, i, 10);
	KUNIT_EXPECT_LT(test, i, 1000);
}

/* Copies from all memory count, however long they are. */
static void nothing_is_held_through_many_copies_by_the_local_key(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, WRITES), i;
	struct srnic_held held = { .dev = c->dev };
	const struct srnic_region_access access = {
		.stag = SRNIC_LOCAL_DMA_LKEY, .to = (uintptr_t)c->mr->page[0], .kernel = true,
	};
	u8 *octets = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
	enum core_region_verdict good;
	bool dropped;

	KUNIT_ASSERT_NOT_NULL(test, octets);
	good = put_held(c, &held, stag, c->mr->base->iova, 1);
	for (i = 0; held.mr && i < SRNIC_HELD_MAX; i++)
		srnic_region_read(&held, &access, octets, PAGE_SIZE);
	srnic_held_drop(&held);
	KUNIT_EXPECT_EQ(test, good, CORE_REGION_OK);
	KUNIT_EXPECT_LE(test, i, SRNIC_HELD_MAX / PAGE_SIZE);
	put_held(c, &held, stag, c->mr->base->iova, 1);
	srnic_held_pause_for(&held, U32_MAX);
	dropped = !held.mr;
	srnic_held_drop(&held);
	KUNIT_EXPECT_TRUE(test, dropped);
}

static void invalidation_returns_after_the_last_copy(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL);
	struct holder holder;

	hold(&holder, c->mr);
	KUNIT_EXPECT_EQ(test, invalidate(c, stag, false), CORE_REGION_OK);
	expect_over(test, &holder, false);
}

static void invalidation_by_a_peer_returns_after_the_last_copy(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL);
	struct holder holder;

	hold(&holder, c->mr);
	KUNIT_EXPECT_EQ(test, invalidate(c, stag, true), CORE_REGION_OK);
	expect_over(test, &holder, false);
}

static void mapping_anew_returns_after_the_last_copy(struct kunit *test)
{
	struct context *c = test->priv;
	struct holder holder;

	srnic_test_reg(test, c->mr, ALL);
	hold(&holder, c->mr);
	srnic_test_map(test, c->mr, LENGTH);
	expect_over(test, &holder, false);
}

static void deregistration_returns_after_the_last_copy(struct kunit *test)
{
	struct context *c = test->priv;
	struct holder holder;

	srnic_test_reg(test, c->mr, ALL);
	hold(&holder, c->mr);
	srnic_test_dereg(test, c->mr);
	expect_over(test, &holder, true);
}

struct racer {
	struct context *c;
	u32 stag;
	bool landed;
};

/* Holds the region over several writes, as a stream does. */
static int race(void *arg)
{
	struct racer *racer = arg;
	struct context *c = racer->c;
	struct srnic_held held = { .dev = c->dev };
	u32 i;

	while (!kthread_should_stop()) {
		for (i = 0; i < 16; i++)
			if (put_held(c, &held, READ_ONCE(racer->stag), c->mr->base->iova,
				     LENGTH) == CORE_REGION_OK)
				WRITE_ONCE(racer->landed, true);
		srnic_held_drop(&held);
		cond_resched();
	}
	return 0;
}

static void revoke(struct kunit *test, struct context *c, u32 stag, u32 round)
{
	if (round % 3 == 2)
		srnic_test_map(test, c->mr, LENGTH);
	else
		KUNIT_EXPECT_EQ(test, invalidate(c, stag, round % 3), CORE_REGION_OK);
}

static void nothing_lands_after_revocation_while_a_peer_keeps_writing(struct kunit *test)
{
	struct context *c = test->priv;
	struct racer racer = { .c = c };
	struct task_struct *task;
	u32 round, page, damage = 0;

	memset(c->buf, 0xaa, LENGTH);
	task = kthread_run(race, &racer, "srnic-kunit");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	for (round = 0; round < 100; round++) {
		u32 stag = srnic_test_reg(test, c->mr, ALL);

		WRITE_ONCE(racer.stag, stag);
		if (round == 0)
			KUNIT_EXPECT_TRUE(test, srnic_test_eventually(READ_ONCE(racer.landed)));
		usleep_range(100, 300);
		revoke(test, c, stag, round);
		for (page = 0; page < SRNIC_TEST_PAGES; page++)
			memset(c->mr->page[page], round, PAGE_SIZE);
		usleep_range(50, 100);
		for (page = 0; page < SRNIC_TEST_PAGES; page++)
			damage += !!memchr_inv(c->mr->page[page], round, PAGE_SIZE);
	}
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, damage, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(what_is_held_serves_its_own_stag_only),
	KUNIT_CASE(every_copy_checks_what_is_held),
	KUNIT_CASE(what_is_held_is_given_up_when_it_must_go),
	KUNIT_CASE(nothing_is_held_for_long),
	KUNIT_CASE(nothing_is_held_through_many_copies_by_the_local_key),
	KUNIT_CASE(invalidation_returns_after_the_last_copy),
	KUNIT_CASE(invalidation_by_a_peer_returns_after_the_last_copy),
	KUNIT_CASE(mapping_anew_returns_after_the_last_copy),
	KUNIT_CASE(deregistration_returns_after_the_last_copy),
	KUNIT_CASE(nothing_lands_after_revocation_while_a_peer_keeps_writing),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_revoke", .init = init, .test_cases = cases };

kunit_test_suite(suite);
