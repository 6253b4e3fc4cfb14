// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Send: the scheduler. Requests (requests.hh), and responses in the order of the peer's requests
// (RFC 5040 5.5 rule 17), take turns; the RTR of RFC 6581 9.2, the responder's mute of RFC 5044
// 7.1.2 rule 4, the graceful end of RFC 5041 6.2.1 and the Terminate of RFC 5040 5.4. Where
// requests are acknowledged (Documentation/ib.rst): Acks, which go before everything else, and
// going back to a request that the peer was not ready for.
//
// It schedules messages; builder.hh has their wire formats.
#include "requests.hh"

namespace srnic {
namespace {

// ---- taking turns ----

// No request is sent while the peer is not ready, nor behind one that failed or was refused.
bool may_send_requests(const core_tx &tx)
{
	const core_acks *acks = acks_of(tx);

	return !acks || !(acks->delayed || acks->failing || acks->over || ib::ends(*acks));
}

// One that is begun goes on, and one that was sent is sent again.
bool may_take_requests(const core_tx &tx)
{
	const core_acks *acks = acks_of(tx);

	return may_send_requests(tx) && !(acks && acks->paused && !ib::is_again(*acks));
}

// Requests that send nothing are done as they are taken, and a program may post them as fast. So
// many at most are taken for one message: then it is the host's turn to go on, or to pause.
constexpr u32 most_taken = 64;

core_tx_msg *local_message(core_tx &tx)
{
	if (!may_send_requests(tx)) [[unlikely]]
		return nullptr;
	if (!tx.local_active && tx.rtr) [[unlikely]]
		start_rtr(tx);
	if (!tx.local_active && tx.tail != CORE_MSG_NONE) [[unlikely]]
		start_tail(tx);
	for (u32 n = 0; n < most_taken && !tx.local_active; n++)
		if (!may_take_requests(tx) || !take_request(tx))
			break;
	return tx.local_active ? &tx.local : nullptr;
}

bool start_answer(core_tx &tx)
{
	if (tx.stopped || (acks_of(tx) && acks_of(tx)->answer_refused))
		return false;
	if (!core_host_next_read(host(tx), &tx.asked))
		return false;
	tx.answer = {};
	tx.answer_active = 1;
	if (tx.asked.kind == CORE_ASKED_ATOMIC) {
		tx.answer.opcode = CORE_MSG_ATOMIC_RESPONSE;
		tx.answer.msn = ++tx.atomic_msn;
		tx.answer.original = &tx.asked.atomic;
		return true;
	}
	tx.answer.opcode = CORE_MSG_READ_RESPONSE;
	tx.answer.length = tx.asked.read.length;
	tx.answer.stag = tx.asked.read.sink_stag;
	tx.answer.to = tx.asked.read.sink_to;
	return true;
}

core_tx_msg *answer_message(core_tx &tx)
{
	if (tx.local_active && !may_interleave(tx, CORE_MSG_READ_RESPONSE, tx.local.opcode))
		return nullptr;
	return tx.answer_active || start_answer(tx) ? &tx.answer : nullptr;
}

// The last request of the peer that is done: one that waits for its response is not. Requests may
// come at any time, and are waiting before they count: so what counts is read first. One may also
// be answered before it counts.
u32 last_done(core_tx &tx)
{
	const core_acks &acks = *acks_of(tx);
	const u32 received = ib::seen(acks.received);
	core_asked oldest;
	const u32 done = core_host_next_read(host(tx), &oldest) ? oldest.number - 1 : received;

	return ib::is_after(acks.said, done) ? acks.said : done;
}

// ib.rst: an Ack goes before everything else.
core_tx_msg *ack_message(core_tx &tx)
{
	core_acks &acks = *acks_of(tx);

	return ib::ack_wanted(acks) ? ib::ack_due(acks, last_done(tx)) : nullptr;
}

// All before the request that failed is done. A refusal for good that is not said yet is still to
// be said.
void report_failure(core_tx &tx)
{
	core_acks &acks = *acks_of(tx);

	core_host_complete(host(tx), acks.failing);
	ib::note_done(acks);
	acks.failing = 0;
	if (!ib::ends(acks))
		acks.over = CORE_OVER_FAILED;
}

// What a stream with acknowledgements does before it chooses a message. False: nothing may be
// chosen.
bool begin_choice(core_tx &tx)
{
	core_acks &acks = *acks_of(tx);

	if (acks.awaited)
		__atomic_store_n(&acks.awaited, 0, __ATOMIC_RELAXED);
	if (ib::must_rewind(acks) || acks.over)
		return false;
	if (ib::ends(acks))
		abandon_local(tx);
	return true;
}

// Nothing can be sent: is that because a request has failed, and is all before it done?
void end_choice(core_tx &tx)
{
	core_acks &acks = *acks_of(tx);

	if (acks.failing && !ib::await_acks(acks))
		report_failure(tx);
}

core_tx_msg *next_message(core_tx &tx)
{
	core_tx_msg *ack = acks_of(tx) ? ack_message(tx) : nullptr;

	if (ack)
		return ack;
	core_tx_msg *msg = tx.answer_next ? answer_message(tx) : local_message(tx);

	if (msg)
		return msg;
	return tx.answer_next ? local_message(tx) : answer_message(tx);
}

void end_answer(core_tx &tx)
{
	tx.answer_active = 0;
	tx.answered++;
	if (acks_of(tx)) [[unlikely]]
		ib::end_answer(*acks_of(tx), tx.asked.number);
	core_host_answered(host(tx));
}

void end_local(core_tx &tx)
{
	tx.local_active = 0;
	if (tx.tail != CORE_MSG_NONE) [[unlikely]] {
		tx.answer_next = 0; // nothing comes between
		return;
	}
	if (!tx.of_request)
		return;
	if (acks_of(tx)) [[unlikely]]
		ib::end_request(*acks_of(tx));
	core_host_built(host(tx));
}

void end_message(core_tx &tx)
{
	if (tx.turn == &tx.local) [[likely]]
		end_local(tx);
	else if (tx.turn == &tx.answer)
		end_answer(tx);
	else
		ib::end_ack(*acks_of(tx));
}

// The FPDU is built: the other message's turn is next.
void end_turn(core_tx &tx)
{
	tx.building = 0;
	tx.fpdus++;
	if (acks_of(tx) && tx.turn == &tx.local && tx.of_request) [[unlikely]]
		ib::note_fpdu(*acks_of(tx));
	if (tx.turn == &tx.local)
		tx.answer_next = 1;
	else if (tx.turn == &tx.answer)
		tx.answer_next = 0;
	if (tx.turn->done)
		end_message(tx);
}

} // namespace
} // namespace srnic

