// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A QP that pairs (Documentation/ib.rst, "Pairing"), for tests of its decisions, one at a time. All
// frames go through their octets.
#pragma once

#include "../shared/wire.hh"
#include "api/core.h"

namespace pairing {

inline core_pair_frame over_the_wire(const core_pair_frame &frame)
{
	wire::Bytes octets(CORE_PAIR_FRAME);
	core_mpa_frame header{};
	core_pair_frame out;

	core_pair_build(&frame, octets.data());
	EXPECT_EQ(core_mpa_parse(octets.data(), frame.reply, &header), CORE_MPA_OK);
	EXPECT_EQ(core_pair_parse(&header, octets.data() + CORE_MPA_HEADER, &out), CORE_PAIR_OK);
	return out;
}

struct Answer {
	core_pair_reason reason;
	core_pair_frame reply;
	core_pair_agreed agreed;
};

struct Qp {
	core_pairing pairing{};
	core_pair_counts counts{0, 0, true};
	u32 attempt = 0;

	Qp(u32 qpn, u32 peer, u64 incarnation)
	{
		pairing.own.qpn = qpn;
		pairing.peer.qpn = peer;
		pairing.own.gid[15] = pairing.peer.gid[15] = 1;
		pairing.ird = 16;
		pairing.ord = 8;
		ready(incarnation);
	}

	void ready(u64 incarnation)
	{
		pairing.incarnation = incarnation;
		core_pairing_ready(&pairing);
		counts = {0, 0, true};
	}

	bool connect()
	{
		const u32 next = core_pairing_connect(&pairing, &counts);

		attempt = next ? next : attempt;
		return next != 0;
	}

	core_pair_frame send()
	{
		core_pair_frame frame;

		EXPECT_TRUE(core_pairing_request(&pairing, attempt, &counts, &frame));
		return over_the_wire(frame);
	}

	core_pair_frame request()
	{
		EXPECT_TRUE(connect());
		return send();
	}

	Answer respond(const core_pair_frame &frame)
	{
		Answer answer;

		answer.reason = core_pairing_respond(&pairing, &counts, &frame, &answer.reply,
						     &answer.agreed);
		EXPECT_EQ(answer.reason, core_pair_reason(answer.reply.reason));
		answer.reply = over_the_wire(answer.reply);
		return answer;
	}

	core_pair_outcome conclude(const core_pair_frame &reply, u32 random = 0)
	{
		core_pair_outcome out;

		core_pairing_conclude(&pairing, attempt, &counts, &reply, random, &out);
		return out;
	}

	core_pair_outcome fail(u32 random = 0)
	{
		core_pair_outcome out;

		core_pairing_failed(&pairing, attempt, CORE_PAIR_OK, random, &out);
		return out;
	}
};

struct Pairing : testing::Test {
	Qp lesser{17, 18, 0xa1}, greater{18, 17, 0xb1};

	// The first asks, and the second accepts.
	void attach(Qp &first, Qp &second)
	{
		const Answer answer = second.respond(first.request());

		ASSERT_EQ(answer.reason, CORE_PAIR_OK);
		ASSERT_EQ(first.conclude(answer.reply).conclusion, CORE_PAIR_ATTACH);
	}

	static void deliver(Qp &from, Qp &to, u32 requests)
	{
		from.counts.sent += requests;
		to.counts.delivered += requests;
	}
};

constexpr u32 second = 1000, longest = 30 * second; // of waits

} // namespace pairing
