// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// MPA startup: frames (RFC 5044 7.1.1, RFC 6581 6 and 9), negotiation (RFC 5044 7.1, RFC 6581 9 and
// 10), and MULPDU (RFC 5044 4.5).
#include "../shared/wire.hh"
#include "api/core.h"

using wire::Bytes;
using wire::hex;

static const Bytes request_key = hex("4d504120494420526571204672616d65");
static const Bytes reply_key = hex("4d504120494420526570204672616d65");
constexpr u16 none = CORE_MPA_AUTO; // no negotiation wanted

static core_mpa_result parse(const Bytes &header, bool expect_reply,
			     core_mpa_frame *frame = nullptr)
{
	core_mpa_frame ignored;

	EXPECT_EQ(header.size(), size_t{CORE_MPA_HEADER});
	return core_mpa_parse(header.data(), expect_reply, frame ? frame : &ignored);
}

static Bytes build(const core_mpa_frame &frame)
{
	Bytes out(CORE_MPA_HEADER + CORE_MPA_ENHANCED, 0xee);

	out.resize(core_mpa_build(&frame, out.data()));
	return out;
}

// ---- Frames ----

// RFC 5044 figure 8.
TEST(MpaFrame, RequestOctets)
{
	core_mpa_frame frame{};

	frame.revision = 1;
	frame.crc = 1;
	frame.private_len = 0x0102;
	EXPECT_EQ(build(frame), request_key + hex("40 01 0102"));
	frame.markers = 1;
	frame.reject = 1; // RFC 5044 7.1.1: zero in a Request
	EXPECT_EQ(build(frame), request_key + hex("c0 01 0102"));
}

// RFC 6581 6 and 9: S, then A B IRD and C D ORD.
TEST(MpaFrame, ReplyOctets)
{
	core_mpa_frame frame{};

	frame.reply = frame.reject = frame.crc = frame.enhanced = 1;
	frame.revision = 2;
	frame.private_len = 4;
	frame.ird = 0x0123;
	frame.ord = 0x3fff;
	EXPECT_EQ(build(frame), reply_key + hex("70 02 0004 0123 3fff"));
	frame.p2p = 1;
	frame.rtr = CORE_RTR_SEND;
	EXPECT_EQ(build(frame), reply_key + hex("70 02 0004 c123 3fff"));
	frame.rtr = CORE_RTR_WRITE;
	EXPECT_EQ(build(frame), reply_key + hex("70 02 0004 8123 bfff"));
	frame.rtr = CORE_RTR_READ;
	EXPECT_EQ(build(frame), reply_key + hex("70 02 0004 8123 7fff"));
}

// RFC 6581 9.2: with A zero, B, C and D are zero.
TEST(MpaFrame, NoRtrWithoutPeerToPeer)
{
	core_mpa_frame frame{};

	frame.revision = 2;
	frame.enhanced = 1;
	frame.rtr = CORE_RTR_ALL;
	EXPECT_EQ(build(frame), request_key + hex("10 02 0000 0000 0000"));
}

TEST(MpaFrame, ParsesEveryFlag)
{
	core_mpa_frame frame;

	ASSERT_EQ(parse(reply_key + hex("f0 02 0010"), true, &frame), CORE_MPA_OK);
	EXPECT_TRUE(frame.reply && frame.markers && frame.crc && frame.reject && frame.enhanced);
	EXPECT_EQ(frame.revision, 2);
	EXPECT_EQ(frame.private_len, 16);
	ASSERT_EQ(parse(reply_key + hex("d0 02 0010"), true, &frame), CORE_MPA_OK);
	EXPECT_FALSE(frame.reject);
	ASSERT_EQ(parse(request_key + hex("00 01 0000"), false, &frame), CORE_MPA_OK);
	EXPECT_FALSE(frame.reply || frame.markers || frame.crc || frame.reject || frame.enhanced);
}

