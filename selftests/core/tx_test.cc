// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Transmit: segmentation (RFC 5041 5.2), headers (RFC 5041 4, RFC 5040 4), FPDUs (RFC 5044 4.1),
// and round trips, with transmit's output fed to receive.
#include "stream.hh"
#include "sender.hh"

using wire::Bytes;
using wire::hex;

static Sender transmit(const core_tx_msg &msg, u32 mulpdu, const Bytes &data)
{
	Sender sender;

	sender.send(msg, data, mulpdu);
	return sender;
}

// RFC 5041 5.2: 2048 octets, MULPDU 1500: MO 0 with 1482 octets, MO 1482 with 566.
TEST(Segmentation, UntaggedExample)
{
	Sender out = transmit(message(CORE_MSG_SEND, 2048), 1500, wire::payload(2048));

	ASSERT_EQ(out.sent.size(), 2u);
	EXPECT_EQ(out.sent[0].header, hex("05dc 01 43 00000000 00000000 00000001 00000000"));
	EXPECT_EQ(out.sent[1].header, hex("0248 41 43 00000000 00000000 00000001 000005ca"));
	EXPECT_EQ(out.sent[0].payload, 1482u);
	EXPECT_EQ(out.sent[1].payload, 566u);
	EXPECT_EQ(out.sent[1].offset, 1482u);
}

// RFC 5041 5.2: TO 16384: 1486 octets there, 562 at 17870.
TEST(Segmentation, TaggedExample)
{
	core_tx_msg msg = message(CORE_MSG_WRITE, 2048);

	msg.stag = 0x12345678;
	msg.to = 16384;
	Sender out = transmit(msg, 1500, wire::payload(2048));

	ASSERT_EQ(out.sent.size(), 2u);
	EXPECT_EQ(out.sent[0].header, hex("05dc 81 40 12345678 0000000000004000"));
	EXPECT_EQ(out.sent[1].header, hex("0240 c1 40 12345678 00000000000045ce"));
	EXPECT_EQ(out.sent[0].payload, 1486u);
	EXPECT_EQ(out.sent[1].payload, 562u);
}

// RFC 5041 5.2: a zero-length message consumes exactly one segment.
TEST(Segmentation, ZeroLength)
{
	for (u8 opcode : {CORE_MSG_WRITE, CORE_MSG_READ_RESPONSE, CORE_MSG_SEND}) {
		Sender out = transmit(message(opcode, 0), 128, {});

		ASSERT_EQ(out.sent.size(), 1u);
		EXPECT_EQ(out.sent[0].payload, 0u);
		EXPECT_TRUE(out.sent[0].header[2] & wire::last);
	}
}

// RFC 5041 4.1: L on the last segment and on no other; also if that one is full.
TEST(Segmentation, LastOnTheLastOnly)
{
	for (u32 length : {109u, 110u, 111u, 220u, 221u}) {
		Sender out = transmit(message(CORE_MSG_SEND, length), 128, wire::payload(length));

		EXPECT_EQ(out.sent.size(), (length + 109) / 110);
		for (size_t i = 0; i < out.sent.size(); i++)
			EXPECT_EQ((out.sent[i].header[2] & wire::last) != 0,
				  i + 1 == out.sent.size());
	}
}

TEST(Segmentation, NoSegmentAboveTheMulpduAndEveryOctetOnce)
{
	for (u32 mulpdu : {128u, 129u, 1454u, 64768u}) {
		Sender out =
			transmit(message(CORE_MSG_WRITE, 200000), mulpdu, wire::payload(200000));
		u32 next = 0;

		for (const Sent &seg : out.sent) {
			EXPECT_LE(seg.header.size() - 2 + seg.payload, mulpdu);
			EXPECT_EQ(seg.offset, next);
			next += seg.payload;
		}
		EXPECT_EQ(next, 200000u);
	}
}

TEST(Segmentation, TheLongestMessage)
{
	core_tx_msg msg = message(CORE_MSG_WRITE, 0xffffffff);
	core_fpdu fpdu;

	core_fpdu_init(&fpdu, true, false);
	msg.sent = 0xffffffff - 10;
	EXPECT_EQ(core_fpdu_len(&fpdu, &msg, 64768), 16u + 10 + 2 + 4);
	core_fpdu_begin(&fpdu, &msg, 64768);
	EXPECT_TRUE(msg.done);
	EXPECT_EQ(msg.sent, 0xffffffff);
}

