// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Interface 2 and its addresses, as rtnetlink and ethtool's generic netlink show them.
#pragma once

#include "fake.hh"

#include <arpa/inet.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <cerrno>
#include <set>

namespace fake {

constexpr uint16_t ethtool_family = 21;

struct Network {
	std::string name = "eth0";
	unsigned int flags = IFF_UP | IFF_RUNNING;
	std::string kind = "vlan";
	uint32_t master = 0; // and the kind that the interface is part of, and its name
	std::string part, above;
	uint32_t mtu = 1500;
	std::vector<uint32_t> addresses = {1, 2, 2}; // the interface of each
	std::vector<std::string> ipv6 = {};	     // and more of interface 2
	bool ethtool = true;
	std::set<std::string> features = {"tx-scatter-gather", "tx-checksum-ip-generic",
					  "tx-generic-segmentation", "rx-gro"};
};

inline void put_link(Answer &answer, const Network &network)
{
	answer.message(RTM_NEWLINK, 0, sizeof(ifinfomsg));
	answer.header<ifinfomsg>()->ifi_flags = network.flags;
	answer.text(IFLA_IFNAME, network.name).u32(IFLA_MTU, network.mtu);
	if (network.master)
		answer.u32(IFLA_MASTER, network.master);
	answer.open(IFLA_LINKINFO).text(IFLA_INFO_KIND, network.kind);
	if (network.master)
		answer.text(IFLA_INFO_SLAVE_KIND, network.part);
	answer.close();
}

inline void put_master(Answer &answer, const Network &network)
{
	answer.message(RTM_NEWLINK, 0, sizeof(ifinfomsg)).text(IFLA_IFNAME, network.above);
}

inline void put_addresses(Answer &answer, const Network &network)
{
	for (uint32_t interface : network.addresses) {
		answer.message(RTM_NEWADDR, NLM_F_MULTI, sizeof(ifaddrmsg));
		answer.header<ifaddrmsg>()->ifa_index = interface;
	}
	for (const std::string &text : network.ipv6) {
		in6_addr address{};

		inet_pton(AF_INET6, text.c_str(), &address);
		answer.message(RTM_NEWADDR, NLM_F_MULTI, sizeof(ifaddrmsg));
		answer.header<ifaddrmsg>()->ifa_index = 2;
		answer.header<ifaddrmsg>()->ifa_family = AF_INET6;
		answer.octets(IFA_ADDRESS, &address, sizeof(address));
	}
}

inline void put_features(Answer &answer, const Network &network)
{
	answer.message(ethtool_family, 0, GENL_HDRLEN).open(ETHTOOL_A_FEATURES_HEADER).close();
	answer.open(ETHTOOL_A_FEATURES_ACTIVE).octets(ETHTOOL_A_BITSET_NOMASK, nullptr, 0);
	answer.open(ETHTOOL_A_BITSET_BITS);
	for (const std::string &name : network.features)
		answer.open(ETHTOOL_A_BITSET_BITS_BIT)
			.u32(ETHTOOL_A_BITSET_BIT_INDEX, 0)
			.text(ETHTOOL_A_BITSET_BIT_NAME, name)
			.close();
	answer.close().close();
}

inline void put_family(Answer &answer, const Network &network)
{
	if (network.ethtool)
		answer.message(GENL_ID_CTRL, 0, GENL_HDRLEN)
			.u16(CTRL_ATTR_FAMILY_ID, ethtool_family);
	else
		answer.fail(ENOENT);
}

inline void serve(Kernel &kernel, Network *network)
{
	auto with = [=](void (*put)(Answer &, const Network &)) {
		return [=](const nlmsghdr *, Answer &answer) { put(answer, *network); };
	};

	kernel.route[RTM_GETLINK] = [=](const nlmsghdr *request, Answer &answer) {
		auto *asked = static_cast<const ifinfomsg *>(mnl_nlmsg_get_payload(request));
		bool master = network->master && asked->ifi_index == int(network->master);

		(master ? put_master : put_link)(answer, *network);
	};
	kernel.route[RTM_GETADDR] = with(put_addresses);
	kernel.generic[GENL_ID_CTRL] = with(put_family);
	kernel.generic[ethtool_family] = with(put_features);
}

} // namespace fake