// RFC 5044 7.1.1: R is not checked in a Request, the reserved bits in neither; S is one of them in
// revision 1.
TEST(MpaFrame, IgnoresWhatIsReserved)
{
	core_mpa_frame frame;

	ASSERT_EQ(parse(request_key + hex("3f 01 0000"), false, &frame), CORE_MPA_OK);
	EXPECT_FALSE(frame.reject || frame.enhanced);
}

// RFC 5044 7.1.1, 7.1.2 rules 5 and 8: only the other end's key.
TEST(MpaFrame, Keys)
{
	EXPECT_EQ(parse(reply_key + hex("00 01 0000"), false), CORE_MPA_BAD_KEY);
	EXPECT_EQ(parse(request_key + hex("00 01 0000"), true), CORE_MPA_BAD_KEY);
	for (size_t at = 0; at < 16; at++) {
		Bytes header = request_key + hex("00 01 0000");

		header[at] ^= 0x20;
		EXPECT_EQ(parse(header, false), CORE_MPA_BAD_KEY);
	}
}

TEST(MpaFrame, Revisions)
{
	for (u32 revision = 0; revision < 256; revision++) {
		Bytes header = request_key + Bytes{0, u8(revision), 0, 0};

		EXPECT_EQ(parse(header, false),
			  revision == 1 || revision == 2 ? CORE_MPA_OK : CORE_MPA_BAD_REVISION);
	}
}

// RFC 5044 7.1.1: at most 512; RFC 6581 6: at least four octets with S.
TEST(MpaFrame, Lengths)
{
	EXPECT_EQ(parse(request_key + hex("00 01 0200"), false), CORE_MPA_OK);
	EXPECT_EQ(parse(request_key + hex("00 01 0201"), false), CORE_MPA_BAD_LENGTH);
	EXPECT_EQ(parse(request_key + hex("00 01 ffff"), false), CORE_MPA_BAD_LENGTH);
	EXPECT_EQ(parse(request_key + hex("10 02 0003"), false), CORE_MPA_BAD_LENGTH);
	EXPECT_EQ(parse(request_key + hex("10 02 0004"), false), CORE_MPA_OK);
	EXPECT_EQ(parse(request_key + hex("10 02 0201"), false), CORE_MPA_BAD_LENGTH);
	EXPECT_EQ(parse(request_key + hex("00 02 0000"), false), CORE_MPA_OK);
	EXPECT_EQ(parse(request_key + hex("10 01 0000"), false), CORE_MPA_OK);
}

static core_mpa_frame enhanced_of(const char *octets)
{
	core_mpa_frame frame{};

	frame.p2p = 1; // whatever was there before
	frame.rtr = CORE_RTR_ALL;
	core_mpa_parse_enhanced(hex(octets).data(), &frame);
	return frame;
}

// RFC 6581 9.
TEST(MpaEnhanced, Parses)
{
	core_mpa_frame frame = enhanced_of("c123 bfff");

	EXPECT_EQ(frame.ird, 0x0123);
	EXPECT_EQ(frame.ord, 0x3fff);
	EXPECT_TRUE(frame.p2p);
	EXPECT_EQ(frame.rtr, CORE_RTR_SEND | CORE_RTR_WRITE);
	EXPECT_EQ(enhanced_of("8000 4000").rtr, CORE_RTR_READ);
	EXPECT_EQ(enhanced_of("8000 0000").rtr, 0);
}

// RFC 6581 9.2: with A zero, B, C and D are ignored.
TEST(MpaEnhanced, FlagsCountOnlyWithA)
{
	core_mpa_frame frame = enhanced_of("4001 c002");

	EXPECT_FALSE(frame.p2p);
	EXPECT_EQ(frame.rtr, 0);
	EXPECT_EQ(frame.ird, 1);
	EXPECT_EQ(frame.ord, 2);
}

// ---- Negotiation ----

static core_startup_local end_with(u16 ird, u16 ord, u16 max_ird, u8 p2p = 0, u8 rtr = CORE_RTR_ALL)
{
	core_startup_local local{};

	local.ird = ird;
	local.ord = ord;
	local.max_ird = max_ird;
	local.crc = 1;
	local.revision = 2;
	local.p2p = p2p;
	local.rtr = rtr;
	return local;
}

