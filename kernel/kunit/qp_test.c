// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Send and receive queues of a QP: completion in the order of posting, whichever request is done
 * first (RFC 5040 5.5 rule 15), unsignaled requests, room, flushes, and a user's hostile index. The
 * cases act as the engine: they take and complete requests.
 */
#include "fixture.h"

#define ENTRIES	8U

/* The engine takes the next request; its wr_id is its index. */
static u32 take(struct srnic_test_set *c, u8 opcode, u8 flags)
{
	struct srnic_qp *qp = c->qp;
	u32 index;

	mutex_lock(&qp->tx.mutex);
	index = qp->sq.taken++;
	srnic_sq_track(&qp->sq, index,
		       &(struct srnic_send_wqe){.wr_id = index, .opcode = opcode, .flags = flags});
	mutex_unlock(&qp->tx.mutex);
	return index;
}

static int post_to(struct srnic_qp *qp, u64 wr_id, enum ib_wr_opcode opcode, int send_flags)
{
	struct ib_send_wr wr = { .wr_id = wr_id, .opcode = opcode, .send_flags = send_flags };

	return ib_post_send(&qp->base, &wr, NULL);
}

static int post_recv_to(struct srnic_qp *qp, u64 wr_id)
{
	return ib_post_recv(&qp->base, &(struct ib_recv_wr) { .wr_id = wr_id }, NULL);
}

/* Moves to ERROR and waits until the engine has flushed. */
static void fail(struct srnic_qp *qp)
{
	srnic_qp_fail(qp);
	flush_delayed_work(&qp->tx.work);
}

static void expect_wc(struct kunit *test, struct srnic_test_set *c, u64 wr_id,
		      enum ib_wc_status status)
{
	struct ib_wc wc = srnic_test_poll(test, c->cq);

	KUNIT_EXPECT_EQ(test, wc.wr_id, wr_id);
	KUNIT_EXPECT_EQ(test, wc.status, status);
}

static void expect_no_wc(struct kunit *test, struct srnic_test_set *c)
{
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(c->cq));
}

/* Sets all indices of the send queue. */
static void start_at(struct srnic_qp *qp, u32 index)
{
	qp->sq.posted = index;
	qp->sq.taken = index;
	qp->sq.done = index;
	qp->tx.built = index;
	qp->tx.completed = index;
	qp->sq.ring.hdr->prod = index;
	qp->sq.ring.hdr->cons = index;
}

static void what_ends_out_of_order_completes_in_order(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	u32 i;

	for (i = 0; i < 4; i++)
		take(c, SRNIC_OP_READ, SRNIC_WQE_SIGNALED);
	srnic_sq_complete(&c->qp->sq, 3, SRNIC_WC_SUCCESS, 33);
	srnic_sq_complete(&c->qp->sq, 1, SRNIC_WC_SUCCESS, 11);
	expect_no_wc(test, c);
	srnic_sq_complete(&c->qp->sq, 0, SRNIC_WC_SUCCESS, 0);
	expect_wc(test, c, 0, IB_WC_SUCCESS);
	expect_wc(test, c, 1, IB_WC_SUCCESS);
	expect_no_wc(test, c);
	srnic_sq_complete(&c->qp->sq, 2, SRNIC_WC_SUCCESS, 22);
	KUNIT_EXPECT_EQ(test, srnic_test_poll(test, c->cq).byte_len, 22);
	KUNIT_EXPECT_EQ(test, srnic_test_poll(test, c->cq).byte_len, 33);
	expect_no_wc(test, c);
}

static void unsignaled_requests_give_their_slots_back_in_silence(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	u32 i;

	for (i = 0; i < 5; i++)
		take(c, SRNIC_OP_WRITE, 0);
	take(c, SRNIC_OP_WRITE, SRNIC_WQE_SIGNALED);
	srnic_sq_complete_sent(&c->qp->sq, 0, 5);
	expect_no_wc(test, c);
	KUNIT_EXPECT_EQ(test, c->qp->sq.ring.hdr->cons, 5);
	srnic_sq_complete_sent(&c->qp->sq, 5, 6);
	expect_wc(test, c, 5, IB_WC_SUCCESS);
	expect_no_wc(test, c);
	KUNIT_EXPECT_EQ(test, c->qp->sq.ring.hdr->cons, 6);
}

static void an_unsignaled_request_that_fails_completes(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;

	take(c, SRNIC_OP_WRITE, 0);
	take(c, SRNIC_OP_WRITE, 0);
	srnic_sq_complete_sent(&c->qp->sq, 0, 1);
	srnic_sq_complete(&c->qp->sq, 1, SRNIC_WC_LOC_PROT_ERR, 0);
	expect_wc(test, c, 1, IB_WC_LOC_PROT_ERR);
	expect_no_wc(test, c);
}

