// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fast-registration regions with gaps (IB_MR_TYPE_SG_GAPS): entries of any address and length are
 * one range of TOs.
 */
#include "mr.h"

#define ROOM	8
#define BYTES	(4 * PAGE_SIZE)

/* Entries of one piece of memory, by offset and length. */
struct entry {
	u32 at, length;
};

/* No two are neighbours in memory; their lengths are 1, odd, more than a page, and a page. */
static const struct entry scattered[] = {
	{ 3 * PAGE_SIZE + 5, 1 },
	{ 7, 4095 },
	{ PAGE_SIZE + 1000, 2 * PAGE_SIZE - 1001 },
	{ 3 * PAGE_SIZE + 100, 8 },
	{ 4104, 3 },
};

struct gaps {
	struct context c;
	struct ib_mr *mr;
	u8 *memory;	/* BYTES */
	u32 length;	/* that is mapped */
	u8 expected[BYTES];
};

static void dereg_gaps(void *mr)
{
	ib_dereg_mr(mr);
}

static int init_gaps(struct kunit *test)
{
	struct gaps *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);
	struct context *c;

	KUNIT_ASSERT_NOT_NULL(test, g);
	init(test);
	c = test->priv;
	g->c = *c;
	g->mr = ib_alloc_mr(c->pd, IB_MR_TYPE_SG_GAPS, ROOM);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, g->mr);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, dereg_gaps, g->mr), 0);
	g->memory = kunit_kzalloc(test, BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, g->memory);
	test->priv = g;
	return 0;
}

/* The number of entries that were mapped. */
static int map_from(struct kunit *test, const struct entry *entries, u32 num, unsigned int *offset)
{
	struct gaps *g = test->priv;
	struct scatterlist sgl[2 * ROOM];
	u32 i;

	KUNIT_ASSERT_LE(test, num, ARRAY_SIZE(sgl));
	sg_init_table(sgl, num);
	for (i = 0; i < num; i++)
		sg_set_buf(&sgl[i], g->memory + entries[i].at, entries[i].length);
	KUNIT_ASSERT_EQ(test, ib_dma_map_sg(g->c.pd->device, sgl, num, DMA_BIDIRECTIONAL), num);
	return ib_map_mr_sg(g->mr, sgl, num, offset, 0);
}

static int map(struct kunit *test, const struct entry *entries, u32 num)
{
	return map_from(test, entries, num, NULL);
}

static int try_reg(struct gaps *g, u32 access)
{
	ib_update_fast_reg_key(g->mr, g->mr->rkey + 1);
	return srnic_mr_register(g->c.dev, to_srnic_mr(g->mr), g->c.id, SRNIC_TEST_QPN,
				 g->mr->rkey, access);
}

static void map_scattered(struct kunit *test)
{
	struct gaps *g = test->priv;
	u32 i;

	g->length = 0;
	for (i = 0; i < ARRAY_SIZE(scattered); i++)
		g->length += scattered[i].length;
	KUNIT_ASSERT_EQ(test, map(test, scattered, ARRAY_SIZE(scattered)), ARRAY_SIZE(scattered));
	KUNIT_ASSERT_EQ(test, g->mr->length, g->length);
	KUNIT_ASSERT_EQ(test, try_reg(g, ALL | CORE_ACCESS_REMOTE_ATOMIC), 0);
}

/* Where the bytes [from, from + length) of the region are, holds their pattern. */
static void expect(struct gaps *g, u32 from, u32 length)
{
	u32 n = 0, i, k;

	for (i = 0; i < ARRAY_SIZE(scattered); i++)
		for (k = 0; k < scattered[i].length; k++, n++)
			if (n >= from && n < from + length)
				g->expected[scattered[i].at + k] = pattern(n - from);
}

static void entries_of_any_place_and_length_are_one_region(struct kunit *test)
{
	struct gaps *g = test->priv;

	map_scattered(test);
	fill(&g->c);
	KUNIT_ASSERT_EQ(test, write_bytes(&g->c, g->mr->rkey, g->mr->iova, g->length),
			CORE_REGION_OK);
	expect(g, 0, g->length);
	KUNIT_EXPECT_EQ(test, memcmp(g->memory, g->expected, BYTES), 0);
	memset(g->c.buf, 0, LENGTH);
	KUNIT_ASSERT_EQ(test, read_bytes(&g->c, g->mr->rkey, g->mr->iova, g->length),
			CORE_REGION_OK);
	memset(g->expected, 0, BYTES);
	for (u32 i = 0; i < g->length; i++)
		g->expected[i] = pattern(i);
	KUNIT_EXPECT_EQ(test, memcmp(g->c.buf, g->expected, g->length), 0);
}

