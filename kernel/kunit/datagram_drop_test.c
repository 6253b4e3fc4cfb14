// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Datagrams that are dropped, each for its reason, and what a stranger may send
 * (datagram/receive.c; Documentation/ib.rst, whose rules are named by number). A case that sends a
 * good one behind the others has seen them processed.
 */
#include <linux/if_addr.h>
#include <linux/kthread.h>
#include <linux/rtnetlink.h>
#include <linux/sizes.h>
#include <linux/udp.h>
#include <net/sock.h>
#include <rdma/ib_mad.h>

#include "datagram.h"
#include "datagram/ah.h"
#include "datagram/port.h"
#include "datagram/receive.h"

#define PORT	291

/* ---- octets that no QP sends ---- */

static struct core_datagram header_to(const struct ud_end *end, u32 payload)
{
	return (struct core_datagram) {
		.to = end->qp->base.qp_num, .from = 77, .qkey = QKEY, .payload = payload,
	};
}

static struct srnic_outgoing to_lo(const u8 *header, size_t header_len, const u8 *payload,
				   size_t len)
{
	struct srnic_outgoing out = {
		.octets = { { (void *)header, header_len }, { (void *)payload, len } },
	};
	union ib_gid gid = gid_of_v4(INADDR_LOOPBACK);

	srnic_address_of_gid(&gid, 0, &out.path.here);
	srnic_address_of_gid(&gid, 0, &out.path.there);
	return out;
}

/* From the device's own port. */
static int send_octets(struct ud_ends *e, const u8 *header, size_t header_len, size_t len)
{
	struct srnic_outgoing out = to_lo(header, header_len, e->from, len);

	return srnic_datagram_transmit(e->dev, &out, true);
}

static int send_header(struct ud_ends *e, const struct core_datagram *header)
{
	u8 octets[CORE_DATAGRAM_HEADER];

	core_datagram_build(header, octets);
	return send_octets(e, octets, sizeof(octets), header->payload);
}

/* Is what was sent in between dropped, all of it for this reason? */
static void expect_dropped(struct kunit *test, struct ud_ends *e, enum srnic_counter why, u64 n)
{
	static const enum srnic_counter reasons[] = {
		SRNIC_RX_DATAGRAMS_MALFORMED, SRNIC_RX_DATAGRAMS_NO_QP, SRNIC_RX_DATAGRAMS_QKEY,
		SRNIC_RX_DATAGRAMS_NO_RECEIVE, SRNIC_RX_DATAGRAMS_TOO_LONG,
	};
	u64 received = ud_counted(e, SRNIC_RX_DATAGRAMS);

	ud_exchange(test, e, 4);
	KUNIT_EXPECT_EQ(test, ud_counted(e, SRNIC_RX_DATAGRAMS), received + 1);
	for (int i = 0; i < ARRAY_SIZE(reasons); i++)
		KUNIT_EXPECT_EQ_MSG(test, ud_counted(e, reasons[i]), reasons[i] == why ? n : 0,
				    "%s", srnic_counter_descs[reasons[i]].name);
}

/* ---- cases ---- */

/* 82 */
static void what_is_not_of_this_protocol(struct kunit *test)
{
	static const struct { u8 at, value; } wrong[] = {
		{ 0, 'S' }, { 3, 0 }, { 4, 0 }, { 4, 2 }, { 6, 1 }, { 7, 9 }, { 7, 11 },
		{ 6, 0xff },
	};
	struct ud_ends *e = open_ud_ends(test);
	const struct core_datagram header = header_to(&e->b, 10);
	u8 octets[CORE_DATAGRAM_HEADER];

	for (int i = 0; i < ARRAY_SIZE(wrong); i++) {
		core_datagram_build(&header, octets);
		octets[wrong[i].at] = wrong[i].value;
		KUNIT_EXPECT_EQ(test, send_octets(e, octets, sizeof(octets), 10), 0);
	}
	expect_dropped(test, e, SRNIC_RX_DATAGRAMS_MALFORMED, ARRAY_SIZE(wrong));
}

