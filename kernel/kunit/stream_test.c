// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Streams as their peers see them, FPDU by FPDU: MSNs across their wrap (RFC 5041 4.3), requests as
 * posted, requests that fail locally (RFC 5040 7.1), and the streams that may use an STag (RFC 5041
 * 8.2, RFC 5040 8.1.1). The peers are plain sockets and initiate; the QPs accept.
 */
#include <net/sock.h>

#include "stream.h"
#include "stream/attach.h"
#include "stream/transmit/engine.h"
#include "stream/transmit/own_batch.h"

/* ---- MSNs (RFC 5041 4.3): numbers of 32 bits, 0 follows 0xffffffff ---- */

static const u32 far_msns[] = { 0x7ffffffe, 0xfffffffe };
#define MESSAGES 4U

static void what_goes_out_is_numbered_across_the_wrap(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	u8 *octets = octets_for(test), *into = octets + OCTETS;
	const struct fpdu *fpdu;
	struct stream s;
	u32 i, n;

	for (n = 0; n < ARRAY_SIZE(far_msns); n++) {
		s = begin(test, c->set.pd);
		age(&s, far_msns[n]);
		for (i = 0; i < MESSAGES; i++) {
			post(test, &s, IB_WR_SEND, octets);
			fpdu = hear(test, &s, CORE_MSG_SEND);
			KUNIT_EXPECT_EQ(test, msn_of(fpdu), far_msns[n] + i);
			expect_completion(test, IB_WC_SEND);
		}
		for (i = 0; i < MESSAGES; i++) {
			memset(into, 0, OCTETS);
			post(test, &s, IB_WR_RDMA_READ, into);
			fpdu = hear(test, &s, CORE_MSG_READ_REQUEST);
			KUNIT_EXPECT_EQ(test, msn_of(fpdu), far_msns[n] + i);
			say_response(test, &s, sink_of(fpdu), octets);
			expect_completion(test, IB_WC_RDMA_READ);
			KUNIT_EXPECT_MEMEQ(test, into, octets, OCTETS);
		}
	}
	srnic_test_expect_nothing_left(test, c);
}

static void what_comes_in_is_taken_across_the_wrap(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	u8 *octets = octets_for(test), *into = octets + OCTETS;
	struct srnic_test_mr *mr;
	const struct fpdu *fpdu;
	struct stream s;
	u32 i, n;

	for (n = 0; n < ARRAY_SIZE(far_msns); n++) {
		s = begin(test, c->set.pd);
		mr = region_of(test, c->set.pd, &s);
		memcpy(memory_of(mr), octets, OCTETS);
		age(&s, far_msns[n]);
		for (i = 0; i < MESSAGES; i++) {
			memset(into, 0, OCTETS);
			post_receive(test, &s, into);
			say_send(test, &s, octets);
			expect_completion(test, IB_WC_RECV);
			KUNIT_EXPECT_MEMEQ(test, into, octets, OCTETS);
		}
		for (i = 0; i < MESSAGES; i++) {
			say_read(test, &s, mr->base->rkey, mr->base->iova);
			fpdu = hear(test, &s, CORE_MSG_READ_RESPONSE);
			KUNIT_EXPECT_MEMEQ(test, ulpdu(fpdu) + 14, octets, OCTETS);
		}
	}
	srnic_test_expect_nothing_left(test, c);
}

/*
 * RFC 5040 4.8: includes the request's header, even if its memory went after it was accepted.
 */
