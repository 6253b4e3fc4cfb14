// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shortcuts (stream/transmit/shortcut.h): when bytes go to the other end without TCP, and that they
 * stay in the stream's order when they may not.
 */
#include <net/tcp.h>

#include "connection.h"
#include "stream/attach.h"
#include "stream/callbacks.h"
#include "stream/transmit/batch.h"
#include "stream/transmit/shortcut.h"

#define OCTETS 16384U
#define REQUESTS 8		/* that fit a queue: more than one packet of TCP on lo */

/* Two QPs of one device; the one that connected sends, the other receives. */
struct ends {
	struct srnic_test_conn *c;
	struct srnic_test_pair pair;
	u8 *octets, *into;
	u32 sent;
};

static struct ends connect_ends(struct kunit *test, bool shortcut)
{
	struct ends e = { .c = test->priv };

	e.octets = srnic_test_pages(test, 2 * OCTETS);
	e.into = e.octets + OCTETS;
	e.c->set.dev->settings.local_shortcut = shortcut;
	srnic_test_pair(test, e.c, &e.pair);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(READ_ONCE(e.c->set.qp->tx.validated)));
	/* the RTR may have come before the engine that handed it over has counted it */
	mutex_lock(&e.pair.qp->tx.mutex);
	srnic_tx_unlock(e.pair.qp);
	return e;
}

static struct sock *sender(struct ends *e)
{
	return e->pair.qp->sock->sk;
}

static struct sock *receiver(struct ends *e)
{
	return e->c->set.qp->sock->sk;
}

static u64 counted(struct ends *e, enum srnic_counter counter)
{
	return srnic_counted(e->c->set.dev, counter);
}

static void post_receive(struct kunit *test, struct ends *e)
{
	struct ib_sge sge = srnic_test_sge(e->c, e->into, OCTETS);
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	KUNIT_ASSERT_EQ(test, ib_post_recv(&e->c->set.qp->base, &wr, NULL), 0);
}

static int try_send(struct ends *e)
{
	struct ib_sge sge = srnic_test_sge(e->c, e->octets, OCTETS);
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_send(&e->pair.qp->base, &wr, NULL);
}

/* Its octets are others each time. */
static void post_send(struct kunit *test, struct ends *e)
{
	memset(e->octets, ++e->sent, OCTETS);
	KUNIT_ASSERT_EQ(test, try_send(e), 0);
}

/* For a caller that holds a lock, and so must not fail. */
static bool post_and_wait(struct ends *e)
{
	struct ib_wc wc = { };

	memset(e->octets, ++e->sent, OCTETS);
	return !try_send(e) && srnic_test_eventually(ib_poll_cq(e->c->set.cq->base, 1, &wc) == 1) &&
	       wc.status == IB_WC_SUCCESS && wc.opcode == IB_WC_SEND;
}

/* So many of each, in any order, and all good. */
static void expect(struct kunit *test, int sends, int receives)
{
	while (sends + receives) {
		struct ib_wc wc = srnic_test_next_wc(test);

		KUNIT_ASSERT_EQ(test, wc.status, IB_WC_SUCCESS);
		if (wc.opcode == IB_WC_SEND)
			sends--;
		else
			receives--;
		KUNIT_ASSERT_GE(test, min(sends, receives), 0);
	}
}

/* A processor that has completed a receive may still hold the socket: a shortcut does not wait. */
static void settle(struct ends *e)
{
	lock_sock(receiver(e));
	release_sock(receiver(e));
}

static void send_one(struct kunit *test, struct ends *e)
{
	settle(e);
	post_receive(test, e);
	post_send(test, e);
	expect(test, 1, 1);
	KUNIT_EXPECT_MEMEQ(test, e->into, e->octets, OCTETS);
}

static void disconnect(struct kunit *test, struct ends *e)
{
	srnic_test_disconnect(test, e->c, &e->pair);
	KUNIT_EXPECT_NULL(test, e->pair.qp->shortcut);
	KUNIT_EXPECT_NULL(test, e->c->set.qp->shortcut);
}

static void bytes_reach_a_qp_of_this_host_without_tcp(struct kunit *test)
{
	struct ends e = connect_ends(test, true);
	u32 before = tcp_sk(sender(&e))->write_seq;

	send_one(test, &e);
	send_one(test, &e);
	KUNIT_EXPECT_EQ(test, tcp_sk(sender(&e))->write_seq, before);
	KUNIT_EXPECT_GT(test, counted(&e, SRNIC_TX_SHORTCUT), 2 * OCTETS);
	KUNIT_EXPECT_TRUE(test, e.pair.qp->shortcut_used);
	disconnect(test, &e);
}

