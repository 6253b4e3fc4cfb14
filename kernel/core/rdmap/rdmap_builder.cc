// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMAP's own messages on transmit, and segments for callers without a scheduler: the Terminate of
// the startup phase (RFC 6581 8) and tests.
#include "ib/ack.hh"
#include "ib/extended.hh"
#include "mpa/startup.hh"
#include "rdmap/atomic.hh"
#include "rdmap/terminate.hh"
#include "rdmap/rdmap_builder.hh"

namespace srnic {

u32 own_len(const core_tx_msg &msg)
{
	u8 ignored[CORE_TERM_MAX];

	switch (msg.opcode) {
	case CORE_MSG_TERMINATE:
		return core_terminate_build(msg.term, ignored);
	case CORE_MSG_READ_REQUEST:
		return CORE_READ_REQUEST_LEN;
	case CORE_MSG_ATOMIC_REQUEST:
		return CORE_ATOMIC_REQUEST_LEN;
	case CORE_MSG_ATOMIC_RESPONSE:
		return CORE_ATOMIC_RESPONSE_LEN;
	case CORE_MSG_ACK:
		return CORE_ACK_LEN;
	case CORE_MSG_EXTENDED:
		return CORE_EXTENDED_LEN;
	default:
		return CORE_IMMEDIATE_LEN;
	}
}

u32 put_own(const core_tx_msg &msg, u8 *to)
{
	switch (msg.opcode) {
	case CORE_MSG_TERMINATE:
		return core_terminate_build(msg.term, to);
	case CORE_MSG_READ_REQUEST:
		store(to, encode(*msg.request));
		return CORE_READ_REQUEST_LEN;
	case CORE_MSG_ATOMIC_REQUEST:
		store(to, encode(*msg.atomic));
		return CORE_ATOMIC_REQUEST_LEN;
	case CORE_MSG_ATOMIC_RESPONSE:
		store(to, encode(*msg.original));
		return CORE_ATOMIC_RESPONSE_LEN;
	case CORE_MSG_ACK:
		store(to, ib::encode(*msg.ack));
		return CORE_ACK_LEN;
	case CORE_MSG_EXTENDED:
		store(to, ib::encode(*msg.extended));
		return CORE_EXTENDED_LEN;
	default:
		__builtin_memcpy(to, msg.immediate, CORE_IMMEDIATE_LEN);
		return CORE_IMMEDIATE_LEN;
	}
}

} // namespace srnic

using namespace srnic;

void core_fpdu_begin(struct core_fpdu *fpdu, struct core_tx_msg *msg, u32 mulpdu)
{
	begin_segment(*fpdu, *msg, mulpdu);
}

u32 core_fpdu_len(const struct core_fpdu *fpdu, const struct core_tx_msg *msg, u32 mulpdu)
{
	return segment_wire_len(*fpdu, *msg, mulpdu);
}

u32 core_fpdu_build(struct core_fpdu *fpdu, struct core_tx_msg *msg, u32 mulpdu, const u8 *payload,
		    u8 *out)
{
	core_tx_step step;
	u32 len = 0;

	begin_segment(*fpdu, *msg, mulpdu);
	do {
		step = next_step(*fpdu);
		if (step.len)
			__builtin_memcpy(out + len, step.bytes, step.len);
		len += step.len;
		if (!step.payload)
			continue;
		sum_up(*fpdu, payload + step.offset, step.payload);
		__builtin_memcpy(out + len, payload + step.offset, step.payload);
		len += step.payload;
	} while (!step.last);
	return len;
}

u32 core_terminate_fpdu(const struct core_terminate *term, bool markers,
			u8 out[CORE_TERM_FPDU_MAX])
{
	core_tx_msg msg{};
	core_fpdu fpdu;

	msg.opcode = CORE_MSG_TERMINATE;
	msg.msn = first_msn;
	msg.term = term;
	core_fpdu_init(&fpdu, true, markers);
	return core_fpdu_build(&fpdu, &msg, mulpdu_min, nullptr, out);
}
