// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// MPA framing (RFC 5044 section 4): the layout of one DDP segment, the ULPDU, in the TCP stream. An
// FPDU is a length, the ULPDU, zeros up to a multiple of four octets, and a CRC32C over all of it.
// If the receiver wants markers, there are four octets of them at each multiple of 512 octets of
// the stream. Lengths of FPDUs never include markers.
//
// DDP and RDMAP use only the ULPDU and its length, and nothing else from here.
#pragma once

#include "types.hh"

namespace srnic {

struct FpduHeader { // RFC 5044 4.1
	be<u16> ulpdu_length;
};
static_assert(sizeof(FpduHeader) == 2);

constexpr u32 fpdu_header_len = sizeof(FpduHeader);
constexpr u32 crc_field_len = 4;

// RFC 5044 4.1: the FPDU's size is an integral multiple of four.
constexpr u32 fpdu_pad(u32 ulpdu_len) { return -(fpdu_header_len + ulpdu_len) & 3; }
constexpr u32 fpdu_trailer(u32 ulpdu_len) { return fpdu_pad(ulpdu_len) + crc_field_len; }
constexpr u32 fpdu_len(u32 ulpdu_len)
{
	return fpdu_header_len + ulpdu_len + fpdu_trailer(ulpdu_len);
}

static_assert(fpdu_pad(14) == 0 && fpdu_pad(15) == 3 && fpdu_pad(16) == 2 && fpdu_pad(17) == 1);
static_assert(fpdu_len(42) == 48); // RFC 5044 figure 5, less its marker
static_assert(CORE_FPDU_TRAILER == 3 + crc_field_len);

struct Marker { // RFC 5044 figure 3
	be<u16> reserved;
	be<u16> fpduptr;
};
static_assert(sizeof(Marker) == CORE_MARKER_LEN);

constexpr u32 marker_gap =
	CORE_MARKER_INTERVAL - CORE_MARKER_LEN; // octets of FPDUs between two markers

// FPDUs and markers are multiples of four octets, so no marker splits a length or CRC field.
static_assert(marker_gap % 4 == 0);

// RFC 5044 4.2: the two low bits count as zero, and the reserved field is ignored. FPDUPTR is too
// narrow for an FPDU of 64 KiB; no FPDU of a legal ULPDU (at most 64768 octets) is that long.
constexpr bool marker_points_back(const Marker &marker, u32 octets)
{
	return (marker.fpduptr.host() & ~3u) == octets;
}

// RFC 5044 4.4, as in iSCSI's digests: the complement of the running CRC, least significant octet
// first.
constexpr u32 crc_from_field(const u8 *field)
{
	return ~(u32{field[0]} | u32{field[1]} << 8 | u32{field[2]} << 16 | u32{field[3]} << 24);
}

constexpr u32 crc_to_field(u32 crc)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? byte_swapped(~crc) : ~crc;
}

} // namespace srnic
