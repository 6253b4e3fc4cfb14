// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Whether an STag may be invalidated (RFC 5040 5.3, 7.2 and 8.1.1 rule 7). The host keeps the
// region's STag from changing during the call, and revokes the grant if the answer is yes.
#pragma once

#include "api/core.h"

namespace srnic {

// A peer's Send with Invalidate may reach a region that the consumer has just invalidated itself.
// That is no error while the STag is still the region's, and the region this stream's. The consumer
// may use any QP of the protection domain, but for a window of type 2 the one that has bound it.
constexpr core_region_verdict may_invalidate(const core_grant &grant, const core_revoker &revoker)
{
	if (grant.stag != revoker.stag)
		return CORE_REGION_INVALID;
	if (grant.pd != revoker.pd)
		return CORE_REGION_FOREIGN;
	if (!grant.revocable)
		return CORE_REGION_ACCESS;
	if ((revoker.peer || grant.of_qp) && grant.qpn != revoker.qpn)
		return CORE_REGION_FOREIGN;
	return CORE_REGION_OK;
}

} // namespace srnic
