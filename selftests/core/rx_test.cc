// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive of valid streams: placement and delivery of every RDMA message (RFC 5040 5, RFC 5041 5),
// FPDUs (RFC 5044 4), the RTR indication (RFC 6581 9.2). Every stream is fed whole, octet by octet,
// and in random pieces.
#include "stream.hh"

using namespace wire;

static Delivery send_of(const Bytes &data)
{
	return {CORE_RX_SEND, u32(data.size()), 0, false, false, false, data};
}

// Feeds the same stream to new hosts, cut in different ways; the test checks each host.
static void in_every_cut(const Bytes &stream, bool crc, u8 rtr,
			 const std::function<void(FakeHost &)> &prepare,
			 const std::function<void(Stream &)> &look)
{
	for (unsigned cut = 0; cut < 12; cut++) {
		SCOPED_TRACE(testing::Message() << "cut " << cut);
		Stream fresh(crc, rtr);

		prepare(fresh.host);
		if (cut == 0)
			fresh.feed(stream);
		else if (cut == 1)
			fresh.feed_octets(stream);
		else
			fresh.feed_pieces(stream, cut);
		look(fresh);
	}
}
static void in_every_cut(const Bytes &stream, const std::function<void(FakeHost &)> &prepare,
			 const std::function<void(Stream &)> &look)
{
	in_every_cut(stream, true, 0, prepare, look);
}

// RFC 5044 figure 5 without its marker: the octets of the RFC with a matching CRC.
TEST(RxSend, FigureFiveOfRfc5044)
{
	Bytes figure =
		hex("002a 4143 00000000 00000000 00000001 00000000") + Bytes(24) + hex("b7243ec3");

	in_every_cut(
		figure, [](FakeHost &host) { host.post_receive(100); },
		[](Stream &s) {
			EXPECT_EQ(s.deliveries, std::vector{send_of(Bytes(24))});
			EXPECT_EQ(s.fpdus(), 1u);
			EXPECT_TRUE(s.between_fpdus());
		});
}

// RFC 5041 5.2: MO is the octet offset of each segment; 5.4: delivered when the last one has come.
TEST(RxSend, SegmentsOfOneMessage)
{
	Bytes data = payload(700), one(data.begin(), data.begin() + 333),
	      two(data.begin() + 333, data.begin() + 334), three(data.begin() + 334, data.end());
	Bytes stream = fpdu(Untagged{.ddp = 0x01, .data = one}) +
		       fpdu(Untagged{.ddp = 0x01, .mo = 333, .data = two}) +
		       fpdu(Untagged{.mo = 334, .data = three});

	in_every_cut(
		stream, [](FakeHost &host) { host.post_receive(700); },
		[&](Stream &s) {
			EXPECT_EQ(s.deliveries, std::vector{send_of(data)});
			EXPECT_EQ(s.host.receives_taken, 1u);
		});
}

// RFC 5041 4.3: MSNs begin with one and increase by one with each message.
TEST(RxSend, OneReceiveForEachMessage)
{
	Bytes stream;

	for (u32 msn = 1; msn <= 5; msn++)
		stream = stream + fpdu(Untagged{.msn = msn, .data = payload(msn * 10, msn)});
	in_every_cut(
		stream,
		[](FakeHost &host) {
			for (int i = 0; i < 5; i++)
				host.post_receive(64);
		},
		[](Stream &s) {
			ASSERT_EQ(s.deliveries.size(), 5u);
			for (u32 msn = 1; msn <= 5; msn++)
				EXPECT_EQ(s.deliveries[msn - 1], send_of(payload(msn * 10, msn)));
		});
}

// RFC 5041 4.3: an MSN is a number of 32 bits, and 0 follows 0xFFFFFFFF.
constexpr u32 far_msns[] = {0x7fffffff, 0xffffffff};

