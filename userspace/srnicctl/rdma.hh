// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA netlink (<rdma/rdma_netlink.h>): devices, ports, character devices, queues, cm_ids and
// counters.
#pragma once

#include "address.hh"
#include "netlink.hh"

#include <map>
#include <variant>

namespace srnicctl {

struct RdmaDevice {
	uint32_t index;
	std::string name;
	std::string protocol; // "iw", "roce"
	bool ib = false;      // of srnic's: of type srnic_ib (snapshot.cc)

	const char *type() const { return ib ? "srnic_ib" : "srnic"; }
};

// The only port of a device.
struct RdmaPort {
	std::string state, physical_state;
	// Unless the interface is in another network namespace.
	std::optional<uint32_t> netdev_index;
	std::string netdev;
};

struct Chardev {
	std::string name;
	uint64_t abi;
	std::optional<uint32_t> driver; // of uverbs: enum rdma_driver_id
};

// The creator of an object: a process or a part of the kernel.
struct Owner {
	std::optional<uint32_t> pid;
	std::string kernel_name;
};

using Figure = std::variant<uint64_t, std::string>;

// A QP, a CQ or an SRQ.
struct RdmaQueue {
	uint32_t number;
	Owner owner;
	std::map<std::string, Figure> driver; // the driver's attributes

	std::optional<uint64_t> figure(const std::string &name) const;
	std::string word(const std::string &name) const; // or ""
};

struct RdmaQp : RdmaQueue {
	std::string state; // "RTS"
};

struct RdmaCmId {
	std::string state; // "LISTEN"
	std::optional<uint32_t> qp_number;
	Owner owner;
	std::optional<Address> source, destination;
};

// All throw NetlinkError: EINVAL if the device has gone.
class Rdma {
public:
	explicit Rdma(Netlink &channel) : netlink(channel) {}

	std::vector<RdmaDevice> devices();
	RdmaPort port(uint32_t device);
	// type: "uverbs" of a device, or "rdma_cm" without one. Nothing if its module is not
	// loaded, and the kernel could not load it either.
	std::optional<Chardev> chardev(const std::string &type,
				       std::optional<uint32_t> device = {});
	std::vector<RdmaQp> qps(uint32_t device);
	std::vector<RdmaQueue> cqs(uint32_t device);
	std::vector<RdmaQueue> srqs(uint32_t device);
	std::vector<RdmaCmId> cm_ids(uint32_t device);
	std::map<std::string, uint64_t> counters(uint32_t device);
	// Does each device belong to all network namespaces?
	std::optional<bool> shared();

private:
	std::vector<Message> ask(Request &request) { return netlink.ask(Bus::rdma, request); }
	std::vector<Message> dump(uint16_t command, uint32_t device);

	Netlink &netlink;
};

} // namespace srnicctl
