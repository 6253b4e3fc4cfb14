// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connections: the bookkeeping of listeners and endpoints over 127.0.0.1, the peer being a kernel socket that does what
 * it likes, or another QP. Whatever happens, each consumer hears what iw_cm allows and once, and nothing is left.
 */
#include <linux/in.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

#include "fixture.h"
#include "../connect.h"

#define PORT		17471
#define MAX_EVENTS	8
#define HEADER		SRNIC_MPA_HEADER
#define PEERS		4

/* ---- a consumer: iw_cm's id, and what it was told ---- */

struct told {
	enum iw_cm_event_type type;
	int status;
	void *provider_data;
	u8 private_data[256];
	u32 private_len;
};

/*
 * id: as iw_cm has it; cma: as rdma_cm has it, in front of what is its own (all 0); refs: that srnic took and did not give
 * back; answer: what the handler returns
 */
struct consumer {
	struct iw_cm_id id;
	union {
		struct rdma_cm_id cma;
		u8 rdma_cm_own[4096];
	};
	atomic_t refs;
	int answer;
	u32 num;
	struct told told[MAX_EVENTS];
};

static int on_event(struct iw_cm_id *id, struct iw_cm_event *event)
{
	struct consumer *consumer = container_of(id, struct consumer, id);
	struct told *told;

	if (consumer->num < MAX_EVENTS) {
		told = &consumer->told[consumer->num];
		told->type = event->event;
		told->status = event->status;
		told->provider_data = event->provider_data;
		told->private_len = event->private_data_len;
		memcpy(told->private_data, event->private_data, event->private_data_len);
	}
	smp_store_release(&consumer->num, consumer->num + 1);
	return consumer->answer;
}

static void add_ref(struct iw_cm_id *id)
{
	atomic_inc(&container_of(id, struct consumer, id)->refs);
}

static void rem_ref(struct iw_cm_id *id)
{
	atomic_dec(&container_of(id, struct consumer, id)->refs);
}

static void set_address(struct sockaddr_storage *addr, u16 port)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in->sin_port = htons(port);
}

static struct consumer *consumer_of(struct kunit *test, struct srnic_dev *dev)
{
	struct consumer *consumer = kunit_kzalloc(test, sizeof(*consumer), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, consumer);
	consumer->cma.device = &dev->base;
	consumer->cma.port_num = 1;
	consumer->cma.route.addr.dev_addr.net = &init_net;
	consumer->id.device = &dev->base;
	consumer->id.context = &consumer->cma;
	consumer->id.event_handler = on_event;
	consumer->id.add_ref = add_ref;
	consumer->id.rem_ref = rem_ref;
	set_address(&consumer->id.local_addr, PORT);
	set_address(&consumer->id.remote_addr, PORT);
	consumer->id.m_local_addr = consumer->id.local_addr;
	consumer->id.m_remote_addr = consumer->id.remote_addr;
	return consumer;
}

static bool hears(struct consumer *consumer, u32 num)
{
	return srnic_test_eventually(smp_load_acquire(&consumer->num) >= num);
}

/* The num-th event, counted from 1, comes and is this. */
static struct told *expect_event(struct kunit *test, struct consumer *consumer, u32 num, enum iw_cm_event_type type,
				 int status)
{
	struct told *told = &consumer->told[num - 1];

	KUNIT_ASSERT_TRUE_MSG(test, hears(consumer, num), "event %u did not come", num);
	KUNIT_EXPECT_EQ(test, told->type, type);
	KUNIT_EXPECT_EQ(test, told->status, status);
	return told;
}

/* ---- the case: a device that listens, its QP, and peers ---- */

struct context {
	struct srnic_dev *dev;
	struct ib_pd *pd;
	struct srnic_test_cq *cq;
	struct srnic_qp *qp;
	struct consumer *listener;	/* the listening id */
	struct consumer *server;	/* the id that iw_cm makes of a request */
	struct socket *peer[PEERS];
	u32 num_peers;
};

static void listen(struct kunit *test, struct context *c, int backlog)
{
	c->listener = consumer_of(test, c->dev);
	KUNIT_ASSERT_EQ(test, srnic_create_listen(&c->listener->id, backlog), 0);
}

static void stop_listening(struct context *c)
{
	if (c->listener)
		srnic_destroy_listen(&c->listener->id);
	c->listener = NULL;
}

static void set_timeouts(struct socket *sock)
{
	sock->sk->sk_rcvtimeo = 10 * HZ;
}

static struct socket *new_peer(struct kunit *test, struct context *c)
{
	struct socket *sock;

