// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA/TCP on receive: every field of draft-williams-rdmatcp-00 3 and 4, and the control data of
// Documentation/rdmatcp.rst.
#include "../shared/rdmatcp.hh"
#include "api/core.h"
#include "stream.hh"

using wire::Bytes;
using wire::payload;
using namespace rdmatcp_wire;

namespace {

constexpr u32 first = 100, id = 0x77;
constexpr u64 base = 0xfffff000, length = 0x3000; // across 4 GiB

core_rx_params params(bool crc = true)
{
	core_rx_params out{};

	out.framing = CORE_FRAMING_RDMATCP;
	out.connection_id = Segment{}.connection;
	out.first_msn = first;
	out.crc = crc;
	return out;
}

// A stream into a host that grants, has receives, and has asked for two reads.
struct End : Stream {
	explicit End(bool crc = true) : Stream(params(crc))
	{
		host.post_receive(100);
		host.grant(id, base, length);
		host.grant(0x99, base, length, FakeHost::pd + 1);
		host.grant(0x55, base, length, FakeHost::pd, 0);
		host.read_room = 4;
		host.post_receive(100);
		host.post_receive(100);
		host.post_read(31, 0, 50);
		host.post_read(32, 0, 0);
	}
	core_rdmatcp_fault fault() const { return core_rx_fault(&rx); }
};

// Feeds it whole, octet by octet, and in random pieces.
template <class Check> void in_all_pieces(const Bytes &octets, Check check, bool crc = true)
{
	for (int way = 0; way < 4; way++) {
		End end(crc);

		if (way == 0)
			end.feed(octets);
		else if (way == 1)
			end.feed_octets(octets);
		else
			end.feed_pieces(octets, way);
		check(end);
	}
}

Bytes a_write_of(u64 to, const Bytes &data, u32 number = first, u8 bits = both_bits, u32 whole = 0)
{
	return Segment{.type = write_type,
		       .bits = bits,
		       .number = number,
		       .offset = u32(to),
		       .rdma_length = whole ? whole : u32(data.size()),
		       .data = data,
		       .control = control(upper_flag, be32(to >> 32))};
}

Bytes a_send(const Bytes &data, u32 number = first, u8 bits = both_bits, u32 offset = 0)
{
	return Segment{.bits = bits, .number = number, .offset = offset, .data = data};
}

Bytes a_response(u32 number, u32 offset, const Bytes &data, u8 bits)
{
	return Segment{.type = read_response_type,
		       .bits = bits,
		       .number = number,
		       .offset = offset,
		       .data = data};
}

Bytes a_read(u32 number, u64 from, u32 octets)
{
	return Segment{.type = read_request_type,
		       .number = number,
		       .offset = u32(from),
		       .rdma_length = octets,
		       .control = control(upper_flag, be32(from >> 32))};
}

Bytes memory(End &end, u64 from, size_t octets)
{
	const Bytes &all = end.host.regions[id].memory;

	return Bytes(all.begin() + long(from - base), all.begin() + long(from - base + octets));
}

void want_events(const End &end, const std::vector<core_rx_event> &events)
{
	std::vector<core_rx_event> were;

	for (const Delivery &delivery : end.deliveries)
		were.push_back(delivery.event);
	EXPECT_EQ(were, events);
	EXPECT_EQ(end.fault(), CORE_RDMATCP_FINE);
}

} // namespace

// ---- messages ----

TEST(RdmatcpReceive, ASend)
{
	in_all_pieces(a_send(payload(33)), [](End &end) {
		want_events(end, {CORE_RX_SEND});
		EXPECT_EQ(end.deliveries[0].data, payload(33));
		EXPECT_TRUE(core_rx_between(&end.rx));
		EXPECT_EQ(end.fpdus(), 1u);
	});
}

// 3.4, Data Offset: the payload of all segments before.
TEST(RdmatcpReceive, ASendOfThreeSegments)
{
	const Bytes data = payload(90);
	const Bytes all = a_send(Bytes(data.begin(), data.begin() + 31), first, begin_bit) +
			  a_send(Bytes(data.begin() + 31, data.begin() + 60), first, 0, 31) +
			  a_send(Bytes(data.begin() + 60, data.end()), first, end_bit, 60);

	in_all_pieces(all, [&](End &end) {
		want_events(end, {CORE_RX_SEND});
		EXPECT_EQ(end.deliveries[0].data, data);
	});
}

