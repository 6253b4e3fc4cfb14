// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Addresses of rdma_cm, and which TCP port carries an RDMA port (a device's port_map).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace srnicctl {

struct Address {
	std::string host; // as inet_ntop() writes it
	uint16_t port = 0;

	// "10.0.0.1:7174" or "[fd00::1]:7174".
	std::string text() const;
};

// From its text; the port may be missing, and with it the brackets. Nothing if it is none.
std::optional<Address> parse_address(const std::string &text);
// From the octets of a sockaddr; nothing if it is of another family, or too short.
std::optional<Address> address_of(std::span<const char> sockaddr);

// By a map as sysfs has it: "3260:13260 ...".
uint16_t tcp_port(const std::string &port_map, uint16_t rdma_port);

} // namespace srnicctl
