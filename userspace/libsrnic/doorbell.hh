// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// When to ring a send queue's doorbell (<rdma/srnic-abi.h>, struct srnic_ring_hdr): at once if the
// engine is idle, or the post is not one of a burst; else, if the engine stands by, only when the
// process finds a CQ of the QP empty, is not busy with the QP's other CQ, and does not only look
// for receives between its posts. So a process that posts many requests one by one makes few system
// calls.
#pragma once

#include "clock.hh"
#include "lock.hh"
#include "wq.hh"

#include <algorithm>

namespace srnic {

inline srnic_cq &send_cq(const srnic_qp &qp)
{
	return *reinterpret_cast<srnic_cq *>(qp.base.send_cq);
}
inline srnic_cq &recv_cq(const srnic_qp &qp)
{
	return *reinterpret_cast<srnic_cq *>(qp.base.recv_cq);
}

// Posts that follow another one: from so many on they are a burst, and after so many the next one
// is likely to have some, too.
constexpr u32 burst = 3, long_burst = 7;
// The most doorbells in a row that announce no burst, though one is likely, because those announced
// last were none.
constexpr u32 most_doubt = 63;

// What a post shows of those to come.
struct Pace {
	bool paused; // it does not follow another post, or that one's doorbell, at once
	bool more;   // others are likely to follow it at once
};

// More are likely if it and the two before it follow others and none of them answers anything, or
// if it is the first after a long burst. The send queue's lock is held.
inline Pace pace(srnic_qp &qp)
{
	const u32 receives = load_relaxed(recv_cq(qp).receives);
	const bool paused = ticks() - load_relaxed(qp.posted_at) >= qp.burst_gap;

	if (receives != qp.receives_seen)
		qp.streak = 0;
	else if (!paused)
		qp.streak++;
	else
		qp.streak = qp.streak >= long_burst ? burst : 0;
	qp.receives_seen = receives;
	return {paused, qp.streak >= burst};
}

// An announced burst had this many posts when its deferred doorbell was rung. A burst of one woke
// the engine's thread for nothing: each one in a row halves how many bursts are announced. The
// caller holds the lock of a CQ of the QP. Two threads may write at once, and either value will do.
inline void note_burst(srnic_qp &qp, u32 posts)
{
	const u32 doubt = posts > 1 ? 0 : std::min(2 * load_relaxed(qp.doubt) + 1, most_doubt);

	store_relaxed(qp.doubt, doubt);
	store_relaxed(qp.doubt_left, doubt);
}

// Is a burst that is likely to be announced? The send queue's lock is held.
inline bool announces(srnic_qp &qp)
{
	const u32 left = load_relaxed(qp.doubt_left);

	if (left)
		store_relaxed(qp.doubt_left, left - 1);
	return !left;
}

inline void note_post(srnic_qp &qp) { store_relaxed(qp.posted_at, ticks()); }

inline int ring(srnic_qp &qp)
{
	const int err = srnic_doorbell(&qp);

	note_post(qp);
	return err;
}

// Does its engine stand by? A QP may have no send queue.
inline bool stands_by(const srnic_qp &qp)
{
	const srnic_ring_hdr *hdr = qp.sq.ring.hdr;

	return hdr && load_relaxed(hdr->state) & SRNIC_SQ_STANDBY;
}

// Lists the QP at a CQ, unless it is listed. Any thread.
inline void list_at(srnic_cq &cq, srnic_deferred &entry, srnic_qp &qp)
{
	if (__atomic_exchange_n(&entry.listed, 1, __ATOMIC_ACQUIRE))
		return;
	entry.qp = &qp;
	entry.next = load_relaxed(cq.deferred);
	while (!__atomic_compare_exchange_n(&cq.deferred, &entry.next, &entry, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

// Puts the doorbell off until a CQ is empty. The send queue's lock is held.
inline void defer(srnic_qp &qp)
{
	store_relaxed(qp.deferred, load_relaxed(qp.deferred) + 1);
	list_at(send_cq(qp), qp.at_send_cq, qp);
	if (&recv_cq(qp) != &send_cq(qp))
		list_at(recv_cq(qp), qp.at_recv_cq, qp);
}

// Publishes the requests written. True if the doorbell must be rung now, which may be done after
// unlocking. The send queue's lock is held. full: the caller wanted to post more than there is room
// for, so it cannot but wait.
inline bool publish_sends(srnic_qp &qp, bool full = false)
{
	if (qp.sq.next == qp.sq.prod)
		return full && stands_by(qp);
	const Pace now = pace(qp);
	const u32 state = publish(qp.sq), standby = state & SRNIC_SQ_STANDBY;

	if (wants_doorbell(state) || (standby && (now.paused || !now.more))) {
		store_relaxed(qp.sq.ring.hdr->burst, now.more && announces(qp));
		store_relaxed(qp.deferred, 0);
		return true;
	}
	if (full)
		return standby;
	note_post(qp);
	if (standby)
		defer(qp);
	return false;
}

// Rings for a QP whose requests wait, if they still do. One request is no burst.
inline bool ring_for(srnic_qp &qp)
{
	const u32 deferred = __atomic_exchange_n(&qp.deferred, 0, __ATOMIC_RELAXED);

	if (!stands_by(qp))
		return false;
	store_relaxed(qp.sq.ring.hdr->burst, deferred > 1);
	note_burst(qp, deferred);
	ring(qp);
	return true;
}

// Rings for the QPs listed at a CQ. True if the CQ may have completions now. The CQ's lock is held,
// which keeps the QPs alive: a caller that destroys one calls srnic_cq_ring() before.
inline bool ring_deferred(srnic_cq &cq)
{
	srnic_deferred *entry = nullptr, *next;
	bool rang = false;

	if (load_relaxed(cq.deferred))
		entry = __atomic_exchange_n(&cq.deferred, nullptr, __ATOMIC_ACQUIRE);
	for (; entry; entry = next) {
		srnic_qp &qp = *entry->qp;

		next = entry->next;
		__atomic_store_n(&entry->listed, 0, __ATOMIC_RELEASE);
		full_barrier(); // listed before state; pairs with that between prod and state
		rang |= ring_for(qp);
	}
	return rang;
}

// Is the process busy with the QP's other CQ? It has taken completions there since it last found
// this one empty, and more are left. So it is not about to wait: it will find that CQ empty first.
// A process that no longer takes any there is not busy with it. The lock of this CQ is held; the
// other one lives as long as the QP.
inline bool busy_elsewhere(srnic_deferred &entry, const srnic_cq &cq)
{
	const srnic_cq &sends = send_cq(*entry.qp),
		       &other = &cq == &sends ? recv_cq(*entry.qp) : sends;
	const u32 taken = load_relaxed(other.cons);

	if (&other == &cq || taken == entry.taken_elsewhere)
		return false;
	entry.taken_elsewhere = taken;
	return load_acquire(other.ring.hdr->prod) != taken;
}

// Looks at an empty CQ that the process has followed by a post, in a row, before it is trusted to
// post again after one.
constexpr u32 enough_looks = 3;

// Is this but a look for receives, between two posts? Not if the process has just looked, nor if
// the CQ is armed: then it may be about to wait; nor if another QP is listed, for which it may. If
// it waits after all, and does not look again, the engine's thread finds the posts. The lock of
// this CQ is held.
inline bool only_looks(srnic_deferred &entry, const srnic_cq &cq)
{
	const srnic_qp &qp = *entry.qp;
	const u32 posted = load_relaxed(qp.sq.ring.hdr->prod), trusted = entry.looks;

	if (!load_relaxed(qp.deferred)) // nothing waits for a doorbell
		return false;
	entry.looks = posted == entry.posted ? 0 : std::min(trusted + 1, enough_looks);
	entry.posted = posted;
	return entry.looks && trusted == enough_looks && !entry.next && &cq != &send_cq(qp) &&
	       load_relaxed(cq.ring.hdr->state) == SRNIC_CQ_ARM_NONE;
}

// The CQ is empty: rings for the QPs listed there, unless the process is busy elsewhere with the
// one listed last, or will post more to it. Returns as ring_deferred(). The CQ's lock is held.
inline bool ring_before_wait(srnic_cq &cq)
{
	srnic_deferred *last = __atomic_load_n(&cq.deferred, __ATOMIC_ACQUIRE);

	if (!last)
		return false;
	const bool looks = only_looks(*last, cq), busy = busy_elsewhere(*last, cq);

	return !looks && !busy && ring_deferred(cq);
}

} // namespace srnic