static core_mpa_frame request_of(const core_startup_local &local, u16 private_len = 0)
{
	core_mpa_frame frame;

	core_mpa_request(&local, private_len, &frame);
	return frame;
}

struct Response {
	core_mpa_frame reply;
	core_startup_agreed agreed;
};

static Response respond(const core_mpa_frame &request, const core_startup_local &local,
			bool reject = false, u16 private_len = 0)
{
	Response out;

	core_mpa_respond(&request, &local, reject, private_len, &out.reply, &out.agreed);
	return out;
}

static core_startup_agreed conclude(const core_mpa_frame &request, const core_mpa_frame &reply,
				    const core_startup_local &local)
{
	core_startup_agreed out;

	core_mpa_conclude(&request, &reply, &local, &out);
	return out;
}

// A reserved bit (RFC 5044 7.1.1), shown and heeded only where the administrator wishes so.
TEST(MpaBasics, LargeFpdusOnlyIfBothEndsShowTheBit)
{
	for (u8 ours : {0, 1})
		for (u8 theirs : {0, 1}) {
			core_startup_local us{}, them{};
			core_startup_agreed here{}, there{};
			core_mpa_frame request{}, reply{}, heard{};

			us.large_fpdus = ours;
			them.large_fpdus = theirs;
			us.revision = them.revision = 1;
			core_mpa_request(&us, 0, &request);
			EXPECT_EQ(build(request)[16], ours ? 0x08 : 0);
			EXPECT_EQ(parse(build(request), false, &heard), CORE_MPA_OK);
			core_mpa_respond(&heard, &them, false, 0, &reply, &there);
			EXPECT_EQ(build(reply)[16], ours && theirs ? 0x08 : 0);
			EXPECT_EQ(parse(build(reply), true, &heard), CORE_MPA_OK);
			core_mpa_conclude(&request, &heard, &us, &here);
			EXPECT_EQ(here.long_segments, ours && theirs);
			EXPECT_EQ(there.long_segments, ours && theirs);
		}
	core_startup_local us{};
	core_mpa_frame request{}, reply{};
	core_startup_agreed here{};

	us.revision = 1;
	core_mpa_request(&us, 0, &request);
	reply.large = 1; // though nobody asked
	core_mpa_conclude(&request, &reply, &us, &here);
	EXPECT_FALSE(here.long_segments);
}

TEST(MpaRequest, RevisionOneHasNoEnhancedData)
{
	core_startup_local local = end_with(4, 5, 16, 1);

	local.revision = 1;
	core_mpa_frame frame = request_of(local, 100);

	EXPECT_EQ(frame.revision, 1);
	EXPECT_EQ(frame.private_len, 100);
	EXPECT_FALSE(frame.enhanced || frame.p2p || frame.rtr || frame.reply);
}

// RFC 6581 6: PD_Length counts the enhanced data; 9.2: every RTR type that the initiator can
// generate.
TEST(MpaRequest, RevisionTwo)
{
	core_mpa_frame frame = request_of(end_with(4, 5, 16, 1), 100),
		       client = request_of(end_with(4, 5, 16, 0));

	EXPECT_EQ(frame.private_len, 104);
	EXPECT_EQ(frame.ird, 4);
	EXPECT_EQ(frame.ord, 5);
	EXPECT_TRUE(frame.enhanced && frame.p2p);
	EXPECT_EQ(frame.rtr, CORE_RTR_ALL);
	EXPECT_FALSE(client.p2p || client.rtr);
}

// RFC 6581 9.1: the IRD is what the initiator can support.
TEST(MpaRequest, IrdIsNoMoreThanThereIsRoomFor)
{
	EXPECT_EQ(request_of(end_with(100, 5, 16)).ird, 16);
}

