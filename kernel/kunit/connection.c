// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shared by the suites of connections: consumers, a device that listens, and plain sockets as
 * peers.
 */
#include <linux/in.h>
#include <net/sock.h>

#include "connection.h"
#include "connection/ep.h"
#include "stream/transmit/engine.h"
#include "stream/transmit/own_batch.h"

#define PORT 17471

/* ---- consumers ---- */

static int on_event(struct iw_cm_id *id, struct iw_cm_event *event)
{
	struct srnic_test_consumer *consumer = container_of(id, struct srnic_test_consumer, id);
	struct srnic_test_event *seen;

	if (consumer->num < SRNIC_TEST_EVENTS) {
		seen = &consumer->events[consumer->num];
		seen->type = event->event;
		seen->status = event->status;
		seen->ird = event->ird;
		seen->ord = event->ord;
		seen->provider_data = event->provider_data;
		seen->private_len = event->private_data_len;
		seen->points = event->private_data;
		memcpy(seen->private_data, event->private_data, event->private_data_len);
	}
	/* pairs with smp_load_acquire() where events are read */
	smp_store_release(&consumer->num, consumer->num + 1);
	return consumer->answer;
}

static void add_ref(struct iw_cm_id *id)
{
	atomic_inc(&container_of(id, struct srnic_test_consumer, id)->refs);
}

static void rem_ref(struct iw_cm_id *id)
{
	atomic_dec(&container_of(id, struct srnic_test_consumer, id)->refs);
}

void srnic_test_address(struct sockaddr_storage *addr)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in->sin_port = htons(PORT);
}

struct srnic_test_consumer *srnic_test_consumer(struct kunit *test, struct srnic_dev *dev)
{
	struct srnic_test_consumer *consumer = kunit_kzalloc(test, sizeof(*consumer), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, consumer);
	consumer->cma.device = &dev->base;
	consumer->cma.port_num = 1;
	consumer->cma.route.addr.dev_addr.net = &init_net;
	consumer->id.device = &dev->base;
	consumer->id.context = &consumer->cma;
	consumer->id.event_handler = on_event;
	consumer->id.add_ref = add_ref;
	consumer->id.rem_ref = rem_ref;
	srnic_test_address(&consumer->id.local_addr);
	srnic_test_address(&consumer->id.remote_addr);
	consumer->id.m_local_addr = consumer->id.local_addr;
	consumer->id.m_remote_addr = consumer->id.remote_addr;
	return consumer;
}

static bool has_event(struct srnic_test_consumer *consumer, u32 num)
{
	/* pairs with on_event() */
	return srnic_test_eventually(smp_load_acquire(&consumer->num) >= num);
}

struct srnic_test_event *srnic_test_expect_event(struct kunit *test,
						 struct srnic_test_consumer *consumer, u32 num,
						 enum iw_cm_event_type type, int status)
{
	struct srnic_test_event *seen = &consumer->events[num - 1];

	KUNIT_ASSERT_TRUE_MSG(test, has_event(consumer, num), "event %u did not come", num);
	KUNIT_EXPECT_EQ(test, seen->type, type);
	KUNIT_EXPECT_EQ(test, seen->status, status);
	return seen;
}

struct iw_cm_conn_param srnic_test_param(struct srnic_test_consumer *consumer, struct srnic_qp *qp)
{
	consumer->cma.qp = &qp->base;
	return (struct iw_cm_conn_param) { .ird = 2, .ord = 2, .qpn = qp->base.qp_num };
}

/* ---- the listener and its peers ---- */

void srnic_test_listen(struct kunit *test, struct srnic_test_conn *c, int backlog)
{
	c->listener = srnic_test_consumer(test, c->set.dev);
	KUNIT_ASSERT_EQ(test, srnic_create_listen(&c->listener->id, backlog), 0);
}

void srnic_test_stop_listening(struct srnic_test_conn *c)
{
	if (c->listener)
		srnic_destroy_listen(&c->listener->id);
	c->listener = NULL;
}

void srnic_test_add_peer(struct srnic_test_conn *c, struct socket *sock)
{
	sock->sk->sk_rcvtimeo = SRNIC_TEST_PATIENCE;
	c->peer[c->num_peers++] = sock;
}

struct socket *srnic_test_peer(struct kunit *test, struct srnic_test_conn *c)
{
	struct socket *sock;

	KUNIT_ASSERT_LT(test, c->num_peers, SRNIC_TEST_PEERS);
	KUNIT_ASSERT_EQ(test, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock),
			0);
	srnic_test_add_peer(c, sock);
	return sock;
}

