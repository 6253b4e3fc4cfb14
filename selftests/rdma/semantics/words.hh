// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Words for atomic operations: those at the peer, or those into which original values come.
#pragma once
#include "case.hh"

constexpr int atomic_rights = all_rights | IBV_ACCESS_REMOTE_ATOMIC;

struct Words {
	alignas(64) uint64_t at[8] = {};
	Region region;

	explicit Words(const End &end, int access = atomic_rights)
		: region(end, at, sizeof(at), access)
	{
	}
	ibv_sge piece(unsigned i) const { return region.piece(8 * i, 8); }
	Target target(unsigned i) const { return region.target(8 * i); }
};
