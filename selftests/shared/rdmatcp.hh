// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA/TCP segments for tests, built from the figures of draft-williams-rdmatcp-00 and
// Documentation/rdmatcp.rst without the code under test. Every field can hold any value.
//
// Octets: any vector of octets.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace rdmatcp_wire {

enum Type : std::uint8_t { send_type, write_type, read_request_type, read_response_type };

constexpr std::uint8_t begin_bit = 8, end_bit = 4, both_bits = begin_bit | end_bit;

constexpr std::uint16_t upper_flag = 1, invalidate_flag = 2, immediate_flag = 4, startup_flag = 8,
			solicited_flag = 16;

template <class Octets> Octets number(std::uint64_t value, unsigned octets)
{
	Octets out;

	while (octets--)
		out.push_back(static_cast<std::uint8_t>(value >> (8 * octets)));
	return out;
}

template <class Octets> Octets joined(std::initializer_list<Octets> pieces)
{
	Octets out;

	for (const Octets &piece : pieces)
		out.insert(out.end(), piece.begin(), piece.end());
	return out;
}

// 3.4, one bit at a time: as for Ethernet, the lowest bit of each octet comes first, the register
// begins with ones and is complemented, and its highest coefficient is sent first.
template <class Octets> Octets crc32(const Octets &data)
{
	constexpr std::uint32_t generator = 0xdb710641; // and x^32
	std::uint32_t rest = ~std::uint32_t{0};
	Octets out(4);

	for (std::uint8_t octet : data)
		for (int bit = 0; bit < 8; bit++) {
			const bool divides = (rest >> 31 ^ (octet >> bit & 1)) & 1;

			rest = rest << 1 ^ (divides ? generator : 0);
		}
	for (int bit = 0; bit < 32; bit++)
		out[bit / 8] |= static_cast<std::uint8_t>((~rest >> (31 - bit) & 1) << bit % 8);
	return out;
}

// Control data: the control word, and the words of its flags.
template <class Octets> Octets control(std::uint16_t flags, const Octets &words = {})
{
	return joined<Octets>({Octets{1, 0}, number<Octets>(flags, 2), words});
}

template <class Octets> struct Segment { // figures 3.1 to 3.3
	std::uint8_t type = send_type;
	std::uint8_t bits = both_bits;
	std::uint32_t number = 100;
	std::uint32_t offset = 0; // data or buffer offset
	std::uint32_t id = 0x77;  // buffers
	std::uint32_t rdma_length = 0;
	Octets data = {};
	Octets control = {};
	std::uint16_t order = 0;
	std::uint8_t version = 1;
	std::uint8_t reserved = 0; // its four bits in octet 1, and octet 18
	std::uint64_t connection = 0x0123456789abcdef;
	int length_more = 0; // than is right
	std::uint8_t pad = 0;

	bool has_buffer() const { return type == write_type || type == read_request_type; }
	Octets header() const
	{
		const auto big = rdmatcp_wire::number<Octets>;
		const auto length = static_cast<std::uint64_t>(
			(has_buffer() ? 32 : 24) + static_cast<long>(control.size() + data.size()) +
			length_more);

		return joined<Octets>(
			{Octets{version, static_cast<std::uint8_t>(reserved << 4 | bits | type)},
			 big(length, 2), big(connection, 8), big(number, 4), big(order, 2),
			 Octets{reserved, static_cast<std::uint8_t>(control.size() / 4)},
			 has_buffer()
				 ? joined<Octets>({big(id, 4), big(offset, 4), big(rdma_length, 4)})
				 : big(offset, 4)});
	}
	operator Octets() const
	{
		Octets covered = joined<Octets>({header(), control, data});

		while (covered.size() % 4)
			covered.push_back(pad);
		return joined<Octets>({covered, crc32(covered)});
	}
};

} // namespace rdmatcp_wire
