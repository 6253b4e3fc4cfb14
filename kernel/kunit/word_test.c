// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The words of a region that a peer stores at once (Documentation/ib.rst, "Flush and Atomic Write",
 * whose rules are named by number): where they are in memory, and what the region must grant.
 */
#include "mr.h"

#define OFFSET	SRNIC_TEST_OFFSET

static const u8 octets[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

/* What was held is dropped. */
static enum core_region_verdict store_at(struct context *c, u32 stag, u64 to)
{
	const struct srnic_region_access access = {
		.to = to, .stag = stag, .requester.pd = c->id, .rights = CORE_ACCESS_REMOTE_WRITE,
	};
	struct srnic_held held = { .dev = c->dev };
	enum core_region_verdict verdict = srnic_region_atomic_write(&held, &access, octets);

	srnic_held_drop(&held);
	return verdict;
}

/* No page has an octet but these, if any. */
static bool holds_only(struct context *c, const u8 *word)
{
	static const u8 none[8];
	bool good = true;

	if (word) {
		good = !memcmp(word, octets, sizeof(octets));
		memcpy((u8 *)word, none, sizeof(none));
	}
	for (int i = 0; i < SRNIC_TEST_PAGES; i++)
		good = good && !memchr_inv(c->mr->page[i], 0, PAGE_SIZE);
	return good;
}

/* Of each page the last word and the first one; and those at both ends of the region. */
static void a_word_lands_where_it_is_addressed(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL);
	u64 base = c->mr->base->iova;

	for (u32 page = 1; page < SRNIC_TEST_PAGES; page++) {
		u64 to = base - OFFSET + page * PAGE_SIZE;

		KUNIT_EXPECT_EQ(test, store_at(c, stag, to), CORE_REGION_OK);
		KUNIT_EXPECT_TRUE(test, holds_only(c, c->mr->page[page]));
		KUNIT_EXPECT_EQ(test, store_at(c, stag, to - 8), CORE_REGION_OK);
		KUNIT_EXPECT_TRUE(test, holds_only(c, c->mr->page[page - 1] + PAGE_SIZE - 8));
	}
	KUNIT_EXPECT_EQ(test, store_at(c, stag, base + 4), CORE_REGION_OK);
	KUNIT_EXPECT_TRUE(test, holds_only(c, c->mr->page[0] + OFFSET + 4));
	KUNIT_EXPECT_EQ(test, store_at(c, stag, base + LENGTH - 8), CORE_REGION_OK);
	KUNIT_EXPECT_TRUE(test, holds_only(c, c->mr->page[SRNIC_TEST_PAGES - 1] + PAGE_SIZE - 8));
}

/* 112: in memory, whatever its TO is: the region begins at an odd half of a word. */
static void no_word_is_misaligned(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL);
	u64 base = c->mr->base->iova;

	for (u32 i = 0; i < 16; i++)
		if ((OFFSET + i) % 8)
			KUNIT_EXPECT_EQ(test, store_at(c, stag, base + i), CORE_REGION_ALIGNMENT);
	for (u32 i = 1; i < 8; i++)
		KUNIT_EXPECT_EQ(test, store_at(c, stag, base - OFFSET + PAGE_SIZE - i),
				CORE_REGION_ALIGNMENT);
	c->mr->mr->iova = 0x7f0000000000;	/* as of a program that chooses it */
	KUNIT_EXPECT_EQ(test, store_at(c, stag, 0x7f0000000000), CORE_REGION_ALIGNMENT);
	KUNIT_EXPECT_EQ(test, store_at(c, stag, 0x7f0000000008), CORE_REGION_ALIGNMENT);
	KUNIT_EXPECT_TRUE(test, holds_only(c, NULL));
}

/* 115 */
static void no_word_is_outside(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL);
	u64 base = c->mr->base->iova;

	KUNIT_EXPECT_EQ(test, store_at(c, stag, base - 4), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, store_at(c, stag, base - 1), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, store_at(c, stag, base + LENGTH), CORE_REGION_BOUNDS);
	for (u32 i = 1; i < 8; i++)
		KUNIT_EXPECT_EQ(test, store_at(c, stag, base + LENGTH - i), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, store_at(c, stag, 0), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, store_at(c, stag, ~0ULL - 6), CORE_REGION_WRAP);
	KUNIT_EXPECT_TRUE(test, holds_only(c, NULL));
}

/* 115 */
static void a_word_needs_the_right_to_write(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, CORE_ACCESS_LOCAL_WRITE | CORE_ACCESS_REMOTE_READ |
						       CORE_ACCESS_REMOTE_ATOMIC);
	u64 to = c->mr->base->iova + 4;

	KUNIT_EXPECT_EQ(test, store_at(c, stag, to), CORE_REGION_ACCESS);
	KUNIT_EXPECT_EQ(test, store_at(c, stag ^ 1, to), CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test, store_at(c, SRNIC_LOCAL_DMA_LKEY, to), CORE_REGION_INVALID);
	c->id++;
	KUNIT_EXPECT_EQ(test, store_at(c, stag, to), CORE_REGION_FOREIGN);
	KUNIT_EXPECT_TRUE(test, holds_only(c, NULL));
}

/* RFC 5040 5.3: also one that the stream still holds. */
static void no_word_lands_after_its_region_was_invalidated(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL);
	const struct srnic_region_access access = {
		.to = c->mr->base->iova + 4, .stag = stag, .requester.pd = c->id,
		.rights = CORE_ACCESS_REMOTE_WRITE,
	};
	struct srnic_held held = { .dev = c->dev };

	KUNIT_EXPECT_EQ(test, srnic_region_atomic_write(&held, &access, octets), CORE_REGION_OK);
	KUNIT_EXPECT_TRUE(test, holds_only(c, c->mr->page[0] + OFFSET + 4));
	WRITE_ONCE(c->mr->mr->state, SRNIC_MR_INVALID);	/* and waits for the holder */
	KUNIT_EXPECT_EQ(test, srnic_region_atomic_write(&held, &access, octets),
			CORE_REGION_INVALID);
	srnic_held_drop(&held);
	KUNIT_EXPECT_TRUE(test, holds_only(c, NULL));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_word_lands_where_it_is_addressed),
	KUNIT_CASE(no_word_is_misaligned),
	KUNIT_CASE(no_word_is_outside),
	KUNIT_CASE(a_word_needs_the_right_to_write),
	KUNIT_CASE(no_word_lands_after_its_region_was_invalidated),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_word", .init = init, .test_cases = cases };

kunit_test_suite(suite);
