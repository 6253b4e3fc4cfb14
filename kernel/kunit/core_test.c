// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The protocol core as built into the kernel: CRC32C (RFC 3720 B.4), MPA startup frames (RFC 5044
 * 7.1, RFC 6581), one message of every RDMAP opcode, framed for transmit and parsed again, STags.
 */
#include <linux/crc32c.h>
#ifdef CONFIG_X86_64
#include <asm/fpu/api.h>
#endif

#include "compat/unaligned.h"
#include "fixture.h"
#include "memory/crc.h"

/* ---- CRC32C ---- */

typedef u32 (*crc_fn)(u32 crc, const void *data, u64 len);

static u32 kernels_crc(u32 crc, const void *data, u64 len)
{
	return crc32c(crc, data, len);
}

static const u8 read_10_pdu[48] = {
	0x01, 0xc0, [16] = 0x14, [22] = 0x04, [27] = 0x14, [31] = 0x18, 0x28, [40] = 0x02,
};

static void expect_field(struct kunit *test, crc_fn crc, const void *data, u32 len, u32 wire)
{
	u8 field[4];

	core_crc_field(crc(CORE_CRC_SEED, data, len), field);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(field), wire);
}

/*
 * The octets of the CRC in wire order, as RFC 3720 B.4 prints them.
 */
static void expect_rfc3720(struct kunit *test, crc_fn crc)
{
	u8 zeros[32] = { }, ones[32], up[32], down[32];
	u32 i;

	memset(ones, 0xff, sizeof(ones));
	for (i = 0; i < 32; i++) {
		up[i] = i;
		down[i] = 31 - i;
	}
	expect_field(test, crc, zeros, 32, 0xaa36918a);
	expect_field(test, crc, ones, 32, 0x43aba862);
	expect_field(test, crc, up, 32, 0x4e79dd46);
	expect_field(test, crc, down, 32, 0x5cdb3f11);
	expect_field(test, crc, read_10_pdu, 48, 0x563a96d9);
}

static void the_kernels_crc32c_gives_rfc3720s_values(struct kunit *test)
{
	expect_rfc3720(test, kernels_crc);
}

static void the_tables_give_rfc3720s_values(struct kunit *test)
{
	expect_rfc3720(test, core_crc32c_table);
}

static void what_was_chosen_at_load_gives_rfc3720s_values(struct kunit *test)
{
	expect_rfc3720(test, core_host_crc32c);
	KUNIT_ASSERT_EQ(test, srnic_crc_init(), 0);	/* chooses again */
	expect_rfc3720(test, core_host_crc32c);
}

static void all_agree_at_every_length_alignment_and_split(struct kunit *test)
{
	u8 *data = kunit_kmalloc(test, 600, GFP_KERNEL);
	u32 at, len, bad = 0;

	KUNIT_ASSERT_NOT_NULL(test, data);
	get_random_bytes(data, 600);
	for (at = 0; at < 16; at++)
		for (len = 0; len < 580; len++) {
			u32 whole = crc32c(CORE_CRC_SEED, data + at, len),
			    split = len * 7 % (len + 1);

			bad += core_host_crc32c(CORE_CRC_SEED, data + at, len) != whole;
			bad += core_crc32c_table(CORE_CRC_SEED, data + at, len) != whole;
			bad += core_crc32c_table(core_crc32c_table(CORE_CRC_SEED, data + at, split),
						  data + at + split, len - split) != whole;
		}
	KUNIT_EXPECT_EQ(test, bad, 0);
}

struct copies {
	u8 from[SZ_16K], to[SZ_16K];
};

static bool copy_is_summed(struct copies *c, u32 len, bool into_own, bool many)
{
	u32 crc = CORE_CRC_SEED;

	memset(c->to, 0, sizeof(c->to));
	srnic_crc32c_copy(&crc, c->to, c->from, len, into_own, many);
	return crc == crc32c(CORE_CRC_SEED, c->from, len) && !memcmp(c->from, c->to, len) &&
	       !memchr_inv(c->to + len, 0, sizeof(c->to) - len);
}

