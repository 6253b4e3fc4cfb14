// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A datagram (Documentation/ib.rst rule 81) and the packet that it comes in, built without the code
// under test. Every field can hold any value, since most rows need a wrong one.
#pragma once

#include "../../shared/bytes.hh"

#include <string>

namespace strays {

using namespace wire;

inline constexpr u16 port = 291;
inline constexpr size_t header_octets = 24, most_payload = 4096;
inline constexpr u8 with_imm = 0x01, solicited = 0x02;
inline constexpr u32 stranger_qpn = 0x00abcd, victims_qkey = 0x11223344;

struct Datagram {
	Bytes magic = {'s', 'r', 'u', 'd'};
	u8 version = 1, flags = 0;
	int says = -1; // the payload's length; -1: the real one
	u32 to = 0, from = stranger_qpn, qkey = victims_qkey, imm = 0;
	Bytes payload = {};
	int cut = -1; // so many octets of it are sent; -1: all

	Bytes octets() const
	{
		const size_t length = says < 0 ? payload.size() : static_cast<size_t>(says);
		const Bytes all = magic + Bytes{version, flags} + be16(length) + be32(to) +
				  be32(from) + be32(qkey) + be32(imm) + payload;

		return cut < 0 ? all : all.slice(0, static_cast<size_t>(cut));
	}
};

// How it comes.
struct Way {
	std::string source, destination; // addresses
	u16 source_port = port, destination_port = port;
	u8 traffic_class = 0, hops = 64;
	u32 flow_label = 0; // of IPv6

	bool is_v6() const { return source.find(':') != std::string::npos; }
};

} // namespace strays
