// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive errors: every rule that a peer can break, and the Terminate for it: layer, error type,
// error code (RFC 5041 7.2, RFC 5040 figure 9, RFC 5044 8), and the headers included (RFC 5040
// figure 10).
#include "stream.hh"

using namespace wire;

// Figure 8's header control bits.
constexpr u8 none = 0, md = 0xc0, mdr = 0xe0;

struct Case {
	const char *name;
	Bytes before; // valid FPDUs
	Bytes ulpdu;  // the bad one
	u8 layer, etype, code, headers;
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

// The expected Terminate on the wire, built from RFC 5040 figures 7 and 8.
static Bytes expected_terminate(const Case &c)
{
	Bytes out = {u8(c.layer << 4 | c.etype), c.code, c.headers, 0};
	size_t header = c.ulpdu[0] & 0x80 ? 14 : 18;

	if (c.headers & 0x80)
		out = out + be16(c.ulpdu.size()) + Bytes(c.ulpdu.begin(), c.ulpdu.begin() + header);
	if (c.headers & 0x20)
		out = out + Bytes(c.ulpdu.begin() + 18, c.ulpdu.begin() + 46);
	return out;
}

static void expect_refusal(const Case &c, Stream &s)
{
	Bytes sent(CORE_TERM_MAX);

	ASSERT_FALSE(s.deliveries.empty());
	ASSERT_EQ(s.deliveries.back().event, CORE_RX_ERROR);
	EXPECT_TRUE(s.over());
	EXPECT_EQ(core_rx_next(&s.rx).want, 0u);
	EXPECT_EQ(s.term().layer, c.layer);
	EXPECT_EQ(s.term().etype, c.etype);
	EXPECT_EQ(s.term().code, c.code);
	sent.resize(core_terminate_build(&s.term(), sent.data()));
	EXPECT_EQ(sent, expected_terminate(c));
}

class Refused : public testing::TestWithParam<Case> {};

TEST_P(Refused, InEveryCut)
{
	const Case &c = GetParam();
	Bytes stream = c.before + fpdu(c.ulpdu) + fpdu(Untagged{});

	for (unsigned cut = 0; cut < 8; cut++) {
		SCOPED_TRACE(testing::Message() << "cut " << cut);
		Stream s;

		furnish(s.host);
		if (c.prepare)
			c.prepare(s.host);
		if (cut == 0)
			s.feed(stream);
		else if (cut == 1)
			s.feed_octets(stream);
		else
			s.feed_pieces(stream, cut);
		expect_refusal(c, s);
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
	auto write = [](u32 stag, u64 to, size_t len) {
		return Tagged{.stag = stag, .to = to, .data = payload(len)};
	};
	auto no_read = [](FakeHost &host) { host.reads.clear(); };
	Bytes half = fpdu(response(0x81, 0x900, 0x5000, 25));

	return {
		// RFC 5041 7.1, tagged checks 1 to 5
		{"WriteToUnknownStag", {}, write(0x999, 0x1000, 1), 1, 1, 0x00, md},
		{"WriteBelowTheRegion", {}, write(0x100, 0xfff, 4), 1, 1, 0x01, md},
		{"WriteBehindTheRegion", {}, write(0x100, 0x10fd, 4), 1, 1, 0x01, md},
		{"WriteLargerThanTheRegion", {}, write(0x100, 0x1000, 0x101), 1, 1, 0x01, md},
		{"WriteToForeignStag", {}, write(0x101, 0x1000, 4), 1, 1, 0x02, md},
		{"WriteThatWraps", {}, write(0x100, ~0ull, 4), 1, 1, 0x03, md},
		{"WriteThatWrapsExactly", {}, write(0x105, ~0ull - 3, 4), 1, 1, 0x03, md},
		{"WriteToWhatIsNotRemote", {}, write(0x102, 0x1000, 4), 1, 1, 0x00, md},
		{"WriteToReadOnly", {}, write(0x103, 0x1000, 4), 1, 1, 0x00, md},
		{"LaterSegmentOutside",
		 fpdu(Tagged{.ddp = 0x81, .stag = 0x100, .to = 0x1000, .data = payload(200)}),
		 write(0x100, 0x10c8, 57), 1, 1, 0x01, md},
		// RFC 5041 7.2
		{"TaggedVersion0", {}, Tagged{.ddp = 0xc0, .stag = 0x100}, 1, 1, 0x04, md},
		{"TaggedVersion2", {}, Tagged{.ddp = 0xc2, .stag = 0x100}, 1, 1, 0x04, md},
		{"TaggedVersion3", {}, Tagged{.ddp = 0xc3, .stag = 0x100}, 1, 1, 0x04, md},
		// RFC 5040 5.2.2: the response is that to the oldest read
		{"ResponseToNoRead",
		 {},
		 response(0xc1, 0x900, 0x5000, 50),
		 1,
		 1,
		 0x00,
		 md,
		 no_read},
		{"EmptyResponseToNoRead",
		 {},
		 response(0xc1, 0x900, 0x5000, 0),
		 0,
		 2,
		 0x06,
		 md,
		 no_read},
		{"ResponseToAnotherStag", {}, response(0xc1, 0x100, 0x5000, 50), 1, 1, 0x00, md},
		{"ResponseElsewhere", {}, response(0xc1, 0x900, 0x5001, 49), 1, 1, 0x01, md},
		{"ResponseBefore", {}, response(0xc1, 0x900, 0x4fff, 50), 1, 1, 0x01, md},
		{"ResponseTooLong", {}, response(0xc1, 0x900, 0x5000, 51), 1, 1, 0x01, md},
		{"ResponseThatWraps", {}, response(0xc1, 0x900, ~0ull - 1, 50), 1, 1, 0x03, md},
		{"ResponseAgain", half, response(0x81, 0x900, 0x5000, 25), 1, 1, 0x01, md},
		{"ResponseWithAGap", half, response(0x81, 0x900, 0x501a, 24), 1, 1, 0x01, md},
		{"ResponseGrowsTooLong", half, response(0xc1, 0x900, 0x5019, 26), 1, 1, 0x01, md},
		{"ResponseEndsEarly", {}, response(0xc1, 0x900, 0x5000, 49), 0, 2, 0xff, md},
		{"ResponseEndsEmpty", half, response(0xc1, 0, 0, 0), 0, 2, 0xff, md},
		{"ResponseDoesNotEnd", half, response(0x81, 0x900, 0x5019, 25), 0, 2, 0xff, md},
		{"EmptyResponseDoesNotEnd",
		 {},
		 response(0x81, 0, 0, 0),
		 0,
		 2,
		 0xff,
		 md,
		 [](FakeHost &host) { host.reads.front().read.length = 0; }},
		// RFC 5040 7.2, 2 and 3
		{"TaggedRdmapVersion2", {}, Tagged{.rdmap = 0x80, .stag = 0x100}, 0, 2, 0x05, md},
		{"TaggedRdmapVersion3", {}, Tagged{.rdmap = 0xc0, .stag = 0x100}, 0, 2, 0x05, md},
		{"TaggedSend", {}, Tagged{.rdmap = op_send, .stag = 0x100}, 0, 2, 0x06, md},
		{"TaggedReadRequest",
		 {},
		 Tagged{.rdmap = op_read_request, .stag = 0x100},
		 0,
		 2,
		 0x06,
		 md},
		{"TaggedTerminate",
		 {},
		 Tagged{.rdmap = op_terminate, .stag = 0x100},
		 0,
		 2,
		 0x06,
		 md},
		{"TaggedImmediate", {}, Tagged{.rdmap = 0x48, .stag = 0x100}, 0, 2, 0x06, md},
		{"TaggedAtomicRequest", {}, Tagged{.rdmap = 0x4a, .stag = 0x100}, 0, 2, 0x06, md},
		{"TaggedAtomicResponse", {}, Tagged{.rdmap = 0x4b, .stag = 0x100}, 0, 2, 0x06, md},
		{"TaggedReserved12", {}, Tagged{.rdmap = 0x4c, .stag = 0x100}, 0, 2, 0x06, md},
		{"TaggedReserved15", {}, Tagged{.rdmap = 0x4f, .stag = 0x100}, 0, 2, 0x06, md},
	};
}
INSTANTIATE_TEST_SUITE_P(Tagged, Refused, testing::ValuesIn(tagged_cases()), name_of);

static std::vector<Case> send_cases()
{
	auto send = [](u32 msn, u32 mo, size_t len) {
		return Untagged{.msn = msn, .mo = mo, .data = payload(len)};
	};
	auto no_receive = [](FakeHost &host) { host.receives.clear(); };
	auto broken = [](FakeHost &host) { host.receives.front().verdict = CORE_TAKE_BROKEN; };
	Bytes half = fpdu(Untagged{.ddp = 0x01, .data = payload(60)});

	return {
		// RFC 5041 7.1, untagged checks 1 to 5
		{"QueueNumber4", {}, Untagged{.qn = 4}, 1, 2, 0x01, md},
		{"SendOnQueue3", {}, Untagged{.qn = 3}, 0, 2, 0x06, md},
		{"QueueNumberAllOnes", {}, Untagged{.qn = 0xffffffff}, 1, 2, 0x01, md},
		{"QueueNumberAboveTheByte", {}, Untagged{.qn = 0x100}, 1, 2, 0x01, md},
		{"NoReceive", {}, send(1, 0, 4), 1, 2, 0x02, md, no_receive},
		{"NoReceiveForEmptySend", {}, send(1, 0, 0), 1, 2, 0x02, md, no_receive},
		{"MsnZero", {}, send(0, 0, 4), 1, 2, 0x03, md},
		{"MsnAhead", {}, send(2, 0, 4), 1, 2, 0x03, md},
		{"MsnAgain", fpdu(send(1, 0, 4)), send(1, 0, 4), 1, 2, 0x03, md},
		{"MsnChangesInside", half, send(2, 60, 4), 1, 2, 0x03, md},
		{"MoNotZero", {}, send(1, 1, 4), 1, 2, 0x04, md},
		{"MoAgain", half, send(1, 0, 4), 1, 2, 0x04, md},
		{"MoWithAGap", half, send(1, 61, 4), 1, 2, 0x04, md},
		{"MoAllOnes", half, send(1, 0xffffffff, 4), 1, 2, 0x04, md},
		{"LongerThanTheReceive", {}, send(1, 0, 101), 1, 2, 0x05, md},
		{"GrowsLongerThanTheReceive", half, send(1, 60, 41), 1, 2, 0x05, md},
		{"UntaggedVersion0", {}, Untagged{.ddp = 0x40}, 1, 2, 0x06, md},
		{"UntaggedVersion2", {}, Untagged{.ddp = 0x42}, 1, 2, 0x06, md},
		{"UntaggedVersion3", {}, Untagged{.ddp = 0x43}, 1, 2, 0x06, md},
		// RFC 5040 figure 9: not the peer's fault
		{"BrokenReceive", {}, send(1, 0, 4), 0, 0, 0x00, none, broken},
		// RFC 5040 7.2
		{"UntaggedRdmapVersion2", {}, Untagged{.rdmap = 0x83}, 0, 2, 0x05, md},
		{"UntaggedRdmapVersion3", {}, Untagged{.rdmap = 0xc3}, 0, 2, 0x05, md},
		{"UntaggedWrite", {}, Untagged{.rdmap = op_write}, 0, 2, 0x06, md},
		{"UntaggedReadResponse", {}, Untagged{.rdmap = op_read_response}, 0, 2, 0x06, md},
		{"UntaggedReserved12", {}, Untagged{.rdmap = 0x4c}, 0, 2, 0x06, md},
		{"UntaggedReserved15", {}, Untagged{.rdmap = 0x4f}, 0, 2, 0x06, md},
		// RFC 7306 6.3 and 8.2: exactly 8 octets, in one segment, on queue 0
		{"ImmediateOf7", {}, Untagged{.rdmap = op_immediate, .data = Bytes(7)}, 0, 2,
		 0xff, md},
		{"ImmediateOf9", {}, Untagged{.rdmap = op_immediate, .data = Bytes(9)}, 1, 2,
		 0x05, md},
		{"ImmediateOfNothing", {}, Untagged{.rdmap = op_immediate_se}, 0, 2, 0xff, md},
		{"ImmediateNotLast",
		 {},
		 Untagged{.ddp = 0x01, .rdmap = op_immediate, .data = Bytes(8)},
		 0,
		 2,
		 0xff,
		 md},
		{"ImmediateAtOffset",
		 {},
		 Untagged{.rdmap = op_immediate, .mo = 8, .data = Bytes(8)},
		 1,
		 2,
		 0x04,
		 md},
		{"ImmediateMsn", {}, immediate(1, 2), 1, 2, 0x03, md},
		{"ImmediateOnQueue1",
		 {},
		 Untagged{.rdmap = op_immediate, .qn = 1, .data = Bytes(8)},
		 0,
		 2,
		 0x06,
		 md},
		{"ImmediateInsideASend", half, immediate(1), 0, 2, 0x06, md},
		{"ImmediateWithoutReceive", {}, immediate(1), 1, 2, 0x02, md,
		 [](FakeHost &host) { host.receives.clear(); }},
		{"ImmediateVersion2",
		 {},
		 Untagged{.rdmap = 0x88, .data = Bytes(8)},
		 0,
		 2,
		 0x05,
		 md},
		{"SendOnQueue1", {}, Untagged{.qn = 1}, 0, 2, 0x06, md},
		{"SendOnQueue2", {}, Untagged{.qn = 2}, 0, 2, 0x06, md},
		{"OpcodeChangesInside", half, Untagged{.rdmap = op_send_se, .mo = 60}, 0, 2, 0x06,
		 md},
		{"TerminateInsideOnQueue0", half, Untagged{.rdmap = op_terminate, .mo = 60}, 0, 2,
		 0x06, md},
	};
}
INSTANTIATE_TEST_SUITE_P(Send, Refused, testing::ValuesIn(send_cases()), name_of);

static std::vector<Case> read_request_cases()
{
	auto with = [](auto change) {
		Untagged out =
			read_request({.length = 4, .source_stag = 0x100, .source_to = 0x1000});

		change(out);
		return out;
	};
	auto of = [](u32 stag, u64 to, u32 length) {
		return read_request(
			{.sink_stag = 1, .length = length, .source_stag = stag, .source_to = to});
	};
	auto full = [](FakeHost &host) { host.read_room = 0; };

	return {
		{"MsnAhead", {}, with([](Untagged &u) { u.msn = 2; }), 1, 2, 0x03, md},
		{"MsnAgain", fpdu(with([](Untagged &) {})), with([](Untagged &) {}), 1, 2, 0x03,
		 md},
		{"MoNotZero", {}, with([](Untagged &u) { u.mo = 28; }), 1, 2, 0x04, md},
		{"NoRoom", {}, with([](Untagged &) {}), 1, 2, 0x02, md, full},
		{"TooLong", {}, with([](Untagged &u) { u.data.resize(29); }), 1, 2, 0x05, md},
		{"MuchTooLong",
		 {},
		 with([](Untagged &u) { u.data.resize(60000); }),
		 1,
		 2,
		 0x05,
		 md},
		{"TooShort", {}, with([](Untagged &u) { u.data.resize(27); }), 0, 2, 0xff, md},
		{"Empty", {}, with([](Untagged &u) { u.data.clear(); }), 0, 2, 0xff, md},
		{"NotLast", {}, with([](Untagged &u) { u.ddp = 0x01; }), 0, 2, 0xff, md},
		{"OnQueue0", {}, with([](Untagged &u) { u.qn = 0; }), 0, 2, 0x06, md},
		{"OnQueue2", {}, with([](Untagged &u) { u.qn = 2; }), 0, 2, 0x06, md},
		// RFC 5040 7.2, 4
		{"UnknownStag", {}, of(0x999, 0x1000, 4), 0, 1, 0x00, mdr},
		{"BelowTheRegion", {}, of(0x100, 0xfff, 4), 0, 1, 0x01, mdr},
		{"BehindTheRegion", {}, of(0x100, 0x10fd, 4), 0, 1, 0x01, mdr},
		{"AllThereIs", {}, of(0x100, 0x1000, 0xffffffff), 0, 1, 0x01, mdr},
		{"NotReadable", {}, of(0x104, 0x1000, 4), 0, 1, 0x02, mdr},
		{"ForeignStag", {}, of(0x101, 0x1000, 4), 0, 1, 0x03, mdr},
		{"Wraps", {}, of(0x100, ~0ull - 2, 4), 0, 1, 0x04, mdr},
	};
}
INSTANTIATE_TEST_SUITE_P(ReadRequest, Refused, testing::ValuesIn(read_request_cases()), name_of);

static std::vector<Case> terminate_cases()
{
	auto with = [](auto change) {
		Untagged out = terminate(Bytes(4));

		change(out);
		return out;
	};

	return {
		{"MsnAhead", {}, with([](Untagged &u) { u.msn = 2; }), 1, 2, 0x03, md},
		{"MoNotZero", {}, with([](Untagged &u) { u.mo = 4; }), 1, 2, 0x04, md},
		{"TooLong", {}, with([](Untagged &u) { u.data.resize(53); }), 1, 2, 0x05, md},
		{"TooShort", {}, with([](Untagged &u) { u.data.resize(3); }), 0, 2, 0xff, md},
		{"NotLast", {}, with([](Untagged &u) { u.ddp = 0x01; }), 0, 2, 0xff, md},
		{"OnQueue0", {}, with([](Untagged &u) { u.qn = 0; }), 0, 2, 0x06, md},
		{"AnnouncesMore",
		 {},
		 with([](Untagged &u) { u.data = hex("0100c000 0020") + Bytes(17); }),
		 0,
		 2,
		 0xff,
		 md},
	};
}
INSTANTIATE_TEST_SUITE_P(Terminate, Refused, testing::ValuesIn(terminate_cases()), name_of);

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
	u8 layer, etype, code, headers;
};

static void expect_term(const core_terminate &term, const HostCase &c)
{
	EXPECT_EQ(term.layer, c.layer) << c.verdict;
	EXPECT_EQ(term.etype, c.etype) << c.verdict;
	EXPECT_EQ(term.code, c.code) << c.verdict;
	EXPECT_EQ(term.has_ddp, (c.headers & md) != 0) << c.verdict;
	EXPECT_EQ(term.has_rdmap, (c.headers & 0x20) != 0) << c.verdict;
}

// The region was revoked or changed between check and placement.
TEST(HostCannotPlace, Write)
{
	const HostCase cases[] = {
		{CORE_REGION_INVALID, 1, 1, 0, md}, {CORE_REGION_BOUNDS, 1, 1, 1, md},
		{CORE_REGION_ACCESS, 1, 1, 0, md},  {CORE_REGION_FOREIGN, 1, 1, 2, md},
		{CORE_REGION_WRAP, 1, 1, 3, md},    {CORE_REGION_OK, 0, 0, 0, none},
	};

	for (const HostCase &c : cases) {
		Stream s;

		until_placement(s, Tagged{.stag = 0x100, .to = 0x1000, .data = payload(9)});
		EXPECT_EQ(core_rx_fail(&s.rx, c.verdict), CORE_RX_ERROR);
		expect_term(s.term(), c);
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
			expect_term(s.term(), {CORE_REGION_INVALID, 1, 1, 0, md});
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
		expect_term(s.term(), {verdict, 0, 0, 0, none});
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
	expect_term(s.term(), {CORE_REGION_OK, 0, 0, 0, none});
}

// The source was revoked just after the request was delivered.
TEST(HostCannotPlace, ReadRequest)
{
	Stream s;

	furnish(s.host);
	s.feed(fpdu(read_request({.length = 4, .source_stag = 0x100, .source_to = 0x1000})));
	ASSERT_EQ(s.deliveries.at(0).event, CORE_RX_READ_REQUEST);
	EXPECT_EQ(core_rx_fail(&s.rx, CORE_REGION_INVALID), CORE_RX_ERROR);
	expect_term(s.term(), {CORE_REGION_INVALID, 0, 1, 0, mdr});
	EXPECT_EQ(Bytes(s.term().read_request, s.term().read_request + 28),
		  Bytes(ReadRequest{.length = 4, .source_stag = 0x100, .source_to = 0x1000}));
}

// RFC 5040 5.3: an STag that is not this stream's ends in "STag cannot be Invalidated"; 7.2, 4: it
// has to be valid. The DDP header goes with it, and no RDMA header, which only a Read Request has
// (4.8).
TEST(HostCannotInvalidate, EveryReason)
{
	const HostCase cases[] = {
		{CORE_REGION_INVALID, 0, 1, 0x00, md},
		{CORE_REGION_FOREIGN, 0, 1, 0x09, md},
		{CORE_REGION_ACCESS, 0, 1, 0x09, md},
		{CORE_REGION_OK, 0, 0, 0x00, none},
	};

	for (const HostCase &c : cases) {
		Stream s;
		Untagged send = {.rdmap = op_send_inv, .inv_stag = 0x101, .data = payload(5)};

		furnish(s.host);
		s.feed(fpdu(send));
		ASSERT_EQ(s.deliveries.at(0).event, CORE_RX_SEND);
		EXPECT_EQ(core_rx_fail_invalidate(&s.rx, c.verdict), CORE_RX_ERROR);
		expect_term(s.term(), c);
		EXPECT_TRUE(s.over());
		if (c.headers) {
			EXPECT_EQ(Bytes(s.term().ddp, s.term().ddp + 18), send.header());
			EXPECT_EQ(s.term().ddp_len, 18 + 5);
		}
	}
}
