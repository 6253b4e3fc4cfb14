// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive errors besides the attacks of attacks_test.cc: rarer ones, those of the host, and at each
// octet; with the Terminate for each (RFC 5041 7.2, RFC 5040 figures 9 and 10, RFC 5044 8).
#include "refusal.hh"

using namespace wire;

constexpr Cause local_error = {0, 0, 0, Includes::nothing}; // RFC 5040 figure 9: not the peer's

struct Case {
	const char *name;
	Bytes before; // valid FPDUs
	Bytes ulpdu;  // the bad one
	Cause cause;
	std::function<void(FakeHost &)> prepare = {};
};

static void PrintTo(const Case &c, std::ostream *out) { *out << c.name; }
static std::string name_of(const testing::TestParamInfo<Case> &tested) { return tested.param.name; }

// Every case has the same host: STag 0x100 is good, each other lacks something; two receives of 100
// bytes, one outstanding read of 50, room for one inbound read.
static void furnish(FakeHost &host)
{
	host.grant(0x100, 0x1000, 0x100);
	host.grant(0x101, 0x1000, 0x100, 8);
	host.grant(0x102, 0x1000, 0x100, 7, CORE_ACCESS_LOCAL_WRITE);
	host.grant(0x103, 0x1000, 0x100, 7, CORE_ACCESS_REMOTE_READ);
	host.grant(0x104, 0x1000, 0x100, 7, CORE_ACCESS_REMOTE_WRITE);
	host.grant(0x105, ~0ull - 0xff, 0x100);
	host.post_receive(100);
	host.post_receive(100);
	host.post_read(0x900, 0x5000, 50);
	host.read_room = 1;
}

class Refused : public testing::TestWithParam<Case> {};

TEST_P(Refused, InEveryCut)
{
	const Case &c = GetParam();
	const Bytes bad = fpdu(c.ulpdu);

	for (unsigned cut = 0; cut < all_cuts; cut++) {
		SCOPED_TRACE(testing::Message() << "cut " << cut);
		Stream s;

		furnish(s.host);
		if (c.prepare)
			c.prepare(s.host);
		feed_in_cut(s, c.before + bad + fpdu(Untagged{}), cut);
		expect_refusal(s, c.cause, bad);
	}
}

static std::vector<Case> tagged_cases()
{
	auto response = [](u8 ddp, u32 stag, u64 to, size_t len) {
		return Tagged{.ddp = ddp,
			      .rdmap = op_read_response,
			      .stag = stag,
			      .to = to,
			      .data = payload(len)};
	};
	auto empty_read = [](FakeHost &host) { host.reads.front().read.length = 0; };
	Bytes half = fpdu(response(more_tagged, 0x900, 0x5000, 25));

	return {
		// RFC 5041 7.1, tagged check 5
		{"WriteThatWrapsExactly",
		 {},
		 Tagged{.stag = 0x105, .to = ~0ull - 3, .data = payload(4)},
		 tagged(3)},
		// RFC 5040 5.2.2: the response is that to the oldest read
		{"ResponseEndsEmpty", half, response(0xc1, 0, 0, 0), operation(0xff)},
		{"ResponseDoesNotEnd", half, response(more_tagged, 0x900, 0x5019, 25),
		 operation(0xff)},
		{"EmptyResponseDoesNotEnd",
		 {},
		 response(more_tagged, 0, 0, 0),
		 operation(0xff),
		 empty_read},
	};
}
INSTANTIATE_TEST_SUITE_P(Tagged, Refused, testing::ValuesIn(tagged_cases()), name_of);

static std::vector<Case> send_cases()
{
	auto broken = [](FakeHost &host) { host.receives.front().verdict = CORE_TAKE_BROKEN; };
	Bytes half = fpdu(Untagged{.ddp = more_untagged, .data = payload(60)});

	return {
		{"MoAllOnes", half, Untagged{.mo = ~0u, .data = payload(4)}, untagged(4)},
		{"BrokenReceive", {}, Untagged{.data = payload(4)}, local_error, broken},
		{"TerminateInsideOnQueue0", half, Untagged{.rdmap = op_terminate, .mo = 60},
		 operation(6)},
	};
}
INSTANTIATE_TEST_SUITE_P(Send, Refused, testing::ValuesIn(send_cases()), name_of);

