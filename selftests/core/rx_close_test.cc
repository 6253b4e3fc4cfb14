// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The end of a stream (RFC 5041 6.2.1, RFC 5044 8 number 1): where a FIN is valid, and where it
// cuts a message short.
#include "stream.hh"

using namespace wire;

static bool may_end_after(const Bytes &stream, size_t octets)
{
	Stream s;

	s.host.post_receive(1000);
	s.host.post_receive(1000);
	s.feed(Bytes(stream.begin(), stream.begin() + ptrdiff_t(octets)));
	return core_rx_between(&s.rx);
}

TEST(RxClose, AtTheStart) { EXPECT_TRUE(may_end_after({}, 0)); }

TEST(RxClose, OnlyBetweenFpdus)
{
	Bytes first = fpdu(Untagged{.data = payload(100)}),
	      both = first + fpdu(Untagged{.msn = 2, .data = payload(33)});

	for (size_t n = 0; n <= both.size(); n++)
		EXPECT_EQ(may_end_after(both, n), n == 0 || n == first.size() || n == both.size())
			<< n;
}

TEST(RxClose, NotInTheMiddleOfAnUntaggedMessage)
{
	Bytes first = fpdu(Untagged{.ddp = 0x01, .data = payload(100)});
	Bytes both = first + fpdu(Untagged{.mo = 100, .data = payload(10)});

	EXPECT_FALSE(may_end_after(both, first.size()));
	EXPECT_TRUE(may_end_after(both, both.size()));
}

TEST(RxClose, AnywhereOnceTheStreamIsOver)
{
	Bytes bad = fpdu(Untagged{.data = payload(100)});

	bad.back() ^= 1;
	EXPECT_TRUE(may_end_after(bad, bad.size()));
}
