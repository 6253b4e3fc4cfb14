// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMAP (RFC 5040): the control octet and the DDP fields of each opcode (4.1, figures 3 and 4; RFC
// 7306 figure 2; Documentation/ib.rst), the RDMA Read Request header (4.4), and the numbers of
// RDMAP's errors (4.8, figure 9).
#pragma once

#include "ddp/ddp.hh"
#include "segment.hh"

namespace srnic {

struct RdmapControl { // RFC 5040 figure 3
	u8 octet;

	constexpr u8 opcode() const { return octet & 0x0f; }
	// 4.1: 00b and 01b are both valid.
	constexpr bool version_ok() const { return !(octet & 0x80); }

	static constexpr RdmapControl make(u8 opcode) { return {static_cast<u8>(0x40 | opcode)}; }
};
static_assert(RdmapControl::make(CORE_MSG_SEND).octet == 0x43); // RFC 5044 figure 5

// RFC 5040 figure 4: the queue of an untagged message, or `tagged`.
enum class Queue : u8 {
	send = 0,
	read_request = 1, // and Atomic Requests
	terminate = 2,
	atomic_response = 3, // RFC 7306 figure 2
	ack = 4,	     // ib.rst
	extended = 5,	     // ib.rst
	tagged = 6,
	reserved = 7,
};

struct Opcode {
	u8 opcode;
	Queue queue;
	Message message;
	bool solicited, invalidate;
	bool word = invalidate; // what RDMAP keeps in the DDP header: an STag, or Immediate Data
};

// RFC 5040 figure 4, RFC 7306 figure 2 and ib.rst, one row per opcode.
constexpr Opcode opcodes[] = {
	{CORE_MSG_WRITE, Queue::tagged, Message::write, false, false},
	{CORE_MSG_READ_REQUEST, Queue::read_request, Message::read_request, false, false},
	{CORE_MSG_READ_RESPONSE, Queue::tagged, Message::read_response, false, false},
	{CORE_MSG_SEND, Queue::send, Message::send, false, false},
	{CORE_MSG_SEND_INV, Queue::send, Message::send, false, true},
	{CORE_MSG_SEND_SE, Queue::send, Message::send, true, false},
	{CORE_MSG_SEND_SE_INV, Queue::send, Message::send, true, true},
	{CORE_MSG_TERMINATE, Queue::terminate, Message::control, false, false},
	{CORE_MSG_IMMEDIATE, Queue::send, Message::immediate, false, false},
	{CORE_MSG_IMMEDIATE_SE, Queue::send, Message::immediate, true, false},
	{CORE_MSG_ATOMIC_REQUEST, Queue::read_request, Message::atomic_request, false, false},
	{CORE_MSG_ATOMIC_RESPONSE, Queue::atomic_response, Message::atomic_response, false, false},
	{CORE_MSG_ACK, Queue::ack, Message::ack, false, false},
	{CORE_MSG_SEND_IMM, Queue::send, Message::send, false, false, true},
	{CORE_MSG_SEND_SE_IMM, Queue::send, Message::send, true, false, true},
	{CORE_MSG_EXTENDED, Queue::extended, Message::extended, false, false},
};

constexpr const Opcode &row_of(u8 opcode) { return opcodes[opcode & 0x0f]; }
constexpr Queue queue_of(u8 opcode) { return row_of(opcode).queue; }
constexpr bool is_tagged(u8 opcode) { return queue_of(opcode) == Queue::tagged; }
constexpr bool is_solicited(u8 opcode) { return row_of(opcode).solicited; }
constexpr bool has_word(u8 opcode) { return row_of(opcode).word; }

constexpr bool every_row_is_in_its_place()
{
	for (u8 i = 0; i < 16; i++)
		if (opcodes[i].opcode != i)
			return false;
	return sizeof(opcodes) == 16 * sizeof(opcodes[0]);
}
static_assert(every_row_is_in_its_place());

// The opcodes and queues of RFC 5040 and RFC 7306.
struct RdmapDialect {
	enum : u32 { queues = 4, num_opcodes = CORE_MSG_ATOMIC_RESPONSE + 1 };
};
// And those of ib.rst.
struct IbDialect {
	enum : u32 { queues = 5, num_opcodes = CORE_MSG_SEND_SE_IMM + 1 };
};
// And with the feature of Flush and Atomic Write.
struct ExtendedDialect {
	enum : u32 { queues = 6, num_opcodes = CORE_MSG_EXTENDED + 1 };
};

// The queue of an opcode; reserved if it is not the dialect's.
template <class Dialect> constexpr Queue queue_in(u8 opcode)
{
	return (opcode & 0x0f) < Dialect::num_opcodes ? queue_of(opcode) : Queue::reserved;
}
static_assert(queue_in<RdmapDialect>(CORE_MSG_ACK) == Queue::reserved &&
	      queue_in<IbDialect>(CORE_MSG_ACK) == Queue::ack);
static_assert(queue_in<IbDialect>(CORE_MSG_EXTENDED) == Queue::reserved &&
	      queue_in<ExtendedDialect>(CORE_MSG_EXTENDED) == Queue::extended);

// ib.rst: bits of the control octet that RFC 5040 reserves.
constexpr u8 control_ask = 0x20, control_more = 0x10;

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
	acknowledgement = 0x10, // ib.rst
	unspecified = 0xff,
};

} // namespace srnic
