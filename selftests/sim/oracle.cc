// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "oracle.hh"

namespace sim {

Oracle::Oracle(const Setup setups[2], Tally &tally_) : tally(tally_)
{
	for (unsigned i = 0; i < 2; i++) {
		sides[i].memory = setups[i].memory;
		sides[i].regions = setups[i].regions;
		sides[i].first_index = setups[i].first_index;
	}
}

void Oracle::attach(unsigned side, const Endpoint &endpoint, const Stream &out)
{
	sides[side].endpoint = &endpoint;
	sides[side].out = &out;
}

// ---- regions, in wider arithmetic than the core's ----

const Mr *Oracle::find(const Side &side, u32 stag) const
{
	for (const Mr &mr : side.regions)
		if (mr.stag == stag && mr.valid)
			return &mr;
	return nullptr;
}

core_region_verdict Oracle::usable(const Side &side, u32 stag, u32 access, u64 to, u64 len) const
{
	using Wide = unsigned __int128;
	const Mr *mr = find(side, stag);

	if (!len)
		return CORE_REGION_OK;
	if (!mr)
		return CORE_REGION_INVALID;
	if (mr->pd != our_pd)
		return CORE_REGION_FOREIGN;
	if ((mr->access & access) != access)
		return CORE_REGION_ACCESS;
	if (Wide{to} + len >= Wide{1} << 64)
		return CORE_REGION_WRAP;
	if (to < mr->base || Wide{to} + len > Wide{mr->base} + mr->length)
		return CORE_REGION_BOUNDS;
	return CORE_REGION_OK;
}

bool Oracle::usable(const Side &side, const std::vector<srnic_sge> &sges, u32 access) const
{
	for (const srnic_sge &sge : sges)
		if (usable(side, sge.lkey, access, sge.addr, sge.length) != CORE_REGION_OK)
			return false;
	return true;
}

bool Oracle::can_invalidate(const Side &side, u32 stag) const
{
	for (const Mr &mr : side.regions)
		if (mr.stag == stag)
			return mr.pd == our_pd && mr.fast_reg;
	return false;
}

bool Oracle::impossible(const Side &side, const Op &op) const
{
	const srnic_send_wqe &wqe = op.request.wqe;

	if (op.request.malformed || (is_read(wqe.opcode) && !side.agreed.ord))
		return true;
	if (wqe.opcode == SRNIC_OP_LOCAL_INV)
		return !can_invalidate(side, wqe.imm_inv);
	if (wqe.opcode == SRNIC_OP_REG_MR)
		return side.regions.at(wqe.arg[0]).valid || !side.regions[wqe.arg[0]].fast_reg;
	return !usable(side, op.request.sges, is_read(wqe.opcode) ? CORE_ACCESS_LOCAL_WRITE : 0);
}

// Does this STag name a region that a peer may never invalidate?
bool Oracle::is_known(const Side &side, u32 stag) const
{
	for (const Mr &mr : side.regions)
		if (mr.stag == stag)
			return mr.pd != our_pd || !mr.fast_reg;
	return false;
}

bool Oracle::invalidate(Side &side, u32 stag, bool remote)
{
	for (Mr &mr : side.regions) {
		if (mr.stag != stag)
			continue;
		if (mr.pd != our_pd || !mr.fast_reg || (remote && !mr.valid))
			return false;
		mr.valid = false;
		return true;
	}
	return false;
}

// ---- the consumers ----

void Oracle::posted(unsigned side, const SendRequest &request)
{
	Op op{};

	op.request = request;
	op.length = length_of(request);
	sides[side].ops.push_back(op);
}

void Oracle::posted(unsigned side, const RecvRequest &request)
{
	sides[side].receives.push_back(request);
}

void Oracle::stored(unsigned side, u64 at, const Bytes &data)
{
	memcpy(sides[side].memory.data() + at, data.data(), data.size());
}

void Oracle::compare(unsigned side) const
{
	const Bytes &is = sides[side].endpoint->memory(), &should = sides[side].memory;

	if (memcmp(is.data(), should.data(), should.size()) == 0)
		return;
	for (size_t i = 0; i < should.size(); i++)
		if (is[i] != should[i])
			broken("side %u: memory differs at %zu: %02x, should be %02x", side, i,
			       is[i], should[i]);
}

// ---- sending ----

// A length, two headers, eight octets, the CRC and, at most, one marker.
constexpr u64 immediate_fpdu_max = 2 + 18 + CORE_IMMEDIATE_LEN + 4 + CORE_MARKER_LEN;

Oracle::Message *Oracle::oldest(Side &side, bool response)
{
	for (Message &message : side.wire)
		if (is_response(message) == response)
			return &message;
	return nullptr;
}

Oracle::Message *Oracle::unfinished(Side &side, bool response)
{
	auto found = std::find_if(side.wire.rbegin(), side.wire.rend(), [&](const Message &one) {
		return is_response(one) == response;
	});

	return found == side.wire.rend() || found->built ? nullptr : &*found;
}

void Oracle::connected(unsigned side, const core_mpa_agreed &agreed)
{
	Side &us = sides[side], &peer = sides[!side];

	us.agreed = agreed;
	us.is_connected = true;
	if (!peer.is_connected)
		return;
	if (agreed.crc != peer.agreed.crc)
		broken("the ends disagree about CRCs");
	if (agreed.send_markers != peer.agreed.recv_markers ||
	    agreed.recv_markers != peer.agreed.send_markers)
		broken("the ends disagree about markers");
	tally[agreed.send_markers && agreed.recv_markers   ? "markers both ways"
	      : agreed.send_markers || agreed.recv_markers ? "markers one way"
							   : "no markers"]++;
	if (agreed.ord > peer.agreed.ird || peer.agreed.ord > agreed.ird)
		broken("one end's ORD exceeds the other's IRD");
}

void Oracle::start_request(Side &us, unsigned side, Message &message, u32 number)
{
	Op &op = us.ops.at(number);
	const srnic_send_wqe &wqe = op.request.wqe;
	bool tail = is_immediate(message.opcode) && wqe.opcode == SRNIC_OP_WRITE_IMM;

	while (us.next_start < number && us.ops[us.next_start].started)
		us.next_start++;
	if (tail ? !op.write_end : number != us.next_start || op.started)
		broken("side %u: request %u starts, %u is next", side, number, us.next_start);
	if (!tail && wqe.flags & SRNIC_WQE_FENCE && !us.reads.empty())
		broken("side %u: request %u does not wait at its fence", side, number);
	if (!tail && !is_read(wqe.opcode) && message.length != op.length)
		broken("side %u: request %u of %u octets goes out with %u", side, number, op.length,
		       message.length);
	op.started = true;
	message.op = number;
	message.stag = wqe.rkey;
	message.to = wqe.remote_addr;
	message.inv_stag = wqe.imm_inv;
	message.immediate = wqe.arg[0];
	if (wqe.flags & SRNIC_WQE_INLINE && !tail)
		message.content = op.request.data;
}

// RFC 7306 6: what the receiver of Immediate Data can know of the Write that it belongs to.
void Oracle::track_written(Side &us, Message &message)
{
	message.written = us.written;
	if (message.opcode == CORE_RDMAP_WRITE)
		us.written = message.length;
	else if (!is_response(message) && message.opcode != CORE_RDMAP_READ_REQUEST &&
		 message.opcode != CORE_RDMAP_TERMINATE)
		us.written = 0;
}

// Rule 13: in the order of posting. Rule 12 and 17: a response only to a request that was
// delivered, in their order.
void Oracle::started(unsigned side, Source source, const core_tx_msg &msg, u32 index)
{
	Side &us = sides[side];
	Message message{};

	message.source = source;
	message.opcode = msg.opcode;
	message.length = msg.length;
	message.op = no_op;
	message.rtr = source == Source::rtr;
	if (source == Source::response) {
		if (us.inbound.empty())
			broken("side %u answers a read that was not asked", side);
		message.op = us.inbound.front().op;
		message.rtr = us.inbound.front().rtr;
		if (message.length != us.inbound.front().length)
			broken("side %u answers a read of %u octets with %u", side,
			       us.inbound.front().length, message.length);
	} else if (source == Source::request) {
		start_request(us, side, message, index - us.first_index);
		tally["opcode " + std::to_string(msg.opcode)]++;
	}
	if (message.opcode == CORE_RDMAP_READ_REQUEST) {
		us.reads.push_back(message.op);
		if (us.reads.size() > us.agreed.ord + size_t{message.rtr})
			broken("side %u: more reads outstanding than its ORD", side);
	}
	track_written(us, message);
	us.wire.push_back(std::move(message));
}

std::optional<Oracle::Spot> Oracle::in_list(const Side &side, const std::vector<srnic_sge> &sges,
					    u32 offset, u32 len, u32 access) const
{
	for (const srnic_sge &sge : sges) {
		if (offset >= sge.length) {
			offset -= sge.length;
			continue;
		}
		len = std::min(len, sge.length - offset);
		if (usable(side, sge.lkey, access, sge.addr + offset, len) != CORE_REGION_OK)
			return {};
		const Mr *mr = find(side, sge.lkey);

		return Spot{mr->at + (sge.addr + offset - mr->base), len};
	}
	return {};
}

std::optional<Oracle::Spot> Oracle::source(const Side &side, const Message &message, u32 len) const
{
	u32 offset = static_cast<u32>(message.content.size());

	if (message.source == Source::request)
		return in_list(side, side.ops[message.op].request.sges, offset, len, 0);
	const InboundRead &read = side.inbound.front();

	if (usable(side, read.stag, CORE_ACCESS_REMOTE_READ, read.to + offset, len) !=
	    CORE_REGION_OK)
		return {};
	const Mr *mr = find(side, read.stag);

	return Spot{mr->at + (read.to + offset - mr->base), len};
}

void Oracle::fetched(unsigned side, Source from, u32 offset, u32 len)
{
	Side &us = sides[side];
	Message *building = unfinished(us, from == Source::response);

	if (!building)
		broken("side %u reads for a message that has not begun", side);
	Message &message = *building;

	if ( offset != message.content.size() || offset + u64{len} > message.length)
		broken("side %u reads octets %u+%u of a message out of order", side, offset, len);
	while (len) {
		std::optional<Spot> spot = source(us, message, len);

		if (!spot)
			broken("side %u reads what it must not read", side);
		auto at = us.memory.begin() + static_cast<ptrdiff_t>(spot->at);

		message.content.insert(message.content.end(), at, at + spot->run);
		len -= spot->run;
	}
}

void Oracle::finished(unsigned side, Source from, u64 stream_end)
{
	Side &us = sides[side];
	Message *building = unfinished(us, from == Source::response);

	if (!building || building->source != from)
		broken("side %u ends a message that has not begun", side);
	Message &message = *building;

	message.built = true;
	message.stream_end = stream_end;
	if (message.source == Source::response)
		us.inbound.pop_front();
	if (message.source == Source::request) {
		Op &op = us.ops[message.op];

		if (op.write_end && stream_end - op.write_end > immediate_fpdu_max)
			broken("side %u: something lies between a Write and its Immediate Data",
			       side);
		op.built = op.request.wqe.opcode != SRNIC_OP_WRITE_IMM || op.write_end;
		op.write_end = stream_end;
		op.stream_end = stream_end;
	}
	bool carries = message.opcode != CORE_RDMAP_READ_REQUEST &&
		       message.opcode != CORE_RDMAP_TERMINATE && !is_immediate(message.opcode);

	if (carries && message.content.size() != message.length)
		broken("side %u: a message of %u octets carries %zu", side, message.length,
		       message.content.size());
}

void Oracle::done_locally(unsigned side, u32 index)
{
	Side &us = sides[side];
	u32 number = index - us.first_index;
	Op &op = us.ops.at(number);
	const srnic_send_wqe &wqe = op.request.wqe;

	while (us.next_start < number && us.ops[us.next_start].started)
		us.next_start++;
	if (number != us.next_start)
		broken("side %u: local request %u is done before %u", side, number, us.next_start);
	if (wqe.flags & SRNIC_WQE_FENCE && !us.reads.empty())
		broken("side %u: request %u does not wait at its fence", side, number);
	op.started = op.built = op.done = true;
	tally[wqe.opcode == SRNIC_OP_LOCAL_INV ? "local invalidate" : "register"]++;
	if (wqe.opcode == SRNIC_OP_LOCAL_INV) {
		if (!invalidate(us, wqe.imm_inv, false))
			broken("side %u invalidates what it must not", side);
		return;
	}
	Mr &mr = us.regions.at(wqe.arg[0]);

	if (mr.valid || !mr.fast_reg)
		broken("side %u registers a region that is in use", side);
	mr.stag = with_key(mr.stag, static_cast<u32>(wqe.arg[1] >> 32));
	mr.access = static_cast<u32>(wqe.arg[1]);
	mr.valid = true;
}

// ---- receiving ----

// From the damaged byte on, received data may be wrong.
bool Oracle::damaged(unsigned to) const { return sides[!to].out->damaged(); }

std::optional<Oracle::Spot> Oracle::destination(const Side &side, const Message &message,
						u32 len) const
{
	u32 offset = message.placed;

	if (message.opcode == CORE_RDMAP_WRITE) {
		if (usable(side, message.stag, CORE_ACCESS_REMOTE_WRITE, message.to + offset,
			   len) != CORE_REGION_OK)
			return {};
		const Mr *mr = find(side, message.stag);

		return Spot{mr->at + (message.to + offset - mr->base), len};
	}
	if (message.opcode == CORE_RDMAP_READ_RESPONSE) {
		if (side.reads.empty() || side.reads.front() == no_op)
			return {};
		return in_list(side, side.ops[side.reads.front()].request.sges, offset, len,
			       CORE_ACCESS_LOCAL_WRITE);
	}
	if (side.next_recv >= side.receives.size())
		return {};
	return in_list(side, side.receives[side.next_recv].sges, offset, len,
		       CORE_ACCESS_LOCAL_WRITE);
}

// A read's sink and a receive may share memory: only the endpoint knows which of them is meant.
bool Oracle::place_exactly(unsigned side, core_place_kind kind, u64 at, u32 len)
{
	Message *message = oldest(sides[!side], kind == CORE_PLACE_READ);

	return message && place_in(side, *message, at, len);
}

bool Oracle::place_in(unsigned side, Message &message, u64 at, u32 len)
{
	Side &us = sides[side];

	if (message.opcode == CORE_RDMAP_TERMINATE || message.opcode == CORE_RDMAP_READ_REQUEST)
		return false;
	std::optional<Spot> spot = destination(us, message, len);

	if (!spot || spot->at != at || spot->run != len ||
	    message.placed + u64{len} > message.content.size())
		return false;
	if (memcmp(us.endpoint->memory().data() + at, message.content.data() + message.placed,
		   len) != 0)
		return false;
	memcpy(us.memory.data() + at, message.content.data() + message.placed, len);
	message.placed += len;
	us.due.clear();
	foresee(side);
	return true;
}

// Before the CRC is checked, a damaged header may place data anywhere that this stream may write
// to, and nowhere else.
void Oracle::place_damaged(unsigned side, u64 at, u32 len)
{
	Side &us = sides[side];
	bool allowed = false;
	auto holds = [&](u64 from, u64 octets) {
		allowed |= at >= from && at + len <= from + octets;
	};
	auto lists = [&](const std::vector<srnic_sge> &sges) {
		for (const srnic_sge &sge : sges)
			if (const Mr *mr = find(us, sge.lkey))
				holds(mr->at + (sge.addr - mr->base), sge.length);
	};

	for (const Mr &mr : us.regions)
		if (mr.valid && mr.pd == our_pd && mr.access & CORE_ACCESS_REMOTE_WRITE)
			holds(mr.at, mr.length);
	if (us.next_recv < us.receives.size())
		lists(us.receives[us.next_recv].sges);
	if (!us.reads.empty() && us.reads.front() != no_op)
		lists(us.ops[us.reads.front()].request.sges);
	if (!allowed)
		broken("side %u: a damaged stream changes octets %llu+%u", side, at, len);
	memcpy(us.memory.data() + at, us.endpoint->memory().data() + at, len);
	tally["placed from a damaged FPDU"]++;
}

void Oracle::wrote(unsigned side, core_place_kind kind, u64 at, u32 len)
{
	if (place_exactly(side, kind, at, len))
		return;
	if (!damaged(side))
		broken("side %u: octets %llu+%u are written, which is not what comes next", side,
		       at, len);
	place_damaged(side, at, len);
}

// Rules 10, 11, 16: messages are delivered in order, whole.
void Oracle::delivered(unsigned side, core_rx_event event)
{
	Side &us = sides[side], &peer = sides[!side];

	// A sender that terminates may leave messages unfinished.
	if (event == CORE_RX_TERMINATE)
		std::erase_if(peer.wire, [](const Message &sent) { return !sent.built; });
	Message *sent = oldest(peer, event == CORE_RX_READ_RESPONSE);

	if (!sent)
		broken("side %u: event %d, but nothing was sent", side, event);
	Message message = std::move(*sent);

	peer.wire.erase(std::find_if(peer.wire.begin(), peer.wire.end(),
				     [&](const Message &one) { return &one == sent; }));
	if (!message.built)
		broken("side %u: event %d for a message that is not whole", side, event);
	if (damaged(side) && message.stream_end > peer.out->damaged_at())
		broken("side %u: a damaged FPDU was delivered", side);
	switch (event) {
	case CORE_RX_WRITE:
		if (message.opcode != CORE_RDMAP_WRITE || message.placed != message.length)
			broken("side %u: a Write is delivered too early", side);
		break;
	case CORE_RX_SEND:
		if (!is_immediate(message.opcode) &&
		    (message.opcode < CORE_RDMAP_SEND || message.opcode > CORE_RDMAP_SEND_SE_INV ||
		     message.placed != message.length))
			broken("side %u: a Send is delivered too early", side);
		if (!message.rtr)
			us.arrived = std::move(message);
		break;
	case CORE_RX_READ_REQUEST: {
		if (message.opcode != CORE_RDMAP_READ_REQUEST)
			broken("side %u: a Read Request that was not sent", side);
		InboundRead read{1, 0, 0, no_op, message.rtr};

		if (!message.rtr) {
			const Op &op = peer.ops[message.op];

			read = {op.request.wqe.rkey, op.request.wqe.remote_addr, op.length,
				message.op, false};
		}
		if (usable(us, read.stag, CORE_ACCESS_REMOTE_READ, read.to, read.length) !=
		    CORE_REGION_OK)
			broken("side %u accepts a read of what must not be read", side);
		us.inbound.push_back(read);
		if (us.inbound.size() > us.agreed.ird)
			broken("side %u: more reads than its IRD", side);
		break;
	}
	case CORE_RX_READ_RESPONSE: {
		if (message.opcode != CORE_RDMAP_READ_RESPONSE ||
		    message.placed != message.length || us.reads.empty() ||
		    us.reads.front() != message.op)
			broken("side %u: a read is completed that is not", side);
		us.reads.pop_front();
		if (message.rtr)
			break;
		Op &op = us.ops[message.op];

		op.done = true;
		if (op.request.wqe.opcode == SRNIC_OP_READ_INV &&
		    !invalidate(us, op.request.sges[0].lkey, false))
			op.done = false;
		break;
	}
	case CORE_RX_TERMINATE:
		if (message.opcode != CORE_RDMAP_TERMINATE)
			broken("side %u: a Terminate that was not sent", side);
		break;
	default:
		broken("side %u: event %d", side, event);
	}
	us.due.clear();
	foresee(side);
	tally["event " + std::to_string(event)]++;
}

// ---- completions ----

// Rules 14 and 15. Writes and Sends: when TCP has all of it. Reads: when all data has arrived.
void Oracle::check_send_completion(unsigned side, Op &op, const srnic_cqe &cqe)
{
	const Side &us = sides[side], &peer = sides[!side];
	const srnic_send_wqe &wqe = op.request.wqe;
	bool sent = op.built && us.out->accepted() >= op.stream_end;
	bool in_slot = op.request.malformed || (is_read(wqe.opcode) && !us.agreed.ord);

	switch (cqe.status) {
	case SRNIC_WC_SUCCESS:
		if (is_local(wqe.opcode) || is_read(wqe.opcode) ? !op.done : !sent)
			broken("side %u: request %llu completes before it is done", side,
			       cqe.wr_id);
		if (cqe.byte_len != (is_read(wqe.opcode) ? op.length : 0))
			broken("side %u: request %llu completes with %u octets", side, cqe.wr_id,
			       cqe.byte_len);
		break;
	case SRNIC_WC_FLUSH_ERR:
		if (!us.failed)
			broken("side %u: request %llu is flushed while all is well", side,
			       cqe.wr_id);
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
	case SRNIC_WC_REM_ACCESS_ERR:
	case SRNIC_WC_REM_INV_REQ_ERR:
		if (!is_read(wqe.opcode) || !peer.failed || op.done ||
		    core_terminate_refusal(&peer.sent_term).status != cqe.status)
			broken("side %u: request %llu was not refused by the peer", side,
			       cqe.wr_id);
		break;
	default:
		broken("side %u: request %llu completes with status %u", side, cqe.wr_id,
		       cqe.status);
	}
}

void Oracle::check_recv_completion(unsigned side, const RecvRequest &receive, const srnic_cqe &cqe,
				   bool solicited)
{
	Side &us = sides[side];
	std::optional<Message> message = std::move(us.arrived);

	us.arrived.reset();
	switch (cqe.status) {
	case SRNIC_WC_SUCCESS: {
		if (!message)
			broken("side %u: receive %llu completes without a Send", side, cqe.wr_id);
		bool inv = message->opcode == CORE_RDMAP_SEND_INV ||
			   message->opcode == CORE_RDMAP_SEND_SE_INV;
		bool se = message->opcode == CORE_RDMAP_SEND_SE ||
			  message->opcode == CORE_RDMAP_SEND_SE_INV ||
			  message->opcode == CORE_RDMAP_IMMEDIATE_SE;
		bool imm = is_immediate(message->opcode);

		if (cqe.byte_len != (imm ? message->written : message->length) ||
		    solicited != se || inv != (cqe.flags == SRNIC_CQE_WITH_INV) ||
		    imm != (cqe.flags == SRNIC_CQE_WITH_IMM) ||
		    (inv && cqe.imm_inv != message->inv_stag) ||
		    (imm && cqe.imm_inv != message->immediate))
			broken("side %u: receive %llu is told something else than was sent", side,
			       cqe.wr_id);
		if (inv && !invalidate(us, message->inv_stag, true))
			broken("side %u: a peer invalidates what it must not", side);
		break;
	}
	case SRNIC_WC_REM_INV_REQ_ERR:
		if (!message || invalidate(us, message->inv_stag, true))
			broken("side %u: an invalidation is refused without reason", side);
		us.owed = is_known(us, message->inv_stag) ? 0x0109 : 0x0100;
		break;
	case SRNIC_WC_LOC_LEN_ERR:
		if (!us.due.count(0x1205) && !damaged(side))
			broken("side %u: receive %llu was long enough", side, cqe.wr_id);
		us.owed = 0x1205;
		break;
	case SRNIC_WC_FLUSH_ERR:
		if (!us.failed)
			broken("side %u: receive %llu is flushed while all is well", side,
			       cqe.wr_id);
		break;
	case SRNIC_WC_LOC_PROT_ERR:
		if (usable(us, receive.sges, CORE_ACCESS_LOCAL_WRITE))
			broken("side %u: receive %llu has no protection error", side, cqe.wr_id);
		us.owed = 0;
		break;
	case SRNIC_WC_LOC_QP_OP_ERR:
		if (!receive.malformed)
			broken("side %u: receive %llu is not malformed", side, cqe.wr_id);
		us.owed = 0;
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
		assumed.byte_len = is_read(silent.request.wqe.opcode) ? silent.length : 0;
		check_send_completion(side, silent, assumed);
	}
	if (cqe.opcode != us.ops[us.next_send].request.wqe.opcode)
		broken("side %u: request %llu completes as another operation", side, cqe.wr_id);
	check_send_completion(side, us.ops[us.next_send], cqe);
	us.next_send++;
}

// ---- ends ----

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

// RFC 5041 7.2 and RFC 5040 figure 9: the possible error codes for the first undelivered message.
void Oracle::foresee(unsigned side)
{
	static const u32 ddp_codes[] = {0, 0x1100, 0x1101, 0x1100, 0x1102, 0x1103};
	static const u32 rdmap_codes[] = {0, 0x0100, 0x0101, 0x0102, 0x0103, 0x0104};
	Side &us = sides[side];
	const Message *next = oldest(sides[!side], false);
	const Side &peer = sides[!side];

	if (!next)
		return;
	const Message &message = *next;

	if (message.opcode == CORE_RDMAP_WRITE) {
		core_region_verdict verdict =
			usable(us, message.stag, CORE_ACCESS_REMOTE_WRITE,
			       message.to + message.placed, message.length - message.placed);

		if (verdict != CORE_REGION_OK)
			us.due.insert(ddp_codes[verdict]);
		// This does not know which segment leaves the region first, nor how far.
		if (verdict == CORE_REGION_WRAP)
			us.due.insert(ddp_codes[CORE_REGION_BOUNDS]);
	} else if (message.opcode == CORE_RDMAP_READ_REQUEST && message.op != no_op) {
		const Op &op = peer.ops[message.op];
		core_region_verdict verdict =
			usable(us, op.request.wqe.rkey, CORE_ACCESS_REMOTE_READ,
			       op.request.wqe.remote_addr, op.length);

		if (verdict != CORE_REGION_OK)
			us.due.insert(rdmap_codes[verdict]);
	} else if (is_immediate(message.opcode)) {
		if (us.next_recv == us.receives.size())
			us.due.insert(0x1202);
	} else if (message.opcode >= CORE_RDMAP_SEND && message.opcode <= CORE_RDMAP_SEND_SE_INV &&
		   !message.rtr) {
		if (us.next_recv == us.receives.size())
			us.due.insert(0x1202);
		else if (length_of(us.receives[us.next_recv].sges) < message.length)
			us.due.insert(0x1205);
	}
}

void Oracle::check_refusal(unsigned side, const core_terminate &term)
{
	Side &us = sides[side];
	u32 told = u32{term.layer} << 12 | u32{term.etype} << 8 | term.code;

	tally["refused " + std::to_string(term.layer) + " " + std::to_string(term.etype) + " " +
	      std::to_string(term.code)]++;
	if (damaged(side)) // any error is possible
		return;
	if (us.owed) {
		if (told != *us.owed)
			broken("side %u: Terminate %04x where %04x is due", side, told, *us.owed);
		return;
	}
	if (told == 0 && !us.reads.empty() && us.reads.front() != no_op) {
		Op &reader = us.ops[us.reads.front()];

		if (!reader.refused && !impossible(us, reader))
			broken("side %u: the sink of a read is given up without reason", side);
		reader.refused = true;
		return;
	}
	foresee(side);
	if (!us.due.count(told))
		broken("side %u: Terminate %04x, which nothing deserves", side, told);
}

void Oracle::failed(unsigned side, Cause cause, const core_terminate *term)
{
	Side &us = sides[side], &peer = sides[!side];

	switch (cause) {
	case Cause::peer_error:
		check_refusal(side, *term);
		us.sent_term = *term;
		break;
	case Cause::local_error:
		if (us.failed)
			break; // the Terminate is out
		if (Op *op = at_hand(us); op && (op->refused || impossible(us, *op)))
			op->refused = true;
		else
			broken("side %u fails without reason", side);
		us.sent_term = *term;
		tally["refused locally"]++;
		break;
	case Cause::response_gone:
		if (Message *answer = unfinished(us, true);
		    us.inbound.empty() || !answer ||
		    source(us, *answer,
			   answer->length - static_cast<u32>(answer->content.size())))
			broken("side %u does not answer a read that it could answer", side);
		us.sent_term = *term;
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
	}
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
