// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Startup over the simulated stream, by either framing, and the ways a connection can end.
#include "endpoint.hh"

namespace sim {

Endpoint::Endpoint(unsigned side_, const Setup &setup, Stream &out_, Witness &witness_)
	: side(side_), initiator(setup.initiator), user(setup.user), returns(setup.returns),
	  flushes(setup.flushes), by_kick(setup.by_kick), rnr_retry(setup.rnr_retry),
	  first_number(setup.first_number), peers_first_number(setup.peers_first_number),
	  framing(setup.framing), out(out_), witness(witness_), random(setup.seed),
	  emss(setup.emss), local(setup.local), long_segments(setup.long_segments),
	  private_len(setup.private_len), octets(setup.memory), mrs(setup.regions),
	  sq_entries(setup.sq_entries), prod(setup.first_index), sq_taken(prod), sq_done(prod),
	  sq(sq_entries), tracks(sq_entries), sent_requests(sq_entries)
{
	prepare_acks();
	if (returns)
		get_ready();
	else if (initiator)
		greet();
}

// ---- the first message of each end ----

void Endpoint::greet()
{
	if (framing == CORE_FRAMING_RDMATCP)
		greet_by_rdmatcp();
	else
		greet_by_mpa();
}

void Endpoint::greet_by_mpa()
{
	u8 frame[CORE_MPA_HEADER + CORE_MPA_ENHANCED + 64] = {};

	core_mpa_request(&local, static_cast<u16>(private_len), &request);
	out.write(frame, core_mpa_build(&request, frame) + private_len);
}

void Endpoint::greet_by_rdmatcp()
{
	const u64 unpredictable[] = {random(), random()};
	const u8 data[64] = {};
	u8 segment[CORE_HELLO_MAX];

	core_hello_connect(&local, static_cast<u16>(private_len), unpredictable, &hello);
	hello.long_segments = long_segments;
	out.write(segment, core_hello_build(&hello, data, segment));
}

// Gathers only the expected octets: the rest belongs to the stream.
void Endpoint::feed_startup(const u8 *&data, u32 &len)
{
	for (; len && now == State::startup; data++, len--) {
		greeting.push_back(*data);
		if (framing == CORE_FRAMING_RDMATCP && greeting.size() >= CORE_HELLO_HEAD)
			greeted_by_rdmatcp();
		else if (framing != CORE_FRAMING_RDMATCP && greeting.size() >= CORE_MPA_HEADER)
			greeted_by_mpa();
	}
}

void Endpoint::greeted_by_mpa()
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
		core_mpa_conclude(&request, &frame, &local, &agreed);
	} else {
		core_mpa_respond(&frame, &local, false, static_cast<u16>(private_len), &reply,
				 &agreed);
		out.write(octets_out, core_mpa_build(&reply, octets_out) + private_len);
	}
	agreed.extended = acknowledges() && flushes;
	start(agreed);
}

void Endpoint::greeted_by_rdmatcp()
{
	const u32 whole = core_hello_len(greeting.data());
	const u8 nothing[64] = {}, *private_data;
	core_startup_agreed agreed{};
	core_hello came{};
	u8 segment[CORE_HELLO_MAX];

	if (whole > greeting.size())
		return;
	if (!whole ||
	    core_hello_parse(greeting.data(), whole, &came, &private_data) != CORE_RDMATCP_FINE)
		broken("side %u: a first message of the core's own does not parse", side);
	if (initiator) {
		core_hello_conclude(&hello, &came, &local, &agreed);
	} else {
		core_hello_respond(&came, &local, false, static_cast<u16>(private_len), random(),
				   &hello, &agreed);
		hello.long_segments = long_segments;
		out.write(segment, core_hello_build(&hello, nothing, segment));
	}
	start(agreed);
}

// ---- the agreement ----

