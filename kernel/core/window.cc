// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory windows: which requests bind one. The rules are those of verbs (InfiniBand's, whose
// Memory Windows are of type 1 and 2B); what a window grants is a region's grant (region.hh).
#include "region.hh"

namespace srnic {
namespace {

// Local rights mean nothing: programs ask for them, and a window has none.
constexpr u32 window_rights = remote_rights | CORE_ACCESS_LOCAL_WRITE | CORE_ACCESS_ZERO_BASED;

constexpr bool may_bind(const core_window &window, const core_bind &bind)
{
	if (window.pd != bind.requester.pd || bind.access & ~window_rights)
		return false;
	if (window.type == CORE_WINDOW_2)
		return !window.bound && bind.length;
	return !(bind.access & CORE_ACCESS_ZERO_BASED);
}

// A window may grant a peer what the region itself does not, but no write to memory that this end
// may not write.
constexpr u32 region_needs(u32 access)
{
	const u32 writes = CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_ATOMIC;

	return CORE_ACCESS_MW_BIND | (access & writes ? CORE_ACCESS_LOCAL_WRITE : 0);
}

} // namespace
} // namespace srnic

bool core_window_may_bind(const struct core_window *window, const struct core_bind *bind)
{
	return srnic::may_bind(*window, *bind);
}

bool core_region_may_bind(const struct core_region *region, const struct core_bind *bind)
{
	return !region->window &&
	       srnic::check_region(*region, bind->requester, srnic::region_needs(bind->access),
				   bind->to, bind->length) == CORE_REGION_OK;
}
