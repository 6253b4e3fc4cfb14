// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connecting to a kernel socket that may break the protocol, and connections of two QPs. In every
 * case each consumer gets the events that iw_cm allows, once each, and nothing is left.
 */
#include <linux/delay.h>
#include <linux/in.h>
#include <net/sock.h>

#include "connection.h"
#include "connection/connect.h"
#include "connection/ep.h"
#include "connection/machine.h"
#include "connection/teardown.h"

#define HEADER CORE_MPA_HEADER

/* A server that accepts everything. */
static const struct core_mpa_frame good_reply = {
	.reply = 1,
	.revision = 2,
	.crc = 1,
	.enhanced = 1,
	.p2p = 1,
	.rtr = CORE_RTR_WRITE,
	.ird = 1,
	.ord = 1,
	.private_len = CORE_MPA_ENHANCED,
};

/* ---- connecting ---- */

/* A hostile server: the accepted socket of a peer that has connected to a plain TCP listener. */
static struct socket *serve_port(struct kunit *test, struct srnic_test_conn *c,
				 struct srnic_test_consumer **client, u16 port)
{
	struct socket *listening = srnic_test_peer(test, c), *sock;
	struct sockaddr_storage addr = { };

	srnic_test_address(&addr);
	sock_set_reuseaddr(listening->sk);
	KUNIT_ASSERT_EQ(test, kernel_bind(listening, (void *)&addr,
					  sizeof(struct sockaddr_in)), 0);
	KUNIT_ASSERT_EQ(test, kernel_listen(listening, 1), 0);
	*client = srnic_test_connect_from(test, c, c->set.qp, port);
	KUNIT_ASSERT_EQ(test, kernel_accept(listening, &sock, 0), 0);
	srnic_test_add_peer(c, sock);
	return sock;
}

static struct socket *serve(struct kunit *test, struct srnic_test_conn *c,
			    struct srnic_test_consumer **client)
{
	return serve_port(test, c, client, 0);
}

static void expect_request(struct kunit *test, struct socket *sock)
{
	u8 octets[HEADER + CORE_MPA_ENHANCED + 5];
	struct core_mpa_frame frame;

	KUNIT_ASSERT_EQ(test, srnic_test_recv(sock, octets, sizeof(octets)), sizeof(octets));
	KUNIT_EXPECT_EQ(test, core_mpa_parse(octets, false, &frame), CORE_MPA_OK);
	KUNIT_EXPECT_MEMEQ(test, octets + HEADER + CORE_MPA_ENHANCED, "hello", 5);
}

/* Without private data of the consumer. */
static void reply(struct kunit *test, struct socket *sock, const struct core_mpa_frame *frame)
{
	u8 octets[HEADER + CORE_MPA_ENHANCED];

	srnic_test_send(test, sock, octets, core_mpa_build(frame, octets));
}

/* connect() has failed, the consumer had one event, and nothing is held. */
static void expect_failure(struct kunit *test, struct srnic_test_conn *c,
			   struct srnic_test_consumer *client, int status)
{
	srnic_test_expect_event(test, client, 1, IW_CM_EVENT_CONNECT_REPLY, status);
	srnic_test_expect_nothing_left(test, c);
	KUNIT_EXPECT_EQ(test, client->num, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&client->refs), 0);
	KUNIT_EXPECT_EQ(test, c->set.qp->state, SRNIC_QP_IDLE);
}

static void connecting_to_nobody_is_refused_and_reported_once(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;

	expect_failure(test, c, srnic_test_connect_from(test, c, c->set.qp, 0), -ECONNREFUSED);
}

static void connecting_with_a_qp_that_is_not_there_fails_at_once(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client = srnic_test_consumer(test, c->set.dev);
	struct iw_cm_conn_param param = srnic_test_param(client, c->set.qp);

	param.qpn += 1000;
	KUNIT_EXPECT_EQ(test, srnic_connect(&client->id, &param), -EINVAL);
	KUNIT_EXPECT_EQ(test, client->num, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&client->refs), 0);
	srnic_test_expect_nothing_left(test, c);
}

