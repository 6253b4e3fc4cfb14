// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Text of socket addresses, and a lookup in a map.
#include "address.hh"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>
#include <sstream>

namespace srnicctl {
namespace {

Address make(int family, const void *host, uint16_t port)
{
	char text[INET6_ADDRSTRLEN];

	return {inet_ntop(family, host, text, sizeof(text)), ntohs(port)};
}

} // namespace

std::string Address::text() const
{
	bool brackets = host.find(':') != std::string::npos;

	return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::optional<Address> address_of(std::span<const char> sockaddr)
{
	sa_family_t family = AF_UNSPEC;
	sockaddr_in four{};
	sockaddr_in6 six{};

	if (sockaddr.size() >= sizeof(family))
		memcpy(&family, sockaddr.data(), sizeof(family));
	if (family == AF_INET && sockaddr.size() >= sizeof(four)) {
		memcpy(&four, sockaddr.data(), sizeof(four));
		return make(family, &four.sin_addr, four.sin_port);
	}
	if (family == AF_INET6 && sockaddr.size() >= sizeof(six)) {
		memcpy(&six, sockaddr.data(), sizeof(six));
		return make(family, &six.sin6_addr, six.sin6_port);
	}
	return std::nullopt;
}

uint16_t tcp_port(const std::string &port_map, uint16_t rdma_port)
{
	std::istringstream pairs(port_map);
	unsigned int rdma, tcp;
	char colon;

	while (pairs >> rdma >> colon >> tcp) {
		if (rdma == rdma_port)
			return static_cast<uint16_t>(tcp);
		if (tcp == rdma_port)
			return static_cast<uint16_t>(rdma);
	}
	return rdma_port;
}

} // namespace srnicctl
