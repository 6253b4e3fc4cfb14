// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Address handles (datagram/ah.c).
 */
#include <rdma/srnic-abi.h>

#include "datagram.h"
#include "datagram/ah.h"

static struct ib_ah *try(struct ib_pd *pd, struct rdma_ah_attr attr)
{
	struct ib_ah *ah = rdma_create_ah(pd, &attr, RDMA_CREATE_AH_SLEEPABLE);

	if (!IS_ERR(ah))
		destroy_ah(ah);
	return ah;
}

static void expect_error(struct kunit *test, struct ib_pd *pd, struct rdma_ah_attr attr, int error)
{
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(try(pd, attr)), error);
}

static void what_it_is_made_of_is_checked(struct kunit *test)
{
	struct ud_ends *e = make_ud_ends(test);
	union ib_gid v4 = gid_of_v4(INADDR_LOOPBACK), v6 = gid_of_lo6();
	int index = index_of_gid(e->dev, &v4);
	struct rdma_ah_attr attr = ah_attr_of(&v4, index);

	expect_error(test, e->pd, attr, 0);
	expect_error(test, e->pd, ah_attr_of(&v4, 255), -ENODATA);	/* no such GID */
	expect_error(test, e->pd, ah_attr_of(&v6, index), -EAFNOSUPPORT);
	attr.type = RDMA_AH_ATTR_TYPE_IB;
	expect_error(test, e->pd, attr, -EINVAL);
	attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_ah_flags(&attr, 0);	/* no GRH */
	expect_error(test, e->pd, attr, -EINVAL);
}

static void it_says_what_it_was_made_of(struct kunit *test)
{
	struct ud_ends *e = make_ud_ends(test);
	union ib_gid v4 = gid_of_v4(INADDR_LOOPBACK);
	struct rdma_ah_attr attr;

	KUNIT_ASSERT_EQ(test, rdma_query_ah(e->ah, &attr), 0);
	KUNIT_EXPECT_EQ(test, attr.type, RDMA_AH_ATTR_TYPE_ROCE);
	KUNIT_EXPECT_MEMEQ(test, rdma_ah_read_grh(&attr)->dgid.raw, v4.raw, sizeof(v4));
	KUNIT_EXPECT_EQ(test, rdma_ah_read_grh(&attr)->hop_limit, 64);
	KUNIT_EXPECT_NULL(test, rdma_ah_read_grh(&attr)->sgid_attr);
}

/* Communication managers hold a spinlock meanwhile. */
static void it_may_be_made_where_nothing_may_sleep(struct kunit *test)
{
	struct ud_ends *e = make_ud_ends(test);
	union ib_gid v4 = gid_of_v4(INADDR_LOOPBACK);
	struct rdma_ah_attr attr = ah_attr_of(&v4, index_of_gid(e->dev, &v4));
	DEFINE_SPINLOCK(lock);
	unsigned long flags;
	struct ib_ah *ah;

	spin_lock_irqsave(&lock, flags);
	ah = rdma_create_ah(e->pd, &attr, 0);
	if (!IS_ERR(ah))
		rdma_destroy_ah(ah, 0);
	KUNIT_EXPECT_TRUE(test, irqs_disabled());
	spin_unlock_irqrestore(&lock, flags);
	KUNIT_EXPECT_FALSE(test, IS_ERR(ah));
}

static void its_number_is_of_its_protection_domain(struct kunit *test)
{
	struct ud_ends *e = make_ud_ends(test);
	u32 number = to_srnic_ah(e->ah)->number, pd = to_srnic_pd(e->pd)->id;
	struct srnic_path path;
	u8 hops;

	KUNIT_EXPECT_NE(test, number, 0);
	KUNIT_EXPECT_EQ(test, srnic_ah_path(e->dev, number, pd, &path, &hops), 0);
	KUNIT_EXPECT_EQ(test, path.there.ss_family, AF_INET);
	KUNIT_EXPECT_EQ(test, hops, 64);
	KUNIT_EXPECT_EQ(test, srnic_ah_path(e->dev, number, pd + 1, &path, &hops), -ENOENT);
	KUNIT_EXPECT_EQ(test, srnic_ah_path(e->dev, number + 1, pd, &path, &hops), -ENOENT);
	KUNIT_EXPECT_EQ(test, srnic_ah_path(e->dev, 0, pd, &path, &hops), -ENOENT);
	KUNIT_EXPECT_EQ(test, srnic_ah_path(e->dev, U32_MAX, pd, &path, &hops), -ENOENT);
	kunit_release_action(test, destroy_ah, e->ah);
	KUNIT_EXPECT_EQ(test, srnic_ah_path(e->dev, number, pd, &path, &hops), -ENOENT);
}