// RFC 5040 figure 4 (tagged flag, queue number) and figure 3 (RV 01b, opcode).
TEST(Headers, EveryOpcode)
{
	core_tx_msg msg{};
	auto header = [&](u8 opcode) {
		msg = {};
		msg.opcode = opcode;
		msg.stag = 0xa1b2c3d4;
		msg.to = 0x0102030405060708;
		msg.msn = 0x11223344;
		msg.inv_stag = 0x55667788;
		return transmit(msg, 128, {}).sent[0].header;
	};

	EXPECT_EQ(header(CORE_MSG_WRITE), hex("000e c1 40 a1b2c3d4 0102030405060708"));
	EXPECT_EQ(header(CORE_MSG_READ_REQUEST),
		  hex("0012 41 41 00000000 00000001 11223344 00000000"));
	EXPECT_EQ(header(CORE_MSG_READ_RESPONSE), hex("000e c1 42 a1b2c3d4 0102030405060708"));
	EXPECT_EQ(header(CORE_MSG_SEND), hex("0012 41 43 00000000 00000000 11223344 00000000"));
	EXPECT_EQ(header(CORE_MSG_SEND_INV), hex("0012 41 44 55667788 00000000 11223344 00000000"));
	EXPECT_EQ(header(CORE_MSG_SEND_SE), hex("0012 41 45 00000000 00000000 11223344 00000000"));
	EXPECT_EQ(header(CORE_MSG_SEND_SE_INV),
		  hex("0012 41 46 55667788 00000000 11223344 00000000"));
	EXPECT_EQ(header(CORE_MSG_TERMINATE),
		  hex("0012 41 47 00000000 00000002 11223344 00000000"));
}

// RFC 5040 figure 6, after the DDP header: RFC 5041 figure 5.
TEST(Headers, ReadRequest)
{
	core_tx_msg msg = message(CORE_MSG_READ_REQUEST, 0, 9);
	core_read_request request{};
	Sender out;

	request.sink_stag = 0x01020304;
	request.sink_to = 0x1112131415161718;
	request.length = 0x21222324;
	request.source_stag = 0x31323334;
	request.source_to = 0x4142434445464748;
	msg.request = &request;
	out.send(msg, {}, 128);
	ASSERT_EQ(out.sent.size(), 1u);
	EXPECT_EQ(Bytes(out.stream.begin(), out.stream.end() - 4),
		  hex("002e 41 41 00000000 00000001 00000009 00000000"
		      "01020304 1112131415161718 21222324 31323334 4142434445464748"));
}

// RFC 5044 4.1: 0 to 3 zeros after the ULPDU make the FPDU a multiple of four.
TEST(Headers, Pad)
{
	// 14 octets of header and 2 of length are a multiple already; 18 and 2 as well.
	u32 expected[] = {2, 1, 0, 3};

	for (u32 extra = 0; extra < 4; extra++) {
		core_tx_msg write = message(CORE_MSG_WRITE, 2 + extra),
			    send = message(CORE_MSG_SEND, 2 + extra);

		EXPECT_EQ(transmit(write, 1454, Bytes(8)).sent[0].pad, expected[extra]);
		EXPECT_EQ(transmit(send, 1454, Bytes(8)).sent[0].pad, expected[extra]);
	}
}

class RoundTrip : public testing::TestWithParam<std::tuple<u32, u32>> {
protected:
	u32 mulpdu = std::get<0>(GetParam()), length = std::get<1>(GetParam());
	Bytes data = wire::payload(length);
	Stream stream;

	void arrive(core_tx_msg msg, const Bytes &from)
	{
		Sender out = transmit(msg, mulpdu, from);

		stream.feed_pieces(out.stream, mulpdu + length);
		EXPECT_TRUE(stream.between_fpdus());
		EXPECT_EQ(stream.fpdus(), out.sent.size());
		ASSERT_EQ(stream.deliveries.size(), 1u);
	}
};

