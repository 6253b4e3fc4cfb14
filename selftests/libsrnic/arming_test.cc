// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Arming CQs: which completions raise an event, and for which the kernel is asked.
#include "fake_kernel.hh"

#include <gtest/gtest.h>

#include <thread>

namespace {

using fake::completion;

TEST(Arming, RaisesAnEventOnce)
{
	fake::Cq c;
	const auto cqe = completion(0, SRNIC_OP_RECV);

	EXPECT_FALSE(c.produce(cqe));
	srnic_req_notify_cq(&c.cq.base, 1);
	EXPECT_FALSE(c.produce(cqe, false));
	EXPECT_TRUE(c.produce(cqe, true));
	EXPECT_FALSE(c.produce(cqe, true)) << "an event is raised once per arming";
	srnic_req_notify_cq(&c.cq.base, 0);
	EXPECT_TRUE(c.produce(cqe));
	srnic_req_notify_cq(&c.cq.base, 0);
	srnic_req_notify_cq(&c.cq.base, 1); // does not weaken the first
	EXPECT_TRUE(c.produce(cqe, false));
	srnic_req_notify_cq(&c.cq.base, 1);
	srnic_req_notify_cq(&c.cq.base, 0);
	EXPECT_TRUE(c.produce(cqe, false));
}

// Of a CQ that may have completions.
struct Armed : testing::Test {
	fake::Cq c{8}, other{8};
	ibv_wc wc[8];

	Armed() { fake::armings = 0; }
	bool produce() { return c.produce(completion(0, SRNIC_OP_RECV)); }
	int poll(fake::Cq &cq, int most) { return srnic_poll_cq(&cq.cq.base, most, wc); }
	int arm(int solicited = 0)
	{
		const int before = fake::armings;

		EXPECT_EQ(srnic_req_notify_cq(&c.cq.base, solicited), 0);
		return fake::armings - before;
	}
	// So many completions, and the program has taken the event of the first.
	void told_of(int many)
	{
		ASSERT_EQ(arm(), 0) << "nothing is there";
		EXPECT_TRUE(produce());
		for (int i = 1; i < many; i++)
			EXPECT_FALSE(produce());
		srnic_cq_event(&c.cq.base);
	}
};

TEST_F(Armed, WhatNoEventHasAnnouncedRaisesOne)
{
	produce();
	EXPECT_EQ(arm(), 1);
	EXPECT_EQ(arm(1), 1);
	EXPECT_EQ(poll(c, 8), 1);
	EXPECT_EQ(arm(), 0) << "nothing is there";
}

TEST_F(Armed, ItsEventWasTakenAndItIsPolledNext)
{
	told_of(2);
	EXPECT_EQ(arm(), 0);
	EXPECT_EQ(poll(c, 8), 2);
	EXPECT_EQ(fake::armings, 0);
	EXPECT_TRUE(produce()) << "it is armed for the next";
}

TEST_F(Armed, WhatCameAfterThePollThatFollowedTheEvent)
{
	told_of(1);
	EXPECT_EQ(poll(c, 8), 1);
	EXPECT_EQ(arm(), 0);
	EXPECT_TRUE(produce());
	EXPECT_EQ(poll(c, 8), 1);
	produce();
	EXPECT_EQ(arm(), 1);
}

TEST_F(Armed, WhatAPollLeftBehindBeforeTheArming)
{
	told_of(2);
	EXPECT_EQ(poll(c, 1), 1);
	EXPECT_EQ(arm(), 1);
}

// A program that takes receives, and no Sends as long as there were any, then arms both CQs.
TEST_F(Armed, ItsEventWasTakenAndAnotherCqPolledSince)
{
	other.produce(completion(0, SRNIC_OP_RECV));
	told_of(1);
	EXPECT_EQ(poll(other, 8), 1);
	EXPECT_EQ(arm(), 1);
}

TEST_F(Armed, APollThatFindsNothingIsNone)
{
	told_of(1);
	EXPECT_EQ(poll(other, 8), 0);
	EXPECT_EQ(arm(), 0);
}

// A program that takes one completion for each event.
TEST_F(Armed, WhatAPollLeavesBehindAfterTheArming)
{
	told_of(3);
	EXPECT_EQ(arm(), 0);
	EXPECT_EQ(poll(c, 1), 1);
	EXPECT_EQ(fake::armings, 1);
	EXPECT_EQ(poll(c, 1), 1);
	EXPECT_EQ(fake::armings, 1) << "once for each arming";
}

TEST_F(Armed, WhatAPollLeavesBehindHasItsEventAlready)
{
	told_of(2);
	EXPECT_EQ(arm(), 0);
	EXPECT_TRUE(produce());
	EXPECT_EQ(poll(c, 1), 1);
	EXPECT_EQ(fake::armings, 0);
}

TEST_F(Armed, AnExtendedPollLeavesSomeBehind)
{
	ibv_poll_cq_attr attr{};

	told_of(2);
	EXPECT_EQ(arm(1), 0);
	ASSERT_EQ(ibv_start_poll(&c.cq.ex, &attr), 0);
	EXPECT_EQ(fake::armings, 0) << "it may take more";
	ibv_end_poll(&c.cq.ex);
	EXPECT_EQ(fake::armings, 1);
	EXPECT_TRUE(fake::armed_solicited);
}

TEST_F(Armed, AnExtendedPollTakesAll)
{
	ibv_poll_cq_attr attr{};

	told_of(2);
	EXPECT_EQ(arm(), 0);
	ASSERT_EQ(ibv_start_poll(&c.cq.ex, &attr), 0);
	ASSERT_EQ(ibv_next_poll(&c.cq.ex), 0);
	ibv_end_poll(&c.cq.ex);
	EXPECT_EQ(fake::armings, 0);
}

// That thread may have stopped looking at it.
TEST_F(Armed, AnotherThreadHasTakenTheEvent)
{
	EXPECT_EQ(arm(), 0);
	produce();
	std::thread([this] { srnic_cq_event(&c.cq.base); }).join();
	EXPECT_EQ(arm(), 1);
}

TEST_F(Armed, WhatAnEventAnnouncedIsKnownAcrossTheWrapOfTheIndex)
{
	c.start_at(~0u);
	c.cq.told.prod = ~0u;
	told_of(2);
	EXPECT_EQ(arm(), 0);
}

} // namespace
