// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA/TCP on transmit: headers and control data of messages (draft-williams-rdmatcp-00 3), and the
// end of a segment.
#include "rdmatcp/segment_builder.hh"

namespace srnic::rdmatcp {
namespace {

bool is_solicited(const core_tx_msg &msg)
{
	return msg.solicited || msg.opcode == CORE_MSG_SEND_SE ||
	       msg.opcode == CORE_MSG_SEND_SE_INV || msg.opcode == CORE_MSG_IMMEDIATE_SE;
}

bool invalidates(u8 opcode)
{
	return opcode == CORE_MSG_SEND_INV || opcode == CORE_MSG_SEND_SE_INV;
}

u64 buffer_offset(const core_tx_msg &msg)
{
	return msg.opcode == CORE_MSG_READ_REQUEST ? msg.request->source_to : msg.to + msg.sent;
}

// Flags about the whole message.
u16 flags_of_end(const core_tx_msg &msg)
{
	u16 flags = 0;

	if (type_of(msg) != Type::send && type_of(msg) != Type::write)
		return 0;
	if (is_solicited(msg))
		flags |= solicited;
	if (invalidates(msg.opcode))
		flags |= invalidate;
	if (msg.immediate)
		flags |= immediate;
	return flags;
}

Common common(const core_segment &segment, const core_tx_msg &msg, const Cut &cut)
{
	bool response = cut.type == Type::read_response;

	return {version,
		Bits::make(cut.type, !msg.sent, cut.last),
		be<u16>::from_host(static_cast<u16>(cut.length())),
		be<u64>::from_host(segment.connection_id),
		be<u32>::from_host(response ? msg.stag : msg.msn),
		be<u16>::from_host(in_order),
		0,
		static_cast<u8>(control_len(cut.flags) / word)};
}

u32 put_header(const core_segment &segment, const core_tx_msg &msg, const Cut &cut, u8 *to)
{
	const Common begins = common(segment, msg, cut);
	const auto lower = be<u32>::from_host(static_cast<u32>(buffer_offset(msg)));

	if (cut.type == Type::read_request)
		store(to, BufferHeader{begins, be<u32>::from_host(msg.request->source_stag), lower,
				       be<u32>::from_host(msg.request->length)});
	else if (cut.type == Type::write)
		store(to, BufferHeader{begins, be<u32>::from_host(msg.stag), lower,
				       be<u32>::from_host(msg.length)});
	else
		store(to, StreamHeader{begins, be<u32>::from_host(msg.sent)});
	return header_len(cut.type);
}

core_tx_step end_segment(core_segment &segment, u32 from)
{
	u32 field = segment.head_len + u32{segment.pad};

	sum_up(segment, segment.bytes + from, field - from);
	if (segment.crc)
		put_crc(segment.sum, segment.bytes + field);
	return {segment.bytes + from, field + crc_field_len - from, 0, 0, false, true};
}

} // namespace

Type type_of(const core_tx_msg &msg)
{
	switch (msg.opcode) {
	case CORE_MSG_WRITE:
		return Type::write;
	case CORE_MSG_READ_REQUEST:
		return Type::read_request;
	case CORE_MSG_READ_RESPONSE:
		return Type::read_response;
	default:
		return Type::send;
	}
}

// All segments leave room for the control data of the last one.
Cut next_cut(const core_tx_msg &msg, u32 room)
{
	const u16 at_end = flags_of_end(msg);
	const u16 always = has_buffer(type_of(msg)) && buffer_offset(msg) >> 32 ? upper_offset : 0;
	const u32 left = msg.length - msg.sent;
	Cut cut{};

	cut.type = type_of(msg);
	room -= header_len(cut.type) + control_len(always | at_end);
	cut.last = left <= room;
	cut.payload = min(left, room);
	cut.flags = always | (cut.last ? at_end : 0);
	cut.head = header_len(cut.type) + control_len(cut.flags);
	return cut;
}

void begin_segment(core_segment &segment, core_tx_msg &msg, u32 room)
{
	const Cut cut = next_cut(msg, room);
	const Control control = {cut.flags, static_cast<u32>(buffer_offset(msg) >> 32),
				 msg.inv_stag, msg.immediate, nullptr};
	u8 *at = segment.bytes;

	at += put_header(segment, msg, cut, at);
	at += encode(control, at);
	store(at, u64{0}); // the pad, and the CRC field if CRCs are off
	segment.in_payload = 0;
	segment.head_len = static_cast<u8>(cut.head);
	segment.pad = static_cast<u8>(pad_len(cut.length()));
	segment.offset = msg.sent;
	segment.payload = cut.payload;
	segment.sum = crc_seed;
	msg.sent += cut.payload;
	msg.done = cut.last;
}

core_tx_step next_step(core_segment &segment)
{
	if (segment.in_payload)
		return end_segment(segment, segment.head_len);
	if (!segment.payload)
		return end_segment(segment, 0);
	sum_up(segment, segment.bytes, segment.head_len);
	segment.in_payload = 1;
	return {segment.bytes, segment.head_len, segment.payload, segment.offset, false, false};
}

} // namespace srnic::rdmatcp
