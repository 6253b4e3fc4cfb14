// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Pairing (Documentation/ib.rst, "Pairing", "Trying again"): the decisions of both ends, one
// sentence at a time. All frames go through their octets.
#include "../shared/wire.hh"
#include "api/core.h"

using wire::Bytes;

namespace {

core_pair_frame over_the_wire(const core_pair_frame &frame)
{
	Bytes octets(CORE_PAIR_FRAME);
	core_mpa_frame header{};
	core_pair_frame out;

	core_pair_build(&frame, octets.data());
	EXPECT_EQ(core_mpa_parse(octets.data(), frame.reply, &header), CORE_MPA_OK);
	EXPECT_EQ(core_pair_parse(&header, octets.data() + CORE_MPA_HEADER, &out), CORE_PAIR_OK);
	return out;
}

struct Answer {
	core_pair_reason reason;
	core_pair_frame reply;
	core_pair_agreed agreed;
};

struct Qp {
	core_pairing pairing{};
	core_pair_counts counts{0, 0, true};
	u32 attempt = 0;

	Qp(u32 qpn, u32 peer, u64 incarnation)
	{
		pairing.own.qpn = qpn;
		pairing.peer.qpn = peer;
		pairing.own.gid[15] = pairing.peer.gid[15] = 1;
		pairing.ird = 16;
		pairing.ord = 8;
		ready(incarnation);
	}

	void ready(u64 incarnation)
	{
		pairing.incarnation = incarnation;
		core_pairing_ready(&pairing);
		counts = {0, 0, true};
	}

	bool connect()
	{
		const u32 next = core_pairing_connect(&pairing, &counts);

		attempt = next ? next : attempt;
		return next != 0;
	}

	core_pair_frame send()
	{
		core_pair_frame frame;

		EXPECT_TRUE(core_pairing_request(&pairing, attempt, &counts, &frame));
		return over_the_wire(frame);
	}

	core_pair_frame request()
	{
		EXPECT_TRUE(connect());
		return send();
	}

	Answer respond(const core_pair_frame &frame)
	{
		Answer answer;

		answer.reason = core_pairing_respond(&pairing, &counts, &frame, &answer.reply,
						     &answer.agreed);
		EXPECT_EQ(answer.reason, core_pair_reason(answer.reply.reason));
		answer.reply = over_the_wire(answer.reply);
		return answer;
	}

	core_pair_outcome conclude(const core_pair_frame &reply, u32 random = 0)
	{
		core_pair_outcome out;

		core_pairing_conclude(&pairing, attempt, &counts, &reply, random, &out);
		return out;
	}

	core_pair_outcome fail(u32 random = 0)
	{
		core_pair_outcome out;

		core_pairing_failed(&pairing, attempt, CORE_PAIR_OK, random, &out);
		return out;
	}
};

struct Pairing : testing::Test {
	Qp lesser{17, 18, 0xa1}, greater{18, 17, 0xb1};

	// The first asks, and the second accepts.
	void attach(Qp &first, Qp &second)
	{
		const Answer answer = second.respond(first.request());

		ASSERT_EQ(answer.reason, CORE_PAIR_OK);
		ASSERT_EQ(first.conclude(answer.reply).conclusion, CORE_PAIR_ATTACH);
	}

	static void deliver(Qp &from, Qp &to, u32 requests)
	{
		from.counts.sent += requests;
		to.counts.delivered += requests;
	}
};

using PairingResponder = Pairing;
using PairingCrossing = Pairing;
using PairingInitiator = Pairing;
using PairingAgain = Pairing;
using PairingFeatures = Pairing;
using PairingRetry = Pairing;

constexpr u32 second = 1000, longest = 30 * second;

} // namespace

// ---- The responder ----

TEST_F(PairingResponder, WhoReachesRtrLastConnects)
{
	core_pairing_reset(&greater.pairing);
	EXPECT_EQ(greater.respond(lesser.request()).reason, CORE_PAIR_NOT_READY);
	greater.ready(0xb2);
	lesser.fail();
	attach(greater, lesser);
}

