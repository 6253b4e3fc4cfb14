// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Datagrams between QPs of type UD (datagram/; Documentation/ib.rst, whose rules are named by
 * number), by the kernel's own verbs. What is dropped: datagram_drop_test.c.
 */
#include <linux/delay.h>
#include <net/sock.h>
#include <rdma/ib_mad.h>

#include "datagram.h"
#include "datagram/socket.h"

/* ---- what arrives ---- */

static void two_qps_exchange_messages(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	static const u32 lengths[] = { 0, 1, 3, 1024, 2049, 4095, 4096 };

	for (int i = 0; i < ARRAY_SIZE(lengths); i++)
		ud_exchange(test, e, lengths[i]);
	KUNIT_EXPECT_EQ(test, ud_counted(e, SRNIC_TX_DATAGRAMS), ARRAY_SIZE(lengths));
	KUNIT_EXPECT_EQ(test, ud_counted(e, SRNIC_RX_DATAGRAMS), ARRAY_SIZE(lengths));
	KUNIT_EXPECT_EQ(test, ud_counted(e, SRNIC_RX_DATAGRAM_OCTETS), 11268);
}

/* 83 */
static void a_receive_gets_the_header_of_ipv4(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	static const u8 zeros[20];
	const struct iphdr *ip = (void *)(e->into + 20);
	struct ib_wc wc;

	ud_receive(test, e, &e->b, ROOM);
	ud_send(test, e, &e->a, &e->b, 100);
	wc = ud_wc(test, &e->b);
	KUNIT_EXPECT_EQ(test, wc.wc_flags, IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE);
	KUNIT_EXPECT_EQ(test, wc.network_hdr_type, RDMA_NETWORK_IPV4);
	KUNIT_EXPECT_EQ(test, wc.port_num, 1);
	KUNIT_EXPECT_EQ(test, wc.pkey_index, 0);
	KUNIT_EXPECT_MEMEQ(test, e->into, zeros, sizeof(zeros));
	KUNIT_EXPECT_EQ(test, e->into[20], 0x45);
	KUNIT_EXPECT_EQ(test, ntohl(ip->saddr), INADDR_LOOPBACK);
	KUNIT_EXPECT_EQ(test, ntohl(ip->daddr), INADDR_LOOPBACK);
	KUNIT_EXPECT_EQ(test, ip->ttl, 64);
	KUNIT_EXPECT_EQ(test, ntohs(ip->tot_len), 20 + 8 + CORE_DATAGRAM_HEADER + 100);
	KUNIT_EXPECT_EQ(test, ip_fast_csum(ip, ip->ihl), 0);
}

static void a_receive_gets_the_header_of_ipv6(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	const struct ipv6hdr *ip = (void *)e->into;
	union ib_gid gid = gid_of_lo6();
	struct ib_wc wc;

	e->ah = make_ah(test, e->dev, e->pd, &gid);
	ud_exchange(test, e, 500);
	ud_receive(test, e, &e->b, ROOM);
	ud_send(test, e, &e->a, &e->b, 100);
	wc = ud_wc(test, &e->b);
	KUNIT_EXPECT_EQ(test, wc.network_hdr_type, RDMA_NETWORK_IPV6);
	KUNIT_EXPECT_EQ(test, e->into[0] >> 4, 6);
	KUNIT_EXPECT_EQ(test, ip->nexthdr, IPPROTO_UDP);
	KUNIT_EXPECT_EQ(test, ip->hop_limit, 64);
	KUNIT_EXPECT_EQ(test, ntohs(ip->payload_len), 8 + CORE_DATAGRAM_HEADER + 100);
	KUNIT_EXPECT_MEMEQ(test, (const u8 *)&ip->saddr, gid.raw, sizeof(gid));
	KUNIT_EXPECT_MEMEQ(test, (const u8 *)&ip->daddr, gid.raw, sizeof(gid));
}