	KUNIT_ASSERT_LT(test, c->num_peers, PEERS);
	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock), 0);
	set_timeouts(sock);
	c->peer[c->num_peers++] = sock;
	return sock;
}

/* A peer that has connected to the listener and said nothing. */
static struct socket *connect_peer(struct kunit *test, struct context *c)
{
	struct socket *sock = new_peer(test, c);
	struct sockaddr_storage addr = { };

	set_address(&addr, PORT);
	KUNIT_ASSERT_EQ(test, kernel_connect(sock, (struct sockaddr *)&addr, sizeof(struct sockaddr_in), 0), 0);
	return sock;
}

static void close_peer(struct context *c, u32 n)
{
	if (c->peer[n])
		sock_release(c->peer[n]);
	c->peer[n] = NULL;
}

static void send(struct kunit *test, struct socket *sock, const void *octets, u32 len)
{
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
	struct kvec vec = { .iov_base = (void *)octets, .iov_len = len };

	KUNIT_ASSERT_EQ(test, kernel_sendmsg(sock, &msg, &vec, 1, len), len);
}

/* Octets read, 0 at the peer's FIN, or -errno; waits for all of them. */
static int recv(struct socket *sock, void *octets, u32 len)
{
	struct msghdr msg = { };
	struct kvec vec = { .iov_base = octets, .iov_len = len };

	return kernel_recvmsg(sock, &msg, &vec, 1, len, MSG_WAITALL);
}

static bool is_reset(struct socket *sock)
{
	u8 octet;

	return recv(sock, &octet, 1) == -ECONNRESET;
}

/* Nothing has come from the other end, nor has it gone. */
static bool is_open(struct socket *sock)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };
	u8 octet;
	struct kvec vec = { .iov_base = &octet, .iov_len = 1 };

	return kernel_recvmsg(sock, &msg, &vec, 1, 1, MSG_DONTWAIT) == -EAGAIN;
}

/* An MPA Request with this much private data of the ULP; returns its length. */
static u32 request(u8 *octets, const void *private, u32 len)
{
	const struct srnic_mpa_local local = {
		.ird = 1, .ord = 1, .max_ird = 1, .crc = 1, .revision = 2, .p2p = 1, .rtr = SRNIC_RTR_ALL,
	};
	struct srnic_mpa_frame frame;
	u32 head;

	srnic_mpa_request(&local, len, &frame);
	head = srnic_mpa_build(&frame, octets);
	memcpy(octets + head, private, len);
	return head + len;
}

/* A peer whose request was announced; c->server is the id for it. */
static struct socket *announce(struct kunit *test, struct context *c)
{
	u8 octets[64];
	struct socket *sock = connect_peer(test, c);
	u32 before = c->listener->num;

	send(test, sock, octets, request(octets, "hello", 5));
	c->server = consumer_of(test, c->dev);
	c->server->id.provider_data =
		expect_event(test, c->listener, before + 1, IW_CM_EVENT_CONNECT_REQUEST, 0)->provider_data;
	return sock;
}

/* The peer gets a Reply frame that refuses, with this private data, and then FIN. */
static void expect_refusal(struct kunit *test, struct socket *sock, const void *private, u32 len)
{
	struct srnic_mpa_frame frame;
	u8 octets[HEADER + 64];
	u32 skip;

	KUNIT_ASSERT_EQ(test, recv(sock, octets, HEADER), HEADER);
	KUNIT_ASSERT_EQ(test, srnic_mpa_parse(octets, true, &frame), SRNIC_MPA_OK);
	KUNIT_EXPECT_TRUE(test, frame.reject);
	skip = frame.enhanced ? SRNIC_MPA_ENHANCED : 0;
	KUNIT_ASSERT_EQ(test, frame.private_len, skip + len);
	if (skip + len)
		KUNIT_ASSERT_EQ(test, recv(sock, octets, skip + len), skip + len);
	KUNIT_EXPECT_MEMEQ(test, octets + skip, private, len);
	KUNIT_EXPECT_EQ(test, recv(sock, octets, 1), 0);
}

static u32 num_eps(struct context *c)
{
	return READ_ONCE(c->dev->connections.num);
}

