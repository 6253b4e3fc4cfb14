// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * QPs that are connected by hand (pairing/; Documentation/ib.rst, whose rules are named by number):
 * QPs of one device on lo, by the kernel's own verbs.
 */
#include <linux/inet.h>
#include <rdma/ib_cache.h>

#include "ends.h"
#include "pairing/pairing.h"
#include "stream/number.h"

#define ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/* Two ends whose addresses are one GID, at this index of the device's table. */
struct named_ends {
	struct ends ends;
	union ib_gid gid;
	int index;
};

/* ---- two QPs ---- */

/* The entry of 127.0.0.1. */
static bool find_gid(struct named_ends *e)
{
	union ib_gid wanted = { };

	wanted.raw[10] = 0xff;
	wanted.raw[11] = 0xff;
	wanted.raw[12] = 127;
	wanted.raw[15] = 1;
	for (e->index = 0; e->index < 16; e->index++)
		if (!rdma_query_gid(&e->ends.dev->base, 1, e->index, &e->gid) &&
		    !memcmp(&e->gid, &wanted, sizeof(wanted)))
			return true;
	return false;
}

static struct ends *make_ends(struct kunit *test)
{
	struct named_ends *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, e);
	prepare(test, &e->ends, srnic_test_ib_device(test));
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(find_gid(e)));
	make_end(test, &e->ends, &e->ends.a);
	make_end(test, &e->ends, &e->ends.b);
	return &e->ends;
}

/* ---- states ---- */

static int to_init(struct end *end)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1,
				   .qp_access_flags = ACCESS };

	return ib_modify_qp(&end->qp->base, &attr,
			    IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

static int to_rtr(struct ends *e, struct end *end, const struct end *peer)
{
	struct named_ends *named = container_of(e, struct named_ends, ends);
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR, .path_mtu = IB_MTU_1024,
		.dest_qp_num = peer->qp->base.qp_num, .rq_psn = 7, .max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
	};

	attr.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	rdma_ah_set_grh(&attr.ah_attr, &named->gid, 0, named->index, 64, 0);
	return ib_modify_qp(&end->qp->base, &attr,
			    IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
				    IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
}

static int to_rts(struct end *end)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS, .timeout = 1, .retry_cnt = 0,
				   .rnr_retry = 7, .sq_psn = 9, .max_rd_atomic = 4 };

	return ib_modify_qp(&end->qp->base, &attr,
			    IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
				    IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

static int to(struct end *end, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	return ib_modify_qp(&end->qp->base, &attr, IB_QP_STATE);
}

static void pair(struct kunit *test, struct ends *e, struct end *end, struct end *peer)
{
	KUNIT_ASSERT_EQ(test, to_init(end), 0);
	KUNIT_ASSERT_EQ(test, to_rtr(e, end, peer), 0);
	KUNIT_ASSERT_EQ(test, to_rts(end), 0);
}

static bool has_stream(const struct end *end)
{
	return READ_ONCE(end->qp->state) == SRNIC_QP_RTS;
}

static struct ends *connect(struct kunit *test)
{
	struct ends *e = make_ends(test);

	pair(test, e, &e->a, &e->b);
	pair(test, e, &e->b, &e->a);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(has_stream(&e->a) && has_stream(&e->b)));
	return e;
}

/* ---- cases ---- */

/* 54, 55, 61: in both directions, whoever has connected. */
static void two_qps_find_each_other(struct kunit *test)
{
	struct ends *e = connect(test);

	exchange(test, e, &e->a, &e->b);
	exchange(test, e, &e->b, &e->a);
}

/* 54: "It never fails for an absent peer." */
static void what_is_posted_waits_for_the_peer(struct kunit *test)
{
	struct ends *e = make_ends(test);

	pair(test, e, &e->a, &e->b);
	post_send(test, e, &e->a);
	KUNIT_ASSERT_EQ(test, to_init(&e->b), 0);
	post_receive(test, e, &e->b);
	fsleep(300000);
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(e->a.cq));
	KUNIT_ASSERT_EQ(test, to_rtr(e, &e->b, &e->a), 0);
	expect(test, &e->a, IB_WC_SUCCESS);	/* in RTR the peer receives, and acknowledges */
	expect(test, &e->b, IB_WC_SUCCESS);
}