/* The RDMA core finds the GIDs of both ends in the header, for answers. */
static void an_answer_finds_its_way(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	union ib_gid lo = gid_of_v4(INADDR_LOOPBACK), from, to;
	struct ib_wc wc;

	ud_receive(test, e, &e->b, ROOM);
	ud_send(test, e, &e->a, &e->b, 100);
	wc = ud_wc(test, &e->b);
	KUNIT_ASSERT_EQ(test, ib_get_gids_from_rdma_hdr((void *)e->into, wc.network_hdr_type,
							&from, &to), 0);
	KUNIT_EXPECT_MEMEQ(test, from.raw, lo.raw, sizeof(lo));
	KUNIT_EXPECT_MEMEQ(test, to.raw, lo.raw, sizeof(lo));
}

static void immediate_data_arrive(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct ud_send send = ud_send_of(e, &e->b, 10);
	struct ib_wc wc;

	send.wr.wr.opcode = IB_WR_SEND_WITH_IMM;
	send.wr.wr.ex.imm_data = cpu_to_be32(0x12345678);
	ud_receive(test, e, &e->b, ROOM);
	KUNIT_ASSERT_EQ(test, ud_post(&e->a, &send), 0);
	wc = ud_wc(test, &e->b);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RECV);
	KUNIT_EXPECT_EQ(test, wc.wc_flags,
			IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE | IB_WC_WITH_IMM);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(wc.ex.imm_data), 0x12345678);
	KUNIT_EXPECT_EQ(test, wc.byte_len, CORE_DATAGRAM_GRH + 10);
}

static void inline_payload_arrives(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct ud_send send = ud_send_of(e, &e->b, 32);

	send.wr.wr.send_flags |= IB_SEND_INLINE;
	ud_receive(test, e, &e->b, ROOM);
	KUNIT_ASSERT_EQ(test, ud_post(&e->a, &send), 0);
	ud_expect(test, &e->b, IB_WC_SUCCESS);
	KUNIT_EXPECT_MEMEQ(test, e->into + CORE_DATAGRAM_GRH, e->from, 32);
}

/* 81: "... if it waits for solicited events" */
static void a_solicited_message_wakes(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct ud_send send = ud_send_of(e, &e->b, 8);

	ib_req_notify_cq(e->b.cq->base, IB_CQ_SOLICITED);
	ud_exchange(test, e, 8);
	KUNIT_EXPECT_EQ(test, atomic_read(&e->b.cq->completions), 0);
	send.wr.wr.send_flags |= IB_SEND_SOLICITED;
	ud_receive(test, e, &e->b, ROOM);
	KUNIT_ASSERT_EQ(test, ud_post(&e->a, &send), 0);
	ud_expect(test, &e->b, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(atomic_read(&e->b.cq->completions) == 1));
}

static void a_qp_may_send_to_itself(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);

	ud_receive(test, e, &e->a, ROOM);
	ud_send(test, e, &e->a, &e->a, 64);
	ud_expect(test, &e->a, IB_WC_SUCCESS);
	ud_expect(test, &e->a, IB_WC_SUCCESS);
}

static void receives_may_be_shared(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct srnic_test_srq *srq = srnic_test_srq(test, e->pd, 8, 2);
	struct ib_sge sge = ud_memory(e, e->into, ROOM);
	struct ib_recv_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 };
	struct ib_wc wc;

	e->b.qp = srnic_test_ud_qp(test, e->pd, e->b.cq, srq);
	ud_up(test, &e->b);
	KUNIT_ASSERT_EQ(test, ib_post_srq_recv(srq->base, &wr, NULL), 0);
	ud_send(test, e, &e->a, &e->b, 64);
	wc = ud_wc(test, &e->b);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.wr_id, 7);
	KUNIT_EXPECT_EQ(test, atomic_read(&srq->limits), 1);
}

static void a_message_and_a_receive_may_be_in_pieces(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct ib_sge into[2] = { ud_memory(e, e->into, 41), ud_memory(e, e->into + 41, 2000) };
	struct ib_sge from[2] = { ud_memory(e, e->from, 7), ud_memory(e, e->from + 7, 1000) };
	struct ib_recv_wr receive = { .sg_list = into, .num_sge = 2 };
	struct ud_send send = ud_send_of(e, &e->b, 0);

	KUNIT_ASSERT_EQ(test, ib_post_recv(&e->b.qp->base, &receive, NULL), 0);
	send.wr.wr.num_sge = 2;
	send.wr.wr.sg_list = from;
	KUNIT_ASSERT_EQ(test, ib_post_send(&e->a.qp->base, &send.wr.wr, NULL), 0);
	ud_expect(test, &e->b, IB_WC_SUCCESS);
	KUNIT_EXPECT_MEMEQ(test, e->into + CORE_DATAGRAM_GRH, e->from, 1007);
}

