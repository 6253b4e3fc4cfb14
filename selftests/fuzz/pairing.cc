// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Pairing (Documentation/ib.rst, "Startup", "Pairing"; numbers are its rules): a QP whose state the
// input makes, with any frames and in any order. Frames survive their octets; no octets are read
// beyond private data; a stream is attached only by a frame that mirrors the QP's counts and is
// newer than its last stream; what is agreed stays within both ends' limits.
#include "host.hh"

namespace {

constexpr u32 longest_wait = 30000; // 63, 64

auto fields(const core_pair_frame &f)
{
	return std::make_tuple(f.incarnation, f.peer_incarnation, f.attempt, f.peer_attempt,
			       f.from.qpn, f.to.qpn, f.sent, f.delivered, f.features, f.needs,
			       f.ird, f.ord, f.reply, f.crc, f.reason);
}

bool is_same(const core_pair_end &a, const core_pair_end &b)
{
	return a.qpn == b.qpn && !memcmp(a.gid, b.gid, sizeof(a.gid));
}

bool is_same(const core_pair_frame &a, const core_pair_frame &b)
{
	return fields(a) == fields(b) && !memcmp(a.from.gid, b.from.gid, sizeof(a.from.gid)) &&
	       !memcmp(a.to.gid, b.to.gid, sizeof(a.to.gid));
}

// "Pairing": octets are compared from the first on, then QPNs.
bool is_greater(const core_pair_end &a, const core_pair_end &b)
{
	for (size_t n = 0; n < sizeof(a.gid); n++)
		if (a.gid[n] != b.gid[n])
			return a.gid[n] > b.gid[n];
	return a.qpn > b.qpn;
}

Bytes built(const core_pair_frame &frame)
{
	Bytes out(CORE_PAIR_FRAME);

	core_pair_build(&frame, out.data());
	return out;
}

// Of a connection's first octets; false if they are not an MPA frame and its private data. The
// sanitizer sees what is read beyond those.
bool parse(const Bytes &octets, bool reply, core_pair_reason &reason, core_pair_frame &out)
{
	core_mpa_frame header{};

	if (octets.size() < CORE_MPA_HEADER ||
	    core_mpa_parse(octets.data(), reply, &header) != CORE_MPA_OK)
		return false;
	if (octets.size() < size_t{CORE_MPA_HEADER} + header.private_len)
		return false;
	auto data = std::make_unique<u8[]>(header.private_len);

	std::copy_n(octets.begin() + CORE_MPA_HEADER, header.private_len, data.get());
	memset(&out, 0xee, sizeof(out));
	reason = core_pair_parse(&header, data.get(), &out);
	return true;
}

void require_round_trip(const core_pair_frame &frame)
{
	core_pair_reason reason;
	core_pair_frame again;

	REQUIRE(parse(built(frame), frame.reply, reason, again));
	REQUIRE(reason == CORE_PAIR_OK && is_same(frame, again));
}

struct World {
	Input input;
	core_pairing qp{};
	core_pair_counts counts{};
	u32 attempt = 0; // that this end's host knows of

	// ---- the QP ----

	// Few values, so that they are equal often.
	u32 few() { return input.octet() % 4; }

	core_pair_end make_end()
	{
		core_pair_end end{};

		end.gid[0] = static_cast<u8>(few());
		end.gid[15] = static_cast<u8>(few());
		end.qpn = few();
		return end;
	}

	void make_qp()
	{
		qp.own = make_end();
		qp.peer = make_end();
		qp.incarnation = 1 + few();
		qp.features = few();
		qp.needs = qp.features & few();
		qp.ird = static_cast<u16>(few() * 100);
		qp.ord = static_cast<u16>(few() * 100);
		qp.crc = few() & 1;
		core_pairing_ready(&qp);
	}

	void change_counts()
	{
		counts.sent += few();
		counts.delivered += few();
		counts.idle = few() != 0;
	}

	// ---- frames ----

	// What a right peer says, but for the fields that the input chooses.
	core_pair_frame make_frame(bool reply)
	{
		core_pair_frame frame{};

		frame.incarnation = qp.peer_incarnation ? qp.peer_incarnation : 1;
		frame.peer_incarnation = reply ? qp.incarnation : 0;
		frame.attempt = qp.peer_attempt + 1;
		frame.peer_attempt = reply ? qp.attempt : 0;
		frame.from = qp.peer;
		frame.to = qp.own;
		frame.sent = counts.delivered;
		frame.delivered = counts.sent;
		frame.features = qp.features;
		frame.ird = frame.ord = 100;
		frame.reply = reply;
		for (u32 n = few(); n; n--)
			change(frame);
		return frame;
	}

