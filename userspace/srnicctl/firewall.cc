// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Check of `srnicctl doctor`: what may keep peers from this network namespace's ports. Only root
// may ask nf_tables, and nobody the older tables; what rules accept is not looked at.
#include "doctor.hh"
#include "text.hh"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

namespace srnicctl {
namespace {

// A chain of nf_tables that sees what arrives for this machine.
struct Chain {
	std::string name; // as nft has it: "inet filter input"
	bool drops;	  // what none of its rules accepts
};

// Of IPv4, IPv6 or both; nothing for others, which see no TCP.
std::string family_name(uint8_t family)
{
	switch (family) {
	case NFPROTO_INET:
		return "inet";
	case NFPROTO_IPV4:
		return "ip";
	case NFPROTO_IPV6:
		return "ip6";
	default:
		return "";
	}
}

bool is(std::optional<uint32_t> number, uint32_t value)
{
	return number && ntohl(*number) == value;
}

std::optional<Chain> input_chain(const Message &message)
{
	auto *header = message.payload<nfgenmsg>();

	if (!header || family_name(header->nfgen_family).empty())
		return std::nullopt;
	Attributes chain = message.attributes(sizeof(*header));

	if (!is(chain.nest(NFTA_CHAIN_HOOK).u32(NFTA_HOOK_HOOKNUM), NF_INET_LOCAL_IN))
		return std::nullopt;
	return Chain{family_name(header->nfgen_family) + " " +
			     clean(chain.text(NFTA_CHAIN_TABLE).value_or("")) + " " +
			     clean(chain.text(NFTA_CHAIN_NAME).value_or("")),
		     is(chain.u32(NFTA_CHAIN_POLICY), NF_DROP)};
}

// Throws NetlinkError: EPERM but for root.
std::vector<Chain> input_chains(Netlink &netlink)
{
	Request request(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETCHAIN, NLM_F_DUMP);
	std::vector<Chain> chains;

	request.family_header<nfgenmsg>()->nfgen_family = NFPROTO_UNSPEC;
	for (const Message &message : netlink.ask(Bus::netfilter, request))
		if (auto chain = input_chain(message))
			chains.push_back(*chain);
	return chains;
}

struct Filters {
	std::vector<std::string> dropping, others;
};

Filters filters_of(System &system)
{
	Filters filters;

	try {
		if (loaded(system, "nf_tables"))
			for (const Chain &chain : input_chains(system.netlink))
				(chain.drops ? filters.dropping : filters.others)
					.push_back("nf_tables' \"" + chain.name + "\"");
	} catch (const NetlinkError &) {
		filters.others.push_back("nf_tables");
	}
	for (const char *module : {"ip_tables", "ip6_tables"})
		if (loaded(system, module))
			filters.others.push_back(module);
	return filters;
}

} // namespace

Finding check_firewall(System &system)
{
	Filters filters = filters_of(system);
	std::vector<std::string> what;

	if (!filters.dropping.empty())
		what.push_back(joined(filters.dropping, " and ") +
			       " drops what no rule accepts");
	if (!filters.others.empty())
		what.push_back(joined(filters.others, " and ") + " may filter");
	if (what.empty())
		return {Level::ok, "firewall", "nothing filters what comes in"};
	return {Level::ok, "firewall",
		joined(what, ", ") +
			": RDMA ports are TCP ports, and must be open like any other"};
}

} // namespace srnicctl