TEST(RxSend, MsnWraps)
{
	for (u32 before : far_msns) {
		Stream s(true, 0, false, before);

		for (int i = 0; i < 3; i++)
			s.host.post_receive(8);
		for (u32 i = 0; i < 3; i++)
			s.feed(fpdu(Untagged{.msn = before + i}));
		EXPECT_EQ(s.deliveries, std::vector(3, send_of({})));
		EXPECT_FALSE(s.over());
	}
}

TEST(RxReadRequest, MsnWraps)
{
	for (u32 before : far_msns) {
		Stream s(true, 0, false, before);

		s.host.read_room = 3;
		for (u32 i = 0; i < 3; i++)
			s.feed(fpdu(read_request({}, before + i)));
		EXPECT_EQ(s.deliveries, std::vector(3, Delivery{CORE_RX_READ_REQUEST}));
		EXPECT_FALSE(s.over());
	}
}

// RFC 5040 4.1, figure 4: solicited event, and the STag to invalidate in octets two to five of
// RsvdULP.
TEST(RxSend, OpcodesOfSend)
{
	Bytes data = payload(9);
	Bytes stream =
		fpdu(Untagged{
			.rdmap = op_send_inv, .inv_stag = 0xa1b2c3d4, .msn = 1, .data = data}) +
		fpdu(Untagged{.rdmap = op_send_se, .inv_stag = 0xffff, .msn = 2, .data = data}) +
		fpdu(Untagged{.rdmap = op_send_se_inv, .inv_stag = 5, .msn = 3, .data = data});

	in_every_cut(
		stream,
		[](FakeHost &host) {
			for (int i = 0; i < 3; i++)
				host.post_receive(9);
		},
		[&](Stream &s) {
			EXPECT_EQ(s.deliveries,
				  (std::vector<Delivery>{
					  {CORE_RX_SEND, 9, 0xa1b2c3d4, false, true, false, data},
					  {CORE_RX_SEND, 9, 0, true, false, false, data},
					  {CORE_RX_SEND, 9, 5, true, true, false, data}}));
		});
}

// RFC 5040 5.3: a zero-length Send consumes an Untagged Buffer.
TEST(RxSend, ZeroLengthConsumesAReceive)
{
	in_every_cut(
		fpdu(Untagged{}), [](FakeHost &host) { host.post_receive(8); },
		[](Stream &s) {
			EXPECT_EQ(s.deliveries, std::vector{send_of({})});
			EXPECT_EQ(s.host.receives_taken, 1u);
		});
}

// RFC 5040 5.3: as long as the buffer, or shorter.
TEST(RxSend, FillsTheReceive)
{
	Stream s;

	s.host.post_receive(64);
	s.feed(fpdu(Untagged{.data = payload(64)}));
	EXPECT_EQ(s.deliveries, std::vector{send_of(payload(64))});
}

// RFC 5041 4.1, RFC 5040 4.1: reserved bits are not checked; RFC 5040 4.1: 00b is also a valid
// version.
TEST(RxSend, ReservedBitsAndTheOlderVersion)
{
	Stream s;

	for (u32 msn = 1; msn <= 3; msn++)
		s.host.post_receive(8);
	s.feed(fpdu(Untagged{.ddp = 0x41 | 0x3c, .msn = 1}));
	s.feed(fpdu(Untagged{.rdmap = op_send | 0x30, .msn = 2}));
	s.feed(fpdu(Untagged{.rdmap = 0x03, .msn = 3}));
	EXPECT_EQ(s.deliveries.size(), 3u);
	EXPECT_TRUE(s.between_fpdus());
}

