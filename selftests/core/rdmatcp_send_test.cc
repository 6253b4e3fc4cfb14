// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA/TCP on transmit (draft-williams-rdmatcp-00 3 and 4): what the scheduler sends, octet by
// octet; and the startup messages of Documentation/rdmatcp.rst.
#include "rdmatcp/rdmatcp.hh"
#include "stream.hh"
#include "../shared/rdmatcp.hh"
#include "api/core.h"
#include "send_end.hh"

namespace rdmatcp = srnic::rdmatcp;

using wire::Bytes;
using wire::payload;
using namespace rdmatcp_wire;

namespace {

constexpr u32 first = 0xfffffffe;

core_tx_params params(bool crc = true)
{
	core_tx_params out{};

	out.framing = CORE_FRAMING_RDMATCP;
	out.connection_id = Segment{}.connection;
	out.first_msn = first;
	out.ord = SendEnd::ord;
	out.crc = crc;
	return out;
}

const Bytes digits = {'1', '2', '3', '4', '5', '6', '7', '8'};

// The octets of payload that the fake host gives.
Bytes data(size_t octets) { return Bytes(octets, 0xaa); }

Bytes sent(u8 opcode, u32 octets, u8 flags = 0, u32 imm_inv = 0)
{
	SendEnd end(params());

	end.post(opcode, octets, flags).imm_inv = imm_inv;
	end.send_all();
	return end.stream;
}

} // namespace

// 3.1. Nothing about a Send needs control data.
TEST(RdmatcpSend, ASend)
{
	EXPECT_EQ(sent(SRNIC_OP_SEND, 33), Bytes(Segment{.number = first, .data = data(33)}));
	EXPECT_EQ(sent(SRNIC_OP_SEND, 0), Bytes(Segment{.number = first}));
}

TEST(RdmatcpSend, SendsWithControlData)
{
	EXPECT_EQ(sent(SRNIC_OP_SEND, 5, SRNIC_WQE_SOLICITED),
		  Bytes(Segment{
			  .number = first, .data = data(5), .control = control(solicited_flag)}));
	EXPECT_EQ(sent(SRNIC_OP_SEND_INV, 5, 0, 0x4711),
		  Bytes(Segment{.number = first,
				.data = data(5),
				.control = control(invalidate_flag, be32(0x4711))}));
	EXPECT_EQ(
		sent(SRNIC_OP_SEND_INV, 0, SRNIC_WQE_SOLICITED, 0x4711),
		Bytes(Segment{.number = first,
			      .control = control(invalidate_flag | solicited_flag, be32(0x4711))}));
}

// 3.2. Without the upper half of its offset where that is zero.
TEST(RdmatcpSend, AWrite)
{
	const Segment expected = {.type = write_type,
				  .number = first,
				  .offset = 0x7000,
				  .id = 0x500,
				  .rdma_length = 9,
				  .data = data(9)};

	EXPECT_EQ(sent(SRNIC_OP_WRITE, 9), Bytes(expected));
}

// Each segment has all that is needed to place it.
TEST(RdmatcpSend, SegmentsOfAWriteAcross4GiB)
{
	constexpr u32 octets = 3000, room = 1456 - 32 - 8;
	SendEnd end(params());
	Bytes expected;
	u64 to = 0xfffffb00;

	end.post(SRNIC_OP_WRITE, octets).remote_addr = to;
	end.send_all();
	for (u32 done = 0; done < octets;) {
		u64 upper = (to + done) >> 32;
		u32 n = std::min(octets - done, room + (upper ? 0 : 8));

		expected = expected +
			   Segment{.type = write_type,
				   .bits = u8((done ? 0 : begin_bit) |
					      (done + n == octets ? end_bit : 0)),
				   .number = first,
				   .offset = u32(to + done),
				   .id = 0x500,
				   .rdma_length = octets,
				   .data = data(n),
				   .control = upper ? control(upper_flag, be32(upper)) : Bytes{}};
		done += n;
	}
	EXPECT_EQ(end.stream, expected);
}

