// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Acknowledgements (stream/acks.h; Documentation/ib.rst, whose rules are named by number): two QPs
 * whose requests complete when the other end has done them.
 */
#include "owned_ends.h"
#include "stream/detach.h"

static struct ends *connect(struct kunit *test)
{
	struct ends *e = make_owned_ends(test);

	start(test, &e->a, true);
	start(test, &e->b, false);
	return e;
}

/* TCP loses the stream. */
static void lose(struct ends *e)
{
	srnic_qp_detach(e->a.qp, &e->a.owner->base);
	srnic_qp_detach(e->b.qp, &e->b.owner->base);
	srnic_rest_free(&e->a.owner->rest);
	srnic_rest_free(&e->b.owner->rest);
}

/* Another stream, which the other end has opened. */
static void come_back(struct kunit *test, struct ends *e)
{
	connect_sockets(test, e);
	start(test, &e->b, true);
	start(test, &e->a, false);
}

/* ---- requests ---- */

static void post_with(struct kunit *test, struct ends *e, enum ib_wr_opcode opcode, int flags,
		      u64 to, u32 rkey, u32 lkey)
{
	struct ib_sge sge = memory_of(e, e->from, OCTETS);
	struct ib_rdma_wr wr = {
		.wr = { .opcode = opcode, .send_flags = flags, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = to,
		.rkey = rkey,
	};

	if (lkey)
		sge.lkey = lkey;
	KUNIT_ASSERT_EQ(test, ib_post_send(&e->a.qp->base, &wr.wr, NULL), 0);
}

static void post_reg(struct kunit *test, struct ends *e, struct srnic_test_mr *mr)
{
	struct ib_reg_wr wr = {
		.wr = { .opcode = IB_WR_REG_MR, .send_flags = IB_SEND_SIGNALED },
		.mr = mr->base,
		.key = mr->base->rkey,
		.access = IB_ACCESS_LOCAL_WRITE,
	};

	KUNIT_ASSERT_EQ(test, ib_post_send(&e->a.qp->base, &wr.wr, NULL), 0);
}

static void post_invalidate(struct kunit *test, struct ends *e, struct srnic_test_mr *mr)
{
	struct ib_send_wr wr = { .opcode = IB_WR_LOCAL_INV, .send_flags = IB_SEND_SIGNALED,
				 .ex.invalidate_rkey = mr->base->rkey };

	KUNIT_ASSERT_EQ(test, ib_post_send(&e->a.qp->base, &wr, NULL), 0);
}

/* The first bytes of this region are sent. */
static void post_of(struct kunit *test, struct ends *e, struct srnic_test_mr *mr,
		    enum ib_wr_opcode opcode, u64 to, u32 rkey)
{
	struct ib_sge sge = { .addr = mr->base->iova, .length = OCTETS, .lkey = mr->base->lkey };
	struct ib_rdma_wr wr = {
		.wr = { .opcode = opcode, .send_flags = IB_SEND_SIGNALED, .sg_list = &sge,
			.num_sge = 1 },
		.remote_addr = to,
		.rkey = rkey,
	};

	KUNIT_ASSERT_EQ(test, ib_post_send(&e->a.qp->base, &wr.wr, NULL), 0);
}

static void post_add(struct kunit *test, struct ends *e, u64 *original, struct srnic_test_mr *mr)
{
	struct ib_sge sge = memory_of(e, original, sizeof(*original));
	struct ib_atomic_wr wr = {
		.wr = { .opcode = IB_WR_ATOMIC_FETCH_AND_ADD, .send_flags = IB_SEND_SIGNALED,
			.sg_list = &sge, .num_sge = 1 },
		.remote_addr = mr->base->iova + (8 - SRNIC_TEST_OFFSET % 8) % 8,
		.rkey = mr->base->rkey,
		.compare_add = 1,
	};

	KUNIT_ASSERT_EQ(test, ib_post_send(&e->a.qp->base, &wr.wr, NULL), 0);
}

static void expect_done(struct kunit *test, struct end *end, enum ib_wc_opcode opcode)
{
	struct ib_wc wc = { };

	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(ib_poll_cq(end->cq->base, 1, &wc) == 1));
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.opcode, opcode);
}