int srnic_test_connect(struct socket *sock)
{
	struct sockaddr_storage addr = { };

	srnic_test_address(&addr);
	return kernel_connect(sock, (void *)&addr, sizeof(struct sockaddr_in), 0);
}

struct socket *srnic_test_connect_peer(struct kunit *test, struct srnic_test_conn *c)
{
	struct socket *sock = srnic_test_peer(test, c);

	KUNIT_ASSERT_EQ(test, srnic_test_connect(sock), 0);
	return sock;
}

void srnic_test_close_peer(struct srnic_test_conn *c, u32 n)
{
	if (c->peer[n])
		sock_release(c->peer[n]);
	c->peer[n] = NULL;
}

void srnic_test_send(struct kunit *test, struct socket *sock, const void *octets, u32 len)
{
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
	struct kvec vec = { .iov_base = (void *)octets, .iov_len = len };

	KUNIT_ASSERT_EQ(test, kernel_sendmsg(sock, &msg, &vec, 1, len), len);
}

int srnic_test_recv(struct socket *sock, void *octets, u32 len)
{
	struct msghdr msg = { };
	struct kvec vec = { .iov_base = octets, .iov_len = len };

	return kernel_recvmsg(sock, &msg, &vec, 1, len, MSG_WAITALL);
}

bool srnic_test_is_reset(struct socket *sock)
{
	u8 octet;

	return srnic_test_recv(sock, &octet, 1) == -ECONNRESET;
}

bool srnic_test_is_open(struct socket *sock)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };
	u8 octet;
	struct kvec vec = { .iov_base = &octet, .iov_len = 1 };

	return kernel_recvmsg(sock, &msg, &vec, 1, 1, MSG_DONTWAIT) == -EAGAIN;
}

u32 srnic_test_request(u8 *octets, const void *private, u32 len)
{
	const struct core_startup_local local = {
		.ird = 1,
		.ord = 1,
		.max_ird = 1,
		.crc = 1,
		.revision = 2,
		.p2p = 1,
		.rtr = CORE_RTR_ALL,
	};
	struct core_mpa_frame frame;
	u32 head;

	core_mpa_request(&local, len, &frame);
	head = core_mpa_build(&frame, octets);
	memcpy(octets + head, private, len);
	return head + len;
}

struct socket *srnic_test_announce_by(struct kunit *test, struct srnic_test_conn *c,
				      const u8 *octets, u32 len)
{
	struct socket *sock = srnic_test_connect_peer(test, c);
	u32 before = c->listener->num;

	srnic_test_send(test, sock, octets, len);
	c->server = srnic_test_consumer(test, c->set.dev);
	c->server->id.provider_data = srnic_test_expect_event(test, c->listener, before + 1,
							      IW_CM_EVENT_CONNECT_REQUEST, 0)
					      ->provider_data;
	return sock;
}

struct socket *srnic_test_announce(struct kunit *test, struct srnic_test_conn *c)
{
	u8 octets[64];

	return srnic_test_announce_by(test, c, octets, srnic_test_request(octets, "hello", 5));
}

/* ---- QPs that connect ---- */

void srnic_test_set_port(struct srnic_test_consumer *consumer, u16 port)
{
	((struct sockaddr_in *)&consumer->id.m_local_addr)->sin_port = htons(port);
}

struct srnic_test_consumer *srnic_test_connect_from(struct kunit *test, struct srnic_test_conn *c,
						    struct srnic_qp *qp, u16 port)
{
	struct srnic_test_consumer *client = srnic_test_consumer(test, c->set.dev);
	struct iw_cm_conn_param param = srnic_test_param(client, qp);

	srnic_test_set_port(client, port);
	param.private_data = "hello";
	param.private_data_len = 5;
	KUNIT_ASSERT_EQ(test, srnic_connect(&client->id, &param), 0);
	return client;
}

void srnic_test_pair(struct kunit *test, struct srnic_test_conn *c, struct srnic_test_pair *pair)
{
	struct iw_cm_conn_param param;

	srnic_test_listen(test, c, 2);
	pair->qp = srnic_test_qp(test, c->set.pd, c->set.cq, NULL, IB_SIGNAL_REQ_WR);
	pair->client = srnic_test_connect_from(test, c, pair->qp, 0);
	c->server = srnic_test_consumer(test, c->set.dev);
	c->server->id.provider_data =
		srnic_test_expect_event(test, c->listener, 1, IW_CM_EVENT_CONNECT_REQUEST, 0)
			->provider_data;
	param = srnic_test_param(c->server, c->set.qp);
	KUNIT_ASSERT_EQ(test, srnic_accept(&c->server->id, &param), 0);
	srnic_test_expect_event(test, pair->client, 1, IW_CM_EVENT_CONNECT_REPLY, 0);
	srnic_test_expect_event(test, c->server, 1, IW_CM_EVENT_ESTABLISHED, 0);
	KUNIT_ASSERT_EQ(test, pair->qp->state, SRNIC_QP_RTS);
	KUNIT_ASSERT_EQ(test, c->set.qp->state, SRNIC_QP_RTS);
}

