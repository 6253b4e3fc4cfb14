// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// CRCs of 32 bits by slicing: with sixteen tables one step takes sixteen octets. Reflected: the
// lowest bit of the first octet comes first. Running values, without the final inversion.
#pragma once

#include "types.hh"

namespace srnic {
namespace { // each object has its own tables, with internal linkage

// polynomial: the generator without x^32, reflected.
template <u32 polynomial> class SlicedCrc {
public:
	static u32 add(u32 crc, const u8 *octets, u64 len)
	{
		for (; len >= slices; len -= slices, octets += slices)
			crc = add_slice(crc, octets);
		for (; len; len--)
			crc = add_octet(crc, *octets++);
		return crc;
	}

private:
	static constexpr u32 slices = 16;

	struct Tables {
		u32 of[slices][256];
	};

	static constexpr u32 shifted_by_octet(u32 crc)
	{
		for (u32 bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
		return crc;
	}

	// of[s][v]: the CRC contribution of octet v followed by s zero octets.
	static constexpr Tables make_tables()
	{
		Tables made{};

		for (u32 v = 0; v < 256; v++)
			made.of[0][v] = shifted_by_octet(v);
		for (u32 s = 1; s < slices; s++)
			for (u32 v = 0; v < 256; v++)
				made.of[s][v] = made.of[s - 1][v] >> 8 ^
						made.of[0][made.of[s - 1][v] & 0xff];
		return made;
	}

	static constexpr Tables tables = make_tables();

	static u32 add_octet(u32 crc, u8 octet)
	{
		return crc >> 8 ^ tables.of[0][(crc ^ octet) & 0xff];
	}

	static u64 load_little_endian(const u8 *octets)
	{
		u64 word = load<u64>(octets);

		if constexpr (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
			word = byte_swapped(word);
		return word;
	}

	static u32 add_slice(u32 crc, const u8 *octets)
	{
		const u64 words[] = {load_little_endian(octets) ^ crc,
				     load_little_endian(octets + sizeof(u64))};
		u32 sum = 0;

// Compilers do not unroll this by themselves, which halves its speed.
#pragma GCC unroll 16
		for (u32 i = 0; i < slices; i++)
			sum ^= tables.of[slices - 1 - i][words[i / 8] >> (i % 8 * 8) & 0xff];
		return sum;
	}
};

} // namespace
} // namespace srnic