/* A region of the requester's, which it is to register by a request. */
static struct srnic_test_mr *own_region(struct kunit *test, struct ends *e)
{
	struct srnic_test_mr *mr = srnic_test_mr(test, e->pd);

	ib_update_fast_reg_key(mr->base, 7);
	get_random_bytes(mr->page[0] + SRNIC_TEST_OFFSET, OCTETS);
	return mr;
}

static bool is_valid(struct srnic_test_mr *mr)
{
	return READ_ONCE(mr->mr->state) == SRNIC_MR_VALID;
}

/* A region of the responder's, with every right. */
static struct srnic_test_mr *region(struct kunit *test, struct ends *e)
{
	struct srnic_test_mr *mr = srnic_test_mr(test, e->pd);

	srnic_test_reg(test, mr,
		       CORE_ACCESS_LOCAL_WRITE | CORE_ACCESS_REMOTE_WRITE |
			       CORE_ACCESS_REMOTE_READ | CORE_ACCESS_REMOTE_ATOMIC);
	return mr;
}

static bool is_over(const struct end *end)
{
	return READ_ONCE(end->owner->over) == CORE_CONN_TERMINATED;
}

/* The peer refuses a request so often. */
static bool is_refused(struct ends *e, u32 times)
{
	return READ_ONCE(e->b.qp->acks->core.refusals) >= times;
}

/* ---- cases ---- */

/* 13 */
static void a_send_completes_when_the_peer_has_it(struct kunit *test)
{
	struct ends *e = connect(test);

	exchange(test, e, &e->a, &e->b);
	KUNIT_EXPECT_EQ(test, READ_ONCE(e->b.qp->acks->core.received), 1);
}

/* 19 to 22 */
static void a_send_waits_for_its_receive(struct kunit *test)
{
	struct ends *e = connect(test);

	post_send(test, e, &e->a);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(is_refused(e, 3)));
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(e->a.cq));
	post_receive(test, e, &e->b);
	expect(test, &e->a, IB_WC_SUCCESS);
	expect(test, &e->b, IB_WC_SUCCESS);
	KUNIT_EXPECT_MEMEQ(test, e->into, e->from, OCTETS);
}

/* 20, 22: each of what follows is done once. */
static void what_follows_a_refused_send_comes_again(struct kunit *test)
{
	struct ends *e = connect(test);
	struct srnic_test_mr *mr = region(test, e);
	u64 *original = kunit_kzalloc(test, 2 * sizeof(*original), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, original);
	original[0] = 5;
	original[1] = 5;
	post_send(test, e, &e->a);
	post_add(test, e, &original[0], mr);
	post_with(test, e, IB_WR_RDMA_WRITE, IB_SEND_SIGNALED, mr->base->iova + OCTETS,
		  mr->base->rkey, 0);
	post_add(test, e, &original[1], mr);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(is_refused(e, 2)));
	post_receive(test, e, &e->b);
	for (int n = 0; n < 4; n++)
		expect(test, &e->a, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, original[0], 0);
	KUNIT_EXPECT_EQ(test, original[1], 1);
	KUNIT_EXPECT_MEMEQ(test, mr->page[0] + SRNIC_TEST_OFFSET + OCTETS, e->from, OCTETS);
}

/*
 * 22: a REG_MR that is done stays done, or its second registration would fail; and it completes in
 * its turn.
 */
static void a_registration_behind_a_refused_send_is_done_once(struct kunit *test)
{
	struct ends *e = connect(test);
	struct srnic_test_mr *mr = own_region(test, e);

	post_send(test, e, &e->a);
	post_reg(test, e, mr);
	post_of(test, e, mr, IB_WR_SEND, 0, 0);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(is_refused(e, 3)));
	KUNIT_EXPECT_TRUE(test, is_valid(mr));
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(e->a.cq));
	post_receive(test, e, &e->b);
	expect_done(test, &e->a, IB_WC_SEND);
	expect_done(test, &e->a, IB_WC_REG_MR);
	post_receive(test, e, &e->b);
	expect_done(test, &e->a, IB_WC_SEND);
	KUNIT_EXPECT_MEMEQ(test, e->into, mr->page[0] + SRNIC_TEST_OFFSET, OCTETS);
}