static void a_terminate_names_the_msn_of_the_read_whose_memory_went(struct kunit *test)
{
	static const u32 msns[] = { 1, 0x80000000, 0xffffffff, 0 };
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_mr *mr;
	struct core_revoker revoker;
	struct stream s;
	const u8 *ddp;
	u32 n;

	for (n = 0; n < ARRAY_SIZE(msns); n++) {
		s = begin(test, c->set.pd);
		mr = region_of(test, c->set.pd, &s);
		revoker = srnic_qp_revoker(s.qp, mr->base->rkey, false);
		age(&s, msns[n]);
		mutex_lock(&s.qp->tx.mutex);
		say_read(test, &s, mr->base->rkey, mr->base->iova);
		KUNIT_EXPECT_TRUE(test,
				  srnic_test_eventually(READ_ONCE(s.qp->inbound.tail) == msns[n]));
		KUNIT_EXPECT_EQ(test, srnic_mr_invalidate(c->set.dev, &revoker), CORE_REGION_OK);
		srnic_tx_unlock(s.qp);
		ddp = ddp_of(hear_terminate(test, &s, CORE_LAYER_RDMAP, 1, 0));
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(ddp + 6), 1);	/* the queue */
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(ddp + 10), msns[n]);
	}
	srnic_test_expect_nothing_left(test, c);
}

/* ---- requests as they were posted ---- */

/* RFC 5040 5.3, figure 4. */
static void a_send_with_invalidate_names_the_stag_that_it_was_posted_with(struct kunit *test)
{
	static const u8 opcodes[] = { CORE_MSG_SEND_INV, CORE_MSG_SEND_SE_INV };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND_WITH_INV, .ex.invalidate_rkey = 0xa1b2c3d4 };
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	const struct fpdu *fpdu;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		wr.send_flags = IB_SEND_SIGNALED | (i ? IB_SEND_SOLICITED : 0);
		KUNIT_ASSERT_EQ(test, ib_post_send(&s.qp->base, &wr, NULL), 0);
		fpdu = hear(test, &s, opcodes[i]);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(ulpdu(fpdu) + 2), 0xa1b2c3d4);
		expect_completion(test, IB_WC_SEND);
	}
	srnic_test_expect_nothing_left(test, c);
}

/* ---- local errors (RFC 5040 7.1, 1) ---- */

/* Posts a list whose second entry has an invalid lkey: nothing may be sent. */
static void post_half_bad(struct kunit *test, struct stream *s, enum ib_wr_opcode opcode,
			  const void *octets)
{
	struct ib_sge list[] = { sge_of(test->priv, octets), sge_of(test->priv, octets + OCTETS) };

	list[1].lkey = 0x99;
	post_list(test, s, opcode, list, ARRAY_SIZE(list));
}

/* RFC 5040 6.2.1: even if the consumer closes as soon as it sees the error. */
static void a_terminate_that_is_due_goes_out_though_its_qp_fails_at_once(struct kunit *test)
{
	static const enum ib_qp_state ends[] = { IB_QPS_ERR, IB_QPS_RESET };
	struct srnic_test_conn *c = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		struct ib_qp_attr attr = { .qp_state = ends[i] };
		struct stream s = begin(test, c->set.pd);

		srnic_qp_terminate(s.qp, &(struct core_terminate) {
			.layer = CORE_LAYER_RDMAP, .etype = 2, .code = 5,
		});
		KUNIT_EXPECT_EQ(test, ib_modify_qp(&s.qp->base, &attr, IB_QP_STATE), 0);
		hear_terminate(test, &s, CORE_LAYER_RDMAP, 2, 5);
		expect_end(test, &s, SRNIC_END_ERROR, 0x0205);
	}
	srnic_test_expect_nothing_left(test, c);
}

/* RFC 5044 8, error 1, also for a peer that closes after we did. */
static void a_peer_that_closes_and_owes_a_read_is_told_so(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD };
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);

	post(test, &s, IB_WR_RDMA_READ, octets_for(test));
	hear(test, &s, CORE_MSG_READ_REQUEST);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(&s.qp->base, &attr, IB_QP_STATE), 0);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(READ_ONCE(s.qp->tx.core.closing)));
	kernel_sock_shutdown(s.peer, SHUT_WR);
	hear_terminate(test, &s, CORE_LAYER_LLP, 0, 1);
	expect_end(test, &s, SRNIC_END_ERROR, 0x2001);
	KUNIT_EXPECT_EQ(test, srnic_test_next_wc(test).status, IB_WC_WR_FLUSH_ERR);
	srnic_test_expect_nothing_left(test, c);
}

