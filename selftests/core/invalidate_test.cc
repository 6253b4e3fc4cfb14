// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The streams that may invalidate an STag (RFC 5040 5.3, 7.2 and 8.1.1).
#include "api/core.h"

constexpr u32 stag = 0x12345601;
constexpr core_grant region = {
	.stag = stag, .pd = 3, .qpn = 7, .revocable = true, .of_qp = false,
};

static core_region_verdict ask(core_grant grant, core_revoker revoker)
{
	return core_may_invalidate(&grant, &revoker);
}

constexpr core_revoker peer = {.stag = stag, .pd = 3, .qpn = 7, .peer = true};
constexpr core_revoker consumer = {.stag = stag, .pd = 3, .qpn = 9, .peer = false};

// RFC 5040 5.3: the Invalidate STag of a Send is invalidated. The region need not be valid: it is
// no error if its consumer has just invalidated it.
TEST(Invalidate, APeerMayWhatItsStreamHasRegistered)
{
	EXPECT_EQ(ask(region, peer), CORE_REGION_OK);
}

// RFC 5040 7.2: "The Invalidate STag is valid."
TEST(Invalidate, AnotherKeyOfTheSameRegionIsAnotherStag)
{
	core_grant renewed = region;

	renewed.stag = stag + 1;
	EXPECT_EQ(ask(renewed, peer), CORE_REGION_INVALID);
	EXPECT_EQ(ask(renewed, consumer), CORE_REGION_INVALID);
}

// RFC 5040 8.1.1 rule 7: a peer can invalidate only STags of its own stream.
TEST(Invalidate, AnotherStreamsRegionIsForeignToAPeerOnly)
{
	core_grant others = region;

	others.qpn = 8;
	EXPECT_EQ(ask(others, peer), CORE_REGION_FOREIGN);
	EXPECT_EQ(ask(others, consumer), CORE_REGION_OK);
	others.qpn = 0;
	EXPECT_EQ(ask(others, peer), CORE_REGION_FOREIGN);
}

TEST(Invalidate, AnotherProtectionDomainIsForeign)
{
	core_grant others = region;

	others.pd = 4;
	EXPECT_EQ(ask(others, peer), CORE_REGION_FOREIGN);
	EXPECT_EQ(ask(others, consumer), CORE_REGION_FOREIGN);
}

// A window of type 2 is its QP's, for the consumer as well: but only while it is bound.
TEST(Invalidate, ABoundWindowIsForeignToTheOtherQpsOfItsConsumer)
{
	core_grant window = region;

	window.of_qp = true;
	EXPECT_EQ(ask(window, consumer), CORE_REGION_FOREIGN);
	window.qpn = consumer.qpn;
	EXPECT_EQ(ask(window, consumer), CORE_REGION_OK);
	EXPECT_EQ(ask(window, peer), CORE_REGION_FOREIGN);
}

// An ordinary region is released only when its owner deregisters it.
TEST(Invalidate, ARegionThatIsNotFastRegisteredMayNot)
{
	core_grant fixed = region;

	fixed.revocable = false;
	EXPECT_EQ(ask(fixed, peer), CORE_REGION_ACCESS);
	EXPECT_EQ(ask(fixed, consumer), CORE_REGION_ACCESS);
}
