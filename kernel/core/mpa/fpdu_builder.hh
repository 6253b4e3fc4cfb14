// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// MPA on transmit (RFC 5044 4.1 to 4.4): makes an FPDU of a ULPDU, in steps that give the next
// octets of the stream. A ULPDU is some octets that its maker writes here, then payload that only
// the host can access. Length, pad, markers and CRC are added only here.
//
// An FPDU without markers is two steps, or one if it has no payload.
#pragma once

#include "mpa/framing.hh"

namespace srnic {

enum class Stage : u8 { head, payload, pad, field }; // of the next step

static_assert(sizeof(core_fpdu::bytes) == CORE_FPDU_HEAD + CORE_FPDU_TRAILER);

// The maker of a ULPDU writes its first octets here, at most CORE_ULPDU_HEAD.
inline u8 *ulpdu_head(core_fpdu &fpdu) { return fpdu.bytes + fpdu_header_len; }

// The octets on the wire of the next FPDU, with a ULPDU of this length.
inline u32 fpdu_wire_len(const core_fpdu &fpdu, u32 ulpdu_len)
{
	u32 len = fpdu_len(ulpdu_len);

	return fpdu.markers.on ? core_markers_len(&fpdu.markers, len) : len;
}

// The ULPDU is the `head` octets at ulpdu_head(), then `payload` octets from offset on.
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

// The CRC32C that payload is added to; nullptr: there are no CRCs.
inline u32 *payload_sum(core_fpdu &fpdu) { return fpdu.crc ? &fpdu.sum : nullptr; }

// Adds octets to the CRC.
inline void sum_up(core_fpdu &fpdu, const void *octets, u32 len)
{
	if (fpdu.crc && len)
		fpdu.sum = core_host_crc32c(fpdu.sum, octets, len);
}

// RFC 5044 4.4: an FPDU always has a CRC field; it is zero if CRCs are off.
inline void put_crc_field(core_fpdu &fpdu, u8 *to)
{
	store(to, fpdu.crc ? crc_to_field(fpdu.sum) : u32{0});
}

// The last step: the core's octets from `from` to the end of the FPDU.
inline core_tx_step end_fpdu(core_fpdu &fpdu, u32 from)
{
	u32 field = fpdu.head_len + u32{fpdu.pad};

	sum_up(fpdu, fpdu.bytes + from, field - from);
	put_crc_field(fpdu, fpdu.bytes + field);
	return bytes_step(fpdu.bytes + from, field + crc_field_len - from, true);
}

core_tx_step next_between_markers(core_fpdu &fpdu);

// The next step of the FPDU. Copy all payload of a step before the next call.
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

// Takes the FPDU back: the stream is where it was before.
inline void abandon_fpdu(core_fpdu &fpdu) { fpdu.markers = fpdu.start; }

} // namespace srnic