// RFC 5044 7.1.1: CRCs are off only if neither end wants them; each end asks for its own markers.
TEST(MpaBasics, CrcAndMarkers)
{
	for (unsigned bits = 0; bits < 16; bits++) {
		core_startup_local initiator = end_with(1, 1, 1), responder = end_with(1, 1, 1);

		initiator.crc = bits & 1;
		responder.crc = bits >> 1 & 1;
		initiator.markers = bits >> 2 & 1;
		responder.markers = bits >> 3 & 1;
		core_mpa_frame request = request_of(initiator);
		Response response = respond(request, responder);
		core_startup_agreed agreed = conclude(request, response.reply, initiator);

		EXPECT_EQ(agreed.crc, (bits & 3) != 0) << bits;
		EXPECT_EQ(response.agreed.crc, agreed.crc);
		EXPECT_EQ(agreed.send_markers, responder.markers);
		EXPECT_EQ(agreed.recv_markers, initiator.markers);
		EXPECT_EQ(response.agreed.send_markers, initiator.markers);
		EXPECT_EQ(response.agreed.recv_markers, responder.markers);
	}
}

// RFC 5044 7.1.1: M is about one direction only. An end that asks for markers promises none, and it
// is never an error.
TEST(MpaBasics, MarkersAreAskedForByWhoReceivesThem)
{
	core_startup_local plain = end_with(1, 1, 1), with_markers = plain;

	with_markers.markers = 1;
	for (u8 revision : {1, 2}) {
		plain.revision = with_markers.revision = revision;
		EXPECT_TRUE(request_of(with_markers).markers);
		EXPECT_FALSE(request_of(plain).markers);
		Response asked = respond(request_of(with_markers), plain),
			 asks = respond(request_of(plain), with_markers);

		EXPECT_FALSE(asked.reply.markers);
		EXPECT_TRUE(asked.agreed.send_markers && !asked.agreed.recv_markers &&
			    !asked.agreed.error);
		EXPECT_TRUE(asks.reply.markers);
		EXPECT_TRUE(asks.agreed.recv_markers && !asks.agreed.send_markers &&
			    !asks.agreed.error);
		EXPECT_EQ(conclude(request_of(plain), asks.reply, plain).error, 0);
	}
}

// RFC 6581 10: unenhanced requests have unenhanced replies, of their revision.
TEST(MpaRespond, Unenhanced)
{
	for (u8 revision : {1, 2}) {
		core_mpa_frame request{};

		request.revision = revision;
		Response out = respond(request, end_with(4, 5, 16), false, 30);

		EXPECT_TRUE(out.reply.reply);
		EXPECT_FALSE(out.reply.enhanced || out.reply.reject);
		EXPECT_EQ(out.reply.revision, revision);
		EXPECT_EQ(out.reply.private_len, 30);
		EXPECT_EQ(out.agreed.ird, 4);
		EXPECT_EQ(out.agreed.ord, 5);
		EXPECT_EQ(out.agreed.error, 0);
	}
}

struct Depths {
	u16 initiator_ird, initiator_ord; // in the Request
	u16 ird, ord, max_ird;		  // the responder's
	u16 reply_ird, reply_ord, set_ird, set_ord;
};

