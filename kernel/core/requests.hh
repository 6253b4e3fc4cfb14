// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Send: what a request becomes. Takes requests in the order of posting (RFC 5040 5.5 rule 13),
// checks each, waits for reads (ORD: RFC 5040 6.1 and 8.1; the fence), gives messages their
// sequence numbers (RFC 5041 4.3), and begins the message; or refuses the request, or does it here
// if nothing is sent.
//
// For scheduler.cc, which has the turns of these messages and the peer's responses.
#pragma once

#include "framings.hh"
#include "ib/acks.hh"
#include "ib/extended.hh"
#include "operations.hh"
#include "builder.hh"
#include "rdmap/terminate.hh"

namespace srnic {

static_assert(mulpdu_min >= CORE_ULPDU_HEAD); // RDMAP's own messages are one segment

inline void *host(const core_tx &tx) { return tx.params.ctx; }

inline const core_framing_traits &traits(const core_tx &tx)
{
	return traits_of(static_cast<core_framing>(tx.params.framing));
}

// Where requests are acknowledged; else nullptr.
inline core_acks *acks_of(const core_tx &tx)
{
	return traits(tx).acknowledges ? tx.params.acks : nullptr;
}

// RFC 5044 7.1.2 rule 4: a responder sends nothing before it has received and validated an FPDU.
inline bool is_muted(core_tx &tx)
{
	if (tx.muted) [[unlikely]]
		tx.muted = !core_host_validated(host(tx));
	return tx.muted;
}

// The number of the next message of this queue (RFC 5041 4.3), or of the stream
// (draft-williams-rdmatcp-00 3.4).
inline u32 number(core_tx &tx, u32 &of_queue)
{
	return ++(traits(tx).numbers_by_queue ? of_queue : tx.send_msn);
}

inline void begin_local(core_tx &tx, const core_tx_msg &msg, bool of_request)
{
	tx.local = msg;
	tx.local_active = 1;
	tx.of_request = of_request;
	if (acks_of(tx) && of_request) [[unlikely]]
		ib::begin_message(*acks_of(tx), tx.local, tx.tail, tx.immediate);
}

// This end's own message ends where it is.
inline void abandon_local(core_tx &tx)
{
	tx.local_active = 0;
	tx.tail = CORE_MSG_NONE;
}

// ---- errors of this end ----

// RFC 5040 7.1 case 1: an error in a message that is not sent yet. The Terminate is sent instead.
[[gnu::cold, gnu::noinline]] inline void refuse_request(core_tx &tx, u8 status)
{
	core_terminate term;

	if (acks_of(tx)) { // reported when everything before it is acknowledged
		ib::fail_request(*acks_of(tx), status);
		return abandon_local(tx);
	}
	core_terminate_of_host(CORE_HOST_LOCAL, &term);
	tx.stopped = 1;
	core_host_complete(host(tx), status);
	core_host_terminate(host(tx), &term);
}

// RFC 5040 7.2 rule 4: MSNs count the peer's requests from 1.
[[gnu::cold, gnu::noinline]] inline void source_gone(core_tx &tx, core_region_verdict verdict)
{
	core_terminate term;

	if (acks_of(tx)) {
		acks_of(tx)->answer_refused = CORE_SYNDROME_ACCESS;
		tx.answer_active = 0;
		return;
	}
	tx.stopped = 1;
	core_terminate_read(&tx.asked.read, tx.answered + first_msn, tx.before, verdict, &term);
	core_host_terminate(host(tx), &term);
}

// ---- reads of this end ----

// The number of the request that begins, where requests have one.
inline u32 next_number(const core_tx &tx) { return acks_of(tx) ? acks_of(tx)->whole + 1 : 0; }

// A Read Request has its own STag on the wire, hard to guess (RFC 5040 8.1.1), and TO 0: local keys
// stay secret, and sinks may be scattered. Without it responses name the request's number.
inline void start_read(core_tx &tx, core_read_kind kind, u32 length, u32 source_stag, u64 source_to)
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

[[gnu::cold, gnu::noinline]] inline void start_rtr(core_tx &tx)
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

inline void keep_immediate(core_tx &tx, const srnic_send_wqe &wqe)
{
	__builtin_memcpy(tx.immediate, wqe.arg, sizeof(tx.immediate));
}

// Sends the Immediate Data that keep_immediate() has stored.
[[gnu::noinline]] inline void start_immediate(core_tx &tx, u8 opcode, u32 length)
{
	core_tx_msg msg{};

	msg.opcode = opcode;
	msg.length = length;
	msg.msn = number(tx, tx.send_msn);
	msg.immediate = tx.immediate;
	begin_local(tx, msg, true);
}

// A Send with Immediate Data, of verbs: four octets.
[[gnu::noinline]] inline void start_send_with_immediate(core_tx &tx, const srnic_send_wqe &wqe,
							u32 length)
{
	core_tx_msg msg{};

	msg.opcode = wqe.flags & SRNIC_WQE_SOLICITED ? CORE_MSG_SEND_SE_IMM : CORE_MSG_SEND_IMM;
	msg.length = length;
	msg.msn = number(tx, tx.send_msn);
	msg.inv_stag = load<be<u32>>(reinterpret_cast<const u8 *>(wqe.arg)).host();
	begin_local(tx, msg, true);
}

// Immediate Data of a Write that begins now: in its last segment, or right behind it.
[[gnu::noinline]] inline void add_immediate(core_tx &tx, core_tx_msg &msg,
					    const srnic_send_wqe &wqe)
{
	keep_immediate(tx, wqe);
	if (traits(tx).immediate_in_send) // ib.rst, rule 6: those of verbs
		__builtin_memset(tx.immediate + sizeof(u32), 0, sizeof(tx.immediate) - sizeof(u32));
	if (!traits(tx).immediate_in_write) {
		tx.tail = wire_opcode(operation(SRNIC_OP_IMM), wqe.flags);
		return;
	}
	msg.immediate = tx.immediate;
	msg.solicited = (wqe.flags & SRNIC_WQE_SOLICITED) != 0;
}

[[gnu::noinline]] inline void start_tail(core_tx &tx)
{
	const u8 opcode = tx.tail;

	tx.tail = CORE_MSG_NONE;
	start_immediate(tx, opcode, 0);
}

// ---- atomic operations (RFC 7306 5.2.1) ----

// Figure 5: fields that an operation does not use are zero, and masks all ones.
inline core_atomic operands(const srnic_send_wqe &wqe)
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
inline void start_atomic(core_tx &tx, const srnic_send_wqe &wqe)
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

// ---- Flush and Atomic Write (ib.rst) ----

inline void start_extended(core_tx &tx, const srnic_send_wqe &wqe)
{
	core_tx_msg msg{};

	tx.extended = ib::extended_of(wqe);
	msg.opcode = CORE_MSG_EXTENDED;
	msg.msn = ++tx.extended_msn;
	msg.extended = &tx.extended;
	begin_local(tx, msg, true);
}

// ---- requests ----

inline void start_write(core_tx &tx, const core_operation &op, const srnic_send_wqe &wqe,
			u32 length)
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

inline void start_send(core_tx &tx, const core_operation &op, const srnic_send_wqe &wqe, u32 length)
{
	core_tx_msg msg{};

	msg.opcode = wire_opcode(op, wqe.flags);
	msg.length = length;
	msg.msn = number(tx, tx.send_msn);
	msg.inv_stag = wqe.imm_inv;
	begin_local(tx, msg, true);
}

// Requests that send nothing are done when their turn comes. error: their status if they fail.
inline void complete_local(core_tx &tx, bool good, u8 error = SRNIC_WC_LOC_PROT_ERR)
{
	if (good && acks_of(tx))
		ib::note_done(*acks_of(tx));
	if (good)
		core_host_complete(host(tx), SRNIC_WC_SUCCESS);
	else
		refuse_request(tx, error);
	core_host_built(host(tx));
}

// A local operation is not repeated when the engine comes to it again.
inline bool was_done(const core_tx &tx) { return acks_of(tx) && acks_of(tx)->again; }

inline void start_request(core_tx &tx, const core_operation &op, const srnic_send_wqe &wqe,
			  u32 length)
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
	case CORE_HANDLE_EXTENDED:
		return start_extended(tx, wqe);
	case CORE_HANDLE_LOCAL_INVALIDATE:
		return complete_local(
			tx, was_done(tx) || core_host_local_invalidate(host(tx), wqe.imm_inv));
	case CORE_HANDLE_REGISTER:
		return complete_local(tx, was_done(tx) || core_host_register(host(tx), &wqe));
	case CORE_HANDLE_BIND:
		return complete_local(tx, was_done(tx) || core_host_bind(host(tx), &wqe),
				      SRNIC_WC_MW_BIND_ERR);
	}
}

