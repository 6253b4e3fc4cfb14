// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Kept payload (stream/transmit/kept.h; Documentation/ib.rst rule 117): TCP has it from its pages
 * until the peer acknowledges it, and no longer. The peer is a socket of the suite's, which takes
 * little at once.
 */
#include <net/tcp.h>

#include "compat/sock.h"
#include "owned_ends.h"
#include "stream/state.h"
#include "stream/transmit/batch.h"
#include "stream/transmit/kept.h"

#define LENGTH		65536U	/* of a request's payload */
#define REQUESTS	7
#define WINDOW		32768	/* octets of the peer's receive buffer */
#define SEND_BUFFER	(2 * LENGTH)
#define AS_SENT		0xa5
#define LATER		0x5a

/* octets: the payload of all requests; into: what the peer has read last */
struct kept {
	struct ends *e;
	struct socket *peer;
	u8 *octets, *into;
	int users;
};

/* ---- the stream ---- */

static int users_of(const struct kept *k)
{
	return page_ref_count(virt_to_head_page(k->octets));
}

/* Some requests fill it: the engine's batch keeps what it does not take. */
static void bound_send_buffer(struct sock *sk)
{
	sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	WRITE_ONCE(sk->sk_sndbuf, SEND_BUFFER);
}

static struct kept *begin_with(struct kunit *test, bool crc, bool user)
{
	struct kept *k = kunit_kzalloc(test, sizeof(*k), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, k);
	if (!SRNIC_COMPAT_SPLICE)
		kunit_skip(test, "before Linux 6.5 TCP copies all that it gets");
	k->octets = srnic_test_pages(test, LENGTH);
	k->into = srnic_test_pages(test, LENGTH);
	k->users = users_of(k);
	memset(k->octets, AS_SENT, LENGTH);
	k->e = make_owned_ends_with(test, WINDOW);
	k->peer = k->e->b.owner->sock;
	k->peer->sk->sk_rcvtimeo = HZ;
	bound_send_buffer(k->e->a.owner->sock->sk);
	k->e->a.qp->user = user;
	start_with(test, &k->e->a, true, crc);
	return k;
}

static struct kept *begin(struct kunit *test)
{
	return begin_with(test, false, false);
}

static struct srnic_qp *qp_of(struct kept *k)
{
	return k->e->a.qp;
}

static void post(struct kunit *test, struct kept *k, u32 at)
{
	struct ib_sge sge = memory_of(k->e, k->octets + at, LENGTH - at);
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
				 .sg_list = &sge, .num_sge = 1 };

	KUNIT_ASSERT_EQ(test, ib_post_send(&qp_of(k)->base, &wr, NULL), 0);
}

static bool is_built(struct kept *k, u32 requests)
{
	return READ_ONCE(qp_of(k)->acks->core.begun) >= requests;
}

/* More than TCP takes: some of it stays in the engine's batch. */
static void post_all(struct kunit *test, struct kept *k)
{
	struct srnic_tx *tx = &qp_of(k)->tx;

	for (int n = 0; n < REQUESTS; n++)
		post(test, k, 0);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(READ_ONCE(tx->batch->num_borrowed)));
}

/* ---- the peer ---- */

static void say_ack(struct kunit *test, struct kept *k, u32 delivered, u8 syndrome)
{
	const struct core_ack ack = { .delivered = delivered, .syndrome = syndrome };
	struct core_tx_msg msg = { .opcode = CORE_MSG_ACK, .msn = 1, .ack = &ack };
	u8 octets[CORE_ACK_FPDU];
	struct kvec vec = { .iov_base = octets };
	struct core_fpdu fpdu;
	struct msghdr m = { };

	core_fpdu_init(&fpdu, false, false);
	vec.iov_len = core_fpdu_build(&fpdu, &msg, 1024, NULL, octets);
	KUNIT_ASSERT_EQ(test, kernel_sendmsg(k->peer, &m, &vec, 1, vec.iov_len), vec.iov_len);
}

/* Up to `most` octets that come within a second; adds those of the payload, as it was and later. */
static u32 hear(struct kept *k, u32 most, u32 *as_sent, u32 *later)
{
	struct kvec vec = { .iov_base = k->into, .iov_len = min(most, LENGTH) };
	struct msghdr msg = { };
	int got = kernel_recvmsg(k->peer, &msg, &vec, 1, vec.iov_len, 0);

	for (int n = 0; n < got; n++) {
		*as_sent += k->into[n] == AS_SENT;
		*later += k->into[n] == LATER;
	}
	return max(got, 0);
}