TEST(RdmatcpSend, AWriteWithImmediateData)
{
	SendEnd end(params());
	srnic_send_wqe &wqe = end.post(SRNIC_OP_WRITE_IMM, 3, SRNIC_WQE_SOLICITED);

	memcpy(wqe.arg, digits.data(), 8);
	end.send_all();
	const Segment expected = {.type = write_type,
				  .number = first,
				  .offset = 0x7000,
				  .id = 0x500,
				  .rdma_length = 3,
				  .data = data(3),
				  .control = control(immediate_flag | solicited_flag, digits)};

	EXPECT_EQ(end.stream, Bytes(expected));
	EXPECT_EQ(end.host.built, 1u);
}

TEST(RdmatcpSend, ImmediateDataAloneAreASend)
{
	SendEnd end(params());

	memcpy(end.post(SRNIC_OP_IMM, 0).arg, digits.data(), 8);
	end.send_all();
	EXPECT_EQ(end.stream,
		  Bytes(Segment{.number = first, .control = control(immediate_flag, digits)}));
	EXPECT_EQ(end.host.built, 1u);
}

// Which MPA has not.
TEST(RdmatcpSend, ASendWithImmediateData)
{
	SendEnd end(params());

	memcpy(end.post(SRNIC_OP_IMM, 9, SRNIC_WQE_SOLICITED).arg, digits.data(), 8);
	end.send_all();
	EXPECT_EQ(end.stream,
		  Bytes(Segment{.number = first,
				.data = data(9),
				.control = control(immediate_flag | solicited_flag, digits)}));
	EXPECT_EQ(end.host.built, 1u);
}

// 3.3; the sink is found by the request's number.
TEST(RdmatcpSend, AReadRequest)
{
	SendEnd end(params());

	end.post(SRNIC_OP_SEND, 0);
	end.post(SRNIC_OP_READ, 50).remote_addr = 0x123456789a;
	end.send_all();
	const Segment expected = {.type = read_request_type,
				  .number = first + 1,
				  .offset = 0x3456789a,
				  .id = 0x500,
				  .rdma_length = 50,
				  .control = control(upper_flag, be32(0x12))};

	EXPECT_EQ(end.stream, Segment{.number = first} + Bytes(expected));
	ASSERT_EQ(end.host.reads.size(), 1u);
	EXPECT_EQ(end.host.reads[0].sink.stag, first + 1);
	EXPECT_EQ(end.host.reads[0].sink.to, 0u);
}

// 3.4: a response has its request's number, and is not in the sequence of the others.
TEST(RdmatcpSend, ReadResponses)
{
	SendEnd end(params());

	end.ask(2000);
	end.ask(0);
	end.host.asked[1].read.sink_stag = 0x78;
	end.send_all();
	end.post(SRNIC_OP_SEND, 0);
	end.send_all();
	const Segment begins = {
		.type = read_response_type, .bits = begin_bit, .number = 0x77, .data = data(1432)};
	const Segment ends = {.type = read_response_type,
			      .bits = end_bit,
			      .number = 0x77,
			      .offset = 1432,
			      .data = data(568)};
	const Segment empty = {.type = read_response_type, .number = 0x78};

	EXPECT_EQ(end.stream, begins + ends + empty + Bytes(Segment{.number = first}));
}

// 3.4: one sequence for all but responses, from 2^32 - 1 to 0.
TEST(RdmatcpSend, OneSequenceOfNumbers)
{
	SendEnd end(params());
	Bytes expected;

	end.post(SRNIC_OP_WRITE, 0);
	end.post(SRNIC_OP_SEND, 0);
	end.post(SRNIC_OP_READ, 0);
	end.post(SRNIC_OP_IMM, 0);
	end.send_all();
	for (size_t at = 12, i = 0; i < 4; i++) {
		const u32 length = u32{end.stream[at - 10]} << 8 | end.stream[at - 9];

		expected = expected +
			   Bytes(end.stream.begin() + long(at), end.stream.begin() + long(at) + 4);
		at += (length + 3) / 4 * 4 + 4;
	}
	EXPECT_EQ(expected, be32(first) + be32(first + 1) + be32(first + 2) + be32(first + 3));
}