/* For all that has a deadline it is now. */
static void let_time_pass(struct context *c)
{
	struct srnic_dev_connections *conns = &c->dev->connections;
	struct srnic_ep *ep, *eps[PEERS * 2];
	u32 num = 0;

	spin_lock_irq(&conns->lock);
	list_for_each_entry(ep, &conns->eps, link)
		if (num < ARRAY_SIZE(eps)) {
			srnic_ep_get(ep);
			eps[num++] = ep;
		}
	spin_unlock_irq(&conns->lock);
	while (num--) {
		ep = eps[num];
		mutex_lock(&ep->lock);
		ep->deadline = jiffies;
		mutex_unlock(&ep->lock);
		if (mod_delayed_work(srnic_wq, &ep->work, 0))
			srnic_ep_put(ep);	/* the work has a reference of its own already */
	}
}

/* What the consumer asks for, and rdma_cm's part in it: whose QP it is. */
static struct iw_cm_conn_param param_of(struct consumer *consumer, struct srnic_qp *qp)
{
	consumer->cma.qp = &qp->base;
	return (struct iw_cm_conn_param) { .ird = 2, .ord = 2, .qpn = qp->base.qp_num };
}

/* All connections end, by themselves or in their time, and no consumer's id or QP is referenced any more. */
static void expect_nothing_left(struct kunit *test, struct context *c)
{
	struct consumer *listener = c->listener;
	u32 n;

	stop_listening(c);
	for (n = 0; n < c->num_peers; n++)
		close_peer(c, n);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(num_eps(c) == 0));
	if (listener)
		KUNIT_EXPECT_EQ(test, atomic_read(&listener->refs), 0);
	if (c->server)
		KUNIT_EXPECT_EQ(test, atomic_read(&c->server->refs), 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&c->qp->users), 1);
}

/* ---- listening ---- */

static void a_port_is_listened_on_once(struct kunit *test)
{
	struct context *c = test->priv;
	struct consumer *second = consumer_of(test, c->dev);

	listen(test, c, 1);
	KUNIT_EXPECT_EQ(test, srnic_create_listen(&second->id, 1), -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, atomic_read(&second->refs), 0);
	stop_listening(c);
	KUNIT_EXPECT_EQ(test, srnic_create_listen(&second->id, 1), 0);
	srnic_destroy_listen(&second->id);
	KUNIT_EXPECT_EQ(test, atomic_read(&second->refs), 0);
}

static void a_port_that_others_listen_on_is_refused(struct kunit *test)
{
	struct context *c = test->priv;
	struct socket *other = new_peer(test, c);
	struct consumer *consumer = consumer_of(test, c->dev);

	KUNIT_ASSERT_EQ(test, kernel_bind(other, (struct sockaddr *)&consumer->id.local_addr,
					  sizeof(struct sockaddr_in)), 0);
	KUNIT_ASSERT_EQ(test, kernel_listen(other, 1), 0);
	KUNIT_EXPECT_EQ(test, srnic_create_listen(&consumer->id, 1), -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, srnic_destroy_listen(&consumer->id), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&consumer->refs), 0);
}

static void a_wildcard_of_another_namespace_opens_nothing(struct kunit *test)
{
	struct context *c = test->priv;
	struct consumer *consumer = consumer_of(test, c->dev);

	consumer->cma.route.addr.dev_addr.net = NULL;
	KUNIT_EXPECT_EQ(test, srnic_create_listen(&consumer->id, 1), -EADDRNOTAVAIL);
	((struct sockaddr_in *)&consumer->id.m_local_addr)->sin_addr.s_addr = htonl(INADDR_ANY);
	KUNIT_EXPECT_EQ(test, srnic_create_listen(&consumer->id, 1), 0);
	KUNIT_EXPECT_NULL(test, consumer->id.provider_data);
	KUNIT_EXPECT_EQ(test, srnic_destroy_listen(&consumer->id), 0);
	listen(test, c, 1);	/* the port is free */
}

static void beyond_the_backlog_silent_peers_are_reset(struct kunit *test)
{
	struct context *c = test->priv;
	struct socket *first, *third;

	listen(test, c, 2);
	first = connect_peer(test, c);
	connect_peer(test, c);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(num_eps(c) == 2));
	third = connect_peer(test, c);
	KUNIT_EXPECT_TRUE(test, is_reset(third));
	KUNIT_EXPECT_EQ(test, num_eps(c), 2);
	KUNIT_EXPECT_TRUE(test, is_open(first));
	close_peer(c, 0);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(num_eps(c) == 1));
	KUNIT_EXPECT_TRUE(test, is_open(connect_peer(test, c)));
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(num_eps(c) == 2));
	expect_nothing_left(test, c);
}