static u32 copies_not_summed(struct copies *c)
{
	static const u32 lengths[] = { 0, 1, 1343, 1344, 1345, 4095, 4096, 4097, 5449, SZ_16K };
	u32 bad = 0;

	for (u32 i = 0; i < ARRAY_SIZE(lengths); i++)
		for (u32 way = 0; way < 4; way++)
			bad += !copy_is_summed(c, lengths[i], way & 1, way & 2);
	return bad;
}

static void copies_are_summed_by_each_way(struct kunit *test)
{
	struct copies *c = kunit_kmalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	get_random_bytes(c->from, sizeof(c->from));
	KUNIT_EXPECT_EQ(test, copies_not_summed(c), 0);
}

#ifdef CONFIG_X86_64
/* A softirq over somebody else's use. */
static void copies_are_summed_while_the_registers_are_in_use(struct kunit *test)
{
	struct copies *c = kunit_kmalloc(test, sizeof(*c), GFP_KERNEL);
	u32 bad;

	KUNIT_ASSERT_NOT_NULL(test, c);
	get_random_bytes(c->from, sizeof(c->from));
	kernel_fpu_begin();
	bad = copies_not_summed(c);
	kernel_fpu_end();
	KUNIT_EXPECT_EQ(test, bad, 0);
}
#endif

/* ---- MPA startup frames ---- */

static const struct core_startup_local both_ends = {
	.ird = 4, .ord = 6, .max_ird = 128, .crc = 1, .revision = 2, .p2p = 1, .rtr = CORE_RTR_ALL,
};

static void expect_round_trip(struct kunit *test, const struct core_mpa_frame *frame)
{
	u8 octets[CORE_MPA_HEADER + CORE_MPA_ENHANCED];
	struct core_mpa_frame back = { };

	KUNIT_EXPECT_EQ(test, core_mpa_build(frame, octets),
			CORE_MPA_HEADER + (frame->enhanced ? CORE_MPA_ENHANCED : 0));
	KUNIT_ASSERT_EQ(test, core_mpa_parse(octets, frame->reply, &back), CORE_MPA_OK);
	if (back.enhanced)
		core_mpa_parse_enhanced(octets + CORE_MPA_HEADER, &back);
	KUNIT_EXPECT_MEMEQ(test, &back, frame, sizeof(back));
	KUNIT_EXPECT_EQ(test, core_mpa_parse(octets, !frame->reply, &back), CORE_MPA_BAD_KEY);
}

static void startup_frames_are_read_as_they_were_built(struct kunit *test)
{
	u32 revision, flags;

	for (revision = 1; revision <= 2; revision++)
		for (flags = 0; flags < 32; flags++) {
			struct core_mpa_frame frame = {
				.reply = flags & 1,
				.markers = flags >> 1 & 1,
				.crc = flags >> 2 & 1,
				.revision = revision,
				.private_len = flags * 16,
			};

			frame.reject = frame.reply && flags >> 3 & 1;
			if (revision == 2 && flags >> 4) {
				frame.enhanced = 1;
				frame.p2p = flags & 1;
				frame.rtr = frame.p2p ? flags >> 1 & 7 : 0;
				frame.ird = CORE_MPA_AUTO - flags;
				frame.ord = flags;
			}
			expect_round_trip(test, &frame);
		}
}

static void a_key_with_any_bit_changed_is_no_mpa_frame(struct kunit *test)
{
	u8 octets[CORE_MPA_HEADER + CORE_MPA_ENHANCED];
	struct core_mpa_frame frame, back;
	u32 bit;

	core_mpa_request(&both_ends, 0, &frame);
	core_mpa_build(&frame, octets);
	for (bit = 0; bit < 16 * 8; bit++) {
		octets[bit / 8] ^= BIT(bit % 8);
		KUNIT_EXPECT_EQ(test, core_mpa_parse(octets, false, &back), CORE_MPA_BAD_KEY);
		octets[bit / 8] ^= BIT(bit % 8);
	}
}

