// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Which devices are srnic's, and which cm_id and program belong to a QP.
#include "snapshot.hh"

#include "exit.hh"
#include "text.hh"

#include <rdma/srnic-abi.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace srnicctl {
namespace {

// If the kernel does not report a device's driver, as without ib_uverbs, its settings do. Sets its
// type.
bool is_srnic(System &system, RdmaDevice &device)
{
	device.ib = device.protocol == "roce";
	if (device.protocol != "iw" && !device.ib)
		return false;
	try {
		auto uverbs = Rdma(system.netlink).chardev("uverbs", device.index);

		if (uverbs && uverbs->driver)
			return *uverbs->driver ==
			       (device.ib ? SRNIC_IB_DRIVER_ID : SRNIC_DRIVER_ID);
	} catch (const NetlinkError &error) {
		if (error.code == EPERM || error.code == EACCES)
			throw;
	}
	return exists(system, "/sys/class/infiniband/" + device.name +
				      (device.ib ? "/local_shortcut" : "/rdmap_swap"));
}

std::string program_of(const System &system, const Owner &owner)
{
	return owner.pid ? program_of(system, *owner.pid) : owner.kernel_name;
}

using ByQp = std::map<uint32_t, const RdmaCmId *>;

// That of a connection rather than of an attempt that failed before.
ByQp by_qp(const std::vector<RdmaCmId> &cm_ids)
{
	ByQp found;

	for (const RdmaCmId &cm_id : cm_ids)
		if (cm_id.qp_number && (!found[*cm_id.qp_number] || cm_id.state == "CONNECT"))
			found[*cm_id.qp_number] = &cm_id;
	return found;
}

Connection join(const System &system, RdmaQp qp, const ByQp &cm_ids)
{
	auto cm_id = cm_ids.find(qp.number);
	Connection connection;

	connection.program = program_of(system, qp.owner);
	connection.qp = std::move(qp);
	if (cm_id != cm_ids.end()) {
		connection.here = cm_id->second->source;
		connection.there = cm_id->second->destination;
	}
	return connection;
}

std::vector<Listening> listening_of(const System &system, const std::vector<RdmaCmId> &cm_ids)
{
	std::vector<Listening> listening;

	for (const RdmaCmId &cm_id : cm_ids)
		if (cm_id.state == "LISTEN" && cm_id.source)
			listening.push_back(
				{*cm_id.source, cm_id.owner, program_of(system, cm_id.owner)});
	return listening;
}

// Older modules and kernels report less.
std::vector<Queue> with_figure(const char *name, const System &system,
			       std::vector<RdmaQueue> queues)
{
	std::vector<Queue> known;

	for (RdmaQueue &queue : queues)
		if (queue.figure(name)) {
			std::string program = program_of(system, queue.owner);

			known.push_back({std::move(queue), program});
		}
	return known;
}

Device describe(System &system, const RdmaDevice &rdma)
{
	Rdma netlink(system.netlink);
	auto cm_ids = netlink.cm_ids(rdma.index);
	ByQp of_qps = by_qp(cm_ids);
	Device device{.rdma = rdma,
		      .port = netlink.port(rdma.index),
		      .settings = read_settings(system, rdma.name),
		      .connections = {},
		      .cqs = with_figure("consumed", system, netlink.cqs(rdma.index)),
		      .srqs = with_figure("posted", system, netlink.srqs(rdma.index)),
		      .listening = listening_of(system, cm_ids),
		      .counters = netlink.counters(rdma.index)};

	for (RdmaQp &qp : netlink.qps(rdma.index))
		device.connections.push_back(join(system, std::move(qp), of_qps));
	return device;
}

std::vector<RdmaDevice> rdma_devices(System &system)
{
	try {
		return Rdma(system.netlink).devices();
	} catch (const NetlinkError &error) {
		fail(error);
	}
}

// Of two counters of 32 bits. The kernel does not read them at the same time, so the leading one
// may seem to be behind.
uint32_t distance(uint64_t leading, uint64_t following)
{
	auto n = static_cast<int32_t>(leading - following);

	return static_cast<uint32_t>(std::max(n, 0));
}

[[noreturn]] void no_device(const std::string &name, bool foreign)
{
	std::string is =
		foreign ? " is not an srnic device" : ": there is no RDMA device of that name";

	throw Failure(Exit::no_device, clean(name) + is + " (srnicctl show lists them)");
}

} // namespace

void fail(const NetlinkError &error)
{
	std::string why = strerror(error.code);

	if (error.code == EPROTONOSUPPORT || error.code == EAFNOSUPPORT)
		throw Failure(
			Exit::no_rdma,
			"the kernel has no RDMA: load srnic (modprobe srnic), or in a container "
			"have the host load it");
	if (error.code == EPERM || error.code == EACCES)
		throw Failure(Exit::denied, "the kernel does not permit it: " + why);
	throw Failure(Exit::error, "netlink: " + why);
}

bool Connection::connected() const
{
	std::string end = qp.word("end");

	return !end.empty() && end != "never";
}

uint32_t Connection::sends() const { return distance(figure("sq_posted"), figure("sq_done")); }

uint32_t Connection::receives() const { return distance(figure("rq_posted"), figure("rq_taken")); }

uint32_t Queue::fill() const
{
	if (queue.figure("produced"))
		return distance(figure("produced"), figure("consumed"));
	return distance(figure("posted"), figure("taken"));
}

std::vector<RdmaDevice> find_devices(System &system, const std::string &name)
{
	std::vector<RdmaDevice> found;

	for (RdmaDevice device : rdma_devices(system)) {
		bool wanted = name.empty() || device.name == name;

		if (wanted && is_srnic(system, device))
			found.push_back(device);
		else if (wanted && !name.empty())
			no_device(name, true);
	}
	if (!name.empty() && found.empty())
		no_device(name, false);
	return found;
}

std::vector<Device> take_snapshot(System &system, const std::string &name)
{
	std::vector<Device> devices;

	for (const RdmaDevice &device : find_devices(system, name)) {
		try {
			devices.push_back(describe(system, device));
		} catch (const NetlinkError &error) {
			if (error.code != EINVAL && error.code != ENODEV)
				fail(error);
		}
	}
	if (!name.empty() && devices.empty())
		no_device(name, false);
	return devices;
}

} // namespace srnicctl
