// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "ib_ledger.hh"

#include "../shared/require.hh"

namespace ledger {

// ---- segments ----

Segment::Segment(const Bytes &ulpdu)
	: opcode(ulpdu[1] & 0x0f), tagged(ulpdu[0] & 0x80), last(ulpdu[0] & 0x40),
	  ask(ulpdu[1] & 0x20), more(ulpdu[1] & 0x10)
{
	const u32 header = header_len(ulpdu);

	data = ulpdu.slice(header, ulpdu.size());
	payload = static_cast<u32>(data.size());
	if (tagged)
		return;
	qn = word(ulpdu, 6);
	msn = word(ulpdu, 10);
	mo = word(ulpdu, 14);
}

Ack Segment::ack() const { return {word(data, 0), data[4], data[5]}; }

bool Segment::is_well_formed() const
{
	if (opcode == 1)
		return payload == 28 && last;
	if (opcode == 10)
		return payload == 52 && last;
	if (is_extended())
		return payload == 24 && last;
	if (is_immediate() || is_ack())
		return payload == 8 && last;
	return true;
}

// ---- the requester ----

// 7: requests do not interleave. 6: Immediate Data follow their Write at once.
bool Sent::continues(const Segment &segment) const
{
	const Request &request = open.back();

	if (request.written)
		return segment.is_immediate() && !segment.more;
	return segment.opcode == request.opcode && segment.more == request.more;
}

void Sent::begin(const Segment &segment, u32 index)
{
	if (again) {
		REQUIRE(segment.is_immediate() && !segment.more);
		open.push_back(*again);
		again.reset();
		return;
	}
	REQUIRE(!segment.is_immediate() && (!segment.more || segment.opcode == 0));
	open.push_back({index, segment.opcode, segment.more});
}

void Sent::note(const Segment &segment, u32 index)
{
	if (!segment.is_request())
		return;
	if (open.empty() || open.back().whole)
		begin(segment, index);
	REQUIRE(continues(segment));
	Request &request = open.back();

	if (request.more && !request.written)
		request.written = segment.last;
	else
		request.whole = segment.last;
}

Means Sent::judge(const Ack &ack, u8 rnr_retry) const
{
	const u32 n = ack.delivered - acked;
	const size_t begun = must_go_back ? 0 : open.size();
	const size_t whole = begun && !open.back().whole ? begun - 1 : begun;

	if (n > whole || std::any_of(open.begin(), open.begin() + n,
				     [](const Request &r) { return r.is_for_response(); }))
		return Means::wrong;
	if (!ack.syndrome)
		return Means::done;
	if (ack.syndrome > 4 || n >= begun)
		return Means::wrong;
	if (ack.syndrome != 1)
		return Means::refused;
	if (!open[n].may_lack_receive() || ack.timer > 31)
		return Means::wrong;
	return rnr_retry == 7 || (n ? 0 : tries) < rnr_retry ? Means::again : Means::refused;
}

void Sent::acknowledge(u32 requests)
{
	if (requests)
		tries = 0;
	acked += requests;
	open.erase(open.begin(), open.begin() + requests);
}

void Sent::take(const Ack &ack, Means means)
{
	if (means == Means::wrong)
		return;
	acknowledge(ack.delivered - acked);
	must_go_back |= means == Means::again;
	tries += means == Means::again;
}

u32 Sent::end_of(const Ack &ack, u32 before) const
{
	const u32 n = ack.delivered - acked;

	if (ack.syndrome)
		return open[n].index;
	return n ? open[n - 1].index + 1 : before;
}

u32 Sent::take_response()
{
	for (u32 n = 0; n < open.size(); n++) {
		const Request request = open[n];

		if (!request.is_for_response())
			continue;
		REQUIRE(request.whole && !must_go_back);
		acknowledge(n + 1);
		return request.index;
	}
	REQUIRE(!"a response without a request");
	return 0;
}

u32 Sent::first_again() const
{
	REQUIRE(must_go_back && !open.empty());
	return open.front().index + open.front().more;
}

// 22: of a Write with Immediate Data only these.
void Sent::go_back()
{
	if (open.front().more)
		again = open.front();
	if (again)
		again->whole = false;
	open.clear();
	must_go_back = false;
}

// ---- the responder ----

void Received::deliver(const Segment &segment)
{
	refusing &= !segment.is_request();
	if (!segment.last)
		return;
	send_msn += segment.is_send() || segment.is_immediate();
	read_msn += segment.is_for_response();
	extended_msn += segment.is_extended();
}

} // namespace ledger
