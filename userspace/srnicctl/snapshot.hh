// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// srnic's devices with all that `show` and `top` print of them, joined from several answers.
#pragma once

#include "rdma.hh"
#include "settings.hh"

namespace srnicctl {

// A QP, with the addresses of its cm_id. Figures that a module does not have are 0.
struct Connection {
	RdmaQp qp;
	std::string program;
	std::optional<Address> here, there;

	uint64_t figure(const char *name) const { return qp.figure(name).value_or(0); }
	// Has it ever had a connection?
	bool connected() const;
	bool initiator() const { return figure("initiator"); }
	// enum core_framing; srnic_ib has MPA, too.
	bool rdmatcp() const { return figure("framing") == 1; }
	bool ib() const { return figure("framing") == 2; }
	// Requests posted and not completed; receives posted that no message has taken.
	uint32_t sends() const;
	uint32_t receives() const;
};

// A CQ or an SRQ.
struct Queue {
	RdmaQueue queue;
	std::string program;

	uint64_t figure(const char *name) const { return queue.figure(name).value_or(0); }
	// Of a CQ: entries that were not polled; of an SRQ: receives posted that no message took.
	uint32_t fill() const;
};

struct Listening {
	Address address;
	Owner owner;
	std::string program;
};

struct Device {
	RdmaDevice rdma;
	RdmaPort port;
	Settings settings;
	std::vector<Connection> connections;
	std::vector<Queue> cqs, srqs; // the kernel shows how full they are
	std::vector<Listening> listening;
	std::map<std::string, uint64_t> counters;
};

// srnic's devices, or the one of this name. Throws Failure.
std::vector<RdmaDevice> find_devices(System &system, const std::string &name);
// The same with all of it; one of several that goes meanwhile is left out.
std::vector<Device> take_snapshot(System &system, const std::string &name);
// For errors that no other message fits.
[[noreturn]] void fail(const NetlinkError &error);

} // namespace srnicctl