/* 22: the Write comes again, and needs its region until it is acknowledged. */
static void an_invalidation_waits_until_what_comes_before_is_acknowledged(struct kunit *test)
{
	struct ends *e = connect(test);
	struct srnic_test_mr *mr = own_region(test, e), *sink = region(test, e);

	post_reg(test, e, mr);
	expect_done(test, &e->a, IB_WC_REG_MR);
	post_send(test, e, &e->a);
	post_of(test, e, mr, IB_WR_RDMA_WRITE, sink->base->iova, sink->base->rkey);
	post_invalidate(test, e, mr);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(is_refused(e, 3)));
	KUNIT_EXPECT_TRUE(test, is_valid(mr));
	post_receive(test, e, &e->b);
	expect_done(test, &e->a, IB_WC_SEND);
	expect_done(test, &e->a, IB_WC_RDMA_WRITE);
	expect_done(test, &e->a, IB_WC_LOCAL_INV);
	KUNIT_EXPECT_FALSE(test, is_valid(mr));
	KUNIT_EXPECT_MEMEQ(test, sink->page[0] + SRNIC_TEST_OFFSET,
			   mr->page[0] + SRNIC_TEST_OFFSET, OCTETS);
}

/* 22: local operations of all kinds, with requests between them that are refused in turn. */
static void a_region_is_registered_anew_between_refused_sends(struct kunit *test)
{
	struct ends *e = connect(test);
	struct srnic_test_mr *mr = own_region(test, e);

	post_reg(test, e, mr);
	post_of(test, e, mr, IB_WR_SEND, 0, 0);
	post_invalidate(test, e, mr);
	ib_update_fast_reg_key(mr->base, 8);
	post_reg(test, e, mr);
	post_of(test, e, mr, IB_WR_SEND, 0, 0);
	post_invalidate(test, e, mr);
	expect_done(test, &e->a, IB_WC_REG_MR);
	for (u32 n = 0; n < 2; n++) {
		KUNIT_ASSERT_TRUE(test, srnic_test_eventually(is_refused(e, 2 * n + 2)));
		KUNIT_EXPECT_TRUE(test, is_valid(mr));
		post_receive(test, e, &e->b);
		expect_done(test, &e->a, IB_WC_SEND);
		expect_done(test, &e->a, IB_WC_LOCAL_INV);
		if (!n)
			expect_done(test, &e->a, IB_WC_REG_MR);
	}
	KUNIT_EXPECT_FALSE(test, is_valid(mr));
}

/* 23 */
static void a_send_is_tried_as_often_as_the_qp_says(struct kunit *test)
{
	struct ends *e = connect(test);

	WRITE_ONCE(e->a.qp->acks->core.rnr_retry, 2);
	post_send(test, e, &e->a);
	post_send(test, e, &e->a);
	expect(test, &e->a, IB_WC_RNR_RETRY_EXC_ERR);
	expect(test, &e->a, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, READ_ONCE(e->b.qp->acks->core.refusals), 3);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(is_over(&e->a)));
}

/* 17, 24 to 26 */
static void a_refused_write_fails_alone_and_last(struct kunit *test)
{
	struct ends *e = connect(test);

	post_receive(test, e, &e->b);
	post_send(test, e, &e->a);
	post_with(test, e, IB_WR_RDMA_WRITE, IB_SEND_SIGNALED, 0x1000, 0x88, 0);
	post_send(test, e, &e->a);
	expect(test, &e->a, IB_WC_SUCCESS);
	expect(test, &e->a, IB_WC_REM_ACCESS_ERR);
	expect(test, &e->a, IB_WC_WR_FLUSH_ERR);
	expect(test, &e->b, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(is_over(&e->b)));
}

