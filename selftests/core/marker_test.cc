// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Markers (RFC 5044 4.2 to 4.5, 7.1.2 rule 7 and 8): what the core sends and accepts, compared with
// an encoder and a decoder that work one octet at a time.
#include "stream.hh"
#include "sender.hh"

using wire::Bytes;
using wire::hex;

static void add(Bytes &to, const Bytes &octets)
{
	to.insert(to.end(), octets.begin(), octets.end());
}

// ---- The reference ----

// Inserts a marker wherever the length of the stream is a multiple of 512.
struct SlowSender {
	Bytes stream;
	// What to do to the marker that starts at this octet of the stream.
	std::map<size_t, std::function<void(u8 *)>> forgeries = {};

	void send(const Bytes &ulpdu, u8 pad_octet = 0)
	{
		Bytes fields = wire::be16(ulpdu.size()) + ulpdu;

		while (fields.size() % 4)
			fields.push_back(pad_octet);
		length_at = none;
		covered.clear();
		for (u8 octet : fields)
			put(octet);
		// Before the CRC field, so covered by it (4.4).
		if (stream.size() % 512 == 0)
			put_marker();
		u32 crc = wire::crc32c(covered);

		for (u32 i = 0; i < 4; i++)
			stream.push_back(static_cast<u8>(crc >> (8 * i)));
	}

private:
	static constexpr size_t none = ~size_t{0};
	size_t length_at = none; // where the FPDU's ULPDU_Length starts
	Bytes covered;

	void put(u8 octet)
	{
		if (stream.size() % 512 == 0)
			put_marker();
		if (length_at == none)
			length_at = stream.size();
		stream.push_back(octet);
		covered.push_back(octet);
	}
	void put_marker()
	{
		Bytes marker = wire::be32(length_at == none ? 0 : stream.size() - length_at);
		auto forgery = forgeries.find(stream.size());

		if (forgery != forgeries.end())
			forgery->second(marker.data());
		add(stream, marker);
		add(covered, marker);
	}
};

// The ULPDUs of a stream; fails with a message if the stream is wrong.
struct SlowReceiver {
	const Bytes &stream;
	size_t at = 0;
	Bytes covered = {};
	size_t length_at = 0;
	bool inside = false;

	std::vector<Bytes> ulpdus()
	{
		std::vector<Bytes> out;

		while (at < stream.size() && !testing::Test::HasFailure())
			out.push_back(ulpdu());
		return out;
	}

private:
	Bytes ulpdu()
	{
		Bytes out;

		covered.clear();
		inside = false;
		size_t len = static_cast<size_t>(octet()) << 8;
		len |= octet();
		for (size_t i = 0; i < len; i++)
			out.push_back(octet());
		for (size_t i = 2 + len; i % 4; i++)
			EXPECT_EQ(octet(), 0);
		marker_if_any();
		u32 crc = wire::crc32c(covered), field = 0;

		for (u32 i = 0; i < 4; i++)
			field |= u32{raw()} << (8 * i);
		EXPECT_EQ(field, crc);
		return out;
	}
	u8 raw() { return at < stream.size() ? stream[at++] : 0; }
	u8 octet()
	{
		marker_if_any();
		if (!inside)
			length_at = at;
		inside = true;
		covered.push_back(raw());
		return covered.back();
	}
	void marker_if_any()
	{
		if (at % 512)
			return;
		size_t back = inside ? at - length_at : 0;
		Bytes marker(stream.begin() + static_cast<long>(at),
			     stream.begin() + static_cast<long>(at + 4));

		EXPECT_EQ(marker, wire::be16(0) + wire::be16(back)) << "at " << at;
		at += 4;
		add(covered, marker);
	}
};

// ---- What the core sends ----

struct MarkedSender : Sender {
	MarkedSender() : Sender(true) {}
};

static core_tx_msg aimed(u8 opcode, size_t length, u32 msn = 1)
{
	core_tx_msg msg = message(opcode, length, msn);

	msg.stag = 0x100;
	msg.to = 0x1000;
	return msg;
}

static Bytes write_of(const Bytes &data)
{
	return wire::Tagged{.stag = 0x100, .to = 0x1000, .data = data};
}

// ---- Sending ----

// 7.1.2 rule 7, and figure 5: a marker of zero, and then the FPDU.
TEST(MarkersSent, FigureFive)
{
	MarkedSender sender;

	sender.send(aimed(CORE_MSG_SEND, 24), Bytes(24));
	EXPECT_EQ(sender.stream, hex("00000000 002a 4143 00000000 00000000 00000001 00000000") +
					 Bytes(24) + hex("52239983"));
}

