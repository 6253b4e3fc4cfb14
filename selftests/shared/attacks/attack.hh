// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// An attack is a row of a table: what an RFC says, the FPDUs that break it (or do not), and the
// expected results. The unit tests make it on the core, the hostile peer on the module.
#pragma once

#include "../terminate.hh"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attacks {

using namespace wire;

constexpr u32 receive_size = 64; // of all receives that the victim posts

struct Region {
	u32 stag = 0;
	u64 to = 0, length = 0;

	u64 end() const { return to + length; }
};

struct Read { // an RDMA Read Request of the victim's, as it came
	u32 stag = 0;
	u64 to = 0;
	u32 length = 0;
};

struct Scene { // what the attacker knows
	const std::map<std::string, Region> &regions;
	std::vector<Read> reads;
	std::vector<u32> atomics; // the identifiers of the victim's Atomic Requests

	const Region &operator[](const char *name) const { return regions.at(name); }
};

struct Change { // memory that has to have these octets afterwards
	u64 at;
	Bytes octets;
};

struct Span { // memory that may have changed
	u64 at, length;
};

inline constexpr size_t the_last = ~size_t{0};

struct Attack {
	std::vector<Bytes> fpdus;
	size_t culprit = the_last; // the FPDU to blame
	std::vector<Change> lands = {};
	std::vector<Span> may_change = {};
	Bytes answer = {}; // what the victim sends back, before a Terminate
};

// Fixed octets, or octets that depend on the scene.
struct Build {
	std::function<Attack(const Scene &)> make;

	Build(Attack attack) : make([attack](const Scene &) { return attack; }) {}
	Build(Bytes one) : Build(Attack{{std::move(one)}}) {}
	template <class F>
	requires std::is_invocable_r_v<Attack, F, const Scene &> Build(F f) : make(f) {}
};

struct More {
	unsigned receives = 4; // what the victim posts
	std::vector<u32> reads = {};
	unsigned atomics = 0;	 // atomic operations of the victim, behind its reads
	unsigned delivered = 0;	 // receives that complete with success
	unsigned refused = 0;	 // receives that complete in error
	unsigned reads_done = 0; // reads and atomic operations that complete
	bool first = false;	// the attack begins the stream: no zero-length RDMA Write before it
	bool responses = false; // Read Responses may come before the Terminate
	int window = 0;		// octets of receive buffer
	int event = -1; // of the victim's QP (-1: the one that belongs to the Terminate; 0: none)
	bool by_reset = false; // the attacker leaves by RST, not by FIN
	bool by_fin = false;   // the attacker closes its half before the Terminate comes
};

inline constexpr std::optional<Cause> accepted = std::nullopt;

struct Row {
	std::string name;
	std::optional<Cause> cause; // of the Terminate; accepted: none
	Build build;
	More more = {};
};

} // namespace attacks
