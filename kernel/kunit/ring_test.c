// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Rings: layout, indices that wrap, and that a hostile user can do no harm through the mapping.
 */
#include "fixture.h"

static struct srnic_ring *make_ring(struct kunit *test, u32 entries, u32 slot_size)
{
	struct srnic_ring *ring = test->priv;

	KUNIT_ASSERT_EQ(test, srnic_ring_alloc(ring, entries, slot_size), 0);
	return ring;
}

static void entries_become_a_power_of_two_and_slots_multiples_of_32(struct kunit *test)
{
	struct srnic_ring *ring = make_ring(test, 5, 33);

	KUNIT_EXPECT_EQ(test, ring->entries, 8);
	KUNIT_EXPECT_EQ(test, ring->slot_size, 64);
	KUNIT_EXPECT_EQ(test, ring->size % PAGE_SIZE, 0);
	KUNIT_EXPECT_GE(test, ring->size, SRNIC_RING_SLOTS_OFFSET + 8 * 64);
}

static void a_new_ring_is_all_zero_behind_its_header(struct kunit *test)
{
	struct srnic_ring *ring = make_ring(test, 64, 64);

	KUNIT_EXPECT_NULL(test, memchr_inv(srnic_ring_slot(ring, 0), 0,
					   ring->size - SRNIC_RING_SLOTS_OFFSET));
	KUNIT_EXPECT_EQ(test, ring->hdr->magic, SRNIC_RING_MAGIC);
	KUNIT_EXPECT_EQ(test, ring->hdr->version, SRNIC_RING_VERSION);
	KUNIT_EXPECT_EQ(test, ring->hdr->entries, 64);
	KUNIT_EXPECT_EQ(test, ring->hdr->slot_size, 64);
	KUNIT_EXPECT_EQ(test, ring->hdr->prod | ring->hdr->cons | ring->hdr->state, 0);
}

static void what_cannot_be_a_ring_is_refused(struct kunit *test)
{
	struct srnic_ring ring = { };

	KUNIT_EXPECT_EQ(test, srnic_ring_alloc(&ring, (1U << 24) + 1, 32), -ENOMEM);
	KUNIT_EXPECT_EQ(test, srnic_ring_alloc(&ring, ~0U, 32), -ENOMEM);
	KUNIT_EXPECT_EQ(test, srnic_ring_alloc(&ring, 1, 65536), -ENOMEM);
	KUNIT_EXPECT_EQ(test, srnic_ring_alloc(&ring, 1, 65535), -ENOMEM);
	srnic_ring_free(&ring);		/* was never allocated */
}

static void slots_follow_each_other_across_the_wrap_of_the_index(struct kunit *test)
{
	struct srnic_ring *ring = make_ring(test, 8, 64);
	u32 first = 0 - 4U;
	u32 i;

	for (i = 0; i < 16; i++) {
		u8 *slot = srnic_ring_slot(ring, first + i);

		KUNIT_EXPECT_PTR_EQ(test, slot,
				    (u8 *)ring->hdr + SRNIC_RING_SLOTS_OFFSET +
					    (first + i) % 8 * 64);
		KUNIT_EXPECT_LE(test, (size_t)(slot + 64 - (u8 *)ring->hdr), ring->size);
	}
}

static void a_user_that_rewrites_the_header_moves_no_slot(struct kunit *test)
{
	struct srnic_ring *ring = make_ring(test, 8, 64);
	void *slot = srnic_ring_slot(ring, 13);

	memset(ring->hdr, 0xff, sizeof(*ring->hdr));
	KUNIT_EXPECT_PTR_EQ(test, srnic_ring_slot(ring, 13), slot);
	KUNIT_EXPECT_EQ(test, ring->entries, 8);
}

static void pending_counts_what_was_published(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, core_ring_pending(0, 0, 8), 0);
	KUNIT_EXPECT_EQ(test, core_ring_pending(3, 0, 8), 3);
	KUNIT_EXPECT_EQ(test, core_ring_pending(8, 0, 8), 8);
	KUNIT_EXPECT_EQ(test, core_ring_pending(2, 0xfffffffe, 8), 4);
	KUNIT_EXPECT_EQ(test, core_ring_pending(6, 0xfffffffe, 8), 8);
}

static void a_producer_that_claims_more_than_the_ring_holds_gets_nothing(struct kunit *test)
{
	static const u32 far[] = {9,	      10,	  0x100,      0x7fffffff,
				  0x80000000, 0x80000001, 0xfffffff0, 0xffffffff};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(far); i++) {
		KUNIT_EXPECT_EQ(test, core_ring_pending(far[i], 0, 8), 0);
		KUNIT_EXPECT_EQ(test, core_ring_pending(0xfffffffd + far[i], 0xfffffffd, 8), 0);
	}
}

static int ring_test_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct srnic_ring), GFP_KERNEL);
	return test->priv ? 0 : -ENOMEM;
}

static void ring_test_exit(struct kunit *test)
{
	if (test->priv)
		srnic_ring_free(test->priv);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(entries_become_a_power_of_two_and_slots_multiples_of_32),
	KUNIT_CASE(a_new_ring_is_all_zero_behind_its_header),
	KUNIT_CASE(what_cannot_be_a_ring_is_refused),
	KUNIT_CASE(slots_follow_each_other_across_the_wrap_of_the_index),
	KUNIT_CASE(a_user_that_rewrites_the_header_moves_no_slot),
	KUNIT_CASE(pending_counts_what_was_published),
	KUNIT_CASE(a_producer_that_claims_more_than_the_ring_holds_gets_nothing),
	{ }
};

static struct kunit_suite suite = {
	.name = "srnic_ring", .init = ring_test_init, .exit = ring_test_exit, .test_cases = cases,
};

kunit_test_suite(suite);