/* ---- states ---- */

/* 91: in RTR it receives, and sends no request. */
static void in_rtr_a_qp_only_receives(struct kunit *test)
{
	struct ud_ends *e = make_ud_ends(test);

	ud_up(test, &e->a);
	KUNIT_ASSERT_EQ(test, ud_to(&e->b, IB_QPS_INIT), 0);
	KUNIT_ASSERT_EQ(test, ud_to(&e->b, IB_QPS_RTR), 0);
	ud_exchange(test, e, 10);
	ud_receive(test, e, &e->a, ROOM);
	ud_send(test, e, &e->b, &e->a, 10);
	fsleep(50000);
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(e->b.cq));
	KUNIT_ASSERT_EQ(test, ud_to(&e->b, IB_QPS_RTS), 0);
	ud_expect(test, &e->b, IB_WC_SUCCESS);
	ud_expect(test, &e->a, IB_WC_SUCCESS);
}

static void sqd_pauses(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);

	KUNIT_ASSERT_EQ(test, ud_to(&e->a, IB_QPS_SQD), 0);
	ud_receive(test, e, &e->b, ROOM);
	ud_send(test, e, &e->a, &e->b, 10);
	fsleep(50000);
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(e->a.cq));
	KUNIT_ASSERT_EQ(test, ud_to(&e->a, IB_QPS_RTS), 0);
	ud_expect(test, &e->a, IB_WC_SUCCESS);
	ud_expect(test, &e->b, IB_WC_SUCCESS);
}

static void an_error_flushes(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);

	ud_receive(test, e, &e->b, ROOM);
	ud_receive(test, e, &e->b, ROOM);
	KUNIT_ASSERT_EQ(test, ud_to(&e->b, IB_QPS_ERR), 0);
	ud_expect(test, &e->b, IB_WC_WR_FLUSH_ERR);
	ud_expect(test, &e->b, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, ud_state(&e->b), IB_QPS_ERR);
	ud_send(test, e, &e->b, &e->a, 10);
	ud_expect(test, &e->b, IB_WC_WR_FLUSH_ERR);
	KUNIT_ASSERT_EQ(test, ud_to(&e->b, IB_QPS_RESET), 0);
	ud_up(test, &e->b);
	ud_exchange(test, e, 10);
}

static void a_reset_completes_nothing(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);

	for (int n = 0; n < 8; n++)
		ud_receive(test, e, &e->b, ROOM);
	KUNIT_ASSERT_EQ(test, ud_to(&e->b, IB_QPS_RESET), 0);
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(e->b.cq));
	ud_up(test, &e->b);
	ud_exchange(test, e, 10);
}

static void attributes_are_kept(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct ib_qp_attr attr = { .qkey = 0x22222222 };
	struct ib_qp_init_attr init;

	KUNIT_ASSERT_EQ(test, ib_modify_qp(&e->a.qp->base, &attr, IB_QP_QKEY), 0);
	KUNIT_ASSERT_EQ(test, ib_query_qp(&e->a.qp->base, &attr, 0, &init), 0);
	KUNIT_EXPECT_EQ(test, attr.qp_state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, attr.qkey, 0x22222222);
	KUNIT_EXPECT_EQ(test, attr.port_num, 1);
	KUNIT_EXPECT_EQ(test, init.qp_type, IB_QPT_UD);
	KUNIT_EXPECT_EQ(test, ud_to(&e->a, IB_QPS_INIT), -EINVAL);
	KUNIT_EXPECT_EQ(test, ud_to(&e->a, IB_QPS_RESET), 0);
	KUNIT_ASSERT_EQ(test, ib_query_qp(&e->a.qp->base, &attr, 0, &init), 0);
	KUNIT_EXPECT_EQ(test, attr.qp_state, IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, attr.qkey, 0);
	KUNIT_EXPECT_EQ(test, ud_to(&e->a, IB_QPS_RTS), -EINVAL);
}