static void unless_the_device_allows_it_all_bytes_go_through_tcp(struct kunit *test)
{
	struct ends e = connect_ends(test, false);
	u32 before = tcp_sk(sender(&e))->write_seq;

	send_one(test, &e);
	KUNIT_EXPECT_GT(test, tcp_sk(sender(&e))->write_seq - before, OCTETS);
	KUNIT_EXPECT_EQ(test, counted(&e, SRNIC_TX_SHORTCUT), 0);
	KUNIT_EXPECT_FALSE(test, e.pair.qp->shortcut_used);
	disconnect(test, &e);
}

static void end_shortcut(struct srnic_qp *qp)
{
	mutex_lock(&qp->tx.mutex);
	srnic_shortcut_end(qp);
	srnic_tx_unlock(qp);
}

static void begin_shortcut(struct srnic_qp *qp)
{
	mutex_lock(&qp->tx.mutex);
	srnic_shortcut_begin(qp);
	srnic_tx_unlock(qp);
}

static void both_ends_have_to_allow_it(struct kunit *test)
{
	struct ends e = connect_ends(test, false);

	e.c->set.dev->settings.local_shortcut = true;
	begin_shortcut(e.pair.qp);
	send_one(test, &e);
	KUNIT_EXPECT_EQ(test, counted(&e, SRNIC_TX_SHORTCUT), 0);
	begin_shortcut(e.c->set.qp);
	send_one(test, &e);
	KUNIT_EXPECT_GT(test, counted(&e, SRNIC_TX_SHORTCUT), OCTETS);
	disconnect(test, &e);
}

/* As between two connections of the same addresses, which somebody translates. */
static void ends_whose_numbers_do_not_fit_are_not_of_one_connection(struct kunit *test)
{
	struct ends e = connect_ends(test, true);
	u64 before;

	end_shortcut(e.pair.qp);
	end_shortcut(e.c->set.qp);
	before = counted(&e, SRNIC_TX_SHORTCUT);
	begin_shortcut(e.pair.qp);
	mutex_lock(&e.c->set.qp->tx.mutex);
	lock_sock(receiver(&e));
	tcp_sk(receiver(&e))->rcv_nxt += 1 << 30;
	srnic_shortcut_begin(e.c->set.qp);
	tcp_sk(receiver(&e))->rcv_nxt -= 1 << 30;
	release_sock(receiver(&e));
	srnic_tx_unlock(e.c->set.qp);
	send_one(test, &e);
	KUNIT_EXPECT_EQ(test, counted(&e, SRNIC_TX_SHORTCUT), before);
	disconnect(test, &e);
}

static void set_user_data(struct sock *sk, void *data)
{
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = data;
	write_unlock_bh(&sk->sk_callback_lock);
}

/* RFC 5041 5.3: messages are delivered in the order in which they were sent. */
static void expect_last(struct kunit *test, struct ends *e, u64 before)
{
	KUNIT_EXPECT_EQ(test, counted(e, SRNIC_TX_SHORTCUT), before);
	KUNIT_EXPECT_MEMEQ(test, e->into, e->octets, OCTETS);
	send_one(test, e);
	KUNIT_EXPECT_GT(test, counted(e, SRNIC_TX_SHORTCUT), before);
}

static void tcp_takes_what_comes_while_the_receiver_is_busy(struct kunit *test)
{
	struct ends e = connect_ends(test, true);
	u64 before = counted(&e, SRNIC_TX_SHORTCUT);
	bool sent;

	post_receive(test, &e);
	post_receive(test, &e);
	lock_sock(receiver(&e));
	sent = post_and_wait(&e) && post_and_wait(&e);
	release_sock(receiver(&e));
	KUNIT_ASSERT_TRUE(test, sent);
	expect(test, 0, 2);
	expect_last(test, &e, before);
	disconnect(test, &e);
}

/* Nobody has locked the receiver's socket, but there are bytes in it that were not consumed. */
static void tcp_takes_what_comes_behind_its_own(struct kunit *test)
{
	struct ends e = connect_ends(test, true);
	struct sock *sk = receiver(&e);
	u64 before = counted(&e, SRNIC_TX_SHORTCUT);
	bool sent, waiting;

	post_receive(test, &e);
	post_receive(test, &e);
	lock_sock(sk);
	sent = post_and_wait(&e);
	set_user_data(sk, NULL);	/* nobody hears of them */
	release_sock(sk);
	waiting = srnic_test_eventually(!skb_queue_empty_lockless(&sk->sk_receive_queue));
	set_user_data(sk, e.c->set.qp);
	KUNIT_ASSERT_TRUE(test, sent && waiting);
	post_send(test, &e);
	expect(test, 1, 2);
	expect_last(test, &e, before);
	disconnect(test, &e);
}

