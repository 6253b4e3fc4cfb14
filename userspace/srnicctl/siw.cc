// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Check of `srnicctl doctor`: siw, whose listeners are TCP sockets as srnic's are.
#include "doctor.hh"
#include "text.hh"

#include <rdma/ib_user_ioctl_verbs.h>

namespace srnicctl {
namespace {

std::vector<std::string> siw_devices(Netlink &netlink)
{
	std::vector<std::string> names;
	Rdma rdma(netlink);

	for (const RdmaDevice &device : rdma.devices()) {
		auto uverbs = rdma.chardev("uverbs", device.index);

		if (uverbs && uverbs->driver == RDMA_DRIVER_SIW)
			names.push_back(clean(device.name));
	}
	return names;
}

// A program that listens on all addresses does so on all devices that the namespace sees, and a TCP
// port of a namespace has room for one of them.
Finding judge_siw(const std::vector<std::string> &names)
{
	if (names.empty())
		return {Level::ok, "", "no device of siw is here"};
	return {Level::warn, "",
		joined(names, ", ") +
			" of siw here: a program that listens on all addresses fails, "
			"or listens on one of siw and srnic only",
		"rdma link delete " + joined(names, " && rdma link delete ")};
}

} // namespace

Finding check_siw(System &system)
{
	Finding finding;

	try {
		finding = judge_siw(siw_devices(system.netlink));
	} catch (const NetlinkError &error) {
		finding = untold(error);
	}
	finding.check = "siw";
	return finding;
}

} // namespace srnicctl