static void only_type_srnic_ib_has_them(struct kunit *test)
{
	struct srnic_dev *dev = srnic_test_device(test);
	struct srnic_test_cq *cq = srnic_test_cq(test, dev, 8);
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_UD, .send_cq = cq->base, .recv_cq = cq->base,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
	};
	struct ib_qp *qp = ib_create_qp(srnic_test_pd(test, dev), &attr);

	KUNIT_EXPECT_TRUE(test, IS_ERR(qp));
}

/* ---- requests that cannot be sent ---- */

/* 88: the request fails, those behind it are flushed, receives go on; RTS ends that. */
static void expect_sqe(struct kunit *test, struct ud_ends *e, struct ud_send *send,
		       enum ib_wc_status status)
{
	KUNIT_ASSERT_EQ(test, ud_to(&e->a, IB_QPS_SQD), 0);
	KUNIT_ASSERT_EQ(test, ud_post(&e->a, send), 0);
	ud_send(test, e, &e->a, &e->b, 1);
	KUNIT_ASSERT_EQ(test, ud_to(&e->a, IB_QPS_RTS), 0);
	ud_expect(test, &e->a, status);
	ud_expect(test, &e->a, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, ud_state(&e->a), IB_QPS_SQE);
	ud_send(test, e, &e->a, &e->b, 1);
	ud_expect(test, &e->a, IB_WC_WR_FLUSH_ERR);
	ud_receive(test, e, &e->a, ROOM);
	ud_send(test, e, &e->b, &e->a, 20);
	ud_expect(test, &e->b, IB_WC_SUCCESS);
	ud_expect(test, &e->a, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, ud_to(&e->a, IB_QPS_RTS), 0);
	KUNIT_EXPECT_EQ(test, ud_state(&e->a), IB_QPS_RTS);
	ud_exchange(test, e, 30);
}

/* 86 */
static void a_message_longer_than_the_mtu_fails(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct ud_send send = ud_send_of(e, &e->b, 4097);

	expect_sqe(test, e, &send, IB_WC_LOC_LEN_ERR);
}

static void an_unknown_address_handle_fails(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct ud_send send = ud_send_of(e, &e->b, 1);
	union ib_gid gid = gid_of_v4(INADDR_LOOPBACK);
	struct ib_ah *foreign = make_ah(test, e->dev, srnic_test_pd(test, e->dev), &gid);
	struct srnic_ah unknown = { .number = 12345 };

	send.wr.ah = foreign;
	expect_sqe(test, e, &send, IB_WC_LOC_QP_OP_ERR);
	send.wr.ah = &unknown.base;
	expect_sqe(test, e, &send, IB_WC_LOC_QP_OP_ERR);
}

static void memory_of_nobody_fails(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct ud_send send = ud_send_of(e, &e->b, 10);

	send.sge.lkey = 0x12345;
	expect_sqe(test, e, &send, IB_WC_LOC_PROT_ERR);
}

static void a_number_that_is_no_qp_number_fails(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct ud_send send = ud_send_of(e, &e->b, 1);

	send.wr.remote_qpn |= 0x1000000;
	expect_sqe(test, e, &send, IB_WC_LOC_QP_OP_ERR);
}

static void other_operations_are_refused(struct kunit *test)
{
	static const enum ib_wr_opcode others[] = {
		IB_WR_RDMA_WRITE, IB_WR_RDMA_READ, IB_WR_SEND_WITH_INV, IB_WR_LOCAL_INV,
		IB_WR_REG_MR, IB_WR_ATOMIC_FETCH_AND_ADD, IB_WR_RDMA_WRITE_WITH_IMM, IB_WR_LSO,
	};
	struct ud_ends *e = open_ud_ends(test);
	struct ud_send send = ud_send_of(e, &e->b, 1);

	for (int i = 0; i < ARRAY_SIZE(others); i++) {
		send.wr.wr.opcode = others[i];
		KUNIT_EXPECT_EQ(test, ud_post(&e->a, &send), -EINVAL);
	}
	send.wr.wr.opcode = IB_WR_SEND;
	send.wr.ah = NULL;
	KUNIT_EXPECT_EQ(test, ud_post(&e->a, &send), -EINVAL);
	ud_exchange(test, e, 10);
}

