/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * For tests: streams between a QP and a peer that is a plain socket, FPDU by FPDU. The peer
 * initiates, the QP accepts. test->priv is a struct srnic_test_conn.
 */
#ifndef SRNIC_KUNIT_STREAM_H
#define SRNIC_KUNIT_STREAM_H

#include "compat/unaligned.h"
#include "connection.h"

#define OCTETS	64U	/* of every payload */
#define MULPDU	512U

/* ---- a stream and its two ends ---- */

struct stream {
	struct srnic_qp *qp;
	struct socket *peer;
	u32 send_msn, read_msn;		/* of the peer's next Send and Read Request */
	bool told_locked;		/* for a case's event handler */
};

struct fpdu {
	u32 len;
	u8 octets[MULPDU + 12];
};

static inline const u8 *ulpdu(const struct fpdu *fpdu)
{
	return fpdu->octets + 2;
}

static inline u8 opcode_of(const struct fpdu *fpdu)
{
	return ulpdu(fpdu)[1] & 0xf;
}

static inline u32 msn_of(const struct fpdu *fpdu)
{
	return get_unaligned_be32(ulpdu(fpdu) + 10);
}

/* RFC 5041 figure 5: a Read Request's own header follows DDP's. */
static inline u32 sink_of(const struct fpdu *fpdu)
{
	return get_unaligned_be32(ulpdu(fpdu) + 18);
}

/* The peer sends a message of one segment. */
static inline void say(struct kunit *test, struct stream *s, struct core_tx_msg msg,
		       const void *payload)
{
	struct core_fpdu builder;
	struct fpdu fpdu;

	core_fpdu_init(&builder, true, false);
	fpdu.len = core_fpdu_build(&builder, &msg, MULPDU, payload, fpdu.octets);
	KUNIT_ASSERT_TRUE(test, msg.done);
	srnic_test_send(test, s->peer, fpdu.octets, fpdu.len);
}

static inline void say_send(struct kunit *test, struct stream *s, const void *octets)
{
	struct core_tx_msg msg = {
		.opcode = CORE_MSG_SEND, .length = OCTETS, .msn = s->send_msn,
	};

	s->send_msn++;
	say(test, s, msg, octets);
}

static inline void say_write(struct kunit *test, struct stream *s, u32 stag, u64 to,
			     const void *octets)
{
	struct core_tx_msg msg = {
		.opcode = CORE_MSG_WRITE, .length = OCTETS, .stag = stag, .to = to,
	};

	say(test, s, msg, octets);
}

static inline void say_response(struct kunit *test, struct stream *s, u32 stag,
				const void *octets)
{
	struct core_tx_msg msg = {
		.opcode = CORE_MSG_READ_RESPONSE, .length = OCTETS, .stag = stag,
	};

	say(test, s, msg, octets);
}

static inline void say_read(struct kunit *test, struct stream *s, u32 stag, u64 to)
{
	const struct core_read_request request = {
		.sink_stag = 0x77, .length = OCTETS, .source_stag = stag, .source_to = to,
	};

	say(test, s, (struct core_tx_msg) {
		.opcode = CORE_MSG_READ_REQUEST, .msn = s->read_msn++, .request = &request,
	}, NULL);
}

/* Receives the peer's next FPDU, with this opcode. It is valid until the test ends. */
static inline const struct fpdu *hear(struct kunit *test, struct stream *s, u8 opcode)
{
	struct fpdu *fpdu = kunit_kzalloc(test, sizeof(*fpdu), GFP_KERNEL);
	u32 left;

	KUNIT_ASSERT_NOT_NULL(test, fpdu);
	KUNIT_ASSERT_EQ(test, srnic_test_recv(s->peer, fpdu->octets, 2), 2);
	fpdu->len = get_unaligned_be16(fpdu->octets);
	left = ALIGN(fpdu->len + 2, 4) + 2;
	KUNIT_ASSERT_LE(test, left + 2, sizeof(fpdu->octets));
	KUNIT_ASSERT_EQ(test, srnic_test_recv(s->peer, fpdu->octets + 2, left), left);
	KUNIT_ASSERT_EQ(test, opcode_of(fpdu), opcode);
	return fpdu;
}

/* Receives a Terminate (RFC 5040 4.8), after which nothing may come. */
static inline const struct fpdu *hear_terminate(struct kunit *test, struct stream *s, u8 layer,
						u8 etype, u8 code)
{
	const struct fpdu *fpdu = hear(test, s, CORE_MSG_TERMINATE);
	u8 octet;

	KUNIT_EXPECT_EQ(test, ulpdu(fpdu)[18], layer << 4 | etype);
	KUNIT_EXPECT_EQ(test, ulpdu(fpdu)[19], code);
	KUNIT_EXPECT_EQ(test, srnic_test_recv(s->peer, &octet, 1), 0);
	return fpdu;
}

/* The DDP header in a Terminate, if it has one. */
static inline const u8 *ddp_of(const struct fpdu *terminate)
{
	return ulpdu(terminate) + 18 + 6;
}

static inline bool operates(struct srnic_qp *qp)
{
	/* pairs with srnic_qp_move() */
	return smp_load_acquire(&qp->state) == SRNIC_QP_RTS && READ_ONCE(qp->tx.validated);
}