/* RFC 5041 6.2.1, though the connection's own work has not run yet. */
static void what_is_posted_after_a_disconnect_does_not_go_out(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD };
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	u8 octet;

	post(test, &s, IB_WR_SEND, octets_for(test));
	KUNIT_EXPECT_EQ(test, ib_modify_qp(&s.qp->base, &attr, IB_QP_STATE), 0);
	post(test, &s, IB_WR_SEND, octets_for(test));
	hear(test, &s, CORE_MSG_SEND);
	KUNIT_EXPECT_EQ(test, srnic_test_recv(s.peer, &octet, 1), 0);
	kernel_sock_shutdown(s.peer, SHUT_WR);
	expect_completion(test, IB_WC_SEND);
	KUNIT_EXPECT_EQ(test, srnic_test_next_wc(test).status, IB_WC_WR_FLUSH_ERR);
	expect_end(test, &s, SRNIC_END_CLOSED, 0);
	srnic_test_expect_nothing_left(test, c);
}

static void a_request_for_foreign_memory_sends_a_terminate_and_nothing_else(struct kunit *test)
{
	static const enum ib_wr_opcode opcodes[] = {IB_WR_SEND, IB_WR_RDMA_WRITE, IB_WR_RDMA_READ};
	struct srnic_test_conn *c = test->priv;
	u8 *octets = octets_for(test);
	const struct fpdu *fpdu;
	struct stream s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		s = begin(test, c->set.pd);
		post_half_bad(test, &s, opcodes[i], octets);
		fpdu = hear_terminate(test, &s, CORE_LAYER_RDMAP, 0, 0);
		KUNIT_EXPECT_EQ(test, fpdu->len, 18 + 4);	/* without a header to blame */
		KUNIT_EXPECT_EQ(test, srnic_test_next_wc(test).status, IB_WC_LOC_PROT_ERR);
	}
	srnic_test_expect_nothing_left(test, c);
}

/*
 * RFC 5040 figure 9: a Local Catastrophic Error. The peer has done nothing wrong, and nothing is
 * counted against it.
 */
static void a_receive_into_foreign_memory_is_no_error_of_the_peers(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	u8 *octets = octets_for(test);
	struct stream s = begin(test, c->set.pd);
	struct ib_sge sge = { .addr = (uintptr_t)octets, .length = OCTETS, .lkey = 0x99 };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	KUNIT_ASSERT_EQ(test, ib_post_recv(&s.qp->base, &wr, NULL), 0);
	say_send(test, &s, octets);
	hear_terminate(test, &s, CORE_LAYER_RDMAP, 0, 0);
	KUNIT_EXPECT_EQ(test, srnic_test_next_wc(test).status, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_EQ(test, srnic_counted(c->set.dev, SRNIC_RX_ERRORS), 0);
	KUNIT_EXPECT_EQ(test, srnic_counted(c->set.dev, SRNIC_TX_TERMINATES), 1);
	srnic_test_expect_nothing_left(test, c);
}

/* ---- why connections end (enum srnic_end) ---- */

static void modify(struct kunit *test, struct srnic_qp *qp, enum ib_qp_state to)
{
	struct ib_qp_attr attr = { .qp_state = to };

	KUNIT_EXPECT_EQ(test, ib_modify_qp(&qp->base, &attr, IB_QP_STATE), 0);
}

static void expect_over(struct kunit *test, const struct stream *s, enum srnic_end end, u16 detail)
{
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(READ_ONCE(s->qp->state) == SRNIC_QP_ERROR));
	expect_end(test, s, end, detail);
}

static void an_end_is_kept_until_the_next_connection(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);

	expect_end(test, &s, SRNIC_END_NONE, 0);
	modify(test, s.qp, IB_QPS_ERR);
	expect_end(test, &s, SRNIC_END_ABORTED, 0);
	modify(test, s.qp, IB_QPS_RESET);
	expect_end(test, &s, SRNIC_END_ABORTED, 0);
	s = begin_on(test, s.qp);
	expect_end(test, &s, SRNIC_END_NONE, 0);
	srnic_test_expect_nothing_left(test, c);
}

