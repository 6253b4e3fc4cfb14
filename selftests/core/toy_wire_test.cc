// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The rules of message_rules.hh with another wire format than RDMAP's: a toy whose segments have
// kind, length, place and payload, without FPDUs, markers and CRCs. The rules do not depend on the
// format of headers.
#include "message_rules.hh"
#include "../shared/fake_host.hh"

using namespace srnic;
using wire::Bytes;
using wire::payload;

namespace {

struct ToyHeader {
	u8 kind; // Message
	u8 last;
	be<u16> length;
	be<u32> id;    // the buffer, or the message's number
	be<u64> place; // in it
};
static_assert(sizeof(ToyHeader) == 16);

struct ToyRequest { // the payload of a Read Request
	be<u32> sink, source;
	be<u32> length;
	be<u64> to, from;
};
static_assert(sizeof(ToyRequest) == 28);

Bytes toy(Message kind, bool last, u32 id, u64 place, const Bytes &data)
{
	return Bytes{u8(kind), u8(last)} + wire::be16(data.size()) + wire::be32(id) +
	       wire::be64(place) + data;
}

Bytes toy_request(u32 id, const core_read_request &request)
{
	return toy(Message::read_request, true, id, 0,
		   wire::be32(request.sink_stag) + wire::be32(request.source_stag) +
			   wire::be32(request.length) + wire::be64(request.sink_to) +
			   wire::be64(request.source_to));
}

// One end. It stops at the first error.
class ToyReceiver {
public:
	FakeHost host;
	MessageRules rules;
	Verdict verdict = Verdict::good;
	std::vector<Message> delivered;

	ToyReceiver()
	{
		core_rx_params params{};

		params.ctx = &host;
		params.pd = FakeHost::pd;
		params.qpn = FakeHost::qpn;
		params.first_msn = 100;
		rules.start(params);
	}

	Verdict receive(const Bytes &stream)
	{
		for (size_t at = 0; at < stream.size() && verdict == Verdict::good;)
			at += segment(stream.data() + at);
		return verdict;
	}

private:
	size_t segment(const u8 *octets)
	{
		ToyHeader header = load<ToyHeader>(octets);
		Segment segment = read(header);
		const u8 *data = octets + sizeof(header);

		verdict = begin(segment);
		if (verdict != Verdict::good)
			return 0;
		if (segment.message != Message::read_request && segment.length)
			place(data, segment.length);
		if (segment.last)
			deliver(segment, data);
		return sizeof(header) + segment.length;
	}

	static Segment read(const ToyHeader &header)
	{
		Segment segment{};

		segment.message = Message{header.kind};
		segment.type = header.kind;
		segment.last = header.last;
		segment.length = header.length.host();
		segment.stag = segment.msn = header.id.host();
		segment.to = header.place.host();
		segment.mo = u32(header.place.host());
		return segment;
	}

	Verdict begin(const Segment &segment)
	{
		switch (segment.message) {
		case Message::write:
			return rules.begin_write(segment);
		case Message::read_response:
			return rules.begin_read_response(segment);
		case Message::send:
			return rules.begin_send(segment, false);
		default:
			return rules.begin_read_request(segment, sizeof(ToyRequest));
		}
	}

	// In two pieces.
	void place(const u8 *data, u32 len)
	{
		for (u32 n = (len + 1) / 2; len; data += n, len -= n, n = len) {
			host.place(rules.place(), data, n);
			rules.placed(n);
		}
	}

	void deliver(const Segment &segment, const u8 *data)
	{
		if (segment.message == Message::send) {
			rules.deliver_send(segment);
			host.receive_active = false; // and its bytes stay, for the test
		}
		if (segment.message == Message::read_request) {
			ToyRequest wanted = load<ToyRequest>(data);

			verdict = rules.deliver_read_request(
				{wanted.sink.host(), wanted.length.host(), wanted.source.host(),
				 wanted.to.host(), wanted.from.host()});
		}
		if (verdict == Verdict::good)
			delivered.push_back(segment.message);
	}
};

Bytes send(u32 id, u64 place, size_t len, bool last = true)
{
	return toy(Message::send, last, id, place, payload(len, id));
}

Bytes write(u32 id, u64 place, size_t len, bool last = true)
{
	return toy(Message::write, last, id, place, payload(len, id));
}

Bytes response(u32 id, u64 place, size_t len, bool last = true)
{
	return toy(Message::read_response, last, id, place, payload(len, id));
}

} // namespace

TEST(ToyWire, ASend)
{
	ToyReceiver end;

	end.host.post_receive(50);
	end.host.post_receive(9);
	EXPECT_EQ(end.receive(send(100, 0, 20, false) + send(100, 20, 30)), Verdict::good);
	EXPECT_EQ(end.host.receiving, payload(20, 100) + payload(30, 100));
	EXPECT_EQ(end.rules.message().length, 50u);
	EXPECT_FALSE(end.rules.inside_send());
	EXPECT_EQ(end.receive(send(101, 0, 9)), Verdict::good);
	EXPECT_EQ(end.delivered, std::vector(2, Message::send));
}

