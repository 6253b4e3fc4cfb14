// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Checks of `srnicctl doctor` that do not concern a single device: what programs need, limits,
// namespaces.
#include "doctor.hh"
#include "text.hh"

#include <linux/capability.h>
#include <rdma/ib_user_verbs.h>

#include <cerrno>
#include <cstring>
#include <sstream>

namespace srnicctl {
namespace {

constexpr uint64_t usual_memlock = 8 << 20; // the kernel's default
constexpr uint16_t port_mapper = 3935;

// Has this process the capability? unknown: if the kernel does not say.
bool may(const System &system, unsigned int capability, bool unknown)
{
	std::string status = whole(system, "/proc/self/status").value_or("");
	size_t at = status.find("\nCapEff:");

	if (at == std::string::npos)
		return unknown;
	return strtoull(status.c_str() + at + strlen("\nCapEff:"), nullptr, 16) >> capability & 1;
}

// Of a danger that only an administrator can end, nobody else is warned.
Finding judge_rdma_cm(System &system)
{
	auto rdma_cm = Rdma(system.netlink).chardev("rdma_cm");

	if (!rdma_cm)
		return {Level::warn, "",
			"it is not loaded: programs cannot connect (the kernel's own users can)",
			"modprobe rdma_ucm"};
	std::string file = "/dev/infiniband/" + clean(rdma_cm->name);

	if (writable_for_all(system, file) && may(system, CAP_SYS_ADMIN, true))
		return {Level::warn, "",
			"every user may open " + file + ", and with it crash the kernel",
			"cp " SRNIC_DATADIR "/90-rdma-cm.rules /etc/udev/rules.d/, then reboot"};
	return judge_file(system, file, "programs can connect");
}

// Does anybody have this UDP port? A file of /proc/net, with ADDRESS:PORT in hexadecimal digits.
bool udp_port_is_taken(const System &system, const std::string &file, uint16_t port)
{
	std::istringstream lines(whole(system, file).value_or(""));
	std::string line, slot, local;

	while (std::getline(lines, line)) {
		std::istringstream words(line);
		size_t colon;

		if (words >> slot >> local && (colon = local.find(':')) != local.npos &&
		    strtoul(local.c_str() + colon + 1, nullptr, 16) == port)
			return true;
	}
	return false;
}

} // namespace

Finding check_uverbs(System &system)
{
	if (loaded(system, "ib_uverbs") || exists(system, "/sys/class/infiniband_verbs"))
		return {Level::ok, "ib_uverbs", "programs can use devices"};
	return {Level::fail, "ib_uverbs", "it is not loaded: programs cannot use devices",
		"modprobe ib_uverbs"};
}

Finding check_rdma_cm(System &system)
{
	Finding finding;

	try {
		finding = judge_rdma_cm(system);
	} catch (const NetlinkError &error) {
		finding = untold(error);
	}
	finding.check = "rdma_ucm";
	return finding;
}

Finding check_verbs_abi(System &system)
{
	auto version = first_line(system, "/sys/class/infiniband_verbs/abi_version");

	if (!version)
		return {Level::warn, "verbs ABI", "it is unknown without ib_uverbs",
			"modprobe ib_uverbs"};
	if (*version != std::to_string(IB_USER_VERBS_ABI_VERSION))
		return {Level::fail, "verbs ABI",
			"the kernel's is " + clean(*version) + ", not " +
				std::to_string(IB_USER_VERBS_ABI_VERSION),
			"install the rdma-core that belongs to this kernel, and build srnic with "
			"it"};
	return {Level::ok, "verbs ABI", "version " + *version};
}

Finding check_namespaces(System &system)
{
	std::optional<bool> shared;

	try {
		shared = Rdma(system.netlink).shared();
	} catch (const NetlinkError &error) {
		return {Level::fail, "namespaces",
			"the kernel has no RDMA netlink: " + std::string(strerror(error.code)),
			"modprobe srnic, or in a container have the host load it"};
	}
	if (!shared)
		return {Level::ok, "namespaces", "the kernel does not report their mode"};
	return {Level::ok, "namespaces",
		*shared ? "shared: every network namespace has all devices"
			: "exclusive: a network namespace has only devices that were made in it or "
			  "moved to it"};
}

// iw_cm asks iwpmd about each connection, whatever the device says of port maps, and waits until
// the peer's iwpmd has answered.
Finding check_port_mapper(System &system)
{
	if (!udp_port_is_taken(system, "/proc/net/udp", port_mapper) &&
	    !udp_port_is_taken(system, "/proc/net/udp6", port_mapper))
		return {Level::ok, "port mapper", "iwpmd does not run here"};
	return {Level::warn, "port mapper",
		"iwpmd runs: a connection to a peer without it begins ten seconds late",
		"if this machine has no iWARP hardware: systemctl mask --now iwpmd"};
}

Finding check_memlock(System &system)
{
	std::string limit = quantity(double(system.memlock)) + "B";

	if (system.memlock == UINT64_MAX)
		return {Level::ok, "memlock", "no limit"};
	if (may(system, CAP_IPC_LOCK, false))
		return {Level::ok, "memlock", "this user is exempt; others may register " + limit};
	if (system.memlock >= usual_memlock)
		return {Level::ok, "memlock",
			"programs of this user may register " + limit +
				"; more with memlock in /etc/security/limits.conf, or "
				"LimitMEMLOCK= of a service"};
	return {Level::warn, "memlock",
		"programs of this user may register only " + limit + " of memory",
		"raise memlock in /etc/security/limits.conf, or LimitMEMLOCK= of the service"};
}

} // namespace srnicctl
