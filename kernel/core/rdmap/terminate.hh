// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The Terminate message (RFC 5040 4.8): its header, and for every error a receiver can find the
// layer, error type, error code and the headers that go with it (figures 9 and 10, RFC 5041 7.2,
// RFC 5044 8).
#pragma once

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

// RFC 5040 figure 10: what is sent back of the message that was refused.
enum class Included : u8 { nothing, ddp, ddp_and_rdmap };

struct Error {
	u8 layer, etype, code;
	Included included;
};

// RFC 5040 figure 9: any code will do, and no header is there to blame.
constexpr Error local_catastrophic = {CORE_LAYER_RDMAP, 0, 0, Included::nothing};

// The RDMA header is only ever that of an RDMA Read Request.
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

enum class LlpError : u8 { crc = CORE_LLP_CRC_ERROR, framing = 3 }; // RFC 5044 8
constexpr Error error(LlpError code)
{
	return {CORE_LAYER_LLP, 0, static_cast<u8>(code), Included::nothing};
}

} // namespace srnic