static void a_silent_peer_is_reset_when_its_time_is_over(struct kunit *test)
{
	struct context *c = test->priv;
	struct socket *sock;
	u8 octets[64];

	listen(test, c, 1);
	sock = connect_peer(test, c);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(num_eps(c) == 1));
	send(test, sock, octets, request(octets, "hello", 5) - 1);	/* all but an octet */
	KUNIT_EXPECT_TRUE(test, is_open(sock));
	let_time_pass(c);
	KUNIT_EXPECT_TRUE(test, is_reset(sock));
	KUNIT_EXPECT_EQ(test, c->listener->num, 0);
	expect_nothing_left(test, c);
}

static void what_is_no_mpa_frame_is_reset_and_announced_to_nobody(struct kunit *test)
{
	struct context *c = test->priv;
	struct socket *sock;

	listen(test, c, 1);
	sock = connect_peer(test, c);
	send(test, sock, "GET / HTTP/1.1\r\nHost: srnic\r\n\r\n", 32);
	KUNIT_EXPECT_TRUE(test, is_reset(sock));
	KUNIT_EXPECT_EQ(test, c->listener->num, 0);
	expect_nothing_left(test, c);
}

static void a_request_in_single_octets_is_announced_with_its_private_data(struct kunit *test)
{
	struct context *c = test->priv;
	struct socket *sock;
	struct told *told;
	u8 octets[64];
	u32 len, i;

	listen(test, c, 1);
	sock = connect_peer(test, c);
	tcp_sock_set_nodelay(sock->sk);
	len = request(octets, "private data", 12);
	for (i = 0; i < len; i++)
		send(test, sock, octets + i, 1);
	told = expect_event(test, c->listener, 1, IW_CM_EVENT_CONNECT_REQUEST, 0);
	KUNIT_EXPECT_EQ(test, told->private_len, 12);
	KUNIT_EXPECT_MEMEQ(test, told->private_data, "private data", 12);
	expect_nothing_left(test, c);
}

static void when_the_listener_goes_unannounced_peers_are_reset(struct kunit *test)
{
	struct context *c = test->priv;
	struct consumer *listener;
	struct socket *sock;

	listen(test, c, 1);
	listener = c->listener;
	sock = connect_peer(test, c);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(num_eps(c) == 1));
	stop_listening(c);
	KUNIT_EXPECT_TRUE(test, is_reset(sock));
	KUNIT_EXPECT_EQ(test, listener->num, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&listener->refs), 0);
	expect_nothing_left(test, c);
}

/* ---- accept and reject ---- */

static void a_rejection_takes_its_private_data_to_the_peer(struct kunit *test)
{
	struct context *c = test->priv;
	struct socket *sock;

	listen(test, c, 1);
	sock = announce(test, c);
	KUNIT_EXPECT_EQ(test, srnic_reject(&c->server->id, "go away", 7), 0);
	expect_refusal(test, sock, "go away", 7);
	KUNIT_EXPECT_EQ(test, srnic_reject(&c->server->id, NULL, 0), 0);	/* it is gone: nothing happens */
	KUNIT_EXPECT_EQ(test, c->server->num, 0);
	expect_nothing_left(test, c);
}

static void a_consumer_whose_backlog_is_full_refuses(struct kunit *test)
{
	struct context *c = test->priv;
	struct socket *sock;
	u8 octets[64];

	listen(test, c, 1);
	c->listener->answer = -ENOMEM;
	sock = connect_peer(test, c);
	send(test, sock, octets, request(octets, NULL, 0));
	expect_refusal(test, sock, "", 0);
	KUNIT_EXPECT_EQ(test, c->listener->num, 1);
	expect_nothing_left(test, c);
}

static void an_accept_that_does_not_come_in_time_comes_too_late(struct kunit *test)
{
	struct context *c = test->priv;
	struct iw_cm_conn_param param;
	struct socket *sock;

	listen(test, c, 1);
	sock = announce(test, c);
	param = param_of(c->server, c->qp);
	KUNIT_EXPECT_TRUE(test, is_open(sock));
	let_time_pass(c);
	KUNIT_EXPECT_TRUE(test, is_reset(sock));
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(num_eps(c) == 0));
	KUNIT_EXPECT_EQ(test, srnic_accept(&c->server->id, &param), -ECONNRESET);
	KUNIT_EXPECT_EQ(test, srnic_reject(&c->server->id, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, c->server->num, 0);
	expect_nothing_left(test, c);
}