static void a_refused_write_is_the_oldest_that_is_not_done(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	struct ib_wc wc;

	take(c, SRNIC_OP_WRITE, SRNIC_WQE_SIGNALED);
	take(c, SRNIC_OP_SEND, 0);
	take(c, SRNIC_OP_WRITE_IMM, 0);
	take(c, SRNIC_OP_WRITE, 0);
	srnic_sq_complete_sent(&c->qp->sq, 0, 1);
	srnic_sq_blame_write(&c->qp->sq, SRNIC_WC_REM_ACCESS_ERR, 0x1101);
	expect_wc(test, c, 0, IB_WC_SUCCESS);
	expect_no_wc(test, c);
	srnic_sq_flush(&c->qp->sq, SRNIC_FLUSH_LOSE);
	expect_wc(test, c, 1, IB_WC_WR_FLUSH_ERR);
	wc = srnic_test_poll(test, c->cq);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 2);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, wc.vendor_err, 0x1101);
	expect_wc(test, c, 3, IB_WC_WR_FLUSH_ERR);
}

static void a_qp_that_signals_all_does(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;

	c->qp = srnic_test_qp(test, c->pd, c->cq, NULL, IB_SIGNAL_ALL_WR);
	take(c, SRNIC_OP_WRITE, 0);
	take(c, SRNIC_OP_SEND, 0);
	srnic_sq_complete_sent(&c->qp->sq, 0, 2);
	expect_wc(test, c, 0, IB_WC_SUCCESS);
	expect_wc(test, c, 1, IB_WC_SUCCESS);
}

static void what_was_sent_waits_for_the_read_before_it(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;

	take(c, SRNIC_OP_WRITE, SRNIC_WQE_SIGNALED);
	take(c, SRNIC_OP_READ, SRNIC_WQE_SIGNALED);
	take(c, SRNIC_OP_SEND, SRNIC_WQE_SIGNALED);
	srnic_sq_complete_sent(&c->qp->sq, 0, 3);
	expect_wc(test, c, 0, IB_WC_SUCCESS);
	expect_no_wc(test, c);
	srnic_sq_complete(&c->qp->sq, 1, SRNIC_WC_SUCCESS, 10);
	expect_wc(test, c, 1, IB_WC_SUCCESS);
	expect_wc(test, c, 2, IB_WC_SUCCESS);
	expect_no_wc(test, c);
}

static void a_request_that_is_over_ends_no_second_time(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;

	take(c, SRNIC_OP_READ, SRNIC_WQE_SIGNALED);
	srnic_sq_complete(&c->qp->sq, 0, SRNIC_WC_SUCCESS, 0);
	srnic_sq_complete(&c->qp->sq, 0, SRNIC_WC_LOC_PROT_ERR, 0);
	srnic_sq_complete_sent(&c->qp->sq, 0, 1);
	expect_wc(test, c, 0, IB_WC_SUCCESS);
	expect_no_wc(test, c);
	take(c, SRNIC_OP_READ, SRNIC_WQE_SIGNALED);
	expect_no_wc(test, c);
}

static void order_is_kept_where_the_indices_wrap(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	u32 first = 0 - 3U, i;

	start_at(c->qp, first);
	for (i = 0; i < 6; i++)
		take(c, SRNIC_OP_READ, SRNIC_WQE_SIGNALED);
	for (i = 5; i > 0; i--)
		srnic_sq_complete(&c->qp->sq, first + i, SRNIC_WC_SUCCESS, 0);
	expect_no_wc(test, c);
	srnic_sq_complete(&c->qp->sq, first, SRNIC_WC_SUCCESS, 0);
	for (i = 0; i < 6; i++)
		expect_wc(test, c, first + i, IB_WC_SUCCESS);
	expect_no_wc(test, c);
}

static void a_flush_completes_everything_once(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	u64 i;

	for (i = 0; i < ENTRIES; i++)
		KUNIT_ASSERT_EQ(test, post_to(c->qp, i, IB_WR_SEND, i & 1 ? IB_SEND_SIGNALED : 0),
				0);
	for (i = 0; i < 3; i++)
		take(c, SRNIC_OP_READ, 0);
	fail(c->qp);
	for (i = 0; i < ENTRIES; i++)
		expect_wc(test, c, i, IB_WC_WR_FLUSH_ERR);
	srnic_sq_complete(&c->qp->sq, 1, SRNIC_WC_SUCCESS, 0);
	srnic_tx_run(c->qp);
	expect_no_wc(test, c);
}

