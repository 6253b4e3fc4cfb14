// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Checks of `srnicctl doctor` for one device: its ABI, the interface below it, its ports.
#include "doctor.hh"
#include "interface.hh"
#include "text.hh"

#include <arpa/inet.h>
#include <rdma/srnic-abi.h>

#include <set>

namespace srnicctl {
namespace {

constexpr uint32_t least_ipv6_mtu = 1280; // RFC 8200 5

Finding about(const Device &device, Finding finding)
{
	finding.device = device.rdma.name;
	return finding;
}

std::string netdev_of(const Device &device) { return clean(device.port.netdev); }

// A check that asks the kernel, with the finding's name and device.
template <class Check> Finding asking(const Device &device, const std::string &name, Check check)
{
	Finding finding;

	try {
		finding = check();
	} catch (const NetlinkError &error) {
		finding = untold(error);
	}
	finding.check = name;
	return about(device, finding);
}

struct Offload {
	const char *option;		// of ethtool -K
	std::set<std::string> features; // one of these
};

const Offload offloads[] = {
	{"sg", {"tx-scatter-gather"}},
	{"tx", {"tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6"}},
	{"gso", {"tx-generic-segmentation"}},
	{"gro", {"rx-gro"}},
};

bool has_one(const std::set<std::string> &features, const std::set<std::string> &of)
{
	for (const std::string &feature : of)
		if (features.contains(feature))
			return true;
	return false;
}

// A veth gets packets as large as its peer made them: no GRO, by default.
std::vector<std::string> missing_offloads(const std::set<std::string> &features, bool veth)
{
	std::vector<std::string> missing;

	for (const Offload &offload : offloads)
		if (!has_one(features, offload.features) &&
		    !(veth && offload.option == std::string("gro")))
			missing.push_back(offload.option);
	return missing;
}

Finding judge_interface(const Interface &interface)
{
	std::string name = clean(interface.name);

	if (!interface.up)
		return {Level::fail, "", name + " is down", "ip link set " + name + " up"};
	if (!interface.carrier)
		return {Level::fail, "", name + " has no carrier",
			"check the cable or the other end: ip link show " + name};
	return {Level::ok, "", name + " is up"};
}

// A VRF leaves an interface its addresses; a bridge, a bond and the like take them.
bool is_port(const Interface &interface) { return interface.master && interface.part != "vrf"; }

// Made a port after the device was made: srnic makes none on a port.
Finding judge_port(Netlink &netlink, const Device &device, const Interface &interface)
{
	std::string rdma = clean(device.rdma.name), name = clean(interface.name);
	std::string above = clean(interface_of(netlink, interface.master).name);

	if (interface.part == "openvswitch")
		return {Level::fail, "", name + " has become a port of an Open vSwitch",
			"rdma link delete " + rdma +
				", and make it on the switch's internal interface"};
	return {Level::fail, "", name + " has become a port of " + above,
		"rdma link delete " + rdma + " && rdma link add " + rdma + " type " +
			device.rdma.type() + " netdev " + above};
}

Finding judge_abi(const std::optional<Chardev> &uverbs)
{
	if (!uverbs)
		return {Level::warn, "", "it is unknown without ib_uverbs", "modprobe ib_uverbs"};
	std::string version = std::to_string(uverbs->abi);

	if (uverbs->abi < SRNIC_ABI_MIN)
		return {Level::fail, "",
			"the module's is " + version + ", user space needs " +
				std::to_string(SRNIC_ABI_MIN),
			"upgrade the module (srnic-dkms), and load it again"};
	if (uverbs->abi > SRNIC_ABI_MAX)
		return {Level::warn, "",
			"the module's is " + version + ", user space's " +
				std::to_string(SRNIC_ABI_MAX) +
				": it works if the module still speaks that",
			"upgrade the provider (libsrnic1) if programs cannot open the device"};
	return {Level::ok, "", "version " + version};
}

Finding judge_device_file(const System &system, const std::optional<Chardev> &uverbs)
{
	if (!uverbs)
		return {Level::warn, "", "there is none without ib_uverbs", "modprobe ib_uverbs"};

	std::string file = "/dev/infiniband/" + clean(uverbs->name);

	return judge_file(system, file, file);
}

uint64_t counter(const Device &device, const char *name)
{
	auto found = device.counters.find(name);

	return found == device.counters.end() ? 0 : found->second;
}

// Why connections failed to begin, of which no program here has heard.
struct Startups {
	const char *counter, *trouble, *todo;
};

constexpr Startups startups[] = {
	{"startup_no_device", "came for an address of no device, as one on lo or a dummy interface",
	 "have peers connect to an address of a device's interface; the kernel log has the others"},
	{"startup_gave_way", "owed a Request when the port was full",
	 "look for peers that connect and say nothing, or raise the parameter max_startups"},
	{"backlog_full", "met a program whose backlog was full",
	 "have it listen with a larger backlog"},
};

std::set<uint16_t> tcp_ports(const Device &device)
{
	std::string port_map = value_of(device.settings, "port_map");
	std::set<uint16_t> ports;

	for (const Listening &listening : device.listening)
		ports.insert(tcp_port(port_map, listening.address.port));
	return ports;
}

} // namespace

Finding check_abi(System &system, const Device &device)
{
	return asking(device, "ABI", [&] {
		return judge_abi(Rdma(system.netlink).chardev("uverbs", device.rdma.index));
	});
}

Finding check_device_file(System &system, const Device &device)
{
	return asking(device, "file", [&] {
		return judge_device_file(system,
					 Rdma(system.netlink).chardev("uverbs", device.rdma.index));
	});
}

Finding check_interface(System &system, const Device &device)
{
	if (!device.port.netdev_index)
		return about(device,
			     {Level::warn, "interface",
			      "it is in another network namespace, and not checked from here",
			      "run srnicctl there: nsenter --net=..."});
	return asking(device, "interface", [&] {
		auto interface = interface_of(system.netlink, *device.port.netdev_index);

		if (is_port(interface))
			return judge_port(system.netlink, device, interface);
		return judge_interface(interface);
	});
}

Finding check_mtu(System &system, const Device &device)
{
	return asking(device, "MTU", [&]() -> Finding {
		uint32_t mtu = interface_of(system.netlink, *device.port.netdev_index).mtu;

		if (mtu < least_ipv6_mtu)
			return {Level::warn, "",
				std::to_string(mtu) + ": too small for IPv6, and slow",
				"ip link set " + netdev_of(device) + " mtu 1500"};
		return {Level::ok, "", std::to_string(mtu)};
	});
}

Finding check_addresses(System &system, const Device &device)
{
	return asking(device, "addresses", [&]() -> Finding {
		size_t n = count_addresses(system.netlink, *device.port.netdev_index);

		if (!n && is_port(interface_of(system.netlink, *device.port.netdev_index)))
			return {Level::fail, "", "a port has none",
				"make the device on what has them: see interface"};
		if (!n)
			return {Level::fail, "",
				netdev_of(device) + " has no address, and rdma_cm finds devices "
						    "by address",
				"ip addr add ADDRESS/PREFIX dev " + netdev_of(device)};
		return {Level::ok, "", std::to_string(n) + " of " + netdev_of(device)};
	});
}

// GID index 0, which is fe80:: and EUI-64, whatever addresses the interface has.
Finding check_gid(System &system, const Device &device)
{
	return asking(device, "GID 0", [&]() -> Finding {
		auto gid = first_line(system, "/sys/class/infiniband/" + device.rdma.name +
						      "/ports/1/gids/0");
		char text[INET6_ADDRSTRLEN];
		in6_addr address;

		if (!gid || inet_pton(AF_INET6, gid->c_str(), &address) != 1)
			return {Level::ok, "", "the kernel does not say"};
		inet_ntop(AF_INET6, &address, text, sizeof(text));
		if (has_address(system.netlink, *device.port.netdev_index, address))
			return {Level::ok, "", std::string(text) + " of " + netdev_of(device)};
		return {Level::warn, "",
			std::string(text) + " is no address of " + netdev_of(device) +
				", so programs that use this GID do not connect",
			"ip -6 addr add " + std::string(text) + "/64 dev " + netdev_of(device)};
	});
}

Finding check_offloads(System &system, const Device &device)
{
	return asking(device, "offloads", [&]() -> Finding {
		uint32_t index = *device.port.netdev_index;
		auto features = features_of(system.netlink, index);

		if (!features)
			return {Level::ok, "", "the kernel does not say"};

		bool veth = interface_of(system.netlink, index).kind == "veth";
		auto missing = missing_offloads(*features, veth);

		if (missing.empty())
			return {Level::ok, "", "those that matter are on"};
		return {Level::warn, "", "off, which costs time: " + joined(missing, ", "),
			"ethtool -K " + netdev_of(device) + " " + joined(missing, " on ") + " on"};
	});
}

Finding check_ports(System &, const Device &device)
{
	std::vector<std::string> ports;

	for (uint16_t port : tcp_ports(device))
		ports.push_back(std::to_string(port));
	if (ports.empty())
		return about(device, {Level::ok, "ports", "nobody listens"});
	return about(device, {Level::ok, "ports",
			      "peers connect to TCP ports that a firewall must leave open: " +
				      joined(ports, ", ")});
}

Finding check_startups(System &, const Device &device)
{
	std::vector<std::string> troubles, todos;

	for (const Startups &each : startups)
		if (uint64_t n = counter(device, each.counter)) {
			troubles.push_back(counted(n, "connection") + " " + each.trouble);
			todos.push_back(each.todo);
		}
	if (troubles.empty())
		return about(device, {Level::ok, "startups",
				      counted(counter(device, "startup_failures"), "connection") +
					      " failed to begin so far"});
	return about(device,
		     {Level::warn, "startups", joined(troubles, "; "), joined(todos, "; ")});
}

Finding check_errors(System &, const Device &device)
{
	uint64_t n = counter(device, "rx_crc_errors");

	if (!n)
		return about(device, {Level::ok, "errors", "no wrong CRC so far"});
	return about(device,
		     {Level::warn, "errors",
		      counted(n, "connection") + " ended because of a wrong CRC",
		      "look for memory or network hardware that changes data, at both ends"});
}

} // namespace srnicctl
