// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// All memory of the victim that a peer could reach: one arena, full of canaries, that is compared
// byte by byte.
#pragma once

#include "verbs.hh"

#include <sys/mman.h>

#include <cinttypes>
#include <cstdio>

namespace victim {

inline constexpr u32 receive_size = 64, receives = 8, sink_size = 4096;
inline constexpr size_t guard = 4096, large = 256 * 1024, small = 4096, skew = 0x123;
inline constexpr size_t arena_size = 10 * guard + large + 7 * small;
inline constexpr int remote_both =
	IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

struct Region {
	const char *name;
	ibv_mr *mr;
};

class Arena {
public:
	u8 *memory = static_cast<u8 *>(mmap(nullptr, arena_size, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	ibv_mr *local = nullptr; // all of it, for nobody else
	u8 *sink = nullptr, *receive = nullptr;
	std::vector<Region> regions;

	// more: rights of the region "both".
	Arena(ibv_pd *pd, ibv_pd *other, int more = 0)
	{
		if (memory == MAP_FAILED)
			throw std::runtime_error("no memory for the arena");
		shadow.resize(arena_size);
		for (size_t i = 0; i < arena_size; i++)
			shadow[i] = static_cast<u8>(i * 11 + i / 253 * 3 + 1);
		restore(0, arena_size);
		local = need(ibv_reg_mr(pd, memory, arena_size, IBV_ACCESS_LOCAL_WRITE),
			     "ibv_reg_mr");
		add("both", pd, large, remote_both | more);
		add("read-only", pd, small, IBV_ACCESS_REMOTE_READ);
		add("write-only", pd, small, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		add("private", pd, small, IBV_ACCESS_LOCAL_WRITE);
		add("atomic", pd, small,
		    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
		add("foreign", other, small, remote_both | IBV_ACCESS_REMOTE_ATOMIC);
		add("stale", pd, small, remote_both | IBV_ACCESS_REMOTE_ATOMIC);
		sink = take(sink_size);
		receive = take(receives * 2 * receive_size);
	}

	// Calls tell(name, STag, address, length) for each region, receive and sink; deregisters
	// the stale one.
	void introduce(auto tell)
	{
		for (const Region &r : regions)
			tell(r.name, r.mr->rkey, r.mr->addr, r.mr->length);
		for (u32 i = 0; i < receives; i++)
			tell("receive" + std::to_string(i), 0, receive_at(i), receive_size);
		tell("sink", 0, sink, sink_size);
		need(ibv_dereg_mr(regions.back().mr), "ibv_dereg_mr");
	}

	u8 *receive_at(u32 i) const
	{
		return receive + i * 2 * receive_size;
	} // canaries in between

	void may_change(u64 address, size_t len)
	{
		size_t at = offset(address);

		std::memcpy(&expected()[at], memory + at, len);
	}
	void has_changed(u64 address, const std::vector<u8> &octets)
	{
		std::memcpy(&expected()[offset(address)], octets.data(), octets.size());
	}

	// "ok" or the place of the first wrong byte. Resets everything.
	std::string compare()
	{
		std::string result = "ok";

		for (size_t i = 0; i < arena_size; i++)
			if (memory[i] != expected()[i]) {
				result = describe(i);
				break;
			}
		restore(0, arena_size);
		now.clear();
		return result;
	}

private:
	std::vector<u8> shadow, now;
	size_t used = 0;

	std::vector<u8> &expected()
	{
		if (now.empty())
			now = shadow;
		return now;
	}
	void restore(size_t at, size_t len) { std::memcpy(memory + at, &shadow[at], len); }

	size_t offset(u64 address) const
	{
		u64 at = address - reinterpret_cast<std::uintptr_t>(memory);

		if (at >= arena_size)
			throw std::runtime_error("an address outside the arena");
		return at;
	}

	u8 *take(size_t size)
	{
		u8 *at = memory + used + guard;

		used += guard + size;
		return at;
	}

	// Regions start somewhere inside a page.
	void add(const char *name, ibv_pd *pd, size_t size, int access)
	{
		u8 *at = take(size) + skew;

		regions.push_back(
			{name, need(ibv_reg_mr(pd, at, size - 2 * skew, access), "ibv_reg_mr")});
	}

	std::string describe(size_t i)
	{
		char text[80];

		std::snprintf(text, sizeof(text), "octet-%zx-is-%02x-not-%02x", i, memory[i],
			      expected()[i]);
		return text;
	}
};

} // namespace victim
