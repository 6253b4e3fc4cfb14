// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Listening, accepting and rejecting: the bookkeeping of listeners and endpoints, with a kernel
 * socket as the peer that may break the protocol. In every case the consumer gets the events that
 * iw_cm allows, once each, and nothing is left.
 */
#include <linux/completion.h>
#include <linux/in.h>
#include <linux/kthread.h>
#include <linux/sched/signal.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "compat/unaligned.h"
#include "connection.h"
#include "connection/admission.h"
#include "connection/ep.h"
#include "connection/iwcm.h"
#include "report/counters.h"

#define HEADER CORE_MPA_HEADER

/* ---- listening ---- */

static void a_port_is_listened_on_once(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *second = srnic_test_consumer(test, c->set.dev);

	srnic_test_listen(test, c, 1);
	KUNIT_EXPECT_EQ(test, srnic_create_listen(&second->id, 1), -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, atomic_read(&second->refs), 0);
	srnic_test_stop_listening(c);
	KUNIT_EXPECT_EQ(test, srnic_create_listen(&second->id, 1), 0);
	srnic_destroy_listen(&second->id);
	KUNIT_EXPECT_EQ(test, atomic_read(&second->refs), 0);
}

static void a_port_that_others_listen_on_is_refused(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct socket *other = srnic_test_peer(test, c);
	struct srnic_test_consumer *consumer = srnic_test_consumer(test, c->set.dev);

	other->sk->sk_reuse = SK_CAN_REUSE; /* connections of earlier runs may be in TIME_WAIT */
	KUNIT_ASSERT_EQ(test, kernel_bind(other, (void *)&consumer->id.local_addr,
					  sizeof(struct sockaddr_in)), 0);
	KUNIT_ASSERT_EQ(test, kernel_listen(other, 1), 0);
	KUNIT_EXPECT_EQ(test, srnic_create_listen(&consumer->id, 1), -EADDRINUSE);
	KUNIT_EXPECT_EQ(test, srnic_destroy_listen(&consumer->id), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&consumer->refs), 0);
}

static void a_port_map_is_pairs_of_ports(struct kunit *test)
{
	static const struct {
		const char *text;
		int ret;
		const char *now;
	} maps[] = {
		{ "3260:13260 445:10445\n", 0, "3260:13260 445:10445\n" },
		{ "3260", -EINVAL, "3260:13260 445:10445\n" },
		{ "3260:", -EINVAL, "3260:13260 445:10445\n" },
		{ ":3260", -EINVAL, "3260:13260 445:10445\n" },
		{ "3260:13260x", -EINVAL, "3260:13260 445:10445\n" },
		{ "3260:-1", -EINVAL, "3260:13260 445:10445\n" },
		{ "3260:0", -EINVAL, "3260:13260 445:10445\n" },
		{ "3260:65536", -EINVAL, "3260:13260 445:10445\n" },
		{ "3260:4294967297", -EINVAL, "3260:13260 445:10445\n" },
		{ "3260:3260", -EEXIST, "3260:13260 445:10445\n" },
		{ "1:2 2:3", -EEXIST, "3260:13260 445:10445\n" },
		{ "1:2 3:2", -EEXIST, "3260:13260 445:10445\n" },
		{ "  1:65535\t\n", 0, "1:65535\n" },
		{ "\n", 0, "\n" },
	};
	char *page = (char *)get_zeroed_page(GFP_KERNEL);
	struct srnic_port_map map;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, page);
	srnic_ports_init(&map);
	for (i = 0; i < ARRAY_SIZE(maps); i++) {
		KUNIT_EXPECT_EQ(test, srnic_ports_parse(&map, maps[i].text), maps[i].ret);
		KUNIT_EXPECT_EQ(test, srnic_ports_print(&map, page), strlen(maps[i].now));
		KUNIT_EXPECT_STREQ(test, page, maps[i].now);
		memset(page, 0, PAGE_SIZE);
	}
	free_page((unsigned long)page);
}

