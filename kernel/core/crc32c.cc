// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// CRC32C (RFC 5044 4.4: iSCSI's polynomial, 0x1edc6f41): by tables, and by the instruction of
// SSE 4.2.
#include "sliced_crc.hh"

namespace srnic {
namespace {

constexpr u32 polynomial = 0x82f63b78; // reflected

} // namespace
} // namespace srnic

u32 core_crc32c_table(u32 crc, const void *data, u64 len)
{
	return srnic::SlicedCrc<srnic::polynomial>::add(crc, static_cast<const u8 *>(data), len);
}

#ifdef __x86_64__

// The instruction takes three cycles, but one can start in each. So three lanes side by side are
// summed at a time. Their sums are then joined: each but the last is passed over the octets behind
// its lane as if these were zero, because a CRC is linear. The lanes fit the most frequent copies:
// they take 4080 octets of a page, and 1392 of the payload in a TCP segment over Ethernet.

namespace srnic {
namespace {

u64 add_word(u64 crc, u64 word)
{
	asm("crc32q %1, %0" : "+r"(crc) : "rm"(word));
	return crc;
}

u64 add_octet(u64 crc, u8 octet)
{
	asm("crc32b %1, %0" : "+r"(crc) : "rm"(octet));
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

	static constexpr u32 pass_bit_by_bit(u32 crc)
	{
		for (u32 bit = 0; bit < 8 * octets; bit++)
			crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
		return crc;
	}

	// For each octet of a sum and each value of it: built from the sums of single bits.
	static constexpr Tables make_tables()
	{
		Tables made{};

		for (u32 bit = 0; bit < 32; bit++) {
			const u32 passed = pass_bit_by_bit(u32{1} << bit);

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
		const u64 value = load<u64>(from + at);

		if constexpr (copies)
			store(to + at, value);
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

// Consumes all whole groups of three lanes.
template <u32 lane, bool copies> u64 add_lanes(u64 crc, Octets<copies> &octets)
{
	for (; octets.len >= 3 * lane; octets.pass(3 * lane)) {
		u64 second = 0, third = 0;

		for (u32 at = 0; at < lane; at += sizeof(u64)) {
			crc = add_word(crc, octets.word(at));
			second = add_word(second, octets.word(lane + at));
			third = add_word(third, octets.word(2 * lane + at));
		}
		crc = Zeros<lane>::pass(Zeros<lane>::pass(crc) ^ second) ^ third;
	}
	return crc;
}

template <bool copies> u32 add(u64 sum, Octets<copies> octets)
{
	sum = add_lanes<1360>(sum, octets); // pages
	sum = add_lanes<464>(sum, octets);  // segments of an Ethernet
	sum = add_lanes<128>(sum, octets);
	for (; octets.len >= sizeof(u64); octets.pass(sizeof(u64)))
		sum = add_word(sum, octets.word(0));
	while (octets.len)
		sum = add_octet(sum, octets.next());
	return static_cast<u32>(sum);
}

} // namespace
} // namespace srnic

u32 core_crc32c_sse42(u32 crc, const void *data, u64 len)
{
	return srnic::add<false>(crc, {static_cast<const u8 *>(data), nullptr, len});
}

u32 core_crc32c_copy_sse42(u32 crc, void *to, const void *from, u64 len)
{
	return srnic::add<true>(crc, {static_cast<const u8 *>(from), static_cast<u8 *>(to), len});
}

#endif
