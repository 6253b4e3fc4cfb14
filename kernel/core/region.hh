// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The checks of regions (core_region_check(): RFC 5041 7.1, RFC 5040 7.2) at their limits.
#pragma once

#include "types.hh"

namespace srnic {

constexpr u32 remote_rights = CORE_REMOTE_RIGHTS;

constexpr core_region_verdict check_region(const core_region &region, core_requester requester,
					   u32 access, u64 to, u64 len)
{
	return core_region_check(&region, requester, access, to, len);
}
static_assert(check_region({4096, 100, 1, CORE_ACCESS_REMOTE_WRITE, 0, 0}, {1, 2},
			   CORE_ACCESS_REMOTE_WRITE, 4096, 100) == CORE_REGION_OK);
static_assert(check_region({4096, 100, 1, 0, 0, 0}, {1, 2}, 0, 4097, 100) == CORE_REGION_BOUNDS);
static_assert(check_region({4096, 100, 1, 0, 0, 0}, {1, 2}, 0, ~0ull, 1) == CORE_REGION_WRAP);
static_assert(check_region({~0ull - 9, 1000, 1, 0, 0, 0}, {1, 2}, 0, ~0ull - 9, 9) ==
	      CORE_REGION_OK);
static_assert(check_region({~0ull - 9, 1000, 1, 0, 0, 0}, {1, 2}, 0, ~0ull - 9, 20) ==
	      CORE_REGION_WRAP);

} // namespace srnic
