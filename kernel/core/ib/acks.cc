// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Acknowledgements: the decisions (Documentation/ib.rst, "Acks", "Receiver not ready").
#include "ib/acks.hh"
#include "operations.hh"
#include "rdmap/rdmap.hh"

namespace srnic::ib {
namespace {

// What the halves write all the time is in cache lines of their own.
static_assert(__builtin_offsetof(core_acks, first) < 128 &&
	      __builtin_offsetof(core_acks, acked) >= 128 && sizeof(core_acks) <= 192);

// ---- the requester ----

// The last request that may be acknowledged. While the engine has to go back, what it has built
// since counts for nothing.
u32 last_whole(const core_acks &acks) { return acks.rewinding ? acks.acked : seen(acks.whole); }

u32 last_begun(const core_acks &acks) { return acks.rewinding ? acks.acked : seen(acks.begun); }

void advance(core_acks &acks, u32 delivered)
{
	if (delivered == acks.acked)
		return;
	acks.tries = 0;
	acks.acked_end = record(acks, delivered).index + 1;
	publish(acks.acked, delivered);
}

// Only what takes a receive can find none. A Write is done when its Immediate Data are refused.
bool may_be_not_ready(const core_acks &acks, u32 number)
{
	const core_sent &sent = record(acks, number);

	if (sent.tail != CORE_MSG_NONE)
		return may_be_answered(acks, number);
	return sent.handler == CORE_HANDLE_SEND || sent.handler == CORE_HANDLE_IMMEDIATE;
}

u8 status_of(u8 syndrome)
{
	switch (syndrome) {
	case CORE_SYNDROME_ACCESS:
		return SRNIC_WC_REM_ACCESS_ERR;
	case CORE_SYNDROME_OPERATION:
		return SRNIC_WC_REM_OP_ERR;
	default:
		return SRNIC_WC_REM_INV_REQ_ERR;
	}
}

bool may_try_again(const core_acks &acks)
{
	const u8 most = __atomic_load_n(&acks.rnr_retry, __ATOMIC_RELAXED);

	return most == CORE_RNR_FOR_EVER || acks.tries < most;
}

Verdict take_not_ready(core_acks &acks, const core_ack &ack, core_acked &out)
{
	if (!may_be_not_ready(acks, ack.delivered + 1) || ack.timer > 31)
		return Verdict::wrong_ack;
	if (!may_try_again(acks)) {
		out.kind = CORE_ACKED_REFUSED;
		out.status = SRNIC_WC_RNR_RETRY_EXC_ERR;
		return Verdict::good;
	}
	if (acks.tries < CORE_RNR_FOR_EVER)
		acks.tries++;
	acks.delay = core_rnr_delay(ack.timer);
	publish(acks.rewinding, u8{1});
	out.kind = CORE_ACKED_AGAIN;
	return Verdict::good;
}

Verdict take_refusal(core_acks &acks, const core_ack &ack, core_acked &out)
{
	if (!within(ack.delivered + 1, acks.acked, last_begun(acks)) ||
	    ack.syndrome >= CORE_SYNDROMES)
		return Verdict::wrong_ack;
	advance(acks, ack.delivered);
	out.end = record(acks, ack.delivered + 1).index;
	if (ack.syndrome == CORE_SYNDROME_NOT_READY)
		return take_not_ready(acks, ack, out);
	out.kind = CORE_ACKED_REFUSED;
	out.status = status_of(ack.syndrome);
	return Verdict::good;
}

bool acknowledges_unanswered(const core_acks &acks, u32 delivered, const core_read_sink *oldest)
{
	return oldest && within(oldest->number, acks.acked, delivered);
}

// ---- the engine ----

// A refusal names the request after the last one done, so it waits for all earlier responses.
u8 syndrome_due(const core_acks &acks, u32 done)
{
	if (acks.answer_refused)
		return acks.answer_refused;
	if (seen(acks.refusals) != acks.refusals_said && done == seen(acks.received))
		return acks.refusing;
	return CORE_SYNDROME_NONE;
}

bool something_asked_is_done(const core_acks &acks, u32 done)
{
	const u32 asked = seen(acks.asked);

	return is_after(asked, acks.said) && is_after(done, acks.said);
}

void lay_out(core_acks &acks, u32 done, u8 syndrome)
{
	const u8 timer = __atomic_load_n(&acks.min_rnr_timer, __ATOMIC_RELAXED);

	acks.ack = {done, syndrome, syndrome == CORE_SYNDROME_NOT_READY ? timer : u8{0}};
	acks.message = {};
	acks.message.opcode = CORE_MSG_ACK;
	acks.message.control = acks.probe ? control_ask : u8{0};
	acks.message.msn = ++acks.ack_msn;
	acks.message.ack = &acks.ack;
	acks.ack_active = 1;
	publish(acks.probes_answered, seen(acks.probes));
	acks.probe = acks.first = 0;
}

bool is_request_for_response(u8 opcode)
{
	return opcode == CORE_MSG_READ_REQUEST || opcode == CORE_MSG_ATOMIC_REQUEST;
}

} // namespace

// ---- the receive half, as the requester ----

bool may_be_answered(const core_acks &acks, u32 number)
{
	return within(number, acks.acked, last_whole(acks)) &&
	       record(acks, number).end <= acks.gone;
}

bool may_be_delivered(const core_acks &acks, u32 delivered)
{
	return delivered == acks.acked || may_be_answered(acks, delivered);
}

// A Read or atomic operation is not done before its response has come.
Verdict take_ack(core_acks &acks, const core_ack &ack, const core_read_sink *oldest_read,
		 core_acked &out)
{
	if (acknowledges_unanswered(acks, ack.delivered, oldest_read))
		return Verdict::wrong_ack;
	out = {CORE_ACKED, 0, 0};
	if (ack.syndrome != CORE_SYNDROME_NONE)
		return take_refusal(acks, ack, out);
	advance(acks, ack.delivered);
	out.end = acks.acked_end;
	return Verdict::good;
}

Verdict take_response(core_acks &acks, u32 number, core_acked &out)
{
	if (!may_be_answered(acks, number))
		return Verdict::wrong_ack;
	out = {CORE_ACKED, 0, record(acks, number).index};
	advance(acks, number);
	return Verdict::good;
}

// ---- the receive half, as the responder ----

core_syndrome syndrome_of(Message message, Verdict verdict)
{
	switch (verdict) {
	case Verdict::stag_invalid:
	case Verdict::out_of_bounds:
	case Verdict::no_access:
	case Verdict::foreign:
	case Verdict::wraps:
		return CORE_SYNDROME_ACCESS;
	case Verdict::no_buffer:
		return message == Message::send || message == Message::immediate
			       ? CORE_SYNDROME_NOT_READY
			       : CORE_SYNDROME_INVALID;
	case Verdict::misaligned:
	case Verdict::unsupported:
	case Verdict::not_allowed:
		return CORE_SYNDROME_INVALID;
	case Verdict::too_long: // for its receive; others have a wrong length
		return message == Message::send ? CORE_SYNDROME_INVALID : CORE_SYNDROME_NONE;
	case Verdict::local:
		return CORE_SYNDROME_OPERATION;
	default:
		return CORE_SYNDROME_NONE;
	}
}

void refuse(core_acks &acks, core_syndrome syndrome)
{
	acks.refusing = syndrome;
	publish(acks.refusals, acks.refusals + 1);
}

bool refused_again(core_acks &acks)
{
	if (seen(acks.refusals_said) != acks.refusals)
		return false;
	acks.refusing = CORE_SYNDROME_NONE;
	return true;
}

// ---- the engine ----

void note_request(core_acks &acks, const core_tx &tx, const core_operation &op,
		  const srnic_send_wqe &wqe)
{
	acks.signaled = (wqe.flags & SRNIC_WQE_SIGNALED) != 0;
	acks.again = is_again(acks);
	acks.unbegun = 1;
	acks.index++;
	acks.was_done = acks.again ? acks.was_done : acks.index;
	record(acks, acks.whole + 1) = {0,		 acks.index - 1,  tx.send_msn,
					tx.read_msn,	 tx.extended_msn, {},
					op.handler,	 CORE_MSG_NONE};
}

// A response acknowledges what came before it, so its request need not ask.
void begin_message(core_acks &acks, core_tx_msg &msg, u8 tail, const u8 *immediate)
{
	if (tail != CORE_MSG_NONE) {
		core_sent &sent = record(acks, acks.whole + 1);

		sent.tail = tail;
		__builtin_memcpy(sent.immediate, immediate, sizeof(sent.immediate));
		msg.control = control_more;
		return;
	}
	if (is_request_for_response(msg.opcode)) {
		acks.unasked = 0;
		return;
	}
	if (!acks.signaled && ++acks.unasked < acks.ask_every)
		return;
	acks.unasked = 0;
	msg.control = control_ask;
}

void rewind(core_acks &acks)
{
	const core_sent &sent = record(acks, acks.acked + 1);

	acks.index = next_index(sent);
	acks.half_done = sent.tail != CORE_MSG_NONE;
	publish(acks.begun, acks.acked);
	publish(acks.whole, acks.acked);
	acks.unasked = 0;
	acks.failing = acks.unbegun = 0;
	acks.signaled = 1;
	acks.delayed = 1;
	publish(acks.rewinding, u8{0});
}

bool ack_wanted(const core_acks &acks)
{
	return acks.ack_active || acks.now || acks.probe || acks.first || acks.answer_refused ||
	       is_after(seen(acks.asked), acks.said) || seen(acks.probes) != acks.probes_answered ||
	       seen(acks.refusals) != acks.refusals_said;
}

core_tx_msg *ack_due(core_acks &acks, u32 done)
{
	const u8 syndrome = syndrome_due(acks, done);
	bool due = syndrome != CORE_SYNDROME_NONE || acks.probe || acks.first ||
		   seen(acks.probes) != acks.probes_answered || something_asked_is_done(acks, done);

	if (acks.ack_active)
		return &acks.message;
	due |= acks.now && is_after(done, acks.said);
	acks.now &= done != seen(acks.received); // an answer comes first
	if (!due)
		return nullptr;
	lay_out(acks, done, syndrome);
	return &acks.message;
}

// An Ack that was chosen and is not built has not used its MSN.
core_tx_msg *last_ack(core_acks &acks, u32 done)
{
	acks.ack_msn -= acks.ack_active;
	acks.probe = 0;
	lay_out(acks, done, CORE_SYNDROME_NONE);
	return &acks.message;
}

// After a refusal for good the engine sends nothing more. When the end then leaves its stream, its
// last Ack (rule 31) says again what is delivered, and refuses nothing.
void end_ack(core_acks &acks)
{
	acks.ack_active = 0;
	publish(acks.said, acks.ack.delivered);
	if (acks.ack.syndrome == CORE_SYNDROME_NONE)
		return;
	if (acks.ack.syndrome != CORE_SYNDROME_NOT_READY)
		acks.over = CORE_OVER_REFUSED;
	if (!acks.answer_refused)
		publish(acks.refusals_said, acks.refusals_said + 1);
}

bool await_acks(core_acks &acks)
{
	__atomic_store_n(&acks.awaited, 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); // awaited before acked: core_acks_awaited()
	if (seen(acks.acked) != acks.whole)
		return true;
	__atomic_store_n(&acks.awaited, 0, __ATOMIC_RELAXED);
	return false;
}

} // namespace srnic::ib

