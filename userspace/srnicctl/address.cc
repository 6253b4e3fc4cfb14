// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Socket addresses and their text, and a lookup in a map.
#include "address.hh"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>
#include <sstream>

namespace srnicctl {
namespace {

Address make(int family, const void *host, uint16_t port)
{
	char text[INET6_ADDRSTRLEN];

	return {inet_ntop(family, host, text, sizeof(text)), ntohs(port)};
}

// As inet_ntop() writes it; nothing if the text is no address.
std::optional<std::string> host_of(const std::string &text)
{
	char octets[sizeof(in6_addr)], host[INET6_ADDRSTRLEN];
	int family = text.find(':') == text.npos ? AF_INET : AF_INET6;

	if (inet_pton(family, text.c_str(), octets) != 1)
		return std::nullopt;
	return inet_ntop(family, octets, host, sizeof(host));
}

std::optional<uint16_t> port_of(const std::string &text)
{
	const char *end = text.data() + text.size();
	uint16_t port = 0;
	auto [stop, error] = std::from_chars(text.data(), end, port);

	if (error != std::errc() || stop != end || !port)
		return std::nullopt;
	return port;
}

// A host without brackets, and digits of a port or nothing.
struct Split {
	std::string host, port;
};

std::optional<Split> split(const std::string &text)
{
	bool brackets = text.starts_with('[');
	size_t host = brackets ? 1 : 0, end = text.find(brackets ? ']' : ':');

	if (!brackets && (end == text.npos || text.find(':', end + 1) != text.npos))
		return Split{text, ""};
	if (end == text.npos)
		return std::nullopt;
	std::string rest = text.substr(end + brackets);

	if (rest.empty())
		return Split{text.substr(host, end - host), ""};
	if (rest.size() < 2 || rest[0] != ':')
		return std::nullopt;
	return Split{text.substr(host, end - host), rest.substr(1)};
}

} // namespace

std::string Address::text() const
{
	bool brackets = host.find(':') != std::string::npos;

	return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::optional<Address> parse_address(const std::string &text)
{
	auto parts = split(text);
	auto host = parts ? host_of(parts->host) : std::nullopt;
	std::optional<uint16_t> port = 0;

	if (parts && !parts->port.empty())
		port = port_of(parts->port);
	if (!host || !port)
		return std::nullopt;
	return Address{*host, *port};
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
