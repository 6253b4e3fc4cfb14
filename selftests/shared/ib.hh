// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What streams with acknowledgements have besides RDMAP's messages (Documentation/ib.rst), built
// without the code under test.
#pragma once

#include "wire.hh"

namespace wire {

constexpr u8 ask = 0x20, more = 0x10;
constexpr u8 op_ack = 0x4c, op_send_imm = 0x4d, op_send_se_imm = 0x4e, op_extended = 0x4f;

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

// ib.rst, rule 110. tail: the length of a Flush, the octets of an Atomic Write.
struct Extended {
	u8 code = 1, type = 1, level = 0;
	u32 stag = 0;
	u64 to = 0;
	Bytes tail = Bytes(8);

	operator Bytes() const
	{
		return Bytes{code, type, level, 0} + be32(stag) + be64(to) + tail;
	}
};

inline Untagged extended(const Extended &what, u32 msn = 1, u8 rdmap = op_extended)
{
	return {.rdmap = rdmap, .qn = 5, .msn = msn, .data = what};
}

inline Untagged flush(u32 stag, u64 to, u64 length, u32 msn = 1)
{
	return extended({.stag = stag, .to = to, .tail = be64(length)}, msn);
}

inline Untagged atomic_write(u32 stag, u64 to, const Bytes &data, u32 msn = 1)
{
	return extended({.code = 2, .type = 0, .stag = stag, .to = to, .tail = data}, msn);
}

} // namespace wire
