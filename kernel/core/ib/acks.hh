// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Acknowledgements (Documentation/ib.rst): numbers of requests; what an Ack or a response of the
// peer means for this end's requests; when this end says what it has delivered, or refuses.
//
// struct core_acks says which half of a stream may change which field. A field that the other half
// reads is published with a release, and read with an acquire: whoever sees a number also sees what
// was done before it; but the entry of a receive may come into its CQ a moment later, as with
// InfiniBand.
#pragma once

#include "message_rules.hh"

namespace srnic::ib {

// Is the number after `from`, and not after `to`?
constexpr bool within(u32 number, u32 from, u32 to) { return number - from - 1 < to - from; }
static_assert(within(1, 0, 1) && !within(0, 0, 1) && !within(2, 0, 1) && !within(1, 1, 1));
static_assert(within(1, ~0u, 3) && within(0, ~0u, 3) && !within(~0u, ~0u, 3));

constexpr bool is_after(u32 number, u32 other) { return static_cast<int>(number - other) > 0; }

template <class T> T seen(const T &field) { return __atomic_load_n(&field, __ATOMIC_ACQUIRE); }
template <class T> void publish(T &field, T value)
{
	__atomic_store_n(&field, value, __ATOMIC_RELEASE);
}

inline core_sent &record(const core_acks &acks, u32 number)
{
	return acks.sent[number & acks.mask];
}

// The index of the next request to be taken, once the engine has gone back to this one. A Write
// that is done is not taken again.
inline u32 next_index(const core_sent &sent) { return sent.index + (sent.tail != CORE_MSG_NONE); }

// ---- the receive half, as the requester ----

// What an Ack means. It may come at any time, so every field is checked.
Verdict take_ack(core_acks &acks, const core_ack &ack, const core_read_sink *oldest_read,
		 core_acked &out);
// May this request be answered?
bool may_be_answered(const core_acks &acks, u32 number);
// May an Ack name this number? Before the oldest read is looked up.
bool may_be_delivered(const core_acks &acks, u32 delivered);
// A response to this request is complete: the peer has done all before it, too.
Verdict take_response(core_acks &acks, u32 number, core_acked &out);

// ---- the receive half, as the responder ----

// How a message that cannot be delivered is refused; NONE: the peer has broken the protocol.
core_syndrome syndrome_of(Message message, Verdict verdict);
// The request after the last one received is refused.
void refuse(core_acks &acks, core_syndrome syndrome);
// The refused request comes again. False if it was not refused yet.
bool refused_again(core_acks &acks);

// The host has done all that the request asks for.
inline void count(core_acks &acks, bool asks)
{
	publish(acks.received, acks.received + 1);
	if (asks)
		publish(acks.asked, acks.received);
}

// ---- the engine ----

// Does the receive half want the engine to go back?
inline bool must_rewind(const core_acks &acks) { return seen(acks.rewinding); }

// Is a request of the peer refused for good? Then this end's requests have ended.
inline bool ends(const core_acks &acks)
{
	return acks.answer_refused || (seen(acks.refusals) != acks.refusals_said &&
				       acks.refusing != CORE_SYNDROME_NOT_READY);
}

// Was the next request taken before?
inline bool is_again(const core_acks &acks) { return is_after(acks.was_done, acks.index); }

// Records the request that was taken from the queue and is about to begin.
void note_request(core_acks &acks, const core_tx &tx, const core_operation &op,
		  const srnic_send_wqe &wqe);
// The request taken last cannot be sent. If an earlier one has to be sent again it is tried again.
inline void fail_request(core_acks &acks, u8 status)
{
	acks.failing = status;
	if (!acks.again)
		acks.was_done = acks.index - 1;
}

// The request taken last sent nothing, and is done.
inline void note_done(core_acks &acks) { acks.unbegun = 0; }

// The message of a request begins; tail: what follows it.
void begin_message(core_acks &acks, core_tx_msg &msg, u8 tail, const u8 *immediate);

// An FPDU of the request is built, and cannot be taken back any more.
inline void note_fpdu(core_acks &acks)
{
	acks.half_done = acks.unbegun = 0;
	publish(acks.begun, acks.whole + 1);
}
// Octets of an FPDU are built; they begin it, or they do not; or it cannot be built after all.
inline void note_octets(core_acks &acks, u32 octets, bool begin)
{
	acks.fpdu_octets = octets + (begin ? 0 : acks.fpdu_octets);
	acks.octets += octets;
}
inline void forget_octets(core_acks &acks)
{
	acks.octets -= acks.fpdu_octets;
	acks.fpdu_octets = 0;
}

// All FPDUs of the request are built.
inline void end_request(core_acks &acks)
{
	record(acks, acks.whole + 1).end = acks.octets;
	publish(acks.whole, acks.whole + 1);
}
inline void end_answer(core_acks &acks, u32 number) { publish(acks.said, number); }

// The engine has gone back to the request after the last one acknowledged. With receive's lock.
void rewind(core_acks &acks);

// The Ack that is due, or nullptr. done: the last request of the peer that is done.
bool ack_wanted(const core_acks &acks);
core_tx_msg *ack_due(core_acks &acks, u32 done);
// The Ack of an end that leaves its stream.
core_tx_msg *last_ack(core_acks &acks, u32 done);
void end_ack(core_acks &acks);

// True if requests are unacknowledged; core_acks_awaited() is true when that may have changed.
bool await_acks(core_acks &acks);

} // namespace srnic::ib