// 3.4, RDMA Buffer Offset: incremented in each segment; the binding has 64 bits of it.
TEST(RdmatcpReceive, AWriteAcross4GiB)
{
	const Bytes data = payload(3000);
	const u64 to = 0xfffffc00;
	const Bytes all =
		a_write_of(to, Bytes(data.begin(), data.begin() + 1024), first, begin_bit, 3000) +
		a_write_of(to + 1024, Bytes(data.begin() + 1024, data.begin() + 2000), first, 0,
			   3000) +
		a_write_of(to + 2000, Bytes(data.begin() + 2000, data.end()), first, end_bit, 3000);

	in_all_pieces(all, [&](End &end) {
		want_events(end, {CORE_RX_WRITE});
		EXPECT_EQ(memory(end, to, 3000), data);
	});
}

TEST(RdmatcpReceive, AReadRequest)
{
	in_all_pieces(a_read(first, base + 5, 0x2000), [](End &end) {
		want_events(end, {CORE_RX_READ_REQUEST});
		EXPECT_EQ(end.read_request().source_stag, id);
		EXPECT_EQ(end.read_request().source_to, base + 5);
		EXPECT_EQ(end.read_request().length, 0x2000u);
		EXPECT_EQ(end.read_request().sink_stag, first); // the response's number
	});
}

TEST(RdmatcpReceive, ReadResponses)
{
	const Bytes data = payload(50);
	const Bytes all = a_response(31, 0, Bytes(data.begin(), data.begin() + 17), begin_bit) +
			  a_response(31, 17, Bytes(data.begin() + 17, data.end()), end_bit) +
			  a_response(32, 0, {}, both_bits);

	in_all_pieces(all, [&](End &end) {
		want_events(end, {CORE_RX_READ_RESPONSE, CORE_RX_READ_RESPONSE});
		EXPECT_EQ(end.deliveries[0].data, data);
	});
}

// 4: between the two groups segments may be interleaved arbitrarily.
TEST(RdmatcpReceive, ResponsesAmongSegmentsOfAWrite)
{
	const Bytes data = payload(50);
	const Bytes all = a_write_of(base, payload(40), first, begin_bit, 80) +
			  a_response(31, 0, Bytes(data.begin(), data.begin() + 17), begin_bit) +
			  a_write_of(base + 40, payload(40, 2), first, end_bit, 80) +
			  a_send({}, first + 1) +
			  a_response(31, 17, Bytes(data.begin() + 17, data.end()), end_bit);

	in_all_pieces(all, [&](End &end) {
		want_events(end, {CORE_RX_WRITE, CORE_RX_SEND, CORE_RX_READ_RESPONSE});
		EXPECT_EQ(end.deliveries[2].data, data);
		EXPECT_EQ(memory(end, base, 80), payload(40) + payload(40, 2));
	});
}

// 3.4: all three types of messages are one sequence, which wraps to 0.
TEST(RdmatcpReceive, OneSequenceOfNumbersAcrossItsWrap)
{
	core_rx_params its = params();
	u32 number = its.first_msn = 0xfffffffe;
	Stream stream(its);

	stream.host.grant(id, base, length);
	stream.host.read_room = 4;
	stream.host.post_receive(100);
	stream.feed(a_write_of(base, payload(4), number));
	stream.feed(a_send(payload(4), number + 1));
	stream.feed(a_read(number + 2, base, 4));
	EXPECT_EQ(stream.deliveries.size(), 3u);
	EXPECT_EQ(stream.read_request().sink_stag, 0u);
	EXPECT_FALSE(stream.over());
}

// 3.4, Order: an in-order receiver complies with any value.
TEST(RdmatcpReceive, AnyOrder)
{
	for (u16 order : {0, 5, 0xffff}) {
		Segment first_write = {.type = write_type, .rdma_length = 4, .data = payload(4)};
		Segment second = first_write;

		first_write.control = second.control = control(upper_flag, be32(0));
		first_write.offset = second.offset = u32(base);
		second.data = payload(4, 2);
		second.number++;
		first_write.order = second.order = order;
		in_all_pieces(first_write + second, [](End &end) {
			want_events(end, {CORE_RX_WRITE, CORE_RX_WRITE});
			EXPECT_EQ(memory(end, base, 4), payload(4, 2));
		});
	}
}