/* 82: of every length, up to the longest of UDP. */
static void what_has_another_length(struct kunit *test)
{
	static const u32 lens[] = { 4096 - 1, 4097, 8192, 65507 - CORE_DATAGRAM_HEADER };
	struct ud_ends *e = open_ud_ends(test);
	const struct core_datagram header = header_to(&e->b, CORE_DATAGRAM_MAX);
	u8 octets[CORE_DATAGRAM_HEADER], *much = kunit_kzalloc(test, 65536, GFP_KERNEL);
	struct srnic_outgoing out;

	KUNIT_ASSERT_NOT_NULL(test, much);
	core_datagram_build(&header, octets);
	for (u32 n = 0; n <= sizeof(octets); n++)
		KUNIT_EXPECT_EQ(test, send_octets(e, octets, n, 0), 0);
	for (int i = 0; i < ARRAY_SIZE(lens); i++) {
		out = to_lo(octets, sizeof(octets), much, lens[i]);
		KUNIT_EXPECT_EQ(test, srnic_datagram_transmit(e->dev, &out, true), 0);
	}
	expect_dropped(test, e, SRNIC_RX_DATAGRAMS_MALFORMED, sizeof(octets) + 1 +
		       ARRAY_SIZE(lens));
}

/* 84 */
static void what_comes_from_another_port(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	const struct core_datagram header = header_to(&e->b, 0);
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct msghdr msg = { .msg_name = &to, .msg_namelen = sizeof(to) };
	u8 octets[CORE_DATAGRAM_HEADER];
	struct kvec vec = { octets, sizeof(octets) };
	struct socket *sock;

	core_datagram_build(&header, octets);
	ud_receive(test, e, &e->b, ROOM);
	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, AF_INET, SOCK_DGRAM, 0, &sock), 0);
	KUNIT_EXPECT_EQ(test, kernel_sendmsg(sock, &msg, &vec, 1, sizeof(octets)),
			sizeof(octets));
	sock_release(sock);
	expect_dropped(test, e, SRNIC_RX_DATAGRAMS_MALFORMED, 1);
}

/* Else users who send to absent neighbours could keep communication managers from answering. */
static void users_leave_room_for_the_kernel(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct sock *sk = e->dev->datagrams.sockets[0]->sock->sk;
	int room = READ_ONCE(sk->sk_sndbuf);
	struct srnic_outgoing out = to_lo(e->from, 1, e->from, 0);

	WRITE_ONCE(sk->sk_sndbuf, SZ_1M);
	KUNIT_EXPECT_EQ(test, srnic_datagram_transmit(e->dev, &out, false), -EAGAIN);
	KUNIT_EXPECT_EQ(test, srnic_datagram_transmit(e->dev, &out, true), -EAGAIN);
	out.of_kernel = true;
	KUNIT_EXPECT_EQ(test, srnic_datagram_transmit(e->dev, &out, false), 0);
	WRITE_ONCE(sk->sk_sndbuf, room);
	out.of_kernel = false;
	KUNIT_EXPECT_EQ(test, srnic_datagram_transmit(e->dev, &out, false), 0);
}

static int bind_beside(struct socket *sock)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(PORT),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	sock_set_reuseaddr(sock->sk);
	return kernel_bind(sock, (void *)&here, sizeof(here));
}

/* It could send from the port, and would get what comes to its address. */
static void nobody_else_may_have_the_port(struct kunit *test)
{
	struct socket *sock;

	make_ud_ends(test);
	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, AF_INET, SOCK_DGRAM, 0, &sock), 0);
	KUNIT_EXPECT_EQ(test, bind_beside(sock), -EADDRINUSE);
	sock_release(sock);
}

static bool calls_receiver(const struct sock *sk)
{
	return READ_ONCE(udp_sk(sk)->encap_rcv) == srnic_datagram_receive;
}

/* Netfilter may keep the socket in a queue, with a datagram that it gives back later. */
static void a_closed_socket_calls_nobody(struct kunit *test)
{
	struct srnic_datagram_socket socket = { .net = &init_net, .family = AF_INET,
						.port = htons(PORT + 1) };
	struct sock *sk;

	KUNIT_ASSERT_EQ(test, srnic_datagram_socket_open(&socket, srnic_datagram_receive), 0);
	sk = socket.sock->sk;
	sock_hold(sk);
	KUNIT_EXPECT_TRUE(test, calls_receiver(sk));
	srnic_datagram_socket_close(&socket);
	KUNIT_EXPECT_FALSE(test, calls_receiver(sk));
	sock_put(sk);
	synchronize_rcu();	/* calls of the receiver that have begun use `socket` */
}

