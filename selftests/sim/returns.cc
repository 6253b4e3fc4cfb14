// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A program whose streams return: TCP loses them, QPs are reset, and the ends pair again by the
// core's decisions (Documentation/ib.rst, "Pairing").
#include "program.hh"

namespace sim {

void Program::lose_streams()
{
	streams[0].do_reset();
	streams[1].do_reset();
	tally["resets"]++;
}

// RESET, as a destruction, is silent: the peer gets the last Ack.
void Program::reset(unsigned side)
{
	settled = false;
	ends[side].reset_qp();
	oracle.reset(side);
	happened++;
}

void Program::disturb()
{
	const unsigned side = static_cast<unsigned>(pick(2));

	switch (pick(5)) {
	case 0:
		reset(side);
		break;
	case 1:
		reset(side);
		reset(!side);
		break;
	case 2:
		if (wild) {
			spoil();
			break;
		}
		[[fallthrough]];
	default:
		lose_streams();
	}
}

// A frame as it is on the wire.
static core_pair_frame through_wire(const core_pair_frame &frame)
{
	core_pair_frame came{};
	core_mpa_frame header{};
	u8 octets[CORE_PAIR_FRAME];

	core_pair_build(&frame, octets);
	if (core_mpa_parse(octets, frame.reply, &header) != CORE_MPA_OK ||
	    core_pair_parse(&header, octets + CORE_MPA_HEADER, &came) != CORE_PAIR_OK)
		broken("a frame of the core's own does not parse");
	return came;
}

// Which messages find which receives: after a RESET these are not those for which they were
// posted. False if a message does not fit.
bool Program::recount()
{
	bool fits = true;

	for (unsigned side = 0; side < 2; side++) {
		const std::vector<u32> open = oracle.open_receives(side),
				       messages = oracle.open_messages(!side);

		rooms[side].clear();
		owed[side].clear();
		for (size_t n = 0; n < std::max(open.size(), messages.size()); n++)
			if (n >= messages.size())
				rooms[side].push_back(open[n]);
			else if (n >= open.size())
				owed[side].push_back(messages[n]);
			else
				fits &= messages[n] <= open[n];
	}
	if (ends[0].sq_idle() && ends[1].sq_idle())
		for (unsigned side = 0; side < 2; side++)
			for (unsigned which = 0; which < all_windows; which++)
				windows[side][which] = ends[side].regions()[window + which].valid
							       ? Window::open
							       : Window::closed;
	return fits || wild;
}

void Program::begin_streams()
{
	for (unsigned i = 0; i < 2; i++)
		streams[i] = Stream(buffer_size(), pick_cut(), setups[i].emss, random());
	oracle.paired();
	settled = true;
}

// One attempt of an end. The Reply may be lost: then the other end has a stream, and this one none.
void Program::connect(unsigned side)
{
	Endpoint &here = ends[side], &there = ends[!side];
	const bool mirror = settled && here.counts().idle && there.counts().idle;
	core_pair_frame request{}, reply{};
	core_pair_agreed ours{}, theirs{};
	core_pair_outcome outcome;

	if (!here.request_pairing(request))
		return;
	const core_pair_reason reason = there.respond(through_wire(request), reply, theirs);
	const bool arrives = reason != CORE_PAIR_OK || finishing || pick(6);

	happened++;
	tally["pairing: reason " + std::to_string(reason)]++;
	if (mirror && reason != CORE_PAIR_OK)
		broken("side %u is refused for reason %d, and both are idle", side, reason);
	reply = through_wire(reply);
	outcome = here.conclude(arrives ? &reply : nullptr);
	ours = outcome.agreed;
	if (reason == CORE_PAIR_COUNTS) {
		reset(side);
		reset(!side);
	}
	if (reason != CORE_PAIR_OK)
		return;
	if (arrives != (outcome.conclusion == CORE_PAIR_ATTACH))
		broken("side %u does not take the Reply, reason %u", side, outcome.reason);
	begin_streams();
	there.attach(theirs);
	if (arrives)
		here.attach(ours);
	else
		lose_streams();
}

// The programs of QPs in the error state reset them; ends without a stream connect.
void Program::recover()
{
	const unsigned side = static_cast<unsigned>(pick(2));

	for (unsigned i = 0; i < 2; i++) {
		if (ends[i].state() != Endpoint::State::error)
			continue;
		if (!wild && oracle.cause(i) != Cause::stream_over)
			broken("side %u fails in a clean program, cause %d", i,
			       static_cast<int>(oracle.cause(i)));
		reset(i);
	}
	if (ends[side].state() != Endpoint::State::waiting)
		return;
	if (!settled && !recount()) {
		reset(0);
		reset(1);
		recount(); // there is nothing left
	}
	connect(side);
}

} // namespace sim
