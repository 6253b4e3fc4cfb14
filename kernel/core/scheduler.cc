// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Send: the scheduler. Requests in the order of posting (RFC 5040 5.5 rule 13), responses in the
// order of the peer's requests (rule 17), taking turns; message sequence numbers (RFC 5041 4.3),
// waiting for reads (ORD: RFC 5040 6.1 and 8.1; the fence), the RTR of RFC 6581 9.2, the
// responder's mute of RFC 5044 7.1.2 rule 4, the graceful end of RFC 5041 6.2.1 and the Terminate
// of RFC 5040 5.4. Where requests are acknowledged (Documentation/ib.rst): Acks, which go before
// everything else, and going back to a request that the peer was not ready for.
//
// It schedules messages; builder.hh has their wire formats.
#include "framings.hh"
#include "ib/acks.hh"
#include "operations.hh"
#include "builder.hh"
#include "rdmap/terminate.hh"

namespace srnic {
namespace {

static_assert(mulpdu_min >= CORE_ULPDU_HEAD); // RDMAP's own messages are one segment

void *host(const core_tx &tx) { return tx.params.ctx; }

const core_framing_traits &traits(const core_tx &tx)
{
	return traits_of(static_cast<core_framing>(tx.params.framing));
}

// RFC 5044 7.1.2 rule 4: a responder sends nothing before it has received and validated an FPDU.
bool is_muted(core_tx &tx)
{
	if (tx.muted) [[unlikely]]
		tx.muted = !core_host_validated(host(tx));
	return tx.muted;
}

// The number of the next message of this queue (RFC 5041 4.3), or of the stream
// (draft-williams-rdmatcp-00 3.4).
u32 number(core_tx &tx, u32 &of_queue)
{
	return ++(traits(tx).numbers_by_queue ? of_queue : tx.send_msn);
}

void begin_local(core_tx &tx, const core_tx_msg &msg, bool of_request)
{
	tx.local = msg;
	tx.local_active = 1;
	tx.of_request = of_request;
	if (tx.params.acks && of_request) [[unlikely]]
		ib::begin_message(*tx.params.acks, tx.local, tx.tail, tx.immediate);
}

// This end's own message ends where it is.
void abandon_local(core_tx &tx)
{
	tx.local_active = 0;
	tx.tail = CORE_MSG_NONE;
}

// ---- errors of this end ----

// RFC 5040 7.1 case 1: an error in a message that is not sent yet. The Terminate is sent instead.
[[gnu::cold, gnu::noinline]] void refuse_request(core_tx &tx, u8 status)
{
	core_terminate term;

	if (tx.params.acks) { // reported when everything before it is acknowledged
		ib::fail_request(*tx.params.acks, status);
		return abandon_local(tx);
	}
	core_terminate_of_host(CORE_HOST_LOCAL, &term);
	tx.stopped = 1;
	core_host_complete(host(tx), status);
	core_host_terminate(host(tx), &term);
}

// RFC 5040 7.2 rule 4: MSNs count the peer's requests from 1.
[[gnu::cold, gnu::noinline]] void source_gone(core_tx &tx, core_region_verdict verdict)
{
	core_terminate term;

	if (tx.params.acks) {
		tx.params.acks->answer_refused = CORE_SYNDROME_ACCESS;
		tx.answer_active = 0;
		return;
	}
	tx.stopped = 1;
	core_terminate_read(&tx.asked.read, tx.answered + first_msn, tx.before, verdict, &term);
	core_host_terminate(host(tx), &term);
}

// ---- reads of this end ----

// The number of the request that begins, where requests have one.
u32 next_number(const core_tx &tx) { return tx.params.acks ? tx.params.acks->whole + 1 : 0; }

// A Read Request has its own STag on the wire, hard to guess (RFC 5040 8.1.1), and TO 0: local keys
// stay secret, and sinks may be scattered. Without it responses name the request's number.
void start_read(core_tx &tx, core_read_kind kind, u32 length, u32 source_stag, u64 source_to)
{
	core_read_sink sink{};
	core_tx_msg msg{};

	msg.opcode = CORE_MSG_READ_REQUEST;
	msg.msn = number(tx, tx.read_msn);
	sink.stag = traits(tx).sink_stag ? core_host_random(host(tx)) | 1 : msg.msn;
	sink.length = length;
	sink.number = next_number(tx);
	tx.request = {sink.stag, length, source_stag, sink.to, source_to};
	msg.request = &tx.request;
	begin_local(tx, msg, kind != CORE_READ_RTR);
	core_host_expect_read(host(tx), &sink, kind);
}

// ---- the RTR (RFC 6581 9.2): the initiator's first FPDU in peer-to-peer mode ----

// Some hardware requires a non-zero STag, even without data.
constexpr u32 rtr_stag = 1;

[[gnu::cold, gnu::noinline]] void start_rtr(core_tx &tx)
{
	core_tx_msg msg{};
	u8 rtr = tx.rtr;

	tx.rtr = 0;
	if (rtr == CORE_RTR_READ)
		return start_read(tx, CORE_READ_RTR, 0, rtr_stag, 0);
	if (rtr == CORE_RTR_WRITE) {
		msg.opcode = CORE_MSG_WRITE;
		msg.stag = rtr_stag;
	} else {
		msg.opcode = CORE_MSG_SEND;
		msg.msn = ++tx.send_msn;
	}
	begin_local(tx, msg, false);
}

// ---- Immediate Data (RFC 7306 6) ----

void keep_immediate(core_tx &tx, const srnic_send_wqe &wqe)
{
	__builtin_memcpy(tx.immediate, wqe.arg, sizeof(tx.immediate));
}

// Sends the Immediate Data that keep_immediate() has stored.
[[gnu::noinline]] void start_immediate(core_tx &tx, u8 opcode, u32 length)
{
	core_tx_msg msg{};

	msg.opcode = opcode;
	msg.length = length;
	msg.msn = number(tx, tx.send_msn);
	msg.immediate = tx.immediate;
	begin_local(tx, msg, true);
}

// A Send with Immediate Data, of verbs: four octets.
[[gnu::noinline]] void start_send_with_immediate(core_tx &tx, const srnic_send_wqe &wqe, u32 length)
{
	core_tx_msg msg{};

	msg.opcode = wqe.flags & SRNIC_WQE_SOLICITED ? CORE_MSG_SEND_SE_IMM : CORE_MSG_SEND_IMM;
	msg.length = length;
	msg.msn = number(tx, tx.send_msn);
	msg.inv_stag = load<be<u32>>(reinterpret_cast<const u8 *>(wqe.arg)).host();
	begin_local(tx, msg, true);
}

// Immediate Data of a Write that begins now: in its last segment, or right behind it.
[[gnu::noinline]] void add_immediate(core_tx &tx, core_tx_msg &msg, const srnic_send_wqe &wqe)
{
	keep_immediate(tx, wqe);
	if (!traits(tx).immediate_in_write) {
		tx.tail = wire_opcode(operation(SRNIC_OP_IMM), wqe.flags);
		return;
	}
	msg.immediate = tx.immediate;
	msg.solicited = (wqe.flags & SRNIC_WQE_SOLICITED) != 0;
}

[[gnu::noinline]] void start_tail(core_tx &tx)
{
	const u8 opcode = tx.tail;

	tx.tail = CORE_MSG_NONE;
	start_immediate(tx, opcode, 0);
}

// ---- atomic operations (RFC 7306 5.2.1) ----

// Figure 5: fields that an operation does not use are zero, and masks all ones.
core_atomic operands(const srnic_send_wqe &wqe)
{
	switch (wqe.opcode) {
	case SRNIC_OP_FETCH_ADD:
	case SRNIC_OP_MASKED_FETCH_ADD:
		return {CORE_ATOMIC_FETCH_ADD, wqe.arg[0], wqe.arg[1], 0, ~u64{0}};
	case SRNIC_OP_CMP_SWAP:
	case SRNIC_OP_MASKED_CMP_SWAP:
		return {CORE_ATOMIC_CMP_SWAP, wqe.arg[0], wqe.arg[1], wqe.arg[2], wqe.arg[3]};
	default:
		return {CORE_ATOMIC_SWAP, wqe.arg[0], ~u64{0}, 0, ~u64{0}};
	}
}

// The Request Identifier is hard to guess, so that only the peer can answer.
void start_atomic(core_tx &tx, const srnic_send_wqe &wqe)
{
	core_read_sink sink{};
	core_tx_msg msg{};

	sink.stag = core_host_random(host(tx));
	sink.length = sizeof(u64);
	sink.atomic = 1;
	sink.number = next_number(tx);
	tx.atomic = {sink.stag, wqe.rkey, wqe.remote_addr, operands(wqe)};
	msg.opcode = CORE_MSG_ATOMIC_REQUEST;
	msg.msn = ++tx.read_msn;
	msg.atomic = &tx.atomic;
	begin_local(tx, msg, true);
	core_host_expect_read(host(tx), &sink, CORE_READ_ATOMIC);
}

// ---- requests ----

void start_write(core_tx &tx, const core_operation &op, const srnic_send_wqe &wqe, u32 length)
{
	core_tx_msg msg{};

	msg.opcode = op.wire;
	msg.length = length;
	msg.stag = wqe.rkey;
	msg.to = wqe.remote_addr;
	if (traits(tx).numbers_writes)
		msg.msn = number(tx, tx.send_msn);
	if (op.immediate) [[unlikely]]
		add_immediate(tx, msg, wqe);
	begin_local(tx, msg, true);
}

void start_send(core_tx &tx, const core_operation &op, const srnic_send_wqe &wqe, u32 length)
{
	core_tx_msg msg{};

	msg.opcode = wire_opcode(op, wqe.flags);
	msg.length = length;
	msg.msn = number(tx, tx.send_msn);
	msg.inv_stag = wqe.imm_inv;
	begin_local(tx, msg, true);
}

// Requests that send nothing are done when their turn comes.
void complete_local(core_tx &tx, bool good)
{
	if (good)
		core_host_complete(host(tx), SRNIC_WC_SUCCESS);
	else
		refuse_request(tx, SRNIC_WC_LOC_PROT_ERR);
	core_host_built(host(tx));
}

// A local operation is not repeated when the engine comes to it again.
bool was_done(const core_tx &tx) { return tx.params.acks && tx.params.acks->again; }

void start_request(core_tx &tx, const core_operation &op, const srnic_send_wqe &wqe, u32 length)
{
	switch (op.handler) {
	case CORE_HANDLE_WRITE:
		return start_write(tx, op, wqe, length);
	case CORE_HANDLE_SEND:
		return start_send(tx, op, wqe, length);
	case CORE_HANDLE_IMMEDIATE:
		if (traits(tx).immediate_in_send) [[unlikely]]
			return start_send_with_immediate(tx, wqe, length);
		keep_immediate(tx, wqe);
		return start_immediate(tx, wire_opcode(op, wqe.flags), length);
	case CORE_HANDLE_READ:
		return start_read(tx,
				  op.invalidates_sink ? CORE_READ_INVALIDATE : CORE_READ_REQUEST,
				  length, wqe.rkey, wqe.remote_addr);
	case CORE_HANDLE_ATOMIC:
		return start_atomic(tx, wqe);
	case CORE_HANDLE_LOCAL_INVALIDATE:
		return complete_local(tx, was_done(tx) ||
						  core_host_local_invalidate(host(tx), wqe.imm_inv));
	case CORE_HANDLE_REGISTER:
		return complete_local(tx, was_done(tx) || core_host_register(host(tx), &wqe));
	}
}

// Does the framing have a message for this operation?
bool has_form(const core_tx &tx, const core_operation &op, u32 length)
{
	if (op.handler == CORE_HANDLE_IMMEDIATE)
		return !length || traits(tx).immediate_payload;
	return op.handler != CORE_HANDLE_ATOMIC || traits(tx).atomics;
}

u8 check_request(const core_tx &tx, const core_operation &op, const srnic_send_wqe &wqe,
		 u32 &length)
{
	u32 access = is_read(op) ? CORE_ACCESS_LOCAL_WRITE : 0;

	if (core_send_wqe_check(&wqe, tx.params.slot_size, tx.params.kernel, &length) !=
	    CORE_WQE_OK)
		return SRNIC_WC_LOC_QP_OP_ERR;
	if (!has_form(tx, op, length)) [[unlikely]]
		return SRNIC_WC_LOC_QP_OP_ERR;
	if (op.handler == CORE_HANDLE_ATOMIC && length < sizeof(u64)) [[unlikely]]
		return SRNIC_WC_LOC_LEN_ERR;
	if (wqe.num_sge && !core_host_verify_list(host(tx), access))
		return SRNIC_WC_LOC_PROT_ERR;
	return is_read(op) && !tx.params.ord ? SRNIC_WC_LOC_QP_OP_ERR : SRNIC_WC_SUCCESS;
}

// A fence waits for all earlier reads, a read until fewer than ORD are outstanding (RFC 5040
// 8.1.4). A region is not invalidated while a request before may have to be sent again.
bool must_wait(const core_tx &tx, const core_operation &op, u8 flags)
{
	bool fence = flags & SRNIC_WQE_FENCE;

	if (tx.params.acks && op.handler == CORE_HANDLE_LOCAL_INVALIDATE &&
	    ib::await_acks(*tx.params.acks)) [[unlikely]]
		return true;
	if (!tx.params.ord || (!fence && !is_read(op))) [[likely]]
		return false;
	return core_host_wait_for_reads(host(tx), fence ? 0 : tx.params.ord - 1);
}

// May segments of one message come between those of another?
bool may_interleave(const core_tx &tx, u8 one, u8 other)
{
	return traits(tx).interleaves_tagged || !is_tagged(one) || !is_tagged(other);
}

// Takes the next request and begins, completes or refuses it. False if none can be taken now.
bool take_request(core_tx &tx)
{
	const srnic_send_wqe *wqe;
	u32 length = 0;
	u8 status;

	if (tx.stopped || (tx.closing && !tx.may_take))
		return false;
	wqe = core_host_next_send(host(tx));
	if (!wqe)
		return false;
	const core_operation &op = operation(wqe->opcode);

	if ((tx.answer_active && !may_interleave(tx, op.wire, tx.answer.opcode)) ||
	    must_wait(tx, op, wqe->flags))
		return false;
	core_host_take_send(host(tx));
	tx.may_take -= tx.closing;
	if (tx.params.acks) [[unlikely]]
		ib::note_request(*tx.params.acks, tx, op, *wqe);
	status = check_request(tx, op, *wqe, length);
	if (status == SRNIC_WC_SUCCESS) [[likely]]
		start_request(tx, op, *wqe, length);
	else
		refuse_request(tx, status);
	return true;
}

// ---- taking turns ----

// No request is sent while the peer is not ready, nor behind one that failed or was refused.
bool may_send_requests(const core_tx &tx)
{
	const core_acks *acks = tx.params.acks;

	return !acks || !(acks->delayed || acks->failing || ib::ends(*acks));
}

core_tx_msg *local_message(core_tx &tx)
{
	if (!may_send_requests(tx)) [[unlikely]]
		return nullptr;
	if (!tx.local_active && tx.rtr) [[unlikely]]
		start_rtr(tx);
	if (!tx.local_active && tx.tail != CORE_MSG_NONE) [[unlikely]]
		start_tail(tx);
	while (!tx.local_active && may_send_requests(tx) && take_request(tx))
		;
	return tx.local_active ? &tx.local : nullptr;
}

bool start_answer(core_tx &tx)
{
	if (tx.stopped || (tx.params.acks && tx.params.acks->answer_refused))
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
// come at any time, and are waiting before they count: so what counts is read first.
u32 last_done(core_tx &tx)
{
	const u32 received = ib::seen(tx.params.acks->received);
	core_asked oldest;

	return core_host_next_read(host(tx), &oldest) ? oldest.number - 1 : received;
}

// ib.rst: an Ack goes before everything else.
core_tx_msg *ack_message(core_tx &tx)
{
	core_acks &acks = *tx.params.acks;

	return ib::ack_wanted(acks) ? ib::ack_due(acks, last_done(tx)) : nullptr;
}

// All before the request that failed is done. A refusal for good, which is not said yet, is still to
// be said.
void report_failure(core_tx &tx)
{
	core_acks &acks = *tx.params.acks;

	core_host_complete(host(tx), acks.failing);
	acks.failing = 0;
	if (!ib::ends(acks))
		acks.over = CORE_OVER_FAILED;
}

// What a stream with acknowledgements does before it chooses a message. False: nothing may be
// chosen.
bool begin_choice(core_tx &tx)
{
	core_acks &acks = *tx.params.acks;

	__atomic_store_n(&acks.awaited, 0, __ATOMIC_RELAXED);
	if (ib::must_rewind(acks) || acks.over)
		return false;
	if (ib::ends(acks))
		abandon_local(tx);
	if (acks.failing && !ib::await_acks(acks))
		report_failure(tx);
	return !acks.over;
}

core_tx_msg *next_message(core_tx &tx)
{
	core_tx_msg *ack = tx.params.acks ? ack_message(tx) : nullptr;

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
	if (tx.params.acks) [[unlikely]]
		ib::end_answer(*tx.params.acks, tx.asked.number);
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
	if (tx.params.acks) [[unlikely]]
		ib::end_request(*tx.params.acks);
	core_host_built(host(tx));
}

void end_message(core_tx &tx)
{
	if (tx.turn == &tx.local) [[likely]]
		end_local(tx);
	else if (tx.turn == &tx.answer)
		end_answer(tx);
	else
		ib::end_ack(*tx.params.acks);
}

// The FPDU is built: the other message's turn is next.
void end_turn(core_tx &tx)
{
	tx.building = 0;
	tx.fpdus++;
	if (tx.params.acks && tx.turn == &tx.local && tx.of_request) [[unlikely]]
		ib::note_fpdu(*tx.params.acks);
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
	if (params->acks)
		params->acks->first = params->initiator;
	if (traits(*tx).numbers_agreed)
		tx->send_msn = params->first_msn - 1;
	builder::start(*tx);
}

void core_tx_set_emss(struct core_tx *tx, u32 emss) { tx->mulpdu = builder::largest(*tx, emss); }

u32 core_tx_choose(struct core_tx *tx)
{
	if (tx->stopped || is_muted(*tx)) [[unlikely]]
		return 0;
	if (tx->params.acks && !begin_choice(*tx)) [[unlikely]]
		return 0;
	tx->turn = next_message(*tx);
	if (!tx->turn || tx->stopped)
		return 0;
	return builder::wire_len(*tx, *tx->turn);
}

struct core_tx_step core_tx_next(struct core_tx *tx)
{
	core_tx_step step;

	if (!tx->building) {
		tx->building = 1;
		tx->before = tx->turn->sent;
		builder::begin(*tx, *tx->turn);
	}
	step = builder::next(*tx);
	step.response = tx->turn == &tx->answer;
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
	return !tx->local_active && tx->tail == CORE_MSG_NONE && !tx->answer_active &&
	       !tx->may_take && !core_host_next_read(host(*tx), &asked);
}

bool core_tx_may_take(struct core_tx *tx)
{
	if (is_muted(*tx) || (tx->closing && !tx->may_take))
		return false;
	return may_send_requests(*tx) && !(tx->params.acks && tx->params.acks->awaited);
}

// ---- Where requests are acknowledged ----

bool core_tx_must_rewind(const struct core_tx *tx, struct core_rewind *how)
{
	const core_acks *acks = tx->params.acks;

	if (!acks || !ib::must_rewind(*acks))
		return false;
	const core_sent &sent = ib::record(*acks, acks->acked + 1);

	how->index = sent.index + (sent.tail != CORE_MSG_NONE);
	how->reads = tx->read_msn - sent.read_msn;
	how->delay = acks->delay;
	return true;
}

// Numbers and MSNs are given anew. An RDMA Write that is done is not repeated: only its Immediate
// Data are.
void core_tx_rewind(struct core_tx *tx)
{
	core_acks &acks = *tx->params.acks;
	const core_sent &sent = ib::record(acks, acks.acked + 1);

	abandon_local(*tx);
	tx->send_msn = sent.send_msn;
	tx->read_msn = sent.read_msn;
	tx->of_request = 1;
	tx->tail = sent.tail;
	__builtin_memcpy(tx->immediate, sent.immediate, sizeof(tx->immediate));
	ib::rewind(acks);
}

void core_tx_resume(struct core_tx *tx) { tx->params.acks->delayed = 0; }

void core_tx_ack_now(struct core_tx *tx) { tx->params.acks->now = 1; }

void core_tx_probe(struct core_tx *tx) { tx->params.acks->probe = 1; }

enum core_over core_tx_over(const struct core_tx *tx)
{
	return tx->params.acks ? static_cast<core_over>(tx->params.acks->over) : CORE_OVER_NOT;
}

