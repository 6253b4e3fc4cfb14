// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What the ways to sum a CRC32C share: the polynomial, the instruction of SSE 4.2, and octets that
// are copied while they are summed.
#pragma once

#include "types.hh"

namespace srnic {
namespace {

constexpr u32 polynomial = 0x82f63b78; // reflected

// Multiplies a reflected sum by x^bits, bit by bit.
constexpr u32 shifted(u32 crc, u32 bits)
{
	for (u32 bit = 0; bit < bits; bit++)
		crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
	return crc;
}

// Passes a sum over `octets` zeros.
template <u32 octets> class Zeros {
public:
	static u64 pass(u64 crc)
	{
		return tables.of[0][crc & 0xff] ^ tables.of[1][crc >> 8 & 0xff] ^
		       tables.of[2][crc >> 16 & 0xff] ^ tables.of[3][crc >> 24 & 0xff];
	}

private:
	struct Tables {
		u32 of[4][256];
	};

	// For each octet of a sum and each value of it: built from the sums of single bits.
	static constexpr Tables make_tables()
	{
		Tables made{};

		for (u32 bit = 0; bit < 32; bit++) {
			const u32 passed = shifted(u32{1} << bit, 8 * octets);

			for (u32 value = 0; value < 256; value++)
				if (value >> (bit % 8) & 1)
					made.of[bit / 8][value] ^= passed;
		}
		return made;
	}

	static constexpr Tables tables = make_tables();
};

// Octets to be summed, and where they are copied meanwhile if `copies`: each is read once.
template <bool copies> struct Octets {
	const u8 *from;
	u8 *to;
	u64 len;

	u64 word(u32 at) const
	{
		u64 value = load<u64>(from + at);

		if constexpr (copies) {
			asm("" : "+r"(value)); // it is not read again
			store(to + at, value);
		}
		return value;
	}

	void pass(u32 n)
	{
		from += n;
		if constexpr (copies)
			to += n;
		len -= n;
	}

	u8 next()
	{
		const u8 octet = *from;

		if constexpr (copies)
			*to = octet;
		pass(1);
		return octet;
	}
};

#ifdef __x86_64__

inline u64 add_word(u64 crc, u64 word)
{
	asm("crc32q %1, %0" : "+r"(crc) : "rm"(word));
	return crc;
}

inline u64 add_octet(u64 crc, u8 octet)
{
	asm("crc32b %1, %0" : "+r"(crc) : "rm"(octet));
	return crc;
}

#endif

} // namespace
} // namespace srnic