/* What a user may write into its ring. */
static void a_hostile_ring_fails(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct srnic_sq *sq = &e->a.qp->sq;
	struct srnic_send_wqe *wqe;

	for (u32 opcode = 0; opcode < 256; opcode++) {
		if (opcode == SRNIC_OP_SEND || opcode == SRNIC_OP_IMM)
			continue;
		KUNIT_ASSERT_EQ(test, ud_to(&e->a, IB_QPS_SQD), 0);
		wqe = srnic_ring_slot(&sq->ring, sq->posted);
		ud_send(test, e, &e->a, &e->b, 1);
		wqe->opcode = opcode;
		KUNIT_ASSERT_EQ(test, ud_to(&e->a, IB_QPS_RTS), 0);
		ud_expect(test, &e->a, IB_WC_LOC_QP_OP_ERR);
		KUNIT_ASSERT_EQ(test, ud_to(&e->a, IB_QPS_RTS), 0);
	}
	ud_exchange(test, e, 10);
}

/* 87: "... the Q_Key of the sending QP instead" */
static void a_qkey_with_its_high_bit_is_the_own_one(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct ud_send send = ud_send_of(e, &e->b, 5);

	send.wr.remote_qkey = 0x80000000;
	ud_receive(test, e, &e->b, ROOM);
	KUNIT_ASSERT_EQ(test, ud_post(&e->a, &send), 0);
	ud_expect(test, &e->b, IB_WC_SUCCESS);
}

/* 89 */
static void what_cannot_be_sent_is_lost(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	union ib_gid here = gid_of_v4(INADDR_LOOPBACK), there = gid_of_v4(INADDR_BROADCAST);
	struct rdma_ah_attr attr = ah_attr_of(&there, index_of_gid(e->dev, &here));

	e->ah = rdma_create_ah(e->pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e->ah);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, destroy_ah, e->ah), 0);
	ud_send(test, e, &e->a, &e->b, 5);
	ud_expect(test, &e->a, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, ud_counted(e, SRNIC_TX_DATAGRAMS_LOST), 1);
	KUNIT_EXPECT_EQ(test, ud_counted(e, SRNIC_TX_DATAGRAMS), 0);
}

static void many_are_sent_in_order(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);

	for (u32 n = 0; n < 2000; n++) {
		struct ud_send send = ud_send_of(e, &e->b, n);
		struct ib_wc wc;

		ud_receive(test, e, &e->b, ROOM);
		KUNIT_ASSERT_EQ(test, ud_post(&e->a, &send), 0);
		KUNIT_ASSERT_EQ(test, ud_wc(test, &e->a).wr_id, n);
		wc = ud_wc(test, &e->b);
		KUNIT_ASSERT_EQ(test, wc.byte_len, CORE_DATAGRAM_GRH + n);
	}
}

/* ---- when UDP has no room ---- */

static struct sock *socket_of(struct ud_ends *e)
{
	return e->dev->datagrams.sockets[0]->sock->sk;
}

/* It serves others meanwhile: streams, and storage over them. */
static void a_worker_does_not_wait_for_room(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	int room = READ_ONCE(socket_of(e)->sk_sndbuf);
	u64 tries;

	WRITE_ONCE(socket_of(e)->sk_sndbuf, 0);
	ud_receive(test, e, &e->b, ROOM);
	ud_send(test, e, &e->a, &e->b, 5);
	msleep(500);
	tries = ud_counted(e, SRNIC_TX_SOCKET_FULL);
	WRITE_ONCE(socket_of(e)->sk_sndbuf, room);
	KUNIT_EXPECT_GE(test, tries, 10);
	ud_expect(test, &e->a, IB_WC_SUCCESS);
	ud_expect(test, &e->b, IB_WC_SUCCESS);
}