TEST_P(RoundTrip, Write)
{
	core_tx_msg msg = message(CORE_MSG_WRITE, length);

	stream.host.grant(0x100, 0xfffffffffff00000, length);
	msg.stag = 0x100;
	msg.to = 0xfffffffffff00000;
	arrive(msg, data);
	EXPECT_EQ(stream.deliveries[0].event, CORE_RX_WRITE);
	EXPECT_EQ(stream.host.regions[0x100].memory, data);
}

TEST_P(RoundTrip, ReadResponse)
{
	core_tx_msg msg = message(CORE_MSG_READ_RESPONSE, length);

	stream.host.post_read(0x200, 77, length);
	msg.stag = 0x200;
	msg.to = 77;
	arrive(msg, data);
	EXPECT_EQ(stream.deliveries[0].event, CORE_RX_READ_RESPONSE);
	EXPECT_EQ(stream.deliveries[0].data, data);
}

TEST_P(RoundTrip, EverySend)
{
	for (u8 opcode :
	     {CORE_MSG_SEND, CORE_MSG_SEND_INV, CORE_MSG_SEND_SE, CORE_MSG_SEND_SE_INV}) {
		Stream fresh;
		core_tx_msg msg = message(opcode, length);
		bool inv = opcode == CORE_MSG_SEND_INV || opcode == CORE_MSG_SEND_SE_INV;
		bool solicited = opcode == CORE_MSG_SEND_SE || opcode == CORE_MSG_SEND_SE_INV;

		msg.inv_stag = 0xabcd;
		fresh.host.post_receive(length);
		fresh.feed_pieces(transmit(msg, mulpdu, data).stream, length);
		ASSERT_EQ(fresh.deliveries.size(), 1u);
		EXPECT_EQ(fresh.deliveries[0], (Delivery{CORE_RX_SEND, length, inv ? 0xabcdu : 0,
							 solicited, inv, false, data}));
	}
}

INSTANTIATE_TEST_SUITE_P(Sizes, RoundTrip,
			 testing::Combine(testing::Values(128u, 1454u, 64768u),
					  testing::Values(0u, 1u, 2u, 3u, 4u, 110u, 114u, 1440u,
							  1441u, 70000u)));

TEST(RoundTripOf, ReadRequest)
{
	Stream stream;
	core_read_request request{};
	core_tx_msg msg = message(CORE_MSG_READ_REQUEST, 0);

	request.sink_stag = 9;
	request.sink_to = 0x1111;
	request.length = 4096;
	request.source_stag = 0x300;
	request.source_to = 0x2000;
	msg.request = &request;
	stream.host.grant(0x300, 0x2000, 4096);
	stream.host.read_room = 1;
	stream.feed_octets(transmit(msg, 128, {}).stream);

	ASSERT_EQ(stream.deliveries.size(), 1u);
	EXPECT_EQ(stream.deliveries[0].event, CORE_RX_READ_REQUEST);
	EXPECT_EQ(stream.read_request().sink_stag, request.sink_stag);
	EXPECT_EQ(stream.read_request().sink_to, request.sink_to);
	EXPECT_EQ(stream.read_request().length, request.length);
	EXPECT_EQ(stream.read_request().source_stag, request.source_stag);
	EXPECT_EQ(stream.read_request().source_to, request.source_to);
}

// The other end can parse the Terminate for a refused message.
TEST(RoundTripOf, Terminate)
{
	Stream refusing, refused;
	core_tx_msg msg = message(CORE_MSG_TERMINATE, 0);

	refusing.host.read_room = 1;
	refusing.feed(wire::fpdu(wire::read_request({.length = 1, .source_stag = 5})));
	ASSERT_EQ(refusing.deliveries.at(0).event, CORE_RX_ERROR);
	msg.term = &refusing.term();
	Bytes out = transmit(msg, 128, {}).stream;

	EXPECT_EQ(out.size(), size_t{2 + 18 + CORE_TERM_MAX + 4});
	refused.feed_octets(out);
	ASSERT_EQ(refused.deliveries.size(), 1u);
	EXPECT_EQ(refused.deliveries[0].event, CORE_RX_TERMINATE);
	EXPECT_EQ(memcmp(&refused.term(), &refusing.term(), sizeof(core_terminate)), 0);
	EXPECT_TRUE(refused.over());
}