static void a_peer_that_closes_is_an_end(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);

	kernel_sock_shutdown(s.peer, SHUT_WR);
	expect_over(test, &s, SRNIC_END_PEER_CLOSED, 0);
	srnic_test_expect_nothing_left(test, c);
}

static void a_peer_that_resets_is_an_end_with_tcps_error(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);

	sock_no_linger(s.peer->sk);
	srnic_test_close_peer(c, c->num_peers - 1);
	expect_over(test, &s, SRNIC_END_TCP, ECONNRESET);
	srnic_test_expect_nothing_left(test, c);
}

static void a_terminate_of_the_peer_is_an_end_with_its_code(struct kunit *test)
{
	static const struct core_terminate term = {
		.layer = CORE_LAYER_RDMAP, .etype = 2, .code = 6,
	};
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);

	say(test, &s, (struct core_tx_msg) {
		.opcode = CORE_MSG_TERMINATE, .msn = 1, .term = &term,
	}, NULL);
	expect_over(test, &s, SRNIC_END_TERMINATE, 0x0206);
	srnic_test_expect_nothing_left(test, c);
}

static void an_error_replaces_a_close_and_nothing_else_is_replaced(struct kunit *test)
{
	enum {
		ERRORS = BIT(SRNIC_END_TCP) | BIT(SRNIC_END_ERROR) | BIT(SRNIC_END_TERMINATE) |
			 BIT(SRNIC_END_CHECK),
	};
	static const u32 replacing[SRNIC_END_CHECK + 1] = {
		[SRNIC_END_NONE] = ~0U,
		[SRNIC_END_CLOSED] = ERRORS,
		[SRNIC_END_PEER_CLOSED] = ERRORS,
	};
	struct srnic_test_conn *c = test->priv;
	struct srnic_qp *qp = c->set.qp;
	u32 old, end, kept;

	for (old = SRNIC_END_NEVER; old <= SRNIC_END_CHECK; old++)
		for (end = SRNIC_END_CLOSED; end <= SRNIC_END_CHECK; end++) {
			kept = srnic_end_word(old, 1);
			WRITE_ONCE(qp->end, kept);
			srnic_qp_note_end(qp, end, 2);
			if (replacing[old] & BIT(end))
				kept = srnic_end_word(end, 2);
			KUNIT_EXPECT_EQ_MSG(test, qp->end, kept, "%u after %u", end, old);
		}
	srnic_test_expect_nothing_left(test, c);
}

/* An owner that is no connection, and what it saw when the QP took a reference on it last. */
struct onlooker {
	struct srnic_qp_owner owner;
	struct srnic_qp *qp;
	enum srnic_end end;
	u32 overs;
	bool locked;	/* tx.mutex, when it was called last */
};

static struct onlooker *onlooker_of(struct srnic_qp_owner *owner)
{
	return container_of(owner, struct onlooker, owner);
}

static void onlooker_hold(struct srnic_qp_owner *owner)
{
	struct onlooker *onlooker = onlooker_of(owner);

	onlooker->end = srnic_end_of(READ_ONCE(onlooker->qp->end));
}

static void onlooker_put(struct srnic_qp_owner *owner)
{
}

static void onlooker_over(struct srnic_qp_owner *owner, enum core_conn_input why)
{
	struct onlooker *onlooker = onlooker_of(owner);

	onlooker->overs++;
	onlooker->locked = mutex_is_locked(&onlooker->qp->tx.mutex);
}

static const struct srnic_qp_owner_ops onlooker_ops = {
	.hold = onlooker_hold,
	.put = onlooker_put,
	.over = onlooker_over,
};

static struct onlooker *claim(struct kunit *test, struct srnic_qp *qp)
{
	struct onlooker *onlooker = kunit_kzalloc(test, sizeof(*onlooker), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, onlooker);
	onlooker->owner.ops = &onlooker_ops;
	onlooker->qp = qp;
	KUNIT_ASSERT_EQ(test, srnic_qp_claim(qp, &onlooker->owner), 0);
	return onlooker;
}

