// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The producer's side of a work queue. The caller holds the queue's lock, or is its only user.
#pragma once

#include "lock.hh"
#include "shared.hh"

#include <string.h>

namespace srnic {

// SGEs are copied to the ring unchanged.
static_assert(sizeof(ibv_sge) == sizeof(srnic_sge));
static_assert(__builtin_offsetof(ibv_sge, addr) == __builtin_offsetof(srnic_sge, addr));
static_assert(__builtin_offsetof(ibv_sge, length) == __builtin_offsetof(srnic_sge, length));
static_assert(__builtin_offsetof(ibv_sge, lkey) == __builtin_offsetof(srnic_sge, lkey));

// The part of a slot after its header: SGEs or inline data.
template <class Wqe> auto *payload(Wqe *wqe) { return reinterpret_cast<uint8_t *>(wqe + 1); }

// A list that a program says to have, but does not give.
constexpr bool is_missing(const void *list, size_t num) { return num && !list; }

// The slot after the last one written, or null if the limit of outstanding requests is reached.
template <class Wqe> Wqe *next_slot(srnic_wq &wq)
{
	if (!wq.limit)
		return nullptr;
	if (!ring_free(wq.next, wq.cons_seen, wq.limit)) {
		wq.cons_seen = load_acquire(wq.ring.hdr->cons);
		if (!ring_free(wq.next, wq.cons_seen, wq.limit))
			return nullptr;
	}
	return slot_at<Wqe>(wq.ring, wq.next);
}

// Publishes all slots written. Returns the queue's state, read after that: a caller that finds
// wants_doorbell() rings, which may be done after unlocking. 0 if nothing was written.
inline u32 publish(srnic_wq &wq)
{
	if (wq.next == wq.prod)
		return 0;
	wq.prod = wq.next;
	store_release(wq.ring.hdr->prod, wq.prod);
	full_barrier();
	return load_relaxed(wq.ring.hdr->state);
}

} // namespace srnic
