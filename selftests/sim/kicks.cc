// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// An endpoint whose engine runs only when it was kicked, by the rules of the module's shell
// (kernel/stream/kick/, acks.c, receive/, transmit/engine.c). A kick that is missing leaves a
// request undone.
#include "endpoint.hh"

namespace sim {

// ---- the engine ----

// What was delivered and nobody asked about is acknowledged in time.
void Endpoint::rest() { late_armed |= core_acks_owed(&acks); }

void Endpoint::take_due()
{
	if (delay_due)
		core_tx_resume(&tx);
	if (late_due)
		core_tx_ack_now(&tx);
	delay_due = late_due = false;
}

// Has it to look again before it goes idle?
bool Endpoint::may_go_on()
{
	return !awaiting_reads && core_tx_may_take(&tx) &&
	       core_ring_pending(prod, sq_taken, sq_entries);
}

// One run: until nothing can be sent.
void Endpoint::run_until_idle()
{
	needs_doorbell = awaiting_reads = false;
	take_due();
	for (u32 rounds = 0; send_batch(); rounds++) {
		const bool idle = build_batch();

		if (now != State::rts || !send_batch())
			return;
		if (!idle)
			return kick(); // the rest is queued
		if (core_tx_over(&tx))
			return leave_as_core_says();
		if (!goes_on())
			return;
		rest();
		if (!may_go_on()) {
			needs_doorbell = true;
			return;
		}
		if (rounds > 1000)
			broken("side %u: the engine spins", side);
	}
}

// ---- the receive half, and time ----

void Endpoint::end_receiving()
{
	const bool anew = seen_asked != acks.asked || seen_probes != acks.probes;

	seen_asked = acks.asked;
	seen_probes = acks.probes;
	if (anew)
		kick();
	else if (now == State::rts)
		rest();
}

void Endpoint::fire_timers()
{
	delay_due |= delay_armed;
	late_due |= late_armed;
	if (delay_armed || late_armed)
		kick();
	delay_armed = late_armed = false;
}

void Endpoint::has_space()
{
	if (lacks_space)
		kick();
	lacks_space = false;
}

bool Endpoint::wait_for_reads(u32 most)
{
	if (reads() <= most)
		return false;
	awaiting_reads = true;
	awaited_reads = most;
	return true;
}

} // namespace sim