/*
 * The end's datagram was sent, and an answer has come. Nothing orders the two completions: another
 * processor may have answered before the engine completes the request.
 */
static struct ib_wc answer_of(struct kunit *test, struct ud_end *end)
{
	struct ib_wc first = ud_wc(test, end), second = ud_wc(test, end);

	if (first.opcode == IB_WC_RECV)
		swap(first, second);
	KUNIT_EXPECT_EQ(test, first.opcode, IB_WC_SEND);
	KUNIT_EXPECT_EQ(test, first.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, second.status, IB_WC_SUCCESS);
	return second;
}

/* 96 to 98: its agents get the question, and know where the answer belongs. */
static void qp_1_answers(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct ib_qp_attr attr = { .qkey = IB_QP1_QKEY };
	struct ud_send send = ud_send_of(e, &e->b, IB_MGMT_MAD_SIZE);
	struct ib_mad_hdr *question = (void *)e->from;
	const struct ib_mad_hdr *answer = (void *)e->into + CORE_DATAGRAM_GRH;
	struct ib_wc wc;

	memset(e->from, 0, IB_MGMT_MAD_SIZE);
	*question = (struct ib_mad_hdr) {
		.base_version = 1, .mgmt_class = IB_MGMT_CLASS_PERF_MGMT, .class_version = 1,
		.method = IB_MGMT_METHOD_GET, .tid = cpu_to_be64(7),
		.attr_id = IB_MGMT_CLASSPORTINFO_ATTR_ID,
	};
	KUNIT_ASSERT_EQ(test, ib_modify_qp(&e->a.qp->base, &attr, IB_QP_QKEY), 0);
	ud_receive(test, e, &e->a, CORE_DATAGRAM_GRH + IB_MGMT_MAD_SIZE);
	send.wr.remote_qpn = CORE_QP1;
	send.wr.remote_qkey = IB_QP1_QKEY;
	KUNIT_ASSERT_EQ(test, ud_post(&e->a, &send), 0);
	wc = answer_of(test, &e->a);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RECV);
	KUNIT_EXPECT_EQ(test, wc.src_qp, CORE_QP1);
	KUNIT_EXPECT_EQ(test, answer->method, IB_MGMT_METHOD_GET_RESP);
	KUNIT_EXPECT_EQ(test, answer->tid, question->tid);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(two_qps_exchange_messages),
	KUNIT_CASE(a_receive_gets_the_header_of_ipv4),
	KUNIT_CASE(a_receive_gets_the_header_of_ipv6),
	KUNIT_CASE(an_answer_finds_its_way),
	KUNIT_CASE(immediate_data_arrive),
	KUNIT_CASE(inline_payload_arrives),
	KUNIT_CASE(a_solicited_message_wakes),
	KUNIT_CASE(a_qp_may_send_to_itself),
	KUNIT_CASE(receives_may_be_shared),
	KUNIT_CASE(a_message_and_a_receive_may_be_in_pieces),
	KUNIT_CASE(in_rtr_a_qp_only_receives),
	KUNIT_CASE(sqd_pauses),
	KUNIT_CASE(an_error_flushes),
	KUNIT_CASE(a_reset_completes_nothing),
	KUNIT_CASE(attributes_are_kept),
	KUNIT_CASE(only_type_srnic_ib_has_them),
	KUNIT_CASE(a_message_longer_than_the_mtu_fails),
	KUNIT_CASE(an_unknown_address_handle_fails),
	KUNIT_CASE(memory_of_nobody_fails),
	KUNIT_CASE(a_number_that_is_no_qp_number_fails),
	KUNIT_CASE(other_operations_are_refused),
	KUNIT_CASE(a_hostile_ring_fails),
	KUNIT_CASE(a_qkey_with_its_high_bit_is_the_own_one),
	KUNIT_CASE(what_cannot_be_sent_is_lost),
	KUNIT_CASE(many_are_sent_in_order),
	KUNIT_CASE(a_worker_does_not_wait_for_room),
	KUNIT_CASE(qp_1_answers),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_datagram", .test_cases = cases };

kunit_test_suite(suite);
