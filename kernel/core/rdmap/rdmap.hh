// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMAP (RFC 5040): the control octet and what each opcode demands of DDP (4.1, figures 3 and 4),
// the RDMA Read Request header (4.4), and the numbers of RDMAP's errors (4.8, figure 9).
#pragma once

#include "ddp/ddp.hh"

namespace srnic {

struct RdmapControl { // RFC 5040 figure 3
	u8 octet;

	constexpr u8 opcode() const { return octet & 0x0f; }
	constexpr bool version_ok() const
	{
		return !(octet & 0x80);
	} // 4.1: 00b and 01b are both valid

	static constexpr RdmapControl make(u8 opcode) { return {static_cast<u8>(0x40 | opcode)}; }
};
static_assert(RdmapControl::make(CORE_RDMAP_SEND).octet == 0x43); // RFC 5044 figure 5

// RFC 5040 figure 4: the queue of an untagged message, or that it is a tagged one.
enum class Queue : u8 { send = 0, read_request = 1, terminate = 2, tagged = 3, reserved = 4 };

constexpr Queue queue_of_opcode[16] = {
	Queue::tagged,	 Queue::read_request, Queue::tagged,   Queue::send,	 // 0 to 3
	Queue::send,	 Queue::send,	      Queue::send,     Queue::terminate, // 4 to 7
	Queue::reserved, Queue::reserved,     Queue::reserved, Queue::reserved,	 // 8 to 11
	Queue::reserved, Queue::reserved,     Queue::reserved, Queue::reserved,	 // 12 to 15
};
constexpr u32 queues = 3;

constexpr Queue queue_of(u8 opcode) { return queue_of_opcode[opcode & 0x0f]; }
constexpr bool is_tagged(u8 opcode) { return queue_of(opcode) == Queue::tagged; }
constexpr bool is_solicited(u8 opcode)
{
	return opcode == CORE_RDMAP_SEND_SE || opcode == CORE_RDMAP_SEND_SE_INV;
}
constexpr bool is_invalidate(u8 opcode)
{
	return opcode == CORE_RDMAP_SEND_INV || opcode == CORE_RDMAP_SEND_SE_INV;
}
static_assert(queue_of(CORE_RDMAP_SEND_SE_INV) == Queue::send &&
	      queue_of(CORE_RDMAP_TERMINATE) == Queue::terminate);

struct ReadRequestHeader { // RFC 5040 figure 6
	be<u32> sink_stag;
	be<u64> sink_to;
	be<u32> length;
	be<u32> source_stag;
	be<u64> source_to;
};
static_assert(sizeof(ReadRequestHeader) == CORE_READ_REQUEST_LEN);
static_assert(__builtin_offsetof(ReadRequestHeader, sink_to) == 4);
static_assert(__builtin_offsetof(ReadRequestHeader, length) == 12);
static_assert(__builtin_offsetof(ReadRequestHeader, source_stag) == 16);
static_assert(__builtin_offsetof(ReadRequestHeader, source_to) == 20);

constexpr core_read_request decode(const ReadRequestHeader &header)
{
	return {header.sink_stag.host(), header.length.host(), header.source_stag.host(),
		header.sink_to.host(), header.source_to.host()};
}

constexpr ReadRequestHeader encode(const core_read_request &request)
{
	return {be<u32>::from_host(request.sink_stag), be<u64>::from_host(request.sink_to),
		be<u32>::from_host(request.length), be<u32>::from_host(request.source_stag),
		be<u64>::from_host(request.source_to)};
}

// RFC 5040 figure 9, error type 1.
enum class ProtectionError : u8 {
	invalid_stag = 0,
	base_or_bounds = 1,
	access = 2,
	not_associated = 3,
	to_wrap = 4,
	cannot_invalidate = 9,
	unspecified = 0xff,
};

// RFC 5040 figure 9, error type 2.
enum class OperationError : u8 {
	version = 5,
	unexpected_opcode = 6,
	stream_catastrophic = 7,
	global_catastrophic = 8,
	cannot_invalidate = 9,
	unspecified = 0xff,
};

constexpr ProtectionError protection_error(core_region_verdict verdict)
{
	switch (verdict) {
	case CORE_REGION_INVALID:
		return ProtectionError::invalid_stag;
	case CORE_REGION_BOUNDS:
		return ProtectionError::base_or_bounds;
	case CORE_REGION_ACCESS:
		return ProtectionError::access;
	case CORE_REGION_FOREIGN:
		return ProtectionError::not_associated;
	case CORE_REGION_WRAP:
		return ProtectionError::to_wrap;
	default:
		return ProtectionError::unspecified;
	}
}

} // namespace srnic
