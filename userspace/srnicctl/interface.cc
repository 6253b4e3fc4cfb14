// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// rtnetlink for state and addresses, ethtool's family of generic netlink for offloads
// (Documentation/networking/ethtool-netlink.rst of the kernel).
#include "interface.hh"

#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <cerrno>
#include <cstring>

namespace srnicctl {
namespace {

std::optional<uint16_t> family_of(Netlink &netlink, const std::string &name)
{
	Request request(GENL_ID_CTRL, 0);

	request.family_header<genlmsghdr>()->cmd = CTRL_CMD_GETFAMILY;
	request.text(CTRL_ATTR_FAMILY_NAME, name);
	for (const Message &message : netlink.ask(Bus::generic, request)) {
		Attributes family = message.attributes(GENL_HDRLEN);
		const nlattr *id = family.find(CTRL_ATTR_FAMILY_ID, MNL_TYPE_U16);

		if (id)
			return mnl_attr_get_u16(id);
	}
	return std::nullopt;
}

// The set lists only features that are on.
void add_features(const Attributes &bitset, std::set<std::string> &names)
{
	for (const nlattr *bit : bitset.nest(ETHTOOL_A_BITSET_BITS))
		if (auto name = Attributes(bit).text(ETHTOOL_A_BITSET_BIT_NAME))
			names.insert(*name);
}

std::set<std::string> ask_features(Netlink &netlink, uint16_t family, uint32_t index)
{
	Request request(family, 0);
	std::set<std::string> names;

	request.family_header<genlmsghdr>()->cmd = ETHTOOL_MSG_FEATURES_GET;
	nlattr *header = request.open(ETHTOOL_A_FEATURES_HEADER);

	request.u32(ETHTOOL_A_HEADER_DEV_INDEX, index);
	request.close(header);
	for (const Message &message : netlink.ask(Bus::generic, request))
		add_features(message.attributes(GENL_HDRLEN).nest(ETHTOOL_A_FEATURES_ACTIVE),
			     names);
	return names;
}

bool is(const Attributes &address, const in6_addr &wanted)
{
	const nlattr *its = address.find(IFA_ADDRESS, MNL_TYPE_UNSPEC);

	return its && mnl_attr_get_payload_len(its) == sizeof(wanted) &&
	       !memcmp(mnl_attr_get_payload(its), &wanted, sizeof(wanted));
}

} // namespace

Interface interface_of(Netlink &netlink, uint32_t index)
{
	Request request(RTM_GETLINK, 0);

	request.family_header<ifinfomsg>()->ifi_index = static_cast<int>(index);
	for (const Message &message : netlink.ask(Bus::route, request)) {
		const ifinfomsg *info = message.payload<ifinfomsg>();
		Attributes link = message.attributes(sizeof(*info));

		if (info)
			return {link.text(IFLA_IFNAME).value_or(""),
				link.u32(IFLA_MTU).value_or(0),
				bool(info->ifi_flags & IFF_UP),
				bool(info->ifi_flags & IFF_RUNNING),
				link.nest(IFLA_LINKINFO).text(IFLA_INFO_KIND).value_or(""),
				link.u32(IFLA_MASTER).value_or(0),
				link.nest(IFLA_LINKINFO).text(IFLA_INFO_SLAVE_KIND).value_or("")};
	}
	throw NetlinkError{ENODEV};
}

size_t count_addresses(Netlink &netlink, uint32_t index)
{
	Request request(RTM_GETADDR, NLM_F_DUMP);
	size_t n = 0;

	request.family_header<ifaddrmsg>();
	for (const Message &message : netlink.ask(Bus::route, request)) {
		const ifaddrmsg *address = message.payload<ifaddrmsg>();

		n += address && address->ifa_index == index;
	}
	return n;
}

bool has_address(Netlink &netlink, uint32_t index, const in6_addr &wanted)
{
	Request request(RTM_GETADDR, NLM_F_DUMP);

	request.family_header<ifaddrmsg>()->ifa_family = AF_INET6;
	for (const Message &message : netlink.ask(Bus::route, request)) {
		const ifaddrmsg *address = message.payload<ifaddrmsg>();

		if (address && address->ifa_index == index && address->ifa_family == AF_INET6 &&
		    is(message.attributes(sizeof(*address)), wanted))
			return true;
	}
	return false;
}

std::optional<std::set<std::string>> features_of(Netlink &netlink, uint32_t index)
{
	try {
		auto family = family_of(netlink, ETHTOOL_GENL_NAME);

		return family ? std::optional(ask_features(netlink, *family, index)) : std::nullopt;
	} catch (const NetlinkError &error) {
		if (error.code == ENOENT || error.code == EOPNOTSUPP)
			return std::nullopt;
		throw;
	}
}

} // namespace srnicctl