// RFC 6581 9.1.
TEST(MpaRespond, Depths)
{
	const Depths table[] = {
		{4, 4, 4, 4, 16, 4, 4, 4, 4},
		{4, 8, 2, 2, 16, 8, 2, 8, 2},		  // grows to the initiator's ORD
		{4, 32, 2, 2, 16, 16, 2, 16, 2},	  // as far as there is room
		{4, 2, 8, 8, 16, 8, 4, 8, 4},		  // ORD at most the initiator's IRD
		{0, 0, 8, 8, 16, 8, 0, 8, 0},		  // the initiator takes no reads
		{0, 0, 0, 0, 0, 0, 0, 0, 0},		  //
		{none, 4, 2, 2, 16, 4, none, 4, 2},	  // ORD unchanged, 0x3FFF in the reply
		{4, none, 2, 8, 16, none, 4, 2, 4},	  // IRD unchanged, 0x3FFF in the reply
		{none, none, 7, 9, 16, none, none, 7, 9}, // both
		{4, 4, 100, 4, 16, 16, 4, 16, 4},	  // the ULP asked for more than there is
	};

	for (const Depths &d : table) {
		SCOPED_TRACE(testing::Message() << &d - table);
		core_mpa_frame request{};

		request.revision = 2;
		request.enhanced = 1;
		request.ird = d.initiator_ird;
		request.ord = d.initiator_ord;
		Response out = respond(request, end_with(d.ird, d.ord, d.max_ird), false, 10);

		EXPECT_TRUE(out.reply.enhanced);
		EXPECT_EQ(out.reply.private_len, 14);
		EXPECT_EQ(out.reply.ird, d.reply_ird);
		EXPECT_EQ(out.reply.ord, d.reply_ord);
		EXPECT_EQ(out.agreed.ird, d.set_ird);
		EXPECT_EQ(out.agreed.ord, d.set_ord);
		EXPECT_FALSE(out.reply.p2p || out.reply.rtr || out.agreed.p2p || out.agreed.rtr);
	}
}

struct Conclusion {
	u16 ird, ord, max_ird;	  // the initiator's
	u16 reply_ird, reply_ord; // in the Reply
	u16 set_ird, set_ord;
	u8 error;
};

// RFC 6581 9.1: ORD at most the responder's IRD, IRD at least the responder's ORD, or error 6.
TEST(MpaConclude, Depths)
{
	const Conclusion table[] = {
		{4, 4, 16, 4, 4, 4, 4, 0},	 {4, 4, 16, 2, 2, 4, 2, 0}, // ORD lowered
		{4, 4, 16, 8, 4, 4, 4, 0},				    // never raised
		{4, 4, 16, 0, 4, 4, 0, 0},				    //
		{4, 4, 16, 4, 9, 9, 4, 0},				    // IRD raised
		{4, 4, 16, 4, 16, 16, 4, 0},				    //
		{4, 4, 16, 4, 17, 4, 4, 6},				    // no room
		{4, 4, 16, none, 4, 4, 4, 0},				    // ORD unchanged
		{4, 4, 16, 2, none, 4, 2, 0},				    // IRD unchanged
		{4, 4, 16, none, none, 4, 4, 0},			    //
	};

	for (const Conclusion &c : table) {
		SCOPED_TRACE(testing::Message() << &c - table);
		core_startup_local local = end_with(c.ird, c.ord, c.max_ird);
		core_mpa_frame reply{};

		reply.reply = reply.enhanced = 1;
		reply.revision = 2;
		reply.ird = c.reply_ird;
		reply.ord = c.reply_ord;
		core_startup_agreed agreed = conclude(request_of(local), reply, local);

		EXPECT_EQ(agreed.error, c.error);
		EXPECT_EQ(agreed.ird, c.set_ird);
		EXPECT_EQ(agreed.ord, c.set_ord);
	}
}

// RFC 6581 9.1: after a successful negotiation no ORD is above the other end's IRD.
TEST(MpaNegotiation, OrdNeverAboveTheOthersIrd)
{
	std::mt19937 random(6581);

	for (int i = 0; i < 20000; i++) {
		auto any = [&] { return static_cast<u16>(random() % 20); };
		core_startup_local initiator =
			end_with(any(), any(), any(), random() % 2, random() % 8);
		core_startup_local responder = end_with(any(), any(), any(), 0, 1 + random() % 7);
		core_mpa_frame request = request_of(initiator);
		Response response = respond(request, responder);
		core_startup_agreed agreed = conclude(request, response.reply, initiator);

		EXPECT_LE(agreed.ord, response.agreed.ird);
		EXPECT_LE(response.agreed.ord, agreed.ird);
		EXPECT_LE(response.agreed.ird, responder.max_ird);
		EXPECT_LE(agreed.ird, initiator.max_ird);
		EXPECT_EQ(agreed.p2p, initiator.p2p);
		if (agreed.rtr) {
			EXPECT_TRUE(agreed.rtr & response.agreed.rtr & initiator.rtr);
			EXPECT_EQ(agreed.rtr & (agreed.rtr - 1), 0) << "one type only";
		} else {
			EXPECT_EQ(agreed.error, initiator.p2p ? 7 : 0);
		}
	}
}