static void a_port_map_has_sixteen_pairs(struct kunit *test)
{
	char text[256] = "";
	struct srnic_port_map map;
	int i, len = 0;

	srnic_ports_init(&map);
	for (i = 1; i <= SRNIC_MAX_PORT_PAIRS + 1; i++) {
		len += scnprintf(text + len, sizeof(text) - len, "%u:%u ", i, 1000 + i);
		KUNIT_EXPECT_EQ(test, srnic_ports_parse(&map, text),
				i <= SRNIC_MAX_PORT_PAIRS ? 0 : -E2BIG);
	}
	KUNIT_EXPECT_EQ(test, map.num, SRNIC_MAX_PORT_PAIRS);
}

static u16 exchanged(struct srnic_port_map *map, u16 port)
{
	struct sockaddr_storage addr = { };
	struct sockaddr_in *v4 = (struct sockaddr_in *)&addr;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&addr;
	u16 by_v4;

	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	srnic_ports_exchange(map, &addr);
	by_v4 = ntohs(v4->sin_port);
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	srnic_ports_exchange(map, &addr);
	return ntohs(v6->sin6_port) == by_v4 ? by_v4 : 0;
}

static void mapped_ports_change_places(struct kunit *test)
{
	struct srnic_port_map map;

	srnic_ports_init(&map);
	KUNIT_EXPECT_EQ(test, exchanged(&map, 3260), 3260);
	KUNIT_ASSERT_EQ(test, srnic_ports_parse(&map, "3260:13260 445:10445"), 0);
	KUNIT_EXPECT_EQ(test, exchanged(&map, 3260), 13260);
	KUNIT_EXPECT_EQ(test, exchanged(&map, 13260), 3260);
	KUNIT_EXPECT_EQ(test, exchanged(&map, 10445), 445);
	KUNIT_EXPECT_EQ(test, exchanged(&map, 446), 446);
}

static void a_wildcard_of_another_namespace_opens_nothing(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *consumer = srnic_test_consumer(test, c->set.dev);

	consumer->cma.route.addr.dev_addr.net = NULL;
	KUNIT_EXPECT_EQ(test, srnic_create_listen(&consumer->id, 1), -EADDRNOTAVAIL);
	((struct sockaddr_in *)&consumer->id.m_local_addr)->sin_addr.s_addr = htonl(INADDR_ANY);
	KUNIT_EXPECT_EQ(test, srnic_create_listen(&consumer->id, 1), 0);
	KUNIT_EXPECT_NULL(test, consumer->id.provider_data);
	KUNIT_EXPECT_EQ(test, srnic_destroy_listen(&consumer->id), 0);
	srnic_test_listen(test, c, 1);	/* the port is free */
}

/* ---- startups in progress ---- */

/* A peer that owes the rest of its Request. */
static struct socket *stalled_peer(struct kunit *test, struct srnic_test_conn *c)
{
	struct socket *sock = srnic_test_connect_peer(test, c);

	srnic_test_send(test, sock, "MPA", 3);
	return sock;
}

/* A peer that owes the rest of its Request, once it is admitted. */
static struct socket *admitted_peer(struct kunit *test, struct srnic_test_conn *c)
{
	u32 before = srnic_test_num_eps(c);
	struct socket *sock = stalled_peer(test, c);

	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(srnic_test_num_eps(c) == before + 1));
	return sock;
}

static void a_peer_that_never_sends_is_not_admitted(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct socket *silent[3];
	u32 i;

	srnic_max_startups = 1;
	srnic_test_listen(test, c, 1);
	for (i = 0; i < ARRAY_SIZE(silent); i++)
		silent[i] = srnic_test_connect_peer(test, c);
	KUNIT_EXPECT_TRUE(test, srnic_test_is_open(srnic_test_announce(test, c)));
	KUNIT_EXPECT_EQ(test, srnic_test_num_eps(c), 1);
	for (i = 0; i < ARRAY_SIZE(silent); i++)
		KUNIT_EXPECT_TRUE(test, srnic_test_is_open(silent[i]));
	srnic_test_expect_nothing_left(test, c);
}

static void stalled_peers_do_not_use_up_the_backlog(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct socket *stalled[3];
	u32 i;

	srnic_max_startups_per_source = 1;	/* does not matter while there is room */
	srnic_test_listen(test, c, 1);
	for (i = 0; i < ARRAY_SIZE(stalled); i++)
		stalled[i] = admitted_peer(test, c);
	KUNIT_EXPECT_TRUE(test, srnic_test_is_open(srnic_test_announce(test, c)));
	for (i = 0; i < ARRAY_SIZE(stalled); i++)
		KUNIT_EXPECT_TRUE(test, srnic_test_is_open(stalled[i]));
	srnic_test_expect_nothing_left(test, c);
}

