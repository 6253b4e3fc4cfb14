// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "stream.hh"

namespace strangers {
namespace {

// Modulo 2^32 (rule 9).
bool is_before(u32 a, u32 b) { return a - b >= 0x80000000; }

bool is_ack(const Bytes &octets) { return octets.size() > 4 && (octets[3] & 0x0f) == 12; }

Ack ack_in(const Bytes &octets)
{
	return {static_cast<u32>(number(octets, 20, 4)), octets.at(24), octets.at(25)};
}

std::string in_words(const Ack &ack)
{
	return std::to_string(ack.delivered) + ", syndrome " + std::to_string(ack.syndrome) +
	       ", timer " + std::to_string(ack.timer);
}

} // namespace

void want_octets(const std::string &what, const Bytes &is, const Bytes &want)
{
	if (is != want)
		fail(what, " is ", hex(is.slice(0, 200)), ", not ", hex(want.slice(0, 200)));
}

void Stream::say(const Bytes &octets) const
{
	constexpr size_t some = 100, many = 4096;
	const size_t rest = octets.size() - some;

	if (octets.size() < many) {
		socket.send(octets, pace);
		return;
	}
	socket.send(octets.slice(0, some), pace);
	socket.send(octets.slice(some, rest - some), Pace::whole);
	socket.send(octets.slice(rest, some), pace);
}

Bytes Stream::next_ack(const Ack &what, u8 bits)
{
	return fpdu(wire::ack(what, ++own_acks, op_ack | bits));
}

Bytes Stream::fpdu_that_comes(int ms) const
{
	const Bytes head = socket.receive(2, ms);
	const size_t body = (2 + number(head, 0, 2) + 3) / 4 * 4;
	const Bytes all = head + socket.receive(body + 4 - 2);

	if (hostile::cut(all).good != 1)
		fail("an FPDU with a wrong CRC: ", hex(all.slice(0, 200)));
	return all;
}

// An Ack that has the form of rule 8 and the next MSN, and does not go back.
bool Stream::is_true_ack(const Bytes &octets, Ack &out)
{
	if (!is_ack(octets))
		return false;
	out = ack_in(octets);
	want_octets("the victim's Ack", octets,
		    fpdu(wire::ack(out, ++their_acks, op_ack | (octets[3] & ask))));
	if (is_before(out.delivered, acknowledged) ||
	    (out.syndrome != receiver_not_ready && out.timer))
		fail("after ", std::to_string(acknowledged), " an Ack of ", in_words(out));
	acknowledged = out.delivered;
	return true;
}

void Stream::want_ack(const Ack &what, u8 bits)
{
	const Bytes octets = fpdu_that_comes();
	Ack is;

	if (!is_true_ack(octets, is) || Bytes(is) != Bytes(what) || octets[3] != (op_ack | bits))
		fail("wanted an Ack of ", in_words(what), ", and got ", hex(octets.slice(0, 200)));
}

Bytes Stream::behind_acks(u32 delivered)
{
	for (;;) {
		const Bytes octets = fpdu_that_comes();
		Ack is;

		if (!is_true_ack(octets, is))
			return octets;
		if (is.syndrome || is_before(delivered, is.delivered))
			fail("an Ack too far, or a refusal: ", in_words(is));
	}
}

void Stream::want(const std::vector<Bytes> &fpdus, u32 delivered)
{
	for (const Bytes &each : fpdus)
		want_octets("what the victim sent", behind_acks(delivered), each);
}

void Stream::want_last(const std::vector<Bytes> &fpdus, const Ack &last)
{
	Ack is;

	want(fpdus, last.delivered);
	do {
		const Bytes octets = fpdu_that_comes();

		if (!is_true_ack(octets, is))
			fail("wanted an Ack of ", in_words(last), ", and got ",
			     hex(octets.slice(0, 200)));
		if (!is_before(is.delivered, last.delivered) && Bytes(is) != Bytes(last) &&
		    (is.syndrome || is.delivered != last.delivered))
			fail("wanted an Ack of ", in_words(last), ", and got ", in_words(is));
	} while (Bytes(is) != Bytes(last));
}

std::vector<Bytes> Stream::until_refusal(Ack &refusal)
{
	std::vector<Bytes> before;

	for (;;) {
		const Bytes octets = fpdu_that_comes();

		if (!is_true_ack(octets, refusal))
			before.push_back(octets);
		else if (refusal.syndrome)
			return before;
	}
}

bool Stream::is_asked(u32 delivered)
{
	const Bytes octets = fpdu_that_comes();
	Ack is;

	if (!is_true_ack(octets, is) || is.syndrome || is_before(delivered, is.delivered))
		fail("wanted an Ack, and got ", hex(octets.slice(0, 200)));
	return octets[3] & ask;
}

void Stream::want_silence(int ms) const
{
	if (!socket.silent(ms))
		fail("the victim said something, or left");
}

Over Stream::want_end(int ms) const
{
	Over over;
	const Bytes came = socket.rest(&over, ms);

	want_octets("what the victim said before the end", came, {});
	if (over == Over::open)
		fail("the stream was not closed");
	return over;
}

unsigned Stream::want_last_acks(const Ack &last)
{
	Over over;
	unsigned count = 0;

	for (const Bytes &octets : hostile::cut(socket.rest(&over)).all) {
		Ack is;

		if (!is_true_ack(octets, is) || Bytes(is) != Bytes(last))
			fail("before the end came ", hex(octets.slice(0, 200)));
		count++;
	}
	if (over != Over::fin)
		fail("the victim's half was not closed");
	return count;
}

void Stream::want_fin() const
{
	if (want_end() != Over::fin)
		fail("the stream was reset");
}

} // namespace strangers