using namespace srnic;

void core_tx_init(struct core_tx *tx, const struct core_tx_params *params)
{
	*tx = {};
	tx->params = *params;
	tx->muted = !params->initiator && traits(*tx).mutes_responder;
	tx->rtr = params->rtr;
	tx->tail = CORE_MSG_NONE;
	if (traits(*tx).acknowledges)
		params->acks->first = params->initiator;
	if (traits(*tx).numbers_agreed)
		tx->send_msn = params->first_msn - 1;
	builder::start(*tx);
}

void core_tx_set_emss(struct core_tx *tx, u32 emss) { tx->mulpdu = builder::largest(*tx, emss); }

u32 core_tx_choose(struct core_tx *tx)
{
	if (tx->stopped || is_muted(*tx)) [[unlikely]] {
		if (acks_of(*tx) && ib::ends(*acks_of(*tx)))
			acks_of(*tx)->over = CORE_OVER_REFUSED; // and may not be told
		return 0;
	}
	if (acks_of(*tx) && !begin_choice(*tx)) [[unlikely]]
		return 0;
	tx->turn = next_message(*tx);
	if (!tx->turn && acks_of(*tx)) [[unlikely]]
		end_choice(*tx);
	if (!tx->turn || tx->stopped)
		return 0;
	return builder::wire_len(*tx, *tx->turn);
}

struct core_tx_step core_tx_next(struct core_tx *tx)
{
	const bool begin = !tx->building;
	core_tx_step step;

	if (begin) {
		tx->building = 1;
		tx->before = tx->turn->sent;
		builder::begin(*tx, *tx->turn);
	}
	step = builder::next(*tx);
	step.response = tx->turn == &tx->answer;
	if (acks_of(*tx)) [[unlikely]]
		ib::note_octets(*acks_of(*tx), step.len + step.payload, begin);
	if (step.last)
		end_turn(*tx);
	return step;
}

u32 *core_tx_sum(struct core_tx *tx) { return builder::sum(*tx); }

void core_tx_copied(struct core_tx *tx, const void *octets, u32 n)
{
	builder::copied(*tx, octets, n);
}