static void a_flush_leaves_what_has_ended_as_it_ended(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;

	take(c, SRNIC_OP_READ, SRNIC_WQE_SIGNALED);
	take(c, SRNIC_OP_SEND, SRNIC_WQE_SIGNALED);
	take(c, SRNIC_OP_SEND, SRNIC_WQE_SIGNALED);
	srnic_sq_complete_sent(&c->qp->sq, 0, 2);
	expect_no_wc(test, c);
	fail(c->qp);
	expect_wc(test, c, 0, IB_WC_WR_FLUSH_ERR);
	expect_wc(test, c, 1, IB_WC_SUCCESS);
	expect_wc(test, c, 2, IB_WC_WR_FLUSH_ERR);
	expect_no_wc(test, c);
}

static void what_is_posted_in_error_is_flushed_as_well(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;

	fail(c->qp);
	expect_no_wc(test, c);
	KUNIT_EXPECT_EQ(test, post_to(c->qp, 5, IB_WR_SEND, 0), 0);
	KUNIT_EXPECT_EQ(test, post_recv_to(c->qp, 6), 0);
	flush_delayed_work(&c->qp->tx.work);
	expect_wc(test, c, 5, IB_WC_WR_FLUSH_ERR);
	expect_wc(test, c, 6, IB_WC_WR_FLUSH_ERR);
	expect_no_wc(test, c);
}

static void receives_are_flushed_in_order_and_once(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	u64 i;

	for (i = 0; i < ENTRIES; i++)
		KUNIT_ASSERT_EQ(test, post_recv_to(c->qp, i), 0);
	KUNIT_EXPECT_EQ(test, post_recv_to(c->qp, 99), -ENOMEM);
	fail(c->qp);
	for (i = 0; i < ENTRIES; i++)
		expect_wc(test, c, i, IB_WC_WR_FLUSH_ERR);
	srnic_tx_run(c->qp);
	expect_no_wc(test, c);
}

static void receives_of_a_shared_queue_are_not_a_qps_to_flush(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	struct srnic_test_srq *srq = srnic_test_srq(test, c->pd, 4, 0);
	struct srnic_qp *qp = srnic_test_qp(test, c->pd, c->cq, srq, IB_SIGNAL_REQ_WR);
	u8 wqe[SRNIC_TEST_RECV_MAX] __aligned(8);

	KUNIT_EXPECT_EQ(test, post_recv_to(qp, 1), -EINVAL);
	KUNIT_ASSERT_EQ(test, ib_post_srq_recv(srq->base, &(struct ib_recv_wr){.wr_id = 3}, NULL),
			0);
	fail(qp);
	expect_no_wc(test, c);
	KUNIT_EXPECT_EQ(test, SRNIC_TAKEN_ONE,
			srnic_srq_take(srq->srq, (struct srnic_recv_wqe *)wqe, sizeof(wqe), 0));
	KUNIT_EXPECT_EQ(test, ((struct srnic_recv_wqe *)wqe)->wr_id, 3);
}

/* ibv_create_qp(3): with an SRQ the capacities of receives are ignored. */
static void a_qp_of_a_shared_queue_may_ask_for_any_receives(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.send_cq = c->cq->base,
		.recv_cq = c->cq->base,
		.srq = srnic_test_srq(test, c->pd, 4, 0)->base,
		.cap = {.max_send_wr = 1,
			.max_recv_wr = ~0U,
			.max_send_sge = 1,
			.max_recv_sge = ~0U},
	};
	struct ib_qp *qp = ib_create_qp(c->pd, &attr);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	KUNIT_EXPECT_EQ(test, attr.cap.max_recv_wr, 0);
	KUNIT_EXPECT_EQ(test, attr.cap.max_recv_sge, 0);
	KUNIT_EXPECT_EQ(test, ib_destroy_qp(qp), 0);
}

static void a_full_send_queue_refuses_until_something_completes(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	u64 i;

	for (i = 0; i < ENTRIES; i++)
		KUNIT_ASSERT_EQ(test, post_to(c->qp, i, IB_WR_SEND, 0), 0);
	KUNIT_EXPECT_EQ(test, post_to(c->qp, i, IB_WR_SEND, 0), -ENOMEM);
	take(c, SRNIC_OP_SEND, 0);
	KUNIT_EXPECT_EQ(test, post_to(c->qp, i, IB_WR_SEND, 0), -ENOMEM);
	srnic_sq_complete_sent(&c->qp->sq, 0, 1);
	KUNIT_EXPECT_EQ(test, post_to(c->qp, i, IB_WR_SEND, 0), 0);
	KUNIT_EXPECT_EQ(test, post_to(c->qp, i, IB_WR_SEND, 0), -ENOMEM);
}