// Figure 6: the second FPDU of a stream whose first ends at octet 492; its marker points 0x14
// octets back.
TEST(MarkersSent, FigureSix)
{
	MarkedSender sender;

	sender.send(aimed(CORE_MSG_SEND, 492 - 4 - 20 - 4), Bytes(492 - 28));
	ASSERT_EQ(sender.stream.size(), 492u);
	sender.send(aimed(CORE_MSG_SEND, 24, 2), Bytes(24));
	EXPECT_EQ(Bytes(sender.stream.begin() + 492, sender.stream.end()),
		  hex("002a 4143 00000000 00000000 00000002 00000000 00000014") + Bytes(24) +
			  hex("84925898"));
}

// 4.3, with FPDUs of every size, one after the other.
TEST(MarkersSent, AsTheReferenceHasThem)
{
	for (u32 step : {1u, 2u, 3u, 5u, 129u}) {
		MarkedSender sender;
		SlowSender slow;

		for (u32 len = 0; len < 1600; len += step) {
			Bytes data = wire::payload(len, len);

			sender.send(aimed(CORE_MSG_WRITE, len), data);
			slow.send(write_of(data));
		}
		ASSERT_TRUE(sender.stream == slow.stream) << step;
	}
}

// 4.3, for FPDUs with many markers, up to the longest.
TEST(MarkersSent, LongFpdus)
{
	MarkedSender sender;
	SlowSender slow;

	for (u32 len : {64754u, 1u, 64753u, 8948u, 64752u, 0u, 64751u, 32768u, 498u, 64754u}) {
		Bytes data = wire::payload(len, len);

		sender.send(aimed(CORE_MSG_WRITE, len), data);
		slow.send(write_of(data));
	}
	EXPECT_TRUE(sender.stream == slow.stream);
}

// 4.3: a marker between two FPDUs belongs to the second, and is zero: it is sent with that.
TEST(MarkersSent, BetweenTwoFpdus)
{
	MarkedSender sender;

	sender.send(aimed(CORE_MSG_WRITE, 512 - 4 - 16 - 4), Bytes(488));
	EXPECT_EQ(sender.stream.size(), 512u);
	sender.send(aimed(CORE_MSG_WRITE, 0), {});
	EXPECT_EQ(Bytes(sender.stream.begin() + 512, sender.stream.begin() + 518),
		  hex("00000000 000e"));
}

// 4.4, 1: one between pad and CRC field is covered by that CRC, and points back.
TEST(MarkersSent, BetweenPadAndCrc)
{
	MarkedSender sender;

	sender.send(aimed(CORE_MSG_WRITE, 512 - 4 - 16 - 3), Bytes(489, 0x77));
	EXPECT_EQ(sender.stream.size(), 512u + 4 + 4);
	EXPECT_EQ(Bytes(sender.stream.begin() + 508, sender.stream.begin() + 516),
		  hex("77 000000 0000 01fc"));
	EXPECT_EQ(SlowReceiver{sender.stream}.ulpdus().size(), 1u);
}

// The independent decoder finds what was sent.
TEST(MarkersSent, TheReferenceReadsThem)
{
	MarkedSender sender;
	Bytes data = wire::payload(300000);
	core_tx_msg msg = aimed(CORE_MSG_WRITE, data.size());

	for (u32 mulpdu : {128u, 1442u, 64768u})
		sender.send(msg, data, mulpdu);
	Bytes got;

	for (const Bytes &ulpdu : SlowReceiver{sender.stream}.ulpdus())
		got.insert(got.end(), ulpdu.begin() + 14, ulpdu.end());
	EXPECT_TRUE(got == data + data + data);
}

// 4.5: "the worst-case number of Markers" leaves enough room wherever an FPDU of MULPDU starts, and
// wastes no more than 4.5 does.
TEST(MarkersSent, FpdusFitTheEmss)
{
	for (u32 emss = 160; emss < 66000; emss = emss < 10000 ? emss + 1 : emss + 997) {
		u32 mulpdu = core_mpa_mulpdu(emss, true), longest = 0;

		for (u16 left = 0; left <= 508; left = static_cast<u16>(left + 4)) {
			core_markers markers{1, left, 0};

			longest = std::max(
				longest, core_markers_len(&markers, (mulpdu + 2 + 3) / 4 * 4 + 4));
		}
		ASSERT_LE(longest, emss);
		if (mulpdu < 64768) {
			ASSERT_GT(longest + 12, emss);
		}
	}
}