/* The new one waits in TCP's queue until the oldest has had its grace. */
static void of_too_many_stalled_peers_the_oldest_gives_way(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct socket *oldest, *other, *newest;

	srnic_max_startups = 2;
	srnic_test_listen(test, c, 1);
	oldest = admitted_peer(test, c);
	other = admitted_peer(test, c);
	newest = srnic_test_announce(test, c);
	KUNIT_EXPECT_TRUE(test, srnic_test_is_reset(oldest));
	KUNIT_EXPECT_TRUE(test, srnic_test_is_open(other));
	KUNIT_EXPECT_TRUE(test, srnic_test_is_open(newest));
	KUNIT_EXPECT_EQ(test, srnic_counted(c->set.dev, SRNIC_STARTUP_GAVE_WAY), 1);
	KUNIT_EXPECT_EQ(test, srnic_counted(c->set.dev, SRNIC_STARTUP_FAILURES), 1);
	srnic_test_expect_nothing_left(test, c);
}

/* At once: the second connection that finds the port full has not had the first one's grace. */
static void of_too_many_stalled_peers_of_one_source_its_oldest_gives_way(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct socket *oldest, *other, *newest;
	unsigned long begin;

	srnic_max_startups = 2;
	srnic_max_startups_per_source = 1;
	srnic_test_listen(test, c, 1);
	oldest = admitted_peer(test, c);
	other = admitted_peer(test, c);
	begin = jiffies;
	newest = stalled_peer(test, c);
	KUNIT_EXPECT_TRUE(test, srnic_test_is_reset(oldest));
	KUNIT_EXPECT_TRUE(test, srnic_test_is_open(srnic_test_announce(test, c)));
	KUNIT_EXPECT_TRUE(test, srnic_test_is_reset(other));
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, begin + HZ / 2));
	KUNIT_EXPECT_TRUE(test, srnic_test_is_open(newest));
	srnic_test_expect_nothing_left(test, c);
}

static struct srnic_ep *first_ep(struct srnic_test_conn *c)
{
	struct srnic_dev_connections *conns = &c->set.dev->connections;
	struct srnic_ep *ep;

	spin_lock_irq(&conns->lock);
	ep = list_first_entry(&conns->eps, struct srnic_ep, link);
	srnic_ep_get(ep);
	spin_unlock_irq(&conns->lock);
	return ep;
}

/* This end is late, not the peer: here it is kept from reading. */
static void a_peer_whose_bytes_wait_does_not_give_way(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct socket *late, *newest;
	struct srnic_ep *ep;
	u8 octets[64];
	u32 len = srnic_test_request(octets, "hello", 5);

	srnic_max_startups = 1;
	srnic_max_startups_per_source = 1;
	srnic_test_listen(test, c, 1);
	late = admitted_peer(test, c);
	ep = first_ep(c);
	mutex_lock(&ep->lock);
	srnic_test_send(test, late, octets + 3, len - 3);
	newest = srnic_test_connect_peer(test, c);
	srnic_test_send(test, newest, octets, len);
	msleep(1200);	/* more than any grace */
	KUNIT_EXPECT_EQ(test, atomic_read(&ep->over), 0);
	srnic_ep_unlock_put(ep);
	srnic_test_expect_event(test, c->listener, 2, IW_CM_EVENT_CONNECT_REQUEST, 0);
	KUNIT_EXPECT_TRUE(test, srnic_test_is_open(late));
	KUNIT_EXPECT_TRUE(test, srnic_test_is_open(newest));
	KUNIT_EXPECT_EQ(test, srnic_counted(c->set.dev, SRNIC_STARTUP_FAILURES), 0);
	srnic_test_expect_nothing_left(test, c);
}

static u64 failures(struct srnic_test_conn *c)
{
	return srnic_counted(c->set.dev, SRNIC_STARTUP_FAILURES);
}

