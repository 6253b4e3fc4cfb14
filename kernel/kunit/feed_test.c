// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Streams that come in runs of memory (stream/receive/feed.c), with CRCs and without: what lands,
 * and what does not, is the same wherever the runs end.
 */
#include <net/sock.h>

#include "stream.h"
#include "stream/receive/receive.h"

#define PAYLOAD		9000U		/* of a long FPDU: a region's pages end in it twice */
#define ROOM		(PAYLOAD + 256)	/* for what a case sends */

/* A stream, the region that its peer names, and octets that are to come. */
struct long_stream {
	struct stream s;
	struct srnic_test_mr *mr;
	u8 *payload;
	u8 *octets;
	u32 len;
	bool crc;
};

static void restart(struct stream *s, bool crc)
{
	struct srnic_qp *qp = s->qp;

	lock_sock(qp->sock->sk);
	core_rx_init(&qp->rx.core, &(struct core_rx_params) {
		.ctx = qp, .pd = qp->pd, .first_msn = CORE_FIRST_MSN, .crc = crc,
	});
	release_sock(qp->sock->sk);
}

static struct long_stream make(struct kunit *test, bool crc)
{
	struct srnic_test_conn *c = test->priv;
	struct long_stream l = { .s = begin(test, c->set.pd), .crc = crc };

	l.mr = region_of(test, c->set.pd, &l.s);
	l.payload = srnic_test_pages(test, PAYLOAD);
	l.octets = srnic_test_pages(test, ROOM);
	get_random_bytes(l.payload, PAYLOAD);
	restart(&l.s, crc);
	return l;
}

static void add(struct kunit *test, struct long_stream *l, struct core_tx_msg msg)
{
	struct core_fpdu builder;

	core_fpdu_init(&builder, l->crc, false);
	l->len += core_fpdu_build(&builder, &msg, U16_MAX, l->payload, l->octets + l->len);
	KUNIT_ASSERT_TRUE(test, msg.done);
	KUNIT_ASSERT_LE(test, l->len, ROOM);
}

static void add_write(struct kunit *test, struct long_stream *l, u32 offset, u32 len)
{
	add(test, l, (struct core_tx_msg) {
		.opcode = CORE_MSG_WRITE, .length = len, .stag = l->mr->base->rkey,
		.to = l->mr->base->iova + offset,
	});
}

static void add_send(struct kunit *test, struct long_stream *l, u32 len)
{
	add(test, l, (struct core_tx_msg) {
		.opcode = CORE_MSG_SEND, .length = len, .msn = l->s.send_msn++,
	});
}

/* These octets come in one piece of the stream, in runs of this size. */
static void give(struct kunit *test, struct long_stream *l, u32 from, u32 to, u32 size)
{
	u32 num = DIV_ROUND_UP(to - from, size);
	struct bio_vec *vec = kvcalloc(num, sizeof(*vec), GFP_KERNEL);
	struct sock *sk = l->s.qp->sock->sk;

	KUNIT_ASSERT_NOT_NULL(test, vec);
	for (u32 i = 0; i < num; i++, from += size)
		vec[i] = (struct bio_vec) {
			.bv_page = virt_to_page(l->octets + from),
			.bv_offset = offset_in_page(l->octets + from),
			.bv_len = min(size, to - from),
		};
	lock_sock(sk);
	local_bh_disable();
	srnic_rx_take(l->s.qp, sk, vec, num);
	local_bh_enable();
	release_sock(sk);
	kvfree(vec);
}

static void give_all(struct kunit *test, struct long_stream *l, u32 size)
{
	give(test, l, 0, l->len, size);
	l->len = 0;
}

static u8 octet_of(const struct long_stream *l, u32 i)
{
	i += SRNIC_TEST_OFFSET;
	return l->mr->page[i / PAGE_SIZE][i % PAGE_SIZE];
}

/* So many octets at this offset of the region are the payload's first. */
static bool has(const struct long_stream *l, u32 offset, u32 len)
{
	for (u32 i = 0; i < len; i++) {
		if (octet_of(l, offset + i) != l->payload[i])
			return false;
	}
	return true;
}

static bool is_clear(const struct long_stream *l, u32 offset, u32 end)
{
	while (offset < end) {
		if (octet_of(l, offset++))
			return false;
	}
	return true;
}

static void clear(const struct long_stream *l)
{
	for (u32 i = 0; i < SRNIC_TEST_PAGES; i++)
		memset(l->mr->page[i], 0, PAGE_SIZE);
}

