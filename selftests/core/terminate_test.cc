// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The Terminate header (RFC 5040 4.8, figures 7 and 8).
#include <rdma/srnic-abi.h>

#include "../shared/wire.hh"
#include "api/core.h"

using wire::Bytes;
using wire::hex;

static Bytes build(const core_terminate &term)
{
	Bytes out(CORE_TERM_MAX, 0xee);

	out.resize(core_terminate_build(&term, out.data()));
	return out;
}

static core_terminate parsed(const Bytes &data)
{
	core_terminate term{};

	EXPECT_TRUE(core_terminate_parse(data.data(), static_cast<u32>(data.size()), &term));
	return term;
}

static bool parses(const Bytes &data)
{
	core_terminate term;
	Bytes exact = data; // so that the sanitizer sees reads past the end

	exact.shrink_to_fit();
	return core_terminate_parse(exact.data(), static_cast<u32>(exact.size()), &term);
}

static const Bytes tagged_header = hex("c1 40 01020304 1112131415161718");
static const Bytes untagged_header = hex("41 41 00000000 00000001 00000002 00000000");
static const Bytes request = hex("01020304 1112131415161718 21222324 31323334 4142434445464748");

static core_terminate term_with(u8 layer, u8 etype, u8 code, const Bytes &ddp, u16 ddp_len,
				const Bytes &rdmap)
{
	core_terminate term{};

	term.layer = layer;
	term.etype = etype;
	term.code = code;
	term.has_ddp = !ddp.empty();
	term.ddp_len = ddp_len;
	term.ddp_header_len = static_cast<u8>(ddp.size());
	std::copy(ddp.begin(), ddp.end(), term.ddp);
	term.has_rdmap = !rdmap.empty();
	std::copy(rdmap.begin(), rdmap.end(), term.read_request);
	return term;
}

// An LLP error includes no headers (figure 10).
TEST(TerminateBuild, ControlAlone)
{
	EXPECT_EQ(build(term_with(2, 0, 2, {}, 0, {})), hex("20 02 00 00"));
}

TEST(TerminateBuild, TaggedHeader)
{
	EXPECT_EQ(build(term_with(1, 1, 3, tagged_header, 0x1234, {})),
		  hex("11 03 c0 00 1234") + tagged_header);
}

TEST(TerminateBuild, UntaggedHeader)
{
	EXPECT_EQ(build(term_with(1, 2, 5, untagged_header, 0x12, {})),
		  hex("12 05 c0 00 0012") + untagged_header);
}

TEST(TerminateBuild, EverythingIsTheLongest)
{
	Bytes out = build(term_with(0, 1, 4, untagged_header, 46, request));

	EXPECT_EQ(out, hex("01 04 e0 00 002e") + untagged_header + request);
	EXPECT_EQ(out.size(), size_t{CORE_TERM_MAX});
}

TEST(TerminateParse, TakesBackWhatWasBuilt)
{
	for (const Bytes &ddp : {Bytes{}, tagged_header, untagged_header}) {
		for (const Bytes &rdmap : {Bytes{}, request}) {
			core_terminate term =
				term_with(1, 2, 0xff, ddp, ddp.empty() ? 0 : 99, rdmap);
			core_terminate back = parsed(build(term));

			EXPECT_EQ(memcmp(&back, &term, sizeof(term)), 0);
		}
	}
}

// 4.8: shorter than the header control bits announce.
TEST(TerminateParse, EveryShorterLengthIsRefused)
{
	for (const Bytes &whole : {build(term_with(0, 1, 4, untagged_header, 46, request)),
				   build(term_with(1, 1, 0, tagged_header, 46, {})),
				   hex("20020000"), hex("10000020") + request}) {
		Bytes announced = whole;

		if (announced[3] == 0x20) // R alone
			std::swap(announced[2], announced[3]);
		EXPECT_TRUE(parses(announced));
		while (!announced.empty()) {
			announced.pop_back();
			EXPECT_FALSE(parses(announced)) << announced.size();
		}
	}
}

// 7.1: headers not announced may be present as zeros; the reserved bits are ignored.
TEST(TerminateParse, MoreThanAnnouncedAndReservedBits)
{
	core_terminate term = parsed(hex("02 06 1f ff") + Bytes(48));

	EXPECT_EQ(term.layer, 0);
	EXPECT_EQ(term.etype, 2);
	EXPECT_EQ(term.code, 6);
	EXPECT_FALSE(term.has_ddp || term.has_rdmap);
}

