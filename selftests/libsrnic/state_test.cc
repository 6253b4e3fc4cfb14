// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// QPs of type srnic_ib: which states take sends, and a silent RESET. What the kernel does in it is
// in <rdma/srnic-abi.h>: it consumes all requests, and adds no more completions.
#include "fake_kernel.hh"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace {

using fake::completion, fake::doorbells, fake::work;

constexpr uint32_t granted = 6; // requests each way

class State : public fake::Queue {
protected:
	State()
	{
		q.qp.ib = true;
		q.qp.base.qp_num = 5;
		q.qp.features |= SRNIC_FEATURE_SEND_IMM;
		q.qp.sq.imm_payload = true;
		enter(IBV_QPS_RESET);
	}
	void enter(ibv_qp_state state) { srnic_qp_set_state(&q.qp, state); }
	int send(uint64_t wr_id = 0)
	{
		auto wr = work(IBV_WR_SEND, wr_id);

		return Queue::send(wr);
	}
	int recv()
	{
		ibv_recv_wr wr{};

		return Queue::recv(wr);
	}
	void fill()
	{
		for (uint32_t i = 0; i < granted; i++) {
			ASSERT_EQ(send(), 0);
			ASSERT_EQ(recv(), 0);
		}
		ASSERT_EQ(send(), ENOMEM);
		ASSERT_EQ(recv(), ENOMEM);
	}
	// As modify_qp does.
	void reset()
	{
		enter(IBV_QPS_RESET);
		q.sq.complete(q.sq.prod() - q.sq.hdr().cons);
		q.rq.complete(q.rq.prod() - q.rq.hdr().cons);
		q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL;
		srnic_qp_was_reset(&q.qp);
	}
	void connect()
	{
		for (auto state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS})
			enter(state);
	}
};

TEST_F(State, SendsArePostedFromRtsOn)
{
	for (auto state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR}) {
		auto wr = work(IBV_WR_SEND);
		ibv_send_wr *bad = nullptr;

		enter(state);
		EXPECT_EQ(Queue::send(wr, &bad), EINVAL) << state;
		EXPECT_EQ(bad, &wr);
		ibv_wr_start(&q.qp.ex);
		ibv_wr_send(&q.qp.ex);
		EXPECT_EQ(ibv_wr_complete(&q.qp.ex), EINVAL) << state;
	}
	EXPECT_EQ(q.sq.prod(), 0u);
	EXPECT_EQ(doorbells, 0);
	for (auto state : {IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR}) {
		enter(state);
		EXPECT_EQ(send(), 0) << state;
	}
	enter(IBV_QPS_INIT);
	EXPECT_EQ(send(), EINVAL);
	enter(IBV_QPS_RTS);
	EXPECT_EQ(send(), 0);
}

TEST_F(State, ReceivesArePostedFromInitOn)
{
	ibv_recv_wr wr{}, *bad = nullptr;

	EXPECT_EQ(Queue::recv(wr, &bad), EINVAL);
	EXPECT_EQ(bad, &wr);
	EXPECT_EQ(q.rq.prod(), 0u);
	for (auto state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR}) {
		enter(state);
		EXPECT_EQ(recv(), 0) << state;
	}
	enter(IBV_QPS_RESET);
	EXPECT_EQ(recv(), EINVAL);
}

TEST_F(State, AQpOfTypeSrnicTakesBothAtOnce)
{
	fake::Qp other;
	auto wr = work(IBV_WR_SEND);
	ibv_recv_wr recv_wr{}, *bad_recv;
	ibv_send_wr *bad;

	EXPECT_EQ(srnic_post_send(&other.qp.base, &wr, &bad), 0);
	EXPECT_EQ(srnic_post_recv(&other.qp.base, &recv_wr, &bad_recv), 0);
}

TEST_F(State, ImmediateDataComeWithSends)
{
	ibv_sge one = {0x1000, 1, 5};
	auto wr = work(IBV_WR_SEND_WITH_IMM, 0, &one, 1);
	auto cqe = completion(1, SRNIC_OP_RECV);
	ibv_wc wc;

	connect();
	EXPECT_EQ(Queue::send(wr), 0);
	EXPECT_EQ(q.sq.slot<srnic_send_wqe>(0).num_sge, 1);
	cqe.flags = SRNIC_CQE_WITH_IMM | SRNIC_CQE_OF_SEND;
	q.receives.produce(cqe);
	ASSERT_EQ(srnic_poll_cq(&q.receives.cq.base, 1, &wc), 1);
	EXPECT_EQ(wc.opcode, IBV_WC_RECV);
	EXPECT_EQ(wc.wc_flags, unsigned{IBV_WC_WITH_IMM});
}

// "the QP can be connected and used again at once"
TEST_F(State, FullQueuesAreEmptyAfterAReset)
{
	ibv_wc wc;

	for (int i = 0; i < 10000; i++) {
		connect();
		fill();
		q.sends.produce(completion(1, SRNIC_OP_SEND));
		q.receives.produce(completion(2, SRNIC_OP_RECV));
		reset();
		ASSERT_EQ(srnic_poll_cq(&q.sends.cq.base, 1, &wc), 0);
		ASSERT_EQ(srnic_poll_cq(&q.receives.cq.base, 1, &wc), 0);
		ASSERT_EQ(send(), EINVAL);
	}
}

