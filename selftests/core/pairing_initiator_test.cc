// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Pairing: the end that connects. When it does, what it says of itself, and which Replies it takes
// (Documentation/ib.rst, rules 50, 55, 56); a QP that is connected with itself (62).
#include "pairing_qp.hh"

using pairing::Qp;
using PairingInitiator = pairing::Pairing;

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

// ---- a QP that is connected with itself ----

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