// 4.8: the DDP Segment Length is present with D, but valid only with M; and M may come without D.
TEST(TerminateParse, LengthAndHeaderByThemselves)
{
	core_terminate d = parsed(hex("11 00 40 00 1234") + tagged_header);
	core_terminate m = parsed(hex("11 00 80 00 1234"));

	EXPECT_TRUE(d.has_ddp);
	EXPECT_EQ(d.ddp_len, 0);
	EXPECT_EQ(d.ddp_header_len, 14);
	EXPECT_FALSE(m.has_ddp);
	EXPECT_EQ(m.ddp_len, 0x1234);
}

// RFC 5040 4.8: a read in progress is reported with its rest, and figure 10: with both headers.
TEST(TerminateRead, SaysWhatIsLeft)
{
	const core_read_request read = {.sink_stag = 0x11121314,
					 .length = 0x1000,
					 .source_stag = 0x21222324,
					 .sink_to = 0x3132333435363738,
					 .source_to = 0xfffffffffffff000};
	core_terminate term;
	Bytes out(CORE_TERM_MAX);

	core_terminate_read(&read, 7, 0x800, CORE_REGION_ACCESS, &term);
	EXPECT_EQ(core_terminate_build(&term, out.data()), out.size());
	EXPECT_EQ(out, hex("01 02 e0 00 002e 41 41 00000000 00000001 00000007 00000000"
			   "11121314 3132333435363f38 00000800 21222324 fffffffffffff800"));
}

// ---- What it means ----

struct Meaning {
	u8 layer, etype, code;
	core_stream_event event;
};

// Layer, error type and code as in vendor_err (srnic-abi.h). The sender of a Terminate raises an
// event for its consumer: an access violation or an invalid request of the peer.
TEST(TerminateMeans, AnEventToItsSender)
{
	const Meaning cases[] = {
		{0, 0, 0, CORE_STREAM_FATAL},	      {0, 1, 2, CORE_STREAM_ACCESS_ERROR},
		{0, 2, 6, CORE_STREAM_REQUEST_ERROR}, {1, 1, 0, CORE_STREAM_ACCESS_ERROR},
		{1, 2, 5, CORE_STREAM_FATAL},	      {2, 0, 2, CORE_STREAM_FATAL},
	};

	for (const Meaning &c : cases) {
		core_terminate term = term_with(c.layer, c.etype, c.code, {}, 0, {});

		EXPECT_EQ(core_terminate_event(&term), c.event) << +c.layer << ' ' << +c.etype;
		EXPECT_EQ(core_terminate_code(&term),
			  u32(c.layer << 12 | c.etype << 8 | c.code));
	}
}

TEST(TerminateMeans, WhatTheHostFindsIsItsOwnErrorOrALostConnection)
{
	core_terminate local, lost;

	core_terminate_of_host(CORE_HOST_LOCAL, &local);
	core_terminate_of_host(CORE_HOST_LLP_LOST, &lost);
	EXPECT_EQ(core_terminate_code(&local), 0x0000u); // RFC 5040 figure 9
	EXPECT_EQ(core_terminate_code(&lost), 0x2001u);  // RFC 5044 8
	EXPECT_FALSE(local.has_ddp || local.has_rdmap || lost.has_ddp || lost.has_rdmap);
}

TEST(TerminateMeans, AFaultOfThisEndTheOtherOrTheWay)
{
	const struct {
		u8 layer, etype, code;
		core_fault fault;
	} cases[] = {
		{0, 0, 0, CORE_FAULT_OWN},  {0, 0, 7, CORE_FAULT_OWN},	{0, 1, 2, CORE_FAULT_PEER},
		{1, 0, 0, CORE_FAULT_PEER}, {2, 0, 1, CORE_FAULT_PEER}, {2, 0, 2, CORE_FAULT_CRC},
		{1, 1, 2, CORE_FAULT_PEER}, {2, 0, 3, CORE_FAULT_PEER},
	};

	for (const auto &c : cases) {
		core_terminate term = term_with(c.layer, c.etype, c.code, {}, 0, {});

		EXPECT_EQ(core_terminate_fault(&term), c.fault) << +c.layer << ' ' << +c.etype;
	}
}

