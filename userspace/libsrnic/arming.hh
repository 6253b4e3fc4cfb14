// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a program knows of a CQ's completions when it arms it. By the verbs an event is for what
// comes after the arming. Hardware raises it at once for what is there already, and programs rely
// on that: UCX polls, arms and waits. But most programs arm first and poll then, and an event for
// what they poll anyway would wake them once more each time. So arming raises none for what the
// last event announced,
// * as long as this thread has taken no completions since, of any CQ (else: at once, arming.cc);
// * if the first poll after it takes all of that (else: then, settle()).
#pragma once
#include "shared.hh"

#include "queue.h"

namespace srnic {

inline srnic_cq &to_cq(ibv_cq *cq) { return *reinterpret_cast<srnic_cq *>(cq); }

// How often this thread has taken completions.
inline constinit thread_local u32 takings;

// How many completions are there: even if the shared index is corrupt, no more than the ring holds.
inline u32 pending(const srnic_cq &cq)
{
	return ring_pending(load_acquire(cq.ring.hdr->prod), cq.cons, cq.ring.entries);
}

// The program was trusted to take all completions, and has polled once. If it has left some, and no
// other has raised the event: raises it. The CQ's lock is held, and what was taken is released.
inline void settle(srnic_cq &cq)
{
	const u32 armed = load_relaxed(cq.ring.hdr->state);

	store_relaxed(cq.told.trusted, 0);
	if (pending(cq) && armed != SRNIC_CQ_ARM_NONE)
		srnic_cq_arm_in_kernel(&cq, armed == SRNIC_CQ_ARM_SOLICITED);
}

// A poll has taken completions, and released them. The CQ's lock is held.
inline void has_taken(srnic_cq &cq)
{
	takings++;
	if (__builtin_expect(load_relaxed(cq.told.trusted), 0))
		settle(cq);
}

} // namespace srnic
