// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Shared by the fuzz targets: input, and a host for the core that checks everything. An error ends
// the process, as with a sanitizer.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "../shared/fake_host.hh"

using wire::Bytes;

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

class Host : public FakeHost {
public:
	u64 fpdus = 0;

	// Regions, receives, reads and rights out of the input.
	void furnish(Input &input);
	// Feeds it whole; and to copies of this host in pieces, whose outcome has to be the same.
	void run_in_all_cuts(const core_rx_params &params, const Bytes &stream, u32 cut);
	// A region, with its STag. There must be some.
	const auto &region(u32 which) const
	{
		return *std::next(regions.rbegin(), which % regions.size());
	}

private:
	std::vector<Happened> happened;
	core_terminate term{};
	Bytes delivered;      // with all messages
	u32 refuse_after = 0; // placements until the host itself refuses one; 0: never
	core_region_verdict refuse_verdict = CORE_REGION_OK;
	bool refuses_some = false;

	void furnish_regions(Input &input);
	void furnish_reads(Input &input);
	Happened describe(const core_rx &rx, core_rx_event event) const;
	void invalidate(core_rx &rx, const core_rx_message &message);
	void record(core_rx &rx, core_rx_event event);
	void finish(core_rx &rx);
	core_rx_event take(core_rx &rx, const core_rx_step &step, const u8 *from, u32 n);
	u32 take_whole(core_rx &rx, const u8 *from, size_t n);
	void run(core_rx_params params, const Bytes &stream, u32 cut);
	void require_same(const Host &other) const;
};