static void a_peer_that_has_left_cannot_be_accepted(struct kunit *test)
{
	struct context *c = test->priv;
	struct iw_cm_conn_param param;

	listen(test, c, 1);
	announce(test, c);
	param = param_of(c->server, c->qp);
	close_peer(c, 0);
	KUNIT_EXPECT_EQ(test, srnic_accept(&c->server->id, &param), -ECONNRESET);
	KUNIT_EXPECT_EQ(test, c->server->num, 0);
	expect_nothing_left(test, c);
}

static void accepting_with_a_qp_that_is_not_there_refuses_the_peer(struct kunit *test)
{
	struct context *c = test->priv;
	struct iw_cm_conn_param param;
	struct socket *sock;

	listen(test, c, 1);
	sock = announce(test, c);
	param = param_of(c->server, c->qp);
	param.qpn += 1000;
	KUNIT_EXPECT_EQ(test, srnic_accept(&c->server->id, &param), -EINVAL);
	expect_refusal(test, sock, "", 0);
	KUNIT_EXPECT_EQ(test, c->server->num, 0);
	expect_nothing_left(test, c);
}

static void accepting_with_a_qp_in_error_refuses_the_peer(struct kunit *test)
{
	struct context *c = test->priv;
	struct iw_cm_conn_param param;
	struct socket *sock;

	listen(test, c, 1);
	sock = announce(test, c);
	param = param_of(c->server, c->qp);
	srnic_qp_fail(c->qp);
	KUNIT_EXPECT_EQ(test, srnic_accept(&c->server->id, &param), -EINVAL);
	expect_refusal(test, sock, "", 0);
	expect_nothing_left(test, c);
}

/* ---- connecting ---- */

/* The consumer of an active QP, connecting to the port. */
static struct consumer *connect_qp(struct kunit *test, struct context *c, struct srnic_qp *qp)
{
	struct consumer *client = consumer_of(test, c->dev);
	struct iw_cm_conn_param param = param_of(client, qp);

	param.private_data = "hello";
	param.private_data_len = 5;
	KUNIT_ASSERT_EQ(test, srnic_connect(&client->id, &param), 0);
	return client;
}

/* A hostile server: the accepted socket of a peer that has connected to a plain TCP listener. */
static struct socket *serve(struct kunit *test, struct context *c, struct consumer **client)
{
	struct socket *listening = new_peer(test, c), *sock;
	struct sockaddr_storage addr = { };

	set_address(&addr, PORT);
	sock_set_reuseaddr(listening->sk);
	KUNIT_ASSERT_EQ(test, kernel_bind(listening, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)), 0);
	KUNIT_ASSERT_EQ(test, kernel_listen(listening, 1), 0);
	*client = connect_qp(test, c, c->qp);
	KUNIT_ASSERT_EQ(test, kernel_accept(listening, &sock, 0), 0);
	set_timeouts(sock);
	c->peer[c->num_peers++] = sock;
	return sock;
}

static void expect_request(struct kunit *test, struct socket *sock)
{
	u8 octets[HEADER + SRNIC_MPA_ENHANCED + 5];
	struct srnic_mpa_frame frame;

	KUNIT_ASSERT_EQ(test, recv(sock, octets, sizeof(octets)), sizeof(octets));
	KUNIT_EXPECT_EQ(test, srnic_mpa_parse(octets, false, &frame), SRNIC_MPA_OK);
	KUNIT_EXPECT_MEMEQ(test, octets + HEADER + SRNIC_MPA_ENHANCED, "hello", 5);
}

/* connect() has failed, was told so once, and holds nothing. */
static void expect_failure(struct kunit *test, struct context *c, struct consumer *client, int status)
{
	expect_event(test, client, 1, IW_CM_EVENT_CONNECT_REPLY, status);
	expect_nothing_left(test, c);
	KUNIT_EXPECT_EQ(test, client->num, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&client->refs), 0);
	KUNIT_EXPECT_EQ(test, c->qp->state, SRNIC_QP_IDLE);
}

static void connecting_to_nobody_is_refused_and_told_once(struct kunit *test)
{
	struct context *c = test->priv;

	expect_failure(test, c, connect_qp(test, c, c->qp), -ECONNREFUSED);
}

static void connecting_with_a_qp_that_is_not_there_fails_at_once(struct kunit *test)
{
	struct context *c = test->priv;
	struct consumer *client = consumer_of(test, c->dev);
	struct iw_cm_conn_param param = param_of(client, c->qp);

	param.qpn += 1000;
	KUNIT_EXPECT_EQ(test, srnic_connect(&client->id, &param), -EINVAL);
	KUNIT_EXPECT_EQ(test, client->num, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&client->refs), 0);
	expect_nothing_left(test, c);
}

