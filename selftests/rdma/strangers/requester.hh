// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The victim as a requester: five requests of different kinds, and what comes of them.
#pragma once

#include "stage.hh"

namespace strangers {

inline constexpr u32 five_octets = 16; // of each
inline constexpr u32 five_immediate = 0x01020304;

// A Send, an RDMA Write, a Read, an RDMA Write with Immediate Data, and a Send: requests 1 to 5 of
// the victim, with wr_ids 1 to 5.
struct Five {
	attacks::Read read;
};

// Posts them.
void post_all_five(Stage &stage);
// Takes them from the stream: they are as they have to be. Acks come between them, up to delivered.
Five take_five(Stage &stage, Stream &stream, u32 delivered = 0);
Five post_five(Stage &stage, Stream &stream);

// FPDUs of the last two: the RDMA Write's, its Immediate Data's, and the Send's.
std::vector<Bytes> last_of_five(Stage &stage);

} // namespace strangers
