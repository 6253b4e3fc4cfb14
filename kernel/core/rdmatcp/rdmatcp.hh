// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA/TCP segments: their headers (draft-williams-rdmatcp-00 3), the control data by which verbs
// are bound to them (Documentation/rdmatcp.rst, "Control data"), and the CRC-32 (3.4).
//
// A segment is a header, control data, payload, zeros up to a multiple of four octets, and a CRC-32
// over all of it.
#pragma once

#include "types.hh"

namespace srnic::rdmatcp {

enum class Type : u8 { send = 0, write = 1, read_request = 2, read_response = 3 };

struct Bits { // 3.1, byte 1
	u8 octet;

	constexpr bool begin() const { return octet & 0x08; }
	constexpr bool end() const { return octet & 0x04; }
	constexpr Type type() const { return Type{static_cast<u8>(octet & 0x03)}; }

	// The four reserved bits are the client protocol's, which does not use them.
	static constexpr Bits make(Type type, bool begin, bool end)
	{
		return {static_cast<u8>((begin ? 0x08 : 0) | (end ? 0x04 : 0) | u8(type))};
	}
};

constexpr u8 version = 1;

struct Common { // what all segments begin with
	u8 version;
	Bits bits;
	be<u16> length; // header, control data and payload
	be<u64> connection_id;
	be<u32> number;
	be<u16> order;
	u8 reserved;
	u8 clen; // 32-bit words of control data
};
static_assert(sizeof(Common) == 20);
static_assert(__builtin_offsetof(Common, length) == 2);
static_assert(__builtin_offsetof(Common, connection_id) == 4);
static_assert(__builtin_offsetof(Common, number) == 12);
static_assert(__builtin_offsetof(Common, order) == 16);
static_assert(__builtin_offsetof(Common, clen) == 19);

struct StreamHeader { // 3.1: Send and RDMA_Read_Response
	Common common;
	be<u32> data_offset;
};
static_assert(sizeof(StreamHeader) == 24);

struct BufferHeader { // 3.2 and 3.3: RDMA_Write and RDMA_Read_Request
	Common common;
	be<u32> buffer_id;
	be<u32> buffer_offset;
	be<u32> rdma_length;
};
static_assert(sizeof(BufferHeader) == 32);
static_assert(__builtin_offsetof(BufferHeader, buffer_offset) == 24);

constexpr bool has_buffer(Type type) { return type == Type::write || type == Type::read_request; }

constexpr u32 header_len(Type type)
{
	return has_buffer(type) ? sizeof(BufferHeader) : sizeof(StreamHeader);
}

constexpr u32 crc_field_len = 4;
constexpr u32 pad_len(u32 length) { return -length & 3; }
constexpr u32 trailer_len(u32 length) { return pad_len(length) + crc_field_len; }
constexpr u32 wire_len(u32 length) { return length + trailer_len(length); }
static_assert(wire_len(24) == 28 && wire_len(25) == 32 && wire_len(27) == 32);

// 5: the length has 16 bits. A whole number of words, so that only a message's end is padded.
constexpr u32 max_length = 0xfffc;

// The order field (3.4): everything that came before is processed first, where a Read Request
// counts as processed once it is accepted. An in-order receiver complies with any value.
constexpr u16 in_order = 0;

// ---- Control data ----

// The words that a flag announces follow the control word in the order of the flags, from the
// lowest bit on.
enum Flag : u16 {
	upper_offset = 0x0001, // one word: bits 32 to 63 of the buffer offset
	invalidate = 0x0002,   // one word: the buffer ID to be invalidated
	immediate = 0x0004,    // two words: Immediate Data
	startup = 0x0008,      // two words: struct StartupWords
	solicited = 0x0010,
};
constexpr u16 must_be_known = 0x00ff; // unknown flags among these are refused, others ignored

struct ControlWord {
	u8 binding; // its version
	u8 reserved;
	be<u16> flags;
};
static_assert(sizeof(ControlWord) == 4);

constexpr u8 binding_version = 1;
constexpr u32 word = 4;
constexpr u32 immediate_len = 2 * word;
constexpr u32 startup_len = 2 * word;

// Octets of the control data that have these flags; none if there are no flags.
constexpr u32 control_len(u16 flags)
{
	return !flags ? 0
		      : u32{sizeof(ControlWord)} + (flags & upper_offset ? word : 0) +
				(flags & invalidate ? word : 0) +
				(flags & immediate ? immediate_len : 0) +
				(flags & startup ? startup_len : 0);
}

constexpr u32 max_control = control_len(must_be_known);
static_assert(max_control == 28);

struct Control {
	u16 flags = 0;
	u32 upper = 0;
	u32 invalid_id = 0;
	const u8 *immediate = nullptr; // in the octets decoded
	const u8 *startup = nullptr;
};

// Decodes `len` octets, the control data or at least max_control of them. False if they break a
// rule. Words that no flag announces are ignored.
bool decode(const u8 *octets, u32 len, Control &out);
// Encodes into control_len(flags) octets, and returns their number. immediate and startup are
// copied.
u32 encode(const Control &control, u8 *to);

// ---- CRC-32 (3.4) ----

constexpr u32 crc_seed = 0xffffffff;

// Running value; as Ethernet's CRC but for the generator, whose bits are in reverse order.
u32 add_to_crc(u32 crc, const u8 *octets, u32 len);

// As Ethernet has it: the complement, and of each octet the lowest bit first.
constexpr void put_crc(u32 crc, u8 *field)
{
	for (u32 i = 0; i < crc_field_len; i++)
		field[i] = static_cast<u8>(~crc >> (8 * i));
}

constexpr bool is_crc(u32 crc, const u8 *field)
{
	for (u32 i = 0; i < crc_field_len; i++)
		if (field[i] != static_cast<u8>(~crc >> (8 * i)))
			return false;
	return true;
}

} // namespace srnic::rdmatcp