/* Has the receiver consumed all that TCP was given? Until then TCP takes the rest as well. */
static bool has_caught_up(struct ends *e)
{
	return READ_ONCE(tcp_sk(receiver(e))->copied_seq) ==
	       READ_ONCE(tcp_sk(sender(e))->write_seq);
}

/* The caller has locked the receiver. Meanwhile the sender's engine gives TCP nothing more. */
static bool release_and_catch_up(struct ends *e)
{
	struct srnic_tx *tx = &e->pair.qp->tx;
	bool waits = srnic_test_eventually(mutex_trylock(&tx->mutex));
	bool rest = waits && tx->batch->len;

	release_sock(receiver(e));
	if (!waits)
		return false;
	rest = srnic_test_eventually(has_caught_up(e)) && rest;
	settle(e);
	srnic_tx_unlock(e->pair.qp);
	return rest;
}

/* What TCP has not taken follows what it has, though it begins in the middle of an FPDU. */
static void the_rest_of_a_batch_may_go_the_other_way(struct kunit *test)
{
	struct ends e = connect_ends(test, true);
	u64 before = counted(&e, SRNIC_TX_SHORTCUT);
	struct sock *sk = sender(&e);
	int i, failed = 0;
	bool full, rest;

	for (i = 0; i < REQUESTS; i++)
		post_receive(test, &e);
	lock_sock(receiver(&e));
	sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	WRITE_ONCE(sk->sk_sndbuf, SOCK_MIN_SNDBUF);	/* room for one packet */
	for (i = 0; i < REQUESTS; i++)
		failed += !!try_send(&e);
	full = srnic_test_eventually(counted(&e, SRNIC_TX_SOCKET_FULL));
	rest = release_and_catch_up(&e);
	KUNIT_ASSERT_TRUE(test, full && rest && !failed);
	expect(test, REQUESTS, REQUESTS);
	KUNIT_EXPECT_GT(test, counted(&e, SRNIC_TX_SHORTCUT), before);
	KUNIT_EXPECT_GT(test, counted(&e, SRNIC_TX_OCTETS),
			OCTETS + counted(&e, SRNIC_TX_SHORTCUT));
	disconnect(test, &e);
}

/* It may be one of a startup or a teardown, which has other callbacks. */
static void only_a_socket_that_a_qp_receives_from_takes_bytes(struct kunit *test)
{
	struct ends e = connect_ends(test, true);
	struct sock *sk = srnic_test_peer(test, e.c)->sk;
	struct bio_vec none;
	bool taken;

	set_user_data(sk, e.c->set.qp);
	spin_lock_bh(&sk->sk_lock.slock);
	taken = srnic_qp_take(sk, &none, 0);
	spin_unlock_bh(&sk->sk_lock.slock);
	set_user_data(sk, NULL);
	KUNIT_EXPECT_FALSE(test, taken);
	disconnect(test, &e);
}

/* RFC 5041 7.2: a Send without a receive ends the stream, and its sender hears why. */
static void a_terminate_takes_the_shortcut_as_well(struct kunit *test)
{
	struct ends e = connect_ends(test, true);

	post_send(test, &e);
	expect(test, 1, 0);
	srnic_test_expect_end(test, e.c, &e.pair);
	KUNIT_EXPECT_EQ(test, srnic_end_of(e.c->set.qp->end), SRNIC_END_ERROR);
	KUNIT_EXPECT_EQ(test, srnic_end_of(e.pair.qp->end), SRNIC_END_TERMINATE);
	KUNIT_EXPECT_EQ(test, srnic_end_detail(e.pair.qp->end), 0x1202);
	KUNIT_EXPECT_EQ(test, counted(&e, SRNIC_RX_TERMINATES), 1);
}

/* What is sent then reaches TCP, or is flushed once TCP is reset. */
static void a_receiver_that_has_stopped_takes_nothing(struct kunit *test)
{
	struct ends e = connect_ends(test, true);
	u64 before;

	send_one(test, &e);
	before = counted(&e, SRNIC_TX_SHORTCUT);
	srnic_qp_stop(e.c->set.qp, NULL);
	post_send(test, &e);
	srnic_test_next_wc(test);
	KUNIT_EXPECT_EQ(test, counted(&e, SRNIC_TX_SHORTCUT), before);
	srnic_test_expect_end(test, e.c, &e.pair);
}

/* ---- without CRCs ---- */

static int users_of(const u8 *octets)
{
	return page_ref_count(virt_to_head_page(octets));
}

/* From the first on, payload goes from one region to the other. */
static void payload_is_copied_once(struct kunit *test)
{
	struct ends e = connect_ends(test, true);
	int users = users_of(e.octets);
	u64 copied;

	send_one(test, &e);
	copied = counted(&e, SRNIC_TX_COPIED);
	send_one(test, &e);
	send_one(test, &e);
	KUNIT_EXPECT_EQ(test, counted(&e, SRNIC_TX_COPIED), copied);
	KUNIT_EXPECT_EQ(test, users_of(e.octets), users);
	disconnect(test, &e);
}

