// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory windows: which requests bind one, what it grants and to whom, and that nothing is placed
 * into it after it was bound anew, invalidated or deallocated.
 */
#include <linux/hrtimer.h>

#include "compat/compat.h"
#include "memory/registration.h"
#include "memory/window.h"
#include "mr.h"
#include "stream/transmit/output.h"

#define PAGES	4
#define BASE	0x7f0000000064ULL	/* where the region begins, in its first page */
#define BYTES	(PAGES * PAGE_SIZE - offset_in_page(BASE))
#define ALL_REMOTE							\
	(CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ | CORE_ACCESS_REMOTE_ATOMIC)
#define QPN	SRNIC_TEST_QPN

/* A region as a program's, but of the kernel's pages; and a window of each type. */
struct windows {
	struct context c;
	struct srnic_mr *region;
	struct srnic_mw *mw[3];	/* by type */
};

static void free_region(void *mr)
{
	srnic_mr_free(mr);
}

static void free_window(void *mw)
{
	srnic_dealloc_mw(mw);
}

static void free_one(void *page)
{
	free_page((unsigned long)page);
}

static struct srnic_mr *region_of(struct kunit *test, struct ib_pd *pd, u32 access)
{
	struct srnic_mr *mr = srnic_mr_alloc(pd);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_region, mr), 0);
	mr->pieces = kvcalloc(PAGES, sizeof(*mr->pieces), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mr->pieces);
	for (u32 i = 0; i < PAGES; i++) {
		mr->pieces[i] = (void *)get_zeroed_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, mr->pieces[i]);
		KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_one, mr->pieces[i]), 0);
	}
	mr->num_pieces = PAGES;
	mr->iova = BASE;
	mr->offset = offset_in_page(BASE);
	mr->length = BYTES;
	mr->access = access;
	srnic_mr_enable(mr);
	srnic_region_begin_binding(mr);
	return mr;
}

static struct srnic_mw *window_of(struct kunit *test, struct ib_pd *pd, enum ib_mw_type type)
{
	struct srnic_mw *mw = kunit_kzalloc(test, sizeof(*mw), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mw);
	mw->base.device = pd->device;
	mw->base.pd = pd;
	mw->base.type = type;
	KUNIT_ASSERT_EQ(test, srnic_alloc_mw(&mw->base, NULL), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_window, &mw->base), 0);
	return mw;
}

static int init_windows(struct kunit *test)
{
	struct windows *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	int ret = init(test);

	KUNIT_ASSERT_NOT_NULL(test, w);
	KUNIT_ASSERT_EQ(test, ret, 0);
	w->c = *(struct context *)test->priv;
	test->priv = w;
	w->region = region_of(test, w->c.pd, CORE_ACCESS_LOCAL_WRITE | CORE_ACCESS_MW_BIND);
	w->mw[1] = window_of(test, w->c.pd, IB_MW_TYPE_1);
	w->mw[2] = window_of(test, w->c.pd, IB_MW_TYPE_2);
	return 0;
}

/* A request for a part in the middle, across pages, under the key 7. */
static struct core_bind request(struct windows *w, u32 type)
{
	return (struct core_bind) {
		.to = BASE + 1000,
		.length = 2 * PAGE_SIZE,
		.stag = (w->mw[type]->base.rkey & ~0xffU) | 7,
		.region = w->region->stag,
		.access = ALL_REMOTE,
		.requester = { .pd = w->c.id, .qpn = QPN },
	};
}

static int bind(struct windows *w, const struct core_bind *how)
{
	return srnic_window_bind(w->c.dev, how);
}

static enum core_region_verdict put(struct windows *w, u32 stag, u32 qpn, u32 rights, u64 to,
				    u32 len)
{
	const struct srnic_region_access access = {
		.to = to, .stag = stag, .requester = { w->c.id, qpn }, .rights = rights,
	};
	struct srnic_held held = { .dev = w->c.dev };
	enum core_region_verdict verdict = srnic_region_write(&held, &access, w->c.buf, len);

	srnic_held_drop(&held);
	return verdict;
}

static enum core_region_verdict write(struct windows *w, u32 stag, u64 to, u32 len)
{
	return put(w, stag, QPN, CORE_ACCESS_REMOTE_WRITE, to, len);
}

static u8 byte_of(struct windows *w, u64 to)
{
	u64 at = to - BASE + offset_in_page(BASE);

	return ((u8 *)w->region->pieces[at / PAGE_SIZE])[at % PAGE_SIZE];
}