static void a_request_that_cannot_be_is_refused_and_those_before_it_stand(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	struct ib_sge sge[3] = { };
	struct ib_send_wr third = { .wr_id = 2, .opcode = IB_WR_SEND };
	struct ib_send_wr second = {
		.wr_id = 1, .opcode = IB_WR_SEND, .sg_list = sge, .num_sge = 17, .next = &third,
	};
	struct ib_send_wr first = { .wr_id = 0, .opcode = IB_WR_SEND, .next = &second };
	const struct ib_send_wr *bad = NULL;

	KUNIT_EXPECT_EQ(test, post_to(c->qp, 9, IB_WR_LSO, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, ib_post_send(&c->qp->base, &first, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, &second);
	sge[0] = (struct ib_sge) { .addr = (uintptr_t)sge, .length = SRNIC_MAX_INLINE + 1 };
	second = (struct ib_send_wr) { .opcode = IB_WR_SEND, .sg_list = sge, .num_sge = 1,
				       .send_flags = IB_SEND_INLINE };
	KUNIT_EXPECT_EQ(test, ib_post_send(&c->qp->base, &second, &bad), -EINVAL);
	fail(c->qp);
	expect_wc(test, c, 0, IB_WC_WR_FLUSH_ERR);
	expect_no_wc(test, c);
}

static void a_user_that_publishes_what_cannot_be_has_posted_nothing(struct kunit *test)
{
	static const u32 claims[] = { ENTRIES + 1, 0x7fffffff, 0x80000000, 0xffffffff };
	struct srnic_test_set *c = test->priv;
	struct srnic_qp *qp = c->qp;
	u32 i, room;

	fail(qp);
	for (i = 0; i < ARRAY_SIZE(claims); i++) {
		qp->sq.ring.hdr->prod = claims[i];
		qp->rq.recv.ring.hdr->prod = claims[i];
		srnic_tx_run(qp);
		KUNIT_EXPECT_EQ(test, srnic_rq_take(&qp->rq, &qp->rx.receive, &room),
				CORE_TAKE_EMPTY);
	}
	expect_no_wc(test, c);
	KUNIT_EXPECT_EQ(test, qp->sq.taken, 0);
	KUNIT_EXPECT_EQ(test, qp->rq.recv.taken, 0);
}

static void a_qp_is_reset_and_used_again(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct ib_qp_init_attr init;

	fail(c->qp);
	KUNIT_ASSERT_EQ(test, ib_query_qp(&c->qp->base, &attr, IB_QP_STATE, &init), 0);
	KUNIT_EXPECT_EQ(test, attr.qp_state, IB_QPS_ERR);
	attr = (struct ib_qp_attr) { .qp_state = IB_QPS_RESET };
	KUNIT_ASSERT_EQ(test, ib_modify_qp(&c->qp->base, &attr, IB_QP_STATE), 0);
	KUNIT_EXPECT_EQ(test, c->qp->state, SRNIC_QP_IDLE);
	KUNIT_EXPECT_EQ(test, post_to(c->qp, 1, IB_WR_SEND, 0), 0);
	flush_delayed_work(&c->qp->tx.work);
	expect_no_wc(test, c);
	fail(c->qp);
	expect_wc(test, c, 1, IB_WC_WR_FLUSH_ERR);
}

/* Nothing of it is left for the next connection. */
static void a_reset_flushes_what_was_posted_to_an_idle_qp(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };

	KUNIT_ASSERT_EQ(test, post_to(c->qp, 1, IB_WR_SEND, 0), 0);
	KUNIT_ASSERT_EQ(test, post_recv_to(c->qp, 2), 0);
	KUNIT_ASSERT_EQ(test, ib_modify_qp(&c->qp->base, &attr, IB_QP_STATE), 0);
	expect_wc(test, c, 1, IB_WC_WR_FLUSH_ERR);
	expect_wc(test, c, 2, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, c->qp->state, SRNIC_QP_IDLE);
	flush_delayed_work(&c->qp->tx.work);
	expect_no_wc(test, c);
}

/* ---- completions: handlers, and CQs that are full ---- */

static struct srnic_qp *long_qp(struct kunit *test, struct srnic_test_set *c,
				struct srnic_test_cq *cq, u32 entries)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.send_cq = cq->base,
		.recv_cq = cq->base,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = { .max_send_wr = entries, .max_recv_wr = entries, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ib_qp *qp = ib_create_qp(c->pd, &attr);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, qp);
	return to_srnic_qp(qp);
}

static void handlers_are_called_with_interrupts_on(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;

	take(c, SRNIC_OP_SEND, SRNIC_WQE_SIGNALED);
	take(c, SRNIC_OP_READ, SRNIC_WQE_SIGNALED);
	KUNIT_ASSERT_EQ(test, ib_req_notify_cq(c->cq->base, IB_CQ_NEXT_COMP), 0);
	srnic_sq_complete_sent(&c->qp->sq, 0, 1);
	KUNIT_ASSERT_EQ(test, ib_req_notify_cq(c->cq->base, IB_CQ_NEXT_COMP), 0);
	srnic_sq_complete(&c->qp->sq, 1, SRNIC_WC_SUCCESS, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->cq->completions), 2);
	KUNIT_ASSERT_EQ(test, post_recv_to(c->qp, 2), 0);
	KUNIT_ASSERT_EQ(test, ib_req_notify_cq(c->cq->base, IB_CQ_NEXT_COMP), 0);
	fail(c->qp);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->cq->completions), 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->cq->interrupts_off), 0);
}