static void a_number_is_not_used_again_at_once(struct kunit *test)
{
	struct ud_ends *e = make_ud_ends(test);
	union ib_gid v4 = gid_of_v4(INADDR_LOOPBACK);
	u32 first = to_srnic_ah(e->ah)->number;

	kunit_release_action(test, destroy_ah, e->ah);
	e->ah = make_ah(test, e->dev, e->pd, &v4);
	KUNIT_EXPECT_NE(test, to_srnic_ah(e->ah)->number, first);
}

/* What a program asks for, with so many bytes for the response. */
static int create_for_user(struct kunit *test, struct ud_ends *e, size_t room)
{
	union ib_gid v4 = gid_of_v4(INADDR_LOOPBACK);
	struct rdma_ah_attr attr = ah_attr_of(&v4, index_of_gid(e->dev, &v4));
	struct rdma_ah_init_attr init = { .ah_attr = &attr, .flags = RDMA_CREATE_AH_SLEEPABLE };
	struct srnic_ah *ah = kunit_kzalloc(test, sizeof(*ah), GFP_KERNEL);
	struct ib_udata udata = { .outlen = room };

	KUNIT_ASSERT_NOT_NULL(test, ah);
	ah->base.device = &e->dev->base;
	ah->base.pd = e->pd;
	ah->base.sgid_attr = e->ah->sgid_attr;
	return srnic_create_ah(&ah->base, &init, &udata);
}

/* A program that could not learn the number has no use for it. */
static void a_user_must_have_room_for_the_number(struct kunit *test)
{
	struct ud_ends *e = make_ud_ends(test);

	for (size_t room = 0; room < sizeof(u32); room++)
		KUNIT_EXPECT_EQ(test, create_for_user(test, e, room), -EINVAL);
}

static void take_numbers(struct ud_ends *e, u32 from, u32 to)
{
	u32 number;

	while (!xa_alloc_irq(&e->dev->datagrams.ahs, &number, e->from, XA_LIMIT(from, to),
			     GFP_KERNEL))
		cond_resched();
}

static void free_numbers(struct ud_ends *e)
{
	for (u32 number = 1; number <= 2 * SRNIC_MAX_AH; number++)
		if (xa_load(&e->dev->datagrams.ahs, number) == e->from)
			xa_erase_irq(&e->dev->datagrams.ahs, number);
}

/* The kernel has its own: programs must not keep communication managers from answering. */
static void there_is_a_limit(struct kunit *test)
{
	struct ud_ends *e = make_ud_ends(test);
	union ib_gid v4 = gid_of_v4(INADDR_LOOPBACK);
	struct rdma_ah_attr attr = ah_attr_of(&v4, index_of_gid(e->dev, &v4));

	KUNIT_EXPECT_EQ(test, e->dev->base.attrs.max_ah, SRNIC_MAX_AH);
	take_numbers(e, 1, SRNIC_MAX_AH);
	KUNIT_EXPECT_EQ(test, create_for_user(test, e, sizeof(struct srnic_create_ah_resp)),
			-ENOMEM);
	expect_error(test, e->pd, attr, 0);
	take_numbers(e, SRNIC_MAX_AH + 1, 2 * SRNIC_MAX_AH);
	expect_error(test, e->pd, attr, -ENOMEM);
	free_numbers(e);
	expect_error(test, e->pd, attr, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(what_it_is_made_of_is_checked),
	KUNIT_CASE(it_says_what_it_was_made_of),
	KUNIT_CASE(it_may_be_made_where_nothing_may_sleep),
	KUNIT_CASE(its_number_is_of_its_protection_domain),
	KUNIT_CASE(a_number_is_not_used_again_at_once),
	KUNIT_CASE(a_user_must_have_room_for_the_number),
	KUNIT_CASE(there_is_a_limit),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_ah", .test_cases = cases };

kunit_test_suite(suite);
