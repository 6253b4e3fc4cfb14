// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Pairing (Documentation/ib.rst, "Pairing"): the predicates of its decisions.
#pragma once

#include "types.hh"

namespace srnic::ib {

constexpr bool is_same(const core_pair_end &a, const core_pair_end &b)
{
	return a.qpn == b.qpn && __builtin_memcmp(a.gid, b.gid, sizeof(a.gid)) == 0;
}

// Which of two ends goes on when both connect.
constexpr bool is_greater(const core_pair_end &a, const core_pair_end &b)
{
	const int order = __builtin_memcmp(a.gid, b.gid, sizeof(a.gid));

	return order ? order > 0 : a.qpn > b.qpn;
}

// What each end has sent, the other has delivered.
constexpr bool mirrors(const core_pair_counts &own, const core_pair_frame &peer)
{
	return own.sent == peer.delivered && own.delivered == peer.sent;
}

// Is the Request newer than what the frames of the stream, attached now or last, said? Numbers
// order the attempts of one incarnation. Incarnations have no order: another one is the newer one
// if it knows a number that this end has had only since that stream began.
bool is_newer(const core_pairing &pairing, const core_pair_frame &request);
// Was the Request made for this incarnation, or for any?
bool is_for_this(const core_pairing &pairing, const core_pair_frame &request);

} // namespace srnic::ib
