// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// An end of a stream with acknowledgements: what it takes from its peer.
#include "ib_end.hh"

using ledger::Means, ledger::Segment;

// The scheduler adds reads, and placement needs their memory.
void IbEnd::mirror_reads()
{
	for (size_t n = places.reads.size(); n < sends.reads.size(); n++)
		places.reads.push_back({sends.reads[n].sink, Bytes(sends.reads[n].sink.length)});
}

// ---- octets ----

// The least that there will be, until its length is known.
u32 IbEnd::fpdu_len() const
{
	constexpr u32 shortest = 2 + 14;

	if (fpdu.size() < 2)
		return shortest;
	return std::max(shortest, ((2u + (fpdu[0] << 8 | fpdu[1])) + 3) / 4 * 4 + 4);
}

Bytes IbEnd::ulpdu() const { return fpdu.slice(2, fpdu[0] << 8 | fpdu[1]); }

bool IbEnd::drops() const
{
	if (!received.refusing)
		return false;
	const Bytes all = fpdu.size() > 2 ? ulpdu() : Bytes{};

	return Segment::has_header(all) && received.drops(Segment(all));
}

// The program may have revoked the region meanwhile.
bool IbEnd::may_place(const core_place &at) const
{
	const auto region = places.regions.find(at.stag);

	return at.kind != CORE_PLACE_REGION ||
	       (region != places.regions.end() &&
		region->second.grant.access & CORE_ACCESS_REMOTE_WRITE);
}

core_rx_event IbEnd::place(const core_place &at, const u8 *from, u32 n)
{
	REQUIRE(at.kind == CORE_PLACE_READ || !drops()); // 20
	if (!may_place(at))
		return core_rx_fail(&rx, CORE_REGION_ACCESS);
	if (fail_placements) {
		fail_placements--;
		return core_rx_fail(&rx, CORE_REGION_OK);
	}
	places.place(at, from, n);
	if (at.kind == CORE_PLACE_READ)
		sends.reads.front().sink.placed += n;
	return core_rx_placed(&rx, from, n);
}

// 20: what is dropped has no effect.
core_rx_event IbEnd::take(const core_rx_step &step, const u8 *from, u32 n)
{
	const unsigned effects = places.atomics_done + places.receives_taken;
	core_rx_event event;

	if (step.kind == CORE_RX_PLACE)
		return place(*step.place, from, n);
	REQUIRE(in_its_buffer(rx, step));
	memcpy(step.into, from, n);
	event = core_rx_took(&rx, n);
	REQUIRE(!drops() || places.atomics_done + places.receives_taken == effects);
	return event;
}

void IbEnd::placing_whole(const core_place &at, u32 n)
{
	REQUIRE(at.kind == CORE_PLACE_READ || !drops()); // 20
	if (at.kind == CORE_PLACE_READ)
		sends.reads.front().sink.placed += n;
}

// The octets of an FPDU that is taken at once; 0: it comes in steps. A region that is revoked
// denies it.
u32 IbEnd::take_whole(const Bytes &octets)
{
	const unsigned effects = places.atomics_done + places.receives_taken;
	core_rx_taken taken;

	if (fail_placements || !fpdu.empty())
		return 0;
	fpdu = octets;
	fpdu.resize(std::min<size_t>(octets.size(), fpdu_len()));
	taken = core_rx_whole(&rx, octets.data(), static_cast<u32>(octets.size()));
	REQUIRE(!taken.n || taken.n == fpdu.size());
	REQUIRE(!drops() || places.atomics_done + places.receives_taken == effects);
	if (taken.n)
		on_fpdu(taken.event);
	else
		fpdu.clear();
	return taken.n;
}

void IbEnd::feed(const Bytes &octets)
{
	mirror_reads();
	for (size_t done = 0; done < octets.size() && !over;) {
		if (const u32 whole = take_whole(octets.slice(done, octets.size()))) {
			done += whole;
			continue;
		}
		const core_rx_step step = core_rx_next(&rx);
		const u32 n = static_cast<u32>(std::min<size_t>(step.want, octets.size() - done));

		REQUIRE(step.kind != CORE_RX_STOP && step.want);
		REQUIRE(step.want <= fpdu_len() - fpdu.size());
		fpdu.insert(fpdu.end(), octets.data() + done, octets.data() + done + n);
		done += n;
		on_fpdu(take(step, octets.data() + done - n, n));
	}
	REQUIRE(!over || broken || !received.over || core_rx_next(&rx).kind == CORE_RX_STOP);
	sends.validated |= core_rx_fpdus(&rx) != 0;
}

// ---- events ----

void IbEnd::on_fpdu(core_rx_event event)
{
	const bool whole = fpdu.size() >= 16 && fpdu.size() == fpdu_len();
	const Bytes all = fpdu.size() > 2 ? ulpdu() : Bytes{};

	if (event == CORE_RX_MORE && !whole)
		return;
	if (whole && Segment::has_header(all)) {
		const Segment segment(all);

		on_event(&segment, event);
	} else {
		on_event(nullptr, event);
	}
	fpdu.clear();
}

void IbEnd::on_event(const Segment *segment, core_rx_event event)
{
	switch (event) {
	case CORE_RX_REFUSED:
		return on_refused(segment);
	case CORE_RX_FAILED:
	case CORE_RX_TERMINATE:
		REQUIRE(core_rx_next(&rx).kind == CORE_RX_STOP);
		over = ended = true;
		return;
	case CORE_RX_ERROR:
		return on_error(segment);
	default:
		break;
	}
	REQUIRE(segment); // the rest takes a whole FPDU
	if (event == CORE_RX_MORE)
		on_more(*segment);
	else if (event == CORE_RX_ACK)
		on_ack(*segment);
	else if (event == CORE_RX_READ_RESPONSE || event == CORE_RX_ATOMIC_RESPONSE)
		on_response(event);
	else
		on_delivered(*segment, event);
}