static void connecting_with_a_qp_of_another_consumer_is_not_permitted(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client = srnic_test_consumer(test, c->set.dev);
	struct iw_cm_conn_param param = srnic_test_param(client, c->set.qp);

	param.qpn = srnic_test_qp(test, c->set.pd, c->set.cq, NULL, IB_SIGNAL_REQ_WR)->base.qp_num;
	KUNIT_EXPECT_EQ(test, srnic_connect(&client->id, &param), -EPERM);
	KUNIT_EXPECT_EQ(test, client->num, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&client->refs), 0);
	srnic_test_expect_nothing_left(test, c);
}

/* RFC 5044 7.1.1: 512 octets, of which enhanced data takes four (RFC 6581 9). */
static void connecting_with_more_private_data_than_a_frame_holds_fails_at_once(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client = srnic_test_consumer(test, c->set.dev);
	struct iw_cm_conn_param param = srnic_test_param(client, c->set.qp);

	param.private_data = client;
	param.private_data_len = 509;
	KUNIT_EXPECT_EQ(test, srnic_connect(&client->id, &param), -EINVAL);
	KUNIT_EXPECT_EQ(test, client->num, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&client->refs), 0);
	srnic_test_expect_nothing_left(test, c);
}

/* RFC 6581 5: not even requests posted before there was a connection. */
static void nothing_goes_out_before_the_rtr(struct kunit *test)
{
	static const u8 rtr[] = { 0, 14, 0xc1, 0x40 }, send[] = { 0, 18, 0x41, 0x43 };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client;
	struct socket *sock;
	u8 octets[HEADER + CORE_MPA_ENHANCED];

	KUNIT_ASSERT_EQ(test, ib_post_send(&c->set.qp->base, &wr, NULL), 0);
	sock = serve(test, c, &client);
	expect_request(test, sock);
	msleep(20);
	KUNIT_EXPECT_TRUE(test, srnic_test_is_open(sock));
	reply(test, sock, &good_reply);
	KUNIT_ASSERT_EQ(test, srnic_test_recv(sock, octets, 20), 20);
	KUNIT_EXPECT_MEMEQ(test, octets, rtr, sizeof(rtr));
	KUNIT_ASSERT_EQ(test, srnic_test_recv(sock, octets, 24), 24);
	KUNIT_EXPECT_MEMEQ(test, octets, send, sizeof(send));
	srnic_test_expect_nothing_left(test, c);
}

static void a_server_that_never_replies_is_given_up(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client;
	struct socket *sock = serve(test, c, &client);

	expect_request(test, sock);
	KUNIT_EXPECT_EQ(test, client->num, 0);
	srnic_test_let_time_pass(c);
	KUNIT_EXPECT_TRUE(test, srnic_test_is_reset(sock));
	expect_failure(test, c, client, -ETIMEDOUT);
}

static void a_server_that_replies_nonsense_is_left(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client;
	struct socket *sock = serve(test, c, &client);
	u8 octets[64];

	expect_request(test, sock);
	/* also an initiator */
	srnic_test_send(test, sock, octets, srnic_test_request(octets, "hello", 5));
	KUNIT_EXPECT_TRUE(test, srnic_test_is_reset(sock));
	expect_failure(test, c, client, -EPROTO);
}

static void a_servers_rejection_is_reported_with_its_private_data(struct kunit *test)
{
	struct core_mpa_frame frame = {
		.reply = 1, .revision = 1, .crc = 1, .reject = 1, .private_len = 2,
	};
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client;
	struct socket *sock = serve(test, c, &client);
	u8 octets[HEADER + CORE_MPA_ENHANCED];
	struct srnic_test_event *seen;

	expect_request(test, sock);
	core_mpa_build(&frame, octets);
	memcpy(octets + HEADER, "no", 2);
	srnic_test_send(test, sock, octets, HEADER + 2);
	seen = srnic_test_expect_event(test, client, 1, IW_CM_EVENT_CONNECT_REPLY, -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, seen->private_len, 2);
	KUNIT_EXPECT_MEMEQ(test, seen->private_data, "no", 2);
	expect_failure(test, c, client, -ECONNREFUSED);
}

