// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// MPA startup: the wire layout of Request and Reply frames (RFC 5044 7.1.1, RFC 6581 6 and 9) and
// the numbers of their errors (RFC 6581 8).
#pragma once

#include "types.hh"

namespace srnic {

struct MpaHeader { // RFC 5044 figure 8, RFC 6581 6
	u8 key[16];
	u8 flags;
	u8 revision;
	be<u16> private_len;
};
static_assert(sizeof(MpaHeader) == CORE_MPA_HEADER);
static_assert(__builtin_offsetof(MpaHeader, flags) == 16 &&
	      __builtin_offsetof(MpaHeader, private_len) == 18);

constexpr u8 mpa_markers = 0x80;  // M
constexpr u8 mpa_crc = 0x40;	  // C
constexpr u8 mpa_reject = 0x20;	  // R
constexpr u8 mpa_enhanced = 0x10; // S
constexpr u8 mpa_large = 0x08;	  // reserved, but for an experiment that siw knows as well

struct MpaEnhanced {	// RFC 6581 9
	be<u16> ab_ird; // control flags A and B, then 14 bits of IRD
	be<u16> cd_ord; // control flags C and D, then 14 bits of ORD
};
static_assert(sizeof(MpaEnhanced) == CORE_MPA_ENHANCED);

constexpr u16 mpa_flag_a = 0x8000, mpa_flag_b = 0x4000; // beside the IRD
constexpr u16 mpa_flag_c = 0x8000, mpa_flag_d = 0x4000; // beside the ORD
constexpr u16 mpa_depth = 0x3fff;
static_assert(mpa_depth == CORE_MPA_AUTO);

// RFC 6581 8. Sent in a Terminate: layer 2, error type 0.
enum class MpaError : u8 {
	none = 0,
	local_catastrophic = 5,
	insufficient_ird = 6,
	no_matching_rtr = 7
};

// RFC 5044 4.5. Sizes are those of a ULPDU.
constexpr u32 mulpdu_min = 128;
constexpr u32 mulpdu_max = 64768;

constexpr u32 mulpdu(u32 emss, bool markers)
{
	u32 overhead = 6 + emss % 4 + (markers ? 4 * (emss / 512 + (emss % 512 != 0)) : 0);

	if (emss < overhead + mulpdu_min)
		return mulpdu_min;
	return min(emss - overhead, mulpdu_max);
}
static_assert(mulpdu(1460, false) == 1454 && mulpdu(1460, true) == 1442);

} // namespace srnic