static void a_long_queue_is_flushed_in_order(struct kunit *test)
{
	enum { N = 300 };
	struct srnic_test_set *c = test->priv;
	struct srnic_test_cq *cq = srnic_test_cq(test, c->dev, 2 * N);
	struct srnic_qp *qp = long_qp(test, c, cq, N);
	u64 i;

	for (i = 0; i < N; i++) {
		KUNIT_ASSERT_EQ(test, post_to(qp, i, IB_WR_SEND, 0), 0);
		KUNIT_ASSERT_EQ(test, post_recv_to(qp, N + i), 0);
	}
	fail(qp);
	for (i = 0; i < 2 * N; i++)
		KUNIT_EXPECT_EQ(test, srnic_test_poll(test, cq).wr_id, i);
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(cq));
	KUNIT_EXPECT_EQ(test, ib_destroy_qp(&qp->base), 0);
}

/* A kernel consumer that drains waits for these completions: none may be lost. */
static void what_is_flushed_waits_for_room_in_the_cq(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	struct srnic_test_cq *cq = srnic_test_cq(test, c->dev, 4);
	struct srnic_qp *qp = long_qp(test, c, cq, ENTRIES);
	struct ib_wc wc;
	u64 i;

	for (i = 0; i < ENTRIES; i++) {
		KUNIT_ASSERT_EQ(test, post_to(qp, i, IB_WR_SEND, 0), 0);
		KUNIT_ASSERT_EQ(test, post_recv_to(qp, ENTRIES + i), 0);
	}
	fail(qp);
	for (i = 0; i < 2 * ENTRIES; i++) {
		KUNIT_ASSERT_TRUE(test, srnic_test_eventually(ib_poll_cq(cq->base, 1, &wc) == 1));
		KUNIT_EXPECT_EQ(test, wc.wr_id, i);
		KUNIT_EXPECT_EQ(test, wc.status, IB_WC_WR_FLUSH_ERR);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&cq->errors), 0);
	KUNIT_EXPECT_EQ(test, ib_destroy_qp(&qp->base), 0);
}

/* Takes the next receive, and completes it. */
static void receive_one(struct kunit *test, struct srnic_qp *qp, bool solicited)
{
	const struct core_rx_message message = { .solicited = solicited };
	u32 room;

	KUNIT_ASSERT_EQ(test, srnic_rq_take(&qp->rq, &qp->rx.receive, &room), CORE_TAKE_OK);
	srnic_rq_complete(&qp->rq, &qp->rx.receive, &message);
}

static void receives_complete_together(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	struct srnic_test_cq *cq = srnic_test_cq(test, c->dev, 4 * SRNIC_RQ_TOGETHER);
	struct srnic_qp *qp = long_qp(test, c, cq, 4 * SRNIC_RQ_TOGETHER);
	struct srnic_rq_together together;
	u32 i, n;

	for (n = 1; n <= 2 * SRNIC_RQ_TOGETHER + 1; n++) {
		u32 at_once = n / SRNIC_RQ_TOGETHER;

		atomic_set(&cq->completions, 0);
		for (i = 0; i < n; i++)
			KUNIT_ASSERT_EQ(test, post_recv_to(qp, i), 0);
		srnic_rq_begin_together(&qp->rq, &together);
		ib_req_notify_cq(cq->base, IB_CQ_SOLICITED);
		for (i = 0; i < n; i++)
			receive_one(test, qp, i == n - 1);
		for (i = 0; i < at_once * SRNIC_RQ_TOGETHER; i++)
			KUNIT_EXPECT_EQ(test, srnic_test_poll(test, cq).wr_id, i);
		KUNIT_EXPECT_TRUE(test, srnic_test_empty(cq));
		srnic_rq_end_together(&qp->rq);
		for (; i < n; i++)
			KUNIT_EXPECT_EQ(test, srnic_test_poll(test, cq).wr_id, i);
		KUNIT_EXPECT_TRUE(test, srnic_test_empty(cq));
		KUNIT_EXPECT_EQ(test, atomic_read(&cq->completions), 1);
	}
	KUNIT_EXPECT_EQ(test, ib_destroy_qp(&qp->base), 0);
}