// ---- Receiving ----

// A peer that writes anywhere, and the memory it may write to.
struct Marked : Stream {
	explicit Marked(bool crc = true, u32 room = 70000) : Stream(crc, 0, true)
	{
		host.grant(0x100, 0x1000, room);
	}

	void expect_refused(u8 code)
	{
		ASSERT_FALSE(deliveries.empty());
		EXPECT_EQ(deliveries.back().event, CORE_RX_ERROR);
		EXPECT_EQ(term().layer, CORE_LAYER_LLP);
		EXPECT_EQ(term().etype, 0);
		EXPECT_EQ(term().code, code);
		EXPECT_FALSE(term().has_ddp || term().has_rdmap);
		EXPECT_TRUE(over());
	}
	Bytes memory(size_t from, size_t len) { return Bytes(at(from), at(from + len)); }

private:
	Bytes::iterator at(size_t offset)
	{
		return host.regions[0x100].memory.begin() + static_cast<long>(offset);
	}
};

static std::string of_term(core_rx_event event)
{
	return event == CORE_RX_ERROR ? "refused" : event == CORE_RX_MORE ? "goes on" : "delivered";
}

// Every FPDU size up to more than two markers, in pieces of random size.
TEST(MarkersReceived, EverySize)
{
	Marked stream;
	SlowSender slow;

	for (u32 len = 0; len < 1100; len++) {
		Bytes data = wire::payload(len, len);
		size_t before = slow.stream.size();

		slow.send(write_of(data));
		stream.feed_pieces(
			Bytes(slow.stream.begin() + static_cast<long>(before), slow.stream.end()),
			len);
		ASSERT_TRUE(stream.memory(0, len) == data) << len;
	}
	EXPECT_EQ(stream.deliveries.size(), 1100u);
	EXPECT_TRUE(stream.between_fpdus());
}

// 3, 4.1: up to the largest ULPDU.
TEST(MarkersReceived, LongFpdus)
{
	Marked stream;
	SlowSender slow;

	for (u32 len : {64754u, 1u, 64753u, 64752u, 8948u, 64751u}) {
		size_t before = slow.stream.size();

		slow.send(write_of(wire::payload(len, len)));
		stream.feed_pieces(
			Bytes(slow.stream.begin() + static_cast<long>(before), slow.stream.end()),
			len);
		ASSERT_TRUE(stream.memory(0, len) == wire::payload(len, len)) << len;
	}
	EXPECT_EQ(stream.deliveries.size(), 6u);
}

// A stream with a marker in every possible place: before an FPDU, in both halves of an untagged
// header, in placed and in gathered payload, between pad and CRC field.
struct EveryPlace {
	SlowSender slow;
	std::vector<std::pair<size_t, size_t>> fpdus; // first octet, end
	unsigned sends = 0, reads = 0;

	// places: where in an FPDU its first marker is
	explicit EveryPlace(std::vector<size_t> places = {4, 12, 16, 20, 24, 44, 48, 52})
	{
		for (size_t place : places) {
			fill_up_to(512 - place);
			send(wire::Untagged{.msn = ++sends, .data = wire::payload(30, sends)});
			fill_up_to(512 - place);
			send(wire::read_request({.sink_stag = 9,
						 .length = 16,
						 .source_stag = 0x100,
						 .source_to = 0x1000},
						++reads));
			fill_up_to(512 - place);
			send(write_of(wire::payload(1033, sends)));
		}
		fill_up_to(0);
		send(write_of(wire::payload(1, 99)));
	}

private:
	void send(const Bytes &ulpdu)
	{
		size_t start = slow.stream.size();

		slow.send(ulpdu);
		fpdus.push_back({start, slow.stream.size()});
	}
	// Writes that advance the stream to this octet of the marker interval.
	void fill_up_to(size_t place)
	{
		size_t room = (place % 512 + 1024 - slow.stream.size() % 512) % 512;

		if (!room)
			return;
		if (room < 28)
			room += 512;
		room -= slow.stream.size() % 512 == 0 || slow.stream.size() % 512 + room > 512 ? 4
											       : 0;
		send(write_of(wire::payload(room - 20)));
		ASSERT_EQ(slow.stream.size() % 512, place % 512);
	}
};

