// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A stream in every cut, and how it looks when it was refused.
#pragma once

#include "../shared/terminate.hh"
#include "stream.hh"

constexpr unsigned all_cuts = 8;

// Whole, octet by octet, or in random pieces.
inline void feed_in_cut(Stream &s, const wire::Bytes &stream, unsigned cut)
{
	if (cut == 0)
		s.feed(stream);
	else if (cut == 1)
		s.feed_octets(stream);
	else
		s.feed_pieces(stream, cut);
}

inline void expect_refusal(Stream &s, const wire::Cause &cause, const wire::Bytes &culprit)
{
	wire::Bytes sent(CORE_TERM_MAX);

	ASSERT_FALSE(s.deliveries.empty());
	ASSERT_EQ(s.deliveries.back().event, CORE_RX_ERROR);
	EXPECT_TRUE(s.over());
	EXPECT_EQ(core_rx_next(&s.rx).want, 0u);
	EXPECT_EQ(s.term().layer, cause.layer);
	EXPECT_EQ(s.term().etype, cause.type);
	EXPECT_EQ(s.term().code, cause.code);
	sent.resize(core_terminate_build(&s.term(), sent.data()));
	EXPECT_EQ(sent, wire::terminate(cause, culprit).data);
}
