// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// When the provider rings the doorbell. The contract is the comment at struct srnic_ring_hdr in
// <rdma/srnic-abi.h>.
#include "doorbell.hh"
#include "fake_kernel.hh"

#include <gtest/gtest.h>

int srnic_doorbell(srnic_qp *)
{
	if (fake::engine_bell) {
		++*fake::engine_bell;
		return 0;
	}
	fake::doorbells++;
	if (fake::on_doorbell)
		fake::on_doorbell();
	return fake::doorbell_result;
}

int srnic_cq_arm_in_kernel(srnic_cq *, int solicited_only)
{
	fake::armings++;
	fake::armed_solicited = solicited_only;
	return 0;
}

namespace {

using fake::doorbell_result, fake::doorbells, fake::work;

class Doorbell : public fake::Queue {};
class Burst : public fake::Queue {
protected:
	Burst() { q.be_in_burst(); }
};

int poll(fake::Cq &c)
{
	ibv_wc wc;
	return srnic_poll_cq(&c.cq.base, 1, &wc);
}

// ---- Doorbell: "stores prod (release), executes a full barrier, then reads state" ----

TEST_F(Doorbell, NoDoorbellWhileTheEngineRuns)
{
	auto wr = work(IBV_WR_SEND);
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(doorbells, 0);
}

TEST_F(Doorbell, OneDoorbellPerCallWhenTheEngineWentIdle)
{
	auto wr = work(IBV_WR_SEND), second = work(IBV_WR_SEND);
	wr.next = &second;
	q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL;
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(doorbells, 1);
}

TEST_F(Doorbell, NothingPostedNoDoorbell)
{
	auto wr = work(IBV_WR_TSO);
	ibv_send_wr *bad;
	q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL | SRNIC_QUEUE_ERROR;
	EXPECT_EQ(send(wr), EINVAL);
	EXPECT_EQ(srnic_post_send(&q.qp.base, nullptr, &bad), 0);
	EXPECT_EQ(doorbells, 0);
}

TEST_F(Doorbell, PostingInErrorRingsSoThatTheWorkIsFlushed)
{
	auto wr = work(IBV_WR_SEND);
	ibv_recv_wr rwr{};
	ASSERT_EQ(recv(rwr), 0);
	EXPECT_EQ(doorbells, 0) << "a receive in a working QP is never a system call";
	q.sq.hdr().state = q.rq.hdr().state = SRNIC_QUEUE_ERROR;
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(doorbells, 1);
	ASSERT_EQ(recv(rwr), 0);
	EXPECT_EQ(doorbells, 2);
}

// ---- Standing by: "Requests posted meanwhile need no doorbell." ----

TEST_F(Doorbell, ThreePostsRightAfterOthersAreABurst)
{
	auto wr = work(IBV_WR_SEND);
	q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL;
	q.qp.burst_gap = ~uint64_t{0};
	for (uint32_t announced : {0, 0, 1, 1}) {
		ASSERT_EQ(send(wr), 0);
		EXPECT_EQ(q.sq.hdr().burst, announced);
	}
	q.qp.burst_gap = 0;
	ASSERT_EQ(send(wr), 0);
	q.qp.burst_gap = ~uint64_t{0};
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(q.sq.hdr().burst, 0u) << "a pause ends it";
	EXPECT_EQ(doorbells, 6);
}

TEST_F(Doorbell, TheFirstPostAfterALongBurstIsABurst)
{
	auto wr = work(IBV_WR_SEND);
	q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL;
	q.qp.burst_gap = 0;
	q.qp.streak = srnic::long_burst;
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(q.sq.hdr().burst, 1u);
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(q.sq.hdr().burst, 0u) << "this one had one post";
	q.qp.streak = srnic::long_burst - 1;
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(q.sq.hdr().burst, 0u);
}

TEST_F(Burst, AnAnswerEndsIt)
{
	auto wr = work(IBV_WR_SEND);
	q.sq.hdr().state = SRNIC_SQ_STANDBY;
	ASSERT_EQ(send(wr), 0);
	q.sends.produce(fake::completion(0, SRNIC_OP_SEND));
	ASSERT_EQ(poll(q.sends), 1);
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(doorbells, 0);
	q.receives.produce(fake::completion(0, SRNIC_OP_RECV));
	ASSERT_EQ(poll(q.receives), 1);
	q.qp.streak = srnic::long_burst;
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(doorbells, 1);
	EXPECT_EQ(q.sq.hdr().burst, 0u);
}

TEST_F(Doorbell, TheFirstPostIsNoBurst)
{
	auto wr = work(IBV_WR_SEND);
	q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL;
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(q.sq.hdr().burst, 0u);
}

TEST_F(Doorbell, AfterAPauseItRingsAtOnce)
{
	auto wr = work(IBV_WR_SEND);
	q.sq.hdr().state = SRNIC_SQ_STANDBY;
	q.qp.burst_gap = 0;
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(doorbells, 1);
	EXPECT_EQ(q.sq.hdr().burst, 0u);
	q.qp.streak = srnic::long_burst;
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(doorbells, 2) << "also where more are likely";
	EXPECT_EQ(q.sq.hdr().burst, 1u);
}

TEST_F(Burst, WhatIsPostedWhileTheEngineStandsByIsRungForOnceBeforeAWait)
{
	auto wr = work(IBV_WR_SEND);
	for (auto *cq : {&q.sends, &q.receives}) {
		doorbells = 0;
		q.sq.hdr().state = SRNIC_SQ_STANDBY;
		for (int i = 0; i < 2; i++)
			ASSERT_EQ(send(wr), 0);
		EXPECT_EQ(doorbells, 0);
		cq->produce(fake::completion(0, SRNIC_OP_SEND));
		ASSERT_EQ(poll(*cq), 1);
		EXPECT_EQ(doorbells, 0) << "there is something to do";
		ASSERT_EQ(poll(*cq), 0);
		EXPECT_EQ(doorbells, 1);
		ASSERT_EQ(poll(*cq), 0);
		EXPECT_EQ(doorbells, 1) << "once is enough";
		// The other CQ knows of it still.
		q.sq.hdr().state = 0;
		ASSERT_EQ(poll(q.sends) + poll(q.receives), 0);
		EXPECT_EQ(doorbells, 1) << "the engine runs";
	}
}

TEST_F(Burst, ALazyPollRingsBeforeAWaitToo)
{
	auto wr = work(IBV_WR_SEND);
	ibv_poll_cq_attr attr{};
	q.sq.hdr().state = SRNIC_SQ_STANDBY;
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(ibv_start_poll(&q.sends.cq.ex, &attr), ENOENT);
	EXPECT_EQ(doorbells, 1);
}

TEST_F(Burst, TheDoorbellsCompletionsAreThereAtOnce)
{
	auto wr = work(IBV_WR_SEND);
	ibv_poll_cq_attr attr{};
	q.sq.hdr().state = SRNIC_SQ_STANDBY;
	fake::on_doorbell = [&] { q.sends.produce(fake::completion(7, SRNIC_OP_SEND)); };
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(poll(q.sends), 1);
	ASSERT_EQ(send(wr), 0);
	ASSERT_EQ(ibv_start_poll(&q.sends.cq.ex, &attr), 0);
	EXPECT_EQ(q.sends.cq.ex.wr_id, 7u);
	ibv_end_poll(&q.sends.cq.ex);
	fake::on_doorbell = nullptr;
}

TEST_F(Burst, QpsThatShareACqAreRungForEach)
{
	auto wr = work(IBV_WR_SEND);
	fake::Qp others[3];
	ibv_send_wr *bad;

	for (auto &other : others) {
		other.qp.base.send_cq = other.qp.base.recv_cq = &q.sends.cq.base;
		other.sq.hdr().state = SRNIC_SQ_STANDBY;
		other.be_in_burst();
		ASSERT_EQ(srnic_post_send(&other.qp.base, &wr, &bad), 0);
	}
	ASSERT_EQ(poll(q.sends), 0);
	EXPECT_EQ(doorbells, 3);
}

TEST_F(Burst, OneRequestIsNoBurst)
{
	auto wr = work(IBV_WR_SEND);
	q.sq.hdr().state = SRNIC_SQ_STANDBY;
	for (uint32_t posts : {1, 2, 1}) {
		for (uint32_t i = 0; i < posts; i++)
			ASSERT_EQ(send(wr), 0);
		ASSERT_EQ(poll(q.sends), 0);
		EXPECT_EQ(q.sq.hdr().burst, uint32_t{posts > 1});
	}
	EXPECT_EQ(doorbells, 3);
}

// ---- an empty CQ is no sign of a wait while the other one has completions to take ----

// Takes a completion of a Send, posts, and finds the receive CQ empty, so often.
#define ALTERNATE(times)                        \
	for (int i = 0; i < (times); i++) {     \
		ASSERT_EQ(poll(q.sends), 1);    \
		ASSERT_EQ(send(wr), 0);         \
		ASSERT_EQ(poll(q.receives), 0); \
	}

TEST_F(Burst, SendsThatAlternateWithPollsOfAnotherCqAreOneBurst)
{
	auto wr = work(IBV_WR_SEND);
	q.sq.hdr().state = SRNIC_SQ_STANDBY;
	for (int i = 0; i < 4; i++)
		q.sends.produce(fake::completion(0, SRNIC_OP_SEND));
	ALTERNATE(3);
	EXPECT_EQ(doorbells, 0) << "completions of Sends are left";
	ASSERT_EQ(poll(q.sends), 1);
	ASSERT_EQ(poll(q.sends), 0);
	EXPECT_EQ(doorbells, 1);
	EXPECT_EQ(q.sq.hdr().burst, 1u);
}

TEST_F(Burst, LazyPollsThatAlternateAreOneBurstToo)
{
	auto wr = work(IBV_WR_SEND);
	ibv_poll_cq_attr attr{};
	q.sq.hdr().state = SRNIC_SQ_STANDBY;
	for (int i = 0; i < 2; i++)
		q.sends.produce(fake::completion(0, SRNIC_OP_SEND));
	ASSERT_EQ(poll(q.sends), 1);
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(ibv_start_poll(&q.receives.cq.ex, &attr), ENOENT);
	EXPECT_EQ(doorbells, 0);
}

TEST_F(Burst, TheLastCompletionTakenIsASignOfAWait)
{
	auto wr = work(IBV_WR_SEND);
	q.sq.hdr().state = SRNIC_SQ_STANDBY;
	q.sends.produce(fake::completion(0, SRNIC_OP_SEND));
	ALTERNATE(1);
	EXPECT_EQ(doorbells, 1) << "both are empty";
}

TEST_F(Burst, AProcessThatLeavesItsSendCqAloneIsRungForAtOnce)
{
	auto wr = work(IBV_WR_SEND);
	q.sq.hdr().state = SRNIC_SQ_STANDBY;
	for (int i = 0; i < 3; i++)
		q.sends.produce(fake::completion(0, SRNIC_OP_SEND));
	for (int rung = 1; rung <= 3; rung++) {
		for (int i = 0; i < 2; i++)
			ASSERT_EQ(send(wr), 0);
		ASSERT_EQ(poll(q.receives), 0);
		EXPECT_EQ(doorbells, rung);
		q.sq.complete(2);
	}
	ASSERT_EQ(poll(q.sends), 1);
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(send(wr), 0);
	ASSERT_EQ(poll(q.receives), 0);
	EXPECT_EQ(doorbells, 3) << "it has begun to take them";
	ASSERT_EQ(poll(q.receives), 0);
	EXPECT_EQ(doorbells, 4) << "and has stopped";
}

TEST_F(Burst, RequestsThatAServerHasToAnswerAreTakenFirst)
{
	auto wr = work(IBV_WR_SEND);
	q.sq.hdr().state = SRNIC_SQ_STANDBY;
	for (int i = 0; i < 2; i++)
		q.receives.produce(fake::completion(0, SRNIC_OP_RECV));
	ASSERT_EQ(send(wr), 0);
	ASSERT_EQ(poll(q.receives), 1);
	ASSERT_EQ(poll(q.sends), 0);
	EXPECT_EQ(doorbells, 0);
	ASSERT_EQ(poll(q.receives), 1);
	ASSERT_EQ(poll(q.receives), 0);
	EXPECT_EQ(doorbells, 1);
}

TEST_F(Burst, AQpIsRungForBeforeItIsDestroyedThoughTheProcessIsBusy)
{
	auto wr = work(IBV_WR_SEND);
	q.sq.hdr().state = SRNIC_SQ_STANDBY;
	for (int i = 0; i < 2; i++)
		q.sends.produce(fake::completion(0, SRNIC_OP_SEND));
	ASSERT_EQ(poll(q.sends), 1);
	ASSERT_EQ(send(wr), 0);
	srnic_cq_ring(&q.receives.cq);
	EXPECT_EQ(doorbells, 1);
	EXPECT_EQ(q.receives.cq.deferred, nullptr);
}

// An engine that takes everything at each doorbell, completes it, and stands by after a burst. Its
// peer returns a credit for every 64 messages.
struct TakesAll {
	fake::Qp &q;
	unsigned owed = 0;

