// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * RFC 7306, FPDU by FPDU: Immediate Data (6) and atomic operations (5) of kernel consumers, and the
 * words of memory that a peer may reach.
 */
#include "stream.h"

/* ---- Immediate Data (RFC 7306 6) ---- */

static void an_inline_write_with_immediate_data_carries_both(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	u8 *octets = octets_for(test);
	struct ib_sge sge = { .addr = (uintptr_t)octets, .length = 20 };
	struct ib_rdma_wr wr = {
		.wr = { .opcode = IB_WR_RDMA_WRITE_WITH_IMM,
			.sg_list = &sge,
			.num_sge = 1,
			.send_flags = IB_SEND_INLINE | IB_SEND_SIGNALED,
			.ex.imm_data = cpu_to_be32(0x01020304) },
		.rkey = 0x88,
	};
	const struct fpdu *fpdu;

	KUNIT_ASSERT_EQ(test, ib_post_send(&s.qp->base, &wr.wr, NULL), 0);
	fpdu = hear(test, &s, CORE_MSG_WRITE);
	KUNIT_EXPECT_EQ(test, fpdu->len, 14 + 20);
	KUNIT_EXPECT_MEMEQ(test, ulpdu(fpdu) + 14, octets, 20);
	fpdu = hear(test, &s, CORE_MSG_IMMEDIATE);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(ulpdu(fpdu) + 18), 0x0102030400000000ULL);
	expect_completion(test, IB_WC_RDMA_WRITE);
	srnic_test_expect_nothing_left(test, c);
}

static void an_empty_send_with_immediate_data_is_these_alone(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	struct ib_sge sge = { .length = 1 };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND_WITH_IMM, .sg_list = &sge, .num_sge = 1,
				 .send_flags = IB_SEND_INLINE | IB_SEND_SIGNALED,
				 .ex.imm_data = cpu_to_be32(7) };
	const struct fpdu *fpdu;

	KUNIT_EXPECT_EQ(test, ib_post_send(&s.qp->base, &wr, NULL), -EOPNOTSUPP);
	sge.length = 0;
	KUNIT_ASSERT_EQ(test, ib_post_send(&s.qp->base, &wr, NULL), 0);
	fpdu = hear(test, &s, CORE_MSG_IMMEDIATE);
	KUNIT_EXPECT_EQ(test, fpdu->len, 18 + 8);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(ulpdu(fpdu) + 18), 7);
	expect_completion(test, IB_WC_SEND);
	srnic_test_expect_nothing_left(test, c);
}

static void immediate_data_complete_a_receive(struct kunit *test)
{
	static const u8 data[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	struct ib_wc wc;

	post_receive(test, &s, octets_for(test));
	say(test, &s, (struct core_tx_msg) {
		.opcode = CORE_MSG_IMMEDIATE, .msn = s.send_msn++, .immediate = data,
	}, NULL);
	wc = srnic_test_next_wc(test);
	KUNIT_EXPECT_EQ(test, wc.status, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RECV_RDMA_WITH_IMM);
	KUNIT_EXPECT_EQ(test, wc.wc_flags, IB_WC_WITH_IMM);
	KUNIT_EXPECT_EQ(test, wc.ex.imm_data, cpu_to_be32(0x01020304));
	KUNIT_EXPECT_EQ(test, wc.byte_len, 0);
	srnic_test_expect_nothing_left(test, c);
}

/* ---- atomic operations (RFC 7306 5) ---- */

static void post_atomic(struct kunit *test, struct stream *s, struct ib_atomic_wr wr,
			struct ib_sge *sge)
{
	wr.wr.sg_list = sge;
	wr.wr.num_sge = 1;
	wr.wr.send_flags = IB_SEND_SIGNALED;
	KUNIT_ASSERT_EQ(test, ib_post_send(&s->qp->base, &wr.wr, NULL), 0);
}

/* RFC 7306 figure 4: the header of the next Atomic Request, whose last operands are these. */
static u32 hear_atomic(struct kunit *test, struct stream *s, u8 code, const u64 operands[4])
{
	const u8 *header = ulpdu(hear(test, s, CORE_MSG_ATOMIC_REQUEST)) + 18;
	u32 i;

	KUNIT_EXPECT_EQ(test, get_unaligned_be32(header), code);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(header + 8), 0x88);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(header + 12), 0x99);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, get_unaligned_be64(header + 20 + 8 * i), operands[i]);
	return get_unaligned_be32(header + 4);
}