/* RFC 6581 9.1; in the peer's view, as SMB Direct expects. User space: rdma/hostile. */
static void the_kernels_consumer_gets_the_depths_that_the_server_offered(struct kunit *test)
{
	struct core_mpa_frame frame = good_reply;
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client;
	struct socket *sock = serve(test, c, &client);
	struct srnic_test_event *seen;

	expect_request(test, sock);
	frame.ird = 7;
	reply(test, sock, &frame);
	seen = srnic_test_expect_event(test, client, 1, IW_CM_EVENT_CONNECT_REPLY, 0);
	KUNIT_EXPECT_EQ(test, seen->ird, 1);
	KUNIT_EXPECT_EQ(test, seen->ord, 7);
	srnic_test_expect_nothing_left(test, c);
}

static void a_qp_that_fails_while_it_connects_ends_the_attempt(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client;
	struct socket *sock = serve(test, c, &client);

	expect_request(test, sock);
	KUNIT_ASSERT_EQ(test, ib_modify_qp(&c->set.qp->base, &attr, IB_QP_STATE), 0);
	KUNIT_EXPECT_TRUE(test, srnic_test_is_reset(sock));
	srnic_test_expect_event(test, client, 1, IW_CM_EVENT_CONNECT_REPLY, -ECONNABORTED);
	srnic_test_expect_nothing_left(test, c);
	KUNIT_EXPECT_EQ(test, client->num, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&client->refs), 0);
}

/* Locks the only ep, so that its work waits. Release it with srnic_ep_unlock_put(). */
static struct srnic_ep *lock_only_ep(struct srnic_test_conn *c)
{
	struct srnic_ep *ep = list_first_entry(&c->set.dev->connections.eps, struct srnic_ep, link);

	srnic_ep_get(ep);
	mutex_lock(&ep->lock);
	return ep;
}

static void a_qp_that_is_reset_while_it_connects_stays_reset(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client;
	struct socket *sock = serve(test, c, &client);
	struct srnic_ep *ep;

	expect_request(test, sock);
	ep = lock_only_ep(c);		/* the Reply arrives before the ep's work ends it */
	KUNIT_EXPECT_EQ(test, ib_modify_qp(&c->set.qp->base, &attr, IB_QP_STATE), 0);
	reply(test, sock, &good_reply);
	srnic_ep_unlock_put(ep);
	KUNIT_EXPECT_TRUE(test, srnic_test_is_reset(sock));
	expect_failure(test, c, client, -ECONNABORTED);
}

/*
 * At every stage of the startup: the ep's later calls find a QP that is no longer its own.
 */
static void an_ep_that_lost_its_qp_neither_starts_nor_fails_it(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client;
	struct socket *sock = serve(test, c, &client);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct srnic_qp_start start = { };
	struct srnic_ep *ep;

	expect_request(test, sock);
	ep = lock_only_ep(c);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(&c->set.qp->base, &attr, IB_QP_STATE), 0);
	start.owner = &ep->owner;
	start.sock = ep->sock;
	KUNIT_EXPECT_EQ(test, srnic_qp_start(c->set.qp, &start), -EINVAL);
	srnic_qp_give_up(c->set.qp, &ep->owner);
	KUNIT_EXPECT_EQ(test, c->set.qp->state, SRNIC_QP_IDLE);
	srnic_ep_unlock_put(ep);
	expect_failure(test, c, client, -ECONNABORTED);
}