struct Rtr {
	u8 initiator, responder;
	u8 offered, chosen, error;
};

// RFC 6581 9.2: the responder offers the common RTR types, or else its own; the initiator generates
// one, or error 7.
TEST(MpaNegotiation, RtrSelection)
{
	constexpr u8 S = CORE_RTR_SEND, W = CORE_RTR_WRITE, R = CORE_RTR_READ;
	const Rtr table[] = {
		{S | W | R, S | W | R, S | W | R, W, 0},
		{S | R, S | W | R, S | R, R, 0},
		{S, S | W | R, S, S, 0},
		{S | W | R, S, S, S, 0},
		{W, S | R, S | R, 0, 7},
		{0, W, W, 0, 7},
		{R, R, R, R, 0},
	};

	for (const Rtr &r : table) {
		SCOPED_TRACE(testing::Message() << &r - table);
		core_startup_local initiator = end_with(4, 4, 4, 1, r.initiator),
				   responder = end_with(4, 4, 4, 0, r.responder);
		core_mpa_frame request = request_of(initiator);
		Response response = respond(request, responder);
		core_startup_agreed agreed = conclude(request, response.reply, initiator);

		EXPECT_TRUE(response.reply.p2p && response.agreed.p2p && agreed.p2p);
		EXPECT_EQ(response.reply.rtr, r.offered);
		EXPECT_EQ(response.agreed.rtr, r.offered);
		EXPECT_EQ(agreed.rtr, r.chosen);
		EXPECT_EQ(agreed.error, r.error);
	}
}

// RFC 6581 9.1: with an initiator ORD of zero, the responder's IRD is one, for a read RTR.
TEST(MpaNegotiation, ReadRtrNeedsAnIrd)
{
	core_startup_local initiator = end_with(0, 0, 0, 1, CORE_RTR_READ);
	Response room = respond(request_of(initiator), end_with(0, 0, 1, 0, CORE_RTR_ALL));
	Response no_room = respond(request_of(initiator), end_with(0, 0, 0, 0, CORE_RTR_ALL));

	EXPECT_EQ(room.reply.ird, 1);
	EXPECT_EQ(room.agreed.ird, 1);
	EXPECT_EQ(room.reply.rtr, CORE_RTR_READ);
	EXPECT_EQ(conclude(request_of(initiator), room.reply, initiator).rtr, CORE_RTR_READ);

	EXPECT_EQ(no_room.reply.ird, 0);
	EXPECT_EQ(no_room.reply.rtr, CORE_RTR_SEND | CORE_RTR_WRITE);
	EXPECT_EQ(conclude(request_of(initiator), no_room.reply, initiator).error, 7);
}

// RFC 6581 9.1: with 0x3FFF the local IRD stays as it is, even if that leaves no room for a read
// RTR.
TEST(MpaNegotiation, ReadRtrDoesNotTouchAnIrdThatIsNotNegotiated)
{
	core_startup_local initiator = end_with(0, 0, 0, 1, CORE_RTR_ALL);
	core_mpa_frame request = request_of(initiator);

	request.ord = none;
	Response out = respond(request, end_with(0, 0, 4, 0, CORE_RTR_ALL));

	EXPECT_EQ(out.agreed.ird, 0);
	EXPECT_EQ(out.reply.ird, none);
	EXPECT_EQ(out.reply.rtr, CORE_RTR_SEND | CORE_RTR_WRITE);
}

