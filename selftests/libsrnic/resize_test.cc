// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// CQs and SRQs of another size (<rdma/srnic-abi.h>, struct srnic_resize_req): what is in the queue
// stays there, in order, also while other threads poll.
#include "fake_kernel.hh"

#include <thread>

namespace {

using fake::completion;

// The kernel's part of the current resize: a ring for the slots, or an errno.
struct Resize {
	fake::Ring *from, *to;
	int result;
} resize;

// Moves n slots from this index on to the same indices of the other ring.
template <class Slot> void move(uint32_t from, uint32_t n)
{
	for (; n; n--, from++)
		resize.to->slot<Slot>(from) = resize.from->slot<Slot>(from);
}

// A kernel that produces or consumes by the first ring's header, and slots that may be elsewhere.
struct Moved {
	fake::Ring first, second;
	srnic_ring next{};

	Moved(uint32_t before, uint32_t after, uint16_t slot)
		: first(before, slot), second(after, slot)
	{
		srnic_ring_open(&next, second.map(), second.mapped(), slot);
		resize = {&first, &second, 0};
	}
};

struct Cq : Moved {
	srnic_cq cq{};

	Cq(uint32_t before, uint32_t after) : Moved(before, after, sizeof(srnic_cqe))
	{
		srnic_ring_open(&cq.ring, first.map(), first.mapped(), sizeof(srnic_cqe));
		srnic_cq_ex_init(&cq);
	}

	void start_at(uint32_t index)
	{
		first.start_at(index);
		cq.cons = cq.prod_seen = index;
	}

	void produce(fake::Ring &slots, uint64_t wr_id)
	{
		slots.slot<srnic_cqe>(first.hdr().prod) = completion(wr_id, SRNIC_OP_RECV);
		__atomic_store_n(&first.hdr().prod, first.hdr().prod + 1, __ATOMIC_RELEASE);
	}

	// The wr_ids from..to are polled, and nothing else.
	void expect(uint64_t from, uint64_t to)
	{
		ibv_wc wc;

		for (; from != to; from++) {
			ASSERT_EQ(srnic_poll_cq(&cq.base, 1, &wc), 1);
			EXPECT_EQ(wc.wr_id, from);
		}
		EXPECT_EQ(srnic_poll_cq(&cq.base, 1, &wc), 0);
	}
};

void of_another_size(uint32_t before, uint32_t after, uint32_t start)
{
	Cq c(before, after);
	uint64_t i = 0;
	ibv_wc wc;

	c.start_at(start);
	while (i < before)
		c.produce(c.first, i++);
	ASSERT_EQ(srnic_poll_cq(&c.cq.base, 1, &wc), 1);
	while (c.first.prod() - c.cq.cons > after)
		ASSERT_EQ(srnic_poll_cq(&c.cq.base, 1, &wc), 1);
	const uint64_t oldest = i - (c.first.prod() - c.cq.cons);
	ASSERT_EQ(srnic_cq_switch(&c.cq, &c.next, static_cast<int>(after)), 0);
	EXPECT_EQ(c.next.hdr, nullptr) << "the first ring stays for its header";
	while (c.first.prod() - c.cq.cons < after)
		c.produce(c.second, i++);
	c.expect(oldest, i);
	EXPECT_EQ(c.first.hdr().cons, c.first.hdr().prod);
}

TEST(Resize, ALargerCqKeepsItsCompletions) { of_another_size(4, 16, 0xfffffffe); }
TEST(Resize, ASmallerCqKeepsItsCompletions) { of_another_size(16, 4, 0xfffffff9); }

TEST(Resize, ACqThatTheKernelDoesNotResizeIsAsBefore)
{
	Cq c(4, 1);

	c.produce(c.first, 0);
	c.produce(c.first, 1);
	resize.result = EINVAL;
	EXPECT_EQ(srnic_cq_switch(&c.cq, &c.next, 1), EINVAL);
	EXPECT_EQ(c.next.hdr, c.second.map());
	c.produce(c.first, 2);
	c.expect(0, 3);
}

TEST(Resize, ASecondOneReturnsTheRingOfTheFirst)
{
	Cq c(4, 8);
	fake::Ring third(2, sizeof(srnic_cqe));
	srnic_ring next{};

	ASSERT_EQ(srnic_cq_switch(&c.cq, &c.next, 8), 0);
	c.produce(c.second, 0);
	srnic_ring_open(&next, third.map(), third.mapped(), sizeof(srnic_cqe));
	resize = {&c.second, &third, 0};
	ASSERT_EQ(srnic_cq_switch(&c.cq, &next, 2), 0);
	EXPECT_EQ(next.hdr, c.second.map());
	EXPECT_EQ(next.mapped, c.second.mapped());
	c.produce(third, 1);
	c.expect(0, 2);
}

// A thread polls all the time, the kernel adds completions, and the CQ goes to and fro.
TEST(Resize, WhileAnotherThreadPolls)
{
	Cq c(64, 256);
	fake::Ring *rings[] = {&c.first, &c.second};
	srnic_ring views[2]{};
	std::atomic<bool> stop{false};
	uint64_t polled = 0, wrong = 0, produced = 0;

	srnic_ring_open(&views[0], c.first.map(), c.first.mapped(), sizeof(srnic_cqe));
	views[1] = c.next;
	std::thread poller([&] {
		ibv_wc wc;
		while (!stop || c.first.prod() != c.cq.cons)
			if (srnic_poll_cq(&c.cq.base, 1, &wc) == 1)
				wrong += wc.wr_id != polled++;
	});
	for (uint32_t round = 0; round < 2000; round++) {
		fake::Ring &from = *rings[round % 2], &to = *rings[(round + 1) % 2];
		srnic_ring next = views[(round + 1) % 2];

		for (int i = 0; i < 20; i++) {
			while (c.first.prod() - __atomic_load_n(&c.first.hdr().cons,
								__ATOMIC_ACQUIRE) >= 64)
				std::this_thread::yield();
			c.produce(from, produced++);
		}
		resize = {&from, &to, 0};
		ASSERT_EQ(srnic_cq_switch(&c.cq, &next, 0), 0);
	}
	stop = true;
	poller.join();
	EXPECT_EQ(polled, produced);
	EXPECT_EQ(wrong, 0u);
}

struct Srq : Moved {
	srnic_srq srq{};