static void an_attempt_to_connect_that_fails_is_no_end(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct onlooker *onlooker = claim(test, c->set.qp);

	modify(test, c->set.qp, IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, onlooker->overs, 1);
	KUNIT_EXPECT_EQ(test, READ_ONCE(c->set.qp->end), srnic_end_word(SRNIC_END_NEVER, 0));
	srnic_qp_unclaim(c->set.qp, &onlooker->owner);
	srnic_test_expect_nothing_left(test, c);
}

/* Later it could be the next connection's: another thread may reset the QP and connect it. */
static void an_end_is_noted_while_the_qp_keeps_its_connection(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct onlooker *onlooker = claim(test, c->set.qp);

	WRITE_ONCE(c->set.qp->end, srnic_end_word(SRNIC_END_NONE, 0));
	modify(test, c->set.qp, IB_QPS_ERR);
	KUNIT_EXPECT_EQ(test, onlooker->overs, 1);
	KUNIT_EXPECT_EQ(test, onlooker->end, SRNIC_END_ABORTED);
	srnic_qp_unclaim(c->set.qp, &onlooker->owner);
	srnic_test_expect_nothing_left(test, c);
}

/* ---- what ends one connection ends no other ---- */

/* Only the holder of tx.mutex stops a QP, without which it gets no other connection. */
static void an_owner_is_told_before_the_qp_can_have_another(struct kunit *test)
{
	static const enum ib_qp_state ends[] = { IB_QPS_SQD, IB_QPS_ERR };
	struct srnic_test_conn *c = test->priv;
	struct srnic_qp *qp = c->set.qp;
	struct onlooker *onlooker = claim(test, qp);
	u32 i;

	modify(test, qp, IB_QPS_SQD);
	KUNIT_EXPECT_EQ_MSG(test, onlooker->overs, 0, "there was nothing to close yet");
	KUNIT_ASSERT_TRUE(test, srnic_qp_move(qp, BIT(SRNIC_QP_IDLE), SRNIC_QP_RTS, NULL));
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		modify(test, qp, ends[i]);
		KUNIT_EXPECT_EQ(test, onlooker->overs, i + 1);
		KUNIT_EXPECT_TRUE(test, onlooker->locked);
	}
	srnic_qp_unclaim(qp, &onlooker->owner);
	srnic_test_expect_nothing_left(test, c);
}

static void note_lock(struct ib_event *event, void *context)
{
	struct stream *s = context;

	s->told_locked = mutex_is_locked(&s->qp->tx.mutex);
}

/* The peer has closed and owes a read. */
static void a_close_fails_the_connection_that_it_closes(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);

	s.qp->base.event_handler = note_lock;
	s.qp->base.qp_context = &s;
	post(test, &s, IB_WR_RDMA_READ, octets_for(test));
	hear(test, &s, CORE_MSG_READ_REQUEST);
	srnic_qp_close(s.qp, s.qp->owner, true);
	KUNIT_EXPECT_TRUE(test, s.told_locked);
	hear_terminate(test, &s, CORE_LAYER_LLP, 0, 1);
	kernel_sock_shutdown(s.peer, SHUT_WR);
	srnic_test_expect_nothing_left(test, c);
}

static void an_ack_timeout_is_for_the_connection_that_has_it(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct onlooker *former = claim(test, c->set.qp), *next;

	srnic_qp_unclaim(c->set.qp, &former->owner);
	next = claim(test, c->set.qp);
	srnic_qp_set_ack_timeout(c->set.qp, &former->owner, 14);
	KUNIT_EXPECT_EQ(test, c->set.qp->ack_timeout, 0);
	srnic_qp_set_ack_timeout(c->set.qp, &next->owner, 15);
	KUNIT_EXPECT_EQ(test, c->set.qp->ack_timeout, 15);
	srnic_qp_unclaim(c->set.qp, &next->owner);
	srnic_test_expect_nothing_left(test, c);
}

/* ---- memory ---- */

static bool has_batch(const struct stream *s)
{
	return READ_ONCE(s->qp->tx.batch) != &srnic_no_batch;
}

