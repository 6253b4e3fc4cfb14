// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The stranger: a plain program that sends UDP datagrams, or IP packets that it lays out itself.
#pragma once

#include "datagram.hh"

namespace strays {

// From way.source and way.source_port.
void send(const Bytes &octets, const Way &way);
inline void send(const Datagram &datagram, const Way &way) { send(datagram.octets(), way); }

// With options before the UDP header: of IPv4, or destination options of IPv6.
void send_with_options(const Bytes &octets, const Way &way);

// A UDP header in which any field may be wrong.
struct Udp {
	u16 source = port, destination = port;
	int says = -1;	   // its length; -1: the real one
	int checksum = -1; // -1: the right one

	Bytes octets(const Bytes &payload, const Way &way) const;
};

// An IP packet of these octets, a UDP header among them.
void send_packet(const Bytes &udp, const Way &way);
// One fragment of such a packet: of its octets from `at` on, a multiple of 8.
void send_fragment(const Bytes &part, size_t at, bool more, u16 id, const Way &way);

} // namespace strays