static void crcs_are_off_only_if_both_ends_ask_for_it(struct kunit *test)
{
	u32 wish;

	for (wish = 0; wish < 4; wish++) {
		struct core_startup_local initiator = both_ends, responder = both_ends;
		struct core_startup_agreed here = { }, there = { };
		struct core_mpa_frame request, reply;

		initiator.crc = wish & 1;
		responder.crc = wish >> 1;
		core_mpa_request(&initiator, 0, &request);
		core_mpa_respond(&request, &responder, false, 0, &reply, &there);
		core_mpa_conclude(&request, &reply, &initiator, &here);
		KUNIT_EXPECT_EQ(test, here.error | there.error, 0);
		KUNIT_EXPECT_EQ(test, here.crc, wish != 0);
		KUNIT_EXPECT_EQ(test, there.crc, wish != 0);
	}
}

/* ---- one message of every opcode, framed and parsed ---- */

#define PAYLOAD	1000U
#define MULPDU	128U

struct context {
	struct srnic_qp *qp;
	u32 stag;			/* of a region that a peer may write to */
	u64 base;
	struct core_rx rx;
	u32 len;			/* octets of stream */
	u8 stream[2 * PAYLOAD];
	u8 payload[PAYLOAD];
	u8 placed[PAYLOAD];
	u64 placed_at;			/* TO of placed[0] */
	u32 elsewhere;			/* octets for placement outside of placed[] */
	u32 events[CORE_RX_ERROR + 1];
};

static void start_stream(struct context *c)
{
	c->len = 0;
	memset(c->placed, 0, sizeof(c->placed));
	memset(c->events, 0, sizeof(c->events));
	c->elsewhere = 0;
	core_rx_init(&c->rx, &(struct core_rx_params) {
		.ctx = c->qp, .pd = c->qp->pd, .first_msn = CORE_FIRST_MSN, .crc = true,
	});
}

/* Appends the FPDUs of one message. */
static void transmit(struct kunit *test, struct context *c, struct core_tx_msg msg,
		     const u8 *payload)
{
	struct core_fpdu fpdu;

	core_fpdu_init(&fpdu, true, false);
	while (!msg.done) {
		u32 expected = core_fpdu_len(&fpdu, &msg, MULPDU);
		u32 len = core_fpdu_build(&fpdu, &msg, MULPDU, payload, c->stream + c->len);

		c->len += len;
		KUNIT_ASSERT_EQ(test, len, expected);
		KUNIT_ASSERT_EQ(test, expected % 4, 0);
	}
}

static struct srnic_outbound_read *oldest_read(struct context *c)
{
	return srnic_reads_nth(&c->qp->outbound, 0);
}

static enum core_rx_event place(struct context *c, const struct core_place *place, const u8 *data,
				u32 n)
{
	u64 at = place->to - c->placed_at;

	if (at <= PAYLOAD && n <= PAYLOAD - at)
		memcpy(c->placed + at, data, n);
	else
		c->elsewhere += n;
	if (place->kind == CORE_PLACE_READ)
		oldest_read(c)->sink.placed += n;
	return core_rx_placed(&c->rx, data, n);
}

/* The whole stream, in pieces of at most this size. */
static void receive(struct context *c, u32 piece)
{
	u32 at, n;

	for (at = 0; at < c->len; at += n) {
		struct core_rx_step step = core_rx_next(&c->rx);
		enum core_rx_event event;

		if (step.kind == CORE_RX_STOP)
			return;
		n = min3(step.want, piece, c->len - at);
		if (step.kind == CORE_RX_PLACE) {
			event = place(c, step.place, c->stream + at, n);
		} else {
			memcpy(step.into, c->stream + at, n);
			event = core_rx_took(&c->rx, n);
		}
		c->events[event]++;
		srnic_held_drop(&c->qp->rx.held);	/* which the core's callbacks have taken */
	}
}

/* The stream caused one event of this kind and no other. */
static void expect_event(struct kunit *test, struct context *c, enum core_rx_event event)
{
	u32 i;

	for (i = CORE_RX_MORE + 1; i <= CORE_RX_ERROR; i++)
		KUNIT_EXPECT_EQ(test, c->events[i], i == event);
	KUNIT_EXPECT_EQ(test, c->elsewhere, 0);
}

