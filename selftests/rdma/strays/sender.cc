// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "sender.hh"
#include "sockets.hh"

#include <netinet/in.h>

namespace strays {
namespace {

constexpr u8 udp = 17;

// RFC 768 and RFC 8200 8.1: over the pseudo-header and this.
u16 udp_checksum(const Bytes &octets, const Way &way)
{
	Bytes all = octets_of(way.source) + octets_of(way.destination) + be32(octets.size()) +
		    be32(udp) + octets;
	u32 sum = 0;

	if (all.size() % 2)
		all.push_back(0);
	for (size_t i = 0; i < all.size(); i += 2)
		sum += u32{all[i]} << 8 | all[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return static_cast<u16>(sum == 0xffff ? 0xffff : ~sum);
}

// The sender's kernel fills in checksum, total length and, if it is 0, the identification.
Bytes v4_header(const Way &way, size_t payload, u16 id, u16 fragment)
{
	return Bytes{0x45, way.traffic_class} + be16(20 + payload) + be16(id) + be16(fragment) +
	       Bytes{way.hops, udp} + be16(0) + octets_of(way.source) + octets_of(way.destination);
}

void send_v4(const Bytes &octets, u16 id, u16 fragment, const Way &way)
{
	Socket(way, SOCK_RAW, IPPROTO_RAW)
		.send(v4_header(way, octets.size(), id, fragment) + octets, 0);
}

void send_v6(const Bytes &octets, u8 next_header, const Way &way)
{
	const Socket socket(way, SOCK_RAW, next_header);

	socket.set_header();
	socket.bind_to(way.source, 0);
	socket.send(octets, 0);
}

} // namespace

void send(const Bytes &octets, const Way &way)
{
	const Socket socket(way, SOCK_DGRAM, 0);

	socket.set_header();
	socket.bind_to(way.source, way.source_port);
	socket.send(octets, way.destination_port);
}

void send_with_options(const Bytes &octets, const Way &way)
{
	const Bytes no_operations(8, 1), padding = {0, 0, 1, 4, 0, 0, 0, 0};
	const Socket socket(way, SOCK_DGRAM, 0);

	socket.set_header();
	socket.set_options(no_operations, padding);
	socket.bind_to(way.source, way.source_port);
	socket.send(octets, way.destination_port);
}

Bytes Udp::octets(const Bytes &payload, const Way &way) const
{
	const size_t length = says < 0 ? 8 + payload.size() : static_cast<size_t>(says);
	const Bytes ports = be16(source) + be16(destination) + be16(length);
	const u16 right = udp_checksum((ports + be16(0) + payload).slice(0, length), way);

	return ports + be16(checksum < 0 ? right : static_cast<u16>(checksum)) + payload;
}

void send_packet(const Bytes &octets, const Way &way)
{
	if (way.is_v6())
		send_v6(octets, udp, way);
	else
		send_v4(octets, 0, 0, way);
}

void send_fragment(const Bytes &part, size_t at, bool more, u16 id, const Way &way)
{
	if (way.is_v6())
		send_v6(Bytes{udp, 0} + be16(at | (more ? 1 : 0)) + be32(id) + part,
			IPPROTO_FRAGMENT, way);
	else
		send_v4(part, id, static_cast<u16>(at / 8 | (more ? 0x2000 : 0)), way);
}

} // namespace strays
