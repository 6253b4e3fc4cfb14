// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The oracle: regions, what the consumers ask for, and what is sent.
#include "oracle.hh"

namespace sim {

Oracle::Oracle(const Setup setups[2], Tally &tally_)
	: rdmatcp(setups[0].framing == CORE_FRAMING_RDMATCP),
	  acknowledges(setups[0].framing == CORE_FRAMING_IB), tally(tally_)
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

	if (op.request.malformed || (is_read(wqe.opcode) && !side.agreed.ord) ||
	    (is_atomic(wqe.opcode) && op.length < sizeof(u64)))
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
		if (is_response(message) == response && !message.doomed)
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

void Oracle::connected(unsigned side, const core_startup_agreed &agreed)
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
	tally[rdmatcp && agreed.long_segments		   ? "RDMA/TCP, long segments"
	      : acknowledges				   ? "acknowledgements"
	      : rdmatcp				   ? "RDMA/TCP, short segments"
	      : agreed.send_markers && agreed.recv_markers ? "markers both ways"
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
	message.solicited = wqe.flags & SRNIC_WQE_SOLICITED;
	message.has_immediate =
		is_immediate(message.opcode) ||
		(rdmatcp && wqe.opcode == SRNIC_OP_WRITE_IMM) ||
		(acknowledges && wqe.opcode == SRNIC_OP_IMM);
	message.immediate = wqe.arg[0];
	if (acknowledges)
		message.immediate &= 0xffffffff; // verbs have four octets
	if (wqe.flags & SRNIC_WQE_INLINE && !tail)
		message.content = op.request.data;
}

// RFC 7306 6: what the receiver of Immediate Data can know of the Write that it belongs to.
void Oracle::track_written(Side &us, Message &message)
{
	message.written = us.written;
	if (acknowledges && message.op != no_op && is_immediate(message.opcode))
		message.written = us.ops[message.op].length; // also when it comes alone, again
	if (message.opcode == CORE_MSG_WRITE)
		us.written = message.length;
	else if (!is_response(message) && message.opcode != CORE_MSG_READ_REQUEST &&
		 message.opcode != CORE_MSG_ATOMIC_REQUEST && message.opcode != CORE_MSG_EXTENDED &&
		 message.opcode != CORE_MSG_TERMINATE)
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
		if ((message.opcode == CORE_MSG_ATOMIC_RESPONSE) != us.inbound.front().atomic)
			broken("side %u answers something else than was asked", side);
		if (us.inbound.front().atomic) {
			const auto *at =
				reinterpret_cast<const u8 *>(&us.inbound.front().original);

			message.length = sizeof(u64);
			message.content.assign(at, at + sizeof(u64));
		}
		if (message.length != us.inbound.front().length)
			broken("side %u answers a read of %u octets with %u", side,
			       us.inbound.front().length, message.length);
	} else if (source == Source::request) {
		start_request(us, side, message, index - us.first_index);
		tally["opcode " + std::to_string(msg.opcode)]++;
	}
	if (message.opcode == CORE_MSG_READ_REQUEST || message.opcode == CORE_MSG_ATOMIC_REQUEST) {
		us.reads.push_back(message.op);
		if (us.reads.size() > us.agreed.ord + size_t{message.rtr})
			broken("side %u: more reads outstanding than its ORD", side);
	}
	track_written(us, message);
	message.doomed = us.dropped && source == Source::request;
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

		if (!acknowledges && op.write_end &&
		    stream_end - op.write_end > immediate_fpdu_max)
			broken("side %u: something lies between a Write and its Immediate Data",
			       side);
		op.built = rdmatcp || op.request.wqe.opcode != SRNIC_OP_WRITE_IMM || op.write_end;
		op.write_end = stream_end;
		op.stream_end = stream_end;
	}
	if (places(message) && message.content.size() != message.length)
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

// ---- with acknowledgements ----

// The peer's oldest undelivered request is refused, and with it all that follow, until the sender
// has gone back.
void Oracle::doom(unsigned side)
{
	for (Message &message : sides[side].wire)
		if (message.source == Source::request)
			message.doomed = true;
	sides[side].dropped = true;
}