/* While it waits in TCP's queue, because the port is full. */
static void a_peer_that_leaves_before_it_is_accepted_is_counted(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct socket *oldest;

	srnic_max_startups = 1;
	srnic_test_listen(test, c, 1);
	oldest = admitted_peer(test, c);
	sock_no_linger(stalled_peer(test, c)->sk);
	srnic_test_close_peer(c, 1);
	KUNIT_EXPECT_TRUE(test, srnic_test_is_reset(oldest));
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(failures(c) == 2));
	KUNIT_EXPECT_EQ(test, srnic_counted(c->set.dev, SRNIC_STARTUP_GAVE_WAY), 1);
	KUNIT_EXPECT_EQ(test, c->listener->num, 0);
	srnic_test_expect_nothing_left(test, c);
}

/* The child that waits in TCP's queue, referenced; or NULL. */
static struct sock *queued_child(struct srnic_test_conn *c)
{
	struct sock *listening = srnic_listening_sock(&c->listener->id), *child = NULL;
	struct request_sock_queue *queue = &inet_csk(listening)->icsk_accept_queue;

	spin_lock_bh(&queue->rskq_lock);
	if (queue->rskq_accept_head) {
		child = queue->rskq_accept_head->sk;
		sock_hold(child);
	}
	spin_unlock_bh(&queue->rskq_lock);
	sock_put(listening);
	return child;
}

/* As a BPF program of type SOCK_OPS does, which leaves its own pointer in the child. */
static void a_connection_that_a_bpf_program_has_taken_is_refused(struct kunit *test)
{
	static u64 anothers[64];
	struct srnic_test_conn *c = test->priv;
	struct socket *oldest, *taken;
	struct sock *child;

	srnic_max_startups = 1;
	srnic_test_listen(test, c, 1);
	oldest = admitted_peer(test, c);
	taken = stalled_peer(test, c);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually((child = queued_child(c))));
	WRITE_ONCE(child->sk_user_data, (void *)((uintptr_t)anothers | SK_USER_DATA_NOCOPY |
						 SK_USER_DATA_PSOCK));
	srnic_test_send(test, taken, " ID", 3);
	KUNIT_EXPECT_TRUE(test, srnic_test_is_reset(oldest));
	KUNIT_EXPECT_TRUE(test, srnic_test_is_reset(taken));
	WRITE_ONCE(child->sk_user_data, NULL);
	sock_put(child);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(failures(c) == 2));
	KUNIT_EXPECT_EQ(test, c->listener->num, 0);
	srnic_test_expect_nothing_left(test, c);
}

static bool listens(struct srnic_test_conn *c)
{
	struct sock *sk = srnic_listening_sock(&c->listener->id);
	bool ret = sk && inet_sk_state_load(sk) == TCP_LISTEN;

	if (sk)
		sock_put(sk);
	return ret;
}

/* As `ss -K` does it. A startup has its own socket. */
static void a_socket_that_is_closed_from_outside_listens_again(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct socket *before;
	int i;

	srnic_test_listen(test, c, 1);
	before = admitted_peer(test, c);
	for (i = 0; i < 2; i++) {
		struct sock *sk = srnic_listening_sock(&c->listener->id);

		KUNIT_ASSERT_NOT_NULL(test, sk);
		KUNIT_EXPECT_EQ(test, tcp_abort(sk, ECONNABORTED), 0);
		sock_put(sk);
		KUNIT_ASSERT_TRUE(test, srnic_test_eventually(listens(c)));
		KUNIT_EXPECT_TRUE(test, srnic_test_is_open(srnic_test_announce(test, c)));
	}
	KUNIT_EXPECT_TRUE(test, srnic_test_is_open(before));
	srnic_test_expect_nothing_left(test, c);
}

static void listen_test_exit(struct kunit *test)
{
	srnic_test_conn_exit(test);
	srnic_max_startups = SRNIC_MAX_STARTUPS;
	srnic_max_startups_per_source = SRNIC_MAX_STARTUPS_PER_SOURCE;
}