TEST_F(PairingResponder, AcceptsExactlyItsPair)
{
	Qp other_peer(17, 19, 0xc1), other_source(19, 18, 0xc2), other_gid(17, 18, 0xc3);

	other_gid.pairing.own.gid[0] = 1;
	for (Qp *other : {&other_peer, &other_source, &other_gid})
		EXPECT_EQ(greater.respond(other->request()).reason, CORE_PAIR_OTHER_PAIR);
	other_gid.pairing.own.gid[0] = 0;
	other_gid.pairing.peer.gid[0] = 1;
	other_gid.fail();
	EXPECT_EQ(greater.respond(other_gid.request()).reason, CORE_PAIR_OTHER_PAIR);
	EXPECT_EQ(greater.respond(lesser.request()).reason, CORE_PAIR_OK);
}

// A QP that is connected with itself has a stream without startup frames.
TEST_F(PairingResponder, NeverTakesARequestOfItsOwnEnd)
{
	Qp self(5, 5, 1), forged(5, 5, 2);

	EXPECT_EQ(self.respond(forged.request()).reason, CORE_PAIR_OTHER_PAIR);
}

TEST_F(PairingResponder, SaysNothingToAStranger)
{
	Qp stranger(19, 18, 0xc1);
	const core_pair_frame reply = greater.respond(stranger.request()).reply;

	EXPECT_EQ(reply.reason, CORE_PAIR_OTHER_PAIR);
	EXPECT_EQ(reply.incarnation | reply.attempt | reply.sent | reply.features, 0u);
}

// A peer that was reset begins at zero, and its partner does not: PSNs prove nothing.
TEST_F(PairingResponder, RefusesCountsThatDoNotMirror)
{
	greater.counts.sent = 1;
	EXPECT_EQ(greater.respond(lesser.request()).reason, CORE_PAIR_COUNTS);
	greater.counts = {0, 1, true};
	lesser.fail();
	EXPECT_EQ(greater.respond(lesser.request()).reason, CORE_PAIR_COUNTS);
	lesser.fail();
	lesser.counts.sent = 1;
	EXPECT_EQ(greater.respond(lesser.request()).reason, CORE_PAIR_OK);
}

// Half a Send, or an atomic operation that is done and whose response is lost, mirror too.
TEST_F(PairingResponder, RefusesWhileItsOwnRequestsAreUnacknowledged)
{
	greater.counts.idle = false;
	EXPECT_EQ(greater.respond(lesser.request()).reason, CORE_PAIR_BUSY);
}

// The initiator may have given up before its Request is read. What the responder sent then would be
// lost, and that is an error; what it has not sent waits for the next stream.
TEST_F(PairingResponder, IsMutedUntilTheInitiatorHasSent)
{
	const Answer answer = greater.respond(lesser.request());

	EXPECT_TRUE(answer.agreed.muted);
	EXPECT_FALSE(lesser.conclude(answer.reply).agreed.muted);
}

// The number of the stream that begins is in the Reply.
TEST_F(PairingResponder, ItsAttemptGrowsByTheStream)
{
	const u32 before = greater.pairing.attempt;
	const Answer answer = greater.respond(lesser.request());
	const u32 own = lesser.pairing.attempt;

	EXPECT_EQ(answer.reply.attempt, before + 1);
	EXPECT_EQ(answer.reply.peer_attempt, own);
	EXPECT_EQ(answer.reply.peer_incarnation, lesser.pairing.incarnation);
	lesser.conclude(answer.reply);
	EXPECT_EQ(lesser.pairing.attempt, own + 1);
}

// Nothing is known of the peer at first; then what it said last.
TEST_F(PairingInitiator, SaysWhatItHasHeardLast)
{
	const core_pair_frame first = lesser.request();
	core_pair_frame reply = first;

	EXPECT_EQ(first.peer_incarnation | first.peer_attempt, 0u);
	core_pair_refuse(&first, CORE_PAIR_NOT_READY, &reply);
	lesser.conclude(reply);
	EXPECT_EQ(lesser.request().peer_incarnation, 0u);
	greater.counts.idle = false;
	lesser.conclude(greater.respond(first).reply);
	const core_pair_frame next = lesser.request();

	EXPECT_EQ(next.peer_incarnation, greater.pairing.incarnation);
	EXPECT_EQ(next.peer_attempt, greater.pairing.attempt);
	lesser.ready(0xa2);
	EXPECT_EQ(lesser.request().peer_incarnation, 0u);
}

