// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA/TCP segments for tests, built from the figures of draft-williams-rdmatcp-00 and
// Documentation/rdmatcp.rst without the code under test. Every field can hold any value.
#pragma once

#include "bytes.hh"

namespace rdmatcp_wire {

using namespace wire;

enum Type : u8 { send_type, write_type, read_request_type, read_response_type };

constexpr u8 begin_bit = 8, end_bit = 4, both_bits = begin_bit | end_bit;

constexpr u16 upper_flag = 1, invalidate_flag = 2, immediate_flag = 4, startup_flag = 8,
	      solicited_flag = 16;

// 3.4, one bit at a time: as for Ethernet, the lowest bit of each octet comes first, the register
// begins with ones and is complemented, and its highest coefficient is sent first.
inline Bytes crc32(const Bytes &data)
{
	constexpr u32 generator = 0xdb710641; // and x^32
	u32 rest = ~u32{0};
	Bytes out(4);

	for (u8 octet : data)
		for (int bit = 0; bit < 8; bit++) {
			const bool divides = (rest >> 31 ^ (octet >> bit & 1)) & 1;

			rest = rest << 1 ^ (divides ? generator : 0);
		}
	for (int bit = 0; bit < 32; bit++)
		out[bit / 8] |= static_cast<u8>((~rest >> (31 - bit) & 1) << bit % 8);
	return out;
}

// Control data: the control word, and the words of its flags.
inline Bytes control(u16 flags, const Bytes &words = {})
{
	return Bytes{1, 0} + be16(flags) + words;
}

struct Segment { // figures 3.1 to 3.3
	u8 type = send_type;
	u8 bits = both_bits;
	u32 number = 100;
	u32 offset = 0; // data or buffer offset
	u32 id = 0x77;	// buffers
	u32 rdma_length = 0;
	Bytes data = {};
	Bytes control = {};
	u16 order = 0;
	u8 version = 1;
	u8 reserved = 0; // its four bits in octet 1, and octet 18
	u64 connection = 0x0123456789abcdef;
	int length_more = 0; // than is right
	u8 pad = 0;

	bool has_buffer() const { return type == write_type || type == read_request_type; }
	Bytes header() const
	{
		const long length = (has_buffer() ? 32 : 24) +
				    static_cast<long>(control.size() + data.size()) + length_more;

		return Bytes{version, static_cast<u8>(reserved << 4 | bits | type)} +
		       be16(static_cast<u64>(length)) + be64(connection) + be32(number) +
		       be16(order) + Bytes{reserved, static_cast<u8>(control.size() / 4)} +
		       (has_buffer() ? be32(id) + be32(offset) + be32(rdma_length) : be32(offset));
	}
	operator Bytes() const
	{
		Bytes covered = header() + control + data;

		while (covered.size() % 4)
			covered.push_back(pad);
		return covered + crc32(covered);
	}
};

} // namespace rdmatcp_wire