static void arrange(Marked &stream, const EveryPlace &all)
{
	for (unsigned i = 0; i < all.sends; i++)
		stream.host.post_receive(64);
	stream.host.read_room = all.reads;
}

TEST(MarkersReceived, SplitAfterEveryOctet)
{
	EveryPlace all;
	Marked whole, octets;

	arrange(whole, all);
	arrange(octets, all);
	whole.feed(all.slow.stream);
	octets.feed_octets(all.slow.stream);
	EXPECT_EQ(whole.deliveries.size(), all.fpdus.size());
	EXPECT_EQ(whole.deliveries, octets.deliveries);
	EXPECT_EQ(whole.fpdus(), all.fpdus.size());
	EXPECT_EQ(octets.fpdus(), all.fpdus.size());

}

TEST(MarkersReceived, SplitInTwo)
{
	EveryPlace all({16, 52});

	for (size_t cut = 1; cut < all.slow.stream.size(); cut++) {
		Marked stream(true, 2000);
		auto at = all.slow.stream.begin() + static_cast<long>(cut);

		arrange(stream, all);
		stream.feed(Bytes(all.slow.stream.begin(), at));
		stream.feed(Bytes(at, all.slow.stream.end()));
		ASSERT_EQ(stream.deliveries.size(), all.fpdus.size()) << cut;
		ASSERT_TRUE(stream.between_fpdus()) << cut;
	}
}

// 4.2: RESERVED is "ignored on receive (except for CRC calculation)", the two low bits of FPDUPTR
// "treated as zero".
TEST(MarkersReceived, WhatIsReserved)
{
	Marked stream, damaged;
	SlowSender slow;

	for (size_t at = 0; at < 30000; at += 512)
		slow.forgeries[at] = [](u8 *marker) {
			marker[0] = 0xff;
			marker[1] = 0xff;
			marker[3] |= 3;
		};
	for (u32 i = 0; i < 20; i++)
		slow.send(write_of(wire::payload(100 * i)));
	stream.feed(slow.stream);
	EXPECT_EQ(stream.deliveries.size(), 20u);
	EXPECT_TRUE(stream.between_fpdus());

	slow.stream[0] ^= 1;
	damaged.feed(slow.stream);
	damaged.expect_refused(2);
	EXPECT_EQ(damaged.deliveries.size(), 1u);
}

// 8, 3: in every place, a flip of every significant bit of FPDUPTR: the stream ends with that FPDU,
// which is not passed to DDP.
TEST(MarkersReceived, AMarkerThatPointsElsewhere)
{
	EveryPlace all;

	for (const auto &[start, end] : all.fpdus)
		for (size_t at = (start + 511) / 512 * 512; at < end; at += 512)
			for (unsigned bit = 2; bit < 16; bit++)
				for (bool crc : {true, false}) {
					Marked stream(crc);
					Bytes forged = all.slow.stream;
					size_t earlier = 0;

					SCOPED_TRACE(testing::Message()
						     << "marker at " << at << " bit " << bit);
					arrange(stream, all);
					forged[at + 3 - bit / 8] ^= static_cast<u8>(1 << bit % 8);
					// The CRC of the changed octets.
					Bytes covered(forged.begin() + static_cast<long>(start),
						      forged.begin() + static_cast<long>(end - 4));
					u32 field = wire::crc32c(covered);

					for (u32 i = 0; i < 4; i++)
						forged[end - 4 + i] =
							static_cast<u8>(field >> (8 * i));
					stream.feed_pieces(forged, bit);
					for (const auto &fpdu : all.fpdus)
						earlier += fpdu.second <= start;
					stream.expect_refused(3);
					EXPECT_EQ(stream.deliveries.size(), earlier + 1);
					EXPECT_EQ(stream.fpdus(), earlier + (crc ? 1 : 0));
					if (HasFailure())
						return;
				}
}

// 8, 2 and 3: "in the event that the CRC is valid".
TEST(MarkersReceived, TheCrcComesFirst)
{
	for (size_t octet : {0u, 1u, 2u, 3u}) {
		Marked stream;
		SlowSender slow;

		slow.send(write_of(wire::payload(100)));
		slow.stream[octet] ^= 4;
		EXPECT_EQ(of_term(stream.feed_fpdu(slow.stream)), "refused");
		stream.expect_refused(2);
	}
}