/* 24 */
static void a_write_needs_the_flag_of_the_qp(struct kunit *test)
{
	struct ends *e = connect(test);
	struct srnic_test_mr *mr = region(test, e);

	WRITE_ONCE(e->b.qp->acks->core.access, CORE_ACCESS_REMOTE_READ);
	post_with(test, e, IB_WR_RDMA_WRITE, IB_SEND_SIGNALED, mr->base->iova, mr->base->rkey, 0);
	expect(test, &e->a, IB_WC_REM_INV_REQ_ERR);
	KUNIT_EXPECT_NULL(test, memchr_inv(mr->page[0] + SRNIC_TEST_OFFSET, 0, OCTETS));
}

/* 29 */
static void an_own_error_comes_after_what_was_sent(struct kunit *test)
{
	struct ends *e = connect(test);

	post_send(test, e, &e->a);
	post_with(test, e, IB_WR_SEND, IB_SEND_SIGNALED, 0, 0, 0x99);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(is_refused(e, 2)));
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(e->a.cq));
	post_receive(test, e, &e->b);
	expect(test, &e->a, IB_WC_SUCCESS);
	expect(test, &e->a, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(is_over(&e->a)));
}

/* 14: within 10 ms, also what nobody asked about. */
static void an_unsignaled_send_is_acknowledged(struct kunit *test)
{
	struct ends *e = connect(test);

	post_receive(test, e, &e->b);
	post_with(test, e, IB_WR_SEND, 0, 0, 0, 0);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(READ_ONCE(e->a.qp->sq.done) == 1));
	expect(test, &e->b, IB_WC_SUCCESS);
}

/*
 * A stream that begins reads what has come already, with tx.mutex held and BHs on. An Ack that is
 * due then is for the engine that the unlock calls; a kernel with lockdep says who looks for an
 * asker.
 */
static void what_came_before_the_stream_began_is_acknowledged(struct kunit *test)
{
	struct ends *e = connect(test);
	struct srnic_qp *qp = e->b.qp;

	exchange(test, e, &e->a, &e->b);
	mutex_lock(&qp->tx.mutex);
	srnic_tx_soon(qp);
	KUNIT_EXPECT_TRUE(test, test_bit(0, &qp->tx.again));
	srnic_tx_unlock(qp);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(!test_bit(0, &qp->tx.again)));
	exchange(test, e, &e->a, &e->b);
}

/* 10, 57 */
static void an_idle_qp_goes_on_with_another_stream(struct kunit *test)
{
	struct ends *e = connect(test);

	for (u32 n = 1; n <= 3; n++) {
		exchange(test, e, &e->a, &e->b);
		KUNIT_EXPECT_EQ(test, READ_ONCE(e->b.qp->acks->core.received), n);
		lose(e);
		KUNIT_ASSERT_EQ(test, READ_ONCE(e->a.qp->state), SRNIC_QP_IDLE);
		come_back(test, e);
	}
}

/* 54: what is posted without a stream waits for one. */
static void what_is_posted_without_a_stream_goes_out_on_the_next(struct kunit *test)
{
	struct ends *e = connect(test);

	lose(e);
	post_receive(test, e, &e->b);
	post_send(test, e, &e->a);
	come_back(test, e);
	expect(test, &e->a, IB_WC_SUCCESS);
	expect(test, &e->b, IB_WC_SUCCESS);
	KUNIT_EXPECT_MEMEQ(test, e->into, e->from, OCTETS);
}

/* 61: a responder that has received nothing has sent nothing, though it has taken a request. */
static void what_a_muted_responder_has_taken_goes_out_on_the_next(struct kunit *test)
{
	struct ends *e = connect(test);

	lose(e);
	connect_sockets(test, e);
	start(test, &e->a, false);	/* and nobody at the other end */
	post_send(test, e, &e->a);
	fsleep(20000);
	srnic_qp_detach(e->a.qp, &e->a.owner->base);
	post_receive(test, e, &e->b);
	come_back(test, e);
	expect(test, &e->a, IB_WC_SUCCESS);
	expect(test, &e->b, IB_WC_SUCCESS);
}