// RFC 5040 5.1: a Write is placed, segment by segment, and not delivered to the consumer.
TEST(RxWrite, SegmentsLandWhereTheirToSays)
{
	Bytes stream =
		fpdu(Tagged{.ddp = 0x81, .stag = 0x100, .to = 0x2010, .data = payload(100, 1)}) +
		fpdu(Tagged{.ddp = 0x81, .stag = 0x100, .to = 0x2074, .data = payload(101, 2)}) +
		fpdu(Tagged{.stag = 0x100, .to = 0x20d9, .data = payload(3, 3)});

	in_every_cut(
		stream, [](FakeHost &host) { host.grant(0x100, 0x2000, 0x200); },
		[](Stream &s) {
			Bytes expected =
				Bytes(0x10) + payload(100, 1) + payload(101, 2) + payload(3, 3);

			expected.resize(0x200);
			EXPECT_EQ(s.host.regions[0x100].memory, expected);
			EXPECT_EQ(s.deliveries, std::vector{Delivery{CORE_RX_WRITE}});
			EXPECT_EQ(s.fpdus(), 3u);
		});
}

// RFC 5041 5.2: STag and TO of a zero-length Tagged message are not checked.
TEST(RxWrite, ZeroLengthIsNeverChecked)
{
	in_every_cut(
		fpdu(Tagged{.stag = 0xdeadbeef, .to = ~0ull}), [](FakeHost &) {},
		[](Stream &s) {
			EXPECT_EQ(s.deliveries, std::vector{Delivery{CORE_RX_WRITE}});
			EXPECT_EQ(s.host.regions_asked, 0u);
		});
}

// RFC 5044 4.1: ULPDU_Length is 16 bits, and all of them count.
TEST(RxWrite, TheLongestFpdu)
{
	Bytes data = payload(65535 - 14);

	in_every_cut(
		fpdu(Tagged{.stag = 1, .to = 0, .data = data}),
		[&](FakeHost &host) { host.grant(1, 0, data.size()); },
		[&](Stream &s) { EXPECT_EQ(s.host.regions[1].memory, data); });
}

// RFC 5044 4.1: every length has its pad, and the receiver ignores the pad's contents.
TEST(RxWrite, EveryPad)
{
	for (size_t len = 1; len <= 8; len++) {
		Stream s;

		s.host.grant(1, 0, len);
		EXPECT_EQ(s.feed_fpdu(fpdu(Tagged{.stag = 1, .data = payload(len)}, 0xa5)),
			  CORE_RX_WRITE);
		EXPECT_EQ(s.host.regions[1].memory, payload(len));
		EXPECT_TRUE(s.between_fpdus());
	}
}

// RFC 5040 5.2.1, figure 6.
TEST(RxReadRequest, Delivered)
{
	Bytes stream = fpdu(read_request({.sink_stag = 0x01020304,
					  .sink_to = 0x1112131415161718,
					  .length = 0x100,
					  .source_stag = 0x300,
					  .source_to = 0x4142434445464748}));

	in_every_cut(
		stream,
		[](FakeHost &host) {
			host.grant(0x300, 0x4142434445464748, 0x100);
			host.read_room = 1;
		},
		[](Stream &s) {
			ASSERT_EQ(s.deliveries, std::vector{Delivery{CORE_RX_READ_REQUEST}});
			EXPECT_EQ(s.read_request().sink_stag, 0x01020304u);
			EXPECT_EQ(s.read_request().sink_to, 0x1112131415161718u);
			EXPECT_EQ(s.read_request().length, 0x100u);
			EXPECT_EQ(s.read_request().source_stag, 0x300u);
			EXPECT_EQ(s.read_request().source_to, 0x4142434445464748u);
		});
}

// RFC 5040 5.2.1: with a size of zero the source must not be validated.
TEST(RxReadRequest, ZeroLengthIsNeverChecked)
{
	Stream s;

	s.host.read_room = 1;
	s.feed(fpdu(read_request({.length = 0, .source_stag = 0xdeadbeef, .source_to = ~0ull})));
	EXPECT_EQ(s.deliveries, std::vector{Delivery{CORE_RX_READ_REQUEST}});
	EXPECT_EQ(s.host.regions_asked, 0u);
}

// RFC 5041 4.3: MSNs of queue 1 are counted apart from those of queue 0.
TEST(RxReadRequest, HasItsOwnSequence)
{
	Stream s;

	s.host.read_room = 2;
	s.host.post_receive(1);
	s.feed(fpdu(read_request({}, 1)) + fpdu(Untagged{.msn = 1}) + fpdu(read_request({}, 2)));
	EXPECT_EQ(s.deliveries.size(), 3u);
	EXPECT_TRUE(s.between_fpdus());
}

