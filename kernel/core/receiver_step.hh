// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Steps of a receiver: which octets of the stream it wants next, and where they go.
#pragma once

#include "types.hh"

namespace srnic {

constexpr core_rx_step take_step(u32 want, u8 *into)
{
	return {.kind = CORE_RX_BYTES, .want = want, .into = into};
}

constexpr core_rx_step place_step(u32 want, const core_place *where)
{
	return {.kind = CORE_RX_PLACE, .want = want, .place = where};
}

constexpr core_rx_step stop_step() { return {CORE_RX_STOP, 0, {nullptr}}; }

} // namespace srnic