void core_tx_fail(struct core_tx *tx, enum core_region_verdict verdict)
{
	builder::abandon(*tx);
	tx->building = 0;
	tx->turn->sent = tx->before;
	tx->turn->done = 0;
	if (acks_of(*tx)) [[unlikely]]
		ib::forget_octets(*acks_of(*tx));
	if (tx->turn == &tx->answer)
		source_gone(*tx, verdict);
	else
		refuse_request(*tx, SRNIC_WC_LOC_PROT_ERR);
}

u32 core_tx_terminate(struct core_tx *tx, const struct core_terminate *term)
{
	core_tx_msg msg{};

	tx->stopped = 1;
	if (is_muted(*tx) || !traits(*tx).terminate)
		return 0;
	msg.opcode = CORE_MSG_TERMINATE;
	msg.msn = first_msn;
	msg.term = term;
	begin_local(*tx, msg, false);
	tx->answer_active = 0;
	tx->tail = CORE_MSG_NONE;
	tx->turn = &tx->local;
	return builder::wire_len(*tx, tx->local);
}

void core_tx_close(struct core_tx *tx, u32 posted, bool peer)
{
	if (!tx->closing)
		tx->may_take = posted;
	tx->closing = 1;
	tx->peer_closed |= peer;
}

bool core_tx_closed(struct core_tx *tx)
{
	core_asked asked;

	if (tx->peer_closed && is_muted(*tx)) // nothing may ever be sent
		return true;
	if (!tx->peer_closed && core_host_reads(host(*tx)))
		return false;
	if (acks_of(*tx) && !tx->peer_closed &&
	    (core_acks_unacknowledged(acks_of(*tx)) || ib::must_rewind(*acks_of(*tx))))
		return false;
	if (acks_of(*tx) && ib::ack_wanted(*acks_of(*tx)))
		return false;
	return !tx->local_active && tx->tail == CORE_MSG_NONE && !tx->answer_active &&
	       !tx->may_take && !core_host_next_read(host(*tx), &asked);
}

bool core_tx_may_take(struct core_tx *tx)
{
	if (is_muted(*tx) || (tx->closing && !tx->may_take))
		return false;
	return may_take_requests(*tx) && !(acks_of(*tx) && acks_of(*tx)->awaited);
}

// ---- Where requests are acknowledged ----

bool core_tx_must_rewind(const struct core_tx *tx, struct core_rewind *how)
{
	const core_acks *acks = acks_of(*tx);

	if (!acks || acks->over || !ib::must_rewind(*acks))
		return false;
	const core_sent &sent = ib::record(*acks, acks->acked + 1);

	how->index = ib::next_index(sent);
	how->reads = tx->read_msn - sent.read_msn;
	how->delay = acks->delay;
	return true;
}

// Numbers and MSNs are given anew. An RDMA Write that is done is not repeated: only its Immediate
// Data are.
void core_tx_rewind(struct core_tx *tx)
{
	core_acks &acks = *acks_of(*tx);
	const core_sent &sent = ib::record(acks, acks.acked + 1);

	abandon_local(*tx);
	if (tx->closing)
		tx->may_take += acks.index - ib::next_index(sent);
	tx->send_msn = sent.send_msn;
	tx->read_msn = sent.read_msn;
	tx->extended_msn = sent.extended_msn;
	tx->of_request = 1;
	tx->tail = sent.tail;
	__builtin_memcpy(tx->immediate, sent.immediate, sizeof(tx->immediate));
	ib::rewind(acks);
}

void core_tx_resume(struct core_tx *tx) { acks_of(*tx)->delayed = 0; }

void core_tx_set_ord(struct core_tx *tx, u32 ord) { tx->params.ord = ord; }

void core_tx_ack_now(struct core_tx *tx) { acks_of(*tx)->now = 1; }

void core_tx_probe(struct core_tx *tx) { acks_of(*tx)->probe = 1; }

enum core_over core_tx_over(const struct core_tx *tx)
{
	return acks_of(*tx) ? static_cast<core_over>(acks_of(*tx)->over) : CORE_OVER_NOT;
}

u32 core_tx_next_request(const struct core_tx *tx)
{
	return acks_of(*tx)->index - acks_of(*tx)->unbegun;
}

u32 core_tx_last_ack(struct core_tx *tx, u8 out[CORE_ACK_FPDU])
{
	core_tx_step step;
	u32 len = 0;

	if (!acks_of(*tx) || tx->stopped || is_muted(*tx))
		return 0;
	tx->stopped = 1;
	tx->turn = ib::last_ack(*acks_of(*tx), last_done(*tx));
	do {
		step = core_tx_next(tx);
		__builtin_memcpy(out + len, step.bytes, step.len);
		len += step.len;
	} while (!step.last);
	return len;
}