static void a_silent_peer_is_reset_when_its_time_is_over(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct socket *sock;
	u8 octets[64];

	srnic_test_listen(test, c, 1);
	sock = srnic_test_connect_peer(test, c);
	/* all but one octet */
	srnic_test_send(test, sock, octets, srnic_test_request(octets, "hello", 5) - 1);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(srnic_test_num_eps(c) == 1));
	KUNIT_EXPECT_TRUE(test, srnic_test_is_open(sock));
	srnic_test_let_time_pass(c);
	KUNIT_EXPECT_TRUE(test, srnic_test_is_reset(sock));
	KUNIT_EXPECT_EQ(test, c->listener->num, 0);
	KUNIT_EXPECT_EQ(test, srnic_counted(c->set.dev, SRNIC_STARTUP_TIMEOUTS), 1);
	KUNIT_EXPECT_EQ(test, srnic_counted(c->set.dev, SRNIC_STARTUP_FAILURES), 1);
	srnic_test_expect_nothing_left(test, c);
}

static void what_is_no_mpa_frame_is_reset_and_announced_to_nobody(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct socket *sock;

	srnic_test_listen(test, c, 1);
	sock = srnic_test_connect_peer(test, c);
	srnic_test_send(test, sock, "GET / HTTP/1.1\r\nHost: srnic\r\n\r\n", 32);
	KUNIT_EXPECT_TRUE(test, srnic_test_is_reset(sock));
	KUNIT_EXPECT_EQ(test, c->listener->num, 0);
	srnic_test_expect_nothing_left(test, c);
}

static void a_request_in_single_octets_is_announced_with_its_private_data(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct socket *sock;
	struct srnic_test_event *seen;
	u8 octets[64];
	u32 len, i;

	srnic_test_listen(test, c, 1);
	sock = srnic_test_connect_peer(test, c);
	tcp_sock_set_nodelay(sock->sk);
	len = srnic_test_request(octets, "private data", 12);
	for (i = 0; i < len; i++)
		srnic_test_send(test, sock, octets + i, 1);
	seen = srnic_test_expect_event(test, c->listener, 1, IW_CM_EVENT_CONNECT_REQUEST, 0);
	KUNIT_EXPECT_EQ(test, seen->private_len, 12);
	KUNIT_EXPECT_MEMEQ(test, seen->private_data, "private data", 12);
	srnic_test_expect_nothing_left(test, c);
}

/* Consumers look at the pointer alone, when what it points to is gone. */
static void a_request_without_private_data_is_announced_without_a_pointer(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_event *seen;
	struct socket *sock;
	u8 octets[64];

	srnic_test_listen(test, c, 1);
	sock = srnic_test_connect_peer(test, c);
	srnic_test_send(test, sock, octets, srnic_test_request(octets, "", 0));
	seen = srnic_test_expect_event(test, c->listener, 1, IW_CM_EVENT_CONNECT_REQUEST, 0);
	KUNIT_EXPECT_EQ(test, seen->private_len, 0);
	KUNIT_EXPECT_FALSE(test, seen->points);
	srnic_test_expect_nothing_left(test, c);
}

static void when_the_listener_goes_unannounced_peers_are_reset(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct srnic_test_consumer *listener;
	struct socket *sock;

	srnic_test_listen(test, c, 1);
	listener = c->listener;
	sock = admitted_peer(test, c);
	srnic_test_stop_listening(c);
	KUNIT_EXPECT_TRUE(test, srnic_test_is_reset(sock));
	KUNIT_EXPECT_EQ(test, listener->num, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&listener->refs), 0);
	srnic_test_expect_nothing_left(test, c);
}

/* ---- accept and reject ---- */

/* The peer gets a Reply frame that rejects, with this private data, and then FIN. */
static void expect_refusal(struct kunit *test, struct socket *sock, const void *private, u32 len)
{
	struct core_mpa_frame frame;
	u8 octets[HEADER + 64];
	u32 skip;

	KUNIT_ASSERT_EQ(test, srnic_test_recv(sock, octets, HEADER), HEADER);
	KUNIT_ASSERT_EQ(test, core_mpa_parse(octets, true, &frame), CORE_MPA_OK);
	KUNIT_EXPECT_TRUE(test, frame.reject);
	skip = frame.enhanced ? CORE_MPA_ENHANCED : 0;
	KUNIT_ASSERT_EQ(test, frame.private_len, skip + len);
	if (skip + len)
		KUNIT_ASSERT_EQ(test, srnic_test_recv(sock, octets, skip + len), skip + len);
	KUNIT_EXPECT_MEMEQ(test, octets + skip, private, len);
	KUNIT_EXPECT_EQ(test, srnic_test_recv(sock, octets, 1), 0);
}

