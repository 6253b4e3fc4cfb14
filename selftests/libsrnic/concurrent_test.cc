// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Both sides of a ring at once: the provider in one thread, an engine in another. The contract is
// the comment at struct srnic_ring_hdr in <rdma/srnic-abi.h>.
#include "fake_kernel.hh"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace {

using fake::completion, fake::engine_bell, fake::start_at, fake::work;

// Waits, spinning at first, so that both sides meet within the few critical instructions. On a busy
// machine one thread may take all slots for seconds, before another that waits for one.
template <class Condition> bool wait_for(Condition happened)
{
	const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);

	for (unsigned i = 0; !happened(); i++)
		if (i % 1024 == 1023) {
			std::this_thread::yield();
			if (std::chrono::steady_clock::now() > deadline)
				return false;
		}
	return true;
}

// A short delay, different each time: only some make the two sides meet.
void jitter(uint32_t seed)
{
	for (uint32_t i = 0; i < (seed * 7 & 127); i++)
		__asm__ volatile("" ::: "memory");
}

// How long tests for rare races run.
constexpr auto a_while = std::chrono::seconds(1);

// The engine's half of the doorbell protocol. Stops after `total` requests, or if it is not woken.
struct Engine {
	fake::Ring &sq;
	std::atomic<uint32_t> total;
	std::atomic<uint32_t> bell{0};
	uint32_t taken = 0, sleeps = 0;
	uint64_t sum = 0;
	std::atomic<bool> lost{false};

	void run()
	{
		while (taken < total && !lost) {
			for (; taken != sq.prod(); sq.complete(1))
				sum += sq.slot<srnic_send_wqe>(taken++).wr_id;
			uint32_t heard = bell;
			jitter(taken);
			__atomic_store_n(&sq.hdr().state, SRNIC_SQ_NEED_DOORBELL, __ATOMIC_RELAXED);
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
			if (taken < total && taken == sq.prod()) {
				sleeps++;
				lost = !wait_for([&] { return bell != heard; });
			}
			__atomic_store_n(&sq.hdr().state, 0, __ATOMIC_RELAXED);
		}
	}
};

bool post(fake::Qp &q, uint64_t wr_id)
{
	auto wr = work(IBV_WR_SEND, wr_id);
	ibv_send_wr *bad;

	return wait_for([&] { return srnic_post_send(&q.qp.base, &wr, &bad) == 0; });
}

// "So one of the two sees the other." One request at a time: each is posted while the engine goes
// idle after the previous one.
TEST(Concurrent, NoWakeUpIsLost)
{
	const auto end = std::chrono::steady_clock::now() + a_while;
	fake::Qp q;
	Engine engine{q.sq, ~0u};
	uint32_t posted = 0;

	q.qp.sq.limit = 1;
	engine_bell = &engine.bell;
	std::thread thread([&] { engine.run(); });
	while (!engine.lost && post(q, posted)) {
		if (++posted % 1024 == 0 && std::chrono::steady_clock::now() > end)
			break;
	}
	engine.total = posted;
	++engine.bell;
	thread.join();
	engine_bell = nullptr;
	EXPECT_FALSE(engine.lost) << "asleep after " << engine.taken << " requests";
}

// "A user finding SRNIC_SQ_STANDBY rings when it has nothing left to do but to wait." Here the
// engine only takes requests when it is rung for, and one thread waits for what the other posts.
TEST(Concurrent, NoRequestIsLeftToAnEngineThatStandsBy)
{
	const auto end = std::chrono::steady_clock::now() + a_while;
	std::atomic<uint32_t> bell{0}, posted{0};
	std::atomic<bool> stop{false};
	uint32_t taken = 0;
	bool lost = false;
	fake::Qp q;

	q.sq.hdr().state = SRNIC_SQ_STANDBY;
	q.be_in_burst();
	engine_bell = &bell;
	std::thread waiter([&] {
		ibv_wc wc;
		for (uint32_t i = 0; !stop; jitter(i++))
			srnic_poll_cq(&q.sends.cq.base, 1, &wc);
	});
	for (uint32_t heard = 0; !lost && std::chrono::steady_clock::now() < end;) {
		for (uint32_t n = posted % 3 + 1; n && post(q, posted); n--)
			jitter(++posted);
		while (!lost && taken != posted) {
			lost = !wait_for([&] { return bell != heard; });
			heard = bell;
			q.sq.complete(q.sq.prod() - taken);
			taken = q.sq.prod();
		}
	}
	stop = true;
	waiter.join();
	engine_bell = nullptr;
	EXPECT_FALSE(lost) << "not rung for after " << taken << " requests";
}

TEST(Concurrent, TwoThreadsPostEveryRequestOnce)
{
	constexpr uint32_t each = 20000;
	fake::Qp q;
	Engine engine{q.sq, 2 * each};
	const auto post_all = [&](uint64_t from) {
		for (uint32_t i = 0; i < each && post(q, from + i); i++)
			;
	};

	engine_bell = &engine.bell;
	std::thread thread([&] { engine.run(); });
	std::thread other(post_all, each);
	post_all(0);
	other.join();
	thread.join();
	engine_bell = nullptr;
	EXPECT_EQ(engine.taken, 2 * each);
	EXPECT_EQ(engine.sum, uint64_t{2 * each} * (2 * each - 1) / 2);
}

// The same for completions: a consumer arms, polls once more, and sleeps until the event. One
// completion at a time.
TEST(Concurrent, NoEventIsLost)
{
	const auto end = std::chrono::steady_clock::now() + a_while;
	fake::Cq c(1);
	std::atomic<uint32_t> events{0};
	std::atomic<bool> stop{false};
	bool lost = false;

	std::thread kernel([&] {
		for (uint32_t i = 0; wait_for([&] { return c.room() || stop; }) && !stop; i++) {
			jitter(i);
			events += c.produce(completion(i, SRNIC_OP_RECV));
		}
	});
	for (uint64_t seen = 0; !lost && (seen % 1024 || std::chrono::steady_clock::now() < end);) {
		uint32_t heard = events;
		ibv_wc wc;

		srnic_req_notify_cq(&c.cq.base, 0);
		if (srnic_poll_cq(&c.cq.base, 1, &wc) == 1) {
			ASSERT_EQ(wc.wr_id, seen++);
			continue;
		}
		lost = !wait_for([&] { return events != heard; });
	}
	stop = true;
	kernel.join();
	EXPECT_FALSE(lost) << "asleep with a completion in the queue";
}

} // namespace
