// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The oracle: streams that return, and ends that leave them (Documentation/ib.rst, rules 10, 31 and
// 57).
#include "oracle.hh"

namespace sim {

static bool takes_receive(u8 opcode)
{
	return is_send(opcode) || opcode == SRNIC_OP_IMM || opcode == SRNIC_OP_WRITE_IMM;
}

// What an end may count on without having heard of it: what its peer has done.
bool Oracle::is_done(const Op &op) { return op.done || op.delivered; }

// An idle end has lost its stream. All before this request is done; none of the others has begun.
void Oracle::lost(unsigned side, u32 index, bool again)
{
	Side &us = sides[side];
	const u32 next = index - us.first_index;

	if (us.failed || !us.reads.empty())
		broken("side %u waits for a stream and is not idle", side);
	for (u32 n = us.next_send; n < next; n++)
		if (!us.ops.at(n).done &&
		    !(us.ops[n].delivered && !is_read(us.ops[n].request.wqe.opcode)))
			broken("side %u returns with request %u, and %u is not done", side, next,
			       n);
	for (u32 n = next; n < us.ops.size(); n++) {
		Op &op = us.ops[n];

		if (op.done || op.delivered || op.built)
			broken("side %u returns with request %u, and %u is done", side, next, n);
		op.started = op.refused = false;
		op.write_end = 0;
	}
	us.next_start = next;
	tally["idle ends that lost their stream"]++;
	if (again)
		tally["returns to a request that waited"]++;
}

// Rule 11: the peer gets its success for all before what is not done, or not answered.
void Oracle::left(unsigned side, bool acknowledges_all)
{
	const Side &us = sides[side];
	Side &peer = sides[!side];

	peer.assured = 0;
	if (!acknowledges_all)
		return;
	while (peer.assured < peer.ops.size() &&
	       (peer.assured < peer.next_send || is_done(peer.ops[peer.assured])))
		peer.assured++;
	if (!us.inbound.empty())
		peer.assured = std::min(peer.assured, us.inbound.front().op);
	tally["last Acks"]++;
}

// A request fails because the stream has ended. An end that has refused its peer for good reads no
// more (rule 25).
void Oracle::check_assured(unsigned side, u32 number) const
{
	const Side &us = sides[side];

	if (us.cause == Cause::stream_over && number < us.assured && !us.refuses &&
	    !us.out->reset())
		broken("side %u: request %u fails, and its peer has acknowledged %u by a last Ack",
		       side, number, us.assured);
}

// Its queues are empty. What it has sent is still on its way.
void Oracle::reset(unsigned side)
{
	Side &us = sides[side];

	us.first_op = us.next_start = us.next_send = static_cast<u32>(us.ops.size());
	us.next_recv = static_cast<u32>(us.receives.size());
	tally["QPs reset"]++;
}

// Both ends begin a stream, and nothing is on its way.
void Oracle::paired()
{
	for (Side &us : sides) {
		us.wire.clear();
		us.inbound.clear();
		us.reads.clear();
		us.arrived.reset();
		us.owed.reset();
		us.due.clear();
		us.sent_term = {};
		us.written = us.assured = 0;
		us.failed = us.dropped = us.refuses = us.lacks_receive = us.is_connected = false;
		us.refused_op = no_op;
		us.refused_status = 0;
	}
	tally["pairings"]++;
}

// ---- what the queues hold ----

std::vector<u32> Oracle::open_receives(unsigned side) const
{
	const Side &us = sides[side];
	std::vector<u32> rooms;

	for (size_t n = us.next_recv; n < us.receives.size(); n++)
		rooms.push_back(length_of(us.receives[n].sges));
	return rooms;
}

std::vector<u32> Oracle::open_messages(unsigned side) const
{
	const Side &us = sides[side];
	std::vector<u32> lengths;

	for (size_t n = us.next_send; n < us.ops.size(); n++) {
		const u8 opcode = us.ops[n].request.wqe.opcode;

		if (!us.ops[n].delivered && takes_receive(opcode))
			lengths.push_back(opcode == SRNIC_OP_WRITE_IMM ? 0 : us.ops[n].length);
	}
	return lengths;
}

} // namespace sim