struct ib_sge srnic_test_sge(struct srnic_test_conn *c, const void *octets, u32 len)
{
	return (struct ib_sge) {
		.addr = (uintptr_t)octets, .length = len, .lkey = c->set.dev->base.local_dma_lkey,
	};
}

struct ib_wc srnic_test_next_wc(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct ib_wc wc = { };

	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(ib_poll_cq(c->set.cq->base, 1, &wc) == 1));
	return wc;
}

/* ---- engines and work items ---- */

void srnic_test_calm(struct srnic_qp *qp)
{
	struct srnic_tx *tx = &qp->tx;

	mutex_lock(&tx->mutex);
	if (tx->batch != &srnic_no_batch)
		cancel_delayed_work_sync(&srnic_own_batch(tx)->trim);
	srnic_tx_unlock(qp);
	flush_delayed_work(&tx->work);
}

void srnic_test_stay_here(struct kunit *test, struct task_struct *task)
{
	const struct cpumask *here = cpumask_of(raw_smp_processor_id());

	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(task, here), 0);
}

/* ---- the device ---- */

u32 srnic_test_num_eps(struct srnic_test_conn *c)
{
	return READ_ONCE(c->set.dev->connections.num);
}

void srnic_test_let_time_pass(struct srnic_test_conn *c)
{
	struct srnic_dev_connections *conns = &c->set.dev->connections;
	struct srnic_ep *ep, *eps[SRNIC_TEST_PEERS * 2];
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
		ep->patience.end = 0;
		ep->patience.limit = 0;
		mutex_unlock(&ep->lock);
		if (mod_delayed_work(srnic_wq, &ep->work, 0))
			srnic_ep_put(ep);	/* the work was pending and has a reference */
	}
}

void srnic_test_expect_nothing_left(struct kunit *test, struct srnic_test_conn *c)
{
	struct srnic_test_consumer *listener = c->listener;
	u32 n;

	srnic_test_stop_listening(c);
	for (n = 0; n < c->num_peers; n++)
		srnic_test_close_peer(c, n);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(srnic_test_num_eps(c) == 0));
	if (listener)
		KUNIT_EXPECT_EQ(test, atomic_read(&listener->refs), 0);
	if (c->server)
		KUNIT_EXPECT_EQ(test, atomic_read(&c->server->refs), 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&c->set.qp->users), 1);
}

void srnic_test_expect_close(struct kunit *test, struct srnic_test_consumer *consumer)
{
	u32 last;

	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(!atomic_read(&consumer->refs)));
	last = smp_load_acquire(&consumer->num); /* pairs with on_event() */
	KUNIT_ASSERT_GE(test, last, 2);
	KUNIT_ASSERT_LE(test, last, 3);
	KUNIT_EXPECT_EQ(test, consumer->events[last - 1].type, IW_CM_EVENT_CLOSE);
	if (last == 3)
		KUNIT_EXPECT_EQ(test, consumer->events[1].type, IW_CM_EVENT_DISCONNECT);
}

void srnic_test_expect_end(struct kunit *test, struct srnic_test_conn *c,
			   struct srnic_test_pair *pair)
{
	srnic_test_expect_close(test, pair->client);
	srnic_test_expect_close(test, c->server);
	srnic_test_expect_nothing_left(test, c);
	KUNIT_EXPECT_EQ(test, refcount_read(&pair->qp->users), 1);
	KUNIT_EXPECT_EQ(test, pair->qp->state, SRNIC_QP_ERROR);
	KUNIT_EXPECT_EQ(test, c->set.qp->state, SRNIC_QP_ERROR);
}

void srnic_test_disconnect(struct kunit *test, struct srnic_test_conn *c,
			   struct srnic_test_pair *pair)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_SQD };

	KUNIT_EXPECT_EQ(test, ib_modify_qp(&pair->qp->base, &attr, IB_QP_STATE), 0);
	srnic_test_expect_end(test, c, pair);
}

int srnic_test_conn_init(struct kunit *test)
{
	struct srnic_test_conn *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	srnic_test_set(test, &c->set);
	return 0;
}

void srnic_test_conn_exit(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	u32 n;

	if (!c)
		return;
	srnic_test_stop_listening(c);
	for (n = 0; n < c->num_peers; n++)
		srnic_test_close_peer(c, n);
	if (c->set.dev)
		srnic_connect_dev_exit(c->set.dev);
}
