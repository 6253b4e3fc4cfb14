// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// How long an InfiniBand requester waits (Documentation/ib.rst, "Times").
#include "types.hh"

namespace srnic {
namespace {

// The RNR NAK timer field's 32 codes, in units of ten microseconds.
constexpr u32 rnr_units[32] = {65536, 1,    2,	  3,	4,    6,    8,	  12,	16,   24,   32,
			       48,    64,   96,	  128,	192,  256,  384,  512,	768,  1024, 1536,
			       2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

constexpr u64 least_timeout = 2000000; // a shutdown of TCP may take longer than a cable's answer

} // namespace
} // namespace srnic

using namespace srnic;

u32 core_rnr_delay(u8 code) { return rnr_units[code & 31] * 10; }

// 4.096 us are 4096 ns.
u64 core_ack_timeout(u8 code, u8 retries)
{
	if (!(code & 31))
		return 0;
	return max((u64{4096} << (code & 31)) / 1000 * (u64{retries} + 1), least_timeout);
}