static void in_rtr_no_request_is_sent(struct kunit *test)
{
	struct ends *e = make_ends(test);

	pair(test, e, &e->a, &e->b);
	KUNIT_ASSERT_EQ(test, to_init(&e->b), 0);
	KUNIT_ASSERT_EQ(test, to_rtr(e, &e->b, &e->a), 0);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(has_stream(&e->b)));
	post_receive(test, e, &e->a);
	post_send(test, e, &e->b);
	fsleep(100000);
	KUNIT_EXPECT_EQ(test, READ_ONCE(e->b.qp->sq.taken), 0);
	KUNIT_ASSERT_EQ(test, to_rts(&e->b), 0);
	expect(test, &e->b, IB_WC_SUCCESS);
	expect(test, &e->a, IB_WC_SUCCESS);
}

/* 48, 57: with the same numbers. */
static void qps_that_were_reset_find_each_other_again(struct kunit *test)
{
	struct ends *e = connect(test);

	for (int n = 0; n < 20; n++) {
		exchange(test, e, n & 1 ? &e->a : &e->b, n & 1 ? &e->b : &e->a);
		KUNIT_ASSERT_EQ(test, to(&e->a, IB_QPS_RESET), 0);
		KUNIT_ASSERT_EQ(test, to(&e->b, IB_QPS_RESET), 0);
		pair(test, e, &e->a, &e->b);
		pair(test, e, &e->b, &e->a);
	}
}

static void a_reset_completes_nothing(struct kunit *test)
{
	struct ends *e = connect(test);

	for (int n = 0; n < 8; n++)
		post_receive(test, e, &e->a);
	KUNIT_ASSERT_EQ(test, to(&e->b, IB_QPS_RESET), 0);
	for (int n = 0; n < 8; n++)
		post_send(test, e, &e->a);
	KUNIT_ASSERT_EQ(test, to(&e->a, IB_QPS_RESET), 0);
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(e->a.cq));
	pair(test, e, &e->a, &e->b);
	pair(test, e, &e->b, &e->a);
	exchange(test, e, &e->b, &e->a);
	exchange(test, e, &e->a, &e->b);
}

/* 31: "... an Ack of all that it has delivered" */
static void a_send_succeeds_though_its_receiver_is_destroyed(struct kunit *test)
{
	struct ends *e = make_ends(test);

	for (int n = 0; n < 10; n++) {
		pair(test, e, &e->a, &e->b);
		pair(test, e, &e->b, &e->a);
		post_receive(test, e, &e->b);
		post_send(test, e, &e->a);
		expect(test, &e->b, IB_WC_SUCCESS);
		srnic_test_destroy_qp(test, e->b.qp);
		expect(test, &e->a, IB_WC_SUCCESS);
		srnic_test_destroy_qp(test, e->a.qp);
		make_end(test, e, &e->a);
		make_end(test, e, &e->b);
	}
}

/* 28: also if the peer says that its QP is gone. */
static void a_send_to_a_qp_that_is_gone_fails_in_time(struct kunit *test)
{
	struct ends *e = connect(test);
	unsigned long begun;

	exchange(test, e, &e->a, &e->b);
	post_send(test, e, &e->a);	/* finds no receive */
	fsleep(50000);
	begun = jiffies;
	KUNIT_ASSERT_EQ(test, to(&e->b, IB_QPS_RESET), 0);
	post_send(test, e, &e->a);
	expect_overdue(test, &e->a, begun, 1900);
	expect(test, &e->a, IB_WC_WR_FLUSH_ERR);
}

/* 68: "If the peer cannot connect, the next request finds out." */
static void a_send_to_a_qp_that_was_destroyed_fails_in_time(struct kunit *test)
{
	struct ends *e = connect(test);
	unsigned long begun;

	exchange(test, e, &e->a, &e->b);
	srnic_test_destroy_qp(test, e->b.qp);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(!has_stream(&e->a)));
	fsleep(1000000);	/* time counts from when a request is posted */
	begun = jiffies;
	post_send(test, e, &e->a);
	post_send(test, e, &e->a);
	expect_overdue(test, &e->a, begun, 2000);
	expect(test, &e->a, IB_WC_WR_FLUSH_ERR);
}