/* Are exactly these bytes of the region 0xaa? */
static bool only_here(struct windows *w, u64 to, u64 len)
{
	for (u64 at = BASE; at < BASE + BYTES; at++)
		if (byte_of(w, at) != (at >= to && at < to + len ? 0xaa : 0))
			return false;
	return true;
}

/* ---- binding, and what it grants ---- */

static void a_window_grants_its_part_of_the_region(struct kunit *test)
{
	struct windows *w = test->priv;

	memset(w->c.buf, 0xaa, LENGTH);
	for (u32 type = 1; type <= 2; type++) {
		struct core_bind how = request(w, type);

		KUNIT_EXPECT_EQ(test, write(w, how.stag, how.to, 1), CORE_REGION_INVALID);
		KUNIT_ASSERT_EQ(test, bind(w, &how), 0);
		KUNIT_EXPECT_EQ(test, write(w, how.stag, how.to - 1, 1), CORE_REGION_BOUNDS);
		KUNIT_EXPECT_EQ(test, write(w, how.stag, how.to, how.length + 1),
				CORE_REGION_BOUNDS);
		KUNIT_EXPECT_EQ(test, write(w, how.stag, how.to, how.length), CORE_REGION_OK);
		KUNIT_EXPECT_TRUE(test, only_here(w, how.to, how.length));
		KUNIT_EXPECT_EQ(test, write(w, w->region->stag, how.to, 1), CORE_REGION_ACCESS);
	}
}

static void a_zero_based_window_counts_from_zero(struct kunit *test)
{
	struct windows *w = test->priv;
	struct core_bind how = request(w, 2);

	how.access |= CORE_ACCESS_ZERO_BASED;
	memset(w->c.buf, 0xaa, LENGTH);
	KUNIT_ASSERT_EQ(test, bind(w, &how), 0);
	KUNIT_EXPECT_EQ(test, write(w, how.stag, how.to, 1), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write(w, how.stag, 0, how.length + 1), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write(w, how.stag, 0, how.length), CORE_REGION_OK);
	KUNIT_EXPECT_TRUE(test, only_here(w, how.to, how.length));
}

static void type_2_is_for_its_qp(struct kunit *test)
{
	struct windows *w = test->priv;
	struct core_bind one = request(w, 1), two = request(w, 2);
	const u32 rights = CORE_ACCESS_REMOTE_WRITE;

	KUNIT_ASSERT_EQ(test, bind(w, &one), 0);
	KUNIT_ASSERT_EQ(test, bind(w, &two), 0);
	KUNIT_EXPECT_EQ(test, put(w, one.stag, QPN + 1, rights, one.to, 1), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, put(w, two.stag, QPN + 1, rights, two.to, 1), CORE_REGION_FOREIGN);
	KUNIT_EXPECT_EQ(test, put(w, two.stag, QPN, rights, two.to, 1), CORE_REGION_OK);
}

static void a_window_is_no_key_for_local_memory(struct kunit *test)
{
	struct windows *w = test->priv;
	struct core_bind how = request(w, 2);

	how.access |= CORE_ACCESS_LOCAL_WRITE;
	KUNIT_ASSERT_EQ(test, bind(w, &how), 0);
	KUNIT_EXPECT_EQ(test, put(w, how.stag, QPN, CORE_ACCESS_LOCAL_WRITE, how.to, 1),
			CORE_REGION_ACCESS);
	KUNIT_EXPECT_EQ(test, put(w, how.stag, QPN, 0, how.to, 1), CORE_REGION_ACCESS);
}

static void a_window_has_only_the_rights_it_was_bound_with(struct kunit *test)
{
	struct windows *w = test->priv;
	struct core_bind how = request(w, 2);

	how.access = CORE_ACCESS_REMOTE_READ;
	KUNIT_ASSERT_EQ(test, bind(w, &how), 0);
	KUNIT_EXPECT_EQ(test, write(w, how.stag, how.to, 1), CORE_REGION_ACCESS);
}

