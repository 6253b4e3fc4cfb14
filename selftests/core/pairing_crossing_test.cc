// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Pairing: two ends that connect at the same time (Documentation/ib.rst, rules 59 and 66).
#include "pairing_qp.hh"

using pairing::Answer, pairing::second;
using PairingCrossing = pairing::Pairing;

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