// RFC 5040 5.2.2.
TEST(RxReadResponse, SegmentsFillTheSink)
{
	Bytes data = payload(500), one(data.begin(), data.begin() + 200),
	      two(data.begin() + 200, data.end());
	Bytes stream =
		fpdu(Tagged{.ddp = 0x81,
			    .rdmap = op_read_response,
			    .stag = 9,
			    .to = 0x7000,
			    .data = one}) +
		fpdu(Tagged{.rdmap = op_read_response, .stag = 9, .to = 0x70c8, .data = two});

	in_every_cut(
		stream, [](FakeHost &host) { host.post_read(9, 0x7000, 500); },
		[&](Stream &s) {
			ASSERT_EQ(s.deliveries.size(), 1u);
			EXPECT_EQ(s.deliveries[0].event, CORE_RX_READ_RESPONSE);
			EXPECT_EQ(s.deliveries[0].data, data);
		});
}

// RFC 5040 5.5: responses come in the order of the requests.
TEST(RxReadResponse, InTheOrderOfTheReads)
{
	Stream s;

	s.host.post_read(1, 0, 4);
	s.host.post_read(2, 8, 4);
	s.feed(fpdu(Tagged{.rdmap = op_read_response, .stag = 1, .to = 0, .data = payload(4, 1)}) +
	       fpdu(Tagged{.rdmap = op_read_response, .stag = 2, .to = 8, .data = payload(4, 2)}));
	ASSERT_EQ(s.deliveries.size(), 2u);
	EXPECT_EQ(s.deliveries[0].data, payload(4, 1));
	EXPECT_EQ(s.deliveries[1].data, payload(4, 2));
}

// RFC 5041 5.2 again: the response to a zero-length read.
TEST(RxReadResponse, ZeroLengthIsNeverChecked)
{
	Stream s;

	s.host.post_read(9, 0x7000, 0);
	s.feed(fpdu(Tagged{.rdmap = op_read_response, .stag = 0xdeadbeef, .to = ~0ull}));
	ASSERT_EQ(s.deliveries.size(), 1u);
	EXPECT_EQ(s.deliveries[0].event, CORE_RX_READ_RESPONSE);
}

// Other messages may overtake a long tagged one: each kind continues where it was.
TEST(RxInterleaved, SendAndReadRequestInsideAReadResponseAndAWrite)
{
	auto response = [](u8 ddp, u64 at) {
		return fpdu(Tagged{.ddp = ddp,
				   .rdmap = op_read_response,
				   .stag = 9,
				   .to = at,
				   .data = payload(10, 1)});
	};
	auto write = [](u8 ddp, u64 at) {
		return fpdu(Tagged{.ddp = ddp, .stag = 1, .to = at, .data = payload(10, 2)});
	};
	Bytes stream = response(0x81, 0) + write(0x81, 0) +
		       fpdu(Untagged{.ddp = 0x01, .data = payload(5, 3)}) + fpdu(read_request({})) +
		       response(0x81, 10) + fpdu(Untagged{.mo = 5, .data = payload(5, 4)}) +
		       write(0xc1, 10) + response(0xc1, 20);

	in_every_cut(
		stream,
		[](FakeHost &host) {
			host.post_read(9, 0, 30);
			host.grant(1, 0, 20);
			host.post_receive(10);
			host.read_room = 1;
		},
		[](Stream &s) {
			Bytes ten = payload(10, 1);

			ASSERT_EQ(s.deliveries.size(), 4u);
			EXPECT_EQ(s.deliveries[0].event, CORE_RX_READ_REQUEST);
			EXPECT_EQ(s.deliveries[1], send_of(payload(5, 3) + payload(5, 4)));
			EXPECT_EQ(s.deliveries[2].event, CORE_RX_WRITE);
			EXPECT_EQ(s.deliveries[3].data, ten + ten + ten);
			EXPECT_EQ(s.host.regions[1].memory, payload(10, 2) + payload(10, 2));
		});
}

