// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Common types: regions and work requests, what an endpoint reports, and how a run fails.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <rdma/srnic-abi.h>
#include "api/core.h"

namespace sim {

using Bytes = std::vector<u8>;

// A small and fast random number generator: a mixed counter.
struct Random {
	u64 state;

	explicit Random(u64 seed) : state(seed) {}
	u64 operator()()
	{
		u64 v = state += 0x9e3779b97f4a7c15;

		v = (v ^ v >> 32) * 0xd6e8feb86659fd93;
		v = (v ^ v >> 32) * 0xd6e8feb86659fd93;
		return v ^ v >> 32;
	}
};

inline u64 below(Random &random, u64 n) { return n ? random() % n : 0; }
inline bool one_in(Random &random, u64 n) { return below(random, n) == 0; }

// Something violates the specs or the oracle's model.
struct Broken : std::runtime_error {
	using std::runtime_error::runtime_error;
};

[[noreturn, gnu::format(printf, 1, 2)]] inline void broken(const char *format, ...)
{
	char text[300];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	throw Broken(text);
}

// A memory region: bytes [at, at + length) of its endpoint's memory, which others know as [base,
// base + length) of stag.
struct Mr {
	u32 stag;
	u64 base, length;
	u32 pd, access;
	u64 at;
	bool fast_reg, valid;
};

constexpr u32 our_pd = 7, foreign_pd = 8;

// A region of fast registration under a new key keeps its index, the upper 24 bits.
constexpr u32 with_key(u32 stag, u32 key) { return (stag & ~0xffu) | (key & 0xff); }

struct SendRequest {
	srnic_send_wqe wqe{};
	std::vector<srnic_sge> sges;
	Bytes data;		// with SRNIC_WQE_INLINE
	bool malformed = false; // set by the generator: the slot itself must be refused
};

struct RecvRequest {
	u64 wr_id = 0;
	std::vector<srnic_sge> sges;
	bool malformed = false;
};

inline u32 length_of(const std::vector<srnic_sge> &sges)
{
	u32 length = 0;

	for (const srnic_sge &sge : sges)
		length += sge.length;
	return length;
}
inline u32 length_of(const SendRequest &request)
{
	return static_cast<u32>(request.data.size()) + length_of(request.sges);
}

inline bool is_read(u8 op) { return core_operation_of(op)->direction == CORE_DIRECTION_IN; }
inline bool is_send(u8 op) { return core_operation_of(op)->handler == CORE_HANDLE_SEND; }
inline bool is_local(u8 op)
{
	return core_operation_of(op)->known && core_operation_of(op)->wire == CORE_MSG_NONE;
}

// The origin of a message.
enum class Source { request, response, rtr, terminate, ack };

// Why an endpoint's connection is over.
enum class Cause {
	peer_error,	 // the core refused received data
	local_error,	 // an impossible work request
	response_gone,	 // the source of a peer's read is gone
	peer_terminated, // a Terminate came
	stream_over,	 // reset or closed
	peer_refused,	 // this end's request, for good
	refused_peer,	 // the peer's request, and the peer knows
};

// What an endpoint reports, for side 0 or 1.
struct Witness {
	virtual ~Witness() = default;
	// A message starts, of the send queue entry `index` if it is a request's.
	virtual void started(unsigned, Source, const core_tx_msg &, u32 /*index*/) {}
	// Some of that message's payload was read from memory.
	virtual void fetched(unsigned, Source, u32 /*offset*/, u32 /*len*/) {}
	// All of that message is built; it ends at this offset of the stream.
	virtual void finished(unsigned, Source, u64 /*stream_end*/) {}
	// A local request was done.
	virtual void done_locally(unsigned, u32 /*index*/) {}
	// Received data was written to memory.
	virtual void wrote(unsigned, core_place_kind, u64 /*at*/, u32 /*len*/) {}
	virtual void delivered(unsigned, core_rx_event) {}
	virtual void completed(unsigned, const srnic_cqe &, bool /*solicited*/) {}
	// No receive is posted for what begins to arrive.
	virtual void found_no_receive(unsigned) {}
	// With acknowledgements: the peer's next request is refused; this end's response cannot be
	// built; this end's request cannot be sent; this end goes back to a request, or to the
	// Immediate Data of one.
	virtual void refused(unsigned, core_syndrome) {}
	virtual void answer_refused(unsigned) {}
	virtual void gave_up(unsigned, u32 /*index*/) {}
	virtual void rewound(unsigned, u32 /*index*/) {}
	// This end has no stream any more, and begins the next one with a request, which it may
	// have taken before; it leaves its stream with or without a last Ack.
	virtual void lost(unsigned, u32 /*index*/, bool /*again*/) {}
	virtual void left(unsigned, bool /*acknowledges*/) {}
	virtual void connected(unsigned, const core_startup_agreed &) {}
	// With the Terminate for the peer, or the fault for which RDMA/TCP resets.
	virtual void failed(unsigned, Cause, const core_terminate *, core_rdmatcp_fault) {}
};

} // namespace sim