/* A segment that begins or ends at a gap, or one byte beside it. */
static void segments_meet_gaps_at_every_byte(struct kunit *test)
{
	struct gaps *g = test->priv;
	u32 gap = 0, i, bad = 0;
	int begin, end;

	map_scattered(test);
	fill(&g->c);
	for (i = 0; i < ARRAY_SIZE(scattered); gap += scattered[i++].length)
		for (begin = -2; begin <= 2; begin++)
			for (end = -2; end <= 2; end++) {
				u32 from = max(0, (int)gap + begin);
				u32 to = min_t(u32, g->length, gap + scattered[i].length + end);

				if (to <= from)
					continue;
				memset(g->memory, 0, BYTES);
				memset(g->expected, 0, BYTES);
				bad += write_bytes(&g->c, g->mr->rkey, g->mr->iova + from,
						   to - from) != CORE_REGION_OK;
				expect(g, from, to - from);
				bad += memcmp(g->memory, g->expected, BYTES) != 0;
			}
	KUNIT_EXPECT_EQ(test, bad, 0);
}

static void bounds_are_exact(struct kunit *test)
{
	struct gaps *g = test->priv;
	u64 base;

	map_scattered(test);
	base = g->mr->iova;
	memset(g->c.buf, 0xff, LENGTH);
	KUNIT_EXPECT_EQ(test, write_bytes(&g->c, g->mr->rkey, base + g->length, 1),
			CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write_bytes(&g->c, g->mr->rkey, base, g->length + 1),
			CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write_bytes(&g->c, g->mr->rkey, base - 1, 1), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_NULL(test, memchr_inv(g->memory, 0, BYTES));
}

/* The consumer may lessen base.length before REG_MR, not raise it. */
static void a_registration_has_no_more_than_was_mapped(struct kunit *test)
{
	struct gaps *g = test->priv;

	KUNIT_ASSERT_EQ(test, map(test, scattered, 2), 2);
	g->mr->length++;
	KUNIT_EXPECT_EQ(test, try_reg(g, ALL), -EINVAL);
	g->mr->length = 4;
	KUNIT_EXPECT_EQ(test, try_reg(g, ALL), 0);
	KUNIT_EXPECT_EQ(test, write_bytes(&g->c, g->mr->rkey, g->mr->iova, 5),
			CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write_bytes(&g->c, g->mr->rkey, g->mr->iova, 4), CORE_REGION_OK);
}

static void neighbours_in_memory_take_one_place(struct kunit *test)
{
	struct entry entries[2 * ROOM] = {};
	struct gaps *g = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(entries); i++)
		entries[i] = (struct entry){ .at = 3 + 10 * i, .length = 10 };
	KUNIT_EXPECT_EQ(test, map(test, entries, ARRAY_SIZE(entries)), ARRAY_SIZE(entries));
	KUNIT_EXPECT_EQ(test, g->mr->length, 10 * ARRAY_SIZE(entries));
	KUNIT_EXPECT_EQ(test, to_srnic_mr(g->mr)->num_pieces, 1);
}

static void what_finds_no_room_is_not_mapped(struct kunit *test)
{
	struct entry entries[2 * ROOM] = {};
	struct gaps *g = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(entries); i++)
		entries[i] = (struct entry){ .at = 20 * i, .length = 10 };
	KUNIT_EXPECT_EQ(test, map(test, entries, ARRAY_SIZE(entries)), ROOM);
	KUNIT_EXPECT_EQ(test, g->mr->length, 10 * ROOM);
	KUNIT_EXPECT_EQ(test, try_reg(g, ALL), 0);
	fill(&g->c);
	KUNIT_EXPECT_EQ(test, write_bytes(&g->c, g->mr->rkey, g->mr->iova, 10 * ROOM),
			CORE_REGION_OK);
	KUNIT_EXPECT_NULL(test, memchr_inv(g->memory + 20 * ROOM, 0, BYTES - 20 * ROOM));
}