static void say_original(struct kunit *test, struct stream *s, u32 msn, u32 id, u64 original)
{
	const struct core_atomic_response response = { .id = id, .original = original };

	say(test, s, (struct core_tx_msg) {
		.opcode = CORE_MSG_ATOMIC_RESPONSE, .msn = msn, .original = &response,
	}, NULL);
}

/* What consumers post, and what becomes of it: add or swap data, mask, compare data, mask. */
static const struct {
	struct ib_atomic_wr wr;
	u8 code;
	u64 operands[4];
	enum ib_wc_opcode wc;
} atomics[] = {
	{ { .wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD, .compare_add = 5 },
	  CORE_ATOMIC_FETCH_ADD, { 5, 0, 0, U64_MAX }, IB_WC_FETCH_ADD },
	{ { .wr.opcode = IB_WR_ATOMIC_CMP_AND_SWP, .compare_add = 5, .swap = 6 },
	  CORE_ATOMIC_CMP_SWAP, { 6, U64_MAX, 5, U64_MAX }, IB_WC_COMP_SWAP },
	{ { .wr.opcode = IB_WR_MASKED_ATOMIC_FETCH_AND_ADD, .compare_add = 5,
	    .compare_add_mask = 0x8000 },
	  CORE_ATOMIC_FETCH_ADD, { 5, 0x8000, 0, U64_MAX }, IB_WC_MASKED_FETCH_ADD },
	{ { .wr.opcode = IB_WR_MASKED_ATOMIC_CMP_AND_SWP, .compare_add = 5, .compare_add_mask = 7,
	    .swap = 6, .swap_mask = 0xf },
	  CORE_ATOMIC_CMP_SWAP, { 6, 0xf, 5, 7 }, IB_WC_MASKED_COMP_SWAP },
};

static void each_atomic_operation_of_a_consumer_has_its_request(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	u64 *into = (u64 *)octets_for(test);
	struct ib_sge sge = sge_of(c, into);
	struct ib_atomic_wr wr;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(atomics); i++) {
		wr = atomics[i].wr;
		wr.rkey = 0x88;
		wr.remote_addr = 0x99;
		into[1] = 1;
		post_atomic(test, &s, wr, &sge);
		say_original(test, &s, i + 1,
			     hear_atomic(test, &s, atomics[i].code, atomics[i].operands),
			     0x1122334455667788);
		expect_completion(test, atomics[i].wc);
		KUNIT_EXPECT_EQ(test, into[0], 0x1122334455667788);
		KUNIT_EXPECT_EQ(test, into[1], 1);
	}
	srnic_test_expect_nothing_left(test, c);
}

/* 5.2.2: the identifier is that of the request. */
static void a_response_to_another_request_ends_the_stream(struct kunit *test)
{
	static const u64 operands[4] = { 0, 0, 0, U64_MAX };
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	u64 *into = (u64 *)octets_for(test);
	struct ib_sge sge = sge_of(c, into);
	u64 before = *into;
	u32 id;

	post_atomic(test, &s, (struct ib_atomic_wr) {
		.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD, .rkey = 0x88, .remote_addr = 0x99,
	}, &sge);
	id = hear_atomic(test, &s, CORE_ATOMIC_FETCH_ADD, operands);
	say_original(test, &s, 1, id ^ 1, 5);
	hear(test, &s, CORE_MSG_TERMINATE);
	KUNIT_EXPECT_EQ(test, srnic_test_next_wc(test).status, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, *into, before);
	srnic_test_expect_nothing_left(test, c);
}