static void a_receive_that_fails_comes_after_those_before(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	struct srnic_qp *qp = c->qp;
	struct srnic_rq_together together;
	u32 room;

	KUNIT_ASSERT_EQ(test, post_recv_to(qp, 1), 0);
	KUNIT_ASSERT_EQ(test, post_recv_to(qp, 2), 0);
	srnic_rq_begin_together(&qp->rq, &together);
	receive_one(test, qp, false);
	KUNIT_ASSERT_EQ(test, srnic_rq_take(&qp->rq, &qp->rx.receive, &room), CORE_TAKE_OK);
	srnic_rq_fail(&qp->rq, &qp->rx.receive, SRNIC_WC_LOC_PROT_ERR, 0);
	expect_wc(test, c, 1, IB_WC_SUCCESS);
	expect_wc(test, c, 2, IB_WC_LOC_PROT_ERR);
	srnic_rq_end_together(&qp->rq);
	expect_no_wc(test, c);
}

/* The receive of an unfinished Send waits for room, too, before all other receives. */
static void a_receive_in_progress_waits_for_room_in_the_cq(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	struct srnic_test_cq *cq = srnic_test_cq(test, c->dev, 4);
	struct srnic_qp *qp = long_qp(test, c, cq, ENTRIES);
	struct ib_wc wc;
	u32 i, room;

	c->qp = qp;
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_EQ(test, post_to(qp, i, IB_WR_SEND, IB_SEND_SIGNALED), 0);
		take(c, SRNIC_OP_SEND, SRNIC_WQE_SIGNALED);
	}
	srnic_sq_complete_sent(&qp->sq, 0, 4);
	for (i = 4; i < 6; i++)
		KUNIT_ASSERT_EQ(test, post_recv_to(qp, i), 0);
	KUNIT_ASSERT_EQ(test, srnic_rq_take(&qp->rq, &qp->rx.receive, &room), CORE_TAKE_OK);
	fail(qp);
	for (i = 0; i < 6; i++) {
		KUNIT_ASSERT_TRUE(test, srnic_test_eventually(ib_poll_cq(cq->base, 1, &wc) == 1));
		KUNIT_EXPECT_EQ(test, wc.wr_id, i);
		KUNIT_EXPECT_EQ(test, wc.status, i < 4 ? IB_WC_SUCCESS : IB_WC_WR_FLUSH_ERR);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&cq->errors), 0);
	KUNIT_EXPECT_EQ(test, ib_destroy_qp(&qp->base), 0);
}

/* More than one poll_chunk(). */
static void entries_of_qps_that_are_gone_are_passed_over(struct kunit *test)
{
	enum { N = 200 };
	struct srnic_test_set *c = test->priv;
	struct srnic_test_cq *cq = srnic_test_cq(test, c->dev, 2 * N);
	struct srnic_qp *gone = long_qp(test, c, cq, N), *left = long_qp(test, c, cq, N);
	struct ib_wc wc[3];
	u64 i;

	for (i = 0; i < N; i++)
		KUNIT_ASSERT_EQ(test, post_recv_to(gone, i), 0);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, post_recv_to(left, i), 0);
	fail(gone);
	fail(left);
	KUNIT_ASSERT_EQ(test, ib_destroy_qp(&gone->base), 0);
	KUNIT_ASSERT_EQ(test, ib_poll_cq(cq->base, 3, wc), 2);
	KUNIT_EXPECT_PTR_EQ(test, wc[0].qp, &left->base);
	KUNIT_EXPECT_EQ(test, wc[1].wr_id, 1);
	KUNIT_EXPECT_EQ(test, ib_destroy_qp(&left->base), 0);
}

static void count_fatal(struct ib_event *event, void *context)
{
	if (event->event == IB_EVENT_QP_FATAL)
		atomic_inc((atomic_t *)context);
}

/* An overrun ends every QP that completes into the CQ, and draining these QPs ends. */
static void a_cq_that_overruns_ends_its_qps(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	struct srnic_test_cq *cq = srnic_test_cq(test, c->dev, 4);
	struct srnic_qp *qp[2] = { long_qp(test, c, cq, ENTRIES), long_qp(test, c, cq, ENTRIES) };
	atomic_t fatal = ATOMIC_INIT(0);
	struct ib_wc wc;
	u32 i;

	c->qp = qp[0];
	for (i = 0; i < 5; i++) {
		KUNIT_ASSERT_EQ(test, post_to(qp[0], i, IB_WR_SEND, 0), 0);
		take(c, SRNIC_OP_SEND, SRNIC_WQE_SIGNALED);
	}
	for (i = 0; i < 2; i++) {
		qp[i]->base.event_handler = count_fatal;
		qp[i]->base.qp_context = &fatal;
		KUNIT_ASSERT_TRUE(test, srnic_qp_move(qp[i], BIT(SRNIC_QP_IDLE), SRNIC_QP_RTS,
						      NULL));
	}
	srnic_sq_complete_sent(&qp[0]->sq, 0, 5);
	KUNIT_EXPECT_EQ(test, atomic_read(&cq->errors), 1);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_TRUE(test,
				  srnic_test_eventually(READ_ONCE(qp[i]->state) > SRNIC_QP_RTS));
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(atomic_read(&fatal) == 2));
	for (i = 0; i < 2; i++) {
		srnic_qp_fail(qp[i]);
		KUNIT_EXPECT_EQ(test, post_to(qp[i], 5 + i, IB_WR_SEND, 0), 0);
	}
	for (i = 0; i < 7; i++)
		KUNIT_EXPECT_TRUE(test, srnic_test_eventually(ib_poll_cq(cq->base, 1, &wc) == 1));
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, ib_destroy_qp(&qp[i]->base), 0);
}