/* 31 */
static void a_qp_that_fails_leaves_a_last_ack(struct kunit *test)
{
	struct ends *e = connect(test);

	post_receive(test, e, &e->b);
	post_send(test, e, &e->a);
	expect(test, &e->b, IB_WC_SUCCESS);
	srnic_qp_fail(e->b.qp);
	srnic_qp_stop(e->b.qp, &e->b.owner->base);
	KUNIT_EXPECT_EQ(test, e->b.owner->rest.len, CORE_ACK_FPDU);
}

/* 57, 28: what was sent and not acknowledged is not sent again, and fails when its time is over. */
static void what_was_sent_on_a_lost_stream_fails_in_time(struct kunit *test)
{
	struct ends *e = connect(test);
	unsigned long begun = jiffies;

	WRITE_ONCE(e->a.qp->ack_timeout, 1);
	srnic_qp_detach(e->b.qp, &e->b.owner->base);
	post_send(test, e, &e->a);
	post_send(test, e, &e->a);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(READ_ONCE(e->a.qp->acks->core.begun)));
	srnic_qp_detach(e->a.qp, &e->a.owner->base);
	expect_overdue(test, &e->a, begun, 2000);
	expect(test, &e->a, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, READ_ONCE(e->a.qp->state), SRNIC_QP_ERROR);
}

/* 28: TCP sends again without backing off, for some time. */
static void tcp_sends_a_thin_stream_again_without_backing_off(struct kunit *test)
{
	struct ends *e = connect(test);

	KUNIT_EXPECT_TRUE(test, tcp_sk(e->a.qp->sock->sk)->thin_lto);
	KUNIT_EXPECT_TRUE(test, tcp_sk(e->b.qp->sock->sk)->thin_lto);
}

/* 28: the stream is there, and the other end is silent. */
static void a_silent_peer_counts_as_gone_in_time(struct kunit *test)
{
	struct ends *e = connect(test);
	unsigned long begun = jiffies;

	WRITE_ONCE(e->a.qp->ack_timeout, 1);
	srnic_qp_detach(e->b.qp, &e->b.owner->base);	/* its socket stays open */
	post_send(test, e, &e->a);
	expect_overdue(test, &e->a, begun, 2000);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(is_over(&e->a)));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_send_completes_when_the_peer_has_it),
	KUNIT_CASE(a_send_waits_for_its_receive),
	KUNIT_CASE(what_follows_a_refused_send_comes_again),
	KUNIT_CASE(a_registration_behind_a_refused_send_is_done_once),
	KUNIT_CASE(an_invalidation_waits_until_what_comes_before_is_acknowledged),
	KUNIT_CASE(a_region_is_registered_anew_between_refused_sends),
	KUNIT_CASE(a_send_is_tried_as_often_as_the_qp_says),
	KUNIT_CASE(a_refused_write_fails_alone_and_last),
	KUNIT_CASE(a_write_needs_the_flag_of_the_qp),
	KUNIT_CASE(an_own_error_comes_after_what_was_sent),
	KUNIT_CASE(an_unsignaled_send_is_acknowledged),
	KUNIT_CASE(what_came_before_the_stream_began_is_acknowledged),
	KUNIT_CASE(an_idle_qp_goes_on_with_another_stream),
	KUNIT_CASE(what_is_posted_without_a_stream_goes_out_on_the_next),
	KUNIT_CASE(what_a_muted_responder_has_taken_goes_out_on_the_next),
	KUNIT_CASE(a_qp_that_fails_leaves_a_last_ack),
	KUNIT_CASE(what_was_sent_on_a_lost_stream_fails_in_time),
	KUNIT_CASE(tcp_sends_a_thin_stream_again_without_backing_off),
	KUNIT_CASE(a_silent_peer_counts_as_gone_in_time),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_acks", .test_cases = cases };

kunit_test_suite(suite);