static void a_rejection_takes_its_private_data_to_the_peer(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct socket *sock;

	srnic_test_listen(test, c, 1);
	sock = srnic_test_announce(test, c);
	KUNIT_EXPECT_EQ(test, srnic_reject(&c->server->id, "go away", 7), 0);
	expect_refusal(test, sock, "go away", 7);
	/* It is gone: no effect */
	KUNIT_EXPECT_EQ(test, srnic_reject(&c->server->id, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, c->server->num, 0);
	srnic_test_expect_nothing_left(test, c);
}

/* The second one's refusal is left to TCP at once, the first one's when its time is over. */
static void of_many_refused_peers_that_stay_silent_few_are_waited_for(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	unsigned long begin = jiffies;
	struct socket *sock;
	int i;

	srnic_max_startups = 1;
	srnic_test_listen(test, c, 1);
	for (i = 0; i < 2; i++) {
		sock = srnic_test_announce(test, c);
		KUNIT_EXPECT_EQ(test, srnic_reject(&c->server->id, "go away", 7), 0);
		expect_refusal(test, sock, "go away", 7);
	}
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(srnic_test_num_eps(c) == 1));
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, begin + 4 * HZ));
	srnic_test_expect_nothing_left(test, c);
	KUNIT_EXPECT_EQ(test, c->set.dev->connections.refused, 0);
}

static void a_consumer_whose_backlog_is_full_refuses(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct socket *sock;
	u8 octets[64];

	srnic_test_listen(test, c, 1);
	c->listener->answer = -ENOMEM;
	sock = srnic_test_connect_peer(test, c);
	srnic_test_send(test, sock, octets, srnic_test_request(octets, NULL, 0));
	expect_refusal(test, sock, "", 0);
	KUNIT_EXPECT_EQ(test, c->listener->num, 1);
	KUNIT_EXPECT_EQ(test, srnic_counted(c->set.dev, SRNIC_BACKLOG_FULL), 1);
	KUNIT_EXPECT_EQ(test, srnic_counted(c->set.dev, SRNIC_STARTUP_FAILURES), 0);
	srnic_test_expect_nothing_left(test, c);
}

/* Listens until a peer is announced. *param: to accept it with c->set.qp. */
static struct socket *announce_one(struct kunit *test, struct srnic_test_conn *c,
				   struct iw_cm_conn_param *param)
{
	struct socket *sock;

	srnic_test_listen(test, c, 1);
	sock = srnic_test_announce(test, c);
	*param = srnic_test_param(c->server, c->set.qp);
	return sock;
}

static void an_accept_that_does_not_come_in_time_comes_too_late(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct iw_cm_conn_param param;
	struct socket *sock;

	sock = announce_one(test, c, &param);
	KUNIT_EXPECT_TRUE(test, srnic_test_is_open(sock));
	srnic_test_let_time_pass(c);
	KUNIT_EXPECT_TRUE(test, srnic_test_is_reset(sock));
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(srnic_test_num_eps(c) == 0));
	KUNIT_EXPECT_EQ(test, srnic_accept(&c->server->id, &param), -ECONNRESET);
	KUNIT_EXPECT_EQ(test, srnic_reject(&c->server->id, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, c->server->num, 0);
	srnic_test_expect_nothing_left(test, c);
}

static void a_peer_that_has_left_cannot_be_accepted(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct iw_cm_conn_param param;

	announce_one(test, c, &param);
	srnic_test_close_peer(c, 0);
	KUNIT_EXPECT_EQ(test, srnic_accept(&c->server->id, &param), -ECONNRESET);
	KUNIT_EXPECT_EQ(test, c->server->num, 0);
	srnic_test_expect_nothing_left(test, c);
}

static void accepting_with_a_qp_that_is_not_there_refuses_the_peer(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct iw_cm_conn_param param;
	struct socket *sock;

	sock = announce_one(test, c, &param);
	param.qpn += 1000;
	KUNIT_EXPECT_EQ(test, srnic_accept(&c->server->id, &param), -EINVAL);
	expect_refusal(test, sock, "", 0);
	KUNIT_EXPECT_EQ(test, c->server->num, 0);
	srnic_test_expect_nothing_left(test, c);
}