/* Fields of the request that lead nowhere; the core's tests have the rules of the others. */
static void what_there_is_not_is_not_bound(struct kunit *test)
{
	struct windows *w = test->priv;
	const struct core_bind good = request(w, 2);
	const u32 fast = srnic_test_reg(test, w->c.mr, ALL);
	const u32 wild[] = { 0, 1, 255, 256, ~0U, fast, w->region->stag };
	struct core_bind how;

	for (u32 i = 0; i < ARRAY_SIZE(wild); i++) {
		how = good;
		how.stag = wild[i];
		KUNIT_EXPECT_EQ(test, bind(w, &how), -EINVAL);
		how = good;
		how.region = wild[i];
		KUNIT_EXPECT_EQ(test, bind(w, &how), wild[i] == good.region ? 0 : -EINVAL);
	}
	KUNIT_EXPECT_EQ(test, invalidate(&w->c, good.stag, false), CORE_REGION_OK);
	how = good;
	how.region = w->mw[1]->base.rkey;
	KUNIT_EXPECT_EQ(test, bind(w, &how), -EINVAL);
	how.region = w->region->stag ^ 1;
	KUNIT_EXPECT_EQ(test, bind(w, &how), -EINVAL);
	how = good;
	how.requester.pd++;
	KUNIT_EXPECT_EQ(test, bind(w, &how), -EINVAL);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->region->bindable), 0);
}

static void a_region_without_the_right_has_no_windows(struct kunit *test)
{
	struct windows *w = test->priv;
	struct srnic_mr *without = region_of(test, w->c.pd, WRITES);
	struct core_bind how = request(w, 2);

	how.region = without->stag;
	KUNIT_EXPECT_EQ(test, bind(w, &how), -EINVAL);
	KUNIT_EXPECT_EQ(test, atomic_read(&without->bindable), -1);
}

/* ---- binding anew, and unbinding ---- */

static void type_1_is_bound_anew_under_another_key(struct kunit *test)
{
	struct windows *w = test->priv;
	struct core_bind how = request(w, 1), next = how;

	next.stag = how.stag + 1;
	next.to += 64;
	KUNIT_ASSERT_EQ(test, bind(w, &how), 0);
	KUNIT_ASSERT_EQ(test, bind(w, &next), 0);
	KUNIT_EXPECT_EQ(test, write(w, how.stag, how.to, 1), CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test, write(w, next.stag, how.to, 1), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write(w, next.stag, next.to, 1), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->region->bindable), 1);
}

static void type_1_is_unbound_by_a_length_of_zero(struct kunit *test)
{
	struct windows *w = test->priv;
	struct core_bind how = request(w, 1), none = how;

	none.length = 0;
	none.region = 0;
	none.stag++;
	KUNIT_ASSERT_EQ(test, bind(w, &how), 0);
	KUNIT_ASSERT_EQ(test, bind(w, &none), 0);
	KUNIT_EXPECT_EQ(test, write(w, how.stag, how.to, 1), CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test, write(w, none.stag, how.to, 1), CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->region->bindable), 0);
}

static void a_bind_that_fails_changes_nothing(struct kunit *test)
{
	struct windows *w = test->priv;
	struct core_bind how = request(w, 1), bad = how;

	bad.stag++;
	bad.length = BYTES;
	KUNIT_ASSERT_EQ(test, bind(w, &how), 0);
	KUNIT_EXPECT_EQ(test, bind(w, &bad), -EINVAL);
	KUNIT_EXPECT_EQ(test, write(w, how.stag, how.to, 1), CORE_REGION_OK);
}

static void type_2_is_bound_once_until_it_is_invalidated(struct kunit *test)
{
	struct windows *w = test->priv;
	struct core_bind how = request(w, 2), next = how;

	next.stag++;
	KUNIT_ASSERT_EQ(test, bind(w, &how), 0);
	KUNIT_EXPECT_EQ(test, bind(w, &next), -EINVAL);
	KUNIT_EXPECT_EQ(test, invalidate(&w->c, next.stag, false), CORE_REGION_INVALID);
	KUNIT_ASSERT_EQ(test, invalidate(&w->c, how.stag, false), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, write(w, how.stag, how.to, 1), CORE_REGION_INVALID);
	KUNIT_ASSERT_EQ(test, bind(w, &next), 0);
	KUNIT_EXPECT_EQ(test, write(w, next.stag, next.to, 1), CORE_REGION_OK);
}