// RFC 6581 9.2: a client-server request has a client-server reply.
TEST(MpaNegotiation, ClientServer)
{
	core_startup_local initiator = end_with(4, 4, 4);
	core_mpa_frame request = request_of(initiator),
		       reply = respond(request, end_with(4, 4, 4, 1)).reply;

	EXPECT_FALSE(reply.p2p || reply.rtr);
	reply.p2p = 1; // a responder that breaks the rule is ignored
	reply.rtr = CORE_RTR_ALL;
	EXPECT_FALSE(conclude(request, reply, initiator).p2p);
	EXPECT_FALSE(conclude(request, reply, initiator).rtr);
}

TEST(MpaNegotiation, Reject)
{
	core_startup_local initiator = end_with(4, 4, 4, 1, CORE_RTR_SEND);
	core_mpa_frame request = request_of(initiator);
	Response out = respond(request, end_with(4, 4, 4, 0, CORE_RTR_READ), true, 8);

	EXPECT_TRUE(out.reply.reject);
	EXPECT_EQ(out.reply.private_len, 12);
	// There is nothing left to agree on.
	EXPECT_EQ(conclude(request, out.reply, initiator).error, 0);
}

// RFC 6581 9.2, 10: the RTR is owed to a Reply with control flag A; a plain Reply leaves a
// client-server connection.
TEST(MpaConclude, PlainReplyToAnEnhancedRequest)
{
	core_startup_local client = end_with(4, 5, 16), peer = end_with(4, 5, 16, 1);
	core_mpa_frame reply{};

	reply.reply = reply.revision = 1;
	EXPECT_EQ(conclude(request_of(client), reply, client).error, 0);
	EXPECT_EQ(conclude(request_of(client), reply, client).ord, 5);
	EXPECT_EQ(conclude(request_of(peer), reply, peer).error, 0);
	EXPECT_EQ(conclude(request_of(peer), reply, peer).p2p, 0);
	EXPECT_EQ(conclude(request_of(peer), reply, peer).rtr, 0);
}

// RFC 6581 10: an enhanced reply to an unenhanced request is an error, for which 8 has no other
// number.
TEST(MpaConclude, EnhancedReplyToAPlainRequest)
{
	core_startup_local local = end_with(4, 5, 16);
	core_mpa_frame reply{};

	local.revision = 1;
	reply.reply = reply.enhanced = 1;
	reply.revision = 2;
	EXPECT_EQ(conclude(request_of(local), reply, local).error, 5);
}

// ---- MULPDU (RFC 5044 4.5) ----

TEST(Mulpdu, WithoutMarkers)
{
	EXPECT_EQ(core_mpa_mulpdu(1460, false), 1454u);
	EXPECT_EQ(core_mpa_mulpdu(1448, false), 1442u);
	EXPECT_EQ(core_mpa_mulpdu(1449, false), 1442u);
	EXPECT_EQ(core_mpa_mulpdu(1451, false), 1442u);
	EXPECT_EQ(core_mpa_mulpdu(8948, false), 8942u);
}

TEST(Mulpdu, WithMarkers)
{
	EXPECT_EQ(core_mpa_mulpdu(1460, true), 1460u - 6 - 12);
	EXPECT_EQ(core_mpa_mulpdu(1024, true), 1024u - 6 - 8);
	EXPECT_EQ(core_mpa_mulpdu(1025, true), 1025u - 6 - 12 - 1);
}

TEST(Mulpdu, NeverBelow128NorAboveTheLengthField)
{
	for (u32 emss : {0u, 1u, 5u, 128u, 133u, 134u})
		EXPECT_EQ(core_mpa_mulpdu(emss, false), emss == 134 ? 126u + 2 : 128u) << emss;
	EXPECT_EQ(core_mpa_mulpdu(0, true), 128u);
	for (u32 emss : {65536u, 70000u, 0x7fffffffu, 0xffffffffu})
		EXPECT_EQ(core_mpa_mulpdu(emss, false), 64768u) << emss;
	EXPECT_EQ(core_mpa_mulpdu(0xffffffff, true), 64768u);
}
