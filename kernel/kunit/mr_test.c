// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Regions: what an STag grants (RFC 5041 7.1, RFC 5040 7.2), fast registration and invalidation
 * (RFC 5040 5.3, 8.1).
 */
#include "mr.h"

static bool snapshot(struct context *c, u32 stag, struct core_region *region)
{
	struct srnic_held held = { .dev = c->dev };
	bool there = srnic_region_snapshot(&held, stag, region);

	srnic_held_drop(&held);
	return there;
}

/* Byte i of the region. */
static u8 *byte_at(struct context *c, u32 i)
{
	i += SRNIC_TEST_OFFSET;
	return &c->mr->page[i / PAGE_SIZE][i % PAGE_SIZE];
}

/* Nothing was placed outside of [from, to). */
static bool untouched_but(struct context *c, u32 from, u32 to)
{
	u32 i;

	for (i = 0; i < LENGTH; i++)
		if ((i < from || i >= to) && *byte_at(c, i))
			return false;
	return !memchr_inv(c->mr->page[0], 0, SRNIC_TEST_OFFSET);
}

/* ---- what an STag grants ---- */

static void octets_land_where_they_are_addressed_across_pages(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL), i, bad = 0;
	u64 base = c->mr->base->iova;

	fill(c);
	KUNIT_ASSERT_EQ(test, write_bytes(c, stag, base, LENGTH), CORE_REGION_OK);
	for (i = 0; i < LENGTH; i++)
		bad += *byte_at(c, i) != pattern(i);
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(c->mr->page[0], 0, SRNIC_TEST_OFFSET));
	memset(c->buf, 0, LENGTH);
	KUNIT_ASSERT_EQ(test, read_bytes(c, stag, base + 77, 3 * PAGE_SIZE), CORE_REGION_OK);
	for (i = 0; i < 3 * PAGE_SIZE; i++)
		bad += c->buf[i] != pattern(i + 77);
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, c->buf[3 * PAGE_SIZE], 0);
}

static void a_wrong_key_finds_no_region(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL), bit;

	for (bit = 0; bit < 32; bit++)
		KUNIT_EXPECT_EQ(test, write_bytes(c, stag ^ BIT(bit), c->mr->base->iova, 1),
				CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test, write_bytes(c, 0, c->mr->base->iova, 1), CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test, write_bytes(c, ~0U, c->mr->base->iova, 1), CORE_REGION_INVALID);
	KUNIT_EXPECT_TRUE(test, untouched_but(c, 0, 0));
}

static void another_protection_domain_gets_nothing(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL);
	u64 base = c->mr->base->iova;

	c->id++;
	fill(c);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, base, 1), CORE_REGION_FOREIGN);
	KUNIT_EXPECT_EQ(test, read_bytes(c, stag, base, 1), CORE_REGION_FOREIGN);
	KUNIT_EXPECT_EQ(test, verify(c, stag, base, 1), CORE_REGION_FOREIGN);
	KUNIT_EXPECT_EQ(test, invalidate(c, stag, true), CORE_REGION_FOREIGN);
	KUNIT_EXPECT_EQ(test, invalidate(c, stag, false), CORE_REGION_FOREIGN);
	KUNIT_EXPECT_TRUE(test, untouched_but(c, 0, 0));
	KUNIT_EXPECT_EQ(test, c->buf[1], pattern(1));
}

static void a_right_that_was_not_granted_is_refused(struct kunit *test)
{
	struct context *c = test->priv;
	u64 base = c->mr->base->iova;
	u32 stag;

	fill(c);
	stag = srnic_test_reg(test, c->mr, CORE_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, base, 1), CORE_REGION_ACCESS);
	KUNIT_EXPECT_EQ(test,
			put_bytes(c, true, stag, CORE_ACCESS_LOCAL_WRITE, base, c->buf, 1),
			CORE_REGION_ACCESS);
	KUNIT_EXPECT_EQ(test, read_bytes(c, stag, base, 1), CORE_REGION_OK);
	KUNIT_ASSERT_EQ(test, invalidate(c, stag, false), CORE_REGION_OK);
	stag = srnic_test_reg(test, c->mr, CORE_ACCESS_LOCAL_WRITE | CORE_ACCESS_REMOTE_WRITE);
	KUNIT_EXPECT_EQ(test, read_bytes(c, stag, base, 1), CORE_REGION_ACCESS);
	KUNIT_EXPECT_TRUE(test, untouched_but(c, 0, 0));
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, base, 1), CORE_REGION_OK);
}

