// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory windows: what the provider writes into the ring for a bind or an invalidation, and which
// key a window has afterwards.
#include "fake_kernel.hh"

#include <gtest/gtest.h>

namespace {

using fake::work;

class Window : public fake::Queue {
protected:
	ibv_mr mr{};
	ibv_mw mw{};

	Window()
	{
		q.qp.features |= SRNIC_FEATURE_WINDOW;
		mr.lkey = 0x77700;
		mw.rkey = 0x123fe;
		mw.type = IBV_MW_TYPE_2;
	}
	const srnic_send_wqe &sent(uint32_t index) { return q.sq.slot<srnic_send_wqe>(index); }
	ibv_mw_bind_info info(uint64_t length = 0x200)
	{
		return {&mr, 0x123456789a, length, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED};
	}
	ibv_send_wr bind(uint32_t rkey)
	{
		auto wr = work(IBV_WR_BIND_MW, 42, nullptr, 0, IBV_SEND_SIGNALED | IBV_SEND_FENCE);

		wr.bind_mw = {&mw, rkey, info()};
		return wr;
	}
	void expect_bind(const srnic_send_wqe &wqe, uint32_t rkey)
	{
		EXPECT_EQ(wqe.opcode, SRNIC_OP_BIND_MW);
		EXPECT_EQ(wqe.num_sge, 0);
		EXPECT_EQ(wqe.rkey, rkey);
		EXPECT_EQ(wqe.imm_inv, 0x77700u);
		EXPECT_EQ(wqe.remote_addr, 0x123456789au);
		EXPECT_EQ(wqe.arg[0], 0x200u);
		EXPECT_EQ(wqe.arg[1], uint64_t{IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED});
	}
};

TEST_F(Window, APostedBindHasTheKeyThatTheProgramChose)
{
	auto wr = bind(0x12307);

	ASSERT_EQ(send(wr), 0);
	expect_bind(sent(0), 0x12307);
	EXPECT_EQ(sent(0).wr_id, 42u);
	EXPECT_EQ(sent(0).flags, SRNIC_WQE_SIGNALED | SRNIC_WQE_FENCE);
	EXPECT_EQ(mw.rkey, 0x123feu);
}

TEST_F(Window, TheListOfABindMeansNothing)
{
	ibv_sge one = {0x1000, 1, 5};
	auto wr = bind(0x12307);

	wr.sg_list = &one;
	wr.num_sge = 1;
	wr.send_flags |= IBV_SEND_INLINE;
	ASSERT_EQ(send(wr), 0);
	expect_bind(sent(0), 0x12307);
	EXPECT_EQ(sent(0).flags & SRNIC_WQE_INLINE, 0);
}

TEST_F(Window, AKeyOfAnotherWindowIsRefused)
{
	auto wr = bind(0x12407);

	EXPECT_EQ(send(wr), EINVAL);
	EXPECT_EQ(q.sq.prod(), 0u);
}

TEST_F(Window, AWindowOfType1IsNotPosted)
{
	auto wr = bind(0x12307);

	mw.type = IBV_MW_TYPE_1;
	EXPECT_EQ(send(wr), EINVAL);
	wr.bind_mw.mw = nullptr;
	EXPECT_EQ(send(wr), EINVAL);
	EXPECT_EQ(q.sq.prod(), 0u);
}

// The eight bits wrap.
TEST_F(Window, Type1GetsItsNextKeyEachTime)
{
	ibv_mw_bind request = {42, IBV_SEND_SIGNALED, info()};

	mw.type = IBV_MW_TYPE_1;
	ASSERT_EQ(srnic_bind_mw(&q.qp.base, &mw, &request), 0);
	EXPECT_EQ(mw.rkey, 0x123ffu);
	expect_bind(sent(0), 0x123ff);
	ASSERT_EQ(srnic_bind_mw(&q.qp.base, &mw, &request), 0);
	EXPECT_EQ(mw.rkey, 0x12300u);
	expect_bind(sent(1), 0x12300);
}

TEST_F(Window, Type1KeepsItsKeyIfNothingIsPosted)
{
	ibv_mw_bind request = {42, 0, info()};

	mw.type = IBV_MW_TYPE_1;
	q.qp.features = 0;
	EXPECT_EQ(srnic_bind_mw(&q.qp.base, &mw, &request), EOPNOTSUPP);
	EXPECT_EQ(mw.rkey, 0x123feu);
}

TEST_F(Window, Type1IsUnboundWithoutARegion)
{
	ibv_mw_bind request = {42, 0, {}};

	mw.type = IBV_MW_TYPE_1;
	ASSERT_EQ(srnic_bind_mw(&q.qp.base, &mw, &request), 0);
	EXPECT_EQ(sent(0).arg[0], 0u);
	EXPECT_EQ(sent(0).imm_inv, 0u);
	request.bind_info.length = 1;
	EXPECT_EQ(srnic_bind_mw(&q.qp.base, &mw, &request), EINVAL);
}

TEST_F(Window, AnInvalidationNamesItsKey)
{
	auto wr = work(IBV_WR_LOCAL_INV);

	wr.invalidate_rkey = 0x12307;
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(sent(0).opcode, SRNIC_OP_LOCAL_INV);
	EXPECT_EQ(sent(0).imm_inv, 0x12307u);
}

TEST_F(Window, CallByCall)
{
	const ibv_mw_bind_info what = info();

	ibv_wr_start(&q.qp.ex);
	ibv_wr_bind_mw(&q.qp.ex, &mw, 0x12307, &what);
	ibv_wr_local_inv(&q.qp.ex, 0x12307);
	ASSERT_EQ(ibv_wr_complete(&q.qp.ex), 0);
	ASSERT_EQ(q.sq.prod(), 2u);
	expect_bind(sent(0), 0x12307);
	EXPECT_EQ(sent(1).opcode, SRNIC_OP_LOCAL_INV);
	EXPECT_EQ(sent(1).imm_inv, 0x12307u);
}

TEST_F(Window, ABatchWithABadBindPostsNothing)
{
	const ibv_mw_bind_info what = info();

	ibv_wr_start(&q.qp.ex);
	ibv_wr_bind_mw(&q.qp.ex, &mw, 0x999907, &what);
	ibv_wr_local_inv(&q.qp.ex, 0x12307);
	EXPECT_EQ(ibv_wr_complete(&q.qp.ex), EINVAL);
	EXPECT_EQ(q.sq.prod(), 0u);
}

TEST_F(Window, NotWithAModuleThatDoesNotKnowThem)
{
	auto wr = bind(0x12307);
	auto inv = work(IBV_WR_LOCAL_INV);

	q.qp.features &= ~uint32_t{SRNIC_FEATURE_WINDOW};
	EXPECT_EQ(send(wr), EOPNOTSUPP);
	EXPECT_EQ(send(inv), EOPNOTSUPP);
	EXPECT_EQ(q.sq.prod(), 0u);
}

} // namespace
