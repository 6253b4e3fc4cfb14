// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA/TCP on transmit: makes a segment (draft-williams-rdmatcp-00 3) of the next part of a
// message, in steps that give the next octets of the stream. A segment is two steps, or one without
// payload.
//
// room: the largest segment, without pad and CRC.
#pragma once

#include "rdmatcp/rdmatcp.hh"

namespace srnic::rdmatcp {

static_assert(sizeof(core_segment::bytes) >= sizeof(BufferHeader) + max_control + sizeof(u64));

// 2: one segment in each TCP segment is recommended. A receiver that takes octets as they come in
// the stream says that it prefers longer ones (rule 21 of the binding).
constexpr u32 min_room = 128;
constexpr u32 room_for(u32 emss)
{
	return min(max(emss & ~3u, min_room + crc_field_len) - crc_field_len, max_length);
}
static_assert(room_for(1460) == 1456 && wire_len(room_for(1460)) == 1460);
static_assert(room_for(1463) == 1456 && room_for(0) == min_room && room_for(1 << 20) == max_length);

Type type_of(const core_tx_msg &msg);

// The next segment of a message.
struct Cut {
	Type type;
	u16 flags; // of its control data
	u32 head;  // octets of header and control data
	u32 payload;
	bool last;

	u32 length() const { return head + payload; }
};

Cut next_cut(const core_tx_msg &msg, u32 room);

inline u32 segment_wire_len(const core_segment &, const core_tx_msg &msg, u32 room)
{
	return wire_len(next_cut(msg, room).length());
}

inline void start_segments(core_segment &segment, const core_tx_params &params)
{
	segment = {};
	segment.connection_id = params.connection_id;
	segment.crc = params.crc;
}

inline u32 largest_segment(const core_segment &, u32 emss) { return room_for(emss); }

// Begins the message's next segment, and advances the message.
void begin_segment(core_segment &segment, core_tx_msg &msg, u32 room);

// A segment that is taken back leaves nothing behind: segments do not depend on those before.
inline void abandon_segment(core_segment &) {}

// None: the CRC is no CRC32C.
inline u32 *payload_sum(core_segment &) { return nullptr; }

// Adds octets of payload to the CRC.
inline void sum_up(core_segment &segment, const void *octets, u32 len)
{
	if (segment.crc)
		segment.sum = add_to_crc(segment.sum, static_cast<const u8 *>(octets), len);
}

// The next step of the segment. Copy all payload of a step before the next call.
core_tx_step next_step(core_segment &segment);

} // namespace srnic::rdmatcp
