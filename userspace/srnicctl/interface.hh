// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The network interface below a device: its state, addresses and offloads.
#pragma once

#include "netlink.hh"

#include <netinet/in.h>

#include <set>

namespace srnicctl {

struct Interface {
	std::string name;
	uint32_t mtu = 0;
	bool up = false;      // by the administrator
	bool carrier = false; // and it can carry packets
	std::string kind;     // "veth", "vlan" and so on; "" of hardware
	uint32_t master = 0;  // the interface that this one is part of; 0: none
	std::string part;     // the kind of that: "bridge", "bond", "vrf" and so on
};

// Throw NetlinkError.
Interface interface_of(Netlink &netlink, uint32_t index);
// Of either family.
size_t count_addresses(Netlink &netlink, uint32_t index);
bool has_address(Netlink &netlink, uint32_t index, const in6_addr &address);
// The names of active features, as `ethtool -k` has them in the kernel; nothing without ethtool's
// netlink.
std::optional<std::set<std::string>> features_of(Netlink &netlink, uint32_t index);

} // namespace srnicctl