using namespace srnic;

void core_acks_init(struct core_acks *acks)
{
	const core_acks set = *acks;

	*acks = {};
	acks->gone = CORE_GONE_ALL;
	acks->rnr_retry = set.rnr_retry;
	acks->min_rnr_timer = set.min_rnr_timer;
	acks->access = set.access;
	acks->paused = set.paused;
	acks->ask_every = set.ask_every;
	acks->sent = set.sent;
	acks->mask = set.mask;
}

// What belongs to the stream before is over: refusals, too, whose requests come again or not.
// Numbers go on, how often the next request was refused, and the host's part.
void core_acks_start(struct core_acks *acks, u32 index)
{
	const u32 sent = acks->acked, received = acks->received;
	const u8 tries = acks->tries;

	core_acks_init(acks);
	acks->tries = tries;
	acks->index = acks->was_done = index;
	acks->begun = acks->whole = acks->acked = sent;
	acks->acked_end = index;
	acks->received = acks->asked = acks->said = received;
	acks->ack_in_msn = CORE_FIRST_MSN;
}

bool core_acks_unacknowledged(const struct core_acks *acks)
{
	return acks->begun != ib::seen(acks->acked) || acks->half_done || ib::is_again(*acks) ||
	       core_acks_must_fail(acks);
}

bool core_acks_must_fail(const struct core_acks *acks) { return acks->over || ib::ends(*acks); }

bool core_acks_owed(const struct core_acks *acks)
{
	return ib::is_after(ib::seen(acks->received), ib::seen(acks->said));
}

bool core_acks_only_asked(const struct core_acks *acks, u32 most)
{
	return ib::seen(acks->received) - ib::seen(acks->said) <= most &&
	       ib::seen(acks->probes) == ib::seen(acks->probes_answered) &&
	       ib::seen(acks->refusals) == ib::seen(acks->refusals_said);
}

bool core_acks_awaited(const struct core_acks *acks)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST); // acked before awaited: await_acks()
	return __atomic_load_n(&acks->awaited, __ATOMIC_RELAXED);
}
