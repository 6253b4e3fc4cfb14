// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The rings that user space and the kernel share (include/uapi/rdma/srnic-abi.h): the layout of
// their header and slots, and the arithmetic of free-running 32-bit indices. For the module and the
// user provider.
#pragma once

#include "rdma/srnic-abi.h"
#include "types.hh"

namespace srnic {

static_assert(sizeof(srnic_ring_hdr) == SRNIC_RING_SLOTS_OFFSET);
static_assert(__builtin_offsetof(srnic_ring_hdr, prod) == 64 &&
	      __builtin_offsetof(srnic_ring_hdr, cons) == 128);
static_assert(__builtin_offsetof(srnic_ring_hdr, state) == 192);
static_assert(sizeof(srnic_sge) == 16 && sizeof(srnic_cqe) == 32 && sizeof(srnic_cqe_times) == 32);
static_assert(sizeof(srnic_send_wqe) == 64 && sizeof(srnic_recv_wqe) == 32);
static_assert(__builtin_offsetof(srnic_send_wqe, remote_addr) == 16 &&
	      __builtin_offsetof(srnic_send_wqe, arg) == 32);
static_assert(SRNIC_MAX_INLINE == SRNIC_MAX_SGE * sizeof(srnic_sge));

constexpr u32 slot_unit = 32; // slot sizes are multiples of it

constexpr u32 slot_rounded(u32 octets) { return (octets + slot_unit - 1) / slot_unit * slot_unit; }
constexpr u32 send_slot_size(u32 max_sge, u32 max_inline)
{
	return slot_rounded(sizeof(srnic_send_wqe) +
			    max(max_sge * u32{sizeof(srnic_sge)}, max_inline));
}
constexpr u32 recv_slot_size(u32 max_sge)
{
	return slot_rounded(sizeof(srnic_recv_wqe) + max_sge * u32{sizeof(srnic_sge)});
}
static_assert(send_slot_size(2, 0) == 96 && send_slot_size(1, 33) == 128 &&
	      recv_slot_size(1) == 64);
static_assert(send_slot_size(SRNIC_MAX_SGE, SRNIC_MAX_INLINE) == 320);

// Bytes from the ring's header to the slot of a free-running index.
constexpr u64 slot_offset(u32 index, u32 entries, u32 slot_size)
{
	return SRNIC_RING_SLOTS_OFFSET + u64{index & (entries - 1)} * slot_size;
}
constexpr u64 ring_octets(u32 entries, u32 slot_size)
{
	return SRNIC_RING_SLOTS_OFFSET + u64{entries} * slot_size;
}
static_assert(slot_offset(0xffffffff, 4, 32) == 256 + 3 * 32 && slot_offset(4, 4, 32) == 256);

// The next power of two for a queue of this many entries; 0 if there is none.
constexpr u32 ring_entries(u32 wanted)
{
	u32 entries = 1;

	while (entries && entries < wanted)
		entries <<= 1;
	return entries;
}
static_assert(ring_entries(0) == 1 && ring_entries(5) == 8 && ring_entries(8) == 8 &&
	      ring_entries(0x80000001) == 0);

// Slots published and not taken. The producer's index may be hostile: more slots than the ring has
// count as none.
constexpr u32 ring_pending(u32 prod, u32 taken, u32 entries)
{
	u32 pending = prod - taken;

	return pending <= entries ? pending : 0;
}
static_assert(ring_pending(2, 0xfffffffe, 4) == 4 && ring_pending(3, 0xfffffffe, 4) == 0);

// Slots that a producer may still fill. The consumer's index may be hostile: then there is no room.
constexpr u32 ring_free(u32 prod, u32 cons, u32 entries)
{
	u32 used = prod - cons;

	return used <= entries ? entries - used : 0;
}
static_assert(ring_free(1, 0xffffffff, 4) == 2 && ring_free(0, 1, 4) == 0);

} // namespace srnic