// 6: once an FPDU is known to be misplaced, no more of it is placed; 4.3: nor without CRCs.
TEST(MarkersReceived, NothingIsPlacedBehindOneThatIsWrong)
{
	for (bool crc : {true, false}) {
		Marked first(crc), second(crc);
		SlowSender before, inside;

		before.forgeries[0] = [](u8 *marker) { marker[3] = 4; };
		before.send(write_of(wire::payload(900)));
		first.feed_pieces(before.stream, 1);
		first.expect_refused(3);
		EXPECT_EQ(first.memory(0, 900), Bytes(900));

		inside.forgeries[512] = [](u8 *marker) { marker[3] = 0; };
		inside.send(write_of(wire::payload(900)));
		second.feed_pieces(inside.stream, 1);
		second.expect_refused(3);
		size_t placed = 512 - 4 - 16;

		EXPECT_EQ(second.memory(0, placed), wire::payload(placed));
		EXPECT_EQ(second.memory(placed, 900 - placed), Bytes(900 - placed));
	}
}

// Without agreement markers are ordinary octets of an FPDU, and the other way round.
TEST(MarkersReceived, OnlyIfAgreedOn)
{
	Stream plain;
	Marked marked;
	SlowSender slow;

	slow.send(write_of({}));
	plain.feed(slow.stream);
	EXPECT_TRUE(plain.over());
	marked.feed(wire::fpdu(write_of({})));
	EXPECT_TRUE(marked.over() || marked.fpdus() == 0);
	EXPECT_EQ(marked.fpdus(), 0u);
}

// 4.3, 8, 1: a marker between two FPDUs begins the second, which a stream that ends there cuts
// short.
TEST(MarkersReceived, TheStreamEndsBetweenFpdus)
{
	EveryPlace all;
	Marked stream;
	size_t at = 0;

	arrange(stream, all);
	EXPECT_TRUE(core_rx_between(&stream.rx));
	for (const auto &[start, end] : all.fpdus)
		for (; at < end; at++) {
			stream.feed({all.slow.stream[at]});
			ASSERT_EQ(core_rx_between(&stream.rx), at + 1 == end) << at;
		}
}

// A refused header with a marker after it: the FPDU is skipped, with the marker, and then reported.
TEST(MarkersReceived, ARefusedSegmentIsSkipped)
{
	for (size_t len : {0u, 470u, 488u, 489u, 500u, 2000u}) {
		Marked stream(true, 8);
		SlowSender slow;

		slow.send(wire::Tagged{.stag = 0x999, .to = 0, .data = wire::payload(len + 1)});
		EXPECT_EQ(of_term(stream.feed_fpdu(slow.stream)), "refused");
		EXPECT_EQ(stream.term().layer, CORE_LAYER_DDP);
		EXPECT_EQ(stream.fpdus(), 1u);
	}
}

// 8, 3: an ULPDU_Length below any header's, wherever a marker falls.
TEST(MarkersReceived, LengthsBelowAnyHeader)
{
	for (size_t place = 0; place < 512; place += 4)
		for (size_t len = 0; len < 18; len++) {
			Marked whole, octets;
			SlowSender slow;
			size_t fill = place < 28 ? place + 508 : place - 4;

			slow.send(write_of(wire::payload(fill - 20)));
			slow.send(len ? Bytes{0x41} + Bytes(len - 1) : Bytes{});
			Bytes stream = slow.stream + Bytes(64, 0x41);

			whole.feed(stream);
			octets.feed_octets(stream);
			whole.expect_refused(3);
			octets.expect_refused(3);
			ASSERT_EQ(whole.deliveries.size(), 2u) << place << ' ' << len;
			ASSERT_EQ(octets.deliveries, whole.deliveries);
		}
}

// Everything sent arrives, at every MULPDU and in every message.
TEST(MarkersRoundTrip, ManyMessages)
{
	std::mt19937 random(512);

	for (u32 mulpdu : {128u, 496u, 1442u, 8932u, 64768u}) {
		MarkedSender sender;
		Marked stream(true, 200000);
		Bytes last;

		for (int i = 0; i < 40; i++) {
			last = wire::payload(random() % (i % 10 ? 2000 : 150000), random());
			sender.send(aimed(CORE_MSG_WRITE, last.size()), last, mulpdu);
		}
		stream.feed_pieces(sender.stream, mulpdu);
		EXPECT_EQ(stream.deliveries.size(), 40u);
		EXPECT_TRUE(stream.between_fpdus());
		EXPECT_TRUE(stream.memory(0, last.size()) == last);
	}
}
