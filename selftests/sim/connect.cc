// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// MPA startup over the simulated stream, and the ways a connection can end.
#include "endpoint.hh"

namespace sim {

Endpoint::Endpoint(unsigned side_, const Setup &setup, Stream &out_, Witness &witness_)
	: side(side_), initiator(setup.initiator), user(setup.user), out(out_), witness(witness_),
	  random(setup.seed), emss(setup.emss), mpa(setup.mpa), private_len(setup.private_len),
	  octets(setup.memory), mrs(setup.regions), sq_entries(setup.sq_entries),
	  prod(setup.first_index), sq_taken(prod), sq_done(prod), sq(sq_entries), tracks(sq_entries)
{
	if (initiator)
		hello();
}

void Endpoint::hello()
{
	u8 frame[CORE_MPA_HEADER + CORE_MPA_ENHANCED + 64] = {};

	core_mpa_request(&mpa, static_cast<u16>(private_len), &request);
	out.write(frame, core_mpa_build(&request, frame) + private_len);
}

// Gathers only the expected frame: the rest belongs to the stream.
void Endpoint::feed_startup(const u8 *&data, u32 &len)
{
	for (; len && now == State::startup; data++, len--) {
		greeting.push_back(*data);
		if (greeting.size() >= CORE_MPA_HEADER)
			greeted();
	}
}

void Endpoint::greeted()
{
	core_mpa_frame frame{}, reply{};
	core_startup_agreed agreed{};
	u8 octets_out[CORE_MPA_HEADER + CORE_MPA_ENHANCED + 64] = {};

	if (core_mpa_parse(greeting.data(), initiator, &frame) != CORE_MPA_OK)
		broken("side %u: a frame of the core's own does not parse", side);
	if (greeting.size() < CORE_MPA_HEADER + size_t{frame.private_len})
		return;
	if (frame.enhanced)
		core_mpa_parse_enhanced(greeting.data() + CORE_MPA_HEADER, &frame);
	if (initiator) {
		core_mpa_conclude(&request, &frame, &mpa, &agreed);
	} else {
		core_mpa_respond(&frame, &mpa, false, static_cast<u16>(private_len), &reply,
				 &agreed);
		out.write(octets_out, core_mpa_build(&reply, octets_out) + private_len);
	}
	if (agreed.error)
		broken("side %u: MPA error %u", side, agreed.error);
	start(agreed);
}

void Endpoint::start(const core_startup_agreed &agreed)
{
	core_rx_params params{};

	params.ctx = this;
	params.pd = our_pd;
	params.first_msn = CORE_FIRST_MSN;
	params.crc = agreed.crc;
	params.markers = agreed.recv_markers;
	params.rtr = initiator ? 0 : agreed.rtr;
	core_rx_init(&rx, &params);
	ird = agreed.ird;
	ord = agreed.ord;
	start_sending(agreed);
	built = completed = sq_taken;
	stream_built = out.accepted();
	now = State::rts;
	witness.connected(side, agreed);
}

void Endpoint::start_sending(const core_startup_agreed &agreed)
{
	core_tx_params params{};

	params.ctx = this;
	params.ord = agreed.ord;
	params.slot_size = sizeof(Slot);
	params.kernel = !user;
	params.crc = agreed.crc;
	params.markers = agreed.send_markers;
	params.initiator = initiator;
	params.rtr = initiator && agreed.p2p ? agreed.rtr : 0;
	core_tx_init(&tx, &params);
}

void Endpoint::fail(Cause cause)
{
	if (now == State::error)
		return;
	now = State::error;
	out.close();
	witness.failed(side, cause,
		       cause == Cause::peer_terminated ? core_rx_terminate(&rx) : nullptr);
}

void Endpoint::terminate(Cause cause, const core_terminate &why)
{
	if (now != State::rts)
		return;
	now = State::terminating;
	term = why;
	term_pending = true;
	witness.failed(side, cause, &term);
}

void Endpoint::local_terminate(const core_terminate &why)
{
	terminate(why.has_rdmap ? Cause::response_gone : Cause::local_error, why);
}

void Endpoint::hang_up()
{
	if (now != State::error)
		fail(Cause::stream_over);
}

} // namespace sim
