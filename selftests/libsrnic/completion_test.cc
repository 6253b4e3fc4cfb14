// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Completions: how the provider translates and polls; and what it checks of a ring's header.
#include "fake_kernel.hh"

#include <gtest/gtest.h>

#include <vector>

namespace {

using fake::completion, fake::start_at;

TEST(Completion, IsTranslated)
{
	fake::Cq c;
	ibv_wc wc[2];
	auto cqe = completion(0x1122334455667788, SRNIC_OP_RECV, 17);
	cqe.byte_len = 4096;
	cqe.flags = SRNIC_CQE_WITH_INV;
	cqe.imm_inv = 0xcafe;
	c.produce(cqe);
	cqe = completion(2, SRNIC_OP_WRITE, 18);
	cqe.status = SRNIC_WC_REM_ACCESS_ERR;
	cqe.vendor_err = 0x1002;
	c.produce(cqe);

	ASSERT_EQ(srnic_poll_cq(&c.cq.base, 2, wc), 2);
	EXPECT_EQ(wc[0].wr_id, 0x1122334455667788u);
	EXPECT_EQ(wc[0].status, IBV_WC_SUCCESS);
	EXPECT_EQ(wc[0].opcode, IBV_WC_RECV);
	EXPECT_EQ(wc[0].byte_len, 4096u);
	EXPECT_EQ(wc[0].qp_num, 17u);
	EXPECT_EQ(wc[0].wc_flags, unsigned{IBV_WC_WITH_INV});
	EXPECT_EQ(wc[0].invalidated_rkey, 0xcafeu);
	EXPECT_EQ(wc[1].status, IBV_WC_REM_ACCESS_ERR);
	EXPECT_EQ(wc[1].opcode, IBV_WC_RDMA_WRITE);
	EXPECT_EQ(wc[1].vendor_err, 0x1002u);
	EXPECT_EQ(wc[1].wc_flags, 0u);
}

// Those of the last one taken; they move with it when others are forgotten.
TEST(Completion, HasItsTimes)
{
	constexpr uint16_t slot = sizeof(srnic_cqe) + sizeof(srnic_cqe_times);
	fake::Ring ring(4, slot);
	ibv_poll_cq_attr attr{};
	srnic_cq cq{};

	srnic_ring_open(&cq.ring, ring.map(), ring.mapped(), slot);
	srnic_cq_ex_init(&cq);
	for (uint32_t i = 0; i < 4; i++) {
		auto *cqe = &ring.slot<srnic_cqe>(i);

		*cqe = completion(i, SRNIC_OP_RECV, 5 + i % 2);
		*reinterpret_cast<srnic_cqe_times *>(cqe + 1) = {100 + i, 200 + i, {}};
	}
	ring.hdr().prod = 4;
	srnic_cq_forget(&cq, 6);
	ASSERT_EQ(ibv_start_poll(&cq.ex, &attr), 0);
	EXPECT_EQ(cq.ex.wr_id, 0u);
	EXPECT_EQ(ibv_wc_read_completion_ts(&cq.ex), 100u);
	EXPECT_EQ(ibv_wc_read_completion_wallclock_ns(&cq.ex), 200u);
	ASSERT_EQ(ibv_next_poll(&cq.ex), 0);
	EXPECT_EQ(cq.ex.wr_id, 2u);
	EXPECT_EQ(ibv_wc_read_completion_ts(&cq.ex), 102u);
	EXPECT_EQ(ibv_wc_read_completion_wallclock_ns(&cq.ex), 202u);
	EXPECT_EQ(ibv_next_poll(&cq.ex), ENOENT);
	ibv_end_poll(&cq.ex);
}

TEST(Completion, HasNoTimesUnlessTheCqHasRoom)
{
	fake::Cq c;

	EXPECT_EQ(c.cq.ex.read_completion_ts, nullptr);
	EXPECT_EQ(c.cq.ex.read_completion_wallclock_ns, nullptr);
}

TEST(Completion, OpcodesAreTheVerbs)
{
	const std::pair<srnic_opcode, ibv_wc_opcode> table[] = {
		{SRNIC_OP_WRITE, IBV_WC_RDMA_WRITE},
		{SRNIC_OP_SEND, IBV_WC_SEND},
		{SRNIC_OP_SEND_INV, IBV_WC_SEND},
		{SRNIC_OP_READ, IBV_WC_RDMA_READ},
		{SRNIC_OP_RECV, IBV_WC_RECV},
		{SRNIC_OP_WRITE_IMM, IBV_WC_RDMA_WRITE},
		{SRNIC_OP_IMM, IBV_WC_SEND},
		{SRNIC_OP_FLUSH, ibv_wc_opcode(8)},
		{SRNIC_OP_ATOMIC_WRITE, ibv_wc_opcode(9)},
	};
	fake::Cq c;
	ibv_wc wc;

	for (auto [ours, theirs] : table) {
		c.produce(completion(0, ours));
		ASSERT_EQ(srnic_poll_cq(&c.cq.base, 1, &wc), 1);
		EXPECT_EQ(wc.opcode, theirs);
	}
}

TEST(Completion, ImmediateDataAreTheFirstFourBytes)
{
	const uint8_t octets[8] = {0x11, 0x22, 0x33, 0x44, 0x55};
	srnic_cqe cqe = completion(0, SRNIC_OP_RECV);
	fake::Cq c;
	ibv_wc wc;

	cqe.flags = SRNIC_CQE_WITH_IMM;
	memcpy(&cqe.imm_inv, octets, sizeof(octets));
	c.produce(cqe);
	ASSERT_EQ(srnic_poll_cq(&c.cq.base, 1, &wc), 1);
	EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	EXPECT_EQ(wc.wc_flags, unsigned{IBV_WC_WITH_IMM});
	EXPECT_EQ(wc.imm_data, htobe32(0x11223344));
}

TEST(Completion, PollTakesNoMoreThanAskedAndWrapsAtTwoToThe32)
{
	fake::Cq c;
	ibv_wc wc[4];

	c.start_at(0xfffffffd);
	for (uint64_t i = 0; i < 30; i += 3) {
		for (int j = 0; j < 3; j++)
			c.produce(completion(i + j, SRNIC_OP_SEND));
		ASSERT_EQ(srnic_poll_cq(&c.cq.base, 2, wc), 2);
		ASSERT_EQ(wc[0].wr_id, i);
		ASSERT_EQ(wc[1].wr_id, i + 1);
		ASSERT_EQ(srnic_poll_cq(&c.cq.base, 4, wc), 1);
		ASSERT_EQ(wc[0].wr_id, i + 2);
		ASSERT_EQ(c.ring.hdr().cons, c.ring.hdr().prod);
		ASSERT_EQ(srnic_poll_cq(&c.cq.base, 4, wc), 0);
	}
}

TEST(Completion, AnEmptyQueueIsPolledWithoutItsLock)
{
	fake::Cq c;
	ibv_wc wc;

	c.cq.lock.held = 1;
	EXPECT_EQ(srnic_poll_cq(&c.cq.base, 1, &wc), 0);
	EXPECT_EQ(ibv_start_poll(&c.cq.ex, nullptr), ENOENT);
	EXPECT_EQ(c.cq.lock.held, 1);
	c.cq.lock.held = 0;
	c.produce(completion(1, SRNIC_OP_SEND));
	EXPECT_EQ(srnic_poll_cq(&c.cq.base, 1, &wc), 1);
	EXPECT_EQ(srnic_poll_cq(&c.cq.base, 1, &wc), 0);
}

TEST(Completion, ThoseOfADestroyedQpAreNeverSeen)
{
	fake::Cq c;
	ibv_wc wc[4];

	c.start_at(0xfffffffe);
	c.produce(completion(1, SRNIC_OP_SEND, 5));
	c.produce(completion(2, SRNIC_OP_SEND, 6));
	c.produce(completion(3, SRNIC_OP_RECV, 5));
	srnic_cq_forget(&c.cq, 5);
	c.produce(completion(4, SRNIC_OP_SEND, 5)); // a new QP with the old one's number
	ASSERT_EQ(srnic_poll_cq(&c.cq.base, 4, wc), 2);
	EXPECT_EQ(wc[0].wr_id, 2u);
	EXPECT_EQ(wc[1].wr_id, 4u);
	EXPECT_EQ(c.ring.hdr().cons, c.ring.hdr().prod);
}

TEST(Completion, OnlyForgottenOnesAreGivenBackToo)
{
	fake::Cq c;
	ibv_wc wc;

	c.produce(completion(1, SRNIC_OP_SEND));
	srnic_cq_forget(&c.cq, 5);
	EXPECT_EQ(c.ring.hdr().cons, 1u);
	EXPECT_EQ(srnic_poll_cq(&c.cq.base, 1, &wc), 0);
	EXPECT_EQ(c.ring.hdr().cons, 1u);
	c.produce(completion(1, SRNIC_OP_SEND));
	srnic_cq_forget(&c.cq, 5);
	EXPECT_EQ(ibv_start_poll(&c.cq.ex, nullptr), ENOENT);
	EXPECT_EQ(c.ring.hdr().cons, 2u);
}

// A CQ of the right size for those that are left does not overrun.
TEST(Completion, RoomOfForgottenOnesIsFreeAtOnce)
{
	fake::Cq c;
	ibv_wc wc[3];
	auto other = completion(1, SRNIC_OP_SEND);

	for (uint64_t wr_id = 1; c.room(); wr_id++) {
		other = completion(wr_id, SRNIC_OP_SEND);
		other.qp_num = wr_id % 2 ? 5 : 6;
		c.produce(other);
	}
	ASSERT_EQ(c.ring.hdr().prod, 4u);
	srnic_cq_forget(&c.cq, 5);
	EXPECT_EQ(c.ring.hdr().cons, 2u);
	EXPECT_TRUE(c.room());
	c.produce(completion(9, SRNIC_OP_SEND));
	ASSERT_EQ(srnic_poll_cq(&c.cq.base, 3, wc), 3);
	EXPECT_EQ(wc[0].wr_id, 2u);
	EXPECT_EQ(wc[1].wr_id, 4u);
	EXPECT_EQ(wc[2].wr_id, 9u);
}

// A program that corrupted its own rings can still destroy its objects.
TEST(Completion, ForgettingEndsWhateverTheProducerIndexSays)
{
	fake::Cq c;

	c.ring.hdr().prod = 0x80000000;
	srnic_cq_forget(&c.cq, 5);
	EXPECT_EQ(c.ring.hdr().cons, 0u);
}

TEST(Completion, LazyPolling)
{
	fake::Cq c;
	ibv_poll_cq_attr attr{}, unknown{.comp_mask = 1};
	auto cqe = completion(1, SRNIC_OP_RECV, 9);
	cqe.byte_len = 3;
	cqe.flags = SRNIC_CQE_WITH_INV;
	cqe.imm_inv = 0xcafe;

	EXPECT_EQ(ibv_start_poll(&c.cq.ex, &unknown), EINVAL);
	EXPECT_EQ(ibv_start_poll(&c.cq.ex, &attr), ENOENT);
	c.produce(cqe);
	c.produce(completion(2, SRNIC_OP_READ, 10));
	ASSERT_EQ(ibv_start_poll(&c.cq.ex, &attr), 0) << "an empty start_poll kept the lock";
	EXPECT_EQ(c.cq.ex.wr_id, 1u);
	EXPECT_EQ(c.cq.ex.status, IBV_WC_SUCCESS);
	EXPECT_EQ(ibv_wc_read_opcode(&c.cq.ex), IBV_WC_RECV);
	EXPECT_EQ(ibv_wc_read_byte_len(&c.cq.ex), 3u);
	EXPECT_EQ(ibv_wc_read_qp_num(&c.cq.ex), 9u);
	EXPECT_EQ(ibv_wc_read_wc_flags(&c.cq.ex), unsigned{IBV_WC_WITH_INV});
	EXPECT_EQ(ibv_wc_read_invalidated_rkey(&c.cq.ex), 0xcafeu);
	EXPECT_EQ(ibv_wc_read_src_qp(&c.cq.ex), 0u);
	ASSERT_EQ(ibv_next_poll(&c.cq.ex), 0);
	EXPECT_EQ(c.cq.ex.wr_id, 2u);
	EXPECT_EQ(ibv_wc_read_opcode(&c.cq.ex), IBV_WC_RDMA_READ);
	EXPECT_EQ(c.ring.hdr().cons, 1u) << "a completion being read is given back too early";
	EXPECT_EQ(ibv_next_poll(&c.cq.ex), ENOENT);
	ibv_end_poll(&c.cq.ex);
	EXPECT_EQ(c.ring.hdr().cons, 2u);
	ibv_wc wc;
	EXPECT_EQ(srnic_poll_cq(&c.cq.base, 1, &wc), 0);
}

// ---- Ring headers ----

TEST(RingHeader, OnlyWhatIsUnderstoodIsOpened)
{
	const auto opens = [](auto spoil, uint64_t less = 0) {
		fake::Ring ring(8, 64);
		srnic_ring out{};
		spoil(ring.hdr());
		bool ok = srnic_ring_open(&out, ring.map(), ring.mapped() - less, 64);
		EXPECT_EQ(out.hdr != nullptr, ok);
		return ok;
	};

	EXPECT_TRUE(opens([](auto &) {}));
	EXPECT_TRUE(opens([](auto &h) { h.features = ~0u; }))
		<< "unknown features are to be ignored";
	EXPECT_FALSE(opens([](auto &h) { h.magic++; }));
	EXPECT_FALSE(opens([](auto &h) { h.version++; }));
	EXPECT_FALSE(opens([](auto &h) { h.entries = 0; }));
	EXPECT_FALSE(opens([](auto &h) { h.entries = 6; }));
	EXPECT_FALSE(opens([](auto &h) { h.entries = 16; }));
	EXPECT_FALSE(opens([](auto &h) { h.entries = 1u << 31; }));
	EXPECT_FALSE(opens([](auto &h) { h.slot_size = 0; }));
	EXPECT_FALSE(opens([](auto &h) { h.slot_size = 32; }));
	EXPECT_FALSE(opens([](auto &h) { h.slot_size = 65; }));
	EXPECT_FALSE(opens([](auto &) {}, 1));
	EXPECT_FALSE(opens([](auto &) {}, 8 * 64 + 1));
}

TEST(RingHeader, CapacitiesNeverExceedTheSlots)
{
	fake::Ring ring(4, 96); // two entries behind a send header
	srnic_wq wq{};
	const ibv_qp_cap cap{100, 100, 100, 100, 1000};

	ASSERT_TRUE(srnic_ring_open(&wq.ring, ring.map(), ring.mapped(), 64));
	srnic_sq_init(&wq, &cap);
	EXPECT_EQ(wq.limit, 4u);
	EXPECT_EQ(wq.max_sge, 2u);
	EXPECT_EQ(wq.max_inline, 32u);
	srnic_rq_init(&wq, 100, 100);
	EXPECT_EQ(wq.max_sge, (96 - sizeof(srnic_recv_wqe)) / sizeof(srnic_sge));
}

} // namespace
