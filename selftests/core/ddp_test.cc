// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// DDP (RFC 5041): placement checks of section 7.1.
#include "../shared/wire.hh"
#include "api/core.h"

constexpr u32 remote_write = CORE_ACCESS_REMOTE_WRITE, remote_read = CORE_ACCESS_REMOTE_READ;

static core_region_verdict check(const core_region &region, u64 to, u64 len, u32 pd = 7,
				 u32 access = remote_write)
{
	return core_region_check(&region, {pd, 0}, access, to, len);
}

constexpr core_region page = {0x10000, 0x1000, 7, remote_write, 0, 0};

// 7.1, tagged checks 3 and 4: TO, and the sum of TO and length, fall in the range of legal offsets.
TEST(Region, WholeAndPart)
{
	EXPECT_EQ(check(page, 0x10000, 0x1000), CORE_REGION_OK);
	EXPECT_EQ(check(page, 0x10fff, 1), CORE_REGION_OK);
	EXPECT_EQ(check(page, 0x10800, 0x800), CORE_REGION_OK);
}

TEST(Region, OneOctetOutside)
{
	EXPECT_EQ(check(page, 0xffff, 1), CORE_REGION_BOUNDS);
	EXPECT_EQ(check(page, 0xffff, 0x1000), CORE_REGION_BOUNDS);
	EXPECT_EQ(check(page, 0x11000, 1), CORE_REGION_BOUNDS);
	EXPECT_EQ(check(page, 0x10001, 0x1000), CORE_REGION_BOUNDS);
	EXPECT_EQ(check(page, 0x10000, 0x1001), CORE_REGION_BOUNDS);
	EXPECT_EQ(check(page, 0, 0xffffffff), CORE_REGION_BOUNDS);
}

// 7.1, tagged check 5: the 64-bit sum of TO and length does not wrap.
TEST(Region, Wrap)
{
	EXPECT_EQ(check(page, ~0ull, 1), CORE_REGION_WRAP);
	EXPECT_EQ(check(page, ~0ull - 0xfff, 0x1000), CORE_REGION_WRAP);
	EXPECT_EQ(check(page, ~0ull - 0x1000, 0x1000), CORE_REGION_BOUNDS);
	EXPECT_EQ(check(page, 0x10000, ~0ull), CORE_REGION_WRAP);
}

TEST(Region, AtTheEndsOfTheAddressSpace)
{
	EXPECT_EQ(check({0, ~0ull, 7, remote_write, 0, 0}, 0, ~0ull), CORE_REGION_OK);
	EXPECT_EQ(check({~0ull - 0xfff, 0x1000, 7, remote_write, 0, 0}, ~0ull - 0xfff, 0xfff),
		  CORE_REGION_OK);
	EXPECT_EQ(check({~0ull - 0xfff, ~0ull, 7, remote_write, 0, 0}, 0, 1), CORE_REGION_BOUNDS);
}

TEST(Region, EmptyRegionHoldsNothing)
{
	EXPECT_EQ(check({0x10000, 0, 7, remote_write, 0, 0}, 0x10000, 1), CORE_REGION_BOUNDS);
}

// 8.2: an STag of another Protection Domain is not for this stream. No other error is reported.
TEST(Region, ForeignBeforeAnythingElse)
{
	EXPECT_EQ(check(page, 0x10000, 1, 8), CORE_REGION_FOREIGN);
	EXPECT_EQ(check(page, 0, ~0ull, 8, remote_read), CORE_REGION_FOREIGN);
}

TEST(Region, EveryRightAskedForIsNeeded)
{
	EXPECT_EQ(check(page, 0x10000, 1, 7, remote_read), CORE_REGION_ACCESS);
	EXPECT_EQ(check(page, 0x10000, 1, 7, remote_read | remote_write), CORE_REGION_ACCESS);
	EXPECT_EQ(check({0x10000, 1, 7, remote_read | remote_write, 0, 0}, 0x10000, 1, 7,
			remote_read | remote_write),
		  CORE_REGION_OK);
}

// Against arithmetic that cannot overflow.
TEST(Region, AgreesWithWideArithmetic)
{
	std::mt19937_64 random(5041);
	auto edge = [&] {
		return (random() % 3 ? 0 : ~0ull) +
		       (random() % 5) * (random() % 2 ? 1 : 1ull << 63);
	};

	for (int i = 0; i < 100000; i++) {
		core_region region = {edge(), edge(), 7, remote_write, 0, 0};
		u64 to = edge(), len = edge();
		unsigned __int128 end = static_cast<unsigned __int128>(to) + len;
		unsigned __int128 region_end =
			static_cast<unsigned __int128>(region.base) + region.length;
		bool inside = to >= region.base && end <= region_end && end <= ~0ull;

		EXPECT_EQ(check(region, to, len) == CORE_REGION_OK, inside);
	}
}
