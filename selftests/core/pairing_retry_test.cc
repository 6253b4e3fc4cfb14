// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Pairing: when an end tries again (Documentation/ib.rst, "Trying again", rules 63 to 67).
#include "pairing_qp.hh"

using pairing::Qp, pairing::longest, pairing::second;
using PairingRetry = pairing::Pairing;

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