/* 90 */
static void what_names_no_qp_of_type_ud(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct srnic_qp *rc = srnic_test_qp(test, e->pd, e->a.cq, NULL, IB_SIGNAL_REQ_WR);
	const u32 numbers[] = { 0, 2, 0xffffff, rc->base.qp_num };
	struct core_datagram header = header_to(&e->b, 3);

	for (int i = 0; i < ARRAY_SIZE(numbers); i++) {
		header.to = numbers[i];
		KUNIT_EXPECT_EQ(test, send_header(e, &header), 0);
	}
	expect_dropped(test, e, SRNIC_RX_DATAGRAMS_NO_QP, ARRAY_SIZE(numbers));
}

/* 97 */
static void what_is_no_mad_for_qp_1(struct kunit *test)
{
	static const u16 lengths[] = { 0, 1, IB_MGMT_MAD_SIZE - 1, IB_MGMT_MAD_SIZE + 1, 4096 };
	struct ud_ends *e = open_ud_ends(test);
	struct core_datagram header = header_to(&e->b, 0);

	header.to = CORE_QP1;
	header.qkey = IB_QP1_QKEY;
	for (int i = 0; i < ARRAY_SIZE(lengths); i++) {
		header.payload = lengths[i];
		KUNIT_EXPECT_EQ(test, send_header(e, &header), 0);
	}
	expect_dropped(test, e, SRNIC_RX_DATAGRAMS_MALFORMED, ARRAY_SIZE(lengths));
}

/* 92, 98 */
static void what_has_not_the_qkey_of_qp_1(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct core_datagram header = header_to(&e->b, IB_MGMT_MAD_SIZE);

	header.to = CORE_QP1;
	KUNIT_EXPECT_EQ(test, send_header(e, &header), 0);
	expect_dropped(test, e, SRNIC_RX_DATAGRAMS_QKEY, 1);
}

/* 90, 91 */
static void what_names_a_qp_that_does_not_receive(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct ud_end other;

	make_ud_end(test, e, &other);
	ud_receive(test, e, &other, ROOM);
	ud_send(test, e, &e->a, &other, 4);	/* RESET */
	ud_expect(test, &e->a, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, ud_to(&other, IB_QPS_INIT), 0);
	ud_send(test, e, &e->a, &other, 4);
	ud_expect(test, &e->a, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, ud_to(&other, IB_QPS_ERR), 0);
	ud_expect(test, &other, IB_WC_WR_FLUSH_ERR);
	ud_send(test, e, &e->a, &other, 4);
	ud_expect(test, &e->a, IB_WC_SUCCESS);
	expect_dropped(test, e, SRNIC_RX_DATAGRAMS_NO_QP, 3);
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(other.cq));
}

/* 90: an address of this host that is none of the device. All of 127.0.0.0/8 are local. */
static void what_comes_to_another_address(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	const struct core_datagram header = header_to(&e->b, 3);
	union ib_gid gid = gid_of_v4(INADDR_LOOPBACK + 7);
	u8 octets[CORE_DATAGRAM_HEADER];
	struct srnic_outgoing out;

	core_datagram_build(&header, octets);
	out = to_lo(octets, sizeof(octets), e->from, 3);
	srnic_address_of_gid(&gid, 0, &out.path.there);
	KUNIT_EXPECT_EQ(test, srnic_datagram_transmit(e->dev, &out, true), 0);
	expect_dropped(test, e, SRNIC_RX_DATAGRAMS_NO_QP, 1);
}

