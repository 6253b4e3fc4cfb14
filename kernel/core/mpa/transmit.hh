// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// MPA on transmit (RFC 5044 4.1 to 4.4): a ULPDU becomes an FPDU, told step by step as the next
// octets of the stream. A ULPDU is some octets that its maker writes here, then payload that only
// the host can reach. Length, pad, markers and CRC are added here, and known nowhere else.
//
// An FPDU without markers is two steps, or one if it has no payload.
#pragma once

#include "mpa/framing.hh"

namespace srnic {

enum class Stage : u8 { head, payload, pad, field }; // of what comes next

static_assert(sizeof(core_fpdu::bytes) == CORE_FPDU_HEAD + CORE_FPDU_TRAILER);

// Where the maker of a ULPDU writes its first octets, CORE_ULPDU_HEAD of them at most.
inline u8 *ulpdu_head(core_fpdu &fpdu) { return fpdu.bytes + fpdu_header_len; }

// The octets on the wire of a ULPDU of this length that would come next.
inline u32 fpdu_wire_len(const core_fpdu &fpdu, u32 ulpdu_len)
{
	u32 len = fpdu_len(ulpdu_len);

	return fpdu.markers.on ? core_markers_len(&fpdu.markers, len) : len;
}

// The ULPDU is what was written to ulpdu_head(), and then payload from offset on.
inline void begin_fpdu(core_fpdu &fpdu, u32 head, u32 offset, u32 payload)
{
	u32 ulpdu_len = head + payload;

	store(fpdu.bytes, FpduHeader{be<u16>::from_host(static_cast<u16>(ulpdu_len))});
	fpdu.stage = static_cast<u8>(Stage::head);
	fpdu.head_len = static_cast<u8>(fpdu_header_len + head);
	fpdu.done = 0;
	fpdu.pad = static_cast<u8>(fpdu_pad(ulpdu_len));
	fpdu.offset = offset;
	fpdu.payload = payload;
	fpdu.sum = CORE_CRC_SEED;
	fpdu.start = fpdu.markers;
	store(fpdu.bytes + fpdu.head_len, u32{0}); // the pad
}

inline core_tx_step bytes_step(const u8 *bytes, u32 len, bool last)
{
	return {bytes, len, 0, 0, false, last};
}

inline core_tx_step payload_step(u32 offset, u32 len)
{
	return {nullptr, 0, len, offset, false, false};
}

// Octets that the CRC covers go by.
inline void sum_up(core_fpdu &fpdu, const void *octets, u32 len)
{
	if (fpdu.crc && len)
		fpdu.sum = core_host_crc32c(fpdu.sum, octets, len);
}

// RFC 5044 4.4: an FPDU always has a CRC field; it is zero where no CRC was agreed on.
inline void put_crc_field(core_fpdu &fpdu, u8 *to)
{
	store(to, fpdu.crc ? crc_to_field(fpdu.sum) : u32{0});
}

// All of the core's octets from `from` on, the end of the FPDU with them.
inline core_tx_step end_fpdu(core_fpdu &fpdu, u32 from)
{
	u32 field = fpdu.head_len + u32{fpdu.pad};

	sum_up(fpdu, fpdu.bytes + from, field - from);
	put_crc_field(fpdu, fpdu.bytes + field);
	return bytes_step(fpdu.bytes + from, field + crc_field_len - from, true);
}

core_tx_step next_between_markers(core_fpdu &fpdu);

// The next octets of the FPDU. Copy all of a step's payload before you ask for the next.
inline core_tx_step next_step(core_fpdu &fpdu)
{
	if (fpdu.markers.on) [[unlikely]]
		return next_between_markers(fpdu);
	if (fpdu.stage != static_cast<u8>(Stage::head))
		return end_fpdu(fpdu, fpdu.head_len);
	if (!fpdu.payload)
		return end_fpdu(fpdu, 0);
	sum_up(fpdu, fpdu.bytes, fpdu.head_len);
	fpdu.stage = static_cast<u8>(Stage::pad);
	return {fpdu.bytes, fpdu.head_len, fpdu.payload, fpdu.offset, false, false};
}

// Nothing of this FPDU goes out: the stream is where it was before it.
inline void abandon_fpdu(core_fpdu &fpdu) { fpdu.markers = fpdu.start; }

} // namespace srnic