// RFC 5040 5.4.
TEST(RxTerminate, EndsTheStream)
{
	Bytes term = hex("1100 c0 00 0042 c1 40 01020304 1112131415161718");

	in_every_cut(
		fpdu(terminate(term)) + fpdu(Untagged{}),
		[](FakeHost &host) { host.post_receive(1); },
		[](Stream &s) {
			EXPECT_EQ(s.deliveries, std::vector{Delivery{CORE_RX_TERMINATE}});
			EXPECT_TRUE(s.over());
			EXPECT_EQ(s.term().layer, CORE_LAYER_DDP);
			EXPECT_EQ(s.term().etype, 1);
			EXPECT_EQ(s.term().code, 0);
			EXPECT_EQ(s.term().ddp_len, 0x42);
		});
}

TEST(RxTerminate, ShortestAndLongest)
{
	Stream shortest, longest;

	EXPECT_EQ(shortest.feed_fpdu(fpdu(terminate(Bytes(4)))), CORE_RX_TERMINATE);
	EXPECT_EQ(longest.feed_fpdu(fpdu(terminate(hex("0100e000") + Bytes(48)))),
		  CORE_RX_TERMINATE);
}

// RFC 5044 7.1.1, 4.1: when CRCs are not in use the field may contain any value.
TEST(RxCrcOff, AnyValueWillDo)
{
	Bytes stream = fpdu(Untagged{.data = payload(11)});

	stream[stream.size() - 1] ^= 0xff;
	crcs_computed = 0;
	in_every_cut(
		stream, false, 0, [](FakeHost &host) { host.post_receive(11); },
		[](Stream &s) {
			EXPECT_EQ(s.deliveries, std::vector{send_of(payload(11))});
			EXPECT_EQ(crcs_computed, 0u);
		});
}

// RFC 6581 9.2 and 4.4.2: the RTR Send is not delivered; the first real message has the next MSN.
TEST(RxRtr, ZeroLengthSendTakesNoReceive)
{
	in_every_cut(
		fpdu(Untagged{.msn = 1}) + fpdu(Untagged{.msn = 2}), true, CORE_RTR_SEND,
		[](FakeHost &host) { host.post_receive(8); },
		[](Stream &s) {
			ASSERT_EQ(s.deliveries.size(), 2u);
			EXPECT_TRUE(s.deliveries[0].rtr);
			EXPECT_EQ(s.deliveries[1], send_of({}));
			EXPECT_EQ(s.host.receives_taken, 1u);
		});
}

TEST(RxRtr, OnlyAPlainEmptySendInFront)
{
	const Untagged not_rtr[] = {
		{.data = payload(1)}, {.ddp = 0x01}, {.rdmap = op_send_se}, {.rdmap = op_send_inv}};

	for (const Untagged &first : not_rtr) {
		Stream s(true, CORE_RTR_ALL);

		s.host.post_receive(8);
		s.feed(fpdu(first));
		EXPECT_EQ(s.host.receives_taken, 1u);
	}
}

TEST(RxRtr, WriteAndReadAreWhatTheyAre)
{
	Stream s(true, CORE_RTR_WRITE | CORE_RTR_READ), t(true, CORE_RTR_READ);

	s.host.post_receive(8);
	EXPECT_EQ(s.feed_fpdu(fpdu(Tagged{.stag = 1})), CORE_RX_WRITE);
	EXPECT_EQ(s.feed_fpdu(fpdu(Untagged{})), CORE_RX_SEND);
	EXPECT_FALSE(s.deliveries[1].rtr);
	t.host.read_room = 1;
	EXPECT_EQ(t.feed_fpdu(fpdu(read_request({.sink_stag = 1, .source_stag = 1}))),
		  CORE_RX_READ_REQUEST);
}