// A Request against which everything speaks: the reasons in the order in which they decide.
TEST_F(PairingResponder, OneReasonDecidesBeforeAnother)
{
	core_pair_frame request = lesser.request();

	greater.request();
	greater.counts = {0, 1, false};
	request.peer_incarnation = 0xb0;
	request.needs = 1;
	request.from.qpn++;
	core_pairing_reset(&greater.pairing);
	EXPECT_EQ(greater.respond(request).reason, CORE_PAIR_NOT_READY);
	greater.pairing.state = CORE_PAIRING_REQUESTED;
	EXPECT_EQ(greater.respond(request).reason, CORE_PAIR_OTHER_PAIR);
	request.from.qpn--;
	EXPECT_EQ(greater.respond(request).reason, CORE_PAIR_FEATURES);
	request.needs = 0;
	EXPECT_EQ(greater.respond(request).reason, CORE_PAIR_STALE);
	request.peer_incarnation = 0;
	EXPECT_EQ(greater.respond(request).reason, CORE_PAIR_BUSY);
	greater.counts.idle = true;
	EXPECT_EQ(greater.respond(request).reason, CORE_PAIR_COUNTS);
	greater.counts.delivered = 0;
	EXPECT_EQ(greater.respond(request).reason, CORE_PAIR_CROSSING);
	greater.pairing.state = CORE_PAIRING_CONNECTING;
	EXPECT_EQ(greater.respond(request).reason, CORE_PAIR_OK);
}

// What a stranger learns nothing of, a peer does.
TEST_F(PairingResponder, OtherRefusalsIntroduceTheQp)
{
	attach(lesser, greater);
	deliver(greater, lesser, 3);
	lesser.ready(0xa2);
	const core_pair_frame reply = greater.respond(lesser.request()).reply;

	EXPECT_EQ(reply.reason, CORE_PAIR_STALE);
	EXPECT_EQ(reply.incarnation, greater.pairing.incarnation);
	EXPECT_EQ(reply.attempt, greater.pairing.attempt);
	EXPECT_EQ(reply.sent, 3u);
	EXPECT_EQ(reply.ird, 16);
}

// ---- Crossing ----

TEST_F(PairingCrossing, TheGreaterEndWins)
{
	const core_pair_frame of_lesser = lesser.request(), of_greater = greater.request();
	const Answer lost = greater.respond(of_lesser), won = lesser.respond(of_greater);

	EXPECT_EQ(lost.reason, CORE_PAIR_CROSSING);
	EXPECT_EQ(won.reason, CORE_PAIR_OK);
	EXPECT_EQ(lesser.conclude(lost.reply).conclusion, CORE_PAIR_LEAVE);
	EXPECT_EQ(greater.conclude(won.reply).conclusion, CORE_PAIR_ATTACH);
}

TEST_F(PairingCrossing, TheGidCountsBeforeTheQpn)
{
	lesser.pairing.own.gid[0] = greater.pairing.peer.gid[0] = 1;
	const core_pair_frame of_lesser = lesser.request(), of_greater = greater.request();

	EXPECT_EQ(lesser.respond(of_greater).reason, CORE_PAIR_CROSSING);
	EXPECT_EQ(greater.respond(of_lesser).reason, CORE_PAIR_OK);
}

// An end that hangs in SYN_SENT behind a one-way firewall would refuse for ever.
TEST_F(PairingCrossing, AnAttemptWinsOnlyOnceItsRequestIsSent)
{
	ASSERT_TRUE(greater.connect());
	EXPECT_EQ(greater.respond(lesser.request()).reason, CORE_PAIR_OK);
}

// Deciding and sending share a lock: after the decision the Request is not sent any more.
TEST_F(PairingCrossing, NoRequestIsSentOnceTheOtherIsAccepted)
{
	core_pair_frame frame;

	ASSERT_TRUE(greater.connect());
	ASSERT_EQ(greater.respond(lesser.request()).reason, CORE_PAIR_OK);
	EXPECT_FALSE(
		core_pairing_request(&greater.pairing, greater.attempt, &greater.counts, &frame));
	EXPECT_EQ(greater.fail().conclusion, CORE_PAIR_LEAVE);
	EXPECT_EQ(greater.pairing.state, CORE_PAIRING_ATTACHED);
}