// 3.4, Res, padding: not checked.
TEST(RdmatcpReceive, ReservedBitsAndPaddingAreIgnored)
{
	const Bytes all = Segment{.data = payload(5), .reserved = 0x0f, .pad = 0xee};

	in_all_pieces(all, [](End &end) { want_events(end, {CORE_RX_SEND}); });
}

// Any message may be ended by a segment without payload.
TEST(RdmatcpReceive, EmptyLastSegments)
{
	const Bytes data = payload(50);
	const Bytes all = a_send(payload(9), first, begin_bit) + a_send({}, first, end_bit, 9) +
			  a_write_of(base, payload(8), first + 1, begin_bit, 8) +
			  a_write_of(base + 8, {}, first + 1, end_bit, 8) +
			  a_response(31, 0, data, begin_bit) + a_response(31, 50, {}, end_bit);

	in_all_pieces(all, [&](End &end) {
		want_events(end, {CORE_RX_SEND, CORE_RX_WRITE, CORE_RX_READ_RESPONSE});
		EXPECT_EQ(end.deliveries[2].data, data);
		EXPECT_EQ(memory(end, base, 8), payload(8));
	});
}

TEST(RdmatcpReceive, MessagesWithoutOctets)
{
	const Bytes all = a_send({}) + a_write_of(1, {}, first + 1) + a_read(first + 2, 1, 0);

	in_all_pieces(all, [](End &end) {
		want_events(end, {CORE_RX_SEND, CORE_RX_WRITE, CORE_RX_READ_REQUEST});
	});
}

// ---- control data ----

TEST(RdmatcpControl, KindsOfSends)
{
	const Bytes digits = {1, 2, 3, 4, 5, 6, 7, 8};
	const Bytes all =
		Segment{.data = payload(3), .control = control(solicited_flag)} +
		Segment{.number = first + 1, .control = control(invalidate_flag, be32(0x4711))} +
		Bytes(Segment{.number = first + 2,
			      .data = payload(5),
			      .control = control(immediate_flag, digits)});

	in_all_pieces(all, [&](End &end) {
		want_events(end, {CORE_RX_SEND, CORE_RX_SEND, CORE_RX_SEND});
		EXPECT_TRUE(end.deliveries[0].solicited);
		EXPECT_FALSE(end.deliveries[0].invalidate);
		EXPECT_EQ(end.deliveries[0].data, payload(3));
		EXPECT_TRUE(end.deliveries[1].invalidate);
		EXPECT_EQ(end.deliveries[1].inv_stag, 0x4711u);
		EXPECT_FALSE(end.deliveries[1].solicited);
		EXPECT_EQ(end.deliveries[2].with, digits);
		EXPECT_EQ(end.deliveries[2].data, payload(5));
		EXPECT_FALSE(end.deliveries[2].immediate);
	});
}

TEST(RdmatcpControl, AWriteWithImmediateData)
{
	Segment begins = {.type = write_type,
			  .bits = begin_bit,
			  .offset = u32(base),
			  .rdma_length = 30,
			  .data = payload(20)};
	Segment ends = begins;

	begins.control = control(upper_flag, be32(0));
	ends.bits = end_bit;
	ends.offset += 20;
	ends.data = payload(10, 2);
	ends.control = control(upper_flag | immediate_flag | solicited_flag,
			       be32(0) + Bytes{8, 7, 6, 5, 4, 3, 2, 1});
	in_all_pieces(begins + ends, [](End &end) {
		want_events(end, {CORE_RX_SEND});
		EXPECT_TRUE(end.deliveries[0].immediate);
		EXPECT_TRUE(end.deliveries[0].solicited);
		EXPECT_EQ(end.deliveries[0].length, 30u);
		EXPECT_EQ(end.deliveries[0].data, (Bytes{8, 7, 6, 5, 4, 3, 2, 1}));
		EXPECT_EQ(memory(end, base, 30), payload(20) + payload(10, 2));
		EXPECT_EQ(end.host.receives.size(), 2u);
	});
}

