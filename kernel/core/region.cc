// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The checks of a region (RFC 5041 7.1) for the shell.
#include "region.hh"

enum core_region_verdict core_region_check(const struct core_region *region,
					   struct core_requester requester, u32 access, u64 to,
					   u64 len)
{
	return srnic::check_region(*region, requester, access, to, len);
}