	// 49, 50: who it is, and of which attempt.
	void change_names(core_pair_frame &frame, u8 what, u8 value)
	{
		switch (what) {
		case 0:
			frame.incarnation = value;
			break;
		case 1:
			frame.peer_incarnation = value % 8;
			break;
		case 2:
			frame.attempt = value;
			break;
		case 3:
			frame.peer_attempt = qp.since + value % 4 - 1;
			break;
		case 4:
			frame.from = make_end();
			break;
		default:
			frame.to = make_end();
		}
	}

	// 46 to 48: what it offers.
	void change_terms(core_pair_frame &frame, u8 what, u8 value)
	{
		switch (what) {
		case 0:
			frame.sent += value;
			break;
		case 1:
			frame.delivered -= value;
			break;
		case 2:
			frame.features = value & 7;
			break;
		case 3:
			frame.needs = value & 7;
			break;
		case 4:
			frame.ird = value;
			break;
		default:
			frame.ord = static_cast<u16>(value << 8 | value);
		}
	}

	void change(core_pair_frame &frame)
	{
		const u8 value = input.octet(), what = input.octet() % 13;

		if (what < 6)
			change_names(frame, what, value);
		else if (what < 12)
			change_terms(frame, what - 6, value);
		else if (frame.reply)
			frame.reason = value % 13;
	}

	// Octets of it are changed, or missing.
	bool come(bool reply, core_pair_frame &out)
	{
		Bytes octets = built(make_frame(reply));
		core_pair_reason reason;

		for (u32 n = few(); n > 1; n--)
			octets[input.octet() % octets.size()] = input.octet();
		octets.resize(octets.size() + (input.octet() % 32 ? 0 : input.octet()));
		if (!parse(octets, reply, reason, out) || reason != CORE_PAIR_OK)
			return false;
		REQUIRE(out.reply == reply && (reply || !out.reason));
		REQUIRE(out.reason || (out.incarnation && out.attempt)); // 44
		return true;
	}

	// ---- what must hold ----

	// 57.
	bool mirrors(const core_pair_frame &peer) const
	{
		return counts.idle && counts.sent == peer.delivered &&
		       counts.delivered == peer.sent;
	}

	// 46.
	bool features_fit(const core_pair_frame &peer) const
	{
		const u32 both = qp.features & peer.features;

		return (both & qp.needs) == qp.needs && (both & peer.needs) == peer.needs;
	}

	// 58.
	static bool is_newer(const core_pairing &before, const core_pair_frame &request)
	{
		if (request.peer_incarnation && request.peer_incarnation != before.incarnation)
			return false;
		if (!before.peer_incarnation)
			return true;
		if (request.incarnation == before.peer_incarnation)
			return request.attempt > before.peer_attempt;
		return request.peer_incarnation == before.incarnation &&
		       request.peer_attempt >= before.since;
	}

	void check_agreed(const core_pair_agreed &agreed, const core_pair_frame &peer) const
	{
		REQUIRE(agreed.ird <= qp.ird && agreed.ird <= peer.ord);
		REQUIRE(agreed.ord <= qp.ord && agreed.ord <= peer.ird);
		REQUIRE(agreed.features == (qp.features & peer.features));
		REQUIRE(agreed.crc == (qp.crc || peer.crc));
	}

	void check_attached(const core_pairing &before, const core_pair_frame &peer) const
	{
		REQUIRE(mirrors(peer) && features_fit(peer));
		REQUIRE(is_same(peer.from, qp.peer) && is_same(peer.to, qp.own));
		REQUIRE(!is_same(peer.from, peer.to)); // 62
		REQUIRE(before.state != CORE_PAIRING_NOT_READY);
		REQUIRE(qp.state == CORE_PAIRING_ATTACHED && qp.attempt == before.attempt + 1);
	}

	// 56: the initiator would take it.
	void check_accepting(const core_pair_frame &request, const core_pair_frame &reply) const
	{
		REQUIRE(is_same(reply.from, request.to) && is_same(reply.to, request.from));
		REQUIRE(reply.peer_incarnation == request.incarnation &&
			reply.peer_attempt == request.attempt);
		REQUIRE(reply.sent == request.delivered && reply.delivered == request.sent);
		REQUIRE(reply.attempt == qp.attempt && reply.incarnation == qp.incarnation);
	}

