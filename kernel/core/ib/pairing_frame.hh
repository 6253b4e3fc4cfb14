// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The private data of MPA Request and Reply frames that pair two QPs (Documentation/ib.rst,
// "Startup").
#pragma once

#include "types.hh"

namespace srnic::ib {

// In the same place in all versions.
struct PairingHead {
	u8 magic[8];
	u8 version;
	u8 reason;
	be<u16> reserved;
	be<u32> features;
	be<u32> needs;
};
static_assert(sizeof(PairingHead) == 20);

struct PairingData { // version 1
	PairingHead head;
	u8 source_gid[16];
	u8 destination_gid[16];
	be<u32> source_qpn;	 // 8 reserved bits, then 24 of the number
	be<u32> destination_qpn; // as above
	be<u16> ird;
	be<u16> ord;
	be<u32> sent;
	be<u32> delivered;
	be<u32> source_attempt;
	be<u32> destination_attempt;
	be<u64> source_incarnation;
	be<u64> destination_incarnation;
};
static_assert(sizeof(PairingData) == CORE_PAIR_DATA);
static_assert(__builtin_offsetof(PairingData, source_qpn) == 52 &&
	      __builtin_offsetof(PairingData, sent) == 64 &&
	      __builtin_offsetof(PairingData, source_incarnation) == 80);
static_assert(CORE_PAIR_DATA <= CORE_MPA_MAX_PRIVATE);

constexpr u32 qpn_bits = 0x00ffffff;

} // namespace srnic::ib
