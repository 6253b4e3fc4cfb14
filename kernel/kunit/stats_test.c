// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What counters show of a stream, and counters of single QPs.
 */
#include "device/counter.h"
#include "stream.h"

static u64 counted(struct srnic_test_conn *c, enum srnic_counter counter)
{
	return srnic_counted(c->set.dev, counter);
}

/* A Send of the peer. Its FPDU stays off the stack of a caller that sends several. */
static noinline void take_one(struct kunit *test, struct stream *s, u8 *octets)
{
	post_receive(test, s, octets + OCTETS);
	say_send(test, s, octets);
	expect_completion(test, IB_WC_RECV);
}

static void a_message_without_a_receive_is_counted(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	u8 *octets = octets_for(test);
	struct stream s = begin(test, c->set.pd);

	take_one(test, &s, octets);
	KUNIT_EXPECT_EQ(test, counted(c, SRNIC_RX_NO_RECEIVE), 0);
	say_send(test, &s, octets);
	hear_terminate(test, &s, CORE_LAYER_DDP, 2, 2);
	KUNIT_EXPECT_EQ(test, counted(c, SRNIC_RX_NO_RECEIVE), 1);
	srnic_test_expect_nothing_left(test, c);
}

static void the_limit_of_a_shared_queue_and_its_end_are_counted(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_srq *srq = srnic_test_srq(test, c->set.pd, 4, 1);
	u8 *octets = octets_for(test);
	struct stream s = begin_with(test, c->set.pd, srq);
	struct ib_sge sge = sge_of(c, octets + OCTETS);
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	KUNIT_ASSERT_EQ(test, ib_post_srq_recv(srq->base, &wr, NULL), 0);
	say_send(test, &s, octets);
	expect_completion(test, IB_WC_RECV);
	KUNIT_EXPECT_EQ(test, counted(c, SRNIC_SRQ_LIMITS), 1);
	KUNIT_EXPECT_EQ(test, counted(c, SRNIC_RX_NO_RECEIVE), 0);
	say_send(test, &s, octets);
	hear_terminate(test, &s, CORE_LAYER_DDP, 2, 2);
	KUNIT_EXPECT_EQ(test, counted(c, SRNIC_SRQ_LIMITS), 1);
	KUNIT_EXPECT_EQ(test, counted(c, SRNIC_RX_NO_RECEIVE), 1);
	srnic_test_expect_nothing_left(test, c);
}

static void a_request_that_waits_for_a_read_is_counted(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	u8 *octets = octets_for(test);
	struct stream s = begin(test, c->set.pd);
	struct ib_sge sge = sge_of(c, octets);
	struct ib_send_wr fenced = {
		.opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.send_flags = IB_SEND_SIGNALED | IB_SEND_FENCE,
	};
	u32 sink;

	post(test, &s, IB_WR_RDMA_READ, octets + OCTETS);
	sink = sink_of(hear(test, &s, CORE_MSG_READ_REQUEST));
	KUNIT_EXPECT_EQ(test, counted(c, SRNIC_TX_ORD_STALLS), 0);
	srnic_test_calm(s.qp);	/* the engine looks once for the next post */
	KUNIT_ASSERT_EQ(test, ib_post_send(&s.qp->base, &fenced, NULL), 0);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(counted(c, SRNIC_TX_ORD_STALLS) == 1));
	say_response(test, &s, sink, octets);
	hear(test, &s, CORE_MSG_SEND);
	expect_completion(test, IB_WC_RDMA_READ);
	expect_completion(test, IB_WC_SEND);
	KUNIT_EXPECT_EQ(test, counted(c, SRNIC_TX_COPIED), OCTETS);
	srnic_test_expect_nothing_left(test, c);
}

static void a_qp_that_is_bound_counts_in_its_counter_alone(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct rdma_counter counter = { .device = &c->set.dev->base, .port = 1 };
	u8 *octets = octets_for(test);
	struct stream s = begin(test, c->set.pd), other = begin(test, c->set.pd);
	const u64 before = 2;	/* the RTRs, each counted a moment after it has come */

	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(counted(c, SRNIC_RX_FPDUS) == before));
	counter.stats = srnic_counter_alloc_stats(&counter);
	KUNIT_ASSERT_NOT_NULL(test, counter.stats);
	KUNIT_ASSERT_EQ(test, srnic_counter_bind_qp(&counter, &s.qp->base), 0);
	KUNIT_EXPECT_PTR_EQ(test, s.qp->base.counter, &counter);
	KUNIT_EXPECT_NE(test, counter.id, 0);
	KUNIT_EXPECT_EQ(test, srnic_counter_bind_qp(&counter, &s.qp->base), -EBUSY);

	take_one(test, &s, octets);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(!srnic_counter_update_stats(&counter) &&
						      counter.stats->value[SRNIC_RX_FPDUS] == 1));
	KUNIT_EXPECT_EQ(test, counted(c, SRNIC_RX_FPDUS), before);

	take_one(test, &other, octets);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(counted(c, SRNIC_RX_FPDUS) == before + 1));

	KUNIT_EXPECT_EQ(test, srnic_counter_unbind_qp(&s.qp->base), 0);
	KUNIT_EXPECT_NULL(test, s.qp->base.counter);
	take_one(test, &s, octets);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(counted(c, SRNIC_RX_FPDUS) == before + 2));
	KUNIT_EXPECT_EQ(test, srnic_counted_in_all(c->set.dev, SRNIC_RX_FPDUS), before + 3);
	srnic_counter_update_stats(&counter);
	KUNIT_EXPECT_EQ(test, counter.stats->value[SRNIC_RX_FPDUS], 1);
	KUNIT_EXPECT_EQ(test, srnic_counter_dealloc(&counter), 0);
	KUNIT_EXPECT_EQ(test, srnic_counter_update_stats(&counter), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_counted_in_all(c->set.dev, SRNIC_RX_FPDUS), before + 3);
	rdma_free_hw_stats_struct(counter.stats);
	srnic_test_expect_nothing_left(test, c);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_message_without_a_receive_is_counted),
	KUNIT_CASE(the_limit_of_a_shared_queue_and_its_end_are_counted),
	KUNIT_CASE(a_request_that_waits_for_a_read_is_counted),
	KUNIT_CASE(a_qp_that_is_bound_counts_in_its_counter_alone),
	{ }
};

static struct kunit_suite suite = {
	.name = "srnic_stats",
	.init = srnic_test_conn_init,
	.exit = srnic_test_conn_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