/* 92 */
static void what_has_another_qkey(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct core_datagram header = header_to(&e->b, 3);
	struct ib_qp_attr attr = { .qkey = QKEY + 1 };

	header.qkey++;
	KUNIT_EXPECT_EQ(test, send_header(e, &header), 0);
	header.qkey = 0;
	KUNIT_EXPECT_EQ(test, send_header(e, &header), 0);
	expect_dropped(test, e, SRNIC_RX_DATAGRAMS_QKEY, 2);
	KUNIT_ASSERT_EQ(test, ib_modify_qp(&e->b.qp->base, &attr, IB_QP_QKEY), 0);
	ud_send(test, e, &e->a, &e->b, 4);
	ud_expect(test, &e->a, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(ud_counted(e, SRNIC_RX_DATAGRAMS_QKEY) == 3));
	attr.qkey = QKEY;
	KUNIT_ASSERT_EQ(test, ib_modify_qp(&e->b.qp->base, &attr, IB_QP_QKEY), 0);
	expect_dropped(test, e, SRNIC_RX_DATAGRAMS_QKEY, 3);
}

/* 93 */
static void what_finds_no_receive(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);

	for (int n = 0; n < 3; n++) {
		ud_send(test, e, &e->a, &e->b, 4);
		ud_expect(test, &e->a, IB_WC_SUCCESS);
	}
	expect_dropped(test, e, SRNIC_RX_DATAGRAMS_NO_RECEIVE, 3);
}

/* 94: "... and the receive serves the next one" */
static void what_is_too_long_for_the_receive(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct ib_wc wc;

	ud_receive(test, e, &e->b, CORE_DATAGRAM_GRH + 10);
	for (u32 len = 11; len < 14; len++) {
		ud_send(test, e, &e->a, &e->b, len);
		ud_expect(test, &e->a, IB_WC_SUCCESS);
	}
	ud_send(test, e, &e->a, &e->b, 10);
	ud_expect(test, &e->a, IB_WC_SUCCESS);
	wc = ud_wc(test, &e->b);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.wr_id, CORE_DATAGRAM_GRH + 10);
	expect_dropped(test, e, SRNIC_RX_DATAGRAMS_TOO_LONG, 3);
}

static u64 counted_too_long(struct ud_ends *e)
{
	return ud_counted(e, SRNIC_RX_DATAGRAMS_TOO_LONG);
}

/* 94, of a shared receive: the next message that it can hold gets it, whichever QP that is for. */
static void a_shared_receive_that_is_too_small_stays_shared(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct srnic_test_srq *srq = srnic_test_srq(test, e->pd, 8, 1);
	struct ib_sge sge = ud_memory(e, e->into, CORE_DATAGRAM_GRH + 10);
	struct ib_recv_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 };

	e->a.qp = srnic_test_ud_qp(test, e->pd, e->a.cq, srq);
	e->b.qp = srnic_test_ud_qp(test, e->pd, e->b.cq, srq);
	ud_up(test, &e->a);
	ud_up(test, &e->b);
	KUNIT_ASSERT_EQ(test, ib_post_srq_recv(srq->base, &wr, NULL), 0);
	ud_send(test, e, &e->a, &e->b, 11);
	ud_expect(test, &e->a, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(counted_too_long(e) == 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&srq->limits), 0);
	ud_send(test, e, &e->b, &e->a, 10);
	ud_expect(test, &e->b, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, ud_wc(test, &e->a).wr_id, 7);
}

/* 94: such a receive is flushed as others are, and not by RESET. */
static void a_receive_that_was_too_small_is_flushed(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);

	for (int n = 0; n < 2; n++) {
		ud_receive(test, e, &e->b, 39);
		ud_send(test, e, &e->a, &e->b, 0);
		ud_expect(test, &e->a, IB_WC_SUCCESS);
		while (ud_counted(e, SRNIC_RX_DATAGRAMS_TOO_LONG) != n + 1)
			usleep_range(100, 1000);	/* KUnit limits the time */
		KUNIT_ASSERT_EQ(test, ud_to(&e->b, n ? IB_QPS_RESET : IB_QPS_ERR), 0);
		if (!n)
			ud_expect(test, &e->b, IB_WC_WR_FLUSH_ERR);
		KUNIT_EXPECT_TRUE(test, srnic_test_empty(e->b.cq));
		KUNIT_ASSERT_EQ(test, ud_to(&e->b, IB_QPS_RESET), 0);
		ud_up(test, &e->b);
	}
	ud_exchange(test, e, 10);
}

