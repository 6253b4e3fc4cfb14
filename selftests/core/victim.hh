// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A victim for the tables of shared/attacks, made of the core and the fake host, and its memory.
#pragma once

#include "../shared/attacks/attack.hh"
#include "refusal.hh"

// All memory that a peer could reach, by address.
using Memory = std::map<u64, wire::Bytes>;

constexpr u64 first_receive = 0x900000, sink = 0x800000, sink_size = 64;

struct Granted {
	const char *name;
	attacks::Region region;
	u32 pd, access;
};

constexpr u32 remote_both = CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ;

inline const Granted granted[] = {
	{"both", {0x100, 0x700100000, 0x11000}, FakeHost::pd, remote_both},
	{"read-only", {0x102, 0x200000, 0x400}, FakeHost::pd, CORE_ACCESS_REMOTE_READ},
	{"write-only", {0x104, 0x210000, 0x400}, FakeHost::pd, CORE_ACCESS_REMOTE_WRITE},
	{"private", {0x106, 0x220000, 0x400}, FakeHost::pd, CORE_ACCESS_LOCAL_WRITE},
	{"atomic",
	 {0x108, 0x230000, 0x400},
	 FakeHost::pd,
	 CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_ATOMIC},
	{"foreign",
	 {0x10a, 0x240000, 0x400},
	 FakeHost::pd + 1,
	 remote_both | CORE_ACCESS_REMOTE_ATOMIC},
};

inline std::string receive_name(size_t n) { return "receive" + std::to_string(n); }

inline std::map<std::string, attacks::Region> regions_of_the_victim()
{
	std::map<std::string, attacks::Region> out;

	for (const Granted &one : granted)
		out[one.name] = one.region;
	out["stale"] = {0x10c, 0x250000, 0x400};
	out["sink"] = {0, sink, sink_size};
	for (size_t i = 0; i < 8; i++)
		out[receive_name(i)] = {0, first_receive + 0x80 * i, attacks::receive_size};
	return out;
}

inline const std::map<std::string, attacks::Region> victim_regions = regions_of_the_victim();

// A victim as in rdma/hostile, made of the core and the fake host.
struct Victim : Stream {
	Victim(const core_rx_params &params, unsigned receives) : Stream(params)
	{
		for (const Granted &one : granted)
			host.grant(one.region.stag, one.region.to, one.region.length, one.pd,
				   one.access);
		for (unsigned i = 0; i < receives; i++)
			host.post_receive(attacks::receive_size);
		host.read_room = 4;
	}

	// Deliveries of an event, or either of two.
	std::vector<Delivery> delivered(core_rx_event event, core_rx_event other) const
	{
		std::vector<Delivery> out;

		for (const Delivery &one : deliveries)
			if (one.event == event || one.event == other)
				out.push_back(one);
		return out;
	}
	std::vector<Delivery> sends() const { return delivered(CORE_RX_SEND, CORE_RX_SEND); }
	std::vector<Delivery> responses() const
	{
		return delivered(CORE_RX_READ_RESPONSE, CORE_RX_ATOMIC_RESPONSE);
	}

	Memory memory() const
	{
		Memory out;

		for (const Granted &one : granted)
			out[one.region.to] = host.regions.at(one.region.stag).memory;
		for (size_t i = 0; i < 8; i++)
			out[victim_regions.at(receive_name(i)).to] = receive(i);
		out[sink] = sink_memory();
		return out;
	}

private:
	static wire::Bytes padded(wire::Bytes data, size_t size)
	{
		data.resize(size);
		return data;
	}
	wire::Bytes receive(size_t n) const
	{
		const std::vector<Delivery> all = sends();

		if (n < all.size())
			return padded(all[n].data, attacks::receive_size);
		return padded(n == all.size() ? host.receiving : wire::Bytes(),
			      attacks::receive_size);
	}
	// What the first read or atomic operation brought.
	wire::Bytes sink_memory() const
	{
		const std::vector<Delivery> all = responses();
		wire::Bytes data = host.reads.empty() ? wire::Bytes() : host.reads.front().memory;

		if (!all.empty())
			data = all[0].data;
		if (!all.empty() && all[0].event == CORE_RX_ATOMIC_RESPONSE)
			std::reverse(data.begin(), data.end());
		return padded(data, sink_size);
	}
};

// The bytes of a part of the memory.
inline std::pair<wire::Bytes &, size_t> part_of(Memory &memory, u64 address)
{
	auto part = std::prev(memory.upper_bound(address));

	return {part->second, address - part->first};
}

inline void put(Memory &memory, u64 address, const wire::Bytes &octets)
{
	auto [part, at] = part_of(memory, address);

	ASSERT_LE(at + octets.size(), part.size());
	std::copy(octets.begin(), octets.end(), part.begin() + static_cast<long>(at));
}

// Both may differ where the attack may have written.
inline void expect_memory(Memory before, Memory now, const std::vector<attacks::Change> &lands,
			  const std::vector<attacks::Span> &may_change)
{
	for (const attacks::Change &change : lands)
		put(before, change.at, change.octets);
	for (const attacks::Span &span : may_change) {
		put(before, span.at, wire::Bytes(span.length));
		put(now, span.at, wire::Bytes(span.length));
	}
	EXPECT_TRUE(now == before) << "other memory has changed";
}

// GoogleTest allows letters and digits only.
inline std::string test_name(size_t index, const std::string &sentence)
{
	std::string out = std::to_string(index);

	for (char c : sentence)
		if (std::isalnum(static_cast<unsigned char>(c)))
			out += c;
		else if (out.back() != '_')
			out += '_';
	return out;
}
