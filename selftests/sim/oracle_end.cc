// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The oracle: completions, and how streams end.
#include "oracle.hh"

namespace sim {

// ---- completions ----

// Rules 14 and 15. Writes and Sends: when TCP has all of it. Reads: when all data has arrived.
void Oracle::check_send_completion(unsigned side, Op &op, const srnic_cqe &cqe)
{
	const Side &us = sides[side], &peer = sides[!side];
	const srnic_send_wqe &wqe = op.request.wqe;
	bool sent = acknowledges ? op.delivered
				 : op.built && us.out->accepted() >= op.stream_end;
	bool in_slot = op.request.malformed || (is_read(wqe.opcode) && !us.agreed.ord);

	switch (cqe.status) {
	case SRNIC_WC_SUCCESS:
		if (is_local(wqe.opcode) || is_read(wqe.opcode) ? !op.done : !sent)
			broken("side %u: request %llu completes before it is done", side,
			       cqe.wr_id);
		if (cqe.byte_len != (is_atomic(wqe.opcode) ? sizeof(u64)
				     : is_read(wqe.opcode) ? op.length
							   : 0))
			broken("side %u: request %llu completes with %u octets", side, cqe.wr_id,
			       cqe.byte_len);
		break;
	case SRNIC_WC_FLUSH_ERR:
		if (!us.failed)
			broken("side %u: request %llu is flushed while all is well", side,
			       cqe.wr_id);
		check_assured(side, static_cast<u32>(cqe.wr_id));
		break;
	case SRNIC_WC_LOC_PROT_ERR:
	case SRNIC_WC_LOC_QP_OP_ERR:
		if (in_slot != (cqe.status == SRNIC_WC_LOC_QP_OP_ERR))
			broken("side %u: request %llu completes with the wrong error", side,
			       cqe.wr_id);
		if (!op.refused && !impossible(us, op) &&
		    !(wqe.opcode == SRNIC_OP_READ_INV && !op.done))
			broken("side %u: request %llu could have been done", side, cqe.wr_id);
		op.refused = true;
		break;
	case SRNIC_WC_LOC_LEN_ERR:
		if (!is_atomic(wqe.opcode) || op.length >= sizeof(u64))
			broken("side %u: request %llu is long enough", side, cqe.wr_id);
		op.refused = true;
		break;
	case SRNIC_WC_REM_ACCESS_ERR:
	case SRNIC_WC_REM_INV_REQ_ERR:
	case SRNIC_WC_REM_OP_ERR:
		if (acknowledges) {
			if (us.refused_op != cqe.wr_id || us.refused_status != cqe.status)
				broken("side %u: request %llu was not refused by the peer", side,
				       cqe.wr_id);
			break;
		}
		if (!is_read(wqe.opcode) || !peer.failed || op.done ||
		    core_terminate_refusal(&peer.sent_term).status != cqe.status)
			broken("side %u: request %llu was not refused by the peer", side,
			       cqe.wr_id);
		break;
	case SRNIC_WC_RNR_RETRY_EXC_ERR:
		if (!us.dropped || op.delivered)
			broken("side %u: request %llu was not refused by the peer", side,
			       cqe.wr_id);
		break;
	default:
		broken("side %u: request %llu completes with status %u", side, cqe.wr_id,
		       cqe.status);
	}
}

// A receive completes with what was sent.
void Oracle::check_delivered(unsigned side, const Message &message, const srnic_cqe &cqe,
			     bool solicited)
{
	const bool inv = message.opcode == CORE_MSG_SEND_INV ||
			 message.opcode == CORE_MSG_SEND_SE_INV;
	const bool imm = message.has_immediate;
	const bool of_send = places(message) && message.opcode != CORE_MSG_WRITE;
	const u8 imm_flags = SRNIC_CQE_WITH_IMM | (of_send ? SRNIC_CQE_OF_SEND : 0);

	if (cqe.byte_len != (places(message) ? message.length : message.written) ||
	    solicited != message.solicited || inv != (cqe.flags == SRNIC_CQE_WITH_INV) ||
	    imm != (cqe.flags == imm_flags) || (inv && cqe.imm_inv != message.inv_stag) ||
	    (imm && cqe.imm_inv != message.immediate))
		broken("side %u: receive %llu gets something else than was sent", side, cqe.wr_id);
	if (inv && !invalidate(sides[side], message.inv_stag, true))
		broken("side %u: a peer invalidates what it must not", side);
}

// An invalidation is refused.
void Oracle::check_invalidation_refused(unsigned side, const Message &message)
{
	Side &us = sides[side], &peer = sides[!side];

	if (invalidate(us, message.inv_stag, true))
		broken("side %u: an invalidation is refused without reason", side);
	if (!acknowledges) {
		us.owed = is_known(us, message.inv_stag) ? code(0x0109, CORE_RDMATCP_ACCESS)
							 : code(0x0100, CORE_RDMATCP_BUFFER_ID);
		return;
	}
	peer.refused_op = message.op;
	peer.ops[message.op].delivered = false;
	us.owed = CORE_SYNDROME_INVALID;
}

void Oracle::check_recv_completion(unsigned side, const RecvRequest &receive, const srnic_cqe &cqe,
				   bool solicited)
{
	Side &us = sides[side];
	std::optional<Message> message = std::move(us.arrived);

	us.arrived.reset();
	switch (cqe.status) {
	case SRNIC_WC_SUCCESS:
		if (!message)
			broken("side %u: receive %llu completes without a Send", side, cqe.wr_id);
		check_delivered(side, *message, cqe, solicited);
		break;
	case SRNIC_WC_REM_INV_REQ_ERR:
		if (!message)
			broken("side %u: nothing to invalidate came", side);
		check_invalidation_refused(side, *message);
		break;
	case SRNIC_WC_LOC_LEN_ERR:
		us.owed = code(0x1205, CORE_RDMATCP_TOO_LONG);
		if (!us.due.count(*us.owed) && !damaged(side))
			broken("side %u: receive %llu was long enough", side, cqe.wr_id);
		break;
	case SRNIC_WC_FLUSH_ERR:
		if (!us.failed)
			broken("side %u: receive %llu is flushed while all is well", side,
			       cqe.wr_id);
		break;
	case SRNIC_WC_LOC_PROT_ERR:
		if (usable(us, receive.sges, CORE_ACCESS_LOCAL_WRITE))
			broken("side %u: receive %llu has no protection error", side, cqe.wr_id);
		us.owed = code(0, CORE_RDMATCP_LOCAL);
		break;
	case SRNIC_WC_LOC_QP_OP_ERR:
		if (!receive.malformed)
			broken("side %u: receive %llu is not malformed", side, cqe.wr_id);
		us.owed = code(0, CORE_RDMATCP_LOCAL);
		break;
	default:
		broken("side %u: receive %llu completes with status %u", side, cqe.wr_id,
		       cqe.status);
	}
}

void Oracle::completed(unsigned side, const srnic_cqe &cqe, bool solicited)
{
	Side &us = sides[side];

	completed_count++;
	tally["status " + std::to_string(cqe.status)]++;
	if (cqe.opcode == SRNIC_OP_RECV) {
		if (cqe.wr_id != us.next_recv || us.next_recv >= us.receives.size())
			broken("side %u: receive %llu completes, %u is next", side, cqe.wr_id,
			       us.next_recv);
		check_recv_completion(side, us.receives[us.next_recv], cqe, solicited);
		us.next_recv++;
		foresee(side);
		return;
	}
	if (cqe.wr_id < us.next_send || cqe.wr_id >= us.ops.size())
		broken("side %u: request %llu completes, %u is next", side, cqe.wr_id,
		       us.next_send);
	for (; us.next_send < cqe.wr_id; us.next_send++) {
		Op &silent = us.ops[us.next_send];
		srnic_cqe assumed{};

		if (silent.request.wqe.flags & SRNIC_WQE_SIGNALED)
			broken("side %u: request %u never completed", side, us.next_send);
		assumed.wr_id = us.next_send;
		assumed.byte_len = is_atomic(silent.request.wqe.opcode) ? sizeof(u64)
				   : is_read(silent.request.wqe.opcode) ? silent.length
									: 0;
		check_send_completion(side, silent, assumed);
	}
	if (cqe.opcode != us.ops[us.next_send].request.wqe.opcode)
		broken("side %u: request %llu completes as another operation", side, cqe.wr_id);
	check_send_completion(side, us.ops[us.next_send], cqe);
	us.next_send++;
}

// ---- ends ----

u32 Oracle::syndrome(u32 terminate)
{
	if (terminate == 0)
		return CORE_SYNDROME_OPERATION;
	if (terminate == 0x1205 || terminate == 0x0206 || terminate == 0x0207)
		return CORE_SYNDROME_INVALID;
	return CORE_SYNDROME_ACCESS;
}

// The current request, or the next one.
Oracle::Op *Oracle::at_hand(Side &side)
{
	if (Message *building = unfinished(side, false);
	    building && building->source == Source::request)
		return &side.ops[building->op];
	while (side.next_start < side.ops.size() && side.ops[side.next_start].started)
		side.next_start++;
	return side.next_start < side.ops.size() ? &side.ops[side.next_start] : nullptr;
}

// RFC 5041 7.2, RFC 5040 figure 9.
u32 Oracle::code(core_region_verdict verdict, bool write) const
{
	static const u32 ddp_codes[] = {0, 0x1100, 0x1101, 0x1100, 0x1102, 0x1103};
	static const u32 rdmap_codes[] = {0, 0x0100, 0x0101, 0x0102, 0x0103, 0x0104};
	static const core_rdmatcp_fault faults[] = {CORE_RDMATCP_FINE,	 CORE_RDMATCP_BUFFER_ID,
						    CORE_RDMATCP_BOUNDS, CORE_RDMATCP_ACCESS,
						    CORE_RDMATCP_ACCESS, CORE_RDMATCP_BOUNDS};

	return code(write ? ddp_codes[verdict] : rdmap_codes[verdict], faults[verdict]);
}

void Oracle::foresee_receive(Side &us, const Message &message)
{
	if (us.next_recv == us.receives.size()) {
		if (!acknowledges)
			us.due.insert(code(0x1202, CORE_RDMATCP_NO_BUFFER));
	} else if (places(message) && message.opcode != CORE_MSG_WRITE &&
		 length_of(us.receives[us.next_recv].sges) < message.length)
		us.due.insert(code(0x1205, CORE_RDMATCP_TOO_LONG));
}

// The possible refusals of the first undelivered message.
void Oracle::foresee(unsigned side)
{
	Side &us = sides[side];
	const Message *next = oldest(sides[!side], false);
	const Side &peer = sides[!side];

	if (!next)
		return;
	const Message &message = *next;

	if (message.opcode == CORE_MSG_WRITE) {
		core_region_verdict verdict =
			usable(us, message.stag, CORE_ACCESS_REMOTE_WRITE,
			       message.to + message.placed, message.length - message.placed);

		if (verdict != CORE_REGION_OK)
			us.due.insert(code(verdict, true));
		// This does not know which segment leaves the region first, nor how far.
		if (verdict == CORE_REGION_WRAP)
			us.due.insert(code(CORE_REGION_BOUNDS, true));
	} else if (message.opcode == CORE_MSG_READ_REQUEST && message.op != no_op) {
		const Op &op = peer.ops[message.op];
		core_region_verdict verdict =
			usable(us, op.request.wqe.rkey, CORE_ACCESS_REMOTE_READ,
			       op.request.wqe.remote_addr, op.length);

		if (verdict != CORE_REGION_OK)
			us.due.insert(code(verdict, false));
	} else if (message.opcode == CORE_MSG_ATOMIC_REQUEST) {
		if (std::optional<u32> error = atomic_error(us, peer.ops[message.op]))
			us.due.insert(code(*error, CORE_RDMATCP_FINE));
	} else if (message.opcode == CORE_MSG_EXTENDED) {
		if (std::optional<u32> error = extended_error(us, peer.ops[message.op]))
			us.due.insert(code(*error, CORE_RDMATCP_FINE));
	}
	if (message.has_immediate || (message.opcode >= CORE_MSG_SEND &&
				      message.opcode <= CORE_MSG_SEND_SE_INV && !message.rtr))
		foresee_receive(us, message);
}

void Oracle::check_refusal(unsigned side, u32 what)
{
	Side &us = sides[side];

	if (damaged(side)) // any error is possible
		return;
	if (us.owed) {
		if (what != *us.owed)
			broken("side %u: refusal %04x where %04x is due", side, what, *us.owed);
		return;
	}
	if (what == code(0, CORE_RDMATCP_LOCAL) && !us.reads.empty() && us.reads.front() != no_op) {
		Op &reader = us.ops[us.reads.front()];

		if (!reader.refused && !impossible(us, reader))
			broken("side %u: the sink of a read is given up without reason", side);
		reader.refused = true;
		return;
	}
	foresee(side);
	if (!us.due.count(what))
		broken("side %u: refusal %04x, which nothing deserves", side, what);
}

u32 Oracle::first_refused(const Side &side)
{
	auto refused = [](const Op &op) { return op.refused; };

	return static_cast<u32>(
		std::find_if(side.ops.begin() + side.first_op, side.ops.end(), refused) -
		side.ops.begin());
}

// Errors never overtake successes (ib.rst, rules 25, 26 and 29).
void Oracle::expect_all_done_before(unsigned side, u32 failed_op) const
{
	const Side &us = sides[side];

	for (u32 n = us.first_op; n < failed_op && n < us.ops.size(); n++)
		if (!us.ops[n].delivered && !us.ops[n].done)
			broken("side %u fails at request %u, and %u before it is not done", side,
			       failed_op, n);
}

void Oracle::failed(unsigned side, Cause cause, const core_terminate *term,
		    core_rdmatcp_fault fault)
{
	Side &us = sides[side], &peer = sides[!side];

	if (rdmatcp != (fault != CORE_RDMATCP_FINE) && cause != Cause::stream_over)
		broken("side %u ends as another framing does", side);
	switch (cause) {
	case Cause::peer_error:
		tally["refused " +
		      (term ? std::to_string(term->layer) + " " + std::to_string(term->etype) +
				       " " + std::to_string(term->code)
			    : "for fault " + std::to_string(fault))]++;
		check_refusal(side,
			      term ? u32{term->layer} << 12 | u32{term->etype} << 8 | term->code
				   : u32{fault});
		break;
	case Cause::local_error:
		if (us.failed)
			break; // the Terminate is out
		if (Op *op = at_hand(us); op && (op->refused || impossible(us, *op)))
			op->refused = true;
		else
			broken("side %u fails without reason", side);
		if (acknowledges)
			expect_all_done_before(side, first_refused(us));
		tally["refused locally"]++;
		break;
	case Cause::response_gone:
		if (Message *answer = unfinished(us, true);
		    us.inbound.empty() || !answer ||
		    source(us, *answer,
			   answer->length - static_cast<u32>(answer->content.size())))
			broken("side %u does not answer a read that it could answer", side);
		tally["read source gone"]++;
		break;
	case Cause::peer_terminated:
		if (!peer.failed || term->layer != peer.sent_term.layer ||
		    term->etype != peer.sent_term.etype || term->code != peer.sent_term.code ||
		    term->has_ddp != peer.sent_term.has_ddp ||
		    term->has_rdmap != peer.sent_term.has_rdmap ||
		    memcmp(term->ddp, peer.sent_term.ddp, sizeof(term->ddp)) != 0 ||
		    memcmp(term->read_request, peer.sent_term.read_request,
			   sizeof(term->read_request)) != 0)
			broken("side %u gets another Terminate than was sent", side);
		break;
	case Cause::stream_over:
		tally["stream over"]++;
		break;
	case Cause::refused_peer:
		if (!us.refuses)
			broken("side %u fails without having refused anything", side);
		expect_all_done_before(!side, peer.refused_op);
		for (const InboundRead &read : us.inbound)
			if (read.op < peer.refused_op)
				broken("side %u fails before it has answered %u", side, read.op);
		break;
	case Cause::peer_refused:
		if (!peer.refuses && !us.dropped && !damaged(side))
			broken("side %u fails although its peer has refused nothing", side);
		if (us.refused_op != no_op)
			expect_all_done_before(side, us.refused_op);
		break;
	}
	if (term && cause != Cause::peer_terminated)
		us.sent_term = *term;
	if (!us.failed)
		us.cause = cause;
	us.failed = true;
}

void Oracle::expect_all_done() const
{
	for (unsigned i = 0; i < 2; i++) {
		const Side &us = sides[i];

		if (us.failed)
			broken("side %u failed", i);
		for (u32 n = us.next_send; n < us.ops.size(); n++) {
			const Op &op = us.ops[n];

			if (op.request.wqe.flags & SRNIC_WQE_SIGNALED || !op.built ||
			    (is_read(op.request.wqe.opcode) && !op.done))
				broken("side %u: request %u of %zu is stuck", i, n, us.ops.size());
		}
		if (!us.endpoint->sq_idle())
			broken("side %u: send queue slots were not given back", i);
		if (!us.wire.empty() || !us.inbound.empty() || !us.reads.empty() || us.arrived)
			broken("side %u: messages are missing", i);
	}
}

void Oracle::expect_all_flushed() const
{
	for (unsigned i = 0; i < 2; i++) {
		const Side &us = sides[i];

		if (us.next_recv != us.receives.size())
			broken("side %u: receive %u was not flushed", i, us.next_recv);
		for (u32 n = us.next_send; n < us.ops.size(); n++)
			if (us.ops[n].request.wqe.flags & SRNIC_WQE_SIGNALED || !us.ops[n].built)
				broken("side %u: request %u was not flushed", i, n);
		if (!us.endpoint->sq_idle())
			broken("side %u: send queue slots were not given back", i);
	}
}

} // namespace sim