static void skip(struct kunit *test, struct kept *k, u32 octets)
{
	u32 as_sent = 0, later = 0, got;

	for (; octets; octets -= got) {
		got = hear(k, octets, &as_sent, &later);
		KUNIT_ASSERT_GT(test, got, 0);
	}
}

/* What the peer's TCP has, and nobody has read: on one host it is in the sender's pages. */
static u32 unread(struct kept *k)
{
	const struct tcp_sock *tp = tcp_sk(k->peer->sk);

	return READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq);
}

/* No owner changes what the peer has not got yet. Headers and Acks have a few such octets. */
static void expect_the_rest_as_sent(struct kunit *test, struct kept *k)
{
	u32 as_sent = 0, later = 0;

	memset(k->octets, LATER, LENGTH);
	skip(test, k, unread(k));
	while (hear(k, LENGTH, &as_sent, &later))
		;
	KUNIT_EXPECT_GT(test, as_sent, LENGTH / 8);
	KUNIT_EXPECT_LT(test, later, 64);
}

/* ---- cases ---- */

/* 117: but for little pieces. An FPDU takes a bit less than the payload. */
static void payload_stays_in_its_place(struct kunit *test)
{
	struct kept *k = begin(test);
	u64 copied = srnic_counted(k->e->dev, SRNIC_TX_COPIED);

	post(test, k, 0);
	KUNIT_EXPECT_TRUE(test, srnic_test_eventually(users_of(k) > k->users));
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(READ_ONCE(qp_of(k)->acks->core.whole) == 1));
	KUNIT_EXPECT_LT(test, srnic_counted(k->e->dev, SRNIC_TX_COPIED), copied + 2048);
	KUNIT_EXPECT_TRUE(test, srnic_test_empty(k->e->a.cq));
}

/* 117, 13: the Ack lets it go. */
static void an_acknowledged_request_needs_its_pages_no_more(struct kunit *test)
{
	struct kept *k = begin(test);

	post(test, k, 0);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(is_built(k, 1)));
	skip(test, k, CORE_ACK_FPDU + LENGTH);
	say_ack(test, k, 1, CORE_SYNDROME_NONE);
	expect(test, &k->e->a, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, READ_ONCE(qp_of(k)->sock->sk->sk_wmem_queued), 0);
}

/* Entries that begin and end anywhere in a page. */
static void payload_arrives_as_it_was_sent(struct kunit *test)
{
	static const u32 at[REQUESTS] = {
		0, 1, 4095, 4096, LENGTH - 2048, LENGTH - 2047, LENGTH - 1,
	};
	struct kept *k = begin(test);

	skip(test, k, CORE_ACK_FPDU);
	for (u32 n = 0; n < REQUESTS; n++) {
		u32 as_sent = 0, later = 0, octets = LENGTH - at[n];

		post(test, k, at[n]);
		while (as_sent < octets && hear(k, LENGTH, &as_sent, &later))
			;
		KUNIT_EXPECT_EQ(test, as_sent, octets);
	}
}

static void the_qp_fails(struct kunit *test, struct kept *k)
{
	srnic_qp_fail(qp_of(k));
}

static void the_qp_is_stopped(struct kunit *test, struct kept *k)
{
	srnic_qp_stop(qp_of(k), &k->e->a.owner->base);
}

static void the_peer_refuses(struct kunit *test, struct kept *k)
{
	say_ack(test, k, 0, CORE_SYNDROME_ACCESS);
}

static void the_peer_breaks_a_rule(struct kunit *test, struct kept *k)
{
	say_ack(test, k, REQUESTS + 1, CORE_SYNDROME_NONE);
}

/* 117: a request that was not acknowledged completes, and its owner has other things there. */
static void end_by(struct kunit *test, enum ib_wc_status first,
		   void (*end)(struct kunit *test, struct kept *k))
{
	struct kept *k = begin(test);

	post_all(test, k);
	end(test, k);
	expect(test, &k->e->a, first);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(qp_of(k)->acks->kept.ended));
	expect(test, &k->e->a, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, qp_of(k)->tx.batch->num_borrowed, 0);
	expect_the_rest_as_sent(test, k);
}

static void what_is_flushed_is_sent_as_it_was(struct kunit *test)
{
	end_by(test, IB_WC_WR_FLUSH_ERR, the_qp_fails);
}