/* RFC 5040 5.3, 8.1.1 rule 7 */
static void only_the_peer_of_its_qp_invalidates_a_window(struct kunit *test)
{
	struct windows *w = test->priv;
	struct core_bind how = request(w, 2), one = request(w, 1);

	KUNIT_EXPECT_EQ(test, invalidate(&w->c, w->mw[2]->base.rkey, true), CORE_REGION_FOREIGN);
	KUNIT_ASSERT_EQ(test, bind(w, &how), 0);
	KUNIT_ASSERT_EQ(test, bind(w, &one), 0);
	KUNIT_EXPECT_EQ(test, invalidate_by(&w->c, how.stag, true, w->c.id, QPN + 1),
			CORE_REGION_FOREIGN);
	KUNIT_EXPECT_EQ(test, invalidate_by(&w->c, how.stag, true, w->c.id + 1, QPN),
			CORE_REGION_FOREIGN);
	KUNIT_EXPECT_EQ(test, invalidate(&w->c, one.stag, true), CORE_REGION_ACCESS);
	KUNIT_EXPECT_EQ(test, invalidate(&w->c, one.stag, false), CORE_REGION_ACCESS);
	KUNIT_EXPECT_EQ(test, invalidate(&w->c, how.stag, true), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, write(w, how.stag, how.to, 1), CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->region->bindable), 1);
}

/* One that is not bound is nobody's: there is nothing to do. */
static void only_its_qp_invalidates_a_window_that_is_bound(struct kunit *test)
{
	struct windows *w = test->priv;
	struct core_bind how = request(w, 2);

	KUNIT_EXPECT_EQ(test, invalidate(&w->c, w->mw[2]->base.rkey, false), CORE_REGION_OK);
	KUNIT_ASSERT_EQ(test, bind(w, &how), 0);
	KUNIT_EXPECT_EQ(test, invalidate_by(&w->c, how.stag, false, w->c.id, QPN + 1),
			CORE_REGION_FOREIGN);
	KUNIT_EXPECT_EQ(test, write(w, how.stag, how.to, 1), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, invalidate(&w->c, how.stag, false), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, invalidate_by(&w->c, how.stag, false, w->c.id, QPN + 1),
			CORE_REGION_OK);
}

/* As the engine has it done. Requests that send nothing have to end its run as well. */
static void a_request_is_its_qps_and_counts_for_its_run(struct kunit *test)
{
	struct windows *w = test->priv;
	struct srnic_test_cq *cq = srnic_test_cq(test, w->c.dev, 8);
	struct srnic_qp *qp = srnic_test_qp(test, w->c.pd, cq, NULL, IB_SIGNAL_REQ_WR);
	struct srnic_qp *other = srnic_test_qp(test, w->c.pd, cq, NULL, IB_SIGNAL_REQ_WR);
	const struct core_bind how = request(w, 2);
	const struct srnic_send_wqe wqe = {
		.remote_addr = how.to,
		.rkey = how.stag,
		.imm_inv = how.region,
		.arg = { how.length, how.access },
	};
	const u32 before = qp->tx.spent;

	KUNIT_EXPECT_TRUE(test, core_host_bind(qp, &wqe));
	KUNIT_EXPECT_EQ(test, qp->tx.spent - before, SRNIC_FPDU_COST);
	KUNIT_EXPECT_FALSE(test, core_host_local_invalidate(other, how.stag));
	KUNIT_EXPECT_TRUE(test, core_host_local_invalidate(qp, how.stag));
	KUNIT_EXPECT_EQ(test, qp->tx.spent - before, 2 * SRNIC_FPDU_COST);
}

static void a_region_with_windows_stays(struct kunit *test)
{
	struct windows *w = test->priv;
	struct core_bind how = request(w, 2);

	KUNIT_ASSERT_EQ(test, bind(w, &how), 0);
	KUNIT_EXPECT_EQ(test, srnic_dereg_mr(&w->region->base, NULL), -EBUSY);
	KUNIT_EXPECT_EQ(test, srnic_region_end_binding(w->region), -EBUSY);
	KUNIT_EXPECT_EQ(test, write(w, how.stag, how.to, 1), CORE_REGION_OK);
	KUNIT_ASSERT_EQ(test, invalidate(&w->c, how.stag, false), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, srnic_region_end_binding(w->region), 0);
	how.stag++;
	KUNIT_EXPECT_EQ(test, bind(w, &how), -EINVAL);
}

static void a_deallocated_window_gives_up_its_region(struct kunit *test)
{
	struct windows *w = test->priv;
	struct core_bind how = request(w, 2);

	KUNIT_ASSERT_EQ(test, bind(w, &how), 0);
	kunit_release_action(test, free_window, &w->mw[2]->base);
	KUNIT_EXPECT_EQ(test, write(w, how.stag, how.to, 1), CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test, bind(w, &how), -EINVAL);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->region->bindable), 0);
}