/* RFC 7306 1.1. siw does not know them, and writes its Terminate thus. */
static void an_atomic_operation_that_the_peer_does_not_know_fails_with_that(struct kunit *test)
{
	static const struct core_terminate terms[] = {
		{ .layer = CORE_LAYER_RDMAP, .etype = 2, .code = 6 },
		{ .layer = CORE_LAYER_LLP, .etype = 0, .code = 6 },
	};
	static const u64 operands[4] = { 0, 0, 0, U64_MAX };
	struct srnic_test_conn *c = test->priv;
	u64 *into = (u64 *)octets_for(test);
	struct ib_sge sge = sge_of(c, into);
	struct stream s;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(terms); i++) {
		s = begin(test, c->set.pd);
		post_atomic(test, &s, (struct ib_atomic_wr) {
			.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD, .rkey = 0x88, .remote_addr = 0x99,
		}, &sge);
		hear_atomic(test, &s, CORE_ATOMIC_FETCH_ADD, operands);
		say(test, &s, (struct core_tx_msg) {
			.opcode = CORE_MSG_TERMINATE, .msn = 1, .term = &terms[i],
		}, NULL);
		KUNIT_EXPECT_EQ(test, srnic_test_next_wc(test).status, IB_WC_REM_OP_ERR);
	}
	srnic_test_expect_nothing_left(test, c);
}

/* RFC 5041 8.1: nothing lands in what is no longer registered. */
static void an_original_value_finds_its_buffer_gone(struct kunit *test)
{
	static const u64 operands[4] = { 0, 0, 0, U64_MAX };
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	struct srnic_test_mr *mr = region_of(test, c->set.pd, &s);
	const struct core_revoker revoker = srnic_qp_revoker(s.qp, mr->base->rkey, false);
	struct ib_sge sge = { .addr = mr->base->iova, .length = 8, .lkey = mr->base->lkey };
	u32 id;

	post_atomic(test, &s, (struct ib_atomic_wr) {
		.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD, .rkey = 0x88, .remote_addr = 0x99,
	}, &sge);
	id = hear_atomic(test, &s, CORE_ATOMIC_FETCH_ADD, operands);
	KUNIT_ASSERT_EQ(test, srnic_mr_invalidate(c->set.dev, &revoker), 0);
	say_original(test, &s, 1, id, 0x1122334455667788);
	hear(test, &s, CORE_MSG_TERMINATE);
	KUNIT_EXPECT_EQ(test, srnic_test_next_wc(test).status, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_NULL(test, memchr_inv(memory_of(mr), 0, OCTETS));
	srnic_test_expect_nothing_left(test, c);
}

static void say_atomic(struct kunit *test, struct stream *s, u32 id, u32 stag, u64 to)
{
	const struct core_atomic_request request = {
		.id = id, .stag = stag, .to = to,
		.op = { .code = CORE_ATOMIC_FETCH_ADD, .data = 3 },
	};

	say(test, s, (struct core_tx_msg) {
		.opcode = CORE_MSG_ATOMIC_REQUEST, .msn = s->read_msn++, .atomic = &request,
	}, NULL);
}

/* Also words at the two sides of a page's end, and across the wrap of MSNs (RFC 5041 4.3). */
static void a_peer_adds_to_words_of_a_region(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	struct srnic_test_mr *mr = region_of(test, c->set.pd, &s);
	const u32 first = PAGE_SIZE - SRNIC_TEST_OFFSET - 8;
	const u8 *response;
	u64 *word;
	u32 i;

	age(&s, 0xfffffffe);
	for (i = 0; i < 4; i++) {
		word = i % 2 ? (u64 *)mr->page[1] : (u64 *)(mr->page[0] + PAGE_SIZE - 8);
		*word = 1000 * i;
		say_atomic(test, &s, 0x4567 + i, mr->base->rkey,
			   mr->base->iova + first + 8 * (i % 2));
		response = ulpdu(hear(test, &s, CORE_MSG_ATOMIC_RESPONSE));
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(response + 6), 3);	/* queue number */
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(response + 10), 0xfffffffe + i);
		KUNIT_EXPECT_EQ(test, get_unaligned_be32(response + 18), 0x4567 + i);
		KUNIT_EXPECT_EQ(test, get_unaligned_be64(response + 22), 1000 * i);
		KUNIT_EXPECT_EQ(test, *word, 1000 * i + 3);
	}
	srnic_test_expect_nothing_left(test, c);
}

