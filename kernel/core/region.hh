// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Access checks of regions: RFC 5041 7.1 and RFC 5040 7.2 for a peer, and for lists of local
// memory. Nothing here touches memory; the caller owns locking and a region's lifetime.
#pragma once

#include "types.hh"

namespace srnic {

constexpr u32 remote_rights =
	CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ | CORE_ACCESS_REMOTE_ATOMIC;

// RFC 5041 8.2: an STag is for the streams of a protection domain, or for one stream.
constexpr bool is_for(const core_region &region, core_requester requester)
{
	return region.pd == requester.pd && (!region.qpn || region.qpn == requester.qpn);
}

// RFC 5041 7.1, tagged checks 1 to 5 (RFC 5040 7.2 demands them for the source of an RDMA Read).
// Bounds come last: a peer learns them only of a region that it may use. A zero-length segment is
// never checked (5.2), so callers ask only if there is payload.
constexpr core_region_verdict check_region(const core_region &region, core_requester requester,
					   u32 access, u64 to, u64 len)
{
	u64 end = 0;

	if (!is_for(region, requester))
		return CORE_REGION_FOREIGN;
	if ((region.access & access) != access || (region.window && !(access & remote_rights)))
		return CORE_REGION_ACCESS;
	if (__builtin_add_overflow(to, len, &end))
		return CORE_REGION_WRAP;
	if (to < region.base || len > region.length || to - region.base > region.length - len)
		return CORE_REGION_BOUNDS;
	return CORE_REGION_OK;
}
static_assert(check_region({4096, 100, 1, CORE_ACCESS_REMOTE_WRITE, 0, 0}, {1, 2},
			   CORE_ACCESS_REMOTE_WRITE, 4096, 100) == CORE_REGION_OK);
static_assert(check_region({4096, 100, 1, 0, 0, 0}, {1, 2}, 0, 4097, 100) == CORE_REGION_BOUNDS);
static_assert(check_region({4096, 100, 1, 0, 0, 0}, {1, 2}, 0, ~0ull, 1) == CORE_REGION_WRAP);
static_assert(check_region({~0ull - 9, 1000, 1, 0, 0, 0}, {1, 2}, 0, ~0ull - 9, 9) ==
	      CORE_REGION_OK);

} // namespace srnic
