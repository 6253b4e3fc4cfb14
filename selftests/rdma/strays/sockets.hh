// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The stranger's sockets and addresses. "fe80::1%veth0" is an address with its interface.
#pragma once

#include "../byhand/ends.hh"
#include "datagram.hh"

#include <sys/socket.h>

namespace strays {

struct Address {
	sockaddr_storage octets{};
	socklen_t length = 0;

	Address(const std::string &text, u16 port_number, u32 flow_label = 0);
	sockaddr *get() { return reinterpret_cast<sockaddr *>(&octets); }
};

// The 4 or 16 octets of an address.
Bytes octets_of(const std::string &address);

class Socket {
	const Way &way;

	void set(int level, int name, int value) const;
	void set_flow_label() const;

public:
	const int fd;

	Socket(const Way &the_way, int type, int protocol);
	Socket(const Socket &) = delete;
	~Socket();

	// What the sender's kernel puts into the IP header.
	void set_header() const;
	void set_options(const Bytes &of_v4, const Bytes &of_v6) const;
	void bind_to(const std::string &address, u16 port_number) const;
	void send(const Bytes &octets, u16 port_number) const;
};

} // namespace strays