// RFC 7306 6.3 and 8.2: exactly 8 octets, in one segment, on queue 0.
static std::vector<Case> immediate_cases()
{
	auto no_receive = [](FakeHost &host) { host.receives.clear(); };
	auto with = [](auto change) {
		Untagged out = immediate(1);

		change(out);
		return out;
	};
	Bytes half = fpdu(Untagged{.ddp = more_untagged, .data = payload(60)});

	return {
		{"OfNothing", {}, Untagged{.rdmap = op_immediate_se}, operation(0xff)},
		{"NotLast", {}, with([](Untagged &u) { u.ddp = more_untagged; }), operation(0xff)},
		{"AtOffset", {}, with([](Untagged &u) { u.mo = 8; }), untagged(4)},
		{"MsnAhead", {}, immediate(1, 2), untagged(3)},
		{"InsideASend", half, immediate(1), operation(6)},
		{"WithoutReceive", {}, immediate(1), untagged(2), no_receive},
		{"Version2", {}, with([](Untagged &u) { u.rdmap = 0x88; }), operation(5)},
	};
}
INSTANTIATE_TEST_SUITE_P(Immediate, Refused, testing::ValuesIn(immediate_cases()), name_of);

static std::vector<Case> request_cases()
{
	auto with = [](auto change) {
		Untagged out =
			read_request({.length = 4, .source_stag = 0x100, .source_to = 0x1000});

		change(out);
		return out;
	};
	auto nothing = [](Untagged &) {};
	auto full = [](FakeHost &host) { host.read_room = 0; };

	return {
		{"MsnAgain", fpdu(with(nothing)), with(nothing), untagged(3)},
		{"NoRoom", {}, with(nothing), untagged(2), full},
		{"MuchTooLong", {}, with([](Untagged &u) { u.data.resize(60000); }), untagged(5)},
		{"OnQueue2", {}, with([](Untagged &u) { u.qn = 2; }), operation(6)},
		{"TerminateAnnouncesMore",
		 {},
		 terminate(hex("0100c000 0020") + Bytes(17)),
		 operation(0xff)},
	};
}
INSTANTIATE_TEST_SUITE_P(Request, Refused, testing::ValuesIn(request_cases()), name_of);

// RFC 5041 7.1: the error is known before the first octet is placed.
TEST(RefusedEarly, NothingIsPlaced)
{
	Stream s;

	furnish(s.host);
	s.feed(fpdu(Tagged{.stag = 0x100, .to = 0x1080, .data = payload(0x81)}));
	EXPECT_EQ(s.host.regions[0x100].memory, Bytes(0x100));
	EXPECT_TRUE(s.over());
}

// RFC 5044 4.4: "the receiver MUST first" verify the CRC, so a header's error waits for the whole
// FPDU, with CRCs or without. The FPDU counts as received and validated (7.1.2, 4).
static void refused_at_its_end(bool crc, size_t len)
{
	Stream s(crc);
	Bytes whole = fpdu(Tagged{.stag = 0x999, .data = payload(len)} + Bytes{0});
	Bytes all_but_one(whole.begin(), whole.end() - 1);

	furnish(s.host);
	EXPECT_EQ(s.feed(all_but_one), all_but_one.size());
	EXPECT_TRUE(s.deliveries.empty());
	EXPECT_EQ(s.feed({whole.back(), 0x00}), 1u);
	EXPECT_EQ(s.deliveries, std::vector{Delivery{CORE_RX_ERROR}});
	EXPECT_EQ(s.term().layer, CORE_LAYER_DDP);
	EXPECT_EQ(s.fpdus(), 1u);
	EXPECT_TRUE(s.over());
}

TEST(RefusedLate, WhenTheFpduIsWhole)
{
	for (bool crc : {true, false})
		for (size_t len : {0, 1, 2, 3, 59, 60, 61, 79, 80, 81, 60000}) {
			SCOPED_TRACE(testing::Message() << len << " octets, CRC " << crc);
			refused_at_its_end(crc, len);
		}
}

// RFC 5041 7.1: everything after the error is dropped.
TEST(RefusedEarly, NothingIsTakenAfterwards)
{
	Stream s;

	furnish(s.host);
	s.feed(fpdu(Untagged{.qn = 9}));
	EXPECT_EQ(s.feed(fpdu(Untagged{})), 0u);
	EXPECT_EQ(s.deliveries.size(), 1u);
	EXPECT_EQ(s.host.receives_taken, 0u);
}

