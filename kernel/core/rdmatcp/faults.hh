// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The faults of RDMA/TCP's segments (enum core_rdmatcp_fault): of verdicts (message_rules.hh), and
// the Terminate that an MPA peer would get for each.
#pragma once

#include "rdmap/terminate.hh"

namespace srnic::rdmatcp {

constexpr core_rdmatcp_fault fault_of(Verdict verdict)
{
	switch (verdict) {
	case Verdict::good:
		return CORE_RDMATCP_FINE;
	case Verdict::stag_invalid:
		return CORE_RDMATCP_BUFFER_ID;
	case Verdict::out_of_bounds:
	case Verdict::wraps:
		return CORE_RDMATCP_BOUNDS;
	case Verdict::no_access:
	case Verdict::foreign:
		return CORE_RDMATCP_ACCESS;
	case Verdict::wrong_offset:
		return CORE_RDMATCP_OFFSET;
	case Verdict::no_buffer:
		return CORE_RDMATCP_NO_BUFFER;
	case Verdict::too_long:
		return CORE_RDMATCP_TOO_LONG;
	case Verdict::wrong_end:
		return CORE_RDMATCP_LENGTH;
	case Verdict::no_read:
		return CORE_RDMATCP_NUMBER;
	default:
		return CORE_RDMATCP_LOCAL;
	}
}

constexpr Error equivalent(core_rdmatcp_fault fault)
{
	switch (fault) {
	case CORE_RDMATCP_VERSION:
		return error(UntaggedError::version);
	case CORE_RDMATCP_NUMBER:
		return error(UntaggedError::msn_range);
	case CORE_RDMATCP_OFFSET:
		return error(UntaggedError::invalid_mo);
	case CORE_RDMATCP_CRC:
		return error(LlpError::crc);
	case CORE_RDMATCP_BUFFER_ID:
		return error(TaggedError::invalid_stag);
	case CORE_RDMATCP_BOUNDS:
		return error(TaggedError::base_or_bounds);
	case CORE_RDMATCP_ACCESS:
		return error(TaggedError::not_associated);
	case CORE_RDMATCP_NO_BUFFER:
		return error(UntaggedError::no_buffer);
	case CORE_RDMATCP_TOO_LONG:
		return error(UntaggedError::too_long);
	case CORE_RDMATCP_LOCAL:
		return local_catastrophic;
	default:
		return error(OperationError::unspecified);
	}
}

struct Terminates {
	core_terminate of[CORE_RDMATCP_FAULTS];
};

consteval Terminates equivalents()
{
	Terminates all{};

	for (u32 i = CORE_RDMATCP_FINE + 1; i < CORE_RDMATCP_FAULTS; i++)
		all.of[i] = terminate_of(equivalent(static_cast<core_rdmatcp_fault>(i)));
	return all;
}

// Never sent: counters, events and statuses are those of the error that the Terminate reports.
constexpr Terminates terminates = equivalents();

} // namespace srnic::rdmatcp
