// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A QP of a device that frames as RDMA/TCP does (draft-williams-rdmatcp-00,
 * Documentation/rdmatcp.rst), segment by segment and without CRCs. The peer initiates.
 */
#include "device/framing.h"
#include "report/counters.h"
#include "stream.h"

#define CONNECTION	0x1020304050607080ULL
#define HEADER		24
#define BUFFER_HEADER	32
#define CRC_FIELD	4
#define WHOLE		(HEADER + OCTETS + CRC_FIELD)	/* a Send without control data */

enum { BEGIN_AND_END = 0x0c, TYPE_SEND = 0, TYPE_WRITE = 1 };

/* ---- a connection ---- */

static void listen_for_rdmatcp(struct kunit *test, struct srnic_test_conn *c)
{
	srnic_set_framings(c->set.dev, BIT(CORE_FRAMING_RDMATCP));
	c->set.dev->settings.mpa_crc = false;
	srnic_test_listen(test, c, 8);
}

/* Its first message repeats our ID. Returns its number. */
static u32 hear_accept(struct kunit *test, struct socket *peer, u8 *octets)
{
	struct core_hello reply = { };
	const u8 *private;
	u32 len;

	KUNIT_ASSERT_EQ(test, srnic_test_recv(peer, octets, CORE_HELLO_HEAD), CORE_HELLO_HEAD);
	len = core_hello_len(octets);
	KUNIT_ASSERT_GT(test, len, CORE_HELLO_HEAD);
	len -= CORE_HELLO_HEAD;
	KUNIT_ASSERT_EQ(test, srnic_test_recv(peer, octets + CORE_HELLO_HEAD, len), len);
	len += CORE_HELLO_HEAD;
	KUNIT_ASSERT_EQ(test, core_hello_parse(octets, len, &reply, &private), CORE_RDMATCP_FINE);
	KUNIT_EXPECT_EQ(test, reply.kind, CORE_HELLO_ACCEPT);
	KUNIT_EXPECT_EQ(test, reply.connection_id, CONNECTION);
	KUNIT_EXPECT_EQ(test, reply.ird, 2);
	KUNIT_EXPECT_EQ(test, reply.ord, 1);
	KUNIT_EXPECT_FALSE(test, reply.crc);
	return reply.number;
}

/* read_msn of the stream is the number of the QP's next message; the peer's wraps. */
static struct stream begin_rdmatcp(struct kunit *test)
{
	const struct core_hello hello = {
		.connection_id = CONNECTION, .number = U32_MAX, .private_len = 5,
		.ird = 1, .ord = 2, .kind = CORE_HELLO_CONNECT,
	};
	struct srnic_test_conn *c = test->priv;
	struct stream s = { .qp = srnic_test_qp(test, c->set.pd, c->set.cq, NULL,
						IB_SIGNAL_REQ_WR) };
	u8 *octets = kunit_kzalloc(test, CORE_HELLO_MAX, GFP_KERNEL);
	struct iw_cm_conn_param param;

	KUNIT_ASSERT_NOT_NULL(test, octets);
	listen_for_rdmatcp(test, c);
	s.peer = srnic_test_announce_by(test, c, octets,
					core_hello_build(&hello, "hello", octets));
	KUNIT_EXPECT_EQ(test, c->listener->events[0].private_len, 5);
	KUNIT_EXPECT_MEMEQ(test, c->listener->events[0].private_data, "hello", 5);
	param = srnic_test_param(c->server, s.qp);
	KUNIT_ASSERT_EQ(test, srnic_accept(&c->server->id, &param), 0);
	s.read_msn = hear_accept(test, s.peer, octets) + 1;
	/* What a QP refuses when it is posted depends on the framing, which it now learns. */
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(READ_ONCE(s.qp->state) == SRNIC_QP_RTS));
	return s;
}

/* Puts a segment that is a whole message of so many octets of control data and payload. */
static u8 *put_common(u8 *at, u8 type, u32 length, u32 number, u32 control)
{
	at[0] = 1;
	at[1] = BEGIN_AND_END | type;
	put_unaligned_be16(length, at + 2);
	put_unaligned_be64(CONNECTION, at + 4);
	put_unaligned_be32(number, at + 12);
	at[19] = control / 4;
	return at;
}

static void say_rdmatcp_send(struct kunit *test, struct stream *s, const u8 *payload, u8 version)
{
	u8 octets[WHOLE] = { };

	put_common(octets, TYPE_SEND, HEADER + OCTETS, s->send_msn++, 0)[0] = version;
	memcpy(octets + HEADER, payload, OCTETS);
	srnic_test_send(test, s->peer, octets, sizeof(octets));
}

/* Nothing came but a reset, and the QP is in the error state. */
static void expect_reset(struct kunit *test, struct stream *s)
{
	KUNIT_EXPECT_TRUE(test, srnic_test_is_reset(s->peer));
	KUNIT_EXPECT_TRUE(test,
			  srnic_test_eventually(READ_ONCE(s->qp->state) == SRNIC_QP_ERROR));
}

/* ---- cases ---- */

