// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "grh.hh"
#include "sockets.hh"

namespace strays {
namespace {

constexpr u8 udp = 17;
constexpr size_t udp_octets = 8;

std::string in_hex(const Bytes &octets)
{
	std::string text;
	char two[3];

	for (u8 octet : octets) {
		snprintf(two, sizeof(two), "%02x", octet);
		text += two;
	}
	return text;
}

void want(const char *what, const Bytes &is, const Bytes &expected)
{
	expect(is == expected,
	       std::string(what) + " is " + in_hex(is) + ", want " + in_hex(expected));
}

// RFC 1071: with the checksum in it the sum is all ones.
bool has_good_checksum(const Bytes &header)
{
	u32 sum = 0;

	for (size_t i = 0; i < header.size(); i += 2)
		sum += u32{header[i]} << 8 | header[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

// Identification and fragment offset are not of the datagram: programs cannot know them.
void want_v4(const Bytes &is, const Way &way, size_t payload)
{
	const Bytes header = is.slice(20, 20);

	want("what is before the IPv4 header", is.slice(0, 20), Bytes(20));
	want("version, length, TOS and total length", header.slice(0, 4),
	     Bytes{0x45, way.traffic_class} + be16(20 + udp_octets + header_octets + payload));
	want("the offset of a fragment", {u8(header[6] & 0x3f), header[7]}, Bytes(2));
	want("TTL and protocol", header.slice(8, 2), {way.hops, udp});
	want("the source address", header.slice(12, 4), octets_of(way.source));
	want("the destination address", header.slice(16, 4), octets_of(way.destination));
	expect(has_good_checksum(header), "the checksum is good: " + in_hex(header));
}

void want_v6(const Bytes &is, const Way &way, size_t payload)
{
	want("version, traffic class and flow label", is.slice(0, 4),
	     be32(u32{6} << 28 | u32{way.traffic_class} << 20 | way.flow_label));
	want("payload length, next header and hop limit", is.slice(4, 4),
	     be16(udp_octets + header_octets + payload) + Bytes{udp, way.hops});
	want("the source address", is.slice(8, 16), octets_of(way.source));
	want("the destination address", is.slice(24, 16), octets_of(way.destination));
}

} // namespace

void want_grh(const Bytes &is, const Way &way, size_t payload)
{
	(way.is_v6() ? want_v6 : want_v4)(is, way, payload);
}

} // namespace strays
