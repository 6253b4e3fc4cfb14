// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Arming a CQ, and taking its events (arming.hh).
#include "arming.hh"

namespace srnic {
namespace {

// Completions are there that no event has announced: the program has taken all that was there at
// the last one.
bool unannounced(const srnic_cq &cq, u32 cons)
{
	const u32 announced = load_relaxed(cq.told.prod) - cons;

	return !announced || announced >> 31;
}

// This thread has taken the last event, and no completions since.
bool just_told(const srnic_cq &cq)
{
	return load_relaxed(cq.told.thread) == &takings && load_relaxed(cq.told.takings) == takings;
}

} // namespace
} // namespace srnic

using namespace srnic;

int srnic_req_notify_cq(ibv_cq *ibcq, int solicited_only)
{
	srnic_cq &cq = to_cq(ibcq);

	arm(cq.ring.hdr->state, solicited_only);

	const u32 cons = load_relaxed(cq.cons);

	if (load_relaxed(cq.ring.hdr->prod) == cons)
		return 0;
	if (unannounced(cq, cons) || !just_told(cq))
		return srnic_cq_arm_in_kernel(&cq, solicited_only);
	store_relaxed(cq.told.trusted, 1);
	return 0;
}

void srnic_cq_event(ibv_cq *ibcq)
{
	srnic_cq &cq = to_cq(ibcq);

	store_relaxed(cq.told.thread, &takings);
	store_relaxed(cq.told.takings, takings);
	store_relaxed(cq.told.prod, load_acquire(cq.ring.hdr->prod));
}