	unsigned take()
	{
		const unsigned posted = q.sq.prod() - q.sq.hdr().cons;

		q.sq.complete(posted);
		for (unsigned i = 0; i < posted; i++)
			q.sends.produce(fake::completion(0, SRNIC_OP_SEND));
		q.sq.hdr().state = q.sq.hdr().burst ? SRNIC_SQ_STANDBY : SRNIC_SQ_NEED_DOORBELL;
		return posted;
	}
	void operator()()
	{
		for (owed += take(); owed >= 64; owed -= 64)
			q.receives.produce(fake::completion(0, SRNIC_OP_RECV));
	}
};

TEST(Credits, AProgramThatLooksForThemAfterEachSendRingsOnceInTen)
{
	fake::Qp q(128, 128, 256);
	auto wr = work(IBV_WR_SEND);
	unsigned posted = 0, done = 0, credits = 128;
	ibv_send_wr *bad;

	doorbells = doorbell_result = 0;
	fake::on_doorbell = TakesAll{q};
	q.qp.burst_gap = ~uint64_t{0};
	q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL;
	while (done < 10000) {
		if (credits && posted - done < 64) {
			ASSERT_EQ(srnic_post_send(&q.qp.base, &wr, &bad), 0);
			posted++;
			credits--;
		}
		credits += poll(q.receives) ? 64 : 0;
		if (!credits || posted - done == 64)
			done += static_cast<unsigned>(poll(q.sends));
	}
	fake::on_doorbell = nullptr;
	EXPECT_LE(doorbells, 1000);
}

// The peer has the processor only while the program waits.
TEST(Credits, AProgramThatPostsAllThatItMayBetweenTwoWaitsRingsOnceInTen)
{
	fake::Qp q(128, 128, 256);
	auto wr = work(IBV_WR_SEND);
	ibv_send_wr *bad;

	doorbells = doorbell_result = 0;
	fake::on_doorbell = [&, engine = TakesAll{q}]() mutable { engine.take(); };
	q.qp.burst_gap = ~uint64_t{0};
	q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL;
	for (unsigned wait = 0; wait < 100; wait++) {
		for (unsigned posted = 0; posted < 64; posted++) {
			ASSERT_EQ(srnic_post_send(&q.qp.base, &wr, &bad), 0);
			ASSERT_EQ(poll(q.receives), 0);
		}
		for (unsigned done = 0; done < 64; done++)
			ASSERT_EQ(poll(q.sends), 1);
		ASSERT_EQ(poll(q.sends), 0);
		q.receives.produce(fake::completion(0, SRNIC_OP_RECV));
		ASSERT_EQ(poll(q.receives), 1);
	}
	fake::on_doorbell = nullptr;
	EXPECT_LE(doorbells, 640);
}

// ---- nor while the program only looks at its receive CQ between two posts ----

class Look : public Burst {
protected:
	// Three times it looked once and went on: it is trusted to do so again.
	Look()
	{
		q.sq.hdr().state = SRNIC_SQ_STANDBY;
		for (int i = 0; i < 3; i++)
			post_and_look();
		EXPECT_EQ(doorbells, 3);
	}
	void post() { ASSERT_EQ(send(wr), 0); }
	void look() { ASSERT_EQ(poll(q.receives), 0); }
	void post_and_look()
	{
		for (int i = 0; i < 2; i++) // one alone is no burst
			post();
		look();
		q.sq.complete(q.sq.prod() - q.sq.hdr().cons);
	}

