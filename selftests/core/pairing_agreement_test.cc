// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Pairing: what both ends agree on when they attach a stream: depths, CRCs and features
// (Documentation/ib.rst, rules 41, 46, 47).
#include "pairing_qp.hh"

using pairing::Answer, pairing::Qp, pairing::longest;
using PairingAgreement = pairing::Pairing;

TEST_F(PairingAgreement, AgreesOnDepthsAndCrcs)
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
TEST_F(PairingAgreement, AnOrdThatIsNotKnownIsTheOtherEndsIrd)
{
	lesser.pairing.ord = CORE_PAIR_ANY_ORD;
	const Answer answer = greater.respond(lesser.request());

	EXPECT_EQ(answer.agreed.ird, 16);
	EXPECT_EQ(lesser.conclude(answer.reply).agreed.ord, 16);
}

TEST_F(PairingAgreement, CrcsAreOffOnlyIfNeitherEndWantsThem)
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

TEST_F(PairingAgreement, BothUseWhatBothKnow)
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

TEST_F(PairingAgreement, WhatOneNeedsAndTheOtherDoesNotKnowIsRefusedInBothDirections)
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
