// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// FPDUs that are taken at once (core_rx_whole()): that they mean the same as in steps is tested by
// all streams of the other tests, which come in one piece and octet by octet.
#include <gtest/gtest.h>

#include "stream.hh"

using wire::Bytes, wire::fpdu, wire::payload, wire::Tagged, wire::Untagged;

namespace {

constexpr u32 stag = 0x100;
constexpr u64 base = 0x1000;

Bytes write_of(u32 n) { return fpdu(Tagged{.stag = stag, .to = base, .data = payload(n)}); }
Bytes send_of(u32 n) { return fpdu(Untagged{.data = payload(n)}); }

core_rx_taken take(Stream &s, const Bytes &octets, size_t n)
{
	const Bytes exact = octets.slice(0, n); // for the sanitizer

	return core_rx_whole(&s.rx, exact.data(), static_cast<u32>(n));
}

core_rx_taken take(Stream &s, const Bytes &octets) { return take(s, octets, octets.size()); }

Bytes damaged(Bytes octets)
{
	octets.back() ^= 1;
	return octets;
}

struct Furnished : Stream {
	explicit Furnished(bool crc = true, bool markers = false) : Stream(crc, 0, markers)
	{
		host.grant(stag, base, 100);
		host.post_receive(100);
	}
	Bytes placed(size_t n) const
	{
		const Bytes &memory = host.regions.at(stag).memory;

		return Bytes(memory.begin(), memory.begin() + static_cast<long>(n));
	}
};

} // namespace

TEST(Whole, AWriteIsCheckedOnce)
{
	for (u32 n : {0u, 1u, 2u, 3u, 4u, 99u, 100u})
		for (bool crc : {true, false}) {
			Furnished s(crc);
			const Bytes octets = write_of(n);
			const core_rx_taken taken = take(s, octets);

			EXPECT_EQ(taken.n, octets.size());
			EXPECT_EQ(taken.event, CORE_RX_WRITE);
			EXPECT_EQ(s.host.regions_asked, n ? 1u : 0u);
			EXPECT_EQ(s.host.placed_whole, n ? 1u : 0u);
			EXPECT_EQ(s.placed(n), payload(n));
			EXPECT_EQ(s.fpdus(), 1u);
			EXPECT_TRUE(s.between_fpdus());
		}
}

TEST(Whole, WithoutItsLastOctetNothingIsTaken)
{
	for (const Bytes &octets : {write_of(0), write_of(9), send_of(0), send_of(9)})
		for (size_t n = 0; n < octets.size(); n++) {
			Furnished s;

			EXPECT_EQ(take(s, octets, n).n, 0u);
			EXPECT_TRUE(s.between_fpdus());
			EXPECT_EQ(s.host.placed_whole + s.host.receives_taken, 0u);
			s.feed(octets);
			EXPECT_EQ(s.deliveries.size(), 1u);
		}
}

TEST(Whole, NotWhenAnotherHasBegun)
{
	const Bytes octets = write_of(9);

	for (size_t n = 1; n < octets.size(); n++) {
		Furnished s;

		s.feed(Bytes(octets.begin(), octets.begin() + static_cast<long>(n)));
		EXPECT_EQ(take(s, octets).n, 0u) << n;
		EXPECT_EQ(s.fpdus(), 0u);
	}
}

TEST(Whole, OfTwoTheFirst)
{
	Furnished s;
	const Bytes first = write_of(5), second = send_of(7);

	EXPECT_EQ(take(s, first + second).n, first.size());
	EXPECT_EQ(take(s, second).event, CORE_RX_SEND);
	EXPECT_EQ(s.fpdus(), 2u);
}

// Lengths that no FPDU has, or that end elsewhere, are for the steps.
TEST(Whole, AnyLength)
{
	for (u32 len : {0u, 1u, 13u, 14u, 17u, 18u, 0x7fffu, 0xfffdu, 0xffffu}) {
		Bytes octets = send_of(9) + Bytes(40);
		Furnished s;

		octets[0] = static_cast<u8>(len >> 8);
		octets[1] = static_cast<u8>(len);
		EXPECT_EQ(take(s, octets).n, len == 18 ? 24u : 0u) << len;
		EXPECT_EQ(s.deliveries.size(), 0u);
	}
}

TEST(Whole, NotWithMarkersNorBehindTheEnd)
{
	Furnished marked(true, true), over;

	EXPECT_EQ(take(marked, write_of(9)).n, 0u);
	core_rx_stop(&over.rx);
	EXPECT_EQ(take(over, write_of(9)).n, 0u);
}

// ---- what cannot be placed ----

struct Denied {
	core_region_verdict verdict;
	u8 code; // RFC 5041 7.2
};

// RFC 5044 4.4: an error of the header is reported once the CRC is good.
TEST(Whole, ARegionDenies)
{
	const Denied cases[] = {
		{CORE_REGION_INVALID, 0}, {CORE_REGION_BOUNDS, 1}, {CORE_REGION_ACCESS, 0},
		{CORE_REGION_FOREIGN, 2}, {CORE_REGION_WRAP, 3},
	};

	for (const Denied &one : cases)
		for (bool good : {true, false}) {
			SCOPED_TRACE(one.verdict);
			Furnished s;

			s.host.whole_verdict = one.verdict;
			EXPECT_EQ(take(s, good ? write_of(9) : damaged(write_of(9))).event,
				  CORE_RX_ERROR);
			EXPECT_EQ(s.term().layer, good ? CORE_LAYER_DDP : CORE_LAYER_LLP);
			EXPECT_EQ(s.term().code, good ? one.code : 2);
			EXPECT_EQ(s.term().ddp_len, good ? 14 + 9 : 0);
			EXPECT_EQ(s.fpdus(), good ? 1u : 0u);
			EXPECT_EQ(s.placed(9), Bytes(9));
			EXPECT_TRUE(s.over());
		}
}

TEST(Whole, ARegionOfAnotherDomain)
{
	Furnished s;

	s.host.grant(stag, base, 100, FakeHost::pd + 1);
	EXPECT_EQ(take(s, write_of(9)).event, CORE_RX_ERROR);
	EXPECT_EQ(s.term().code, 2);
	EXPECT_EQ(s.placed(9), Bytes(9));
}

// This end's memory: no matter what the CRC says.
TEST(Whole, AReceiveIsGone)
{
	for (bool good : {true, false}) {
		Furnished s;

		s.host.whole_verdict = CORE_REGION_INVALID;
		EXPECT_EQ(take(s, good ? send_of(9) : damaged(send_of(9))).event, CORE_RX_ERROR);
		EXPECT_EQ(s.term().layer, CORE_LAYER_RDMAP);
		EXPECT_EQ(s.fpdus(), 0u);
		EXPECT_TRUE(s.over());
	}
}

TEST(Whole, ACrcIsWrong)
{
	for (const Bytes &octets : {write_of(9), send_of(9), send_of(0)}) {
		Furnished s;

		EXPECT_EQ(take(s, damaged(octets)).event, CORE_RX_ERROR);
		EXPECT_EQ(s.term().layer, CORE_LAYER_LLP);
		EXPECT_EQ(s.fpdus(), 0u);
	}
}
