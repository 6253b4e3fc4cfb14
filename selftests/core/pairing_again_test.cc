// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Pairing: QPs that have had a stream. Whether it comes back, by the mirror rule, and Requests that
// are stale (Documentation/ib.rst, rules 57, 58, 60, 68).
#include "pairing_qp.hh"

using pairing::Answer;
using PairingAgain = pairing::Pairing;

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