// 4: a Write does not wait for a Read Response, as it does with MPA.
TEST(RdmatcpSend, AWriteAndAResponseTakeTurns)
{
	SendEnd end(params());
	std::vector<u8> types;

	end.ask(4000);
	end.post(SRNIC_OP_WRITE, 4000);
	end.send_all();
	for (size_t at = 0; at < end.stream.size();) {
		const u32 length = u32{end.stream[at + 2]} << 8 | end.stream[at + 3];

		types.push_back(end.stream[at + 1] & 3);
		at += (length + 3) / 4 * 4 + 4;
	}
	EXPECT_EQ(types, (std::vector<u8>{write_type, read_response_type, write_type,
					  read_response_type, write_type, read_response_type}));
}

// 2: one segment in each TCP segment.
TEST(RdmatcpSend, SegmentsFitTcpSegments)
{
	for (u32 emss : {200, 536, 1448, 1460, 8948, 65483}) {
		SendEnd end(params());

		core_tx_set_emss(&end.tx, emss);
		end.post(SRNIC_OP_SEND, 200000);
		for (u32 len = core_tx_choose(&end.tx); len; len = core_tx_choose(&end.tx)) {
			EXPECT_LE(len, emss);
			EXPECT_TRUE(end.send_one());
			EXPECT_TRUE(end.host.built || len > emss - 4) << len;
		}
	}
}

// Rule 21 of the binding; the length has 16 bits.
TEST(RdmatcpSend, SegmentsAreLongForAPeerThatPrefersThem)
{
	core_tx_params its = params();
	its.long_segments = true;
	SendEnd end(its);

	core_tx_set_emss(&end.tx, 1460);
	end.post(SRNIC_OP_SEND, 100000);
	end.send_all();
	const Segment begins = {.bits = begin_bit, .number = first, .data = data(0xfffc - 24)};
	const Segment ends = {.bits = end_bit,
			      .number = first,
			      .offset = 0xfffc - 24,
			      .data = data(100000 - (0xfffc - 24))};

	EXPECT_EQ(end.stream, begins + Bytes(ends));
}

// The draft has no form for them.
TEST(RdmatcpSend, RefusesAtomicOperations)
{
	SendEnd end(params());

	end.post(SRNIC_OP_FETCH_ADD, 8);
	end.send_all();
	EXPECT_TRUE(end.stream.empty());
	ASSERT_EQ(end.host.completions.size(), 1u);
	EXPECT_EQ(end.host.completions[0].status, SRNIC_WC_LOC_QP_OP_ERR);
}

// It has no error messages either: an error resets the connection.
TEST(RdmatcpSend, SendsNoTerminate)
{
	SendEnd end(params());

	EXPECT_FALSE(end.send_terminate({}));
	end.post(SRNIC_OP_SEND, 1);
	EXPECT_FALSE(end.send_one());
}

// A responder need not wait for the first octet, as it must with MPA (RFC 5044 7.1.2).
TEST(RdmatcpSend, AResponderSendsAtOnce)
{
	SendEnd end(params());

	end.host.validated = false;
	end.post(SRNIC_OP_SEND, 1);
	EXPECT_TRUE(end.send_one());
}

TEST(RdmatcpSend, WithoutCrcsTheFieldIsZero)
{
	SendEnd end(params(false));
	Bytes expected = Segment{.number = first, .data = data(6)};

	std::fill(expected.end() - 4, expected.end(), u8{0});
	end.post(SRNIC_OP_SEND, 6);
	end.send_all();
	EXPECT_EQ(end.stream, expected);
}

