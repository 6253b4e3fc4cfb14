// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMAP and DDP on transmit: makes a ULPDU of the next segment of a message, with its headers (RFC
// 5040 4.1, RFC 5041 4), and an FPDU (mpa/fpdu_builder.hh) of the ULPDU. RDMAP's own messages (Read
// Request, 4.4, Terminate, 4.8, and those of RFC 7306) are one segment without payload from the
// host.
#pragma once

#include "mpa/startup.hh"
#include "mpa/fpdu_builder.hh"
#include "rdmap/rdmap.hh"

namespace srnic {

static_assert(CORE_ULPDU_HEAD == sizeof(UntaggedHeader) + CORE_TERM_MAX);
static_assert(CORE_TERM_MAX >= CORE_READ_REQUEST_LEN && CORE_TERM_MAX >= CORE_ATOMIC_REQUEST_LEN);

constexpr u32 cache_line = 64;

// An FPDU of the largest size has no TCP segment for itself (RFC 5044 4.5), so it ends where a
// cache line of the message does. Then, in a buffer that begins at one, the next payload is copied
// and summed line by line.
inline Cut cut_of(const core_tx_msg &msg, u32 mulpdu)
{
	Cut cut = next_segment(msg.length, msg.sent, mulpdu, is_tagged(msg.opcode));

	if (mulpdu == mulpdu_max && !cut.last)
		cut.payload -= (msg.sent + cut.payload) % cache_line;
	return cut;
}

inline u8 control_octet(const core_tx_msg &msg)
{
	return RdmapControl::make(msg.opcode).octet | msg.control;
}

inline TaggedHeader tagged_header(const core_tx_msg &msg, bool last)
{
	return {DdpControl::make(true, last), control_octet(msg),
		be<u32>::from_host(msg.stag), be<u64>::from_host(msg.to + msg.sent)};
}

// RFC 5040 4.1: the Invalidate STag field is zero except in messages that invalidate.
inline UntaggedHeader untagged_header(const core_tx_msg &msg, bool last)
{
	return {DdpControl::make(false, last),
		control_octet(msg),
		be<u32>::from_host(has_word(msg.opcode) ? msg.inv_stag : 0),
		be<u32>::from_host(static_cast<u32>(queue_of(msg.opcode))),
		be<u32>::from_host(msg.msn),
		be<u32>::from_host(msg.sent)};
}

// RDMAP's own part after the DDP header. Returns its length.
u32 own_len(const core_tx_msg &msg);
u32 put_own(const core_tx_msg &msg, u8 *to);

// Writes the headers of the message's next segment; `last` is its L flag. Returns their length.
inline u32 put_headers(const core_tx_msg &msg, bool last, u8 *to)
{
	if (is_tagged(msg.opcode)) {
		store(to, tagged_header(msg, last));
		return sizeof(TaggedHeader);
	}
	store(to, untagged_header(msg, last));
	if (msg.own) [[unlikely]]
		return u32{sizeof(UntaggedHeader)} + put_own(msg, to + sizeof(UntaggedHeader));
	return sizeof(UntaggedHeader);
}

// Begins the FPDU of the message's next segment, and advances the message.
inline void begin_segment(core_fpdu &fpdu, core_tx_msg &msg, u32 mulpdu)
{
	Cut cut = cut_of(msg, mulpdu);
	u32 head = put_headers(msg, cut.last, ulpdu_head(fpdu));

	begin_fpdu(fpdu, head, msg.sent, cut.payload);
	msg.sent += cut.payload;
	msg.done = cut.last;
}

// Takes its FPDU back: the stream is where it was before.
inline void abandon_segment(core_fpdu &fpdu) { abandon_fpdu(fpdu); }

// The octets on the wire of that FPDU. Changes nothing.
inline u32 segment_wire_len(const core_fpdu &fpdu, const core_tx_msg &msg, u32 mulpdu)
{
	u32 own = msg.own ? own_len(msg) : 0;

	return fpdu_wire_len(fpdu, ddp_header_len(is_tagged(msg.opcode)) + own +
					   cut_of(msg, mulpdu).payload);
}

inline void start_segments(core_fpdu &fpdu, const core_tx_params &params)
{
	core_fpdu_init(&fpdu, params.crc, params.markers);
}

// The MULPDU for this EMSS.
inline u32 largest_segment(const core_fpdu &fpdu, u32 emss)
{
	return mulpdu(emss, fpdu.markers.on);
}

} // namespace srnic
