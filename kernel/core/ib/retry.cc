// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// When an end that failed to connect tries again: the times (Documentation/ib.rst, "Trying again").
//
// Refusals say little in the long run: a program may reset the peer's QP, and a firewall may keep
// back the peer that is to connect. So nothing is given up, but what waits for the peer waits long:
// not at first, if it only came too early.
#include "ib/retry.hh"

namespace srnic::ib {
namespace {

constexpr u32 shortest = 1000, early = 4000, longest = 30000; // milliseconds
constexpr u8 doublings = 5, early_doublings = 3;
static_assert(shortest << doublings >= longest && early << early_doublings >= longest);

// Between half the time and all of it, so that QPs that failed together do not return together.
u32 spread(u32 time, u32 random) { return time - random % (time / 2 + 1); }

// The peer may be ready very soon, and unable to connect.
constexpr bool is_early(u8 reason)
{
	return reason == CORE_PAIR_NOT_READY || reason == CORE_PAIR_OTHER_PAIR;
}

// What lasts until a program does something at the peer: then the peer connects.
constexpr bool waits_for_peer(u8 reason)
{
	switch (reason) {
	case CORE_PAIR_COUNTS:
	case CORE_PAIR_VERSION_UNKNOWN:
	case CORE_PAIR_FEATURES:
	case CORE_PAIR_SHUTDOWN:
		return true;
	default:
		return false;
	}
}

// Both were early: the peer has become ready meanwhile, has connected, and was refused by this end,
// whose Request was on its way. So neither would try again soon.
bool both_were_early(const core_pairing &pairing, u8 reason)
{
	return pairing.crossed && is_early(reason);
}

// Once in a row: if the peer's QP is reset again and again, that is a failure, too.
bool may_correct(core_pairing &pairing, u8 reason, bool learned)
{
	const bool may = reason == CORE_PAIR_STALE && learned && !pairing.corrected;

	pairing.corrected = may;
	return may;
}

u32 wait_when_early(core_pairing &pairing, u32 random)
{
	const u32 time = min(early << pairing.refusals, longest);

	if (pairing.refusals < early_doublings)
		pairing.refusals++;
	return spread(time, random);
}

} // namespace

u32 wait_after_failure(core_pairing &pairing, u32 random)
{
	const u32 time = min(shortest << pairing.failures, longest);

	if (pairing.failures < doublings)
		pairing.failures++;
	return spread(time, random);
}

u32 wait_after_refusal(core_pairing &pairing, u8 reason, bool learned, u32 random)
{
	if (may_correct(pairing, reason, learned) || both_were_early(pairing, reason))
		return 0;
	if (is_early(reason))
		return wait_when_early(pairing, random);
	if (waits_for_peer(reason))
		return spread(longest, random);
	return wait_after_failure(pairing, random);
}

} // namespace srnic::ib