// The lesser end's own Request is read when the winner's stream is in use.
TEST_F(PairingCrossing, TheLosersRequestIsStaleAfterwards)
{
	const core_pair_frame late = lesser.request();

	attach(greater, lesser);
	EXPECT_EQ(greater.respond(late).reason, CORE_PAIR_STALE);
}

// Both were early: the greater end's Request came before the lesser was ready, and the lesser's
// came while the greater waited for the answer.
TEST_F(PairingCrossing, WhoHasRefusedThePairConnectsAgainAtOnce)
{
	core_pairing_reset(&lesser.pairing);
	const Answer early = lesser.respond(greater.request());

	lesser.ready(0xa2);
	EXPECT_EQ(greater.respond(lesser.request()).reason, CORE_PAIR_CROSSING);
	const core_pair_outcome out = greater.conclude(early.reply);

	EXPECT_EQ(out.conclusion, CORE_PAIR_RETRY);
	EXPECT_EQ(out.wait, 0u);
	attach(greater, lesser);
}

TEST_F(PairingCrossing, OneRefusalIsOneReasonToConnectAtOnce)
{
	const core_pair_frame request = greater.request();

	greater.respond(lesser.request());
	core_pairing_reset(&lesser.pairing);
	EXPECT_EQ(greater.conclude(lesser.respond(request).reply).wait, 0u);
	EXPECT_EQ(greater.conclude(lesser.respond(greater.request()).reply).wait, 4 * second);
}

// ---- The initiator ----

TEST_F(PairingInitiator, AgreesOnDepthsAndCrcs)
{
	lesser.pairing.ird = 3;
	lesser.pairing.ord = 20;
	lesser.pairing.crc = 1;
	greater.pairing.ird = 10;
	greater.pairing.ord = 2;
	const Answer answer = greater.respond(lesser.request());
	const core_pair_agreed initiator = lesser.conclude(answer.reply).agreed;

	EXPECT_EQ(answer.agreed.ord, 2);
	EXPECT_EQ(answer.agreed.ird, 10);
	EXPECT_EQ(initiator.ord, 10);
	EXPECT_EQ(initiator.ird, 2);
	EXPECT_TRUE(answer.agreed.crc && initiator.crc);
}

// The ORD is known at RTS only.
TEST_F(PairingInitiator, AnOrdThatIsNotKnownIsTheOtherEndsIrd)
{
	lesser.pairing.ord = CORE_PAIR_ANY_ORD;
	const Answer answer = greater.respond(lesser.request());

	EXPECT_EQ(answer.agreed.ird, 16);
	EXPECT_EQ(lesser.conclude(answer.reply).agreed.ord, 16);
}

TEST_F(PairingInitiator, CrcsAreOffOnlyIfNeitherEndWantsThem)
{
	for (u8 wants : {0, 1, 2, 3}) {
		lesser.ready(0xa2 + wants);
		greater.ready(0xb2 + wants);
		lesser.pairing.crc = wants & 1;
		greater.pairing.crc = wants >> 1;
		const Answer answer = greater.respond(lesser.request());

		EXPECT_EQ(answer.agreed.crc, wants != 0);
		EXPECT_EQ(lesser.conclude(answer.reply).agreed.crc, wants != 0);
	}
}

// A Reply is for the Request of this attempt, from the end that was asked.
TEST_F(PairingInitiator, ChecksAReplyThatAccepts)
{
	const core_pair_frame good = greater.respond(lesser.request()).reply;
	const Qp before = lesser;
	const std::vector<std::pair<core_pair_reason, std::function<void(core_pair_frame &)>>>
		wrong = {
			{CORE_PAIR_OTHER_PAIR, [](core_pair_frame &f) { f.from.qpn++; }},
			{CORE_PAIR_OTHER_PAIR, [](core_pair_frame &f) { f.to.gid[3]++; }},
			{CORE_PAIR_MALFORMED, [](core_pair_frame &f) { f.peer_attempt--; }},
			{CORE_PAIR_MALFORMED, [](core_pair_frame &f) { f.peer_incarnation++; }},
			{CORE_PAIR_COUNTS, [](core_pair_frame &f) { f.sent++; }},
			{CORE_PAIR_COUNTS, [](core_pair_frame &f) { f.delivered--; }},
			{CORE_PAIR_FEATURES, [](core_pair_frame &f) { f.needs = 1; }},
		};

	for (const auto &[reason, spoil] : wrong) {
		core_pair_frame reply = good;

		lesser = before;
		spoil(reply);
		const core_pair_outcome out = lesser.conclude(reply);

		EXPECT_EQ(out.conclusion, CORE_PAIR_RETRY);
		EXPECT_EQ(out.reason, reason);
		EXPECT_EQ(lesser.pairing.state, CORE_PAIRING_WAITING);
	}
	lesser = before;
	EXPECT_EQ(lesser.conclude(good).conclusion, CORE_PAIR_ATTACH);
}

