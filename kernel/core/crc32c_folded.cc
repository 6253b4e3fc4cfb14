// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// CRC32C (RFC 5044 4.4) by folding, with carry-less multiplication of 32 octets at a time
// (VPCLMULQDQ and AVX2), beside the instruction of SSE 4.2.
//
// A block of 16 octets is a polynomial; what it adds to the sum of all is the same as what its
// product with x^n adds, modulo the CRC's polynomial, as many bits further on. So the blocks of a
// group are multiplied on to those of the next group, until one group is left, whose sum is that of
// all. In each half of a block the first octet's lowest bit is the highest coefficient, and so it
// is in a product, which is therefore one bit too long: factors are of x^(n - 1).
#include "crc32c.hh"

#ifdef __x86_64__

// The kernel is compiled without vectors.
#define SRNIC_FOLDS gnu::target("avx2,vpclmulqdq")

namespace srnic {
namespace {

using Blocks = long long __attribute__((vector_size(32))); // two

struct [[gnu::packed, gnu::may_alias]] BlocksAnywhere { Blocks blocks; };

constexpr u32 at_once = 4; // multiplications side by side: each takes several cycles
constexpr u32 group = at_once * sizeof(Blocks);

// The reflected x^(bits - 1), as a factor.
constexpr long long power(u32 bits)
{
	return static_cast<long long>(u64{shifted(0x80000000, bits - 1)} << 32);
}

// To multiply blocks with: it moves them on by so many octets.
template <u32 octets>
constexpr Blocks distance = {power(8 * octets + 64), power(8 * octets), power(8 * octets + 64),
			     power(8 * octets)};

[[SRNIC_FOLDS, gnu::always_inline]] inline Blocks fold(Blocks blocks, Blocks by)
{
	Blocks first, second;

	asm("vpclmulqdq $0x00, %2, %1, %0" : "=x"(first) : "x"(blocks), "x"(by));
	asm("vpclmulqdq $0x11, %2, %1, %0" : "=x"(second) : "x"(blocks), "x"(by));
	return first ^ second;
}

// Octets that are copied and summed. own: the source or the copy, the one that nobody else changes
// meanwhile: words are summed from there.
struct Copied {
	const u8 *from, *own;
	u8 *to;

	[[SRNIC_FOLDS, gnu::always_inline]] inline Blocks blocks(u64 at) const
	{
		Blocks value = reinterpret_cast<const BlocksAnywhere *>(from + at)->blocks;

		asm("" : "+x"(value)); // it is not read again
		reinterpret_cast<BlocksAnywhere *>(to + at)->blocks = value;
		return value;
	}

	[[gnu::always_inline]] inline u64 word(u64 at) const { return load<u64>(own + at); }

	[[gnu::always_inline]] inline Copied behind(u64 n) const
	{
		return {from + n, own + n, to + n};
	}
};

[[SRNIC_FOLDS, gnu::always_inline]] inline u64 sum_of(Blocks blocks)
{
	return add_word(add_word(add_word(add_word(0, blocks[0]), blocks[1]), blocks[2]),
			blocks[3]);
}

// Meanwhile the instruction of SSE 4.2 sums three lanes behind these blocks: the processor does
// both at once. octets: of each lane.
template <u64 octets> struct Lanes {
	u64 first = 0, second = 0, third = 0;

	// Of each lane as many octets as two blocks have.
	[[SRNIC_FOLDS, gnu::always_inline]] inline void add(const Copied &from)
	{
		from.blocks(0);
		from.blocks(octets);
		from.blocks(2 * octets);
#pragma GCC unroll 4
		for (u64 at = 0; at < sizeof(Blocks); at += sizeof(u64)) {
			first = add_word(first, from.word(at));
			second = add_word(second, from.word(octets + at));
			third = add_word(third, from.word(2 * octets + at));
		}
	}

	[[gnu::always_inline]] inline u64 behind(u64 sum) const
	{
		using Lane = Zeros<octets>;

		return Lane::pass(Lane::pass(Lane::pass(sum) ^ first) ^ second) ^ third;
	}
};

// `groups` of blocks, and three lanes of as many octets as `steps` times two blocks; there are at
// least groups - 1 steps.
template <u32 groups, u32 steps>
[[SRNIC_FOLDS, gnu::always_inline]] inline u64 add_chunk(u64 sum, Copied octets)
{
	Copied at = octets, lane = octets.behind(groups * group);
	Lanes<steps * sizeof(Blocks)> lanes;
	Blocks sums[at_once] = {octets.blocks(0) ^ Blocks{static_cast<u32>(sum)}, octets.blocks(32),
				octets.blocks(64), octets.blocks(96)};

	for (u32 g = 1; g < groups; g++) {
		at = at.behind(group);
#pragma GCC unroll 4
		for (u32 n = 0; n < at_once; n++)
			sums[n] = fold(sums[n], distance<group>) ^ at.blocks(n * sizeof(Blocks));
		lanes.add(lane);
		lane = lane.behind(sizeof(Blocks));
	}
	for (u32 g = groups - 1; g < steps; g++) {
		lanes.add(lane);
		lane = lane.behind(sizeof(Blocks));
	}
	return lanes.behind(sum_of(fold(sums[0], distance<96>) ^ fold(sums[1], distance<64>) ^
				   fold(sums[2], distance<32>) ^ sums[3]));
}

template <u32 groups, u32 steps>
constexpr u64 chunk_octets = u64{groups} * group + 3 * steps * sizeof(Blocks);

static_assert(chunk_octets<6, 6> == CORE_CRC_FOLDED);

// Adds chunks while there are any, and returns how many octets they have.
template <u32 groups, u32 steps>
[[SRNIC_FOLDS]] u64 add_chunks(u32 &sum, const Copied &octets, u64 len)
{
	constexpr u64 chunk = chunk_octets<groups, steps>;
	u64 at = 0;

	for (; len - at >= chunk; at += chunk)
		sum = static_cast<u32>(add_chunk<groups, steps>(sum, octets.behind(at)));
	return at;
}

// Returns how many octets are added: all but the last few.
u64 add_folded(u32 &sum, const Copied &octets, u64 len)
{
	const u64 pages = add_chunks<17, 20>(sum, octets, len);

	return pages + add_chunks<6, 6>(sum, octets.behind(pages), len - pages);
}

} // namespace
} // namespace srnic

u32 core_crc32c_copy_folded(u32 crc, void *to, const void *from, u64 len, bool into_own)
{
	const u8 *source = static_cast<const u8 *>(from);
	u8 *copy = static_cast<u8 *>(to);
	const u64 done = srnic::add_folded(crc, {source, into_own ? copy : source, copy}, len);

	return core_crc32c_copy_sse42(crc, copy + done, source + done, len - done);
}

#endif