static void bounds_are_exact_at_both_ends(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL);
	u64 base = c->mr->base->iova;

	memset(c->buf, 0xff, LENGTH);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, base - 1, 1), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, base - 1, 2), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, base + LENGTH, 1), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, base + LENGTH - 1, 2), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, 0, 1), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, verify(c, stag, base, LENGTH + 1), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_TRUE(test, untouched_but(c, 0, 0));
	KUNIT_EXPECT_EQ(test, verify(c, stag, base, LENGTH), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, base + LENGTH - 1, 1), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, *byte_at(c, LENGTH - 1), 0xff);
	KUNIT_EXPECT_TRUE(test, untouched_but(c, LENGTH - 1, LENGTH));
}

/* buf's first len octets, in runs of 1000. */
static enum core_region_verdict write_in_runs(struct context *c, u32 stag, u32 rights, u64 to,
					      u32 len)
{
	const struct srnic_region_access access = {
		.to = to, .stag = stag, .requester.pd = c->id, .rights = rights,
	};
	struct srnic_held held = { .dev = c->dev };
	static struct kvec run[DIV_ROUND_UP(LENGTH, 1000) + 1];
	enum core_region_verdict verdict;
	u32 num = 0;

	for (u32 at = 0; at < len; at += 1000)
		run[num++] = (struct kvec) { c->buf + at, min(1000U, len - at) };
	verdict = srnic_region_write_runs(&held, &access, run, num, len);
	srnic_held_drop(&held);
	return verdict;
}

static void runs_are_checked_together(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, WRITES), most = SRNIC_HELD_MAX;
	u64 base = c->mr->base->iova, last = base + LENGTH - most;
	u32 rights = CORE_ACCESS_REMOTE_WRITE;

	fill(c);
	KUNIT_EXPECT_EQ(test, write_in_runs(c, stag, rights, last + 1, most), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write_in_runs(c, stag, rights, base - 1, most), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write_in_runs(c, stag + 1, rights, base, most), CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test, write_in_runs(c, stag, CORE_ACCESS_REMOTE_READ, base, most),
			CORE_REGION_ACCESS);
	KUNIT_EXPECT_EQ(test, write_in_runs(c, SRNIC_LOCAL_DMA_LKEY, rights, base, most),
			CORE_REGION_INVALID);
	KUNIT_EXPECT_TRUE(test, untouched_but(c, 0, 0));
	KUNIT_EXPECT_EQ(test, write_in_runs(c, stag, rights, last, most), CORE_REGION_OK);
	KUNIT_EXPECT_TRUE(test, untouched_but(c, LENGTH - most, LENGTH));
	for (u32 i = 0; i < most; i++)
		KUNIT_ASSERT_EQ(test, *byte_at(c, LENGTH - most + i), pattern(i));
}

/* More than one hold copies. */
static void more_runs_than_one_hold_copies_are_checked_one_by_one(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, WRITES), rights = CORE_ACCESS_REMOTE_WRITE;
	u64 base = c->mr->base->iova;

	fill(c);
	KUNIT_EXPECT_EQ(test, write_in_runs(c, stag, rights, base + 1, LENGTH),
			CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write_in_runs(c, stag, rights, base, LENGTH), CORE_REGION_OK);
	for (u32 i = 0; i < LENGTH; i++)
		KUNIT_ASSERT_EQ(test, *byte_at(c, i), pattern(i));
}

static void lengths_up_to_the_largest_never_wrap_into_the_region(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL);
	u64 base = c->mr->base->iova;

	KUNIT_EXPECT_EQ(test, verify(c, stag, base, U32_MAX), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, verify(c, stag, base + 1, U64_MAX), CORE_REGION_WRAP);
	KUNIT_EXPECT_EQ(test, verify(c, stag, base, 0 - base), CORE_REGION_WRAP);
	KUNIT_EXPECT_EQ(test, verify(c, stag, base + LENGTH - 1, 0 - (base + LENGTH) + 2),
			CORE_REGION_WRAP);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, U64_MAX, 2), CORE_REGION_WRAP);
	KUNIT_EXPECT_TRUE(test, untouched_but(c, 0, 0));
}