TEST_F(PairingInitiator, LeavesTheReplyToAnAttemptThatIsOver)
{
	const core_pair_frame late = greater.respond(lesser.request()).reply;
	const u32 old = lesser.attempt;

	lesser.fail();
	lesser.request();
	lesser.attempt = old;
	EXPECT_EQ(lesser.conclude(late).conclusion, CORE_PAIR_LEAVE);
	EXPECT_EQ(lesser.pairing.state, CORE_PAIRING_REQUESTED);
	core_pairing_reset(&lesser.pairing);
	EXPECT_EQ(lesser.conclude(late).conclusion, CORE_PAIR_LEAVE);
}

// A work item of the old connection may come late.
TEST_F(PairingInitiator, LeavesTheConnectionOfAnAttemptFromBeforeAReset)
{
	core_pair_frame frame;

	ASSERT_TRUE(lesser.connect());
	const u32 old = lesser.attempt;

	lesser.ready(0xa2);
	ASSERT_TRUE(lesser.connect());
	EXPECT_FALSE(core_pairing_request(&lesser.pairing, old, &lesser.counts, &frame));
	lesser.send();
	lesser.attempt = old;
	EXPECT_EQ(lesser.fail().conclusion, CORE_PAIR_LEAVE);
	EXPECT_EQ(lesser.pairing.state, CORE_PAIRING_REQUESTED);
}

TEST_F(PairingInitiator, ConnectsOnlyWhenThereIsNothingElse)
{
	EXPECT_TRUE(lesser.connect());
	EXPECT_FALSE(lesser.connect());
	lesser.fail();
	lesser.counts.idle = false;
	EXPECT_FALSE(lesser.connect());
	lesser.counts.idle = true;
	attach(lesser, greater);
	EXPECT_FALSE(lesser.connect());
	EXPECT_FALSE(greater.connect());
	core_pairing_reset(&lesser.pairing);
	EXPECT_FALSE(lesser.connect());
}

// ---- A stream that comes back, and Requests that come late ----

TEST_F(PairingAgain, AStreamLostWhileIdleComesBackWithItsCounts)
{
	attach(lesser, greater);
	deliver(lesser, greater, 5);
	deliver(greater, lesser, 3);
	core_pairing_lost(&lesser.pairing, 0);
	attach(lesser, greater); // which has not noticed
	core_pairing_lost(&lesser.pairing, 0);
	core_pairing_lost(&greater.pairing, 0);
	attach(greater, lesser);
}

// Counts do not order attempts: an old Request is read when the stream that replaced it is in use
// and idle.
TEST_F(PairingAgain, ARequestOlderThanTheStreamIsStale)
{
	const core_pair_frame late = lesser.request();

	lesser.fail();
	attach(lesser, greater);
	EXPECT_EQ(greater.respond(late).reason, CORE_PAIR_STALE);
	EXPECT_EQ(greater.pairing.state, CORE_PAIRING_ATTACHED);
	core_pairing_lost(&greater.pairing, 0);
	EXPECT_EQ(greater.respond(late).reason, CORE_PAIR_STALE); // then neither
}

TEST_F(PairingAgain, TheSameRequestIsAcceptedOnce)
{
	const core_pair_frame request = lesser.request();

	EXPECT_EQ(greater.respond(request).reason, CORE_PAIR_OK);
	EXPECT_EQ(greater.respond(request).reason, CORE_PAIR_STALE);
}

// The Reply was lost with its connection: the next attempt replaces the stream.
TEST_F(PairingAgain, ANewerRequestReplacesAnIdleStream)
{
	EXPECT_EQ(greater.respond(lesser.request()).reason, CORE_PAIR_OK);
	lesser.fail();
	attach(lesser, greater);
}

