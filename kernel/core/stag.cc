// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// STags that are hard to guess (RFC 5040 8.1.1): a keyed permutation of the 24-bit slot index hides
// the order and the size of the dense table of regions. Four rounds of a balanced Feistel network
// over two 12-bit halves: a permutation with any round function. Not a cipher for anything else.
#include "types.hh"

namespace srnic {
namespace {

constexpr u32 half_bits = CORE_STAG_INDEX_BITS / 2;
constexpr u32 half_mask = (1u << half_bits) - 1;
constexpr u32 rounds = 4;

constexpr u32 mix(u32 half, u32 round, const u64 key[2])
{
	u64 v = (half + key[round & 1] + round) * 0x9e3779b97f4a7c15;

	v = ((v ^ v >> 32) + key[~round & 1]) * 0xd6e8feb86659fd93;
	return static_cast<u32>(v >> (64 - half_bits));
}

constexpr u32 scramble(u32 index, const u64 key[2])
{
	u32 left = index >> half_bits & half_mask, right = index & half_mask;

	for (u32 round = 0; round < rounds; round++) {
		u32 next = left ^ mix(right, round, key);

		left = right;
		right = next;
	}
	return left << half_bits | right;
}

constexpr u32 unscramble(u32 scrambled, const u64 key[2])
{
	u32 left = scrambled >> half_bits & half_mask, right = scrambled & half_mask;

	for (u32 round = rounds; round-- > 0;) {
		u32 previous = right ^ mix(left, round, key);

		right = left;
		left = previous;
	}
	return left << half_bits | right;
}

constexpr u64 some_key[2] = {0x0123456789abcdef, 0xfedcba9876543210};
static_assert(unscramble(scramble(0, some_key), some_key) == 0);
static_assert(unscramble(scramble(0xabcdef, some_key), some_key) == 0xabcdef);

} // namespace
} // namespace srnic

u32 core_stag_scramble(u32 index, const u64 key[2]) { return srnic::scramble(index, key); }
u32 core_stag_unscramble(u32 scrambled, const u64 key[2])
{
	return srnic::unscramble(scrambled, key);
}