/* RFC 5041 5.2: STag and TO of a zero-length message are not checked. */
static void no_octets_are_never_checked(struct kunit *test)
{
	struct context *c = test->priv;

	KUNIT_EXPECT_EQ(test, write_bytes(c, 0xdead, U64_MAX, 0), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, read_bytes(c, 0, 0, 0), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, verify(c, 1, 1, 0), CORE_REGION_OK);
}

static void a_region_of_one_octet_has_one_octet(struct kunit *test)
{
	struct context *c = test->priv;
	u64 base;
	u32 stag;

	srnic_test_map(test, c->mr, 1);
	stag = srnic_test_reg(test, c->mr, ALL);
	base = c->mr->base->iova;
	memset(c->buf, 0xff, LENGTH);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, base, 2), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, base + 1, 1), CORE_REGION_BOUNDS);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, base, 1), CORE_REGION_OK);
	KUNIT_EXPECT_TRUE(test, untouched_but(c, 0, 1));
}

static void the_local_dma_key_is_for_the_kernels_own_requests_only(struct kunit *test)
{
	struct context *c = test->priv;
	u32 lkey = c->dev->base.local_dma_lkey;
	u64 to = (uintptr_t)c->mr->page[0];
	struct core_region region;

	c->buf[0] = 0x5a;
	KUNIT_EXPECT_EQ(test, write_bytes(c, lkey, to, 1), CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test, read_bytes(c, lkey, to, 1), CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test,
			put_bytes(c, false, lkey, CORE_ACCESS_LOCAL_WRITE, to, c->buf, 1),
			CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test,
			put_bytes(c, true, lkey, CORE_ACCESS_REMOTE_WRITE, to, c->buf, 1),
			CORE_REGION_INVALID);
	KUNIT_EXPECT_FALSE(test, snapshot(c, lkey, &region));
	KUNIT_EXPECT_EQ(test, invalidate(c, lkey, true), CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test, c->mr->page[0][0], 0);
	KUNIT_EXPECT_EQ(test,
			put_bytes(c, true, lkey, CORE_ACCESS_LOCAL_WRITE, to, c->buf, 1),
			CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, c->mr->page[0][0], 0x5a);
}

/* ---- fast registration ---- */

static void a_region_that_was_not_registered_grants_nothing(struct kunit *test)
{
	struct context *c = test->priv;

	KUNIT_EXPECT_EQ(test, write_bytes(c, c->mr->base->rkey, c->mr->base->iova, 1),
			CORE_REGION_INVALID);
}

static void registration_refuses_what_it_cannot_grant(struct kunit *test)
{
	struct context *c = test->priv;
	struct srnic_test_mr *mr = c->mr;
	u32 key = mr->base->rkey;

	KUNIT_EXPECT_EQ(test, srnic_test_try_reg(mr, c->id, key + 256, ALL), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_test_try_reg(mr, c->id + 1, key, ALL), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_test_try_reg(mr, c->id, key, IB_ACCESS_REMOTE_WRITE), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_test_try_reg(mr, c->id, key, IB_ACCESS_ON_DEMAND), -EINVAL);
	c->mr->base->length = SRNIC_TEST_PAGES * PAGE_SIZE - SRNIC_TEST_OFFSET + 1;
	KUNIT_EXPECT_EQ(test, srnic_test_try_reg(mr, c->id, key, ALL), -EINVAL);
	c->mr->base->length = LENGTH;
	c->mr->base->iova++;
	KUNIT_EXPECT_EQ(test, srnic_test_try_reg(mr, c->id, key, ALL), -EINVAL);
	c->mr->base->iova = -PAGE_SIZE + SRNIC_TEST_OFFSET;
	KUNIT_EXPECT_EQ(test, srnic_test_try_reg(mr, c->id, key, ALL), -EINVAL);
	KUNIT_EXPECT_EQ(test, verify(c, key, c->mr->base->iova, 1), CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test, srnic_mr_register(c->dev, NULL, c->id, 0, 0, ALL), -EINVAL);
}