static void accepting_with_a_qp_in_error_refuses_the_peer(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct iw_cm_conn_param param;
	struct socket *sock;

	sock = announce_one(test, c, &param);
	srnic_qp_fail(c->set.qp);
	KUNIT_EXPECT_EQ(test, srnic_accept(&c->server->id, &param), -EINVAL);
	expect_refusal(test, sock, "", 0);
	srnic_test_expect_nothing_left(test, c);
}

/* RFC 5044 7.1.1: 512 octets, of which enhanced data takes four (RFC 6581 9). */
static void an_accept_has_as_much_private_data_as_its_frame_holds(struct kunit *test)
{
	u8 *octets = kunit_kzalloc(test, 2 * 512 + CORE_MPA_HEADER, GFP_KERNEL),
	   *reply = octets + 512;
	struct srnic_test_conn *c = test->priv;
	struct iw_cm_conn_param param;
	struct socket *sock;

	KUNIT_ASSERT_NOT_NULL(test, octets);
	get_random_bytes(octets, 512);
	sock = announce_one(test, c, &param);
	param.private_data = octets;
	param.private_data_len = 509;
	KUNIT_EXPECT_EQ(test, srnic_accept(&c->server->id, &param), -EINVAL);
	expect_refusal(test, sock, "", 0);
	sock = srnic_test_announce(test, c);
	param = srnic_test_param(c->server, c->set.qp);
	param.private_data = octets;
	param.private_data_len = 508;
	KUNIT_EXPECT_EQ(test, srnic_accept(&c->server->id, &param), 0);
	KUNIT_ASSERT_EQ(test, srnic_test_recv(sock, reply, CORE_MPA_HEADER + 512),
			CORE_MPA_HEADER + 512);
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(reply + CORE_MPA_HEADER - 2), 512);
	KUNIT_EXPECT_MEMEQ(test, reply + CORE_MPA_HEADER + CORE_MPA_ENHANCED, octets, 508);
	srnic_test_expect_nothing_left(test, c);
}

/* ---- a user accepts ---- */

/*
 * Accepts with a user's QP, in a process of its own. The test is iw_cm's worker. killed: before the
 * accept waits.
 */
struct acceptor {
	struct srnic_test_conn *c;
	struct iw_cm_conn_param param;
	bool killed;
	int ret;
	struct completion done;
};

static int accept_as_user(void *data)
{
	struct acceptor *user = data;
	struct srnic_qp *qp = user->c->set.qp;

	allow_signal(SIGKILL);
	if (user->killed)
		send_sig(SIGKILL, current, 1);
	qp->base.res.task = current;
	qp->user = true;
	user->ret = srnic_accept(&user->c->server->id, &user->param);
	qp->user = false;
	qp->base.res.task = NULL;
	complete(&user->done);
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

static struct task_struct *begin_accept(struct kunit *test, struct srnic_test_conn *c,
					struct acceptor *user)
{
	struct task_struct *task;

	user->c = c;
	init_completion(&user->done);
	task = kthread_run(accept_as_user, user, "srnic-kunit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	return task;
}

static int on_client_event(struct iw_cm_id *id, struct iw_cm_event *event)
{
	container_of(id, struct srnic_test_consumer, id)->processed++;
	return event->status;
}

static int process_event(struct srnic_test_consumer *consumer, int status)
{
	struct iw_cm_event event = { .event = IW_CM_EVENT_ESTABLISHED, .status = status };

	return consumer->id.cm_handler(&consumer->id, &event);
}

/* Before that, another accept or a reject would find iw_cm's id in a state that these corrupt. */
static void an_accept_of_a_user_lasts_until_iw_cm_has_processed_the_event(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct task_struct *task;
	struct acceptor user = { };

	announce_one(test, c, &user.param);
	c->server->id.cm_handler = on_client_event;
	task = begin_accept(test, c, &user);
	srnic_test_expect_event(test, c->server, 1, IW_CM_EVENT_ESTABLISHED, 0);
	KUNIT_EXPECT_EQ(test, wait_for_completion_timeout(&user.done, HZ / 20), 0);
	send_sig(SIGKILL, task, 1);	/* nor may a killed one leave */
	KUNIT_EXPECT_EQ(test, wait_for_completion_timeout(&user.done, HZ / 20), 0);
	KUNIT_EXPECT_EQ(test, process_event(c->server, 17), 17);
	KUNIT_EXPECT_EQ(test, c->server->processed, 1);
	KUNIT_EXPECT_TRUE(test, c->server->id.cm_handler == on_client_event);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&user.done, SRNIC_TEST_PATIENCE), 0);
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, user.ret, 0);
	KUNIT_EXPECT_EQ(test, srnic_reject(&c->server->id, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, c->set.qp->state, SRNIC_QP_RTS);
	srnic_test_expect_nothing_left(test, c);
}

