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

static struct kunit_case cases[] = {
	KUNIT_CASE(fragments_have_32_kib_or_a_page),
	KUNIT_CASE(payload_of_a_long_fpdu_in_an_empty_batch_begins_a_cache_line),
	KUNIT_CASE(an_idle_qp_gives_its_pages_back),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_batch", .test_cases = cases };

kunit_test_suite(suite);
