// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shared receive queues: order, room, the limit event, and a user's hostile ring.
 */
#include "fixture.h"

#define ENTRIES	4U
#define LIMIT	2U

struct context {
	struct srnic_test_srq *srq;
	u8 wqe[SRNIC_TEST_RECV_MAX] __aligned(8);
};

static int post(struct context *c, u64 wr_id, int num_sge)
{
	struct ib_sge sge[3] = {{.addr = 1, .length = 2, .lkey = 3},
				{.addr = 4, .length = 5, .lkey = 6}};
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = num_sge };

	return ib_post_srq_recv(c->srq->base, &wr, NULL);
}

static bool take(struct context *c)
{
	return srnic_srq_take(c->srq->srq, (struct srnic_recv_wqe *)c->wqe, sizeof(c->wqe),
			      0) == SRNIC_TAKEN_ONE;
}

static const struct srnic_recv_wqe *taken(const struct context *c)
{
	return (const struct srnic_recv_wqe *)c->wqe;
}

static int limits(struct context *c)
{
	return atomic_read(&c->srq->limits);
}

static void fill(struct kunit *test, struct context *c)
{
	u64 i;

	for (i = 0; i < ENTRIES; i++)
		KUNIT_ASSERT_EQ(test, post(c, i, 2), 0);
}

static void receives_are_taken_in_the_order_of_posting(struct kunit *test)
{
	struct context *c = test->priv;
	const struct srnic_sge *sge = (const struct srnic_sge *)(taken(c) + 1);
	u64 i;

	KUNIT_EXPECT_FALSE(test, take(c));
	fill(test, c);
	for (i = 0; i < ENTRIES; i++) {
		KUNIT_ASSERT_TRUE(test, take(c));
		KUNIT_EXPECT_EQ(test, taken(c)->wr_id, i);
		KUNIT_EXPECT_EQ(test, taken(c)->num_sge, 2);
		KUNIT_EXPECT_EQ(test, sge[1].addr, 4);
		KUNIT_EXPECT_EQ(test, sge[1].length, 5);
		KUNIT_EXPECT_EQ(test, sge[1].lkey, 6);
	}
	KUNIT_EXPECT_FALSE(test, take(c));
}

static void a_full_queue_refuses_and_names_the_request(struct kunit *test)
{
	struct context *c = test->priv;
	struct ib_recv_wr second = { .wr_id = 101 }, first = { .wr_id = 100, .next = &second };
	const struct ib_recv_wr *bad = NULL;

	fill(test, c);
	KUNIT_EXPECT_EQ(test, post(c, 99, 0), -ENOMEM);
	KUNIT_ASSERT_TRUE(test, take(c));
	KUNIT_EXPECT_EQ(test, ib_post_srq_recv(c->srq->base, &first, &bad), -ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, bad, &second);
}