/* RFC 6581 9.3: layer 2, error type 0, error code 5, in the only FPDU that this end sends. */
static void a_qp_that_cannot_start_after_a_good_reply_causes_a_terminate(struct kunit *test)
{
	static const u8 head[] = {0, 22, 0x41, 0x47, 0, 0, 0, 0, 0,    0, 0, 2,
				  0, 0,	 0,    1,    0, 0, 0, 0, 0x20, 5, 0, 0};
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client;
	struct socket *sock = serve(test, c, &client);
	u8 octets[HEADER + CORE_MPA_ENHANCED], crc[4];

	expect_request(test, sock);
	srnic_qp_fail(c->set.qp);
	reply(test, sock, &good_reply);
	KUNIT_ASSERT_EQ(test, srnic_test_recv(sock, octets, sizeof(head)), sizeof(head));
	KUNIT_EXPECT_MEMEQ(test, octets, head, sizeof(head));
	core_crc_field(core_host_crc32c(CORE_CRC_SEED, head, sizeof(head)), crc);
	KUNIT_ASSERT_EQ(test, srnic_test_recv(sock, octets, 4), 4);
	KUNIT_EXPECT_MEMEQ(test, octets, crc, 4);
	KUNIT_EXPECT_EQ(test, srnic_test_recv(sock, octets, 1), 0);
	srnic_test_expect_event(test, client, 1, IW_CM_EVENT_CONNECT_REPLY, -EINVAL);
	srnic_test_expect_nothing_left(test, c);
	KUNIT_EXPECT_EQ(test, srnic_counted(c->set.dev, SRNIC_STARTUP_FAILURES), 1);
	KUNIT_EXPECT_EQ(test, srnic_counted(c->set.dev, SRNIC_TX_TERMINATES), 1);
	KUNIT_EXPECT_EQ(test, client->num, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&client->refs), 0);
}

/* ---- connected to a socket ---- */

#define RTR_OCTETS 20

/* The client's zero-length Write, which must come first (RFC 6581 9.2). */
static void expect_rtr(struct kunit *test, struct socket *sock)
{
	static const u8 write[] = { 0, 14, 0xc1, 0x40 };
	u8 octets[RTR_OCTETS];

	KUNIT_ASSERT_EQ(test, srnic_test_recv(sock, octets, sizeof(octets)), sizeof(octets));
	KUNIT_EXPECT_MEMEQ(test, octets, write, sizeof(write));
}

static struct socket *serve_well(struct kunit *test, struct srnic_test_conn *c,
				 struct srnic_test_consumer **client)
{
	struct socket *sock = serve(test, c, client);

	expect_request(test, sock);
	reply(test, sock, &good_reply);
	srnic_test_expect_event(test, *client, 1, IW_CM_EVENT_CONNECT_REPLY, 0);
	expect_rtr(test, sock);
	return sock;
}

/* The server sends a zero-length Read together with its Reply: the response must come second. */
static void a_qp_that_was_used_before_sends_its_rtr_first(struct kunit *test)
{
	static const u8 read[48] = { 0, 46, 0x41, 0x41, [11] = 1, [15] = 1, [23] = 7 };
	static const u8 response[] = { 0, 14, 0xc1, 0x42 };
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client;
	struct socket *sock = serve(test, c, &client);
	u8 octets[HEADER + CORE_MPA_ENHANCED + sizeof(read) + 4];
	u32 len = core_mpa_build(&good_reply, octets);

	c->set.qp->tx.core.answer_next = true;
	memcpy(octets + len, read, sizeof(read));
	core_crc_field(core_host_crc32c(CORE_CRC_SEED, read, sizeof(read)),
		       octets + len + sizeof(read));
	expect_request(test, sock);
	srnic_test_send(test, sock, octets, sizeof(octets));
	expect_rtr(test, sock);
	KUNIT_ASSERT_EQ(test, srnic_test_recv(sock, octets, sizeof(response)), sizeof(response));
	KUNIT_EXPECT_MEMEQ(test, octets, response, sizeof(response));
	srnic_test_expect_nothing_left(test, c);
}