// Does the stream have a message for this operation?
inline bool has_form(const core_tx &tx, const core_operation &op, const srnic_send_wqe &wqe,
		     u32 length)
{
	if (op.handler == CORE_HANDLE_EXTENDED)
		return tx.params.extended && ib::is_valid(ib::extended_of(wqe));
	if (op.handler == CORE_HANDLE_IMMEDIATE)
		return !length || traits(tx).immediate_payload;
	return op.handler != CORE_HANDLE_ATOMIC || traits(tx).atomics;
}

// Of a message of one segment nothing is sent before all of its list is read, and so checked. If
// the path's MTU shrinks before it is built, its first segments may be sent, as those of a longer
// one whose region vanishes.
static_assert(sizeof(rdmatcp::BufferHeader) + rdmatcp::max_control <= CORE_ULPDU_HEAD);
inline bool is_one_segment(const core_tx &tx, u32 length)
{
	return tx.mulpdu > CORE_ULPDU_HEAD && length <= tx.mulpdu - CORE_ULPDU_HEAD;
}

// May its list be used? A sink is written when the response comes.
inline bool list_is_good(const core_tx &tx, const core_operation &op, const srnic_send_wqe &wqe,
			 u32 length)
{
	if (!wqe.num_sge || (!is_read(op) && is_one_segment(tx, length)))
		return true;
	return core_host_verify_list(host(tx), is_read(op) ? CORE_ACCESS_LOCAL_WRITE : 0);
}

