// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "sockets.hh"

#include <cerrno>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

// <linux/in6.h> cannot be included beside <netinet/in.h>.
#ifndef IPV6_FLOWINFO_SEND
#define IPV6_FLOWINFO_SEND 33
#endif
#ifndef IPV6_AUTOFLOWLABEL
#define IPV6_AUTOFLOWLABEL 70
#endif

namespace strays {
namespace {

void works(bool ok, const std::string &what) { expect(ok, what + ": " + strerror(errno)); }

} // namespace

Address::Address(const std::string &text, u16 port_number, u32 flow_label)
{
	addrinfo hints{}, *found;

	hints.ai_flags = AI_NUMERICHOST;
	expect(!getaddrinfo(text.c_str(), nullptr, &hints, &found), text + " is an address");
	memcpy(&octets, found->ai_addr, found->ai_addrlen);
	length = found->ai_addrlen;
	freeaddrinfo(found);
	if (octets.ss_family == AF_INET6) {
		reinterpret_cast<sockaddr_in6 *>(&octets)->sin6_port = htons(port_number);
		reinterpret_cast<sockaddr_in6 *>(&octets)->sin6_flowinfo = htonl(flow_label);
	} else {
		reinterpret_cast<sockaddr_in *>(&octets)->sin_port = htons(port_number);
	}
}

Bytes octets_of(const std::string &address)
{
	const Address is(address, 0);
	const auto *octets = reinterpret_cast<const u8 *>(&is.octets);

	return is.octets.ss_family == AF_INET6 ? Bytes(octets + 8, octets + 24)
					       : Bytes(octets + 4, octets + 8);
}

Socket::Socket(const Way &the_way, int type, int protocol)
	: way(the_way), fd(socket(the_way.is_v6() ? AF_INET6 : AF_INET, type, protocol))
{
	works(fd >= 0, "socket");
}

Socket::~Socket() { close(fd); }

void Socket::set(int level, int name, int value) const
{
	works(!setsockopt(fd, level, name, &value, sizeof(value)),
	      "option " + std::to_string(name));
}

void Socket::set_header() const
{
	set(SOL_SOCKET, SO_BROADCAST, 1);
	if (way.is_v6()) {
		set(IPPROTO_IPV6, IPV6_TCLASS, way.traffic_class);
		set(IPPROTO_IPV6, IPV6_UNICAST_HOPS, way.hops);
		set(IPPROTO_IPV6, IPV6_MULTICAST_HOPS, way.hops);
		set_flow_label();
	} else {
		set(IPPROTO_IP, IP_TOS, way.traffic_class);
		set(IPPROTO_IP, IP_TTL, way.hops);
	}
}

// That of the address, not one that the kernel makes of ports and addresses.
void Socket::set_flow_label() const
{
	set(IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, 0);
	set(IPPROTO_IPV6, IPV6_FLOWINFO_SEND, 1);
}

void Socket::set_options(const Bytes &of_v4, const Bytes &of_v6) const
{
	const Bytes &options = way.is_v6() ? of_v6 : of_v4;

	works(!setsockopt(fd, way.is_v6() ? IPPROTO_IPV6 : IPPROTO_IP,
			  way.is_v6() ? IPV6_DSTOPTS : IP_OPTIONS, options.data(),
			  static_cast<socklen_t>(options.size())),
	      "options of IP");
}

void Socket::bind_to(const std::string &address, u16 port_number) const
{
	Address from(address, port_number);

	set(SOL_SOCKET, SO_REUSEADDR, 1);
	works(!bind(fd, from.get(), from.length), "bind to " + address);
}

void Socket::send(const Bytes &octets, u16 port_number) const
{
	Address to(way.destination, port_number, way.flow_label);

	works(sendto(fd, octets.data(), octets.size(), 0, to.get(), to.length) >= 0,
	      "sendto " + way.destination);
}

} // namespace strays