void Endpoint::start(const core_startup_agreed &agreed)
{
	core_rx_params params{};

	if (agreed.error)
		broken("side %u: startup error %u", side, agreed.error);
	if (agreed.framing != framing && !acknowledges())
		broken("side %u: another framing", side);
	params.ctx = this;
	params.framing = framing;
	params.connection_id = agreed.connection_id;
	params.pd = our_pd;
	params.first_msn = framing == CORE_FRAMING_RDMATCP ? agreed.recv_msn : CORE_FIRST_MSN;
	params.acks = acknowledges() ? &acks : nullptr;
	params.crc = agreed.crc;
	params.markers = agreed.recv_markers;
	params.rtr = initiator ? 0 : agreed.rtr;
	params.extended = agreed.extended;
	validated = false;
	core_acks_start(&acks, sq_taken);
	acked_to = sq_taken;
	core_rx_init(&rx, &params);
	ird = agreed.ird;
	ord = agreed.ord;
	start_sending(agreed);
	built = completed = sq_taken;
	stream_built = out.accepted();
	now = State::rts;
	seen_asked = acks.asked;
	seen_probes = acks.probes;
	late_armed = late_due = delay_armed = delay_due = lacks_space = false;
	kick();
	witness.connected(side, agreed);
}

void Endpoint::prepare_acks()
{
	acks.rnr_retry = rnr_retry;
	acks.min_rnr_timer = static_cast<u8>(below(random, 32));
	acks.access = CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ |
		      CORE_ACCESS_REMOTE_ATOMIC | CORE_ACCESS_FLUSH_GLOBAL |
		      CORE_ACCESS_FLUSH_PERSISTENT;
	acks.ask_every = 1 + static_cast<u32>(below(random, sq_entries));
	acks.sent = sent_requests.data();
	acks.mask = sq_entries - 1;
	core_acks_init(&acks);
	acks.acked = first_number;
	acks.received = peers_first_number;
	core_acks_start(&acks, sq_taken);
}

void Endpoint::start_sending(const core_startup_agreed &agreed)
{
	core_tx_params params{};

	params.ctx = this;
	params.framing = framing;
	if (acknowledges())
		params.acks = &acks;
	else
		params.connection_id = agreed.connection_id;
	params.first_msn = agreed.send_msn;
	params.long_segments = agreed.long_segments;
	params.ord = agreed.ord;
	params.slot_size = sizeof(Slot);
	params.kernel = !user;
	params.crc = agreed.crc;
	params.markers = agreed.send_markers;
	params.initiator = initiator;
	params.rtr = initiator && agreed.p2p ? agreed.rtr : 0;
	params.extended = agreed.extended;
	core_tx_init(&tx, &params);
}

// ---- ends ----

void Endpoint::fail(Cause cause)
{
	if (now == State::error)
		return;
	if (acknowledges() && now != State::startup && now != State::waiting)
		leave();
	now = State::error;
	kick();
	out.close();
	core_pairing_reset(&pairing);
	witness.failed(side, cause,
		       cause == Cause::peer_terminated ? core_rx_terminate(&rx) : nullptr,
		       CORE_RDMATCP_FINE);
}

// RDMA/TCP's end after an error: it has no message for the peer.
void Endpoint::reset(Cause cause, core_rdmatcp_fault fault)
{
	if (now != State::rts)
		return;
	now = State::error;
	out.do_reset();
	witness.failed(side, cause, nullptr, fault);
}

void Endpoint::terminate(Cause cause, const core_terminate &why)
{
	if (now != State::rts)
		return;
	now = State::terminating;
	kick();
	term = why;
	term_pending = true;
	witness.failed(side, cause, &term, CORE_RDMATCP_FINE);
}

void Endpoint::local_terminate(const core_terminate &why)
{
	const Cause cause = why.has_rdmap ? Cause::response_gone : Cause::local_error;

	if (framing == CORE_FRAMING_RDMATCP)
		reset(cause, CORE_RDMATCP_LOCAL);
	else
		terminate(cause, why);
}

void Endpoint::hang_up()
{
	if (now == State::rts)
		lose();
	else if (now != State::error && now != State::waiting)
		fail(Cause::stream_over);
}

} // namespace sim