static void what_a_stopped_qp_leaves_is_sent_as_it_was(struct kunit *test)
{
	end_by(test, IB_WC_WR_FLUSH_ERR, the_qp_is_stopped);
}

static void what_is_refused_is_sent_as_it_was(struct kunit *test)
{
	end_by(test, IB_WC_REM_ACCESS_ERR, the_peer_refuses);
}

static void what_a_terminate_flushes_is_sent_as_it_was(struct kunit *test)
{
	end_by(test, IB_WC_WR_FLUSH_ERR, the_peer_breaks_a_rule);
}

/* 28: nobody acknowledges anything. */
static void what_is_overdue_is_sent_as_it_was(struct kunit *test)
{
	struct kept *k = begin(test);

	WRITE_ONCE(qp_of(k)->ack_timeout, 1);
	post_all(test, k);
	expect(test, &k->e->a, IB_WC_RETRY_EXC_ERR);
	expect_the_rest_as_sent(test, k);
}

/*
 * 117, 18: a peer that does not read says that it has done all. Its TCP has not even taken the last
 * octet, so the request must not complete.
 */
static void an_ack_before_tcp_has_delivered_is_refused(struct kunit *test)
{
	struct kept *k = begin(test);

	post(test, k, 0);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(READ_ONCE(qp_of(k)->acks->core.whole) == 1));
	say_ack(test, k, 1, CORE_SYNDROME_NONE);
	expect(test, &k->e->a, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, srnic_end_of(qp_of(k)->end), SRNIC_END_ERROR);
	KUNIT_EXPECT_EQ(test, srnic_end_detail(qp_of(k)->end), 0x0210);
}

/*
 * A buffer that somebody else has cannot be copied: as without memory, the connection is reset. TCP
 * frees its buffers whoever else has them.
 */
static void what_cannot_be_copied_is_not_sent(struct kunit *test)
{
	struct kept *k = begin(test);
	struct sock *sk = qp_of(k)->sock->sk;
	struct sk_buff *shared;

	post_all(test, k);
	lock_sock(sk);
	shared = tcp_rtx_queue_head(sk) ?: skb_peek(&sk->sk_write_queue);
	if (shared)
		skb_get(shared);
	release_sock(sk);
	KUNIT_ASSERT_NOT_NULL(test, shared);
	srnic_qp_fail(qp_of(k));
	expect(test, &k->e->a, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, READ_ONCE(sk->sk_state), TCP_CLOSE);
	KUNIT_EXPECT_EQ(test, READ_ONCE(sk->sk_wmem_queued), 0);
}

static void expect_nothing_kept(struct kunit *test, bool crc, bool user)
{
	struct kept *k = begin_with(test, crc, user);

	KUNIT_EXPECT_FALSE(test, srnic_kept_wanted(qp_of(k)));
	qp_of(k)->user = false;
	post(test, k, 0);
	KUNIT_ASSERT_TRUE(test, srnic_test_eventually(is_built(k, 1)));
	KUNIT_EXPECT_EQ(test, users_of(k), k->users);
}

/* The CRC is to be that of what is sent. */
static void with_crcs_nothing_is_kept(struct kunit *test)
{
	expect_nothing_kept(test, true, false);
}

/* 117: a peer might get what it puts there later. */
static void nothing_of_a_program_is_kept(struct kunit *test)
{
	expect_nothing_kept(test, false, true);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(payload_stays_in_its_place),
	KUNIT_CASE(an_acknowledged_request_needs_its_pages_no_more),
	KUNIT_CASE(payload_arrives_as_it_was_sent),
	KUNIT_CASE(what_is_flushed_is_sent_as_it_was),
	KUNIT_CASE(what_a_stopped_qp_leaves_is_sent_as_it_was),
	KUNIT_CASE(what_is_refused_is_sent_as_it_was),
	KUNIT_CASE(what_a_terminate_flushes_is_sent_as_it_was),
	KUNIT_CASE(what_is_overdue_is_sent_as_it_was),
	KUNIT_CASE(an_ack_before_tcp_has_delivered_is_refused),
	KUNIT_CASE(what_cannot_be_copied_is_not_sent),
	KUNIT_CASE(with_crcs_nothing_is_kept),
	KUNIT_CASE(nothing_of_a_program_is_kept),
	{ }
};

static struct kunit_suite suite = { .name = "srnic_kept", .test_cases = cases };

kunit_test_suite(suite);
