// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Ends whose streams return (Documentation/ib.rst, "Startup", "Pairing"): the QP's way to a stream
// and away from it.
#include "endpoint.hh"

namespace sim {

// ---- to a stream ----

static core_pair_end name_of(unsigned side)
{
	core_pair_end end{};

	end.gid[15] = 1;
	end.qpn = 17 + side;
	return end;
}

// RTR.
void Endpoint::get_ready()
{
	pairing.own = name_of(side);
	pairing.peer = name_of(!side);
	pairing.incarnation = random() | 1;
	pairing.ird = std::min(local.ird, local.max_ird);
	pairing.ord = local.ord;
	pairing.crc = local.crc;
	pairing.features = flushes ? CORE_PAIR_EXTENDED : 0;
	core_pairing_ready(&pairing);
	now = State::waiting;
}

core_pair_counts Endpoint::counts() const
{
	return {acks.whole, acks.received, !core_acks_unacknowledged(&acks)};
}

bool Endpoint::request_pairing(core_pair_frame &to_peer)
{
	const core_pair_counts how_far = counts();

	attempt = core_pairing_connect(&pairing, &how_far);
	return attempt && core_pairing_request(&pairing, attempt, &how_far, &to_peer);
}

core_pair_reason Endpoint::respond(const core_pair_frame &asked, core_pair_frame &reply,
				   core_pair_agreed &agreed)
{
	const core_pair_counts how_far = counts();
	const core_pair_reason reason =
		core_pairing_respond(&pairing, &how_far, &asked, &reply, &agreed);

	if (reason == CORE_PAIR_OK && now == State::rts)
		detach(); // the other end has lost the stream, this one has not noticed
	return reason;
}

core_pair_outcome Endpoint::conclude(const core_pair_frame *reply)
{
	const core_pair_counts how_far = counts();
	core_pair_outcome outcome{};

	if (reply)
		core_pairing_conclude(&pairing, attempt, &how_far, reply,
				      static_cast<u32>(random()), &outcome);
	else
		core_pairing_failed(&pairing, attempt, CORE_PAIR_OK, static_cast<u32>(random()),
				    &outcome);
	return outcome;
}

void Endpoint::attach(const core_pair_agreed &pair)
{
	core_startup_agreed agreed{};

	agreed.framing = static_cast<u8>(framing);
	agreed.ird = pair.ird;
	agreed.ord = pair.ord;
	agreed.crc = pair.crc;
	agreed.long_segments = 1;
	agreed.extended = pair.features & CORE_PAIR_EXTENDED;
	initiator = !pair.muted;
	start(agreed);
}

// ---- away from it ----

// Nothing of the stream is left. What was taken from the queue and waits is taken again; a receive
// that a message had taken serves the next one.
void Endpoint::forget_stream()
{
	core_rx_stop(&rx);
	inbound.clear();
	outbound.clear();
	batch.clear();
	announced[0] = announced[1] = gave_up = gave_up_answer = term_pending = false;
	if (receive_active)
		rq.push_front(receive);
	receive_active = false;
}

void Endpoint::detach()
{
	const u32 next = core_tx_next_request(&tx);
	const bool again = next != sq_taken;

	forget_stream();
	while (sq_taken != next)
		track(--sq_taken).done = false;
	now = State::waiting;
	witness.lost(side, next, again);
}

// The stream is over: an end that is idle waits for another one (rule 57).
void Endpoint::lose()
{
	if (!returns || core_acks_unacknowledged(&acks))
		return fail(Cause::stream_over);
	core_pairing_lost(&pairing, static_cast<u32>(random()));
	detach();
}

// Rule 31: the connection sends what is built, and the last Ack, without this end.
void Endpoint::leave()
{
	u8 last_ack[CORE_ACK_FPDU];
	u32 len;

	core_rx_stop(&rx);
	len = core_tx_last_ack(&tx, last_ack);
	batch.insert(batch.end(), last_ack, last_ack + len);
	out.write_rest(batch.data(), static_cast<u32>(batch.size()));
	batch.clear();
	out.close();
	witness.left(side, len != 0);
}

// RESET, and RTR again: no completions, and numbers begin.
void Endpoint::reset_qp()
{
	if (now == State::rts)
		leave();
	core_pairing_reset(&pairing);
	forget_stream();
	for (Track &any : tracks)
		any.done = false;
	sq_taken = sq_done = built = completed = prod;
	rq.clear();
	core_acks_init(&acks);
	get_ready();
}

} // namespace sim