/* 8.2: in memory, where the region begins at an odd half of a word. */
static void no_word_is_misaligned_or_half_outside(struct kunit *test)
{
	static const u32 odd[] = { 0, 3, 5 }, before_end[] = { 1, 4, 7 };
	struct srnic_test_conn *c = test->priv;
	struct stream s;
	struct srnic_test_mr *mr;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		s = begin(test, c->set.pd);
		mr = region_of(test, c->set.pd, &s);
		say_atomic(test, &s, 1, mr->base->rkey, mr->base->iova + odd[i]);
		hear_terminate(test, &s, CORE_LAYER_RDMAP, 2, 7);
		KUNIT_EXPECT_NULL(test, memchr_inv(memory_of(mr), 0, OCTETS));

		s = begin(test, c->set.pd);
		mr = region_of(test, c->set.pd, &s);
		say_atomic(test, &s, 1, mr->base->rkey,
			   mr->base->iova + mr->base->length - before_end[i]);
		hear_terminate(test, &s, CORE_LAYER_RDMAP, 1, 1);
	}
	srnic_test_expect_nothing_left(test, c);
}

/* What is registered without the right to atomic operations may still be written to. */
static void an_atomic_operation_needs_its_own_right(struct kunit *test)
{
	struct srnic_test_conn *c = test->priv;
	struct stream s = begin(test, c->set.pd);
	struct srnic_test_mr *mr = srnic_test_mr(test, c->set.pd);

	ib_update_fast_reg_key(mr->base, mr->base->rkey + 1);
	KUNIT_ASSERT_EQ(test,
			srnic_mr_register(s.qp->dev, mr->mr, s.qp->pd, s.qp->base.qp_num,
					  mr->base->rkey,
					  CORE_ACCESS_LOCAL_WRITE | CORE_ACCESS_REMOTE_WRITE |
						  CORE_ACCESS_REMOTE_READ),
			0);
	say_atomic(test, &s, 1, mr->base->rkey, mr->base->iova);
	hear_terminate(test, &s, CORE_LAYER_RDMAP, 1, 2);
	KUNIT_EXPECT_NULL(test, memchr_inv(memory_of(mr), 0, OCTETS));
	srnic_test_expect_nothing_left(test, c);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(an_inline_write_with_immediate_data_carries_both),
	KUNIT_CASE(an_empty_send_with_immediate_data_is_these_alone),
	KUNIT_CASE(immediate_data_complete_a_receive),
	KUNIT_CASE(each_atomic_operation_of_a_consumer_has_its_request),
	KUNIT_CASE(a_response_to_another_request_ends_the_stream),
	KUNIT_CASE(an_atomic_operation_that_the_peer_does_not_know_fails_with_that),
	KUNIT_CASE(an_original_value_finds_its_buffer_gone),
	KUNIT_CASE(a_peer_adds_to_words_of_a_region),
	KUNIT_CASE(no_word_is_misaligned_or_half_outside),
	KUNIT_CASE(an_atomic_operation_needs_its_own_right),
	{ }
};

static struct kunit_suite suite = {
	.name = "srnic_extension",
	.init = srnic_test_conn_init,
	.exit = srnic_test_conn_exit,
	.test_cases = cases,
};

kunit_test_suite(suite);