/* 3.1, 3.4. */
static void sends_go_both_ways(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin_rdmatcp(test);
	u8 *octets = octets_for(test), came[WHOLE], expected[WHOLE] = { };

	post_receive(test, &s, octets + OCTETS);
	say_rdmatcp_send(test, &s, octets, 1);
	expect_completion(test, IB_WC_RECV);
	KUNIT_EXPECT_MEMEQ(test, octets, octets + OCTETS, OCTETS);

	post(test, &s, IB_WR_SEND, octets);
	put_common(expected, TYPE_SEND, HEADER + OCTETS, s.read_msn, 0);
	memcpy(expected + HEADER, octets, OCTETS);
	KUNIT_ASSERT_EQ(test, srnic_test_recv(s.peer, came, WHOLE), WHOLE);
	KUNIT_EXPECT_MEMEQ(test, came, expected, WHOLE);
	expect_completion(test, IB_WC_SEND);
	srnic_test_expect_nothing_left(test, c);
}

/* Rule 14 of the binding. */
static void immediate_data_come_in_the_segment_of_their_write(struct kunit *test)
{
	static const u8 control[] = { 1, 0, 0, 4, 1, 2, 3, 4, 5, 6, 7, 8 };
	u8 segment[BUFFER_HEADER + sizeof(control) + CRC_FIELD] = { };
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin_rdmatcp(test);
	struct ib_wc wc;

	post_receive(test, &s, octets_for(test));
	put_common(segment, TYPE_WRITE, BUFFER_HEADER + sizeof(control), s.send_msn++,
		   sizeof(control));
	memcpy(segment + BUFFER_HEADER, control, sizeof(control));
	srnic_test_send(test, s.peer, segment, sizeof(segment));
	wc = srnic_test_next_wc(test);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RECV_RDMA_WITH_IMM);
	KUNIT_EXPECT_EQ(test, wc.ex.imm_data, cpu_to_be32(0x01020304));
	srnic_test_expect_nothing_left(test, c);
}

/* The draft has no message for errors. */
static void a_broken_rule_resets_the_connection_and_is_counted(struct kunit *test)
{
	const u32 counter = SRNIC_RX_CHECKS + CORE_RDMATCP_VERSION - 1;
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin_rdmatcp(test);
	u8 *octets = octets_for(test);

	KUNIT_EXPECT_EQ(test, srnic_counted(c->set.dev, counter), 0);
	post_receive(test, &s, octets + OCTETS);
	say_rdmatcp_send(test, &s, octets, 2);
	expect_reset(test, &s);
	expect_end(test, &s, SRNIC_END_CHECK, CORE_RDMATCP_VERSION);
	KUNIT_EXPECT_EQ(test, srnic_test_next_wc(test).status, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, srnic_counted(c->set.dev, counter), 1);
	KUNIT_EXPECT_NULL(test, memchr_inv(octets + OCTETS, 0, OCTETS));
	srnic_test_expect_nothing_left(test, c);
}

static void an_error_of_this_end_resets_the_connection(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin_rdmatcp(test);
	struct ib_sge sge = sge_of(c, octets_for(test));

	sge.lkey += 0x1000;
	post_list(test, &s, IB_WR_SEND, &sge, 1);
	expect_reset(test, &s);
	expect_end(test, &s, SRNIC_END_ERROR, 0);
	KUNIT_EXPECT_EQ(test, srnic_test_next_wc(test).status, IB_WC_LOC_PROT_ERR);
	srnic_test_expect_nothing_left(test, c);
}

/* Rule 17 of the binding: when it is posted, and the stream goes on. */
static void an_atomic_operation_is_refused(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin_rdmatcp(test);
	u8 *octets = octets_for(test);
	struct ib_sge sge = { .addr = (uintptr_t)octets, .length = 8,
			      .lkey = c->set.dev->base.local_dma_lkey };
	struct ib_atomic_wr wr = { .wr = { .opcode = IB_WR_ATOMIC_FETCH_AND_ADD,
					   .sg_list = &sge, .num_sge = 1 } };

	KUNIT_EXPECT_EQ(test, ib_post_send(&s.qp->base, &wr.wr, NULL), -EOPNOTSUPP);
	post(test, &s, IB_WR_SEND, octets);
	expect_completion(test, IB_WC_SEND);
	srnic_test_expect_nothing_left(test, c);
}

static void a_request_of_mpa_is_refused_at_once(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct socket *peer;
	u8 octets[64], octet;
	u32 len = srnic_test_request(octets, "hello", 5);
	int ret;

	listen_for_rdmatcp(test, c);
	peer = srnic_test_connect_peer(test, c);
	srnic_test_send(test, peer, octets, len);
	ret = srnic_test_recv(peer, &octet, 1);
	KUNIT_EXPECT_TRUE(test, ret == 0 || ret == -ECONNRESET);
	KUNIT_EXPECT_EQ(test, c->listener->num, 0);
	srnic_test_expect_nothing_left(test, c);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(sends_go_both_ways),
	KUNIT_CASE(immediate_data_come_in_the_segment_of_their_write),
	KUNIT_CASE(a_broken_rule_resets_the_connection_and_is_counted),
	KUNIT_CASE(an_error_of_this_end_resets_the_connection),
	KUNIT_CASE(an_atomic_operation_is_refused),
	KUNIT_CASE(a_request_of_mpa_is_refused_at_once),
	{ }
};

static struct kunit_suite suite = {
	.name = "srnic_rdmatcp",
	.init = srnic_test_conn_init,
	.exit = srnic_test_conn_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