static void a_stream_that_is_idle_keeps_no_pages(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	u8 *octets = octets_for(test);
	struct stream s = begin(test, c->set.pd);
	int i;

	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(!has_batch(&s)));
	for (i = 0; i < 2; i++) {
		post(test, &s, IB_WR_SEND, octets);
		hear(test, &s, CORE_MSG_SEND);
		expect_completion(test, IB_WC_SEND);
		KUNIT_EXPECT_TRUE(test, has_batch(&s));
		KUNIT_EXPECT_TRUE(test, srnic_test_eventually(!has_batch(&s)));
	}
	srnic_test_expect_nothing_left(test, c);
}

/* ---- scope (RFC 5041 8.2) ---- */

/* An attempt of another stream's peer to use the sink of a Read. */
struct attempt {
	void (*strike)(struct kunit *test, struct stream *other, u32 sink, const u8 *octets);
	u8 layer, etype, code;
};

static void write_to(struct kunit *test, struct stream *other, u32 sink, const u8 *octets)
{
	say_write(test, other, sink, 0, octets);
}

static void answer_nothing(struct kunit *test, struct stream *other, u32 sink, const u8 *octets)
{
	say_response(test, other, sink, octets);
}

static void answer_a_read_of_its_own(struct kunit *test, struct stream *other, u32 sink,
				     const u8 *octets)
{
	static u8 into[OCTETS];

	post(test, other, IB_WR_RDMA_READ, into);
	hear(test, other, CORE_MSG_READ_REQUEST);
	say_response(test, other, sink, octets);
}

static void read_from(struct kunit *test, struct stream *other, u32 sink, const u8 *octets)
{
	say_read(test, other, sink, 0);
}

static const struct attempt attempts[] = {
	{ write_to, CORE_LAYER_DDP, 1, 0 },
	{ answer_nothing, CORE_LAYER_DDP, 1, 0 },
	{ answer_a_read_of_its_own, CORE_LAYER_DDP, 1, 0 },
	{ read_from, CORE_LAYER_RDMAP, 1, 0 },
};

/*
 * The other streams are in protection domain pd; each attempt ends its own stream and no other.
 */
static void try_sink(struct kunit *test, struct ib_pd *pd)
{
	struct srnic_test_conn *c = test->priv;
	u8 *octets = octets_for(test), *into = octets + OCTETS;
	struct stream s = begin(test, c->set.pd), other;
	const struct fpdu *fpdu;
	u32 i, sink;

	post(test, &s, IB_WR_RDMA_READ, into);
	fpdu = hear(test, &s, CORE_MSG_READ_REQUEST);
	sink = sink_of(fpdu);
	for (i = 0; i < ARRAY_SIZE(attempts); i++) {
		other = begin(test, pd);
		attempts[i].strike(test, &other, sink, octets);
		hear_terminate(test, &other, attempts[i].layer, attempts[i].etype,
			       attempts[i].code);
		KUNIT_EXPECT_NULL(test, memchr_inv(into, 0, OCTETS));
	}
	/* the other stream's own read */
	KUNIT_EXPECT_EQ(test, srnic_test_next_wc(test).status, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, srnic_counted(c->set.dev, SRNIC_RX_ERRORS), ARRAY_SIZE(attempts));
	KUNIT_EXPECT_EQ(test, srnic_counted(c->set.dev, SRNIC_TX_TERMINATES), ARRAY_SIZE(attempts));
	say_response(test, &s, sink, octets);
	expect_completion(test, IB_WC_RDMA_READ);
	KUNIT_EXPECT_MEMEQ(test, into, octets, OCTETS);
	srnic_test_expect_nothing_left(test, c);
}

static void the_sink_of_a_read_is_no_other_streams_of_its_protection_domain(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;

	try_sink(test, c->set.pd);
}

static void the_sink_of_a_read_is_no_stream_of_another_protection_domain(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;

	try_sink(test, srnic_test_pd(test, c->set.dev));
}

/*
 * Whichever QP has registered it: RTRS registers its buffers on one connection and receives Writes
 * on all.
 */