static void a_list_that_does_not_fit_is_refused(struct kunit *test)
{
	struct context *c = test->priv;

	KUNIT_EXPECT_EQ(test, post(c, 0, 3), -EINVAL);
	KUNIT_EXPECT_EQ(test, post(c, 0, SRNIC_MAX_SGE + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, post(c, 0, -1), -EINVAL);
	KUNIT_EXPECT_FALSE(test, take(c));
	KUNIT_EXPECT_EQ(test, post(c, 0, 0), 0);
}

static void the_limit_is_told_once(struct kunit *test)
{
	struct context *c = test->priv;

	fill(test, c);
	KUNIT_ASSERT_TRUE(test, take(c));
	KUNIT_ASSERT_TRUE(test, take(c));
	KUNIT_EXPECT_EQ(test, limits(c), 0);	/* still `limit` of them left */
	KUNIT_ASSERT_TRUE(test, take(c));
	KUNIT_EXPECT_EQ(test, limits(c), 1);
	KUNIT_ASSERT_TRUE(test, take(c));
	fill(test, c);
	while (take(c))
		;
	KUNIT_EXPECT_EQ(test, limits(c), 1);
}

static void the_limit_can_be_set_again(struct kunit *test)
{
	struct context *c = test->priv;
	struct ib_srq_attr attr = { .srq_limit = ENTRIES };

	fill(test, c);
	KUNIT_EXPECT_EQ(test, ib_modify_srq(c->srq->base, &attr, IB_SRQ_LIMIT), 0);
	KUNIT_ASSERT_TRUE(test, take(c));
	KUNIT_EXPECT_EQ(test, limits(c), 1);
	KUNIT_EXPECT_EQ(test, ib_modify_srq(c->srq->base, &attr, IB_SRQ_LIMIT), 0);
	KUNIT_ASSERT_TRUE(test, take(c));
	KUNIT_EXPECT_EQ(test, limits(c), 2);
}

static void a_limit_beyond_the_queue_is_refused(struct kunit *test)
{
	struct context *c = test->priv;
	struct ib_srq_attr attr = { .srq_limit = ENTRIES + 1 };

	KUNIT_EXPECT_EQ(test, ib_modify_srq(c->srq->base, &attr, IB_SRQ_LIMIT), -EINVAL);
	KUNIT_EXPECT_EQ(test, ib_query_srq(c->srq->base, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.srq_limit, LIMIT);
	KUNIT_EXPECT_EQ(test, attr.max_wr, ENTRIES);
}

static void order_and_room_are_kept_where_the_indices_wrap(struct kunit *test)
{
	struct context *c = test->priv;
	struct srnic_recv_ring *recv = &c->srq->srq->recv;
	u64 i;

	recv->posted = 0 - 2U;
	recv->taken = 0 - 2U;
	recv->ring.hdr->prod = 0 - 2U;
	fill(test, c);
	KUNIT_EXPECT_EQ(test, post(c, 99, 0), -ENOMEM);
	for (i = 0; i < ENTRIES; i++) {
		KUNIT_ASSERT_TRUE(test, take(c));
		KUNIT_EXPECT_EQ(test, taken(c)->wr_id, i);
	}
	KUNIT_EXPECT_FALSE(test, take(c));
}

static void a_user_that_publishes_what_cannot_be_has_posted_nothing(struct kunit *test)
{
	static const u32 claims[] = { ENTRIES + 1, 0x7fffffff, 0x80000000, 0xffffffff };
	struct context *c = test->priv;
	struct srnic_recv_ring *recv = &c->srq->srq->recv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(claims); i++) {
		recv->ring.hdr->prod = claims[i];
		KUNIT_EXPECT_FALSE(test, take(c));
		KUNIT_EXPECT_EQ(test, recv->seen, 0);
	}
	recv->ring.hdr->prod = 1;
	KUNIT_EXPECT_TRUE(test, take(c));
	KUNIT_EXPECT_EQ(test, recv->ring.hdr->cons, 1);
	KUNIT_EXPECT_EQ(test, recv->seen, 1);
}

/*
 * Only the copy is checked and used: later writes to the slot, or after its end, change nothing.
 */
static void a_slot_is_read_once(struct kunit *test)
{
	struct context *c = test->priv;
	struct srnic_recv_ring *recv = &c->srq->srq->recv;
	struct srnic_recv_wqe *slot = srnic_ring_slot(&recv->ring, 0);
	u32 room;

	*slot = (struct srnic_recv_wqe) { .wr_id = 7, .num_sge = 1 };
	((struct srnic_sge *)(slot + 1))->length = 4096;
	recv->ring.hdr->prod = 1;
	memset(c->wqe, 0xee, sizeof(c->wqe));
	KUNIT_ASSERT_TRUE(test, take(c));
	memset(slot, 0xff, recv->ring.slot_size);
	KUNIT_EXPECT_EQ(test, core_recv_wqe_check(taken(c), recv->ring.slot_size, &room),
			CORE_WQE_OK);
	KUNIT_EXPECT_EQ(test, room, 4096);
	KUNIT_EXPECT_EQ(test, taken(c)->wr_id, 7);
	KUNIT_EXPECT_NULL(test, memchr_inv(c->wqe + recv->ring.slot_size, 0xee,
					   sizeof(c->wqe) - recv->ring.slot_size));
}

static void a_slot_that_lies_about_its_list_is_broken(struct kunit *test)
{
	struct context *c = test->priv;
	struct srnic_recv_ring *recv = &c->srq->srq->recv;
	struct srnic_recv_wqe *slot = srnic_ring_slot(&recv->ring, 0);
	u32 room;

	slot->num_sge = 0x10000001;
	recv->ring.hdr->prod = 1;
	KUNIT_ASSERT_TRUE(test, take(c));
	KUNIT_EXPECT_NE(test, core_recv_wqe_check(taken(c), recv->ring.slot_size, &room),
			CORE_WQE_OK);
}

static int init(struct kunit *test)
{
	struct context *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	c->srq = srnic_test_srq(test, srnic_test_pd(test, srnic_test_device(test)), ENTRIES, LIMIT);
	return 0;
}

static struct kunit_case cases[] = {
	KUNIT_CASE(receives_are_taken_in_the_order_of_posting),
	KUNIT_CASE(a_full_queue_refuses_and_names_the_request),
	KUNIT_CASE(a_list_that_does_not_fit_is_refused),
	KUNIT_CASE(the_limit_is_told_once),
	KUNIT_CASE(the_limit_can_be_set_again),
	KUNIT_CASE(a_limit_beyond_the_queue_is_refused),
	KUNIT_CASE(order_and_room_are_kept_where_the_indices_wrap),
	KUNIT_CASE(a_user_that_publishes_what_cannot_be_has_posted_nothing),
	KUNIT_CASE(a_slot_is_read_once),
	KUNIT_CASE(a_slot_that_lies_about_its_list_is_broken),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_srq", .init = init, .test_cases = cases };

kunit_test_suite(suite);