	ibv_send_wr wr = work(IBV_WR_SEND);
};

TEST_F(Look, OneBetweenTwoPostsRingsNothing)
{
	post_and_look();
	post_and_look();
	EXPECT_EQ(doorbells, 3);
	ASSERT_EQ(poll(q.sends), 0);
	EXPECT_EQ(doorbells, 4) << "of Sends themselves the program wants completions";
}

TEST_F(Look, ASecondOneIsAWait)
{
	post_and_look();
	look();
	EXPECT_EQ(doorbells, 4);
	post_and_look();
	EXPECT_EQ(doorbells, 5) << "who has waited is not trusted";
}

TEST_F(Look, ALazyOneRingsNothingEither)
{
	ibv_poll_cq_attr attr{};
	post();
	EXPECT_EQ(ibv_start_poll(&q.receives.cq.ex, &attr), ENOENT);
	EXPECT_EQ(doorbells, 3);
	EXPECT_EQ(ibv_start_poll(&q.receives.cq.ex, &attr), ENOENT);
	EXPECT_EQ(doorbells, 4);
}

TEST_F(Look, AtAnArmedCqIsAWait)
{
	post_and_look();
	srnic_req_notify_cq(&q.receives.cq.base, 0);
	EXPECT_EQ(doorbells, 3) << "who arms looks once more before it waits";
	look();
	EXPECT_EQ(doorbells, 4);
	for (int i = 0; i < 4; i++)
		post_and_look();
	EXPECT_EQ(doorbells, 8) << "it may wait after each";
}

TEST_F(Look, ForTwoQpsIsAWait)
{
	fake::Qp other;
	ibv_send_wr *bad;

	other.qp.base.recv_cq = &q.receives.cq.base;
	other.sq.hdr().state = SRNIC_SQ_STANDBY;
	other.be_in_burst();
	ASSERT_EQ(srnic_post_send(&other.qp.base, &wr, &bad), 0);
	post_and_look();
	EXPECT_EQ(doorbells, 5) << "each is rung for, whichever was listed last";
}

TEST_F(Look, AtACqOfBothIsAWait)
{
	q.qp.base.recv_cq = q.qp.base.send_cq;
	for (int i = 0; i < 4; i++) {
		for (int n = 0; n < 2; n++)
			post();
		ASSERT_EQ(poll(q.sends), 0);
		q.sq.complete(2);
	}
	EXPECT_EQ(doorbells, 7);
}

// ---- a burst of one wakes the engine's thread for nothing ----

TEST_F(Burst, EachBurstOfOneMakesTheNextAnnouncedLater)
{
	auto wr = work(IBV_WR_SEND);
	for (int doubted : {0, 1, 3, 7, 15, 31, 63, 63}) {
		q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL;
		for (int i = 0; i <= doubted; i++) {
			ASSERT_EQ(send(wr), 0);
			ASSERT_EQ(q.sq.hdr().burst, uint32_t{i == doubted})
				<< i << " of " << doubted;
			q.sq.complete(1);
		}
		q.sq.hdr().state = SRNIC_SQ_STANDBY;
		ASSERT_EQ(send(wr), 0);
		ASSERT_EQ(poll(q.sends), 0);
		EXPECT_EQ(q.sq.hdr().burst, 0u);
		q.sq.complete(1);
	}
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(send(wr), 0);
	ASSERT_EQ(poll(q.sends), 0);
	EXPECT_EQ(q.qp.doubt, 0u) << "two are a burst";
	q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL;
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(q.sq.hdr().burst, 1u);
}

TEST_F(Burst, WhatAPostHasRungForIsNoPartOfTheNext)
{
	auto wr = work(IBV_WR_SEND);
	q.sq.hdr().state = SRNIC_SQ_STANDBY;
	ASSERT_EQ(send(wr), 0);
	q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL;
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(doorbells, 1);
	q.sq.hdr().state = SRNIC_SQ_STANDBY;
	ASSERT_EQ(send(wr), 0);
	ASSERT_EQ(poll(q.sends), 0);
	EXPECT_EQ(doorbells, 2);
	EXPECT_EQ(q.sq.hdr().burst, 0u) << "one request is no burst";
}

TEST_F(Burst, AFullQueueIsRungFor)
{
	auto wr = work(IBV_WR_SEND);
	ibv_qp_ex *ex = &q.qp.ex;
	q.sq.hdr().state = SRNIC_SQ_STANDBY;
	for (int i = 0; i < 6; i++)
		ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(doorbells, 0);
	EXPECT_EQ(send(wr), ENOMEM);
	EXPECT_EQ(doorbells, 1);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	EXPECT_EQ(ibv_wr_complete(ex), ENOMEM);
	EXPECT_EQ(doorbells, 2);
	q.sq.hdr().state = 0;
	EXPECT_EQ(send(wr), ENOMEM);
	EXPECT_EQ(doorbells, 2);
}

TEST_F(Burst, ADestroyedQpIsNotRungFor)
{
	auto wr = work(IBV_WR_SEND);
	fake::Qp other;
	ibv_send_wr *bad;

	other.qp.base.qp_num = 9;
	other.be_in_burst();
	other.qp.base.send_cq = other.qp.base.recv_cq = &q.sends.cq.base;
	other.sq.hdr().state = q.sq.hdr().state = SRNIC_SQ_STANDBY;
	ASSERT_EQ(srnic_post_send(&other.qp.base, &wr, &bad), 0);
	ASSERT_EQ(send(wr), 0);
	srnic_cq_ring(&q.sends.cq); // as ibv_destroy_qp() does
	EXPECT_EQ(doorbells, 2);
	memset(&other.qp, 0xa5, sizeof(other.qp));
	srnic_cq_forget(&q.sends.cq, 9);
	ASSERT_EQ(poll(q.sends), 0);
	EXPECT_EQ(doorbells, 2);
}

TEST_F(Doorbell, AFailedDoorbellIsReported)
{
	auto wr = work(IBV_WR_SEND);
	ibv_send_wr *bad = nullptr;
	q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL;
	doorbell_result = EIO;
	EXPECT_EQ(send(wr, &bad), EIO);
	EXPECT_EQ(bad, &wr);
}

} // namespace