static void connecting_with_a_qp_of_another_consumer_is_not_permitted(struct kunit *test)
{
	struct context *c = test->priv;
	struct consumer *client = consumer_of(test, c->dev);
	struct iw_cm_conn_param param = param_of(client, c->qp);

	param.qpn = srnic_test_qp(test, c->pd, c->cq, NULL, IB_SIGNAL_REQ_WR)->base.qp_num;
	KUNIT_EXPECT_EQ(test, srnic_connect(&client->id, &param), -EPERM);
	KUNIT_EXPECT_EQ(test, client->num, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&client->refs), 0);
	expect_nothing_left(test, c);
}

static void a_server_that_never_replies_is_given_up(struct kunit *test)
{
	struct context *c = test->priv;
	struct consumer *client;
	struct socket *sock = serve(test, c, &client);

	expect_request(test, sock);
	KUNIT_EXPECT_EQ(test, client->num, 0);
	let_time_pass(c);
	KUNIT_EXPECT_TRUE(test, is_reset(sock));
	expect_failure(test, c, client, -ETIMEDOUT);
}

static void a_server_that_replies_nonsense_is_left(struct kunit *test)
{
	struct context *c = test->priv;
	struct consumer *client;
	struct socket *sock = serve(test, c, &client);
	u8 octets[64];

	expect_request(test, sock);
	send(test, sock, octets, request(octets, "hello", 5));	/* an initiator as well */
	KUNIT_EXPECT_TRUE(test, is_reset(sock));
	expect_failure(test, c, client, -EPROTO);
}

static void a_servers_rejection_is_told_with_its_private_data(struct kunit *test)
{
	struct srnic_mpa_frame frame = { .reply = 1, .revision = 1, .crc = 1, .reject = 1, .private_len = 2 };
	struct context *c = test->priv;
	struct consumer *client;
	struct socket *sock = serve(test, c, &client);
	u8 octets[HEADER + SRNIC_MPA_ENHANCED];
	struct told *told;

	expect_request(test, sock);
	srnic_mpa_build(&frame, octets);
	memcpy(octets + HEADER, "no", 2);
	send(test, sock, octets, HEADER + 2);
	told = expect_event(test, client, 1, IW_CM_EVENT_CONNECT_REPLY, -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, told->private_len, 2);
	KUNIT_EXPECT_MEMEQ(test, told->private_data, "no", 2);
	expect_failure(test, c, client, -ECONNREFUSED);
}

static void a_qp_that_fails_while_it_connects_ends_the_attempt(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct context *c = test->priv;
	struct consumer *client;
	struct socket *sock = serve(test, c, &client);

	expect_request(test, sock);
	KUNIT_ASSERT_EQ(test, ib_modify_qp(&c->qp->base, &attr, IB_QP_STATE), 0);
	KUNIT_EXPECT_TRUE(test, is_reset(sock));
	expect_event(test, client, 1, IW_CM_EVENT_CONNECT_REPLY, -ECONNABORTED);
	expect_nothing_left(test, c);
	KUNIT_EXPECT_EQ(test, client->num, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&client->refs), 0);
}

/* RFC 6581 9.3: layer 2, error type 0, error code 5, in the only FPDU that this end ever sends. */
static void a_qp_that_cannot_start_after_a_good_reply_is_told_in_a_terminate(struct kunit *test)
{
	static const u8 head[] = { 0, 22, 0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0x20, 5, 0, 0 };
	struct srnic_mpa_frame frame = {
		.reply = 1, .revision = 2, .crc = 1, .enhanced = 1, .p2p = 1, .rtr = SRNIC_RTR_WRITE, .ird = 1, .ord = 1,
		.private_len = SRNIC_MPA_ENHANCED,
	};
	struct context *c = test->priv;
	struct consumer *client;
	struct socket *sock = serve(test, c, &client);
	u8 octets[HEADER + SRNIC_MPA_ENHANCED], crc[4];

	expect_request(test, sock);
	srnic_qp_fail(c->qp);
	send(test, sock, octets, srnic_mpa_build(&frame, octets));
	KUNIT_ASSERT_EQ(test, recv(sock, octets, sizeof(head)), sizeof(head));
	KUNIT_EXPECT_MEMEQ(test, octets, head, sizeof(head));
	srnic_crc_field(srnic_host_crc32c(SRNIC_CRC_SEED, head, sizeof(head)), crc);
	KUNIT_ASSERT_EQ(test, recv(sock, octets, 4), 4);
	KUNIT_EXPECT_MEMEQ(test, octets, crc, 4);
	KUNIT_EXPECT_EQ(test, recv(sock, octets, 1), 0);
	expect_event(test, client, 1, IW_CM_EVENT_CONNECT_REPLY, -EINVAL);
	expect_nothing_left(test, c);
	KUNIT_EXPECT_EQ(test, client->num, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&client->refs), 0);
}

