// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// STags that are hard to guess (RFC 5040 8.1.1): the keyed permutation of slot indices.
#include "api/core.h"

constexpr u64 key[2] = {0x0123456789abcdef, 0xfedcba9876543210};
constexpr u32 indices = 1u << CORE_STAG_INDEX_BITS;

TEST(Stag, UnscrambleIsTheInverse)
{
	for (u32 index = 0; index < indices; index += 61) {
		u32 scrambled = core_stag_scramble(index, key);

		ASSERT_LT(scrambled, indices);
		ASSERT_EQ(core_stag_unscramble(scrambled, key), index);
		ASSERT_EQ(core_stag_scramble(core_stag_unscramble(index, key), key), index);
	}
}

TEST(Stag, NoTwoIndicesShareOne)
{
	std::vector<bool> seen(indices);

	for (u32 index = 0; index < 300000; index++) {
		u32 scrambled = core_stag_scramble(index, key);

		ASSERT_FALSE(seen[scrambled]) << index;
		seen[scrambled] = true;
	}
}

// Each bit of the key moves nearly every index: about one in 2^24 stays by chance.
TEST(Stag, EveryKeyBitCounts)
{
	for (unsigned bit = 0; bit < 128; bit++) {
		u64 other[2] = {key[0], key[1]};
		u32 same = 0;

		other[bit / 64] ^= 1ull << bit % 64;
		for (u32 index = 0; index < 1000; index++)
			same += core_stag_scramble(index, key) == core_stag_scramble(index, other);
		EXPECT_LT(same, 3u) << bit;
	}
}

// Adjacent indices give STags that are not adjacent, and both halves of their difference vary.
TEST(Stag, NeighboursScatter)
{
	std::map<u32, u32> differences;
	u32 worst = 0;

	for (u32 index = 0; index < 10000; index++) {
		u32 difference =
			core_stag_scramble(index, key) ^ core_stag_scramble(index + 1, key);

		worst = std::max(worst, ++differences[difference]);
	}
	EXPECT_LE(worst, 3u);
}

TEST(Stag, HoldsAllZeroKeysToo)
{
	const u64 zero[2] = {};

	for (u32 index = 0; index < 10000; index++)
		ASSERT_EQ(core_stag_unscramble(core_stag_scramble(index, zero), zero), index);
}
