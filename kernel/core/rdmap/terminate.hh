// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The Terminate message (RFC 5040 4.8): its header, and the layer, error type, error code and
// included headers of every error that a receiver can find (figures 9 and 10, RFC 5041 7.2, RFC
// 5044 8).
#pragma once

#include "message_rules.hh"
#include "rdmap/rdmap.hh"

namespace srnic {

struct TerminateHeader { // RFC 5040 figures 7 and 8
	u8 layer_etype;
	u8 code;
	u8 header_control;
	u8 rsvd;
};
static_assert(sizeof(TerminateHeader) == 4);

constexpr u8 terminate_ddp_len = 0x80;	    // M
constexpr u8 terminate_ddp_header = 0x40;   // D
constexpr u8 terminate_rdmap_header = 0x20; // R

// RFC 5040 figure 10: the headers of the refused message that a Terminate includes.
enum class Included : u8 { nothing, ddp, ddp_and_rdmap };

struct Error {
	u8 layer, etype, code;
	Included included;

	constexpr bool found() const { return layer != 0xff; }
};

constexpr Error no_error = {0xff, 0, 0, Included::nothing};

// RFC 5040 figure 9: error type 0 of layer RDMAP, with any code and no header.
constexpr Error local_catastrophic = {CORE_LAYER_RDMAP, 0, 0, Included::nothing};

// The Terminate for it, without the headers that it may include.
constexpr core_terminate terminate_of(const Error &why)
{
	core_terminate term{};

	term.layer = why.layer;
	term.etype = why.etype;
	term.code = why.code;
	return term;
}

// Only an RDMA Read Request has its RDMA header included.
constexpr Error error(ProtectionError code, bool read_request)
{
	return {CORE_LAYER_RDMAP, 1, static_cast<u8>(code),
		read_request ? Included::ddp_and_rdmap : Included::ddp};
}
constexpr Error error(OperationError code)
{
	return {CORE_LAYER_RDMAP, 2, static_cast<u8>(code), Included::ddp};
}
constexpr Error error(TaggedError code)
{
	return {CORE_LAYER_DDP, 1, static_cast<u8>(code), Included::ddp};
}
constexpr Error error(UntaggedError code)
{
	return {CORE_LAYER_DDP, 2, static_cast<u8>(code), Included::ddp};
}

enum class LlpError : u8 { closed = 1, crc = 2, framing = 3 }; // RFC 5044 8
constexpr Error error(LlpError code)
{
	return {CORE_LAYER_LLP, 0, static_cast<u8>(code), Included::nothing};
}

// ---- The error numbers of verdicts (message_rules.hh) ----

// The codes of RFC 5041 7.2 follow the checks of 7.1, without one for access rights: an STag whose
// buffer does not allow Placement (check 2) is not valid for this segment.
constexpr TaggedError tagged_error(Verdict verdict)
{
	switch (verdict) {
	case Verdict::out_of_bounds:
		return TaggedError::base_or_bounds;
	case Verdict::foreign:
		return TaggedError::not_associated;
	case Verdict::wraps:
		return TaggedError::to_wrap;
	default:
		return TaggedError::invalid_stag;
	}
}

constexpr ProtectionError protection_error(Verdict verdict)
{
	switch (verdict) {
	case Verdict::stag_invalid:
		return ProtectionError::invalid_stag;
	case Verdict::out_of_bounds:
		return ProtectionError::base_or_bounds;
	case Verdict::no_access:
		return ProtectionError::access;
	case Verdict::foreign:
		return ProtectionError::not_associated;
	case Verdict::wraps:
		return ProtectionError::to_wrap;
	default:
		return ProtectionError::unspecified;
	}
}

// DDP checks a tagged buffer (RFC 5041 7.1); RDMAP checks the source of an RDMA Read, and the STag
// of a Send with Invalidate (RFC 5040 7.2).
constexpr Error region_error(Message message, Verdict verdict)
{
	if (message == Message::write || message == Message::read_response)
		return error(tagged_error(verdict));
	return error(protection_error(verdict), message == Message::read_request);
}

// There is no code for a Read Response that does not end with its read, or for RDMAP's own message
// that is cut short or spread over segments: "unspecified".
constexpr Error error_of(Message message, Verdict verdict)
{
	switch (verdict) {
	case Verdict::wrong_msn:
		return error(UntaggedError::msn_range);
	case Verdict::wrong_offset:
		return error(UntaggedError::invalid_mo);
	case Verdict::no_buffer:
		return error(UntaggedError::no_buffer);
	case Verdict::too_long:
		return error(UntaggedError::too_long);
	case Verdict::misaligned: // RFC 7306 8.2
		return error(OperationError::stream_catastrophic);
	case Verdict::unsupported:
	case Verdict::wrong_type:
	case Verdict::no_read:
		return error(OperationError::unexpected_opcode);
	case Verdict::wrong_end:
	case Verdict::not_whole:
		return error(OperationError::unspecified);
	case Verdict::wrong_ack:
		return error(OperationError::acknowledgement);
	case Verdict::local:
		return local_catastrophic;
	default:
		return region_error(message, verdict);
	}
}

} // namespace srnic