	Srq(uint32_t before, uint32_t after) : Moved(before, after, fake::recv_slot)
	{
		srnic_ring_open(&srq.wq.ring, first.map(), first.mapped(), sizeof(srnic_recv_wqe));
		srnic_rq_init(&srq.wq, before, 1);
	}

	int post(uint64_t wr_id)
	{
		ibv_recv_wr wr{}, *bad;

		wr.wr_id = wr_id;
		return srnic_post_srq_recv(&srq.base, &wr, &bad);
	}

	int resized()
	{
		ibv_srq_attr attr{};

		return srnic_srq_switch(&srq, &next, &attr, IBV_SRQ_MAX_WR);
	}
};

TEST(Resize, ALargerSrqHasItsReceivesAndRoomForMore)
{
	Srq s(4, 8);

	fake::start_at(s.srq.wq, s.first, 0xfffffffd);
	for (uint64_t i = 0; i < 4; i++)
		ASSERT_EQ(s.post(i), 0);
	EXPECT_EQ(s.post(4), ENOMEM);
	ASSERT_EQ(s.resized(), 0);
	for (uint64_t i = 4; i < 8; i++)
		ASSERT_EQ(s.post(i), 0);
	EXPECT_EQ(s.post(8), ENOMEM);
	EXPECT_EQ(s.first.prod(), 0xfffffffd + 8);
	for (uint32_t i = 0; i < 8; i++)
		EXPECT_EQ(s.second.slot<srnic_recv_wqe>(0xfffffffd + i).wr_id, i);
}

TEST(Resize, ASmallerSrqHasRoomForLess)
{
	Srq s(4, 2);

	ASSERT_EQ(s.post(0), 0);
	ASSERT_EQ(s.resized(), 0);
	EXPECT_EQ(s.post(1), 0);
	EXPECT_EQ(s.post(2), ENOMEM);
	s.first.complete(1);
	EXPECT_EQ(s.post(2), 0);
	EXPECT_EQ(s.second.slot<srnic_recv_wqe>(2).wr_id, 2u);
}

TEST(Resize, AnSrqThatTheKernelDoesNotResizeIsAsBefore)
{
	Srq s(2, 1);

	ASSERT_EQ(s.post(0), 0);
	resize.result = EINVAL;
	EXPECT_EQ(s.resized(), EINVAL);
	EXPECT_EQ(s.post(1), 0);
	EXPECT_EQ(s.first.slot<srnic_recv_wqe>(1).wr_id, 1u);
}

} // namespace

int srnic_cq_switch_in_kernel(srnic_cq *cq, int)
{
	const uint32_t cons = cq->ring.hdr->cons;

	if (!resize.result)
		move<srnic_cqe>(cons, cq->ring.hdr->prod - cons);
	return resize.result;
}

int srnic_srq_switch_in_kernel(srnic_srq *srq, ibv_srq_attr *, int)
{
	const uint32_t cons = srq->wq.ring.hdr->cons;

	if (!resize.result)
		move<srnic_recv_wqe>(cons, srq->wq.ring.hdr->prod - cons);
	return resize.result;
}