/* Others may need all of the CQ. */
static void a_qp_that_its_user_destroys_fills_no_cq(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	struct srnic_test_cq *cq = srnic_test_cq(test, c->dev, 4);
	struct srnic_qp *qp = long_qp(test, c, cq, ENTRIES);
	u32 i;

	for (i = 0; i < ENTRIES; i++) {
		KUNIT_ASSERT_EQ(test, post_to(qp, i, IB_WR_SEND, IB_SEND_SIGNALED), 0);
		KUNIT_ASSERT_EQ(test, post_recv_to(qp, i), 0);
	}
	qp->user = true;
	KUNIT_ASSERT_EQ(test, ib_req_notify_cq(cq->base, IB_CQ_NEXT_COMP), 0);
	KUNIT_EXPECT_EQ(test, ib_destroy_qp(&qp->base), 0);
	KUNIT_EXPECT_EQ(test, cq->cq->prod, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&cq->errors), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&cq->completions), 0);
}

/* Its event handler waits; meanwhile another task destroys the QP. */
struct consumer {
	struct work_struct work;
	struct srnic_qp *qp;
	struct completion begun, go_on;
	int err;
};

static void wait_in_handler(struct ib_event *event, void *context)
{
	struct consumer *consumer = context;

	complete(&consumer->begun);
	wait_for_completion(&consumer->go_on);
}

static void destroy(struct work_struct *work)
{
	struct consumer *consumer = container_of(work, struct consumer, work);

	consumer->err = ib_destroy_qp(&consumer->qp->base);
}

/* What telling it kicks would else run when the QP is gone. */
static void a_qp_that_is_told_of_an_overrun_is_not_destroyed_meanwhile(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	struct srnic_test_cq *cq = srnic_test_cq(test, c->dev, 1);
	struct srnic_qp *qp = long_qp(test, c, cq, ENTRIES);
	struct consumer consumer = { .qp = qp };
	u32 i;

	init_completion(&consumer.begun);
	init_completion(&consumer.go_on);
	INIT_WORK_ONSTACK(&consumer.work, destroy);
	c->qp = qp;
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, post_to(qp, i, IB_WR_SEND, 0), 0);
		take(c, SRNIC_OP_SEND, SRNIC_WQE_SIGNALED);
	}
	qp->base.event_handler = wait_in_handler;
	qp->base.qp_context = &consumer;
	KUNIT_ASSERT_TRUE(test, srnic_qp_move(qp, BIT(SRNIC_QP_IDLE), SRNIC_QP_RTS, NULL));
	srnic_sq_complete_sent(&qp->sq, 0, 2);
	wait_for_completion(&consumer.begun);
	schedule_work(&consumer.work);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(!xa_load(&c->dev->qps, qp->base.qp_num)));
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(refcount_read(&qp->users) == 1));
	msleep(20);
	KUNIT_EXPECT_EQ(test, refcount_read(&qp->users), 1);
	complete(&consumer.go_on);
	flush_work(&consumer.work);
	destroy_work_on_stack(&consumer.work);
	KUNIT_EXPECT_EQ(test, consumer.err, 0);
}

/* A request keeps the pointer to its region, which the consumer may have deregistered since. */
static void a_region_that_is_gone_is_not_registered(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	struct srnic_test_mr *mr = srnic_test_mr(test, c->pd);
	struct srnic_send_wqe wqe = {
		.arg = { (uintptr_t)mr->base,
			 (u64)mr->base->rkey << 32 | IB_ACCESS_LOCAL_WRITE },
	};

	mutex_lock(&c->qp->tx.mutex);
	KUNIT_EXPECT_TRUE(test, core_host_register(c->qp, &wqe));
	srnic_test_dereg(test, mr);
	KUNIT_EXPECT_FALSE(test, core_host_register(c->qp, &wqe));
	mutex_unlock(&c->qp->tx.mutex);
}

/* ---- references ---- */