static const u32 pieces[] = { 1, 3, 64, 100000 };

static void post_receive(struct kunit *test, struct context *c, u32 room)
{
	struct ib_sge sge = { .length = room };
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	KUNIT_ASSERT_EQ(test, ib_post_recv(&c->qp->base, &wr, NULL), 0);
}

static void send_round_trip(struct kunit *test, u8 opcode, u32 length)
{
	struct context *c = test->priv;
	struct core_tx_msg msg = {
		.opcode = opcode, .length = length, .msn = 1, .inv_stag = 0xabcd1234,
	};
	bool inv = opcode == CORE_MSG_SEND_INV || opcode == CORE_MSG_SEND_SE_INV;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		start_stream(c);
		c->placed_at = 0;
		post_receive(test, c, PAYLOAD);
		transmit(test, c, msg, c->payload);
		receive(c, pieces[i]);
		expect_event(test, c, CORE_RX_SEND);
		KUNIT_EXPECT_EQ(test, core_rx_delivered(&c->rx)->length, length);
		KUNIT_EXPECT_MEMEQ(test, c->placed, c->payload, length);
		KUNIT_EXPECT_EQ(test, core_rx_delivered(&c->rx)->solicited,
				opcode == CORE_MSG_SEND_SE || opcode == CORE_MSG_SEND_SE_INV);
		KUNIT_EXPECT_EQ(test, core_rx_delivered(&c->rx)->invalidate, inv);
		if (inv)
			KUNIT_EXPECT_EQ(test, core_rx_delivered(&c->rx)->inv_stag, 0xabcd1234);
	}
}

static void sends_of_all_four_kinds_arrive(struct kunit *test)
{
	u8 opcode;

	for (opcode = CORE_MSG_SEND; opcode <= CORE_MSG_SEND_SE_INV; opcode++) {
		send_round_trip(test, opcode, PAYLOAD);
		if (opcode == CORE_MSG_SEND_SE)
			send_round_trip(test, opcode, 0);
	}
}

static void an_rdma_write_is_placed_where_its_to_says(struct kunit *test)
{
	struct context *c = test->priv;
	struct core_tx_msg msg = {
		.opcode = CORE_MSG_WRITE, .length = PAYLOAD, .stag = c->stag, .to = c->base,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		start_stream(c);
		c->placed_at = c->base;
		transmit(test, c, msg, c->payload);
		receive(c, pieces[i]);
		expect_event(test, c, CORE_RX_WRITE);
		KUNIT_EXPECT_MEMEQ(test, c->placed, c->payload, PAYLOAD);
		KUNIT_EXPECT_EQ(test, core_rx_fpdus(&c->rx), DIV_ROUND_UP(PAYLOAD, MULPDU - 14));
	}
}

static void an_rdma_read_request_is_read_as_it_was_built(struct kunit *test)
{
	struct context *c = test->priv;
	struct core_read_request req = {
		.sink_stag = 1,
		.sink_to = 2,
		.length = 300,
		.source_stag = c->stag,
		.source_to = c->base + 5,
	};
	struct core_tx_msg msg = {.opcode = CORE_MSG_READ_REQUEST, .msn = 1, .request = &req};
	u32 i;

	c->qp->inbound.most = 1;
	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		start_stream(c);
		transmit(test, c, msg, NULL);
		receive(c, pieces[i]);
		expect_event(test, c, CORE_RX_READ_REQUEST);
		KUNIT_EXPECT_EQ(test, core_rx_asked(&c->rx)->read.sink_stag, 1);
		KUNIT_EXPECT_EQ(test, core_rx_asked(&c->rx)->read.sink_to, 2);
		KUNIT_EXPECT_EQ(test, core_rx_asked(&c->rx)->read.length, 300);
		KUNIT_EXPECT_EQ(test, core_rx_asked(&c->rx)->read.source_stag, c->stag);
		KUNIT_EXPECT_EQ(test, core_rx_asked(&c->rx)->read.source_to, c->base + 5);
	}
}