static void the_first_entry_may_be_taken_from_an_offset(struct kunit *test)
{
	static const struct entry entries[] = { { 10, 20 }, { 100, 5 } };
	unsigned int offset = 15;
	struct gaps *g = test->priv;

	KUNIT_ASSERT_EQ(test, map_from(test, entries, 2, &offset), 2);
	KUNIT_EXPECT_EQ(test, offset, 0);
	KUNIT_EXPECT_EQ(test, g->mr->length, 10);
	KUNIT_ASSERT_EQ(test, try_reg(g, ALL), 0);
	memset(g->c.buf, 0xee, 10);
	KUNIT_EXPECT_EQ(test, write_bytes(&g->c, g->mr->rkey, g->mr->iova, 10), CORE_REGION_OK);
	memset(g->expected + 25, 0xee, 5);
	memset(g->expected + 100, 0xee, 5);
	KUNIT_EXPECT_EQ(test, memcmp(g->memory, g->expected, BYTES), 0);
	offset = 21;
	KUNIT_EXPECT_EQ(test, map_from(test, entries, 2, &offset), -EINVAL);
	offset = 20;
	KUNIT_EXPECT_EQ(test, map_from(test, entries, 2, &offset), 2);
	KUNIT_EXPECT_EQ(test, g->mr->length, 5);
}

static enum core_region_verdict add_one(struct gaps *g, u64 to)
{
	const struct srnic_region_access access = {
		.to = to,
		.stag = g->mr->rkey,
		.requester.pd = g->c.id,
		.rights = CORE_ACCESS_REMOTE_ATOMIC,
	};
	const struct core_atomic op = { .code = CORE_ATOMIC_FETCH_ADD, .data = 1 };
	struct srnic_held held = { .dev = g->c.dev };
	enum core_region_verdict verdict;
	u64 original;

	verdict = srnic_region_atomic(&held, &access, &op, &original);
	srnic_held_drop(&held);
	return verdict;
}

/* RFC 7306 5: the word is one, not two halves with a gap between. */
static void an_atomic_operation_does_not_span_a_gap(struct kunit *test)
{
	static const struct entry entries[] = { { 64, 12 }, { 1024, 4 }, { 2048, 8 } };
	struct gaps *g = test->priv;
	u64 base;

	KUNIT_ASSERT_EQ(test, map(test, entries, ARRAY_SIZE(entries)), ARRAY_SIZE(entries));
	KUNIT_ASSERT_EQ(test, try_reg(g, ALL | CORE_ACCESS_REMOTE_ATOMIC), 0);
	base = g->mr->iova;
	KUNIT_EXPECT_EQ(test, add_one(g, base + 8), CORE_REGION_ALIGNMENT);
	KUNIT_EXPECT_EQ(test, add_one(g, base + 12), CORE_REGION_ALIGNMENT);
	KUNIT_EXPECT_NULL(test, memchr_inv(g->memory, 0, BYTES));
	KUNIT_EXPECT_EQ(test, add_one(g, base), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, add_one(g, base + 16), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, *(u64 *)(g->memory + 64), 1);
	KUNIT_EXPECT_EQ(test, *(u64 *)(g->memory + 2048), 1);
}

static void mapping_anew_ends_the_grant(struct kunit *test)
{
	struct gaps *g = test->priv;

	map_scattered(test);
	KUNIT_ASSERT_EQ(test, map(test, scattered, 1), 1);
	KUNIT_EXPECT_EQ(test, write_bytes(&g->c, g->mr->rkey, g->mr->iova, 1),
			CORE_REGION_INVALID);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(entries_of_any_place_and_length_are_one_region),
	KUNIT_CASE(segments_meet_gaps_at_every_byte),
	KUNIT_CASE(bounds_are_exact),
	KUNIT_CASE(a_registration_has_no_more_than_was_mapped),
	KUNIT_CASE(neighbours_in_memory_take_one_place),
	KUNIT_CASE(what_finds_no_room_is_not_mapped),
	KUNIT_CASE(the_first_entry_may_be_taken_from_an_offset),
	KUNIT_CASE(an_atomic_operation_does_not_span_a_gap),
	KUNIT_CASE(mapping_anew_ends_the_grant),
	{ }
};

static struct kunit_suite suite = {
	.name = "srnic_gaps", .init = init_gaps, .test_cases = cases,
};

kunit_test_suite(suite);
