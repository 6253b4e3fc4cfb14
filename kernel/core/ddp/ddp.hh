// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// DDP (RFC 5041): segment headers (4), segmentation (5.2), and the numbers of the errors that
// receivers find (7.2).
#pragma once

#include "types.hh"

namespace srnic {

struct DdpControl { // RFC 5041 4.1
	u8 octet;

	constexpr bool tagged() const { return octet & 0x80; }
	constexpr bool last() const { return octet & 0x40; }
	// The reserved bits are not checked.
	constexpr bool version_ok() const { return (octet & 0x03) == 1; }

	static constexpr DdpControl make(bool tagged, bool last)
	{
		return {static_cast<u8>((tagged ? 0x80 : 0) | (last ? 0x40 : 0) | 1)};
	}
};
static_assert(sizeof(DdpControl) == 1);
static_assert(DdpControl::make(false, true).octet == 0x41); // RFC 5044 figure 5

struct TaggedHeader { // RFC 5041 4.2
	DdpControl control;
	u8 rsvd_ulp;
	be<u32> stag;
	be<u64> to;
};
static_assert(sizeof(TaggedHeader) == 14);
static_assert(__builtin_offsetof(TaggedHeader, stag) == 2 &&
	      __builtin_offsetof(TaggedHeader, to) == 6);

struct UntaggedHeader { // RFC 5041 4.3
	DdpControl control;
	u8 rsvd_ulp;
	be<u32> rsvd_ulp2; // RDMAP's Invalidate STag
	be<u32> qn;
	be<u32> msn;
	be<u32> mo;
};
static_assert(sizeof(UntaggedHeader) == 18);
static_assert(__builtin_offsetof(UntaggedHeader, rsvd_ulp2) == 2 &&
	      __builtin_offsetof(UntaggedHeader, qn) == 6);
static_assert(__builtin_offsetof(UntaggedHeader, msn) == 10 &&
	      __builtin_offsetof(UntaggedHeader, mo) == 14);

constexpr u8 ddp_header_len(bool tagged)
{
	return tagged ? sizeof(TaggedHeader) : sizeof(UntaggedHeader);
}

constexpr u32 first_msn = CORE_FIRST_MSN; // RFC 5041 4.3

// RFC 5041 7.2, error type 0x1.
enum class TaggedError : u8 {
	invalid_stag = 0,
	base_or_bounds = 1,
	not_associated = 2,
	to_wrap = 3,
	version = 4
};

// RFC 5041 7.2, error type 0x2.
enum class UntaggedError : u8 {
	invalid_qn = 1,
	no_buffer = 2,
	msn_range = 3,
	invalid_mo = 4,
	too_long = 5,
	version = 6,
};

struct Cut {
	u32 payload;
	bool last;
};

// RFC 5041 5.2: segments are no larger than the MULPDU, and a zero-length message has exactly one.
constexpr Cut next_segment(u32 length, u32 sent, u32 mulpdu, bool tagged)
{
	u32 left = length - sent, room = mulpdu - ddp_header_len(tagged);

	return {min(left, room), left <= room};
}
static_assert(next_segment(2048, 0, 1500, false).payload == 1482 &&
	      !next_segment(2048, 0, 1500, false).last);
static_assert(next_segment(2048, 1482, 1500, false).payload == 566 &&
	      next_segment(2048, 1482, 1500, false).last);
static_assert(next_segment(2048, 0, 1500, true).payload == 1486 &&
	      next_segment(2048, 1486, 1500, true).payload == 562);
static_assert(next_segment(0, 0, 1500, true).payload == 0 && next_segment(0, 0, 1500, true).last);

} // namespace srnic