	// 52.
	void check_refusing(const core_pair_frame &reply) const
	{
		if (reply.reason != CORE_PAIR_NOT_READY && reply.reason != CORE_PAIR_OTHER_PAIR)
			return;
		REQUIRE(!reply.ird && !reply.ord && !reply.sent && !reply.delivered);
		REQUIRE(!reply.attempt && !reply.incarnation && !reply.peer_attempt &&
			!reply.peer_incarnation);
	}

	// ---- what happens ----

	void respond()
	{
		const core_pairing before = qp;
		core_pair_frame request, reply{};
		core_pair_agreed agreed{};

		if (!come(false, request))
			return;
		const core_pair_reason reason =
			core_pairing_respond(&qp, &counts, &request, &reply, &agreed);

		require_round_trip(reply);
		REQUIRE(reply.reply && reply.reason == reason && reason < CORE_PAIR_REASONS);
		if (reason != CORE_PAIR_OK) {
			REQUIRE(qp.state == before.state && qp.attempt == before.attempt);
			REQUIRE(qp.peer_incarnation == before.peer_incarnation);
			return check_refusing(reply);
		}
		check_attached(before, request);
		REQUIRE(is_newer(before, request) && agreed.muted); // 61
		REQUIRE(before.state != CORE_PAIRING_REQUESTED ||
			!is_greater(qp.own, qp.peer)); // 59
		check_agreed(agreed, request);
		check_accepting(request, reply);
	}

	void check_retry(const core_pair_outcome &out) const
	{
		REQUIRE(out.conclusion == CORE_PAIR_RETRY && out.wait <= longest_wait);
		REQUIRE(qp.state == CORE_PAIRING_WAITING);
	}

	bool is_attempt() const
	{
		return attempt == qp.attempt &&
		       (qp.state == CORE_PAIRING_CONNECTING || qp.state == CORE_PAIRING_REQUESTED);
	}

	void conclude()
	{
		const core_pairing before = qp;
		const bool in_time = is_attempt();
		core_pair_frame reply;
		core_pair_outcome out{};

		if (!come(true, reply))
			return;
		core_pairing_conclude(&qp, attempt, &counts, &reply, input.number(4), &out);
		if (!in_time) {
			REQUIRE(out.conclusion == CORE_PAIR_LEAVE && qp.state == before.state);
			return;
		}
		if (out.conclusion != CORE_PAIR_ATTACH)
			return check_retry(out);
		check_attached(before, reply);
		REQUIRE(!reply.reason && reply.peer_incarnation == before.incarnation &&
			reply.peer_attempt == before.attempt); // 56
		REQUIRE(!out.agreed.muted);
		check_agreed(out.agreed, reply);
	}

	void fail()
	{
		const bool in_time = is_attempt();
		core_pair_outcome out{};

		core_pairing_failed(&qp, attempt, static_cast<core_pair_reason>(input.octet() % 11),
				    input.number(4), &out);
		REQUIRE(in_time || out.conclusion == CORE_PAIR_LEAVE);
		if (in_time)
			check_retry(out);
	}

	void connect()
	{
		const bool may = qp.state == CORE_PAIRING_WAITING && counts.idle; // 55, 57
		const u32 number = core_pairing_connect(&qp, &counts);

		REQUIRE((number != 0) == may);
		attempt = number ? number : attempt;
	}

	void request()
	{
		const bool in_time = is_attempt();
		core_pair_frame frame{};

		REQUIRE(core_pairing_request(&qp, attempt, &counts, &frame) == in_time);
		if (!in_time)
			return;
		require_round_trip(frame);
		REQUIRE(mirrors_itself(frame) && frame.attempt == attempt && !frame.reply);
	}
	bool mirrors_itself(const core_pair_frame &frame) const
	{
		return frame.sent == counts.sent && frame.delivered == counts.delivered &&
		       frame.incarnation == qp.incarnation;
	}

	void reset()
	{
		core_pairing_reset(&qp);
		if (few())
			make_qp();
		counts = {0, 0, true};
	}

	void step(u8 what)
	{
		switch (what % 16) {
		case 0:
			return reset();
		case 2:
			REQUIRE(core_pairing_lost(&qp, input.number(4)) <= longest_wait);
			return;
		case 3:
			return fail();
		case 4:
			return change_counts();
		case 5:
		case 6:
			return connect();
		case 7:
		case 8:
			return request();
		case 9:
		case 10:
		case 11:
			return conclude();
		default:
			return respond();
		}
	}
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	World world{.input = {data, size}};

	world.make_qp();
	world.counts.idle = true;
	while (world.input.left)
		world.step(world.input.octet());
	return 0;
}