/* ---- two QPs ---- */

struct pair {
	struct srnic_qp *qp;	/* the connecting one; the other is c->qp */
	struct consumer *client;
};

static void establish(struct kunit *test, struct context *c, struct pair *pair)
{
	struct iw_cm_conn_param param;

	listen(test, c, 1);
	pair->qp = srnic_test_qp(test, c->pd, c->cq, NULL, IB_SIGNAL_REQ_WR);
	pair->client = connect_qp(test, c, pair->qp);
	c->server = consumer_of(test, c->dev);
	c->server->id.provider_data =
		expect_event(test, c->listener, 1, IW_CM_EVENT_CONNECT_REQUEST, 0)->provider_data;
	param = param_of(c->server, c->qp);
	KUNIT_ASSERT_EQ(test, srnic_accept(&c->server->id, &param), 0);
	expect_event(test, pair->client, 1, IW_CM_EVENT_CONNECT_REPLY, 0);
	expect_event(test, c->server, 1, IW_CM_EVENT_ESTABLISHED, 0);
	KUNIT_ASSERT_EQ(test, pair->qp->state, SRNIC_QP_RTS);
	KUNIT_ASSERT_EQ(test, c->qp->state, SRNIC_QP_RTS);
}

/* Whoever ended it, CLOSE comes once and last, and a DISCONNECT at most once before it. */
static void expect_close(struct kunit *test, struct consumer *consumer)
{
	u32 last;

	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(!atomic_read(&consumer->refs)));
	last = smp_load_acquire(&consumer->num);
	KUNIT_ASSERT_GE(test, last, 2);
	KUNIT_ASSERT_LE(test, last, 3);
	KUNIT_EXPECT_EQ(test, consumer->told[last - 1].type, IW_CM_EVENT_CLOSE);
	if (last == 3)
		KUNIT_EXPECT_EQ(test, consumer->told[1].type, IW_CM_EVENT_DISCONNECT);
}

static void expect_end(struct kunit *test, struct context *c, struct pair *pair)
{
	expect_close(test, pair->client);
	expect_close(test, c->server);
	expect_nothing_left(test, c);
	KUNIT_EXPECT_EQ(test, refcount_read(&pair->qp->users), 1);
	KUNIT_EXPECT_EQ(test, pair->qp->state, SRNIC_QP_ERROR);
	KUNIT_EXPECT_EQ(test, c->qp->state, SRNIC_QP_ERROR);
}

static struct ib_sge sge_of(struct context *c, void *octets, u32 len)
{
	return (struct ib_sge) {
		.addr = (uintptr_t)octets, .length = len, .lkey = c->dev->base.local_dma_lkey,
	};
}

static struct ib_wc next_wc(struct kunit *test, struct context *c)
{
	struct ib_wc wc = { };

	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(ib_poll_cq(c->cq->base, 1, &wc) == 1));
	return wc;
}

static void two_qps_connect_and_what_one_sends_the_other_receives(struct kunit *test)
{
	struct context *c = test->priv;
	u8 *octets = kunit_kzalloc(test, 2 * 5000, GFP_KERNEL), *into = octets + 5000;
	struct ib_sge from, to;
	struct ib_send_wr send_wr = { .wr_id = 1, .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
				      .sg_list = &from, .num_sge = 1 };
	struct ib_recv_wr recv_wr = { .wr_id = 2, .sg_list = &to, .num_sge = 1 };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD };
	struct pair pair;
	u32 seen = 0, i;

	KUNIT_ASSERT_NOT_NULL(test, octets);
	get_random_bytes(octets, 5000);
	from = sge_of(c, octets, 5000);
	to = sge_of(c, into, 5000);
	establish(test, c, &pair);
	KUNIT_ASSERT_EQ(test, ib_post_recv(&c->qp->base, &recv_wr, NULL), 0);
	KUNIT_ASSERT_EQ(test, ib_post_send(&pair.qp->base, &send_wr, NULL), 0);
	for (i = 0; i < 2; i++) {
		struct ib_wc wc = next_wc(test, c);

		KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
		seen |= wc.wr_id;
	}
	KUNIT_EXPECT_EQ(test, seen, 3);
	KUNIT_EXPECT_MEMEQ(test, into, octets, 5000);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(&pair.qp->base, &attr, IB_QP_STATE), 0);
	expect_end(test, c, &pair);
}