/* A peer connects to this QP; after the RTR (RFC 6581 9.2). */
static inline struct stream begin_on(struct kunit *test, struct srnic_qp *qp)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = { .qp = qp, .send_msn = 1, .read_msn = 1 };
	u8 reply[CORE_MPA_HEADER + CORE_MPA_ENHANCED];
	struct iw_cm_conn_param param;

	if (!c->listener)
		srnic_test_listen(test, c, 8);
	s.peer = srnic_test_announce(test, c);
	param = srnic_test_param(c->server, s.qp);
	KUNIT_ASSERT_EQ(test, srnic_accept(&c->server->id, &param), 0);
	KUNIT_ASSERT_EQ(test, srnic_test_recv(s.peer, reply, sizeof(reply)), sizeof(reply));
	say(test, &s, (struct core_tx_msg) { .opcode = CORE_MSG_WRITE, .stag = 1 }, reply);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(operates(s.qp)));
	return s;
}

/* The same with a new QP. With srq it takes receives from that. */
static inline struct stream begin_with(struct kunit *test, struct ib_pd *pd,
				       struct srnic_test_srq *srq)
{
	struct srnic_test_conn *c = test->priv;

	return begin_on(test, srnic_test_qp(test, pd, c->set.cq, srq, IB_SIGNAL_REQ_WR));
}

static inline struct stream begin(struct kunit *test, struct ib_pd *pd)
{
	return begin_with(test, pd, NULL);
}

/* Why its connection ended, or SRNIC_END_NONE. */
static inline void expect_end(struct kunit *test, const struct stream *s, enum srnic_end end,
			      u16 detail)
{
	u32 kept = READ_ONCE(s->qp->end);

	KUNIT_EXPECT_EQ(test, srnic_end_of(kept), end);
	KUNIT_EXPECT_EQ(test, srnic_end_detail(kept), detail);
}

/* As after so many messages of each kind in each direction that msn is next. */
static inline void age(struct stream *s, u32 msn)
{
	struct srnic_qp *qp = s->qp;
	struct sock *sk = qp->sock->sk;

	mutex_lock(&qp->tx.mutex);
	lock_sock(sk);
	qp->tx.core.send_msn = msn - 1;
	qp->tx.core.read_msn = msn - 1;
	qp->tx.core.atomic_msn = msn - 1;
	qp->tx.core.answered = msn - 1;
	qp->inbound.head = msn - 1;
	qp->inbound.tail = msn - 1;
	qp->outbound.head = msn - 1;
	qp->outbound.tail = msn - 1;
	core_rx_init(&qp->rx.core, &(struct core_rx_params) {
		.ctx = qp, .pd = qp->pd, .first_msn = msn, .crc = qp->tx.core.params.crc,
	});
	release_sock(sk);
	srnic_tx_unlock(qp);
	s->send_msn = msn;
	s->read_msn = msn;
}

/* ---- requests and memory ---- */

static inline struct ib_sge sge_of(struct srnic_test_conn *c, const void *octets)
{
	return srnic_test_sge(c, octets, OCTETS);
}

static inline void post_list(struct kunit *test, struct stream *s, enum ib_wr_opcode opcode,
			     struct ib_sge *list, int num)
{
	struct ib_rdma_wr wr = {
		.wr = {.opcode = opcode,
		       .sg_list = list,
		       .num_sge = num,
		       .send_flags = IB_SEND_SIGNALED},
		.rkey = 0x88,
	};

	KUNIT_ASSERT_EQ(test, ib_post_send(&s->qp->base, &wr.wr, NULL), 0);
}

static inline void post(struct kunit *test, struct stream *s, enum ib_wr_opcode opcode,
			const void *octets)
{
	struct ib_sge sge = sge_of(test->priv, octets);

	post_list(test, s, opcode, &sge, 1);
}

static inline void post_receive(struct kunit *test, struct stream *s, void *octets)
{
	struct ib_sge sge = sge_of(test->priv, octets);
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	KUNIT_ASSERT_EQ(test, ib_post_recv(&s->qp->base, &wr, NULL), 0);
}

static inline void expect_completion(struct kunit *test, enum ib_wc_opcode opcode)
{
	struct ib_wc wc = srnic_test_next_wc(test);

	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.opcode, opcode);
}

/* Two pieces of memory: one to compare with, one of zeros. */
static inline u8 *octets_for(struct kunit *test)
{
	u8 *octets = kunit_kzalloc(test, 2 * OCTETS, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, octets);
	get_random_bytes(octets, OCTETS);
	return octets;
}

/* A region that the QP of this stream has registered. */
static inline struct srnic_test_mr *region_of(struct kunit *test, struct ib_pd *pd,
					      struct stream *s)
{
	struct srnic_test_mr *mr = srnic_test_mr(test, pd);

	ib_update_fast_reg_key(mr->base, mr->base->rkey + 1);
	KUNIT_ASSERT_EQ(test,
			srnic_mr_register(s->qp->dev, mr->mr, s->qp->pd, s->qp->base.qp_num,
					  mr->base->rkey,
					  CORE_ACCESS_LOCAL_WRITE | CORE_ACCESS_REMOTE_WRITE |
						  CORE_ACCESS_REMOTE_READ |
						  CORE_ACCESS_REMOTE_ATOMIC),
			0);
	return mr;
}

static inline u8 *memory_of(struct srnic_test_mr *mr)
{
	return mr->page[0] + SRNIC_TEST_OFFSET;
}

#endif
