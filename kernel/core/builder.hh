// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The segments of a stream on transmit, by its framing: MPA's FPDUs with the headers of DDP and
// RDMAP (rdmap/rdmap_builder.hh), or RDMA/TCP's segments (rdmatcp/segment_builder.hh). "Segment"
// here is either.
#pragma once

#include "rdmap/rdmap_builder.hh"
#include "rdmatcp/segment_builder.hh"

namespace srnic::builder {

using srnic::abandon_segment, rdmatcp::abandon_segment;
using srnic::begin_segment, rdmatcp::begin_segment;
using srnic::largest_segment, rdmatcp::largest_segment;
using srnic::next_step, rdmatcp::next_step;
using srnic::payload_sum, rdmatcp::payload_sum;
using srnic::segment_wire_len, rdmatcp::segment_wire_len;
using srnic::start_segments, rdmatcp::start_segments;
using srnic::sum_up, rdmatcp::sum_up;

// Calls `what` with the segment that the stream builds. The only place that chooses it.
template <class Tx, class What> [[gnu::always_inline]] inline auto by_framing(Tx &tx, What what)
{
	switch (static_cast<core_framing>(tx.params.framing)) {
	case CORE_FRAMING_MPA:
		[[likely]] return what(tx.fpdu);
	case CORE_FRAMING_RDMATCP:
		return what(tx.segment);
	case CORE_FRAMING_IB:
		return what(tx.fpdu);
	}
	__builtin_unreachable();
}

inline void start(core_tx &tx)
{
	tx.mulpdu = min(mulpdu_min, rdmatcp::min_room);
	by_framing(tx, [&](auto &segment) { start_segments(segment, tx.params); });
}

// Octets of the largest segment that fits a TCP segment of this size.
inline u32 largest(const core_tx &tx, u32 emss)
{
	const u32 fitting = tx.params.long_segments ? ~0u : emss;

	return by_framing(tx, [&](auto &segment) { return largest_segment(segment, fitting); });
}

// The octets on the wire of the message's next segment. Changes nothing.
inline u32 wire_len(const core_tx &tx, const core_tx_msg &msg)
{
	return by_framing(tx,
			  [&](auto &segment) { return segment_wire_len(segment, msg, tx.mulpdu); });
}

// Begins it, and advances the message.
inline void begin(core_tx &tx, core_tx_msg &msg)
{
	by_framing(tx, [&](auto &segment) { begin_segment(segment, msg, tx.mulpdu); });
}

inline core_tx_step next(core_tx &tx)
{
	return by_framing(tx, [](auto &segment) { return next_step(segment); });
}

// The CRC32C that payload is added to; nullptr: none is, or not a CRC32C.
inline u32 *sum(core_tx &tx)
{
	return by_framing(tx, [](auto &segment) { return payload_sum(segment); });
}

inline void copied(core_tx &tx, const void *octets, u32 n)
{
	by_framing(tx, [&](auto &segment) { sum_up(segment, octets, n); });
}

// Takes it back: the stream is where it was before.
inline void abandon(core_tx &tx)
{
	by_framing(tx, [](auto &segment) { abandon_segment(segment); });
}

} // namespace srnic::builder
