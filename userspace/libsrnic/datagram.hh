// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Requests of QPs of type UD: which operations they have, and whom each request is for.
#pragma once

#include "queue.h"
#include "types.hh"

namespace srnic {

constexpr bool is_datagram(u8 opcode) { return opcode == SRNIC_OP_SEND || opcode == SRNIC_OP_IMM; }

// An address handle has a number other than 0, so a slot without a receiver shows.
inline void put_receiver(srnic_send_wqe *wqe, const ibv_ah *ah, u32 qpn, u32 qkey)
{
	wqe->rkey = reinterpret_cast<const srnic_ah *>(ah)->number;
	wqe->remote_addr = u64{qkey} << 32 | qpn;
}
inline bool has_receiver(const srnic_send_wqe &wqe) { return wqe.rkey != 0; }

} // namespace srnic
