// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Batches: where FPDUs begin in their pages, which a QP keeps for use again, and gives back when it
 * is idle.
 */
#include "fixture.h"
#include "stream/transmit/batch.h"

static void put(struct kunit *test, struct srnic_batch *batch, u32 len)
{
	KUNIT_ASSERT_EQ(test, srnic_batch_reserve(batch, len, GFP_KERNEL), 0);
	while (len) {
		u32 n = len;
		void *at = srnic_batch_room(batch, &n);

		memset(at, 0x5a, n);
		srnic_batch_commit(batch, n);
		len -= n;
	}
}

static void fragments_have_32_kib_or_a_page(struct kunit *test)
{
	struct srnic_batch *batch = kunit_kzalloc(test, sizeof(*batch), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, batch);
	srnic_batch_init(batch, NULL);
	put(test, batch, 100);
	KUNIT_EXPECT_EQ(test, batch->frag.size, max_t(u32, 32 * 1024, PAGE_SIZE));
	srnic_batch_release(batch);
}

static void an_idle_qp_gives_its_pages_back(struct kunit *test)
{
	struct srnic_batch *batch = kunit_kzalloc(test, sizeof(*batch), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, batch);
	srnic_batch_init(batch, NULL);
	put(test, batch, 100);
	KUNIT_EXPECT_GT(test, batch->num_pool, 0);
	KUNIT_EXPECT_FALSE(test, srnic_batch_trim(batch));
	KUNIT_EXPECT_GT(test, batch->num_pool, 0);
	KUNIT_EXPECT_FALSE(test, srnic_batch_trim(batch));
	KUNIT_EXPECT_EQ(test, batch->num_pool, 0);
	KUNIT_EXPECT_NULL(test, batch->frag.page);
	KUNIT_EXPECT_EQ(test, batch->num_spare, 0);
	KUNIT_EXPECT_EQ(test, batch->len, 100);

	put(test, batch, 64 * 1024);
	KUNIT_EXPECT_GT(test, batch->num_pool, 0);
	KUNIT_EXPECT_EQ(test, batch->len, 100 + 64 * 1024);
	srnic_batch_truncate(batch, 0);
	KUNIT_EXPECT_FALSE(test, srnic_batch_trim(batch));
	KUNIT_EXPECT_TRUE(test, srnic_batch_trim(batch));
	KUNIT_EXPECT_EQ(test, batch->num_pool, 0);

	put(test, batch, 64 * 1024);
	srnic_batch_release(batch);
	KUNIT_EXPECT_EQ(test, batch->num_pool, 0);
	KUNIT_EXPECT_EQ(test, batch->len, 0);
}

/* RFC 5044 4.1, RFC 5041 4.2: 16 octets of headers. */
static void payload_of_a_long_fpdu_in_an_empty_batch_begins_a_cache_line(struct kunit *test)
{
	static const u32 before[] = { 100, 20, 32 * 1024, 64 * 1024 + 20, 1, 4096 };
	struct srnic_batch *batch = kunit_kzalloc(test, sizeof(*batch), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, batch);
	srnic_batch_init(batch, NULL);
	for (i = 0; i < ARRAY_SIZE(before); i++) {
		put(test, batch, before[i]);
		srnic_batch_truncate(batch, 0);
		put(test, batch, 64 * 1024);
		KUNIT_EXPECT_EQ(test, (batch->vec[0].bv_offset + 16) % 64, 0);
		srnic_batch_truncate(batch, 0);
	}
	srnic_batch_release(batch);
}

/* ---- borrowed bytes ---- */

#define LENT	(6 * PAGE_SIZE)

/* A batch, and bytes that it borrows. */
struct lending {
	struct srnic_batch batch;
	u8 *lent;	/* LENT */
	u8 expected[2 * LENT];
	u32 len;	/* of @expected */
};

static void free_lent(void *lent)
{
	free_pages((unsigned long)lent, get_order(LENT));
}

static struct lending *lend(struct kunit *test)
{
	struct lending *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, l);
	srnic_batch_init(&l->batch, NULL);
	l->lent = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_COMP, get_order(LENT));
	KUNIT_ASSERT_NOT_NULL(test, l->lent);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_lent, l->lent), 0);
	for (i = 0; i < LENT; i++)
		l->lent[i] = i * 3 + (i >> 8);
	return l;
}

static void own_bytes(struct kunit *test, struct lending *l, u32 len)
{
	put(test, &l->batch, len);
	memset(l->expected + l->len, 0x5a, len);
	l->len += len;
}

static void borrow_bytes(struct kunit *test, struct lending *l, u32 from, u32 len)
{
	const struct bio_vec bytes = {
		.bv_page = virt_to_page(l->lent + from),
		.bv_offset = offset_in_page(l->lent + from),
		.bv_len = len,
	};

	KUNIT_ASSERT_EQ(test, srnic_batch_reserve(&l->batch, len, GFP_KERNEL), 0);
	srnic_batch_borrow(&l->batch, &bytes);
	memcpy(l->expected + l->len, l->lent + from, len);
	l->len += len;
}

static int users(const struct lending *l)
{
	return page_ref_count(virt_to_head_page(l->lent));
}