/* ---- local port, and peer timeout ---- */

static u16 port_of_peer(struct kunit *test, struct socket *sock)
{
	struct sockaddr_in addr = { };

	KUNIT_ASSERT_GT(test, kernel_getpeername(sock, (struct sockaddr *)&addr), 0);
	return ntohs(addr.sin_port);
}

#define CLIENT_PORT 17499

static u16 reported_port(struct srnic_test_consumer *client)
{
	return ntohs(srnic_port_of(&client->id.local_addr));
}

/* What iw_cm passes on to rdma_cm is what the peer sees. */
static void expect_truth(struct kunit *test, struct srnic_test_consumer *client,
			 struct socket *sock)
{
	KUNIT_EXPECT_EQ(test, reported_port(client), port_of_peer(test, sock));
}

static void a_connection_comes_from_its_consumers_port(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client;
	struct socket *sock = serve_port(test, c, &client, CLIENT_PORT);

	KUNIT_EXPECT_EQ(test, port_of_peer(test, sock), CLIENT_PORT);
	expect_truth(test, client, sock);
	srnic_test_expect_nothing_left(test, c);
}

static void where_tcp_uses_that_port_a_connection_comes_from_another(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct socket *user = srnic_test_peer(test, c), *sock;
	struct srnic_test_consumer *client;
	struct sockaddr_storage addr = { };

	srnic_test_address(&addr);
	((struct sockaddr_in *)&addr)->sin_port = htons(CLIENT_PORT + 1);
	KUNIT_ASSERT_EQ(test, kernel_bind(user, (void *)&addr,
					  sizeof(struct sockaddr_in)), 0);
	sock = serve_port(test, c, &client, CLIENT_PORT + 1);
	KUNIT_EXPECT_NE(test, port_of_peer(test, sock), CLIENT_PORT + 1);
	expect_truth(test, client, sock);
	srnic_test_expect_nothing_left(test, c);
}

/* rdma_cm chooses ports to listen on from the range of TCP's local ports. */
static void the_port_of_a_connection_can_be_listened_on(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client, *server = srnic_test_consumer(test, c->set.dev);
	struct socket *sock = serve(test, c, &client);

	srnic_test_set_port(server, port_of_peer(test, sock));
	KUNIT_EXPECT_EQ(test, srnic_create_listen(&server->id, 1), 0);
	srnic_destroy_listen(&server->id);
	expect_request(test, sock);
	srnic_test_let_time_pass(c);	/* the connection is over, by our reset */
	KUNIT_EXPECT_TRUE(test, srnic_test_is_reset(sock));
	KUNIT_EXPECT_EQ(test, srnic_create_listen(&server->id, 1), 0);
	srnic_destroy_listen(&server->id);
	srnic_test_expect_nothing_left(test, c);
}

static void expect_peer_timeout(struct kunit *test, const struct sock *sk, u32 ms, u32 idle)
{
	KUNIT_EXPECT_EQ(test, inet_csk(sk)->icsk_user_timeout, ms);
	KUNIT_EXPECT_EQ(test, tcp_sk(sk)->keepalive_time, idle * HZ);
	KUNIT_EXPECT_TRUE(test, sock_flag(sk, SOCK_KEEPOPEN));
}

