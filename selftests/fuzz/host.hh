// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Shared by the fuzz targets: input, and a host for the core that checks everything. An error ends
// the process, as with a sanitizer.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "../shared/bytes.hh"
#include "api/core.h"

using wire::Bytes;

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

// The fuzzer's input, from the front; zeros after the end.
struct Input {
	const u8 *data;
	size_t left;

	u8 octet()
	{
		if (!left)
			return 0;
		left--;
		return *data++;
	}
	u32 number(u32 octets)
	{
		u32 value = 0;

		while (octets--)
			value = value << 8 | octet();
		return value;
	}
	Bytes take(size_t len)
	{
		Bytes out(data, data + std::min(len, left));

		data += out.size();
		left -= out.size();
		return out;
	}
};

// What happened to a stream: enough to compare two ways to feed it.
struct Happened {
	core_rx_event event;
	u64 a, b;

	bool operator==(const Happened &) const = default;
};

class Host {
public:
	struct Region {
		u32 stag;
		core_region grant;
	};

	static constexpr u32 pd = 7, memory_size = 1024;

	// Regions, receives, reads and rights out of the input.
	void furnish(Input &input);
	// Feeds data in pieces chosen by `cut` (0: whole, 1: single bytes), to a parser in a block
	// of its exact size.
	void run(const core_rx_params &params, const Bytes &stream, u32 cut);
	// Feeds it whole; and to copies of this host in pieces, whose outcome has to be the same.
	void run_in_all_cuts(core_rx_params params, const Bytes &stream, u32 cut);

	std::vector<Happened> happened;
	core_terminate term{};
	Bytes memory = Bytes(memory_size), received, read;
	u64 fpdus = 0;

	const std::vector<Region> &all_regions() const { return regions; }
	const std::deque<core_read_sink> &all_reads() const { return reads; }
	bool find(u32 stag, core_region &grant) const;
	core_region_verdict atomic(const core_atomic_request &request, u64 &original);
	core_take take_receive(u32 &room);
	const core_read_sink *oldest_read() const
	{
		return reads.empty() ? nullptr : &reads.front();
	}
	bool read_room() const { return inbound < ird; }
	bool refuses() const { return refuses_some; }

private:
	void place(const core_place &at, const u8 *data, u32 n);
	void deliver(core_rx &rx, core_rx_event event);
	void finish(core_rx &rx);

	std::vector<Region> regions;
	std::deque<u16> rooms; // receives; 0xffff: a broken one
	std::deque<core_read_sink> reads;
	Bytes receiving;
	u32 inbound = 0, ird = 0;
	bool receive_active = false;
	u32 filled = 0;	      // bytes of the receive in progress
	u32 refuse_after = 0; // placements until the host itself refuses one; 0: never
	u32 refuse_verdict = 0;
	bool refuses_some = false;
};