/* 95 */
static void a_receive_without_its_memory_fails(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct ib_sge sge = ud_memory(e, e->into, ROOM);
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	sge.lkey = 0x12345;
	KUNIT_ASSERT_EQ(test, ib_post_recv(&e->b.qp->base, &wr, NULL), 0);
	ud_receive(test, e, &e->b, ROOM);
	ud_send(test, e, &e->a, &e->b, 10);
	ud_expect(test, &e->b, IB_WC_LOC_PROT_ERR);
	ud_expect(test, &e->b, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, ud_state(&e->b), IB_QPS_ERR);
}

static void a_receive_whose_region_has_gone_fails(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct srnic_test_mr *mr = srnic_test_mr(test, e->pd);
	u32 stag = srnic_test_reg(test, mr, IB_ACCESS_LOCAL_WRITE);
	struct ib_sge sge = { .addr = mr->base->iova, .length = ROOM, .lkey = stag };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	for (int n = 0; n < 2; n++)
		KUNIT_ASSERT_EQ(test, ib_post_recv(&e->b.qp->base, &wr, NULL), 0);
	ud_send(test, e, &e->a, &e->b, 4096);
	ud_expect(test, &e->b, IB_WC_SUCCESS);
	KUNIT_EXPECT_MEMEQ(test, mr->page[0] + SRNIC_TEST_OFFSET + CORE_DATAGRAM_GRH, e->from,
			   2000);
	srnic_test_dereg(test, mr);
	ud_send(test, e, &e->a, &e->b, 4096);
	ud_expect(test, &e->b, IB_WC_LOC_PROT_ERR);
}

/* A region that may only be read. */
static void a_receive_into_memory_of_no_right_fails(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct srnic_test_mr *mr = srnic_test_mr(test, e->pd);
	struct ib_sge sge = { .addr = mr->base->iova, .length = ROOM,
			      .lkey = srnic_test_reg(test, mr, IB_ACCESS_REMOTE_READ) };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	KUNIT_ASSERT_EQ(test, ib_post_recv(&e->b.qp->base, &wr, NULL), 0);
	ud_send(test, e, &e->a, &e->b, 0);
	ud_expect(test, &e->b, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_NULL(test, memchr_inv(mr->page[0], 0, PAGE_SIZE));
}

static void a_hostile_receive_ring_fails(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct srnic_recv_ring *recv = &e->b.qp->rq.recv;
	struct srnic_recv_wqe *wqe = srnic_ring_slot(&recv->ring, recv->posted);

	ud_receive(test, e, &e->b, ROOM);
	wqe->num_sge = 17;
	ud_send(test, e, &e->a, &e->b, 0);
	ud_expect(test, &e->b, IB_WC_LOC_QP_OP_ERR);
	KUNIT_EXPECT_EQ(test, ud_state(&e->b), IB_QPS_ERR);
}

/* ---- fragments ---- */

static void restore_mtu(void *lo)
{
	rtnl_lock();
	dev_set_mtu(lo, 65536);
	rtnl_unlock();
}

static void shrink_mtu(struct kunit *test, struct net_device *lo, int mtu)
{
	int ret;

	rtnl_lock();
	ret = dev_set_mtu(lo, mtu);
	rtnl_unlock();
	KUNIT_ASSERT_EQ(test, ret, 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, restore_mtu, lo), 0);
}

static void fragments_of_ip_become_one_message(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);
	struct core_datagram header = header_to(&e->b, CORE_DATAGRAM_MAX);
	struct ib_wc wc;

	shrink_mtu(test, e->dev->netdev, 1300);
	memset(e->into, 0, ROOM);
	ud_receive(test, e, &e->b, ROOM);
	KUNIT_EXPECT_EQ(test, send_header(e, &header), 0);
	wc = ud_wc(test, &e->b);
	KUNIT_EXPECT_EQ(test, wc.byte_len, ROOM);
	KUNIT_EXPECT_EQ(test, wc.src_qp, 77);
	KUNIT_EXPECT_MEMEQ(test, e->into + CORE_DATAGRAM_GRH, e->from, CORE_DATAGRAM_MAX);
}