TEST_F(PairingAgain, ANewerRequestDoesNotReplaceAStreamInUse)
{
	attach(lesser, greater);
	greater.counts.idle = false;
	core_pairing_lost(&lesser.pairing, 0);
	EXPECT_EQ(greater.respond(lesser.request()).reason, CORE_PAIR_BUSY);
	EXPECT_EQ(greater.pairing.state, CORE_PAIRING_ATTACHED);
}

// QPNs are used again after RESET. The Request of the incarnation before is read late.
TEST_F(PairingAgain, ARequestFromBeforeAResetIsStale)
{
	const core_pair_frame late = lesser.request();

	lesser.ready(0xa2);
	attach(lesser, greater);
	EXPECT_EQ(greater.respond(late).reason, CORE_PAIR_STALE);
	core_pairing_lost(&greater.pairing, 0);
	EXPECT_EQ(greater.respond(late).reason, CORE_PAIR_STALE);
}

TEST_F(PairingAgain, ARequestForAnIncarnationBeforeIsStale)
{
	attach(lesser, greater);
	core_pairing_lost(&lesser.pairing, 0);
	const core_pair_frame late = lesser.request();

	greater.ready(0xb2);
	EXPECT_EQ(greater.respond(late).reason, CORE_PAIR_STALE);
}

// Incarnations have no order: the responder asks the newer one to prove itself, by its number.
TEST_F(PairingAgain, APeerThatWasResetIsAcceptedAtItsSecondTry)
{
	attach(lesser, greater);
	lesser.ready(0xa2); // and the other end does not notice
	const Answer answer = greater.respond(lesser.request());
	const core_pair_outcome out = lesser.conclude(answer.reply);

	EXPECT_EQ(answer.reason, CORE_PAIR_STALE);
	EXPECT_EQ(out.conclusion, CORE_PAIR_RETRY);
	EXPECT_EQ(out.wait, 0u);
	attach(lesser, greater);
}

// The responder was about to believe a Request from before a RESET: nothing was sent, so nothing is
// lost, and the newer incarnation comes through.
TEST_F(PairingAgain, ARequestThatWasStaleAtTheFirstStreamDoesNoHarm)
{
	const core_pair_frame late = lesser.request();

	lesser.ready(0xa2);
	const Answer dead = greater.respond(late);

	EXPECT_EQ(dead.reason, CORE_PAIR_OK);
	EXPECT_TRUE(dead.agreed.muted);
	lesser.conclude(greater.respond(lesser.request()).reply);
	attach(lesser, greater);
}

// An incarnation that ended knew the number of the initiator's Request. A number of the stream
// itself is what its Request would have to know.
TEST_F(PairingAgain, ANumberFromBeforeTheStreamProvesNothing)
{
	lesser.ready(0xa2);
	const core_pair_frame of_greater = greater.request();
	const Answer refused = greater.respond(lesser.request()); // says the number of of_greater

	ASSERT_EQ(refused.reason, CORE_PAIR_CROSSING);
	lesser.conclude(refused.reply);
	const core_pair_frame late = lesser.request(); // knows it

	lesser.ready(0xa3);
	const Answer answer = lesser.respond(of_greater);

	ASSERT_EQ(greater.conclude(answer.reply).conclusion, CORE_PAIR_ATTACH);
	EXPECT_EQ(greater.respond(late).reason, CORE_PAIR_STALE);
}

TEST_F(PairingAgain, AResetOfBothBeginsAnew)
{
	attach(lesser, greater);
	deliver(lesser, greater, 5);
	lesser.ready(0xa2);
	EXPECT_EQ(greater.respond(lesser.request()).reason, CORE_PAIR_STALE);
	greater.ready(0xb2);
	lesser.fail();
	attach(greater, lesser);
}

TEST_F(PairingAgain, AResetOfOneIsRefusedOnceThereWasARequest)
{
	attach(lesser, greater);
	deliver(lesser, greater, 5);
	lesser.ready(0xa2);
	EXPECT_EQ(lesser.conclude(greater.respond(lesser.request()).reply).wait, 0u);
	EXPECT_EQ(greater.respond(lesser.request()).reason, CORE_PAIR_COUNTS);
}

// ---- Two releases ----