// A segment that is not the last of its message, or is dropped.
void IbEnd::on_more(const Segment &segment)
{
	if (received.drops(segment))
		return;
	REQUIRE(!segment.last && !segment.is_ack());
	REQUIRE(!received.comes_again(segment) || received.said);
	received.deliver(segment);
}

// 9: a request counts once, and when the host has done it.
void IbEnd::count(u32 requests)
{
	REQUIRE(acks.received == received.count);
	core_rx_done(&rx);
	received.count += requests;
	REQUIRE(acks.received == received.count);
}

bool IbEnd::is_invalidation_refused(const Segment &segment)
{
	const bool refused = core_rx_delivered(&rx)->invalidate && fail_invalidations;

	if (!refused)
		return false;
	fail_invalidations--;
	REQUIRE(segment.is_send());
	REQUIRE(core_rx_fail_invalidate(&rx, CORE_REGION_ACCESS) == CORE_RX_REFUSED);
	on_refused(&segment);
	core_rx_done(&rx);
	return true;
}

void IbEnd::on_delivered(const Segment &segment, core_rx_event event)
{
	REQUIRE(segment.is_request() && segment.last && segment.is_well_formed());
	REQUIRE(!received.drops(segment));
	REQUIRE(!received.comes_again(segment) || received.said); // 21
	places.deliver(rx, event);
	received.deliver(segment);
	if (event == CORE_RX_SEND && is_invalidation_refused(segment))
		return;
	if (segment.is_for_response()) {
		sends.asked.push_back(*core_rx_asked(&rx));
		REQUIRE(sends.asked.back().number == received.count + 1);
	}
	count(received.worth(segment));
}

// ---- acknowledgements ----

void IbEnd::on_ack(const Segment &segment)
{
	const wire::Ack ack = segment.ack();
	const core_acked &acked = *core_rx_acked(&rx);
	const Means means = sent.judge(ack, acks.rnr_retry);

	acks_taken++;
	REQUIRE(segment.is_ack() && segment.is_well_formed() && means != Means::wrong);
	REQUIRE((acked.kind == CORE_ACKED_AGAIN) == (means == Means::again));
	REQUIRE((acked.kind == CORE_ACKED_REFUSED) == (means == Means::refused));
	REQUIRE(acked.end == sent.end_of(ack, last_end));
	REQUIRE(acked.end - sends.freed <= sends.next - sends.freed || acked.end == last_end);
	last_end = sent.end_of({ack.delivered}, last_end);
	sends.finish_before(acked.end);
	sent.take(ack, means);
	if (means != Means::refused)
		return;
	over = ended = true;
	core_rx_stop(&rx);
}

// 12.
void IbEnd::on_response(core_rx_event event)
{
	const u32 number = sends.reads.front().sink.number, index = sent.take_response();

	REQUIRE(number == sent.acked && core_rx_acked(&rx)->kind == CORE_ACKED);
	REQUIRE(core_rx_acked(&rx)->end == index);
	places.deliver(rx, event);
	sends.reads.pop_front();
	sends.finish_before(index + 1);
	last_end = index + 1;
}

bool IbEnd::has_good_crc() const
{
	const u32 covered = static_cast<u32>(fpdu.size()) - 4;
	u8 field[4];

	core_crc_field(core_crc32c_table(CORE_CRC_SEED, fpdu.data(), covered), field);
	return memcmp(field, &fpdu[covered], sizeof(field)) == 0;
}

// 18: is it as an Ack has to be, but for what it says?
bool IbEnd::is_good_ack(const Segment &segment) const
{
	const Bytes all = ulpdu();

	return all[0] == 0x41 && (all[1] & 0xdf) == wire::op_ack && segment.qn == 4 &&
	       segment.msn == acks_taken + 1 && segment.mo == 0 && segment.is_well_formed() &&
	       (!crc || has_good_crc());
}

void IbEnd::on_error(const Segment *segment)
{
	REQUIRE(core_rx_next(&rx).kind == CORE_RX_STOP);
	over = ended = broken = true;
	if (segment && is_good_ack(*segment))
		REQUIRE(sent.judge(segment->ack(), acks.rnr_retry) == Means::wrong);
}

// ---- refusals ----

// 19.
void IbEnd::check_not_ready(const Segment &segment) const
{
	REQUIRE(segment.is_send() || segment.is_immediate());
	REQUIRE(segment.msn == received.next_send() && segment.mo == 0);
	REQUIRE(!places.receive_active); // one may be posted after the header came
}

// 24, 25. Without a segment, the host has failed within one.
void IbEnd::on_refused(const Segment *segment)
{
	const bool again = acks.refusing == CORE_SYNDROME_NOT_READY;

	REQUIRE(acks.refusing > 0 && acks.refusing < CORE_SYNDROMES);
	REQUIRE(acks.received == received.count);
	REQUIRE((core_rx_next(&rx).kind == CORE_RX_STOP) == !again);
	REQUIRE(segment || !again);
	if (segment)
		REQUIRE(segment->is_request() &&
			(segment->is_well_formed() || acks.access != IbEnd::every_right));
	if (again)
		check_not_ready(*segment);
	REQUIRE(!received.refusing || received.said);
	received.refusing = again;
	received.said = false;
	received.over = over = !again;
}