static void a_valid_region_is_not_registered_twice(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL);

	KUNIT_EXPECT_EQ(test, srnic_test_try_reg(c->mr, c->id, stag, ALL), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_test_try_reg(c->mr, c->id, stag ^ 1, ALL), -EINVAL);
	KUNIT_EXPECT_EQ(test, verify(c, stag, c->mr->base->iova, 1), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, verify(c, stag ^ 1, c->mr->base->iova, 1), CORE_REGION_INVALID);
}

static void a_new_key_ends_the_old_one(struct kunit *test)
{
	struct context *c = test->priv;
	u32 old = srnic_test_reg(test, c->mr, ALL), stag;

	KUNIT_ASSERT_EQ(test, invalidate(c, old, false), CORE_REGION_OK);
	stag = srnic_test_reg(test, c->mr, ALL);
	KUNIT_EXPECT_NE(test, old, stag);
	KUNIT_EXPECT_EQ(test, write_bytes(c, old, c->mr->base->iova, 1), CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test, invalidate(c, old, true), CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test, invalidate(c, old, false), CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, c->mr->base->iova, 1), CORE_REGION_OK);
}

static void the_consumer_may_invalidate_as_often_as_it_likes(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL);

	KUNIT_EXPECT_EQ(test, invalidate(c, stag, true), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, c->mr->base->iova, 1), CORE_REGION_INVALID);
	KUNIT_EXPECT_EQ(test, invalidate(c, stag, false), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, invalidate(c, stag, false), CORE_REGION_OK);
}

/*
 * An interrupted NFS client invalidates a region that its server's reply then invalidates, too: the
 * reply must not end the connection. A key replaced meanwhile is no valid STag (RFC 5040 7.2).
 */
static void a_peer_may_invalidate_what_the_consumer_has_invalidated(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL);

	KUNIT_EXPECT_EQ(test, invalidate(c, stag, false), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, invalidate(c, stag, true), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, c->mr->base->iova, 1), CORE_REGION_INVALID);
	srnic_test_map(test, c->mr, LENGTH);
	KUNIT_EXPECT_EQ(test, invalidate(c, stag, true), CORE_REGION_OK);
	srnic_test_reg(test, c->mr, ALL);
	KUNIT_EXPECT_EQ(test, invalidate(c, stag, true), CORE_REGION_INVALID);
}

/* RFC 5040 8.1.1 rule 7 */
static void a_peer_invalidates_only_what_its_own_qp_has_registered(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL);

	KUNIT_EXPECT_EQ(test, invalidate_by(c, stag, true, c->id, SRNIC_TEST_QPN + 1),
			CORE_REGION_FOREIGN);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, c->mr->base->iova, 1), CORE_REGION_OK);
	KUNIT_EXPECT_EQ(test, invalidate(c, stag, true), CORE_REGION_OK);
}

static void mapping_anew_ends_the_grant(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL);

	srnic_test_map(test, c->mr, LENGTH);
	KUNIT_EXPECT_EQ(test, write_bytes(c, stag, c->mr->base->iova, 1), CORE_REGION_INVALID);
}

static void a_page_is_what_the_consumer_says(struct kunit *test)
{
	enum { ORDER = 2, PAGES = 1 << ORDER, OFFSET = 100, LEN = PAGES * PAGE_SIZE - OFFSET };
	static const u32 sizes[] = { SZ_4K, PAGE_SIZE, 2 * PAGE_SIZE, PAGES * PAGE_SIZE };
	struct context *c = test->priv;
	u8 *memory = (u8 *)__get_free_pages(GFP_KERNEL, ORDER);
	struct scatterlist sg;
	u32 i, stag;

	KUNIT_ASSERT_NOT_NULL(test, memory);
	sg_init_one(&sg, memory + OFFSET, LEN);
	KUNIT_ASSERT_EQ(test, ib_dma_map_sg(c->pd->device, &sg, 1, DMA_BIDIRECTIONAL), 1);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		memset(memory, 0, PAGES * PAGE_SIZE);
		KUNIT_ASSERT_EQ(test, ib_map_mr_sg(c->mr->base, &sg, 1, NULL, sizes[i]), 1);
		KUNIT_EXPECT_EQ(test, c->mr->base->length, LEN);
		stag = srnic_test_reg(test, c->mr, ALL);
		fill(c);
		KUNIT_EXPECT_EQ(test, write_bytes(c, stag, c->mr->base->iova, LEN),
				CORE_REGION_OK);
		KUNIT_EXPECT_EQ(test, write_bytes(c, stag, c->mr->base->iova + LEN, 1),
				CORE_REGION_BOUNDS);
		KUNIT_EXPECT_EQ(test, memcmp(memory + OFFSET, c->buf, LEN), 0);
	}
	free_pages((unsigned long)memory, ORDER);
}

