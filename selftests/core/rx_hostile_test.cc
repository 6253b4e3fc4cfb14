// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive from hostile peers: nothing they send places an octet outside of granted memory (the fake
// host checks every placement itself), makes the parser access memory outside its buffer, or hangs
// it.
#include "stream.hh"

using namespace wire;

static void furnish(FakeHost &host)
{
	host.grant(0x100, 0x1000, 0x400);
	host.grant(0x101, ~0ull - 0x3ff, 0x400);
	host.grant(0x102, 0, 0x400, 8);
	for (int i = 0; i < 20; i++)
		host.post_receive(i * 40);
	for (u32 i = 0; i < 4; i++)
		host.post_read(0x900 + i, 0x100 * i, 0x80);
	host.read_room = 3;
}

// A plausible next segment.
static Bytes fitting_ulpdu(std::mt19937 &random, Stream &s)
{
	u8 l = random() % 2 ? last : 0;
	u32 len = random() % 30;

	switch (random() % 4) {
	case 0:
		return Tagged{.ddp = u8(0x81 | l),
			      .stag = 0x100,
			      .to = 0x1000 + random() % 0x300,
			      .data = payload(len)};
	case 1:
		if (!s.host.reads.empty()) {
			const core_read_sink &read = s.host.reads.front().read;

			len = std::min(len, read.length - read.placed);
			return Tagged{
				.ddp = u8(0x81 | (read.placed + len == read.length ? last : 0)),
				.rdmap = op_read_response,
				.stag = read.stag,
				.to = read.to + read.placed,
				.data = payload(len)};
		}
		[[fallthrough]];
	case 2:
		return read_request({.length = len, .source_stag = 0x100, .source_to = 0x1000},
				    s.read_msn);
	default:
		return Untagged{.ddp = u8(0x01 | l),
				.msn = s.send_msn,
				.mo = s.send_mo(),
				.data = payload(std::min(len, s.send_room()))};
	}
}

// The same with an extreme value in one octet of its header, or as its length.
static Bytes likely_ulpdu(std::mt19937 &random, Stream &s)
{
	const u8 edges[] = {0, 1, 0x7f, 0x80, 0xff, u8(random())};
	Bytes ulpdu = fitting_ulpdu(random, s);

	if (random() % 8 == 0)
		ulpdu[random() % std::min<size_t>(ulpdu.size(), 46)] =
			edges[random() % std::size(edges)];
	if (random() % 16 == 0)
		ulpdu.resize(random() % 3 ? 14 + random() % 60 : random() % 3000);
	return ulpdu.empty() ? Bytes{0xc1} : ulpdu;
}

TEST(RxHostile, LikelySegments)
{
	u64 fpdus = 0;

	for (unsigned seed = 0; seed < 4000; seed++) {
		std::mt19937 random(seed);
		Stream s(seed % 2, seed % 8);

		furnish(s.host);
		for (int i = 0; i < 50 && !s.over(); i++)
			s.feed_pieces(fpdu(likely_ulpdu(random, s)), seed * 50 + i);
		fpdus += s.fpdus();
	}
	EXPECT_GT(fpdus, 20000u) << "the segments are not likely enough to get anywhere";
}

// Without CRCs: good streams with some octets changed, followed by noise.
TEST(RxHostile, DamagedStreams)
{
	Bytes good =
		fpdu(Tagged{.ddp = 0x81, .stag = 0x100, .to = 0x1000, .data = payload(100)}) +
		fpdu(Untagged{.data = {}}) +
		fpdu(Tagged{
			.rdmap = op_read_response, .stag = 0x900, .to = 0, .data = payload(0x80)}) +
		fpdu(read_request({.length = 4, .source_stag = 0x100, .source_to = 0x1000})) +
		fpdu(Untagged{.ddp = 0x01, .msn = 2, .data = payload(20)}) +
		fpdu(Untagged{.msn = 2, .mo = 20, .data = payload(20)}) +
		fpdu(terminate(hex("1100c000") + Bytes(20)));

	for (unsigned seed = 0; seed < 10000; seed++) {
		std::mt19937 random(seed);
		Stream s(false);
		Bytes stream = good;

		furnish(s.host);
		for (unsigned changes = 1 + random() % 4; changes; changes--)
			stream[random() % stream.size()] =
				static_cast<u8>(random() % 3 ? random() : 0xff);
		s.feed_pieces(stream + payload(200, seed), seed);
	}
}

TEST(RxHostile, AnyOctetsAtAll)
{
	for (unsigned seed = 0; seed < 10000; seed++) {
		std::mt19937 random(seed);
		Stream s(false);
		Bytes stream(300);

		furnish(s.host);
		for (u8 &octet : stream)
			octet = static_cast<u8>(random() % 2 ? random() : 0);
		s.feed_pieces(stream, seed);
	}
}

// Empty segments without L are allowed (RFC 5041 5.2 does not forbid them) and change nothing.
TEST(RxHostile, EmptySegmentsWithoutEnd)
{
	Stream s;

	furnish(s.host);
	for (int i = 0; i < 1000; i++) {
		s.feed(fpdu(Untagged{.ddp = 0x01}));
		s.feed(fpdu(Tagged{.ddp = 0x81}));
		s.feed(fpdu(Tagged{.ddp = 0x81, .rdmap = op_read_response}));
	}
	EXPECT_TRUE(s.between_fpdus());
	EXPECT_TRUE(s.deliveries.empty());
	EXPECT_EQ(s.host.receives_taken, 1u);
}

// A message as long as its receive, in segments of one octet.
TEST(RxHostile, SegmentsOfOneOctet)
{
	Stream s;
	Bytes data = payload(500);

	s.host.post_receive(500);
	for (u32 i = 0; i < 500; i++)
		s.feed(fpdu(
			Untagged{.ddp = u8(i == 499 ? 0x41 : 0x01), .mo = i, .data = {data[i]}}));
	ASSERT_EQ(s.deliveries.size(), 1u);
	EXPECT_EQ(s.deliveries[0].data, data);
}

// Every split into two pieces of a stream with each kind of FPDU in it.
TEST(RxHostile, EverySplit)
{
	Bytes stream = fpdu(Tagged{.stag = 0x100, .to = 0x1000, .data = payload(5)}) +
		       fpdu(Untagged{.data = {}}) + fpdu(read_request({})) +
		       fpdu(Untagged{.msn = 2, .data = payload(6)}) + fpdu(Tagged{}) +
		       fpdu(terminate(Bytes(7)));

	for (size_t split = 0; split <= stream.size(); split++) {
		Stream s;

		furnish(s.host);
		s.feed(Bytes(stream.begin(), stream.begin() + split));
		s.feed(Bytes(stream.begin() + split, stream.end()));
		EXPECT_EQ(s.fpdus(), 6u) << split;
		EXPECT_EQ(s.deliveries.size(), 6u) << split;
	}
}

// No step asks for octets beyond its FPDU, whatever the length.
TEST(RxHostile, NeverPastTheFpdu)
{
	for (size_t len = 0; len < 70; len++) {
		Stream s;

		s.host.grant(1, 0, 70);
		s.host.post_receive(70);
		s.feed_fpdu(fpdu(Tagged{.stag = 1, .data = payload(len)}));
		EXPECT_TRUE(s.between_fpdus());
		s.feed_fpdu(fpdu(Untagged{.data = payload(len)}));
		EXPECT_TRUE(s.between_fpdus());
		EXPECT_EQ(s.fpdus(), 2u);
	}
}
