// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The Ack message (Documentation/ib.rst, "Acks"): what follows the DDP header.
#pragma once

#include "types.hh"

namespace srnic::ib {

struct AckBody {
	be<u32> delivered;
	u8 syndrome;
	u8 timer;
	be<u16> reserved;
};
static_assert(sizeof(AckBody) == CORE_ACK_LEN);

constexpr AckBody encode(const core_ack &ack)
{
	return {be<u32>::from_host(ack.delivered), ack.syndrome, ack.timer, {0}};
}

constexpr core_ack decode(const AckBody &body)
{
	return {body.delivered.host(), body.syndrome, body.timer};
}

} // namespace srnic::ib