static void an_rdma_read_response_fills_the_oldest_sink(struct kunit *test)
{
	struct context *c = test->priv;
	struct core_tx_msg msg = {
		.opcode = CORE_MSG_READ_RESPONSE, .length = PAYLOAD, .stag = 0x77,
	};
	u32 i;

	/* the QP frees it */
	KUNIT_ASSERT_EQ(test, srnic_reads_alloc(&c->qp->outbound, 1,
						sizeof(struct srnic_outbound_read)), 0);
	srnic_reads_push(&c->qp->outbound);
	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		start_stream(c);
		c->placed_at = 0;
		oldest_read(c)->sink =
			(struct core_read_sink) { .stag = 0x77, .length = PAYLOAD };
		transmit(test, c, msg, c->payload);
		receive(c, pieces[i]);
		expect_event(test, c, CORE_RX_READ_RESPONSE);
		KUNIT_EXPECT_MEMEQ(test, c->placed, c->payload, PAYLOAD);
	}
}

static void a_terminate_is_read_as_it_was_built(struct kunit *test)
{
	struct context *c = test->priv;
	struct core_terminate term = {
		.layer = CORE_LAYER_DDP,
		.etype = 1,
		.code = 1,
		.has_ddp = 1,
		.ddp_header_len = 14,
		.ddp_len = 99,
	};
	struct core_tx_msg msg = {.opcode = CORE_MSG_TERMINATE, .msn = 1, .term = &term};
	u32 i;

	memset(term.ddp, 0xc1, 14);
	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		start_stream(c);
		transmit(test, c, msg, NULL);
		receive(c, pieces[i]);
		expect_event(test, c, CORE_RX_TERMINATE);
		KUNIT_EXPECT_EQ(test, core_rx_terminate(&c->rx)->layer, CORE_LAYER_DDP);
		KUNIT_EXPECT_EQ(test, core_rx_terminate(&c->rx)->etype, 1);
		KUNIT_EXPECT_EQ(test, core_rx_terminate(&c->rx)->code, 1);
		KUNIT_EXPECT_EQ(test, core_rx_terminate(&c->rx)->ddp_len, 99);
		KUNIT_EXPECT_MEMEQ(test, core_rx_terminate(&c->rx)->ddp, term.ddp, 14);
	}
}

/* Flips every bit after the ULPDU length, which decides how many octets to wait for. */
static void any_flipped_bit_is_a_crc_error_and_delivers_nothing(struct kunit *test)
{
	struct context *c = test->priv;
	struct core_tx_msg msg = {
		.opcode = CORE_MSG_WRITE, .length = 30, .stag = c->stag, .to = c->base,
	};
	const struct core_terminate *said;
	u32 bit, bits = ~0U;

	for (bit = 16; bit < bits; bit++) {
		start_stream(c);
		c->placed_at = c->base;
		transmit(test, c, msg, c->payload);
		bits = c->len * 8;
		c->stream[bit / 8] ^= BIT(bit % 8);
		receive(c, 100000);
		KUNIT_EXPECT_EQ_MSG(test, c->events[CORE_RX_ERROR], 1, "bit %u", bit);
		KUNIT_EXPECT_EQ_MSG(test, c->events[CORE_RX_WRITE], 0, "bit %u", bit);
		said = core_rx_terminate(&c->rx);
		KUNIT_EXPECT_EQ_MSG(test, core_terminate_fault(said), CORE_FAULT_CRC, "bit %u",
				    bit);
	}
}