static void a_page_that_cannot_be_is_refused(struct kunit *test)
{
	static const u32 sizes[] = { SZ_2K, SZ_4K + SZ_2K, 3 * PAGE_SIZE, 1U << 31 };
	struct context *c = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		KUNIT_EXPECT_EQ(test, ib_map_mr_sg(c->mr->base, c->mr->sgl, 1, NULL, sizes[i]),
				-EINVAL);
}

/* IB_PD_UNSAFE_GLOBAL_RKEY: a peer with such a key could access any kernel address. */
static void no_peer_gets_a_key_to_all_of_memory(struct kunit *test)
{
	static const int access[] = {
		IB_ACCESS_REMOTE_READ, IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE, ALL,
		IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC,
	};
	struct context *c = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(access); i++)
		KUNIT_EXPECT_EQ(test, PTR_ERR(c->pd->device->ops.get_dma_mr(c->pd, access[i])),
				-EOPNOTSUPP);
}

static void rights_that_nothing_implements_are_refused(struct kunit *test)
{
	struct context *c = test->priv;

	ib_update_fast_reg_key(c->mr->base, c->mr->base->rkey + 1);
	KUNIT_EXPECT_EQ(test, srnic_test_try_reg(c->mr, c->id, c->mr->base->rkey,
						 ALL | IB_ACCESS_MW_BIND), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_test_try_reg(c->mr, c->id, c->mr->base->rkey, ALL), 0);
}

static void there_are_no_more_regions_than_the_device_says(struct kunit *test)
{
	struct context *c = test->priv;
	int num = atomic_xchg(&c->dev->num_mrs, SRNIC_MAX_MR);

	KUNIT_EXPECT_EQ(test, PTR_ERR(ib_alloc_mr(c->pd, IB_MR_TYPE_MEM_REG, 1)), -ENOSPC);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->dev->num_mrs), SRNIC_MAX_MR);
	atomic_set(&c->dev->num_mrs, num);
}

static void a_region_over_all_of_memory_is_not_a_peers_to_invalidate(struct kunit *test)
{
	struct context *c = test->priv;
	struct ib_mr *dma = c->pd->device->ops.get_dma_mr(c->pd, IB_ACCESS_LOCAL_WRITE);
	u64 to = (uintptr_t)c->mr->page[0];

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dma);
	KUNIT_EXPECT_EQ(test, write_bytes(c, dma->rkey, to, 1), CORE_REGION_ACCESS);
	KUNIT_EXPECT_EQ(test, invalidate(c, dma->rkey, true), CORE_REGION_ACCESS);
	KUNIT_EXPECT_EQ(test,
			put_bytes(c, true, dma->lkey, CORE_ACCESS_LOCAL_WRITE, to, c->buf, 1),
			CORE_REGION_OK);
	c->pd->device->ops.dereg_mr(dma, NULL);
}