static void expect_framing_error(Stream &s, u8 code)
{
	ASSERT_EQ(s.deliveries, std::vector{Delivery{CORE_RX_ERROR}});
	EXPECT_TRUE(s.over());
	EXPECT_EQ(s.term().layer, CORE_LAYER_LLP);
	EXPECT_EQ(s.term().etype, 0);
	EXPECT_EQ(s.term().code, code);
	EXPECT_FALSE(s.term().has_ddp || s.term().has_rdmap);
}

// A ULPDU_Length too short for the announced header. Without CRCs it is reported at once: after the
// length, or after the T bit.
TEST(BadLength, ShorterThanAnyHeader)
{
	for (u32 len = 0; len < 18; len++) {
		SCOPED_TRACE(len);
		Stream whole(false), octets(false);
		Bytes stream = be16(len) + Bytes(30, len < 14 ? 0xc1 : 0x41);

		whole.feed(stream);
		octets.feed_octets(Bytes(stream.begin(), stream.begin() + (len < 14 ? 2 : 3)));
		expect_framing_error(whole, 3);
		expect_framing_error(octets, 3);
	}
}

// RFC 5044 8, 3: "In the event that the CRC is valid".
TEST(BadLength, ShorterThanAnyHeaderButWhole)
{
	for (u32 len = 0; len < 18; len++) {
		for (bool damaged : {false, true}) {
			SCOPED_TRACE(testing::Message() << len << (damaged ? " damaged" : ""));
			Stream whole, octets, part;
			Bytes stream = fpdu(Bytes(len, len < 14 ? 0xc1 : 0x41));

			stream.back() ^= damaged;
			part.feed(Bytes(stream.begin(), stream.end() - 1));
			EXPECT_TRUE(part.deliveries.empty() && !part.over());
			whole.feed(stream + Bytes(20));
			octets.feed_octets(stream);
			expect_framing_error(whole, damaged ? 2 : 3);
			expect_framing_error(octets, damaged ? 2 : 3);
		}
	}
}

TEST(BadLength, JustEnough)
{
	Stream tagged, untagged;

	untagged.host.post_receive(0);
	EXPECT_EQ(tagged.feed_fpdu(fpdu(Tagged{})), CORE_RX_WRITE);
	EXPECT_EQ(untagged.feed_fpdu(fpdu(Untagged{})), CORE_RX_SEND);
}

static void expect_crc_error(Stream &s)
{
	ASSERT_FALSE(s.deliveries.empty());
	EXPECT_EQ(s.deliveries.back().event, CORE_RX_ERROR);
	EXPECT_EQ(s.term().layer, CORE_LAYER_LLP);
	EXPECT_EQ(s.term().etype, 0);
	EXPECT_EQ(s.term().code, 2);
	EXPECT_FALSE(s.term().has_ddp || s.term().has_rdmap);
	EXPECT_EQ(s.fpdus(), 0u);
}

// RFC 5044 8, code 2, for every message, wherever header, payload, pad or CRC was damaged: whatever
// the header says, the CRC comes first (4.4).
TEST(BadCrc, AnywhereBehindTheLength)
{
	const Bytes ulpdus[] = {
		Tagged{.stag = 0x100, .to = 0x1000, .data = payload(33)},
		Tagged{.rdmap = op_read_response, .stag = 0x900, .to = 0x5000, .data = payload(50)},
		Tagged{},
		Untagged{.data = payload(33)},
		Untagged{},
		read_request({}),
		read_request(
			{.length = 1, .source_stag = 0x999}), // would be refused if undamaged
		terminate(Bytes(5)),
	};

	for (const Bytes &ulpdu : ulpdus) {
		Bytes good = fpdu(ulpdu);

		for (size_t bit = 16; bit < good.size() * 8; bit++) {
			SCOPED_TRACE(bit);
			Stream s;
			Bytes bad = good;

			bad[bit / 8] ^= 1 << bit % 8;
			furnish(s.host);
			s.feed_pieces(bad, bit);
			expect_crc_error(s);
		}
	}
}