/* IBTA: 4.096 us * 2^20 for each of three tries. */
static void a_silent_peer_has_the_devices_time_or_the_consumers(struct kunit *test)
{
	struct ib_qp_attr attr = { .timeout = 20, .retry_cnt = 2 };
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client;
	struct sock *sk;

	serve_well(test, c, &client);
	sk = c->set.qp->sock->sk;
	expect_peer_timeout(test, sk, 60000, 20);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(&c->set.qp->base, &attr,
					   IB_QP_TIMEOUT | IB_QP_RETRY_CNT), 0);
	expect_peer_timeout(test, sk, 12884, 4);
	/* as from an id without one; then one that rdma_cm lets users set */
	srnic_qp_set_ack_timeout(c->set.qp, c->set.qp->owner, 0);
	KUNIT_EXPECT_EQ(test, c->set.qp->ack_timeout, 20);
	srnic_qp_set_ack_timeout(c->set.qp, c->set.qp->owner, 200);
	KUNIT_EXPECT_EQ(test, c->set.qp->ack_timeout, 31);
	c->set.dev->settings.peer_timeout = 0;
	attr.timeout = 0;
	KUNIT_EXPECT_EQ(test, ib_modify_qp(&c->set.qp->base, &attr, IB_QP_TIMEOUT), 0);
	KUNIT_EXPECT_EQ(test, inet_csk(sk)->icsk_user_timeout, 0);
	KUNIT_EXPECT_FALSE(test, sock_flag(sk, SOCK_KEEPOPEN));
	attr = (struct ib_qp_attr) { .qp_state = IB_QPS_RESET };
	KUNIT_EXPECT_EQ(test, ib_modify_qp(&c->set.qp->base, &attr, IB_QP_STATE), 0);
	KUNIT_EXPECT_EQ(test, c->set.qp->ack_timeout, 0);
	srnic_test_expect_nothing_left(test, c);
}

#define BULK		(1024 * 1024)
#define BULK_PIECE	(64 * 1024)

/* 16 MiB of Writes, more than TCP holds. */
static void post_bulk(struct kunit *test, struct srnic_test_conn *c)
{
	u8 *octets = kunit_kzalloc(test, BULK, GFP_KERNEL);
	struct ib_sge sge[2] = {
		srnic_test_sge(c, octets, BULK),
		srnic_test_sge(c, octets, BULK),
	};
	struct ib_rdma_wr wr = {.wr = {.opcode = IB_WR_RDMA_WRITE, .sg_list = sge, .num_sge = 2},
				.rkey = 1};
	int i;

	KUNIT_ASSERT_NOT_NULL(test, octets);
	for (i = 0; i < 8; i++)
		KUNIT_ASSERT_EQ(test, ib_post_send(&c->set.qp->base, &wr.wr, NULL), 0);
}

/* The peer reads until TCP has made progress since the ep last checked. */
static bool reads_on(struct srnic_ep *ep, struct socket *sock, u8 *octets)
{
	int i;

	for (i = 0; i < 16 && srnic_teardown_progress(ep) == ep->patience.progress; i++) {
		if (srnic_test_recv(sock, octets, BULK_PIECE) != BULK_PIECE)
			return false;
		usleep_range(200, 1000);
	}
	return srnic_test_eventually(srnic_teardown_progress(ep) != ep->patience.progress);
}

/*
 * RFC 5041 6.2.1: drains as long as the peer reads, but a peer that reads little cannot hold a
 * connection for ever.
 */
static void a_drain_lasts_while_the_peer_reads_but_not_for_ever(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client;
	struct socket *sock = serve_well(test, c, &client);
	u8 *octets = kunit_kzalloc(test, BULK_PIECE, GFP_KERNEL);
	struct srnic_ep *ep;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, octets);
	post_bulk(test, c);
	ep = lock_only_ep(c);		/* its work waits, the test takes its steps */
	kernel_sock_shutdown(sock, SHUT_WR);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(atomic_read(&ep->over)));
	KUNIT_EXPECT_TRUE(test, srnic_machine_feed(ep, srnic_machine_look(ep)));
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_TRUE(test, reads_on(ep, sock, octets));
		ep->patience.end = 0;
		KUNIT_EXPECT_EQ(test, srnic_machine_look(ep), CORE_CONN_NOTHING);
		KUNIT_EXPECT_EQ(test, ep->state, CORE_CONN_DRAINING);
	}
	KUNIT_EXPECT_EQ(test, client->num, 2);
	KUNIT_EXPECT_TRUE(test, reads_on(ep, sock, octets));
	ep->patience.limit = 0;
	KUNIT_EXPECT_TRUE(test, srnic_machine_feed(ep, srnic_machine_look(ep)));
	srnic_ep_unlock_put(ep);
	srnic_test_expect_event(test, client, 2, IW_CM_EVENT_DISCONNECT, 0);
	srnic_test_expect_event(test, client, 3, IW_CM_EVENT_CLOSE, 0);
	KUNIT_EXPECT_EQ(test, c->set.qp->state, SRNIC_QP_ERROR);
	srnic_test_expect_nothing_left(test, c);
	KUNIT_EXPECT_EQ(test, client->num, 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&client->refs), 0);
}