static void a_region_that_cannot_be_is_refused(struct kunit *test)
{
	struct context *c = test->priv;

	KUNIT_EXPECT_EQ(test, PTR_ERR(ib_alloc_mr(c->pd, IB_MR_TYPE_DM, 2)), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, PTR_ERR(ib_alloc_mr(c->pd, IB_MR_TYPE_MEM_REG, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test,
			PTR_ERR(ib_alloc_mr(c->pd, IB_MR_TYPE_MEM_REG, SRNIC_MAX_FAST_REG + 1)),
			-EINVAL);
}

/* ---- STags (RFC 5040 8.1.1) ---- */

static void no_stag_is_below_256_and_none_is_given_out_twice(struct kunit *test)
{
	enum { N = 500 };
	struct context *c = test->priv;
	struct ib_mr **mr = kunit_kcalloc(test, N, sizeof(*mr), GFP_KERNEL);
	u32 i, j, bad = 0;

	KUNIT_ASSERT_NOT_NULL(test, mr);
	for (i = 0; i < N; i++) {
		mr[i] = c->pd->device->ops.alloc_mr(c->pd, IB_MR_TYPE_MEM_REG, 1);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr[i]);
		bad += mr[i]->rkey < 256;
		for (j = 0; j < i; j++)
			bad += mr[i]->rkey >> 8 == mr[j]->rkey >> 8;
	}
	while (i--)
		c->pd->device->ops.dereg_mr(mr[i], NULL);
	KUNIT_EXPECT_EQ(test, bad, 0);
}

static void a_slot_used_again_gives_other_stags(struct kunit *test)
{
	struct context *c = test->priv;
	u32 first = 0, same = 0, index = 0, i;

	for (i = 0; i < 64; i++) {
		struct ib_mr *mr = c->pd->device->ops.alloc_mr(c->pd, IB_MR_TYPE_MEM_REG, 1);

		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mr);
		first = first ?: mr->rkey;
		index = i ? index : to_srnic_mr(mr)->index;
		KUNIT_EXPECT_EQ(test, to_srnic_mr(mr)->index, index);
		same += mr->rkey == first;
		c->dev->next_mr = index;
		c->pd->device->ops.dereg_mr(mr, NULL);
	}
	KUNIT_EXPECT_LT(test, same, 16);
}

static void an_stag_of_a_region_that_is_gone_finds_nothing(struct kunit *test)
{
	struct context *c = test->priv;
	u32 stag = srnic_test_reg(test, c->mr, ALL);
	struct core_region region;

	KUNIT_EXPECT_TRUE(test, snapshot(c, stag, &region));
	srnic_test_dereg(test, c->mr);
	KUNIT_EXPECT_FALSE(test, snapshot(c, stag, &region));
	KUNIT_EXPECT_EQ(test, invalidate(c, stag, false), CORE_REGION_INVALID);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(octets_land_where_they_are_addressed_across_pages),
	KUNIT_CASE(a_wrong_key_finds_no_region),
	KUNIT_CASE(another_protection_domain_gets_nothing),
	KUNIT_CASE(a_right_that_was_not_granted_is_refused),
	KUNIT_CASE(bounds_are_exact_at_both_ends),
	KUNIT_CASE(runs_are_checked_together),
	KUNIT_CASE(more_runs_than_one_hold_copies_are_checked_one_by_one),
	KUNIT_CASE(lengths_up_to_the_largest_never_wrap_into_the_region),
	KUNIT_CASE(no_octets_are_never_checked),
	KUNIT_CASE(a_region_of_one_octet_has_one_octet),
	KUNIT_CASE(the_local_dma_key_is_for_the_kernels_own_requests_only),
	KUNIT_CASE(a_region_that_was_not_registered_grants_nothing),
	KUNIT_CASE(registration_refuses_what_it_cannot_grant),
	KUNIT_CASE(a_valid_region_is_not_registered_twice),
	KUNIT_CASE(a_new_key_ends_the_old_one),
	KUNIT_CASE(the_consumer_may_invalidate_as_often_as_it_likes),
	KUNIT_CASE(a_peer_invalidates_only_what_its_own_qp_has_registered),
	KUNIT_CASE(a_peer_may_invalidate_what_the_consumer_has_invalidated),
	KUNIT_CASE(a_page_is_what_the_consumer_says),
	KUNIT_CASE(a_page_that_cannot_be_is_refused),
	KUNIT_CASE(no_peer_gets_a_key_to_all_of_memory),
	KUNIT_CASE(rights_that_nothing_implements_are_refused),
	KUNIT_CASE(there_are_no_more_regions_than_the_device_says),
	KUNIT_CASE(mapping_anew_ends_the_grant),
	KUNIT_CASE(a_region_over_all_of_memory_is_not_a_peers_to_invalidate),
	KUNIT_CASE(a_region_that_cannot_be_is_refused),
	KUNIT_CASE(no_stag_is_below_256_and_none_is_given_out_twice),
	KUNIT_CASE(a_slot_used_again_gives_other_stags),
	KUNIT_CASE(an_stag_of_a_region_that_is_gone_finds_nothing),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_mr", .init = init, .test_cases = cases };

kunit_test_suite(suite);