// This end's oldest request that the peer has not delivered.
Oracle::Message *Oracle::next_request(Side &side)
{
	Message *next = oldest(side, false);

	if (!next || next->source != Source::request)
		return nullptr;
	return next;
}

void Oracle::refused(unsigned side, core_syndrome syndrome)
{
	Side &us = sides[side], &peer = sides[!side];
	const Message *next = next_request(peer);

	if (peer.dropped)
		broken("side %u refuses twice what came once", side);
	tally["refused with syndrome " + std::to_string(syndrome)]++;
	us.refusals++;
	if (syndrome != CORE_SYNDROME_NOT_READY) {
		refuse_for_good(side, syndrome);
		return;
	}
	if (damaged(side))
		return;
	if (!next || !(next->has_immediate || is_send(peer.ops[next->op].request.wqe.opcode)))
		broken("side %u is not ready for what needs no receive", side);
	if (!us.lacks_receive)
		broken("side %u refuses without having looked for a receive", side);
	us.lacks_receive = false;
	doom(!side);
}

void Oracle::found_no_receive(unsigned side)
{
	Side &us = sides[side];

	if (us.next_recv < us.receives.size())
		broken("side %u has a receive and does not find it", side);
	us.lacks_receive = true;
}

void Oracle::refuse_for_good(unsigned side, core_syndrome syndrome)
{
	Side &us = sides[side], &peer = sides[!side];
	static const u8 status[] = {0, 0, SRNIC_WC_REM_INV_REQ_ERR, SRNIC_WC_REM_ACCESS_ERR,
				    SRNIC_WC_REM_OP_ERR};

	us.refuses = true;
	peer.refused_status = status[syndrome];
	if (const Message *next = next_request(peer); next && peer.refused_op == no_op)
		peer.refused_op = next->op;
	check_refusal(side, syndrome);
	doom(!side);
}

// A response that cannot be built refuses its request.
void Oracle::answer_refused(unsigned side)
{
	Side &us = sides[side], &peer = sides[!side];
	Message *answer = unfinished(us, true);

	if (us.inbound.empty() || !answer ||
	    source(us, *answer, answer->length - static_cast<u32>(answer->content.size())))
		broken("side %u does not answer a read that it could answer", side);
	tally["read source gone"]++;
	us.refuses = true;
	peer.refused_op = us.inbound.front().op;
	peer.refused_status = SRNIC_WC_REM_ACCESS_ERR;
}

// Its completion comes when all before it are acknowledged.
void Oracle::gave_up(unsigned side, u32 index)
{
	Side &us = sides[side];
	Op &op = us.ops.at(index - us.first_index);

	if (!impossible(us, op))
		broken("side %u gives up request %u, opcode %u, that it could send", side,
		       index - us.first_index, op.request.wqe.opcode);
	op.refused = true;
}

// Nothing that was refused or dropped counts: it starts anew, but for a Write whose Immediate Data
// alone are sent again. Local operations are not done again.
void Oracle::rewound(unsigned side, u32 index)
{
	Side &us = sides[side];
	u32 number = index - us.first_index;

	if (!us.dropped && !damaged(!side))
		broken("side %u goes back although its peer has refused nothing", side);
	std::erase_if(us.wire, [](const Message &message) { return message.doomed; });
	us.dropped = false;
	us.rewinds++;
	tally["rewinds"]++;
	while (!us.reads.empty() && us.reads.back() >= number)
		us.reads.pop_back();
	for (u32 n = number; n < us.ops.size() && us.ops[n].started; n++) {
		Op &op = us.ops[n];

		if (is_local(op.request.wqe.opcode) && op.done) {
			tally["rewinds across a local operation"]++;
			continue;
		}
		tally["rewinds across opcode " + std::to_string(op.request.wqe.opcode)]++;
		op.started = op.built = op.refused = false;
		op.write_end = 0;
	}
	us.next_start = number;
}

} // namespace sim