static void iw_cm_looks_a_qp_up_and_takes_one_reference(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	struct ib_qp *found;
	unsigned long flags;

	local_irq_save(flags);
	found = c->dev->base.ops.iw_get_qp(&c->dev->base, c->qp->base.qp_num);
	if (found)
		c->dev->base.ops.iw_add_ref(found);
	local_irq_restore(flags);
	KUNIT_ASSERT_PTR_EQ(test, found, &c->qp->base);
	KUNIT_EXPECT_EQ(test, refcount_read(&c->qp->users), 2);
	c->dev->base.ops.iw_add_ref(found);
	KUNIT_EXPECT_EQ(test, refcount_read(&c->qp->users), 3);
	c->dev->base.ops.iw_rem_ref(found);
	c->dev->base.ops.iw_rem_ref(found);
	KUNIT_EXPECT_EQ(test, refcount_read(&c->qp->users), 1);
}

#ifndef CONFIG_TINY_RCU
/* Expedited grace periods interrupt all CPUs. Other code may request one, but not each time. */
static void a_user_who_destroys_qps_interrupts_nobody(struct kunit *test)
{
	struct srnic_test_set *c = test->priv;
	struct rcu_gp_oldstate before, after;
	int tries = 20;

	do {
		struct srnic_qp *qp = long_qp(test, c, c->cq, 1);

		get_state_synchronize_rcu_full(&before);
		KUNIT_EXPECT_EQ(test, ib_destroy_qp(&qp->base), 0);
		get_state_synchronize_rcu_full(&after);
	} while (before.rgos_exp != after.rgos_exp && --tries);
	KUNIT_EXPECT_GT(test, tries, 0);
}
#endif

static int init(struct kunit *test)
{
	struct srnic_test_set *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	srnic_test_set(test, c);
	KUNIT_ASSERT_EQ(test, c->qp->sq.ring.entries, ENTRIES);
	return 0;
}

static struct kunit_case cases[] = {
	KUNIT_CASE(what_ends_out_of_order_completes_in_order),
	KUNIT_CASE(unsignaled_requests_give_their_slots_back_in_silence),
	KUNIT_CASE(an_unsignaled_request_that_fails_completes),
	KUNIT_CASE(a_refused_write_is_the_oldest_that_is_not_done),
	KUNIT_CASE(a_qp_that_signals_all_does),
	KUNIT_CASE(what_was_sent_waits_for_the_read_before_it),
	KUNIT_CASE(a_request_that_is_over_ends_no_second_time),
	KUNIT_CASE(order_is_kept_where_the_indices_wrap),
	KUNIT_CASE(a_flush_completes_everything_once),
	KUNIT_CASE(a_flush_leaves_what_has_ended_as_it_ended),
	KUNIT_CASE(what_is_posted_in_error_is_flushed_as_well),
	KUNIT_CASE(receives_are_flushed_in_order_and_once),
	KUNIT_CASE(receives_of_a_shared_queue_are_not_a_qps_to_flush),
	KUNIT_CASE(a_qp_of_a_shared_queue_may_ask_for_any_receives),
	KUNIT_CASE(a_full_send_queue_refuses_until_something_completes),
	KUNIT_CASE(a_request_that_cannot_be_is_refused_and_those_before_it_stand),
	KUNIT_CASE(a_user_that_publishes_what_cannot_be_has_posted_nothing),
	KUNIT_CASE(a_qp_is_reset_and_used_again),
	KUNIT_CASE(a_reset_flushes_what_was_posted_to_an_idle_qp),
	KUNIT_CASE(handlers_are_called_with_interrupts_on),
	KUNIT_CASE(a_long_queue_is_flushed_in_order),
	KUNIT_CASE(what_is_flushed_waits_for_room_in_the_cq),
	KUNIT_CASE(receives_complete_together),
	KUNIT_CASE(a_receive_that_fails_comes_after_those_before),
	KUNIT_CASE(a_receive_in_progress_waits_for_room_in_the_cq),
	KUNIT_CASE(entries_of_qps_that_are_gone_are_passed_over),
	KUNIT_CASE(a_cq_that_overruns_ends_its_qps),
	KUNIT_CASE(a_qp_that_its_user_destroys_fills_no_cq),
	KUNIT_CASE(a_qp_that_is_told_of_an_overrun_is_not_destroyed_meanwhile),
	KUNIT_CASE(a_region_that_is_gone_is_not_registered),
	KUNIT_CASE(iw_cm_looks_a_qp_up_and_takes_one_reference),
#ifndef CONFIG_TINY_RCU
	KUNIT_CASE(a_user_who_destroys_qps_interrupts_nobody),
#endif
	{ }
};

static struct kunit_suite suite = { .name = "srnic_qp", .init = init, .test_cases = cases };

kunit_test_suite(suite);
