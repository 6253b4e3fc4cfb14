// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A host for the core's scheduler with a send queue of few slots: a request keeps its slot until it
// is done, and may come again. The program may overwrite slots at any time.
#pragma once

#include <rdma/srnic-abi.h>

#include "../shared/send_host.hh"

struct RingSends : SendHost {
	static constexpr u32 entries = 8;
	struct Slot {
		u64 octets[(sizeof(srnic_send_wqe) + SRNIC_MAX_INLINE) / 8];
	};

	Slot slots[entries] = {}, current{};
	bool done[entries] = {};
	u32 posted = 0, next = 0, freed = 0; // indices
	bool list_usable = true, local_works = true;
	bool failed = false; // a request has completed with an error

	static RingSends &of(void *ctx) { return static_cast<RingSends &>(SendHost::of(ctx)); }

	srnic_send_wqe &wqe(u32 index)
	{
		return *reinterpret_cast<srnic_send_wqe *>(slots[index % entries].octets);
	}
	bool has_room() const { return posted - freed < entries; }
	void finish(u32 index)
	{
		if (static_cast<int>(index - freed) < 0)
			return;
		done[index % entries] = true;
		for (; freed != next && done[freed % entries]; freed++)
			done[freed % entries] = false;
	}
	void finish_before(u32 end)
	{
		while (static_cast<int>(end - freed) > 0)
			finish(freed);
	}
	void go_back(u32 index)
	{
		for (u32 i = index; i != next; i++)
			done[i % entries] = false;
		next = index;
	}
	void runs_meanwhile() const
	{
		if (meanwhile)
			meanwhile();
	}
};
