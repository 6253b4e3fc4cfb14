// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Copies are exact in each way there is: by length, and by how far the destination begins after
 * the source in its page.
 */
#include "fixture.h"
#include "memory/copy.h"

#define ROOM	(3 * PAGE_SIZE)

/* Two buffers that begin at pages. */
static int init(struct kunit *test)
{
	test->priv = kvzalloc(2 * ROOM, GFP_KERNEL);
	return test->priv ? 0 : -ENOMEM;
}

static void finish(struct kunit *test)
{
	kvfree(test->priv);
}

static u8 byte_at(u32 i)
{
	return i * 7 + (i >> 8) + 1;
}

/* Copies len bytes, and says whether they and nothing else have arrived. */
static bool copies(struct kunit *test, u32 to, u32 from, u32 len)
{
	u8 *source = test->priv, *destination = source + ROOM;
	u32 i;

	for (i = 0; i < len; i++)
		source[from + i] = byte_at(i);
	memset(destination, 0, ROOM);
	srnic_copy(destination + to, source + from, len);
	for (i = 0; i < len; i++)
		if (destination[to + i] != byte_at(i))
			return false;
	return !memchr_inv(destination, 0, to) &&
	       !memchr_inv(destination + to + len, 0, ROOM - to - len);
}

static void all_octets_arrive_and_no_others(struct kunit *test)
{
	static const u32 lengths[] = {
		0, 1, 7, 31, 32, 33, 63, 767, 768, 769, 831, 832, 1428, 4095, 4096, 8191,
	};
	static const u32 after[] = { 0, 1, 2, 7, 8, 15, 16, 20, 31, 32, 33, 64, 2048, 4080, 4095 };
	u32 from, a, l;

	for (from = 0; from < 64; from += 16)
		for (a = 0; a < ARRAY_SIZE(after); a++)
			for (l = 0; l < ARRAY_SIZE(lengths); l++)
				KUNIT_EXPECT_TRUE(test, copies(test, (from + after[a]) % PAGE_SIZE,
							       from, lengths[l]));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(all_octets_arrive_and_no_others),
	{ }
};

static struct kunit_suite suite = {
	.name = "srnic_copy", .init = init, .exit = finish, .test_cases = cases,
};

kunit_test_suite(suite);