// Unknown flags in the upper octet, their words, and words that no flag announces.
TEST(RdmatcpControl, WhatNeedNotBeKnownIsIgnored)
{
	for (size_t more : {0, 1, 8, 200, 253}) {
		const Bytes words = be32(0x4711) + payload(4 * more);
		const Bytes all = Segment{.data = payload(9),
					  .control = control(0xff00 | invalidate_flag, words)} +
				  Bytes(a_send(payload(2), first + 1));

		in_all_pieces(all, [](End &end) {
			want_events(end, {CORE_RX_SEND, CORE_RX_SEND});
			EXPECT_EQ(end.deliveries[0].inv_stag, 0x4711u);
			EXPECT_EQ(end.deliveries[0].data, payload(9));
		});
	}
}

// ---- each check, besides the attacks of rdmatcp_attacks_test.cc ----

struct Wrong {
	const char *name;
	Bytes octets;
	core_rdmatcp_fault fault;
};

static std::string name_of(const testing::TestParamInfo<Wrong> &of) { return of.param.name; }

static void PrintTo(const Wrong &wrong, std::ostream *out) { *out << wrong.name; }

class RdmatcpRefused : public testing::TestWithParam<Wrong> {};

// Nothing is placed or delivered by a segment whose header is wrong, nor after it.
TEST_P(RdmatcpRefused, InEveryCut)
{
	in_all_pieces(GetParam().octets + a_send(payload(3), first + 1), [](End &end) {
		EXPECT_EQ(end.fault(), GetParam().fault);
		ASSERT_FALSE(end.deliveries.empty());
		EXPECT_EQ(end.deliveries.back().event, CORE_RX_ERROR);
		EXPECT_TRUE(end.over());
		EXPECT_LE(end.deliveries.size(), 2u);
	});
}

static Segment a_write(u32 more = 0)
{
	return {.type = write_type,
		.offset = u32(base),
		.rdma_length = 8 + more,
		.data = payload(8),
		.control = control(upper_flag, be32(0))};
}

static Segment with(Segment segment, const std::function<void(Segment &)> &change)
{
	change(segment);
	return segment;
}

static Bytes two_of_a_write(const std::function<void(Segment &)> &change)
{
	Segment one = a_write(8), two = a_write(8);

	one.bits = begin_bit;
	two.bits = end_bit;
	two.offset += 8;
	change(two);
	return one + Bytes(two);
}

INSTANTIATE_TEST_SUITE_P(Send, RdmatcpRefused,
			 testing::Values(Wrong{"TooLongAtTheEnd",
					       a_send(payload(100), first, begin_bit) +
						       a_send(payload(1), first, end_bit, 100),
					       CORE_RDMATCP_TOO_LONG}),
			 name_of);

INSTANTIATE_TEST_SUITE_P(Write, RdmatcpRefused,
			 testing::Values(Wrong{"MoreThanItSaysLater",
					       two_of_a_write([](auto &w) {
						       w.rdma_length = 16;
						       w.bits = 0;
					       }) + Bytes(with(a_write(8),
							       [](auto &w) {
								       w.offset += 16;
								       w.bits = end_bit;
								       w.rdma_length = 16;
							       })),
					       CORE_RDMATCP_LENGTH},
					 Wrong{"AnotherUpperOffset", two_of_a_write([](auto &w) {
						       w.control = control(upper_flag, be32(1));
					       }),
					       CORE_RDMATCP_OFFSET},
					 Wrong{"MoreThanTheRest",
					       two_of_a_write([](auto &w) { w.data = payload(9); }),
					       CORE_RDMATCP_LENGTH}),
			 name_of);

static Segment a_request()
{
	return {.type = read_request_type,
		.offset = u32(base),
		.rdma_length = 8,
		.control = control(upper_flag, be32(0))};
}

