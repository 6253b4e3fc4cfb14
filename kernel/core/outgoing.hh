// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The wire format of a stream on transmit, by its framing: MPA's FPDUs with the headers of DDP and
// RDMAP (rdmap/transmit.hh), or RDMA/TCP's segments (rdmatcp/transmit.hh). "Segment" here is
// either.
#pragma once

#include "mpa/startup.hh"
#include "rdmap/transmit.hh"
#include "rdmatcp/transmit.hh"

namespace srnic::outgoing {

inline bool is_mpa(const core_tx &tx) { return tx.params.framing == CORE_FRAMING_MPA; }

// Does the format have a message for this operation? RFC 7306 has none of Immediate Data with
// payload, RDMA/TCP none of an atomic operation.
inline bool has_form(const core_tx &tx, const core_operation &op, u32 length)
{
	if (is_mpa(tx))
		return op.handler != CORE_HANDLE_IMMEDIATE || !length;
	return op.handler != CORE_HANDLE_ATOMIC;
}

inline void start(core_tx &tx)
{
	tx.mulpdu = min(mulpdu_min, rdmatcp::min_room);
	if (is_mpa(tx))
		return core_fpdu_init(&tx.fpdu, tx.params.crc, tx.params.markers);
	tx.segment = {};
	tx.segment.connection_id = tx.params.connection_id;
	tx.segment.crc = tx.params.crc;
}

inline u32 largest_segment(const core_tx &tx, u32 emss)
{
	const u32 fitting = tx.params.long_segments ? ~0u : emss;

	return is_mpa(tx) ? mulpdu(fitting, tx.fpdu.markers.on) : rdmatcp::room_for(fitting);
}

// The octets on the wire of the message's next segment. Changes nothing.
inline u32 segment_len(const core_tx &tx, const core_tx_msg &msg)
{
	if (is_mpa(tx)) [[likely]]
		return segment_wire_len(tx.fpdu, msg, tx.mulpdu);
	return rdmatcp::wire_len(rdmatcp::next_cut(msg, tx.mulpdu).length());
}

// Begins it, and advances the message.
inline void begin(core_tx &tx, core_tx_msg &msg)
{
	if (is_mpa(tx)) [[likely]]
		begin_segment(tx.fpdu, msg, tx.mulpdu);
	else
		rdmatcp::begin_segment(tx.segment, msg, tx.mulpdu);
}

inline core_tx_step next(core_tx &tx)
{
	return is_mpa(tx) ? next_step(tx.fpdu) : rdmatcp::next_step(tx.segment);
}

inline u32 *payload_sum(core_tx &tx)
{
	return is_mpa(tx) && tx.fpdu.crc ? &tx.fpdu.sum : nullptr;
}

inline void copied(core_tx &tx, const void *octets, u32 n)
{
	if (is_mpa(tx)) [[likely]]
		sum_up(tx.fpdu, octets, n);
	else
		rdmatcp::sum_up(tx.segment, octets, n);
}

// Takes it back: the stream is where it was before.
inline void abandon(core_tx &tx)
{
	if (is_mpa(tx))
		abandon_fpdu(tx.fpdu);
}

// May segments of one message come between those of another? With MPA receivers can tell untagged
// from tagged messages, but some cannot tell two tagged messages apart. RDMA/TCP has two groups, of
// which Read Responses are one (draft-williams-rdmatcp-00 4).
inline bool may_interleave(const core_tx &tx, u8 one, u8 other)
{
	return !is_mpa(tx) || !is_tagged(one) || !is_tagged(other);
}

} // namespace srnic::outgoing