static void a_region_is_for_every_stream_of_its_protection_domain(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	u8 *octets = octets_for(test);
	struct stream s = begin(test, c->set.pd), other = begin(test, c->set.pd);
	struct srnic_test_mr *mr = region_of(test, c->set.pd, &s);
	const struct fpdu *fpdu;

	say_write(test, &other, mr->base->rkey, mr->base->iova, octets);
	say_read(test, &other, mr->base->rkey, mr->base->iova);
	fpdu = hear(test, &other, CORE_MSG_READ_RESPONSE);
	KUNIT_EXPECT_MEMEQ(test, ulpdu(fpdu) + 14, octets, OCTETS);
	KUNIT_EXPECT_MEMEQ(test, memory_of(mr), octets, OCTETS);
	srnic_test_expect_nothing_left(test, c);
}

/*
 * Receives of an SRQ may use memory of the SRQ's protection domain; requests and peers may use that
 * of the QP's.
 */
static void a_shared_queue_receives_into_its_own_protection_domain(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct ib_pd *pd = srnic_test_pd(test, c->set.dev);
	struct srnic_test_srq *srq = srnic_test_srq(test, pd, 4, 0);
	struct stream s = begin_with(test, c->set.pd, srq), owner = begin(test, pd);
	struct srnic_test_mr *mr = region_of(test, pd, &owner);
	struct ib_sge sge = { .addr = mr->base->iova, .length = OCTETS, .lkey = mr->base->lkey };
	u8 *octets = octets_for(test);

	KUNIT_ASSERT_EQ(test,
			ib_post_srq_recv(srq->base,
					 &(struct ib_recv_wr){.sg_list = &sge, .num_sge = 1}, NULL),
			0);
	say_send(test, &s, octets);
	expect_completion(test, IB_WC_RECV);
	KUNIT_EXPECT_MEMEQ(test, memory_of(mr), octets, OCTETS);
	srnic_test_expect_nothing_left(test, c);
}

static void a_region_is_for_no_stream_of_another_protection_domain(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct ib_pd *pd = srnic_test_pd(test, c->set.dev);
	u8 *octets = octets_for(test);
	struct stream s = begin(test, c->set.pd), writer = begin(test, pd),
		      reader = begin(test, pd);
	struct srnic_test_mr *mr = region_of(test, c->set.pd, &s);

	say_write(test, &writer, mr->base->rkey, mr->base->iova, octets);
	hear_terminate(test, &writer, CORE_LAYER_DDP, 1, 2);
	KUNIT_EXPECT_NULL(test, memchr_inv(memory_of(mr), 0, OCTETS));
	say_read(test, &reader, mr->base->rkey, mr->base->iova);
	hear_terminate(test, &reader, CORE_LAYER_RDMAP, 1, 3);
	srnic_test_expect_nothing_left(test, c);
}

/* ---- callbacks ---- */

static u32 interruptible;

static void note_context(struct sock *sk)
{
	interruptible += !softirq_count();
}

/*
 * TCP also calls back from process context, in release_sock(), and takes sk_callback_lock with the
 * socket's spinlock held: holding it with bottom halves on could deadlock.
 */
static void bottom_halves_are_off_while_a_callback_holds_its_lock(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	struct srnic_qp *qp = s.qp;
	struct sock *sk = qp->sock->sk;
	struct srnic_sock_callbacks own = qp->own_callbacks;

	interruptible = 0;
	lock_sock(sk);
	qp->own_callbacks.write_space = note_context;
	qp->own_callbacks.state_change = note_context;
	qp->own_callbacks.error_report = note_context;
	sk->sk_data_ready(sk);
	sk->sk_write_space(sk);
	sk->sk_state_change(sk);
	sk->sk_error_report(sk);
	qp->own_callbacks = own;
	release_sock(sk);
	KUNIT_EXPECT_EQ(test, interruptible, 0);
	srnic_test_expect_nothing_left(test, c);
}

/* ---- TCP that lacks memory ---- */

static atomic_t asked;