/* The event may be faster than the signal. */
static void an_accept_of_a_killed_user_is_withdrawn_before_there_is_an_event(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct acceptor user = { .killed = true };
	struct task_struct *task;

	announce_one(test, c, &user.param);
	c->server->id.cm_handler = on_client_event;
	task = begin_accept(test, c, &user);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(completion_done(&user.done) ||
						      READ_ONCE(c->server->num)));
	if (READ_ONCE(c->server->num))
		process_event(c->server, 0);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&user.done, SRNIC_TEST_PATIENCE), 0);
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, user.ret, c->server->num ? 0 : -EINTR);
	KUNIT_EXPECT_TRUE(test, c->server->id.cm_handler == on_client_event);
	KUNIT_EXPECT_EQ(test, c->server->processed, c->server->num);
	srnic_test_expect_nothing_left(test, c);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_port_is_listened_on_once),
	KUNIT_CASE(a_port_that_others_listen_on_is_refused),
	KUNIT_CASE(a_port_map_is_pairs_of_ports),
	KUNIT_CASE(a_port_map_has_sixteen_pairs),
	KUNIT_CASE(mapped_ports_change_places),
	KUNIT_CASE(a_wildcard_of_another_namespace_opens_nothing),
	KUNIT_CASE(a_peer_that_never_sends_is_not_admitted),
	KUNIT_CASE(stalled_peers_do_not_use_up_the_backlog),
	KUNIT_CASE(of_too_many_stalled_peers_the_oldest_gives_way),
	KUNIT_CASE(of_too_many_stalled_peers_of_one_source_its_oldest_gives_way),
	KUNIT_CASE(a_peer_whose_bytes_wait_does_not_give_way),
	KUNIT_CASE(a_peer_that_leaves_before_it_is_accepted_is_counted),
	KUNIT_CASE(a_connection_that_a_bpf_program_has_taken_is_refused),
	KUNIT_CASE(a_socket_that_is_closed_from_outside_listens_again),
	KUNIT_CASE(a_silent_peer_is_reset_when_its_time_is_over),
	KUNIT_CASE(what_is_no_mpa_frame_is_reset_and_announced_to_nobody),
	KUNIT_CASE(a_request_in_single_octets_is_announced_with_its_private_data),
	KUNIT_CASE(a_request_without_private_data_is_announced_without_a_pointer),
	KUNIT_CASE(when_the_listener_goes_unannounced_peers_are_reset),
	KUNIT_CASE(a_rejection_takes_its_private_data_to_the_peer),
	KUNIT_CASE(of_many_refused_peers_that_stay_silent_few_are_waited_for),
	KUNIT_CASE(a_consumer_whose_backlog_is_full_refuses),
	KUNIT_CASE(an_accept_that_does_not_come_in_time_comes_too_late),
	KUNIT_CASE(a_peer_that_has_left_cannot_be_accepted),
	KUNIT_CASE(accepting_with_a_qp_that_is_not_there_refuses_the_peer),
	KUNIT_CASE(accepting_with_a_qp_in_error_refuses_the_peer),
	KUNIT_CASE(an_accept_has_as_much_private_data_as_its_frame_holds),
	KUNIT_CASE(an_accept_of_a_user_lasts_until_iw_cm_has_processed_the_event),
	KUNIT_CASE(an_accept_of_a_killed_user_is_withdrawn_before_there_is_an_event),
	{ }
};

static struct kunit_suite suite = {
	.name = "srnic_listen",
	.init = srnic_test_conn_init,
	.exit = listen_test_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