static void finish(struct kunit *test)
{
	srnic_test_expect_nothing_left(test, test->priv);
}

/* ---- what lands ---- */

static const u32 sizes[] = { 1, 2, 3, 7, 64, 577, 1448, 4096, 8999, ROOM };

static void write_in_runs(struct kunit *test, bool crc)
{
	struct long_stream l = make(test, crc);

	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		clear(&l);
		add_write(test, &l, 1, PAYLOAD);
		give_all(test, &l, sizes[i]);
		KUNIT_EXPECT_TRUE_MSG(test, has(&l, 1, PAYLOAD), "runs of %u", sizes[i]);
		KUNIT_EXPECT_TRUE(test, is_clear(&l, 0, 1));
		KUNIT_EXPECT_TRUE(test, is_clear(&l, PAYLOAD + 1, 2 * PAYLOAD));
	}
	KUNIT_EXPECT_EQ(test, core_rx_fpdus(&l.s.qp->rx.core), ARRAY_SIZE(sizes));
	finish(test);
}

static void a_write_lands_in_whatever_runs_it_comes(struct kunit *test)
{
	write_in_runs(test, true);
}

static void a_write_without_crc_lands_in_whatever_runs_it_comes(struct kunit *test)
{
	write_in_runs(test, false);
}

/* TCP gives it in two pieces. */
static void a_write_lands_wherever_it_is_cut(struct kunit *test)
{
	struct long_stream l = make(test, true);

	for (u32 cut = 1; cut < PAYLOAD; cut += cut < 40 ? 1 : 311) {
		clear(&l);
		add_write(test, &l, 0, PAYLOAD);
		give(test, &l, 0, cut, 700);
		give(test, &l, cut, l.len, 700);
		l.len = 0;
		KUNIT_EXPECT_TRUE_MSG(test, has(&l, 0, PAYLOAD), "cut after %u", cut);
	}
	finish(test);
}

static void fpdus_that_share_runs_are_told_apart(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct long_stream l = make(test, true);
	u8 *into = octets_for(test);

	for (u32 size = 100; size < 1500; size += 100) {
		clear(&l);
		post_receive(test, &l.s, into);
		add_write(test, &l, 0, 3000);
		add_send(test, &l, OCTETS);
		add_write(test, &l, 4000, 3000);
		give_all(test, &l, size);
		expect_completion(test, IB_WC_RECV);
		KUNIT_EXPECT_MEMEQ(test, into, l.payload, OCTETS);
		KUNIT_EXPECT_TRUE(test, has(&l, 0, 3000) && has(&l, 4000, 3000));
		KUNIT_EXPECT_TRUE(test, is_clear(&l, 3000, 4000));
	}
	srnic_test_expect_nothing_left(test, c);
}

#define FIRST	2345U	/* octets of a list's first entry, which ends in a run */

/* The second entry is at the start of this memory, the first one behind it. */
static void a_list(struct kunit *test, u8 *into, struct ib_sge list[2])
{
	list[0] = srnic_test_sge(test->priv, into + PAYLOAD - FIRST, FIRST);
	list[1] = srnic_test_sge(test->priv, into, PAYLOAD - FIRST);
}

static void expect_in_list(struct kunit *test, const u8 *into, const u8 *payload)
{
	KUNIT_EXPECT_MEMEQ(test, into + PAYLOAD - FIRST, payload, FIRST);
	KUNIT_EXPECT_MEMEQ(test, into, payload + FIRST, PAYLOAD - FIRST);
	KUNIT_EXPECT_EQ(test, into[PAYLOAD], 0);
}

static void a_send_lands_in_its_list(struct kunit *test)
{
	struct long_stream l = make(test, true);
	u8 *into = srnic_test_pages(test, ROOM);
	struct ib_sge list[2];
	struct ib_recv_wr wr = { .sg_list = list, .num_sge = 2 };

	a_list(test, into, list);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		memset(into, 0, ROOM);
		KUNIT_ASSERT_EQ(test, ib_post_recv(&l.s.qp->base, &wr, NULL), 0);
		add_send(test, &l, PAYLOAD);
		give_all(test, &l, sizes[i]);
		expect_completion(test, IB_WC_RECV);
		expect_in_list(test, into, l.payload);
	}
	finish(test);
}