static void no_more_windows_than_the_device_says(struct kunit *test)
{
	struct windows *w = test->priv;
	int num = atomic_xchg(&w->c.dev->num_mws, SRNIC_MAX_MW);

	KUNIT_EXPECT_EQ(test, PTR_ERR(srnic_window_alloc(w->c.pd, IB_MW_TYPE_1)), -ENOSPC);
	KUNIT_EXPECT_EQ(test, atomic_read(&w->c.dev->num_mws), SRNIC_MAX_MW);
	atomic_set(&w->c.dev->num_mws, num);
}

/* ---- the end of a grant: a timer interrupt plays the other CPU that copies ---- */

struct copier {
	struct hrtimer timer;
	struct srnic_mr *window;
	bool done;
};

static enum hrtimer_restart drop_window(struct hrtimer *timer)
{
	struct copier *copier = container_of(timer, struct copier, timer);

	WRITE_ONCE(copier->done, true);
	refcount_dec(&copier->window->users);
	return HRTIMER_NORESTART;
}

/* Holds the window now; drops it after 20 ms. */
static void hold_window(struct copier *copier, struct srnic_mw *mw)
{
	*copier = (struct copier) { .window = mw->entry };
	refcount_inc(&mw->entry->users);
	srnic_compat_hrtimer_on_stack(&copier->timer, drop_window);
	hrtimer_start(&copier->timer, ms_to_ktime(20), HRTIMER_MODE_REL);
}

static void expect_waited(struct kunit *test, struct copier *copier)
{
	bool done = READ_ONCE(copier->done);

	if (hrtimer_cancel(&copier->timer))
		refcount_dec(&copier->window->users);
	destroy_hrtimer_on_stack(&copier->timer);
	KUNIT_EXPECT_TRUE_MSG(test, done, "it did not wait for the holder");
}

static void binding_anew_returns_after_the_last_copy(struct kunit *test)
{
	struct windows *w = test->priv;
	struct core_bind how = request(w, 1);
	struct copier copier;

	KUNIT_ASSERT_EQ(test, bind(w, &how), 0);
	how.stag++;
	hold_window(&copier, w->mw[1]);
	KUNIT_EXPECT_EQ(test, bind(w, &how), 0);
	expect_waited(test, &copier);
}

static void invalidating_a_window_returns_after_the_last_copy(struct kunit *test)
{
	struct windows *w = test->priv;

	for (u32 peer = 0; peer <= 1; peer++) {
		struct core_bind how = request(w, 2);
		struct copier copier;

		KUNIT_ASSERT_EQ(test, bind(w, &how), 0);
		hold_window(&copier, w->mw[2]);
		KUNIT_EXPECT_EQ(test, invalidate(&w->c, how.stag, peer), CORE_REGION_OK);
		expect_waited(test, &copier);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_window_grants_its_part_of_the_region),
	KUNIT_CASE(a_zero_based_window_counts_from_zero),
	KUNIT_CASE(type_2_is_for_its_qp),
	KUNIT_CASE(a_window_is_no_key_for_local_memory),
	KUNIT_CASE(a_window_has_only_the_rights_it_was_bound_with),
	KUNIT_CASE(what_there_is_not_is_not_bound),
	KUNIT_CASE(a_region_without_the_right_has_no_windows),
	KUNIT_CASE(type_1_is_bound_anew_under_another_key),
	KUNIT_CASE(type_1_is_unbound_by_a_length_of_zero),
	KUNIT_CASE(a_bind_that_fails_changes_nothing),
	KUNIT_CASE(type_2_is_bound_once_until_it_is_invalidated),
	KUNIT_CASE(only_the_peer_of_its_qp_invalidates_a_window),
	KUNIT_CASE(only_its_qp_invalidates_a_window_that_is_bound),
	KUNIT_CASE(a_request_is_its_qps_and_counts_for_its_run),
	KUNIT_CASE(a_region_with_windows_stays),
	KUNIT_CASE(a_deallocated_window_gives_up_its_region),
	KUNIT_CASE(no_more_windows_than_the_device_says),
	KUNIT_CASE(binding_anew_returns_after_the_last_copy),
	KUNIT_CASE(invalidating_a_window_returns_after_the_last_copy),
	{ }
};

static struct kunit_suite suite = {
	.name = "srnic_window", .init = init_windows, .test_cases = cases
};

kunit_test_suite(suite);