static void both_consumers_hear_of_an_abort_once(struct kunit *test)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct context *c = test->priv;
	struct pair pair;

	establish(test, c, &pair);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(&c->qp->base, &attr, IB_QP_STATE), 0);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(&c->qp->base, &attr, IB_QP_STATE), 0);
	expect_end(test, c, &pair);
}

static void a_destroyed_qp_takes_its_connection_along(struct kunit *test)
{
	struct context *c = test->priv;
	struct pair pair;

	establish(test, c, &pair);
	srnic_test_destroy_qp(test, pair.qp);
	expect_close(test, pair.client);
	expect_close(test, c->server);
	expect_nothing_left(test, c);
}

static void a_device_goes_with_connections_in_every_state(struct kunit *test)
{
	struct context *c = test->priv;
	struct consumer *announced, *listener;
	struct pair pair;

	establish(test, c, &pair);
	srnic_test_destroy_qp(test, pair.qp);
	announced = c->server;
	announce(test, c);
	connect_peer(test, c);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(num_eps(c) >= 2));
	listener = c->listener;
	srnic_connect_dev_exit(c->dev);
	KUNIT_EXPECT_EQ(test, num_eps(c), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&listener->refs), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&announced->refs), 0);
	expect_nothing_left(test, c);
	KUNIT_EXPECT_EQ(test, srnic_create_listen(&listener->id, 1), -ENODEV);
}

static int init(struct kunit *test)
{
	struct context *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	c->dev = srnic_test_device(test);
	c->pd = srnic_test_pd(test, c->dev);
	c->cq = srnic_test_cq(test, c->dev, 64);
	c->qp = srnic_test_qp(test, c->pd, c->cq, NULL, IB_SIGNAL_REQ_WR);
	return 0;
}

/* Also of a case that was given up in its middle. */
static void exit(struct kunit *test)
{
	struct context *c = test->priv;
	u32 n;

	if (!c)
		return;
	stop_listening(c);
	for (n = 0; n < c->num_peers; n++)
		close_peer(c, n);
	if (c->dev)
		let_time_pass(c);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_port_is_listened_on_once),
	KUNIT_CASE(a_port_that_others_listen_on_is_refused),
	KUNIT_CASE(a_wildcard_of_another_namespace_opens_nothing),
	KUNIT_CASE(beyond_the_backlog_silent_peers_are_reset),
	KUNIT_CASE(a_silent_peer_is_reset_when_its_time_is_over),
	KUNIT_CASE(what_is_no_mpa_frame_is_reset_and_announced_to_nobody),
	KUNIT_CASE(a_request_in_single_octets_is_announced_with_its_private_data),
	KUNIT_CASE(when_the_listener_goes_unannounced_peers_are_reset),
	KUNIT_CASE(a_rejection_takes_its_private_data_to_the_peer),
	KUNIT_CASE(a_consumer_whose_backlog_is_full_refuses),
	KUNIT_CASE(an_accept_that_does_not_come_in_time_comes_too_late),
	KUNIT_CASE(a_peer_that_has_left_cannot_be_accepted),
	KUNIT_CASE(accepting_with_a_qp_that_is_not_there_refuses_the_peer),
	KUNIT_CASE(accepting_with_a_qp_in_error_refuses_the_peer),
	KUNIT_CASE(connecting_to_nobody_is_refused_and_told_once),
	KUNIT_CASE(connecting_with_a_qp_that_is_not_there_fails_at_once),
	KUNIT_CASE(connecting_with_a_qp_of_another_consumer_is_not_permitted),
	KUNIT_CASE(a_server_that_never_replies_is_given_up),
	KUNIT_CASE(a_server_that_replies_nonsense_is_left),
	KUNIT_CASE(a_servers_rejection_is_told_with_its_private_data),
	KUNIT_CASE(a_qp_that_fails_while_it_connects_ends_the_attempt),
	KUNIT_CASE(a_qp_that_cannot_start_after_a_good_reply_is_told_in_a_terminate),
	KUNIT_CASE(two_qps_connect_and_what_one_sends_the_other_receives),
	KUNIT_CASE(both_consumers_hear_of_an_abort_once),
	KUNIT_CASE(a_destroyed_qp_takes_its_connection_along),
	KUNIT_CASE(a_device_goes_with_connections_in_every_state),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_connect", .init = init, .exit = exit, .test_cases = cases };

kunit_test_suite(suite);
