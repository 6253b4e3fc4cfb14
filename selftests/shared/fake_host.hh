// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A host for the core's receive side: memory, receives and reads in plain containers. It checks
// every placement and delivery of the core again, in wider arithmetic.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "api/core.h"
#include "bytes.hh"
#include "require.hh"

struct FakeHost {
	struct Region {
		core_region grant;
		wire::Bytes memory;
	};
	struct Sink {
		core_read_sink read;
		wire::Bytes memory;
	};
	struct Receive {
		core_take verdict;
		wire::Bytes memory;
	};

	static constexpr u32 pd = 7, qpn = 21;

	std::map<u32, Region> regions;
	std::deque<Receive> receives;
	std::deque<Sink> reads;
	u32 read_room = 0;  // inbound reads and atomic operations that may still come
	bool swaps = false; // as core_rx_params.swaps

	// The receive in progress.
	wire::Bytes receiving;
	u32 filled = 0;
	bool receive_active = false;

	// What happens after the core has looked for one in vain.
	std::function<void()> after_read_sink;
	// What happens before the payload of a whole segment is placed.
	std::function<void(const core_place &at, u32 n)> before_placing;
	// The calls it got.
	unsigned atomics_done = 0, receives_taken = 0, regions_asked = 0, placed_whole = 0;
	// What the next placement of a whole segment meets: its memory is gone.
	core_region_verdict whole_verdict = CORE_REGION_OK;

	static FakeHost &of(void *ctx) { return *static_cast<FakeHost *>(ctx); }

	void grant(u32 stag, u64 base, u64 length, u32 of_pd = pd,
		   u32 access = CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ)
	{
		regions[stag] = {{base, length, of_pd, access, 0, 0}, wire::Bytes(length)};
	}
	// A window that serves this QP alone.
	void bind(u32 stag, u64 base, u64 length, u32 of_qp, u32 access)
	{
		regions[stag] = {{base, length, pd, access, of_qp, 1}, wire::Bytes(length)};
	}
	void post_receive(u32 room, core_take verdict = CORE_TAKE_OK)
	{
		receives.push_back({verdict, wire::Bytes(room)});
	}
	void post_read(u32 stag, u64 to, u32 length)
	{
		reads.push_back({{stag, to, length, 0, 0, 0}, wire::Bytes(length)});
	}
	void post_atomic(u32 id) { reads.push_back({{id, 0, 8, 0, 1, 0}, wire::Bytes(8)}); }

	core_take take_receive(u32 &room);
	core_region_verdict execute(const core_atomic_request &request, u64 &original);
	core_region_verdict execute(const core_extended &request);
	void place(const core_place &at, const u8 *from, u32 n);
	// Only if the region, if any, allows it.
	core_region_verdict place_checked(const core_place &at, const u8 *from, u32 n);
	// Takes what an event brings: the bytes of a Send, a Read or an atomic operation.
	wire::Bytes deliver(core_rx &rx, core_rx_event event);

private:
	u8 *target(const core_place &at, u32 n);
	u8 *region_target(const core_place &at, u32 n);
	u8 *receive_target(const core_place &at, u32 n);
	u8 *read_target(const core_place &at, u32 n);
	core_region_verdict find_word(u32 stag, u64 to, u32 access, u8 *&word);
	wire::Bytes deliver_send(const core_rx &rx);
	wire::Bytes deliver_read_response();
	wire::Bytes deliver_atomic_response(u64 original);
	void deliver_request(const core_asked &asked);
	void check_source(const core_read_request &request) const;
};

inline u64 crcs_computed;

// Does the core want these bytes in its own buffer?
inline bool in_its_buffer(const core_rx &rx, const core_rx_step &step)
{
	const u8 *start = reinterpret_cast<const u8 *>(&rx);

	return step.into >= start && step.into + step.want <= start + sizeof(rx);
}
