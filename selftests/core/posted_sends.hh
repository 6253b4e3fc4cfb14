// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A host for the core's scheduler whose send requests the test posts, with answers that it chooses.
#pragma once

#include <functional>

#include <rdma/srnic-abi.h>

#include "../shared/send_host.hh"

struct PostedSends : SendHost {
	struct Slot {
		alignas(8) u8 octets[sizeof(srnic_send_wqe) + SRNIC_MAX_INLINE];
	};
	struct Completion {
		u32 index; // of the request, from 0
		u8 status;
		bool operator==(const Completion &) const = default;
	};

	// Its answers.
	bool list_usable = true, local_works = true;
	std::function<void()> on_completion;
	std::deque<Slot> posted;

	// The calls it got.
	Slot current{};
	u32 list_access = ~0u;
	std::vector<Completion> completions;
	std::vector<u32> invalidated, registered, bound;

	static PostedSends &of(void *ctx) { return static_cast<PostedSends &>(SendHost::of(ctx)); }
};
