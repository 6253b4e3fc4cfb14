// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Bytes for tests that lay out a wire format by hand: a vector, joined with +, with numbers
// big-endian.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace wire {

// The same types as the core's.
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

struct Bytes : std::vector<u8> {
	using std::vector<u8>::vector;

	// What of this part is there.
	Bytes slice(size_t from, size_t len) const
	{
		size_t start = std::min(from, size()), end = start + std::min(len, size() - start);

		return Bytes(begin() + static_cast<long>(start), begin() + static_cast<long>(end));
	}
};

inline Bytes operator+(Bytes a, const Bytes &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

inline Bytes big(u64 value, unsigned octets)
{
	Bytes out;

	while (octets--)
		out.push_back(static_cast<u8>(value >> (8 * octets)));
	return out;
}
inline Bytes be16(u64 value) { return big(value, 2); }
inline Bytes be32(u64 value) { return big(value, 4); }
inline Bytes be64(u64 value) { return big(value, 8); }

// The 32-bit number that be32() has laid out there.
inline u32 word(const Bytes &octets, size_t at)
{
	return u32{octets[at]} << 24 | u32{octets[at + 1]} << 16 | u32{octets[at + 2]} << 8 |
	       octets[at + 3];
}

// Recognisable payload: no two adjacent octets are equal, and each seed gives another.
inline Bytes payload(size_t len, unsigned seed = 1)
{
	Bytes out(len);

	for (size_t i = 0; i < len; i++)
		out[i] = static_cast<u8>(i * 7 + (i >> 8) * 13 + seed * 101);
	return out;
}

// One bit is flipped.
inline Bytes damaged(Bytes octets, size_t at, u8 bit = 0x01)
{
	octets.at(at) ^= bit;
	return octets;
}

inline Bytes hex(const char *text)
{
	Bytes out;
	int high = -1;

	for (; *text; text++) {
		if (*text == ' ')
			continue;
		int digit = *text <= '9' ? *text - '0' : (*text | 0x20) - 'a' + 10;

		if (high < 0) {
			high = digit;
		} else {
			out.push_back(static_cast<u8>(high << 4 | digit));
			high = -1;
		}
	}
	return out;
}

} // namespace wire