/* ---- two QPs ---- */

static void two_qps_connect_and_what_one_sends_the_other_receives(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	u8 *octets = kunit_kzalloc(test, 2 * 5000, GFP_KERNEL), *into = octets + 5000;
	struct ib_sge from, to;
	struct ib_send_wr send_wr = {
		.wr_id = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
		.sg_list = &from,
		.num_sge = 1,
	};
	struct ib_recv_wr recv_wr = { .wr_id = 2, .sg_list = &to, .num_sge = 1 };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD };
	struct srnic_test_pair pair;
	u32 seen = 0, i;

	KUNIT_ASSERT_NOT_NULL(test, octets);
	get_random_bytes(octets, 5000);
	from = srnic_test_sge(c, octets, 5000);
	to = srnic_test_sge(c, into, 5000);
	srnic_test_pair(test, c, &pair);
	KUNIT_ASSERT_EQ(test, ib_post_recv(&c->set.qp->base, &recv_wr, NULL), 0);
	KUNIT_ASSERT_EQ(test, ib_post_send(&pair.qp->base, &send_wr, NULL), 0);
	for (i = 0; i < 2; i++) {
		struct ib_wc wc = srnic_test_next_wc(test);

		KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
		seen |= wc.wr_id;
	}
	KUNIT_EXPECT_EQ(test, seen, 3);
	KUNIT_EXPECT_MEMEQ(test, into, octets, 5000);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(&pair.qp->base, &attr, IB_QP_STATE), 0);
	srnic_test_expect_end(test, c, &pair);
}

static void both_consumers_get_one_report_of_an_abort(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_pair pair;

	srnic_test_pair(test, c, &pair);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(&c->set.qp->base, &attr, IB_QP_STATE), 0);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(&c->set.qp->base, &attr, IB_QP_STATE), 0);
	srnic_test_expect_end(test, c, &pair);
}

static void a_destroyed_qp_takes_its_connection_along(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_pair pair;

	srnic_test_pair(test, c, &pair);
	srnic_test_destroy_qp(test, pair.qp);
	srnic_test_expect_close(test, pair.client);
	srnic_test_expect_close(test, c->server);
	srnic_test_expect_nothing_left(test, c);
}

/* As a reset does that was overtaken by another one, after which the QP was connected. */
static void a_qp_that_is_stopped_reports_to_its_present_connection(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_pair pair;

	srnic_test_pair(test, c, &pair);
	srnic_qp_stop(c->set.qp, NULL);
	srnic_test_expect_end(test, c, &pair);
}

static void a_device_goes_with_connections_in_every_state(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *announced, *listener;
	struct srnic_test_pair pair;

	srnic_test_pair(test, c, &pair);
	srnic_test_destroy_qp(test, pair.qp);
	announced = c->server;
	srnic_test_announce(test, c);
	srnic_test_send(test, srnic_test_connect_peer(test, c), "MPA", 3);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(srnic_test_num_eps(c) >= 2));
	listener = c->listener;
	srnic_connect_dev_exit(c->set.dev);
	KUNIT_EXPECT_EQ(test, srnic_test_num_eps(c), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&listener->refs), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&announced->refs), 0);
	srnic_test_expect_nothing_left(test, c);
	KUNIT_EXPECT_EQ(test, srnic_create_listen(&listener->id, 1), -ENODEV);
}

