// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The user's side of a shared ring: memory ordering, doorbell and arming. The protocol is in
// <rdma/srnic-abi.h>, at struct srnic_ring_hdr; index arithmetic is the core's.
#pragma once

#include "ring.hh"

#include <type_traits>

namespace srnic {

template <class T> T load_relaxed(const T &v) { return __atomic_load_n(&v, __ATOMIC_RELAXED); }
template <class T> void store_relaxed(T &v, std::type_identity_t<T> to)
{
	__atomic_store_n(&v, to, __ATOMIC_RELAXED);
}
inline u32 load_acquire(const u32 &v) { return __atomic_load_n(&v, __ATOMIC_ACQUIRE); }
inline void store_release(u32 &v, u32 to) { __atomic_store_n(&v, to, __ATOMIC_RELEASE); }
inline void full_barrier() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// A mapping of this many bytes is a ring if all its slots lie in it and each has room for the
// smallest entry.
constexpr bool is_ring(const srnic_ring_hdr &hdr, u64 mapped, u32 smallest_slot)
{
	return hdr.magic == SRNIC_RING_MAGIC && hdr.version == SRNIC_RING_VERSION &&
	       hdr.entries != 0 && (hdr.entries & (hdr.entries - 1)) == 0 &&
	       hdr.slot_size >= smallest_slot && hdr.slot_size % slot_unit == 0 &&
	       ring_octets(hdr.entries, hdr.slot_size) <= mapped;
}

// state: of a work queue, read after publishing.
constexpr bool wants_doorbell(u32 state)
{
	return state & (SRNIC_SQ_NEED_DOORBELL | SRNIC_QUEUE_ERROR);
}
static_assert(wants_doorbell(SRNIC_QUEUE_ERROR) && wants_doorbell(SRNIC_SQ_NEED_DOORBELL) &&
	      !wants_doorbell(0));

// Arms a CQ. Arming for solicited completions does not weaken a pending arming for any completion.
inline void arm(u32 &state, bool solicited_only)
{
	u32 none = SRNIC_CQ_ARM_NONE;

	if (solicited_only)
		__atomic_compare_exchange_n(&state, &none, SRNIC_CQ_ARM_SOLICITED, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	else
		store_relaxed(state, SRNIC_CQ_ARM_NEXT);
	full_barrier();
}

// The place of a slot. Ring is srnic_ring: uses its private copies, not the header.
template <class Slot, class Ring> Slot *slot_at(const Ring &ring, u32 index)
{
	return reinterpret_cast<Slot *>(reinterpret_cast<u8 *>(ring.slots) +
					slot_offset(index, ring.entries, ring.slot_size));
}

// Uses the slots of a ring that the kernel has switched to. *next becomes the ring, mapped at
// `resized`, that was used before, if any. The queue's lock is held.
template <class Ring> void use_slots(Ring &ring, Ring &resized, Ring &next)
{
	const Ring before = resized;

	ring.slots = next.hdr;
	ring.entries = next.entries;
	resized = next;
	next = before;
}

} // namespace srnic