inline u8 check_request(const core_tx &tx, const core_operation &op, const srnic_send_wqe &wqe,
			u32 &length)
{
	if (core_send_wqe_check(&wqe, tx.params.slot_size, tx.params.kernel, &length) !=
	    CORE_WQE_OK)
		return SRNIC_WC_LOC_QP_OP_ERR;
	if (!has_form(tx, op, wqe, length)) [[unlikely]]
		return SRNIC_WC_LOC_QP_OP_ERR;
	if (op.handler == CORE_HANDLE_ATOMIC && length < sizeof(u64)) [[unlikely]]
		return SRNIC_WC_LOC_LEN_ERR;
	if (!list_is_good(tx, op, wqe, length))
		return SRNIC_WC_LOC_PROT_ERR;
	return is_read(op) && !tx.params.ord ? SRNIC_WC_LOC_QP_OP_ERR : SRNIC_WC_SUCCESS;
}

// A fence waits for all earlier reads, a read until fewer than ORD are outstanding (RFC 5040
// 8.1.4). A region is not invalidated while a request before may have to be sent again.
inline bool must_wait(const core_tx &tx, const core_operation &op, u8 flags)
{
	bool fence = flags & SRNIC_WQE_FENCE;

	if (acks_of(tx) && op.handler == CORE_HANDLE_LOCAL_INVALIDATE &&
	    ib::await_acks(*acks_of(tx))) [[unlikely]]
		return true;
	if (!tx.params.ord || (!fence && !is_read(op))) [[likely]]
		return false;
	return core_host_wait_for_reads(host(tx), fence ? 0 : tx.params.ord - 1);
}

// May segments of one message come between those of another?
inline bool may_interleave(const core_tx &tx, u8 one, u8 other)
{
	return traits(tx).interleaves_tagged || !is_tagged(one) || !is_tagged(other);
}

// Takes the next request and begins, completes or refuses it. False if none can be taken now.
inline bool take_request(core_tx &tx)
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
	if (acks_of(tx)) [[unlikely]]
		ib::note_request(*acks_of(tx), tx, op, *wqe);
	status = check_request(tx, op, *wqe, length);
	if (status == SRNIC_WC_SUCCESS) [[likely]]
		start_request(tx, op, *wqe, length);
	else
		refuse_request(tx, status);
	return true;
}

} // namespace srnic