// RFC 5044 4.4: any flipped bit of an FPDU is detected, and nothing is delivered.
TEST(BadCrc, NoBitErrorIsDelivered)
{
	const Bytes ulpdus[] = {
		Tagged{.stag = 0x100, .to = 0x1000, .data = payload(10)},
		Untagged{.data = payload(7)},
		read_request({.length = 8, .source_stag = 0x100, .source_to = 0x1000})};

	for (const Bytes &ulpdu : ulpdus) {
		Bytes good = fpdu(ulpdu);

		for (size_t bit = 0; bit < good.size() * 8; bit++) {
			Stream s;
			Bytes bad = good;

			bad[bit / 8] ^= 1 << bit % 8;
			furnish(s.host);
			s.feed(bad + Bytes(70000));
			EXPECT_TRUE(s.over()) << bit;
			EXPECT_EQ(s.deliveries, std::vector{Delivery{CORE_RX_ERROR}}) << bit;
		}
	}
}

// RFC 5041 5.4: a Send is whole only with its last segment; a damaged one leaves it undelivered.
TEST(BadCrc, InALaterSegment)
{
	Stream s;
	Bytes second = fpdu(Untagged{.mo = 60, .data = payload(4)});

	furnish(s.host);
	second.back() ^= 1;
	s.feed(fpdu(Untagged{.ddp = 0x01, .data = payload(60)}) + second);
	ASSERT_EQ(s.deliveries, std::vector{Delivery{CORE_RX_ERROR}});
	EXPECT_EQ(s.term().code, 2);
	EXPECT_EQ(s.fpdus(), 1u);
}

// RFC 5040 7.1, 4: of several errors the first is the one that the Terminate captures.
TEST(RefusedEarly, FirstErrorIsKept)
{
	Stream s;
	Untagged first = {.qn = 9};

	furnish(s.host);
	s.feed(fpdu(first));
	EXPECT_EQ(core_rx_fail(&s.rx, CORE_REGION_INVALID), CORE_RX_ERROR);
	EXPECT_EQ(s.term().layer, CORE_LAYER_DDP);
	EXPECT_EQ(s.term().code, 1);
	EXPECT_EQ(Bytes(s.term().ddp, s.term().ddp + 18), first.header());
}

// ---- What the host refuses ----

static void until_placement(Stream &s, const Bytes &ulpdu)
{
	size_t header = ulpdu[0] & 0x80 ? 16 : 20;
	Bytes whole = fpdu(ulpdu);

	furnish(s.host);
	s.feed(Bytes(whole.begin(), whole.begin() + header));
	ASSERT_EQ(core_rx_next(&s.rx).kind, CORE_RX_PLACE);
}

struct HostCase {
	core_region_verdict verdict;
	Cause cause;
};

static void expect_term(const core_terminate &term, const Cause &cause)
{
	EXPECT_EQ(term.layer, cause.layer);
	EXPECT_EQ(term.etype, cause.type);
	EXPECT_EQ(term.code, cause.code);
	EXPECT_EQ(term.has_ddp, cause.includes != Includes::nothing);
	EXPECT_EQ(term.has_rdmap, cause.includes == Includes::read_request);
}

// The region was revoked or changed between check and placement.
TEST(HostCannotPlace, Write)
{
	const HostCase cases[] = {
		{CORE_REGION_INVALID, tagged(0)}, {CORE_REGION_BOUNDS, tagged(1)},
		{CORE_REGION_ACCESS, tagged(0)},  {CORE_REGION_FOREIGN, tagged(2)},
		{CORE_REGION_WRAP, tagged(3)},	  {CORE_REGION_OK, local_error},
	};

	for (const HostCase &c : cases) {
		SCOPED_TRACE(c.verdict);
		Stream s;

		until_placement(s, Tagged{.stag = 0x100, .to = 0x1000, .data = payload(9)});
		EXPECT_EQ(core_rx_fail(&s.rx, c.verdict), CORE_RX_ERROR);
		expect_term(s.term(), c.cause);
		EXPECT_TRUE(s.over());
	}
}

