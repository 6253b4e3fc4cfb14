// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Invalidation of STags, for the host.
#include "invalidate.hh"

enum core_region_verdict core_may_invalidate(const struct core_grant *grant,
					     const struct core_revoker *revoker)
{
	return srnic::may_invalidate(*grant, *revoker);
}