TEST_F(PairingFeatures, BothUseWhatBothKnow)
{
	for (bool swapped : {false, true}) {
		Qp &first = swapped ? greater : lesser, &other = swapped ? lesser : greater;

		first.ready(0xc1);
		other.ready(0xc2);
		lesser.pairing.features = 0x80000003;
		lesser.pairing.needs = 1;
		greater.pairing.features = 0x80000005;
		greater.pairing.needs = 0x80000000;
		const Answer answer = other.respond(first.request());

		EXPECT_EQ(answer.agreed.features, 0x80000001u);
		EXPECT_EQ(first.conclude(answer.reply).agreed.features, 0x80000001u);
	}
}

TEST_F(PairingFeatures, WhatOneNeedsAndTheOtherDoesNotKnowIsRefusedInBothDirections)
{
	for (bool swapped : {false, true}) {
		Qp &first = swapped ? greater : lesser, &other = swapped ? lesser : greater;

		first.ready(0xc1);
		other.ready(0xc2);
		lesser.pairing.features = lesser.pairing.needs = 2;
		const Answer answer = other.respond(first.request());
		const core_pair_outcome out = first.conclude(answer.reply);

		EXPECT_EQ(answer.reason, CORE_PAIR_FEATURES);
		EXPECT_EQ(answer.reply.needs, other.pairing.needs);
		EXPECT_EQ(out.reason, CORE_PAIR_FEATURES);
		EXPECT_EQ(out.wait, longest);
	}
}

// ---- Trying again ----

TEST_F(PairingRetry, FailuresAreTriedAgainAfterOneSecondThenLessOften)
{
	for (u32 wait :
	     {second, 2 * second, 4 * second, 8 * second, 16 * second, longest, longest, longest}) {
		lesser.request();
		EXPECT_EQ(lesser.fail().wait, wait);
	}
	attach(lesser, greater);
	EXPECT_EQ(core_pairing_lost(&lesser.pairing, 0), second);
}

TEST_F(PairingRetry, ARandomNumberTakesUpToHalfOfTheTimeAway)
{
	u32 least = longest, most = 0;

	for (u32 random = 0; random < 100000; random++) {
		Qp qp(1, 2, 3);

		qp.connect();
		const u32 wait = qp.fail(random * 2654435761u).wait;

		least = std::min(least, wait);
		most = std::max(most, wait);
	}
	EXPECT_EQ(least, second / 2);
	EXPECT_EQ(most, second);
}

// What a program has to change at the peer may take its time; then the peer connects.
TEST_F(PairingRetry, WhatWaitsForThePeerWaitsLong)
{
	for (core_pair_reason reason : {CORE_PAIR_COUNTS, CORE_PAIR_VERSION_UNKNOWN,
					CORE_PAIR_FEATURES, CORE_PAIR_SHUTDOWN}) {
		core_pair_frame reply;

		lesser.ready(0xa2);
		const core_pair_frame request = lesser.request();

		core_pair_refuse(&request, reason, &reply);
		const core_pair_outcome out = lesser.conclude(reply);

		EXPECT_EQ(out.wait, longest) << reason;
		EXPECT_EQ(out.reason, reason);
	}
}

// Both may come to RTR at once, and one of them be kept from connecting by a firewall.
TEST_F(PairingRetry, WhoComesTooEarlyTriesAgainSoonThenLessOften)
{
	core_pair_frame reply{};

	reply.reply = 1;
	for (core_pair_reason reason : {CORE_PAIR_NOT_READY, CORE_PAIR_OTHER_PAIR}) {
		reply.reason = reason;
		lesser.ready(0xa2);
		for (u32 wait : {4 * second, 8 * second, 16 * second, longest, longest}) {
			lesser.request();
			EXPECT_EQ(lesser.conclude(reply).wait, wait);
		}
	}
	attach(lesser, greater);
	EXPECT_EQ(lesser.pairing.refusals, 0);
}

TEST_F(PairingRetry, AReplyInAnotherVersionWaitsLongToo)
{
	core_pair_outcome out;

	lesser.request();
	core_pairing_failed(&lesser.pairing, lesser.attempt, CORE_PAIR_VERSION_UNKNOWN, 0, &out);
	EXPECT_EQ(out.wait, longest);
	EXPECT_EQ(out.reason, CORE_PAIR_VERSION_UNKNOWN);
}