/* The batch has the bytes [from, l->len), in pieces of its own pages only if `own`. */
static void expect_bytes(struct kunit *test, struct lending *l, u32 from, bool own)
{
	const struct srnic_batch *batch = &l->batch;
	u32 i, bad = 0;

	KUNIT_ASSERT_EQ(test, batch->len, l->len - from);
	for (i = batch->first; i < batch->num; i++) {
		const struct bio_vec *vec = &batch->vec[i];

		bad += memcmp(page_address(vec->bv_page) + vec->bv_offset, l->expected + from,
			      vec->bv_len) != 0;
		bad += own && compound_head(vec->bv_page) == virt_to_head_page(l->lent);
		from += vec->bv_len;
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, from, l->len);
}

static void mix(struct kunit *test, struct lending *l)
{
	own_bytes(test, l, 18);
	borrow_bytes(test, l, 10, PAGE_SIZE - 10);
	borrow_bytes(test, l, PAGE_SIZE, PAGE_SIZE);
	own_bytes(test, l, 7000);
	borrow_bytes(test, l, 3 * PAGE_SIZE + 1, 1);
	own_bytes(test, l, 22);
}

static void borrowed_bytes_stay_in_their_place(struct kunit *test)
{
	struct lending *l = lend(test);
	int before = users(l);

	mix(test, l);
	KUNIT_EXPECT_EQ(test, users(l), before + 3);
	KUNIT_EXPECT_EQ(test, l->batch.num_borrowed, 2 * PAGE_SIZE - 10 + 1);
	expect_bytes(test, l, 0, false);
	l->lent[10]++;
	l->expected[18]++;
	expect_bytes(test, l, 0, false);
	srnic_batch_release(&l->batch);
	KUNIT_EXPECT_EQ(test, users(l), before);
}

static void bytes_that_were_copied_are_the_owners_to_change(struct kunit *test)
{
	struct lending *l = lend(test);
	int before = users(l);

	mix(test, l);
	KUNIT_EXPECT_EQ(test, srnic_batch_own(&l->batch), 2 * PAGE_SIZE - 10 + 1);
	KUNIT_EXPECT_EQ(test, users(l), before);
	KUNIT_EXPECT_EQ(test, l->batch.num_borrowed, 0);
	memset(l->lent, 0, LENT);
	expect_bytes(test, l, 0, true);
	KUNIT_EXPECT_EQ(test, srnic_batch_own(&l->batch), 0);
	own_bytes(test, l, 100);
	expect_bytes(test, l, 0, true);
	srnic_batch_release(&l->batch);
}

static void what_has_gone_is_copied_no_more(struct kunit *test)
{
	const u32 gone[] = { 1, 18, 19, 17 + PAGE_SIZE, 8 + PAGE_SIZE, 100 + PAGE_SIZE };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(gone); i++) {
		struct lending *l = lend(test);
		int before = users(l);

		mix(test, l);
		srnic_batch_taken(&l->batch, gone[i]);
		expect_bytes(test, l, gone[i], false);
		srnic_batch_own(&l->batch);
		KUNIT_EXPECT_EQ(test, users(l), before);
		expect_bytes(test, l, gone[i], true);
		srnic_batch_release(&l->batch);
	}
}

static void a_batch_may_end_in_borrowed_bytes(struct kunit *test)
{
	u32 keep;

	for (keep = 0; keep < 2 * PAGE_SIZE + 7100; keep += 997) {
		struct lending *l = lend(test);
		int before = users(l);

		mix(test, l);
		srnic_batch_truncate(&l->batch, keep);
		l->len = keep;
		expect_bytes(test, l, 0, false);
		srnic_batch_own(&l->batch);
		KUNIT_EXPECT_EQ(test, users(l), before);
		expect_bytes(test, l, 0, true);
		srnic_batch_release(&l->batch);
	}
}

/* Each piece in another place, so that none continues the last one. */
static void as_much_is_borrowed_as_can_be_owned(struct kunit *test)
{
	struct lending *l = lend(test);
	u32 n;

	own_bytes(test, l, 18);
	for (n = 0; srnic_batch_may_borrow(&l->batch); n++)
		borrow_bytes(test, l, (n % 6) * PAGE_SIZE + n, 1000);
	KUNIT_EXPECT_GT(test, n, 20);
	own_bytes(test, l, 1000);
	KUNIT_EXPECT_EQ(test, srnic_batch_own(&l->batch), 1000 * n);
	KUNIT_EXPECT_LE(test, l->batch.num, SRNIC_BATCH_VECS);
	expect_bytes(test, l, 0, true);
	srnic_batch_release(&l->batch);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(borrowed_bytes_stay_in_their_place),
	KUNIT_CASE(bytes_that_were_copied_are_the_owners_to_change),
	KUNIT_CASE(what_has_gone_is_copied_no_more),
	KUNIT_CASE(a_batch_may_end_in_borrowed_bytes),
	KUNIT_CASE(as_much_is_borrowed_as_can_be_owned),
	KUNIT_CASE(fragments_have_32_kib_or_a_page),
	KUNIT_CASE(payload_of_a_long_fpdu_in_an_empty_batch_begins_a_cache_line),
	KUNIT_CASE(an_idle_qp_gives_its_pages_back),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_batch", .test_cases = cases };

kunit_test_suite(suite);
