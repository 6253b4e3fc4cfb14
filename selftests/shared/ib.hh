// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What streams with acknowledgements have besides RDMAP's messages (Documentation/ib.rst), built
// without the code under test.
#pragma once

#include "wire.hh"

namespace wire {

constexpr u8 ask = 0x20, more = 0x10;
constexpr u8 op_ack = 0x4c, op_send_imm = 0x4d, op_send_se_imm = 0x4e;

// ib.rst, rule 8.
struct Ack {
	u32 delivered = 0;
	u8 syndrome = 0, timer = 0;

	operator Bytes() const { return be32(delivered) + Bytes{syndrome, timer, 0, 0}; }
};

inline Untagged ack(const Ack &what, u32 msn = 1, u8 rdmap = op_ack)
{
	return {.rdmap = rdmap, .qn = 4, .msn = msn, .data = what};
}

} // namespace wire