/* A request that is complete has been read: its owner may change the bytes. */
static void what_tcp_takes_is_copied_before(struct kunit *test)
{
	struct ends e = connect_ends(test, true);
	int users = users_of(e.octets), users_then;
	bool sent;
	u64 copied;

	send_one(test, &e);
	copied = counted(&e, SRNIC_TX_COPIED);
	post_receive(test, &e);
	lock_sock(receiver(&e));
	sent = post_and_wait(&e);
	users_then = users_of(e.octets);
	release_sock(receiver(&e));
	KUNIT_EXPECT_TRUE(test, sent);
	KUNIT_EXPECT_EQ(test, counted(&e, SRNIC_TX_COPIED), copied + OCTETS);
	KUNIT_EXPECT_EQ(test, users_then, users);
	expect(test, 0, 1);
	KUNIT_EXPECT_MEMEQ(test, e.into, e.octets, OCTETS);
	disconnect(test, &e);
}

/* A list of two entries, divided at this byte. */
static void send_divided(struct kunit *test, struct ends *e, u32 at)
{
	struct ib_sge sge[] = {
		srnic_test_sge(e->c, e->octets, at),
		srnic_test_sge(e->c, e->octets + at, OCTETS - at),
	};
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
		.sg_list = sge,
		.num_sge = ARRAY_SIZE(sge),
	};

	settle(e);
	post_receive(test, e);
	memset(e->into, 0, OCTETS);
	KUNIT_ASSERT_EQ(test, ib_post_send(&e->pair.qp->base, &wr, NULL), 0);
	expect(test, 1, 1);
	KUNIT_EXPECT_MEMEQ(test, e->into, e->octets, OCTETS);
}

static void entries_of_any_length_may_be_mixed(struct kunit *test)
{
	static const u32 at[] = {
		0, 1, 100, 2047, 2048, 2049, 4095, 4096, 4097, 8192, OCTETS - 1, OCTETS,
	};
	struct ends e = connect_ends(test, true);
	u32 i;

	send_one(test, &e);
	for (i = 0; i < OCTETS; i++)
		e.octets[i] = i * 13 + (i >> 8);
	for (i = 0; i < ARRAY_SIZE(at); i++)
		send_divided(test, &e, at[i]);
	disconnect(test, &e);
}

static int init_without_crcs(struct kunit *test)
{
	int err = srnic_test_conn_init(test);
	struct srnic_test_conn *c = test->priv;

	if (!err)
		c->set.dev->settings.mpa_crc = false;
	return err;
}

static struct kunit_case one_copy_cases[] = {
	KUNIT_CASE(payload_is_copied_once),
	KUNIT_CASE(what_tcp_takes_is_copied_before),
	KUNIT_CASE(entries_of_any_length_may_be_mixed),
	KUNIT_CASE(bytes_reach_a_qp_of_this_host_without_tcp),
	KUNIT_CASE(tcp_takes_what_comes_while_the_receiver_is_busy),
	KUNIT_CASE(tcp_takes_what_comes_behind_its_own),
	KUNIT_CASE(the_rest_of_a_batch_may_go_the_other_way),
	KUNIT_CASE(a_receiver_that_has_stopped_takes_nothing),
	{ }
};

static struct kunit_suite one_copy_suite = {
	.name = "srnic_one_copy",
	.init = init_without_crcs,
	.exit = srnic_test_conn_exit,
	.test_cases = one_copy_cases,
};

static struct kunit_case cases[] = {
	KUNIT_CASE(bytes_reach_a_qp_of_this_host_without_tcp),
	KUNIT_CASE(unless_the_device_allows_it_all_bytes_go_through_tcp),
	KUNIT_CASE(both_ends_have_to_allow_it),
	KUNIT_CASE(ends_whose_numbers_do_not_fit_are_not_of_one_connection),
	KUNIT_CASE(tcp_takes_what_comes_while_the_receiver_is_busy),
	KUNIT_CASE(tcp_takes_what_comes_behind_its_own),
	KUNIT_CASE(the_rest_of_a_batch_may_go_the_other_way),
	KUNIT_CASE(only_a_socket_that_a_qp_receives_from_takes_bytes),
	KUNIT_CASE(a_terminate_takes_the_shortcut_as_well),
	KUNIT_CASE(a_receiver_that_has_stopped_takes_nothing),
	{ }
};

static struct kunit_suite suite = {
	.name = "srnic_shortcut",
	.init = srnic_test_conn_init,
	.exit = srnic_test_conn_exit,
	.test_cases = cases,
};

kunit_test_suites(&suite, &one_copy_suite);