INSTANTIATE_TEST_SUITE_P(
	Read, RdmatcpRefused,
	testing::Values(Wrong{"RequestOutOfBounds",
			      with(a_request(), [](auto &r) { r.rdma_length = length + 1; }),
			      CORE_RDMATCP_BOUNDS},
			Wrong{"ResponseTooLongLater",
			      a_response(31, 0, payload(50), begin_bit) +
				      a_response(31, 50, payload(1), end_bit),
			      CORE_RDMATCP_BOUNDS},
			Wrong{"ResponseBeginsTwice",
			      a_response(31, 0, payload(20), begin_bit) +
				      a_response(31, 20, payload(30), both_bits),
			      CORE_RDMATCP_BITS},
			Wrong{"ResponseOffset",
			      a_response(31, 0, payload(20), begin_bit) +
				      a_response(31, 19, payload(30), end_bit),
			      CORE_RDMATCP_OFFSET},
			Wrong{"ResponseOffsetWithoutPayload",
			      a_response(31, 0, payload(20), begin_bit) + a_response(31, 19, {}, 0),
			      CORE_RDMATCP_OFFSET}),
	name_of);

static Segment controlled(const Bytes &octets, u8 type = send_type, u8 bits = both_bits)
{
	return {.type = type,
		.bits = bits,
		.offset = type == write_type ? u32(base) : 0,
		.control = octets};
}

INSTANTIATE_TEST_SUITE_P(
	ControlData, RdmatcpRefused,
	testing::Values(Wrong{"HalfOfTheImmediateData",
			      controlled(control(immediate_flag, be32(1))), CORE_RDMATCP_CONTROL},
			Wrong{"ImmediateDataBeforeTheEnd",
			      controlled(control(immediate_flag, be64(1)), write_type, begin_bit),
			      CORE_RDMATCP_CONTROL},
			Wrong{"SolicitedRead",
			      controlled(control(solicited_flag), read_request_type),
			      CORE_RDMATCP_CONTROL}),
	name_of);

TEST(RdmatcpReceive, NoReceive)
{
	const Bytes three = a_send({}) + a_send({}, first + 1) + a_send({}, first + 2);
	const Bytes imm = Segment{.type = write_type,
				  .number = first + 3,
				  .control = control(immediate_flag, be64(1))};

	for (const Bytes &fourth : {a_send({}, first + 3), imm})
		in_all_pieces(three + fourth, [](End &end) {
			EXPECT_EQ(end.fault(), CORE_RDMATCP_NO_BUFFER);
			EXPECT_EQ(end.deliveries.size(), 4u);
		});
}

TEST(RdmatcpReceive, MoreReadsThanAgreed)
{
	End end;

	end.host.read_room = 0;
	end.feed(a_request());
	EXPECT_EQ(end.fault(), CORE_RDMATCP_NO_BUFFER);
}

// Both ends agreed on no CRCs: the field is there and means nothing.
TEST(RdmatcpReceive, WithoutCrcs)
{
	Bytes all = a_send(payload(6)) + a_write_of(base, payload(9), first + 1);

	all[24 + 8] ^= 0xff;
	in_all_pieces(
		all,
		[](End &end) {
			want_events(end, {CORE_RX_SEND, CORE_RX_WRITE});
		},
		false);
}

// A region that goes while a segment is taken, and an error of the host's own.
TEST(RdmatcpReceive, TheHostFails)
{
	End one, two;

	EXPECT_EQ(core_rx_fail(&one.rx, CORE_REGION_INVALID), CORE_RX_ERROR);
	EXPECT_EQ(one.fault(), CORE_RDMATCP_BUFFER_ID);
	EXPECT_EQ(core_rx_fail_invalidate(&two.rx, CORE_REGION_OK), CORE_RX_ERROR);
	EXPECT_EQ(two.fault(), CORE_RDMATCP_LOCAL);
	EXPECT_TRUE(one.over() && two.over());
}

TEST(RdmatcpReceive, BetweenMessagesOnly)
{
	const Bytes all =
		a_send(payload(4), first, begin_bit) + a_send(payload(4), first, end_bit, 4);
	End end;

	for (size_t i = 0; i < all.size(); i++) {
		EXPECT_EQ(core_rx_between(&end.rx), i == 0) << i;
		end.feed({all[i]});
	}
	EXPECT_TRUE(core_rx_between(&end.rx));
	end.feed(a_response(31, 0, payload(20), begin_bit));
	EXPECT_FALSE(core_rx_between(&end.rx));
}