TEST(ToyWire, AWrite)
{
	ToyReceiver end;

	end.host.grant(7, 0x1000, 30);
	EXPECT_EQ(end.receive(write(7, 0x1000, 10, false) + write(7, 0x100a, 20)), Verdict::good);
	EXPECT_EQ(end.host.regions[7].memory, payload(10, 7) + payload(20, 7));
	EXPECT_EQ(end.delivered, std::vector{Message::write});
}

TEST(ToyWire, ARead)
{
	const core_read_request request = {1, 40, 7, 0x2000, 0x1000};
	ToyReceiver asked, asking;

	asked.host.grant(7, 0x1000, 40);
	asked.host.read_room = 1;
	EXPECT_EQ(asked.receive(toy_request(100, request)), Verdict::good);
	EXPECT_EQ(asked.rules.asked().read.source_to, 0x1000u);
	EXPECT_EQ(asked.rules.asked().read.length, 40u);
	asking.host.post_read(1, 0x2000, 40);
	EXPECT_EQ(asking.receive(response(1, 0x2000, 11, false) + response(1, 0x200b, 29)),
		  Verdict::good);
	EXPECT_EQ(asking.host.reads.front().memory, payload(11, 1) + payload(29, 1));
	EXPECT_EQ(asking.delivered, std::vector{Message::read_response});
}

TEST(ToyWire, RegionsAreKept)
{
	const std::pair<Bytes, Verdict> cases[] = {
		{write(9, 0x1000, 1), Verdict::stag_invalid},
		{write(7, 0xfff, 2), Verdict::out_of_bounds},
		{write(7, 0x1000, 31), Verdict::out_of_bounds},
		{write(7, ~0ull, 1), Verdict::wraps},
		{write(8, 0x1000, 1), Verdict::foreign},
		{write(6, 0x1000, 1), Verdict::no_access},
		{toy_request(100, {1, 31, 7, 0, 0x1000}), Verdict::out_of_bounds},
		{toy_request(100, {1, 1, 9, 0, 0x1000}), Verdict::stag_invalid},
		{toy_request(100, {1, 1, 5, 0, 0x1000}), Verdict::no_access},
	};

	for (const auto &[stream, verdict] : cases) {
		ToyReceiver end;

		end.host.grant(5, 0x1000, 30, FakeHost::pd, CORE_ACCESS_REMOTE_WRITE);
		end.host.grant(6, 0x1000, 30, FakeHost::pd, CORE_ACCESS_REMOTE_READ);
		end.host.grant(7, 0x1000, 30);
		end.host.grant(8, 0x1000, 30, FakeHost::pd + 1);
		end.host.read_room = 1;
		EXPECT_EQ(end.receive(stream), verdict);
		EXPECT_EQ(end.host.regions[7].memory, Bytes(30));
		EXPECT_TRUE(end.delivered.empty());
	}
}

TEST(ToyWire, ResponsesComeInTheOrderOfTheirReads)
{
	const std::pair<Bytes, Verdict> cases[] = {
		{response(2, 0x3000, 4), Verdict::stag_invalid}, // the second one
		{response(1, 0x2004, 4), Verdict::out_of_bounds},
		{response(1, 0x2000, 9), Verdict::out_of_bounds},
		{response(1, 0x2000, 4), Verdict::wrong_end},
		{response(1, 0x2000, 8, false), Verdict::wrong_end},
	};

	for (const auto &[stream, verdict] : cases) {
		ToyReceiver end, without;

		end.host.post_read(1, 0x2000, 8);
		end.host.post_read(2, 0x3000, 4);
		EXPECT_EQ(end.receive(stream), verdict);
		EXPECT_EQ(end.host.reads.front().memory, Bytes(8));
		EXPECT_EQ(without.receive(stream), Verdict::stag_invalid);
	}
}

TEST(ToyWire, SendsComeInOrderAndFitTheirReceives)
{
	const std::pair<Bytes, Verdict> cases[] = {
		{send(99, 0, 1), Verdict::wrong_msn},
		{send(101, 0, 1), Verdict::wrong_msn},
		{send(100, 1, 1), Verdict::wrong_offset},
		{send(100, 0, 11), Verdict::too_long},
		{send(100, 0, 10, false) + send(100, 10, 1), Verdict::too_long},
		{send(100, 0, 4, false) + send(100, 0, 4), Verdict::wrong_offset},
		{send(100, 0, 1) + send(101, 0, 0), Verdict::no_buffer},
		{toy_request(101, {}), Verdict::wrong_msn},
		{toy_request(100, {}), Verdict::no_buffer}, // no inbound reads were agreed on
	};

	for (const auto &[stream, verdict] : cases) {
		ToyReceiver end;

		end.host.post_receive(10);
		EXPECT_EQ(end.receive(stream), verdict);
	}
}

TEST(ToyWire, AReceiveThatIsNotUsableIsNoFaultOfThePeer)
{
	ToyReceiver end;

	end.host.post_receive(10, CORE_TAKE_BROKEN);
	EXPECT_EQ(end.receive(send(100, 0, 1)), Verdict::local);
}