// Everything that one end sends, the other takes.
TEST(RdmatcpSend, RoundTrip)
{
	core_rx_params its{};
	std::mt19937 random(1);

	its.framing = CORE_FRAMING_RDMATCP;
	its.connection_id = Segment{}.connection;
	its.first_msn = first;
	its.crc = true;
	for (int round = 0; round < 50; round++) {
		SendEnd end(params());
		Stream stream(its);
		size_t events = 0;

		core_tx_set_emss(&end.tx, 150 + random() % 3000);
		stream.host.grant(0x500, 0xffff0000, 0x40000);
		stream.host.read_room = 100;
		stream.host.post_read(0x77, 0, 5000);
		end.ask(5000);
		for (int i = 0; i < 8; i++, events++) {
			const u8 opcodes[] = {SRNIC_OP_SEND, SRNIC_OP_SEND_INV, SRNIC_OP_WRITE,
					      SRNIC_OP_WRITE_IMM};
			const u32 octets = random() % 4 ? random() % 9000 : random() % 3;

			end.post(opcodes[random() % 4], octets,
				 random() % 2 ? SRNIC_WQE_SOLICITED : 0)
				.remote_addr = 0xffff0000 + random() % 0x30000;
			stream.host.post_receive(9000);
		}
		end.send_all();
		stream.feed_pieces(end.stream, round);
		EXPECT_FALSE(stream.over()) << "fault " << core_rx_fault(&stream.rx);
		EXPECT_EQ(stream.deliveries.size(), events + 1);
		EXPECT_EQ(stream.host.reads.size(), 0u);
	}
}

// ---- startup ----

namespace {

const core_hello a_hello = {.connection_id = Segment{}.connection,
			    .number = 100,
			    .private_len = 5,
			    .ird = 0x0102,
			    .ord = 0x0304,
			    .kind = CORE_HELLO_ACCEPT,
			    .crc = 1,
			    .long_segments = 0};

Segment hello_segment(const Bytes &words = Bytes{2, 1, 0, 0, 1, 2, 3, 4})
{
	return {.data = payload(5), .control = control(startup_flag, words)};
}

Bytes built(const core_hello &hello, const Bytes &data)
{
	Bytes out(CORE_HELLO_MAX);

	out.resize(core_hello_build(&hello, data.data(), out.data()));
	return out;
}

// CORE_RDMATCP_LENGTH also where its length is refused.
core_rdmatcp_fault parsed(const Bytes &octets, core_hello &out, Bytes *data = nullptr)
{
	const u8 *private_data;
	const u32 len = core_hello_len(octets.data());

	if (len != octets.size())
		return CORE_RDMATCP_LENGTH;
	const core_rdmatcp_fault fault = core_hello_parse(octets.data(), len, &out, &private_data);

	if (data && fault == CORE_RDMATCP_FINE)
		data->assign(private_data, private_data + out.private_len);
	return fault;
}

} // namespace

TEST(RdmatcpStartup, TheFirstMessage)
{
	core_hello out{};
	Bytes data;

	EXPECT_EQ(built(a_hello, payload(5)), Bytes(hello_segment()));
	EXPECT_EQ(parsed(hello_segment(), out, &data), CORE_RDMATCP_FINE);
	EXPECT_EQ(data, payload(5));
	EXPECT_EQ(built(out, data), Bytes(hello_segment()));
}

TEST(RdmatcpStartup, AllLengthsOfPrivateData)
{
	for (u16 len = 0; len <= CORE_HELLO_MAX_PRIVATE; len++) {
		core_hello hello = a_hello, out{};
		Bytes data;

		hello.private_len = len;
		hello.kind = static_cast<u8>(1 + len % 3);
		hello.crc = len % 2;
		hello.long_segments = len / 2 % 2;
		EXPECT_EQ(parsed(built(hello, payload(len)), out, &data), CORE_RDMATCP_FINE);
		EXPECT_EQ(data, payload(len));
		EXPECT_EQ(out.kind, hello.kind);
		EXPECT_EQ(out.crc, hello.crc);
		EXPECT_EQ(out.long_segments, hello.long_segments);
	}
}

// Rule 21 of the binding: each end for what comes to it.
TEST(RdmatcpStartup, LongSegmentsAreWhatTheReceiverPrefers)
{
	core_startup_local local{};
	const u64 random[2] = {};
	core_startup_agreed agreed{};

	local.max_ird = 8;
	for (u8 prefers : {0, 1}) {
		core_hello connect{}, reply{};

		core_hello_connect(&local, 0, random, &connect);
		EXPECT_EQ(connect.long_segments, 1);
		connect.long_segments = prefers;
		core_hello_respond(&connect, &local, false, 0, 0, &reply, &agreed);
		EXPECT_EQ(agreed.long_segments, prefers);
		EXPECT_EQ(reply.long_segments, 1);
		reply.long_segments = prefers;
		core_hello_conclude(&connect, &reply, &local, &agreed);
		EXPECT_EQ(agreed.long_segments, prefers);
	}
}