/* tcp_sendmsg() does so if its queues are empty and it can allocate nothing. */
static int without_memory(struct socket *sock, struct msghdr *msg, size_t len)
{
	atomic_inc(&asked);
	sock->sk->sk_write_space(sock->sk);
	return -EAGAIN;
}

/* Nothing else is asked of the socket meanwhile. */
static const struct proto_ops starved = { .sendmsg = without_memory };

/* From now on, with these operations. */
static void set_ops(struct stream *s, const struct proto_ops *ops)
{
	mutex_lock(&s->qp->tx.mutex);
	WRITE_ONCE(s->qp->sock->ops, ops);
	srnic_tx_unlock(s->qp);
}

/* Twice at once, and then every 10 ms, or jiffy, at most. */
static void tcp_that_lacks_memory_is_asked_again_after_a_while(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	const struct proto_ops *own = s.qp->sock->ops;
	unsigned long begun;

	atomic_set(&asked, 0);
	set_ops(&s, &starved);
	post(test, &s, IB_WR_SEND, octets_for(test));
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(atomic_read(&asked) > 2));
	begun = jiffies;
	atomic_set(&asked, 0);
	msleep(500);
	KUNIT_EXPECT_LE(test, atomic_read(&asked),
			(jiffies - begun) / msecs_to_jiffies(10) + 1);
	set_ops(&s, own);
	hear(test, &s, CORE_MSG_SEND);
	expect_completion(test, IB_WC_SEND);
	srnic_test_expect_nothing_left(test, c);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(what_goes_out_is_numbered_across_the_wrap),
	KUNIT_CASE(what_comes_in_is_taken_across_the_wrap),
	KUNIT_CASE(a_terminate_names_the_msn_of_the_read_whose_memory_went),
	KUNIT_CASE(a_terminate_that_is_due_goes_out_though_its_qp_fails_at_once),
	KUNIT_CASE(a_peer_that_closes_and_owes_a_read_is_told_so),
	KUNIT_CASE(what_is_posted_after_a_disconnect_does_not_go_out),
	KUNIT_CASE(an_end_is_kept_until_the_next_connection),
	KUNIT_CASE(a_peer_that_closes_is_an_end),
	KUNIT_CASE(a_peer_that_resets_is_an_end_with_tcps_error),
	KUNIT_CASE(a_terminate_of_the_peer_is_an_end_with_its_code),
	KUNIT_CASE(an_error_replaces_a_close_and_nothing_else_is_replaced),
	KUNIT_CASE(an_attempt_to_connect_that_fails_is_no_end),
	KUNIT_CASE(an_end_is_noted_while_the_qp_keeps_its_connection),
	KUNIT_CASE(an_owner_is_told_before_the_qp_can_have_another),
	KUNIT_CASE(a_close_fails_the_connection_that_it_closes),
	KUNIT_CASE(an_ack_timeout_is_for_the_connection_that_has_it),
	KUNIT_CASE(a_send_with_invalidate_names_the_stag_that_it_was_posted_with),
	KUNIT_CASE(a_stream_that_is_idle_keeps_no_pages),
	KUNIT_CASE(a_request_for_foreign_memory_sends_a_terminate_and_nothing_else),
	KUNIT_CASE(a_receive_into_foreign_memory_is_no_error_of_the_peers),
	KUNIT_CASE(the_sink_of_a_read_is_no_other_streams_of_its_protection_domain),
	KUNIT_CASE(the_sink_of_a_read_is_no_stream_of_another_protection_domain),
	KUNIT_CASE(a_region_is_for_every_stream_of_its_protection_domain),
	KUNIT_CASE(a_shared_queue_receives_into_its_own_protection_domain),
	KUNIT_CASE(a_region_is_for_no_stream_of_another_protection_domain),
	KUNIT_CASE(bottom_halves_are_off_while_a_callback_holds_its_lock),
	KUNIT_CASE(tcp_that_lacks_memory_is_asked_again_after_a_while),
	{ }
};

static struct kunit_suite suite = {
	.name = "srnic_stream",
	.init = srnic_test_conn_init,
	.exit = srnic_test_conn_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