// A Reply that accepts is useless for a reason that the responder could have given.
TEST_F(PairingRetry, AUselessReplyWaitsAsItsReasonDoes)
{
	const core_pair_frame good = greater.respond(lesser.request()).reply;
	const Qp before = lesser;
	const std::vector<std::pair<u32, std::function<void(core_pair_frame &)>>> wrong = {
		{4 * second, [](core_pair_frame &f) { f.from.qpn++; }},
		{longest, [](core_pair_frame &f) { f.sent++; }},
		{longest, [](core_pair_frame &f) { f.needs = 1; }},
		{second, [](core_pair_frame &f) { f.peer_attempt--; }},
	};

	for (const auto &[wait, spoil] : wrong) {
		core_pair_frame reply = good;

		lesser = before;
		spoil(reply);
		EXPECT_EQ(lesser.conclude(reply).wait, wait);
	}
}

TEST_F(PairingRetry, OtherRefusalsAreFailures)
{
	for (u8 reason : {u8{CORE_PAIR_BUSY}, u8{CORE_PAIR_STALE}, u8{CORE_PAIR_CROSSING},
			  u8{CORE_PAIR_MALFORMED}, u8{CORE_PAIR_REASONS}, u8{255}}) {
		core_pair_frame reply{};

		reply.reply = 1;
		reply.reason = reason;
		lesser.ready(0xa2);
		lesser.request();
		const core_pair_outcome out = lesser.conclude(reply);

		EXPECT_EQ(out.wait, second) << u32{reason};
		EXPECT_EQ(out.reason, reason);
	}
}

// A peer that says something new each time does not make this end connect without a pause.
TEST_F(PairingRetry, ACorrectionIsNoReasonToConnectAtOnceTwiceInARow)
{
	core_pair_frame reply{};
	u32 pauses = 0;

	reply.reply = 1;
	reply.reason = CORE_PAIR_STALE;
	for (u32 i = 0; i < 10; i++) {
		reply.incarnation = 100 + i;
		lesser.request();
		pauses += lesser.conclude(reply).wait != 0;
	}
	EXPECT_EQ(pauses, 5u);
}

// "1,000 waiting QPs must not mean 1,000 refusals a second."
TEST_F(PairingRetry, AThousandWaitingQpsAreRefusedSeldom)
{
	std::mt19937 random(11);
	std::vector<u32> refusals(600);
	core_pair_frame reply{};

	reply.reply = 1;
	reply.reason = CORE_PAIR_NOT_READY;
	for (u32 i = 0; i < 1000; i++) {
		Qp qp(1, 2, 3);

		for (u32 now = 0; now < refusals.size() * second;) {
			refusals[now / second]++;
			qp.request();
			now += qp.conclude(reply, random()).wait;
		}
	}
	EXPECT_EQ(refusals[0], 1000u);
	EXPECT_LT(*std::max_element(refusals.begin() + 1, refusals.end()), 600u);
	EXPECT_LT(*std::max_element(refusals.begin() + 60, refusals.end()), 120u);
}

// ---- A QP that is connected with itself ----

// 62: "A QP that is connected with itself uses a TCP connection to its own port, without startup
// frames."
TEST(PairingItself, AttachesItsOwnConnection)
{
	core_pair_agreed agreed;
	Qp qp(7, 7, 1);

	EXPECT_TRUE(core_pairing_is_itself(&qp.pairing));
	ASSERT_TRUE(qp.connect());
	ASSERT_TRUE(core_pairing_attach_itself(&qp.pairing, qp.attempt, &agreed));
	EXPECT_EQ(qp.pairing.state, CORE_PAIRING_ATTACHED);
	EXPECT_EQ(agreed.ord, 8);
	EXPECT_EQ(agreed.ird, 16);
	EXPECT_FALSE(agreed.muted);
	EXPECT_FALSE(core_pairing_connect(&qp.pairing, &qp.counts));
}

TEST(PairingItself, LeavesAConnectionWhoseAttemptIsOver)
{
	core_pair_agreed agreed;
	Qp qp(7, 7, 1);

	ASSERT_TRUE(qp.connect());
	core_pairing_reset(&qp.pairing);
	EXPECT_FALSE(core_pairing_attach_itself(&qp.pairing, qp.attempt, &agreed));
}

TEST(PairingItself, IsNotAQpWithAnotherEnd)
{
	Qp qp(7, 8, 1);

	EXPECT_FALSE(core_pairing_is_itself(&qp.pairing));
}
