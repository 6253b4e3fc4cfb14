// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The oracle: what arrives, where it is placed, what is delivered.
#include "oracle.hh"

namespace sim {

// From the damaged byte on, received data may be wrong.
bool Oracle::damaged(unsigned to) const { return sides[!to].out->damaged(); }

std::optional<Oracle::Spot> Oracle::destination(const Side &side, const Message &message,
						u32 len) const
{
	u32 offset = message.placed;

	if (message.opcode == CORE_MSG_WRITE) {
		if (usable(side, message.stag, CORE_ACCESS_REMOTE_WRITE, message.to + offset,
			   len) != CORE_REGION_OK)
			return {};
		const Mr *mr = find(side, message.stag);

		return Spot{mr->at + (message.to + offset - mr->base), len};
	}
	if (message.opcode == CORE_MSG_READ_RESPONSE ||
	    message.opcode == CORE_MSG_ATOMIC_RESPONSE) {
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

	if (!places(message))
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

// RFC 7306 8.2 and 5.2.1 rule 4: what there is to refuse.
std::optional<u32> Oracle::atomic_error(const Side &us, const Op &op) const
{
	static const u32 codes[] = {0, 0x0100, 0x0101, 0x0102, 0x0103, 0x0104};
	const srnic_send_wqe &wqe = op.request.wqe;
	const core_region_verdict verdict =
		usable(us, wqe.rkey, CORE_ACCESS_REMOTE_ATOMIC, wqe.remote_addr, sizeof(u64));

	if (wqe.opcode == SRNIC_OP_SWAP)
		return 0x0206;
	if (verdict != CORE_REGION_OK)
		return codes[verdict];
	const Mr *mr = find(us, wqe.rkey);
	if ((mr->at + (wqe.remote_addr - mr->base)) % sizeof(u64))
		return 0x0207;
	return {};
}

// 5.1, in the oracle's own memory.
Oracle::InboundRead Oracle::do_atomic(unsigned side, const Op &op, u32 number)
{
	Side &us = sides[side];
	const srnic_send_wqe &wqe = op.request.wqe;
	u64 word, result = 0, carry = 0;

	if (atomic_error(us, op))
		broken("side %u does an atomic operation that it must not do", side);
	const Mr *mr = find(us, wqe.rkey);
	u8 *at = us.memory.data() + mr->at + (wqe.remote_addr - mr->base);

	memcpy(&word, at, sizeof(word));
	if (wqe.opcode == SRNIC_OP_FETCH_ADD) {
		for (unsigned bit = 0; bit < 64; bit++) {
			u64 sum = carry + (word >> bit & 1) + (wqe.arg[0] >> bit & 1);

			result |= (sum & 1) << bit;
			carry = wqe.arg[1] >> bit & 1 ? 0 : sum >> 1;
		}
	} else if ((word & wqe.arg[3]) == (wqe.arg[2] & wqe.arg[3])) {
		result = (word & ~wqe.arg[1]) | (wqe.arg[0] & wqe.arg[1]);
	} else {
		result = word;
	}
	memcpy(at, &result, sizeof(result));
	tally["atomics"]++;
	InboundRead read{wqe.rkey, wqe.remote_addr, sizeof(u64), number, false};
	read.atomic = true;
	read.original = word;
	return read;
}

// ib.rst rule 115, for a request that is valid (rule 112).
std::optional<u32> Oracle::extended_error(const Side &us, const Op &op) const
{
	static const u32 codes[] = {0, 0x0100, 0x0101, 0x0102, 0x0103, 0x0104};
	const srnic_send_wqe &wqe = op.request.wqe;
	const bool flush = wqe.opcode == SRNIC_OP_FLUSH;
	const Mr *mr = find(us, wqe.rkey);
	u32 access = CORE_ACCESS_REMOTE_WRITE;
	core_region_verdict verdict;

	if (!flush && wqe.remote_addr % sizeof(u64))
		return 0x0207;
	if (!mr)
		return codes[CORE_REGION_INVALID];
	if (flush)
		access = (wqe.arg[1] & 1 ? CORE_ACCESS_FLUSH_GLOBAL : 0) |
			 (wqe.arg[1] & 2 ? CORE_ACCESS_FLUSH_PERSISTENT : 0);
	if (!flush || (!(wqe.arg[1] & SRNIC_FLUSH_MR) && wqe.arg[0]))
		verdict = usable(us, wqe.rkey, access, wqe.remote_addr,
				 flush ? wqe.arg[0] : sizeof(u64));
	else // of nothing, or of the region as it is
		verdict = mr->pd != our_pd		    ? CORE_REGION_FOREIGN
			  : (mr->access & access) != access ? CORE_REGION_ACCESS
							    : CORE_REGION_OK;
	if (verdict == CORE_REGION_OK && flush && !(wqe.arg[1] & SRNIC_FLUSH_MR) &&
	    wqe.remote_addr - mr->base > mr->length)
		verdict = CORE_REGION_BOUNDS;
	if (verdict != CORE_REGION_OK)
		return codes[verdict];
	if (!flush && (mr->at + (wqe.remote_addr - mr->base)) % sizeof(u64))
		return 0x0207;
	return {};
}

void Oracle::do_extended(unsigned side, const Op &op)
{
	Side &us = sides[side];
	const srnic_send_wqe &wqe = op.request.wqe;

	if (extended_error(us, op))
		broken("side %u does opcode %u, which it must not do", side, wqe.opcode);
	tally[wqe.opcode == SRNIC_OP_FLUSH ? "flushes" : "atomic writes"]++;
	if (wqe.opcode == SRNIC_OP_FLUSH)
		return;
	const Mr *mr = find(us, wqe.rkey);

	memcpy(us.memory.data() + mr->at + (wqe.remote_addr - mr->base), wqe.arg, sizeof(u64));
}

// Rules 10, 11, 16: messages are delivered in order, whole.
void Oracle::delivered(unsigned side, core_rx_event event)
{
	Side &us = sides[side], &peer = sides[!side];

	// A sender that terminates may leave messages unfinished.
	if (event == CORE_RX_TERMINATE)
		std::erase_if(peer.wire, [](const Message &sent) { return !sent.built; });
	Message *sent = oldest(peer, event == CORE_RX_READ_RESPONSE ||
					     event == CORE_RX_ATOMIC_RESPONSE);

	if (!sent)
		broken("side %u: event %d, but nothing was sent", side, event);
	Message message = std::move(*sent);

	peer.wire.erase(std::find_if(peer.wire.begin(), peer.wire.end(),
				     [&](const Message &one) { return &one == sent; }));
	if (!message.built)
		broken("side %u: event %d for a message that is not whole", side, event);
	if (damaged(side) && message.stream_end > peer.out->damaged_at())
		broken("side %u: a damaged FPDU was delivered", side);
	if (acknowledges && message.source == Source::request) {
		Op &op = peer.ops[message.op];

		if (op.delivered)
			broken("side %u: request %u is delivered twice", !side, message.op);
		op.delivered = op.request.wqe.opcode != SRNIC_OP_WRITE_IMM ||
			       is_immediate(message.opcode);
	}
	switch (event) {
	case CORE_RX_WRITE:
		if (message.opcode != CORE_MSG_WRITE || message.placed != message.length ||
		    message.has_immediate)
			broken("side %u: a Write is delivered too early", side);
		break;
	case CORE_RX_SEND:
		if ((!message.has_immediate &&
		     (message.opcode < CORE_MSG_SEND || message.opcode > CORE_MSG_SEND_SE_INV)) ||
		    (places(message) && message.placed != message.length))
			broken("side %u: a Send is delivered too early", side);
		if (!message.rtr)
			us.arrived = std::move(message);
		break;
	case CORE_RX_READ_REQUEST: {
		if (message.opcode != CORE_MSG_READ_REQUEST)
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
	case CORE_RX_ATOMIC_REQUEST:
		if (message.opcode != CORE_MSG_ATOMIC_REQUEST)
			broken("side %u: an Atomic Request that was not sent", side);
		us.inbound.push_back(do_atomic(side, peer.ops[message.op], message.op));
		if (us.inbound.size() > us.agreed.ird)
			broken("side %u: more reads than its IRD", side);
		break;
	case CORE_RX_EXTENDED:
		if (message.opcode != CORE_MSG_EXTENDED)
			broken("side %u: an Extended Request that was not sent", side);
		do_extended(side, peer.ops[message.op]);
		break;
	case CORE_RX_ATOMIC_RESPONSE:
	case CORE_RX_READ_RESPONSE: {
		if ((event == CORE_RX_READ_RESPONSE) !=
			    (message.opcode == CORE_MSG_READ_RESPONSE) ||
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
		if (message.opcode != CORE_MSG_TERMINATE)
			broken("side %u: a Terminate that was not sent", side);
		break;
	default:
		broken("side %u: event %d", side, event);
	}
	us.due.clear();
	foresee(side);
	tally["event " + std::to_string(event)]++;
}

} // namespace sim