TEST(RdmatcpStartup, WhatIsNoFirstMessage)
{
	const auto with = [](const std::function<void(Segment &)> &change) {
		Segment segment = hello_segment();

		change(segment);
		return Bytes(segment);
	};
	const Bytes wrong[] = {
		with([](auto &s) { s.version = 2; }),
		with([](auto &s) { s.version = 'M'; }), // an MPA Request
		with([](auto &s) { s.type = read_response_type; }),
		with([](auto &s) { s.bits = begin_bit; }),
		with([](auto &s) { s.bits = end_bit; }),
		with([](auto &s) { s.offset = 1; }),
		with([](auto &s) { s.length_more = -6 - 12; }),
		with([](auto &s) { s.length_more = 508; }),
		with([](auto &s) { s.data = payload(513); }),
	};

	for (const Bytes &octets : wrong)
		EXPECT_EQ(core_hello_len(octets.data()), 0u);
}

TEST(RdmatcpStartup, WrongFirstMessages)
{
	const std::pair<Bytes, core_rdmatcp_fault> wrong[] = {
		{Segment{.data = payload(5)}, CORE_RDMATCP_CONTROL},
		{Segment{.control = control(startup_flag, be32(1))}, CORE_RDMATCP_CONTROL},
		{Segment{.control = control(startup_flag | solicited_flag, be64(1))},
		 CORE_RDMATCP_CONTROL},
		{Segment{.control = Bytes{2, 0, 0, 8} + be64(1)}, CORE_RDMATCP_CONTROL},
		{hello_segment(Bytes(8)), CORE_RDMATCP_CONTROL},
		{hello_segment(Bytes{4, 0, 0, 0, 0, 0, 0, 0}), CORE_RDMATCP_CONTROL},
	};
	Bytes bad_crc = hello_segment();
	core_hello out;

	for (const auto &[octets, fault] : wrong)
		EXPECT_EQ(parsed(octets, out), fault);
	for (size_t i = 4; i < bad_crc.size(); i++) {
		bad_crc = hello_segment();
		bad_crc[i] ^= 1;
		if (core_hello_len(bad_crc.data())) {
			EXPECT_EQ(parsed(bad_crc, out), CORE_RDMATCP_CRC) << i;
		}
	}
}

// Later versions of this binding may say more.
TEST(RdmatcpStartup, MoreControlDataThanIsKnown)
{
	Segment more = hello_segment(Bytes{1, 0, 9, 9, 0, 7, 0, 8} + payload(4 * 252));
	core_hello out{};
	Bytes data;

	more.control[2] = 0xff; // flags that need not be known
	EXPECT_EQ(parsed(more, out, &data), CORE_RDMATCP_FINE);
	EXPECT_EQ(data, payload(5));
	EXPECT_EQ(out.ird, 7);
	EXPECT_EQ(out.kind, CORE_HELLO_CONNECT);
}

// ---- CRC-32 (3.4) ----

// Worked out as the remainder of a division of polynomials, bit by bit.
TEST(RdmatcpCrc, Vectors)
{
	EXPECT_EQ(crc32(digits + Bytes{'9'}), hex("1e667ee0"));
	EXPECT_EQ(crc32(Bytes(32, 0)), hex("8c99f1f2"));
	EXPECT_EQ(crc32(Bytes(32, 0xff)), hex("71184f65"));
}

TEST(RdmatcpCrc, AnyLengthInAnyPieces)
{
	for (u32 len = 0; len < 100; len++)
		for (u32 cut = 0; cut <= len; cut += 1 + len / 9) {
			const Bytes octets = payload(len);
			u32 sum = rdmatcp::add_to_crc(rdmatcp::crc_seed, octets.data(), cut);
			Bytes field(4);

			sum = rdmatcp::add_to_crc(sum, octets.data() + cut, len - cut);
			rdmatcp::put_crc(sum, field.data());
			EXPECT_EQ(field, crc32(octets));
			EXPECT_TRUE(rdmatcp::is_crc(sum, field.data()));
			field[len % 4]++;
			EXPECT_FALSE(rdmatcp::is_crc(sum, field.data()));
		}
}