// Between any two octets of the segment: those before are placed, nothing more is consumed.
TEST(HostCannotPlace, AfterAnyOctet)
{
	Bytes data = payload(40), whole = fpdu(Tagged{.stag = 0x100, .to = 0x1000, .data = data});

	for (size_t n = 0; n < data.size(); n++)
		for (bool crc : {true, false}) {
			SCOPED_TRACE(n);
			Stream s(crc);

			furnish(s.host);
			s.feed_pieces(Bytes(whole.begin(), whole.begin() + 16 + ptrdiff_t(n)), n);
			ASSERT_EQ(core_rx_next(&s.rx).kind, CORE_RX_PLACE);
			EXPECT_EQ(core_rx_fail(&s.rx, CORE_REGION_INVALID), CORE_RX_ERROR);
			expect_term(s.term(), tagged(0));
			EXPECT_EQ(s.term().ddp_len, 14 + data.size());
			EXPECT_TRUE(s.over());
			EXPECT_EQ(s.feed(whole), 0u);
		}
}

// The host stops the stream at any point.
TEST(HostStops, Anywhere)
{
	Bytes stream = fpdu(Tagged{.stag = 0x100, .to = 0x1000, .data = payload(9)}) +
		       fpdu(Untagged{.data = payload(9)}) + fpdu(Untagged{.qn = 9});

	for (size_t n = 0; n < stream.size(); n++) {
		Stream s;

		furnish(s.host);
		s.feed(Bytes(stream.begin(), stream.begin() + ptrdiff_t(n)));
		core_rx_stop(&s.rx);
		EXPECT_EQ(s.feed(stream), 0u);
		EXPECT_TRUE(core_rx_between(&s.rx));
	}
}

// An unwritable receive is a local error.
TEST(HostCannotPlace, Send)
{
	for (auto verdict : {CORE_REGION_OK, CORE_REGION_INVALID, CORE_REGION_BOUNDS}) {
		Stream s;

		until_placement(s, Untagged{.data = payload(9)});
		EXPECT_EQ(core_rx_fail(&s.rx, verdict), CORE_RX_ERROR);
		expect_term(s.term(), local_error);
	}
}

TEST(HostCannotPlace, ReadResponse)
{
	Stream s;

	until_placement(s, Tagged{.rdmap = op_read_response,
				  .stag = 0x900,
				  .to = 0x5000,
				  .data = payload(50)});
	EXPECT_EQ(core_rx_fail(&s.rx, CORE_REGION_OK), CORE_RX_ERROR);
	expect_term(s.term(), local_error);
}

// The source was revoked just after the request was delivered.
TEST(HostCannotPlace, ReadRequest)
{
	Stream s;

	furnish(s.host);
	s.feed(fpdu(read_request({.length = 4, .source_stag = 0x100, .source_to = 0x1000})));
	ASSERT_EQ(s.deliveries.at(0).event, CORE_RX_READ_REQUEST);
	EXPECT_EQ(core_rx_fail(&s.rx, CORE_REGION_INVALID), CORE_RX_ERROR);
	expect_term(s.term(), protection(0));
	EXPECT_EQ(Bytes(s.term().read_request, s.term().read_request + 28),
		  Bytes(ReadRequest{.length = 4, .source_stag = 0x100, .source_to = 0x1000}));
}

// RFC 5040 5.3: an STag that is not this stream's ends in "STag cannot be Invalidated"; 7.2, 4: it
// has to be valid. The DDP header goes with it, and no RDMA header, which only a Read Request has
// (4.8).
TEST(HostCannotInvalidate, EveryReason)
{
	const HostCase cases[] = {
		{CORE_REGION_INVALID, invalidation(0)},
		{CORE_REGION_FOREIGN, invalidation(9)},
		{CORE_REGION_ACCESS, invalidation(9)},
		{CORE_REGION_OK, local_error},
	};

	for (const HostCase &c : cases) {
		SCOPED_TRACE(c.verdict);
		Stream s;
		Untagged send = {.rdmap = op_send_inv, .inv_stag = 0x101, .data = payload(5)};

		furnish(s.host);
		s.feed(fpdu(send));
		ASSERT_EQ(s.deliveries.at(0).event, CORE_RX_SEND);
		EXPECT_EQ(core_rx_fail_invalidate(&s.rx, c.verdict), CORE_RX_ERROR);
		expect_term(s.term(), c.cause);
		EXPECT_TRUE(s.over());
		if (c.cause.includes != Includes::nothing) {
			EXPECT_EQ(Bytes(s.term().ddp, s.term().ddp + 18), send.header());
			EXPECT_EQ(s.term().ddp_len, 18 + 5);
		}
	}
}
