// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Pairing: the end that a Request reaches. Whom it accepts, what it says when it refuses, and which
// reason decides (Documentation/ib.rst, rules 52, 54, 55, 57, 60 to 62).
#include "pairing_qp.hh"

using pairing::Answer, pairing::Qp;
using PairingResponder = pairing::Pairing;

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