/* 86: the limit is that of the interface. */
static void the_mtu_follows_the_interface(struct kunit *test)
{
	struct ud_ends *e = open_ud_ends(test);

	shrink_mtu(test, e->dev->netdev, 1500);
	ud_exchange(test, e, 1024);
	ud_send(test, e, &e->a, &e->b, 1025);
	ud_expect(test, &e->a, IB_WC_LOC_LEN_ERR);
}

/* ---- while a QP changes ---- */

struct flood {
	struct ud_ends *e;
	u32 to;
	bool stop;
};

static int flood(void *data)
{
	struct flood *f = data;
	struct core_datagram header = { .qkey = QKEY, .payload = 2000 };
	u8 octets[CORE_DATAGRAM_HEADER];

	while (!kthread_should_stop()) {
		header.to = READ_ONCE(f->to);
		core_datagram_build(&header, octets);
		send_octets(f->e, octets, sizeof(octets), header.payload);
		cond_resched();
	}
	return 0;
}

static void a_qp_may_go_while_datagrams_come(struct kunit *test)
{
	struct ud_ends *e = make_ud_ends(test);
	struct flood f = { .e = e };
	struct task_struct *task;
	struct ib_wc wc;

	ud_up(test, &e->b);
	f.to = e->b.qp->base.qp_num;
	task = kthread_run(flood, &f, "srnic_flood");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	for (int n = 0; n < 200; n++) {
		for (int i = 0; i < 4; i++)
			ud_receive(test, e, &e->b, ROOM);
		usleep_range(100, 1000);
		if (n % 3 == 0) {
			ud_to(&e->b, IB_QPS_ERR);
			ud_to(&e->b, IB_QPS_RESET);
		} else if (n % 3 == 1) {
			ud_to(&e->b, IB_QPS_RESET);
		} else {
			srnic_test_destroy_qp(test, e->b.qp);
			e->b.qp = srnic_test_ud_qp(test, e->pd, e->b.cq, NULL);
			WRITE_ONCE(f.to, e->b.qp->base.qp_num);
		}
		while (ib_poll_cq(e->b.cq->base, 1, &wc))
			;
		ud_up(test, &e->b);
	}
	kthread_stop(task);
	KUNIT_EXPECT_GT(test, ud_counted(e, SRNIC_RX_DATAGRAMS), 100);
	KUNIT_EXPECT_EQ(test, atomic_read(&e->b.cq->errors), 0);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(what_is_not_of_this_protocol),
	KUNIT_CASE(what_has_another_length),
	KUNIT_CASE(what_comes_from_another_port),
	KUNIT_CASE(users_leave_room_for_the_kernel),
	KUNIT_CASE(nobody_else_may_have_the_port),
	KUNIT_CASE(a_closed_socket_calls_nobody),
	KUNIT_CASE(what_names_no_qp_of_type_ud),
	KUNIT_CASE(what_is_no_mad_for_qp_1),
	KUNIT_CASE(what_has_not_the_qkey_of_qp_1),
	KUNIT_CASE(what_names_a_qp_that_does_not_receive),
	KUNIT_CASE(what_comes_to_another_address),
	KUNIT_CASE(what_has_another_qkey),
	KUNIT_CASE(what_finds_no_receive),
	KUNIT_CASE(what_is_too_long_for_the_receive),
	KUNIT_CASE(a_shared_receive_that_is_too_small_stays_shared),
	KUNIT_CASE(a_receive_that_was_too_small_is_flushed),
	KUNIT_CASE(a_receive_without_its_memory_fails),
	KUNIT_CASE(a_receive_whose_region_has_gone_fails),
	KUNIT_CASE(a_receive_into_memory_of_no_right_fails),
	KUNIT_CASE(a_hostile_receive_ring_fails),
	KUNIT_CASE(fragments_of_ip_become_one_message),
	KUNIT_CASE(the_mtu_follows_the_interface),
	KUNIT_CASE(a_qp_may_go_while_datagrams_come),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_datagram_drop", .test_cases = cases };

kunit_test_suite(suite);
