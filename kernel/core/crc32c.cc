// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// CRC32C (RFC 5044 4.4: iSCSI's polynomial, 0x1edc6f41): by tables, and by the instruction of
// SSE 4.2.
#include "crc32c.hh"
#include "sliced_crc.hh"

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