/* 62 */
static void a_qp_may_be_connected_with_itself(struct kunit *test)
{
	struct ends *e = make_ends(test);

	pair(test, e, &e->a, &e->a);
	for (int n = 0; n < 3; n++) {
		memset(e->into, 0, OCTETS);
		post_receive(test, e, &e->a);
		post_send(test, e, &e->a);
		expect(test, &e->a, IB_WC_SUCCESS);
		expect(test, &e->a, IB_WC_SUCCESS);
		KUNIT_EXPECT_MEMEQ(test, e->into, e->from, OCTETS);
	}
}

/* 49 */
static void each_rtr_draws_an_incarnation(struct kunit *test)
{
	struct ends *e = connect(test);
	u64 first = srnic_pairing_of(e->a.qp)->core.incarnation, second;

	KUNIT_ASSERT_EQ(test, to(&e->a, IB_QPS_RESET), 0);
	pair(test, e, &e->a, &e->b);
	second = srnic_pairing_of(e->a.qp)->core.incarnation;
	KUNIT_EXPECT_NE(test, first, 0);
	KUNIT_EXPECT_NE(test, second, 0);
	KUNIT_EXPECT_NE(test, first, second);
}

static void numbers_of_qps_are_of_all_devices(struct kunit *test)
{
	struct ends *e = make_ends(test);
	struct srnic_qp *found = srnic_number_find(e->a.qp->base.qp_num);

	KUNIT_EXPECT_PTR_EQ(test, found, e->a.qp);
	if (found)
		srnic_qp_put(found);
	KUNIT_EXPECT_NE(test, e->a.qp->base.qp_num + 1, e->b.qp->base.qp_num);
	KUNIT_EXPECT_GE(test, e->a.qp->base.qp_num, 2);
	KUNIT_EXPECT_LE(test, e->a.qp->base.qp_num, 0xffffff);
}

static void states_follow_each_other_as_infiniband_has_them(struct kunit *test)
{
	struct ends *e = make_ends(test);
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	KUNIT_EXPECT_EQ(test, to_rts(&e->a), -EINVAL);
	KUNIT_EXPECT_EQ(test, to_rtr(e, &e->a, &e->b), -EINVAL);
	pair(test, e, &e->a, &e->b);
	KUNIT_ASSERT_EQ(test, ib_query_qp(&e->a.qp->base, &attr, 0, &init), 0);
	KUNIT_EXPECT_EQ(test, attr.qp_state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, attr.dest_qp_num, e->b.qp->base.qp_num);
	KUNIT_EXPECT_EQ(test, attr.rq_psn, 7);
	KUNIT_EXPECT_EQ(test, attr.sq_psn, 9);
	KUNIT_EXPECT_EQ(test, attr.max_rd_atomic, 4);
	KUNIT_EXPECT_EQ(test, attr.rnr_retry, 7);
	KUNIT_EXPECT_EQ(test, attr.path_mtu, IB_MTU_1024);
	KUNIT_EXPECT_EQ(test, to(&e->a, IB_QPS_SQD), 0);
	KUNIT_EXPECT_EQ(test, to(&e->a, IB_QPS_RTS), 0);
	KUNIT_EXPECT_EQ(test, to(&e->a, IB_QPS_ERR), 0);
	KUNIT_EXPECT_EQ(test, to(&e->a, IB_QPS_RTS), -EINVAL);
	KUNIT_EXPECT_EQ(test, to(&e->a, IB_QPS_RESET), 0);
	KUNIT_ASSERT_EQ(test, ib_query_qp(&e->a.qp->base, &attr, 0, &init), 0);
	KUNIT_EXPECT_EQ(test, attr.qp_state, IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, attr.dest_qp_num, 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(two_qps_find_each_other),
	KUNIT_CASE(what_is_posted_waits_for_the_peer),
	KUNIT_CASE(in_rtr_no_request_is_sent),
	KUNIT_CASE(qps_that_were_reset_find_each_other_again),
	KUNIT_CASE(a_reset_completes_nothing),
	KUNIT_CASE(a_send_succeeds_though_its_receiver_is_destroyed),
	KUNIT_CASE(a_send_to_a_qp_that_is_gone_fails_in_time),
	KUNIT_CASE(a_send_to_a_qp_that_was_destroyed_fails_in_time),
	KUNIT_CASE(a_qp_may_be_connected_with_itself),
	KUNIT_CASE(each_rtr_draws_an_incarnation),
	KUNIT_CASE(numbers_of_qps_are_of_all_devices),
	KUNIT_CASE(states_follow_each_other_as_infiniband_has_them),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_pairing", .test_cases = cases };

kunit_test_suite(suite);
