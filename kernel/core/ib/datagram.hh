// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The octets of a datagram (Documentation/ib.rst, "Datagrams"), and of the IP headers that programs
// see before its payload.
#pragma once

#include "types.hh"

namespace srnic::ib {

struct DatagramHeader {
	u8 magic[4];
	u8 version;
	u8 flags;
	be<u16> payload;
	be<u32> destination_qpn; // 8 reserved bits, then 24 of the number
	be<u32> source_qpn;	 // as above
	be<u32> qkey;
	u8 imm[4];
};
static_assert(sizeof(DatagramHeader) == CORE_DATAGRAM_HEADER);

constexpr u8 datagram_with_imm = 0x01;
constexpr u8 datagram_solicited = 0x02;

struct Ipv6Header {
	be<u32> version_class_flow;
	be<u16> payload;
	u8 next_header;
	u8 hop_limit;
	u8 source[16];
	u8 destination[16];
};
static_assert(sizeof(Ipv6Header) == CORE_DATAGRAM_GRH);

struct Ipv4Header {
	u8 version_ihl;
	u8 tos;
	be<u16> total;
	be<u16> id;
	be<u16> fragment;
	u8 ttl;
	u8 protocol;
	be<u16> checksum;
	u8 source[4];
	u8 destination[4];
};
static_assert(sizeof(Ipv4Header) == 20);

} // namespace srnic::ib