static void a_write_beyond_its_region_ends_the_stream_before_an_octet_is_placed(struct kunit *test)
{
	struct context *c = test->priv;
	struct core_tx_msg msg = { .opcode = CORE_MSG_WRITE, .length = PAYLOAD, .stag = c->stag };

	msg.to = c->base + SRNIC_TEST_PAGES * PAGE_SIZE - SRNIC_TEST_OFFSET - 1;
	start_stream(c);
	c->placed_at = msg.to;
	transmit(test, c, msg, c->payload);
	receive(c, 7);
	expect_event(test, c, CORE_RX_ERROR);
	KUNIT_EXPECT_EQ(test, core_rx_terminate(&c->rx)->layer, CORE_LAYER_DDP);
	KUNIT_EXPECT_EQ(test, core_rx_terminate(&c->rx)->etype, 1);
	KUNIT_EXPECT_EQ(test, core_rx_terminate(&c->rx)->code, 1);
	KUNIT_EXPECT_NULL(test, memchr_inv(c->placed, 0, PAYLOAD));
	KUNIT_EXPECT_EQ(test, core_rx_next(&c->rx).kind, CORE_RX_STOP);
}

/* ---- STags (RFC 5040 8.1.1) ---- */

static void stags_permute_their_indices(struct kunit *test)
{
	const u64 key[2] = { get_random_u64(), get_random_u64() };
	u32 i, bad = 0, fixed = 0;

	for (i = 0; i < 1U << CORE_STAG_INDEX_BITS; i += 89) {
		u32 scrambled = core_stag_scramble(i, key);

		bad += scrambled >= 1U << CORE_STAG_INDEX_BITS ||
		       core_stag_unscramble(scrambled, key) != i;
		fixed += scrambled == i;
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_LT(test, fixed, 8);
}

static int init_framing(struct kunit *test)
{
	struct context *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct srnic_test_mr *mr;
	struct srnic_dev *dev;
	struct ib_pd *pd;

	KUNIT_ASSERT_NOT_NULL(test, c);
	test->priv = c;
	dev = srnic_test_device(test);
	pd = srnic_test_pd(test, dev);
	c->qp = srnic_test_qp(test, pd, srnic_test_cq(test, dev, 16), NULL, IB_SIGNAL_REQ_WR);
	mr = srnic_test_mr(test, pd);
	c->stag = srnic_test_reg(test, mr, CORE_ACCESS_LOCAL_WRITE | CORE_ACCESS_REMOTE_WRITE |
			      CORE_ACCESS_REMOTE_READ);
	c->base = mr->base->iova;
	get_random_bytes(c->payload, sizeof(c->payload));
	return 0;
}

static struct kunit_case core_cases[] = {
	KUNIT_CASE(the_kernels_crc32c_gives_rfc3720s_values),
	KUNIT_CASE(the_tables_give_rfc3720s_values),
	KUNIT_CASE(what_was_chosen_at_load_gives_rfc3720s_values),
	KUNIT_CASE(all_agree_at_every_length_alignment_and_split),
	KUNIT_CASE(copies_are_summed_by_each_way),
#ifdef CONFIG_X86_64
	KUNIT_CASE(copies_are_summed_while_the_registers_are_in_use),
#endif
	KUNIT_CASE(startup_frames_are_read_as_they_were_built),
	KUNIT_CASE(a_key_with_any_bit_changed_is_no_mpa_frame),
	KUNIT_CASE(crcs_are_off_only_if_both_ends_ask_for_it),
	KUNIT_CASE(stags_permute_their_indices),
	{ }
};

static struct kunit_case framing_cases[] = {
	KUNIT_CASE(sends_of_all_four_kinds_arrive),
	KUNIT_CASE(an_rdma_write_is_placed_where_its_to_says),
	KUNIT_CASE(an_rdma_read_request_is_read_as_it_was_built),
	KUNIT_CASE(an_rdma_read_response_fills_the_oldest_sink),
	KUNIT_CASE(a_terminate_is_read_as_it_was_built),
	KUNIT_CASE(any_flipped_bit_is_a_crc_error_and_delivers_nothing),
	KUNIT_CASE(a_write_beyond_its_region_ends_the_stream_before_an_octet_is_placed),
	{ }
};

static struct kunit_suite core_suite = { .name = "srnic_core", .test_cases = core_cases };
static struct kunit_suite framing_suite = {
	.name = "srnic_framing",
	.init = init_framing,
	.test_cases = framing_cases,
};

kunit_test_suites(&core_suite, &framing_suite);