// RFC 5041 7.2: "DDP Message too long for available buffer": for a Send, not for other messages.
TEST(TerminateMeans, ALengthErrorToTheReceiveThatASendWasTooLongFor)
{
	Bytes send = wire::Untagged{.data = {}}, read_request = untagged_header;
	core_terminate of_send = term_with(1, 2, 5, send, 18, {}),
		       of_read = term_with(1, 2, 5, read_request, 18, {}),
		       other = term_with(1, 2, 4, send, 18, {}),
		       bare = term_with(1, 2, 5, {}, 0, {});

	EXPECT_EQ(core_terminate_receive_status(&of_send), SRNIC_WC_LOC_LEN_ERR);
	EXPECT_EQ(core_terminate_receive_status(&of_read), SRNIC_WC_FLUSH_ERR);
	EXPECT_EQ(core_terminate_receive_status(&other), SRNIC_WC_FLUSH_ERR);
	EXPECT_EQ(core_terminate_receive_status(&bare), SRNIC_WC_FLUSH_ERR);
}

static core_refusal refusal(u8 layer, u8 etype, u8 code, const Bytes &ddp)
{
	core_terminate term = term_with(layer, etype, code, ddp, u16(ddp.size()), {});

	return core_terminate_refusal(&term);
}

// RFC 5040 figure 9: a Remote Protection Error is about the buffer, a Remote Operation Error about
// the request. The MSN of the DDP header says which Read Request it was.
TEST(TerminateMeans, AReadThatThePeerRefused)
{
	core_refusal protection = refusal(0, 1, 2, untagged_header),
		     operation = refusal(0, 2, 0xff, untagged_header),
		     no_buffer = refusal(1, 2, 2, untagged_header);

	for (const core_refusal &of : {protection, operation, no_buffer}) {
		EXPECT_EQ(of.what, CORE_REFUSED_READ);
		EXPECT_EQ(of.msn, 2u);
	}
	EXPECT_EQ(protection.status, SRNIC_WC_REM_ACCESS_ERR);
	EXPECT_EQ(operation.status, SRNIC_WC_REM_INV_REQ_ERR);
	EXPECT_EQ(no_buffer.status, SRNIC_WC_REM_INV_REQ_ERR);
}

TEST(TerminateMeans, AWriteThatThePeerRefused)
{
	core_refusal access = refusal(1, 1, 1, tagged_header),
		     operation = refusal(0, 2, 5, tagged_header);

	EXPECT_EQ(access.what, CORE_REFUSED_WRITE);
	EXPECT_EQ(access.status, SRNIC_WC_REM_ACCESS_ERR);
	EXPECT_EQ(operation.what, CORE_REFUSED_WRITE);
	EXPECT_EQ(operation.status, SRNIC_WC_REM_INV_REQ_ERR);
}

// RFC 7306 1.1, from a peer that sends no headers, and as siw writes it: layer and type swapped.
TEST(TerminateMeans, AnAtomicOperationThatThePeerDoesNotKnow)
{
	for (const core_refusal &of : {refusal(0, 2, 6, {}), refusal(2, 0, 6, {})}) {
		EXPECT_EQ(of.what, CORE_REFUSED_ATOMIC);
		EXPECT_EQ(of.status, SRNIC_WC_REM_OP_ERR);
	}
	EXPECT_EQ(refusal(0, 2, 5, {}).what, CORE_REFUSED_NOTHING);
	EXPECT_EQ(refusal(2, 0, 5, {}).what, CORE_REFUSED_NOTHING);
	EXPECT_EQ(refusal(1, 2, 6, {}).what, CORE_REFUSED_NOTHING);
	EXPECT_EQ(refusal(2, 0, 6, untagged_header).what, CORE_REFUSED_NOTHING);
}

// A Send is already complete, a Read Response is no request, and without a DDP header the request
// is unknown.
TEST(TerminateMeans, NoRequestAtAll)
{
	Bytes send = wire::Untagged{.data = {}};
	Bytes response = wire::Tagged{.rdmap = wire::op_read_response};

	EXPECT_EQ(refusal(1, 2, 5, send).what, CORE_REFUSED_NOTHING);
	EXPECT_EQ(refusal(1, 1, 0, response).what, CORE_REFUSED_NOTHING);
	EXPECT_EQ(refusal(1, 1, 0, {}).what, CORE_REFUSED_NOTHING);
	EXPECT_EQ(refusal(0, 0, 0, untagged_header).what, CORE_REFUSED_NOTHING);
	EXPECT_EQ(refusal(2, 0, 2, untagged_header).what, CORE_REFUSED_NOTHING);
	EXPECT_EQ(refusal(9, 1, 2, untagged_header).what, CORE_REFUSED_NOTHING);
}