TEST_F(State, AResetDropsFromBothCqsWhatIsOfThisQpOnly)
{
	ibv_wc wc[4];

	connect();
	for (fake::Cq *cq : {&q.sends, &q.receives})
		for (uint64_t wr_id = 0; wr_id < 4; wr_id++)
			cq->produce(completion(wr_id, SRNIC_OP_SEND, wr_id % 2 ? 6 : 5));
	reset();
	for (fake::Cq *cq : {&q.sends, &q.receives}) {
		ASSERT_EQ(srnic_poll_cq(&cq->cq.base, 4, wc), 2);
		EXPECT_EQ(wc[0].wr_id, 1u);
		EXPECT_EQ(wc[1].wr_id, 3u);
	}
}

TEST_F(State, ACqStaysArmed)
{
	ibv_wc wc;

	srnic_req_notify_cq(&q.sends.cq.base, 0);
	reset();
	EXPECT_TRUE(q.sends.produce(completion(1, SRNIC_OP_SEND, 6)));

	// The event has been raised, for what a reset then drops.
	srnic_req_notify_cq(&q.receives.cq.base, 0);
	EXPECT_TRUE(q.receives.produce(completion(1, SRNIC_OP_RECV)));
	reset();
	EXPECT_EQ(srnic_poll_cq(&q.receives.cq.base, 1, &wc), 0);
	srnic_req_notify_cq(&q.receives.cq.base, 0);
	EXPECT_TRUE(q.receives.produce(completion(2, SRNIC_OP_RECV, 6)));
	EXPECT_EQ(srnic_poll_cq(&q.receives.cq.base, 1, &wc), 1);
}

TEST_F(State, ADoorbellThatWasPutOffIsForgotten)
{
	ibv_wc wc;

	connect();
	q.be_in_burst();
	q.sq.hdr().state = SRNIC_SQ_STANDBY;
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(send(), 0);
	EXPECT_EQ(q.qp.deferred, 3u);
	reset();
	doorbells = 0;
	EXPECT_EQ(srnic_poll_cq(&q.sends.cq.base, 1, &wc), 0);
	EXPECT_EQ(doorbells, 0);
	connect();
	ASSERT_EQ(send(), 0);
	EXPECT_EQ(doorbells, 1) << "the engine is idle after a reset";
	EXPECT_EQ(q.sq.hdr().burst, 0u);
}

// Only the receives that the QP took go.
TEST_F(State, ReceivesStayWithTheSrq)
{
	fake::Ring ring(8, fake::recv_slot);
	srnic_srq srq{};
	ibv_recv_wr wr{}, *bad;

	q.qp.rq = srnic_wq{};
	ASSERT_TRUE(
		srnic_ring_open(&srq.wq.ring, ring.map(), ring.mapped(), sizeof(srnic_recv_wqe)));
	srnic_rq_init(&srq.wq, 8, 16);
	for (int i = 0; i < 8; i++)
		ASSERT_EQ(srnic_post_srq_recv(&srq.base, &wr, &bad), 0);
	ring.complete(1);
	enter(IBV_QPS_RESET);
	srnic_qp_was_reset(&q.qp);
	EXPECT_EQ(ring.prod() - ring.hdr().cons, 7u);
	EXPECT_EQ(srnic_post_srq_recv(&srq.base, &wr, &bad), 0);
	EXPECT_EQ(srnic_post_srq_recv(&srq.base, &wr, &bad), ENOMEM);
}

// The kernel adds completions of another QP, and a thread polls, while QP 5 is reset.
TEST_F(State, ResetsDoNotDisturbAPoller)
{
	std::atomic<uint64_t> after_reset{0}; // a wr_id of QP 5 below is of before
	std::atomic<bool> stop{false};
	fake::Cq &cq = q.sends;
	uint64_t others = 0, wrong = 0;

	q.qp.base.recv_cq = q.qp.base.send_cq;
	std::thread poller([&] {
		for (ibv_wc wc; !stop;) {
			const uint64_t least = after_reset;

			if (srnic_poll_cq(&cq.cq.base, 1, &wc) != 1)
				continue;
			wrong += wc.qp_num == 5 ? wc.wr_id < least : wc.wr_id != others++;
		}
	});
	for (uint64_t i = 0; i < 20000; i++) {
		for (auto number : {5u, 6u}) {
			while (!cq.room())
				std::this_thread::yield();
			cq.produce(completion(i, SRNIC_OP_SEND, number));
		}
		srnic_qp_was_reset(&q.qp);
		after_reset = i + 1;
	}
	while (cq.ring.prod() != __atomic_load_n(&cq.ring.hdr().cons, __ATOMIC_ACQUIRE))
		std::this_thread::yield();
	stop = true;
	poller.join();
	EXPECT_EQ(wrong, 0u);
	EXPECT_EQ(others, 20000u);
}

} // namespace