static void a_device_that_goes_ends_a_startup_and_refuses_another(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *client, *next;
	struct iw_cm_conn_param param;

	expect_request(test, serve(test, c, &client));
	srnic_connect_dev_close(c->set.dev);
	expect_failure(test, c, client, -ECONNABORTED);
	next = srnic_test_consumer(test, c->set.dev);
	param = srnic_test_param(next, c->set.qp);
	KUNIT_EXPECT_EQ(test, srnic_connect(&next->id, &param), -ECONNABORTED);
	KUNIT_EXPECT_EQ(test, atomic_read(&next->refs), 0);
	srnic_test_expect_nothing_left(test, c);
}

/*
 * A consumer that got a DISCONNECT would connect again while rdma_cm still knows the
 * device: the end has to come with rdma_cm's own word that the device goes.
 */
static void a_device_that_goes_leaves_a_connection_to_its_consumers(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_pair pair;

	srnic_test_pair(test, c, &pair);
	srnic_connect_dev_close(c->set.dev);
	msleep(100);
	KUNIT_EXPECT_EQ(test, pair.client->num, 1);
	KUNIT_EXPECT_EQ(test, c->server->num, 1);
	KUNIT_EXPECT_EQ(test, pair.qp->state, SRNIC_QP_RTS);
	KUNIT_EXPECT_EQ(test, c->set.qp->state, SRNIC_QP_RTS);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(&pair.qp->base, &attr, IB_QP_STATE), 0);
	srnic_test_expect_end(test, c, &pair);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(connecting_to_nobody_is_refused_and_reported_once),
	KUNIT_CASE(connecting_with_a_qp_that_is_not_there_fails_at_once),
	KUNIT_CASE(connecting_with_a_qp_of_another_consumer_is_not_permitted),
	KUNIT_CASE(connecting_with_more_private_data_than_a_frame_holds_fails_at_once),
	KUNIT_CASE(nothing_goes_out_before_the_rtr),
	KUNIT_CASE(a_server_that_never_replies_is_given_up),
	KUNIT_CASE(a_server_that_replies_nonsense_is_left),
	KUNIT_CASE(a_servers_rejection_is_reported_with_its_private_data),
	KUNIT_CASE(the_kernels_consumer_gets_the_depths_that_the_server_offered),
	KUNIT_CASE(a_qp_that_fails_while_it_connects_ends_the_attempt),
	KUNIT_CASE(a_qp_that_is_reset_while_it_connects_stays_reset),
	KUNIT_CASE(an_ep_that_lost_its_qp_neither_starts_nor_fails_it),
	KUNIT_CASE(a_qp_that_cannot_start_after_a_good_reply_causes_a_terminate),
	KUNIT_CASE(a_qp_that_was_used_before_sends_its_rtr_first),
	KUNIT_CASE(a_connection_comes_from_its_consumers_port),
	KUNIT_CASE(where_tcp_uses_that_port_a_connection_comes_from_another),
	KUNIT_CASE(the_port_of_a_connection_can_be_listened_on),
	KUNIT_CASE(a_silent_peer_has_the_devices_time_or_the_consumers),
	KUNIT_CASE(a_drain_lasts_while_the_peer_reads_but_not_for_ever),
	KUNIT_CASE(two_qps_connect_and_what_one_sends_the_other_receives),
	KUNIT_CASE(both_consumers_get_one_report_of_an_abort),
	KUNIT_CASE(a_destroyed_qp_takes_its_connection_along),
	KUNIT_CASE(a_qp_that_is_stopped_reports_to_its_present_connection),
	KUNIT_CASE(a_device_goes_with_connections_in_every_state),
	KUNIT_CASE(a_device_that_goes_ends_a_startup_and_refuses_another),
	KUNIT_CASE(a_device_that_goes_leaves_a_connection_to_its_consumers),
	{ }
};

static struct kunit_suite suite = {
	.name = "srnic_connect",
	.init = srnic_test_conn_init,
	.exit = srnic_test_conn_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