static void a_response_lands_in_its_list(struct kunit *test)
{
	struct long_stream l = make(test, true);
	u8 *into = srnic_test_pages(test, ROOM);
	struct ib_sge list[2];

	a_list(test, into, list);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		memset(into, 0, ROOM);
		post_list(test, &l.s, IB_WR_RDMA_READ, list, 2);
		add(test, &l, (struct core_tx_msg) {
			.opcode = CORE_MSG_READ_RESPONSE, .length = PAYLOAD,
			.stag = sink_of(hear(test, &l.s, CORE_MSG_READ_REQUEST)),
		});
		give_all(test, &l, sizes[i]);
		expect_completion(test, IB_WC_RDMA_READ);
		expect_in_list(test, into, l.payload);
	}
	finish(test);
}

/* ---- what does not ---- */

/* RFC 5044 8: the CRC covers all runs, in their order. */
static void an_octet_that_changed_in_any_run_is_found(struct kunit *test)
{
	for (u32 at = 20; at < PAYLOAD; at += 1900) {
		struct long_stream l = make(test, true);

		add_write(test, &l, 0, PAYLOAD);
		l.octets[at] ^= 4;
		give_all(test, &l, 1000);
		hear_terminate(test, &l.s, CORE_LAYER_LLP, 0, 2);
	}
	finish(test);
}

/* RFC 5041 7.1: the region goes between two pieces. */
static void nothing_lands_in_a_region_that_is_gone(struct kunit *test)
{
	struct long_stream l = make(test, true);
	struct srnic_qp *qp = l.s.qp;
	const struct core_revoker revoker = {
		.stag = l.mr->base->rkey, .pd = qp->pd, .qpn = qp->base.qp_num,
	};

	add_write(test, &l, 0, PAYLOAD);
	give(test, &l, 0, 4000, 500);
	KUNIT_ASSERT_EQ(test, srnic_mr_invalidate(qp->dev, &revoker), CORE_REGION_OK);
	give(test, &l, 4000, l.len, 500);
	hear_terminate(test, &l.s, CORE_LAYER_DDP, 1, 0);
	KUNIT_EXPECT_TRUE(test, has(&l, 0, 3900));
	KUNIT_EXPECT_TRUE(test, is_clear(&l, 4000, PAYLOAD));
	finish(test);
}

/* RFC 5041 7.1: the base or bounds violation is found before anything lands. */
static void nothing_lands_of_a_write_that_ends_outside(struct kunit *test)
{
	struct long_stream l = make(test, true);
	const u32 end = SRNIC_TEST_PAGES * PAGE_SIZE - SRNIC_TEST_OFFSET;

	add_write(test, &l, end - PAYLOAD + 1, PAYLOAD);
	give_all(test, &l, 1000);
	hear_terminate(test, &l.s, CORE_LAYER_DDP, 1, 1);
	KUNIT_EXPECT_TRUE(test, is_clear(&l, 0, end));
	finish(test);
}

/* RFC 5040 figure 9: memory of this end's own that cannot be written is no error of the peer's. */
static void a_receive_with_foreign_memory_fails(struct kunit *test)
{
	struct long_stream l = make(test, true);
	u8 *into = srnic_test_pages(test, ROOM);
	struct ib_sge list[2];
	struct ib_recv_wr wr = { .sg_list = list, .num_sge = 2 };

	a_list(test, into, list);
	list[1].lkey = 0x99;
	KUNIT_ASSERT_EQ(test, ib_post_recv(&l.s.qp->base, &wr, NULL), 0);
	add_send(test, &l, PAYLOAD);
	give_all(test, &l, 1000);
	hear_terminate(test, &l.s, CORE_LAYER_RDMAP, 0, 0);
	KUNIT_EXPECT_EQ(test, srnic_test_next_wc(test).status, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_NULL(test, memchr_inv(into, 0, PAYLOAD - FIRST));
	finish(test);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_write_lands_in_whatever_runs_it_comes),
	KUNIT_CASE(a_write_without_crc_lands_in_whatever_runs_it_comes),
	KUNIT_CASE(a_write_lands_wherever_it_is_cut),
	KUNIT_CASE(fpdus_that_share_runs_are_told_apart),
	KUNIT_CASE(a_send_lands_in_its_list),
	KUNIT_CASE(a_response_lands_in_its_list),
	KUNIT_CASE(an_octet_that_changed_in_any_run_is_found),
	KUNIT_CASE(nothing_lands_in_a_region_that_is_gone),
	KUNIT_CASE(nothing_lands_of_a_write_that_ends_outside),
	KUNIT_CASE(a_receive_with_foreign_memory_fails),
	{ }
};

static struct kunit_suite suite = {
	.name = "srnic_feed",
	.init = srnic_test_conn_init,
	.exit = srnic_test_conn_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
