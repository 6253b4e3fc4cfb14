// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Posting: what the provider writes into the rings, what it refuses.
// The contract is the comment at struct srnic_ring_hdr in <rdma/srnic-abi.h>.
#include "fake_kernel.hh"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using fake::doorbells, fake::start_at, fake::work;

// Debian 12's libibverbs has no such calls.
template <class Ex> constexpr bool has_extended_calls = requires(Ex ex) { ex.wr_flush; };

template <class Ex> void flush(Ex *ex, auto... arguments)
{
	if constexpr (has_extended_calls<Ex>)
		ex->wr_flush(ex, arguments...);
}

template <class Ex> void atomic_write(Ex *ex, auto... arguments)
{
	if constexpr (has_extended_calls<Ex>)
		ex->wr_atomic_write(ex, arguments...);
}

template <class Ex> bool has_flush(const Ex &ex)
{
	if constexpr (has_extended_calls<Ex>)
		return ex.wr_flush;
	return false;
}

template <class Ex> bool has_atomic_write(const Ex &ex)
{
	if constexpr (has_extended_calls<Ex>)
		return ex.wr_atomic_write;
	return true;
}

class Queue : public fake::Queue {
protected:
	srnic_send_wqe &sent(uint32_t index) { return q.sq.slot<srnic_send_wqe>(index); }
	std::string inline_data(uint32_t index)
	{
		return {reinterpret_cast<char *>(&sent(index) + 1), sent(index).inline_len};
	}
};

// ---- The calls ----

// librpma asks for what the device has, and then looks for the pointers.
TEST(Calls, ThoseOfOperationsThatNobodyAskedForAreNull)
{
	srnic_qp qp{};

	srnic_qp_ex_init(&qp, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_BIND_MW | SRNIC_ATOMIC_WRITE_OP);
	EXPECT_TRUE(qp.ex.wr_send && qp.ex.wr_bind_mw && has_atomic_write(qp.ex));
	EXPECT_TRUE(qp.ex.wr_start && qp.ex.wr_set_sge && qp.ex.wr_complete);
	EXPECT_FALSE(has_flush(qp.ex));
	EXPECT_FALSE(qp.ex.wr_send_imm || qp.ex.wr_send_inv);
	EXPECT_FALSE(qp.ex.wr_rdma_write || qp.ex.wr_rdma_write_imm || qp.ex.wr_rdma_read);
	EXPECT_FALSE(qp.ex.wr_atomic_cmp_swp || qp.ex.wr_atomic_fetch_add || qp.ex.wr_local_inv);
}

// ---- Send queue slots ----

TEST_F(Queue, WriteCarriesItsTargetAndItsEntries)
{
	ibv_sge sge[2] = {{0x1000, 10, 77}, {0x2000, 20, 78}};
	auto wr = work(IBV_WR_RDMA_WRITE, 42, sge, 2, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	wr.wr.rdma = {0x123456789a, 0xbeef};

	ASSERT_EQ(send(wr), 0);
	ASSERT_EQ(q.sq.prod(), 1u);
	EXPECT_EQ(sent(0).wr_id, 42u);
	EXPECT_EQ(sent(0).opcode, SRNIC_OP_WRITE);
	EXPECT_EQ(sent(0).flags, SRNIC_WQE_SIGNALED | SRNIC_WQE_FENCE);
	EXPECT_EQ(sent(0).num_sge, 2);
	EXPECT_EQ(sent(0).remote_addr, 0x123456789au);
	EXPECT_EQ(sent(0).rkey, 0xbeefu);
	EXPECT_EQ(sent(0).inline_len, 0u);
	for (auto arg : sent(0).arg)
		EXPECT_EQ(arg, 0u) << "an old operand was left in the slot";
	EXPECT_EQ(std::memcmp(&sent(0) + 1, sge, sizeof(sge)), 0);
}

TEST_F(Queue, EveryOpcodeHasItsNumber)
{
	auto send_wr = work(IBV_WR_SEND, 1, nullptr, 0, IBV_SEND_SOLICITED);
	auto inv = work(IBV_WR_SEND_WITH_INV);
	auto read = work(IBV_WR_RDMA_READ);
	inv.invalidate_rkey = 0xabc;
	read.wr.rdma = {8, 9};
	send_wr.next = &inv;
	inv.next = &read;

	ASSERT_EQ(send(send_wr), 0);
	ASSERT_EQ(q.sq.prod(), 3u);
	EXPECT_EQ(sent(0).opcode, SRNIC_OP_SEND);
	EXPECT_EQ(sent(0).flags, SRNIC_WQE_SOLICITED);
	EXPECT_EQ(sent(1).opcode, SRNIC_OP_SEND_INV);
	EXPECT_EQ(sent(1).imm_inv, 0xabcu);
	EXPECT_EQ(sent(2).opcode, SRNIC_OP_READ);
	EXPECT_EQ(sent(2).remote_addr, 8u);
	EXPECT_EQ(sent(2).rkey, 9u);
}

TEST_F(Queue, SignalAllSignalsAll)
{
	q.qp.sq_sig_all = 1;
	auto wr = work(IBV_WR_SEND);
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(sent(0).flags, SRNIC_WQE_SIGNALED);
}

TEST_F(Queue, InlineDataIsGatheredIntoTheSlot)
{
	char a[] = "RDMA ", b[] = "Write";
	ibv_sge sge[] = {{reinterpret_cast<uintptr_t>(a), 5, 0},
			 {0, 0, 0},
			 {reinterpret_cast<uintptr_t>(b), 5, 0}};
	auto wr = work(IBV_WR_RDMA_WRITE, 0, sge, 3, IBV_SEND_INLINE);

	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(sent(0).flags, SRNIC_WQE_INLINE);
	EXPECT_EQ(sent(0).num_sge, 0);
	EXPECT_EQ(inline_data(0), "RDMA Write");
}

TEST_F(Queue, InlineMayHaveMoreEntriesThanTheQpHas)
{
	char byte = 'x';
	std::vector<ibv_sge> sge(64, {reinterpret_cast<uintptr_t>(&byte), 1, 0});
	auto wr = work(IBV_WR_SEND, 0, sge.data(), 64, IBV_SEND_INLINE);

	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(inline_data(0), std::string(64, 'x'));
}

TEST_F(Queue, EmptyInlineSendIsInline)
{
	auto wr = work(IBV_WR_SEND, 0, nullptr, 0, IBV_SEND_INLINE);
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(sent(0).flags, SRNIC_WQE_INLINE);
	EXPECT_EQ(sent(0).inline_len, 0u);
}

// ---- Refused requests ----

TEST_F(Queue, RefusesWhatTheWireDoesNotHave)
{
	auto wr = work(IBV_WR_TSO);

	EXPECT_EQ(send(wr), EINVAL);
	EXPECT_EQ(q.sq.prod(), 0u);
}

// RFC 7306 3 has no message with both payload and Immediate Data.
TEST_F(Queue, RefusesASendWithPayloadAndImmediateData)
{
	ibv_sge one = {0x1000, 1, 5};
	auto wr = work(IBV_WR_SEND_WITH_IMM, 0, &one, 1);

	EXPECT_EQ(send(wr), EOPNOTSUPP);
	ibv_wr_start(&q.qp.ex);
	ibv_wr_send_imm(&q.qp.ex, 7);
	ibv_wr_set_sge(&q.qp.ex, 5, 0x1000, 1);
	EXPECT_EQ(ibv_wr_complete(&q.qp.ex), EOPNOTSUPP);
	EXPECT_EQ(q.sq.prod(), 0u);
}

// A module that does not know it would complete it in error, and end the connection.
TEST_F(Queue, RefusesWhatAnOldModuleDoesNotKnow)
{
	const auto refused = [&](uint32_t features, std::initializer_list<ibv_wr_opcode> opcodes,
				 auto batched) {
		q.qp.features = features;
		for (ibv_wr_opcode opcode : opcodes) {
			auto wr = work(opcode);
			EXPECT_EQ(send(wr), EOPNOTSUPP) << opcode;
		}
		ibv_wr_start(&q.qp.ex);
		batched(&q.qp.ex);
		EXPECT_EQ(ibv_wr_complete(&q.qp.ex), EOPNOTSUPP);
		EXPECT_EQ(q.sq.prod(), 0u);
	};

	refused(SRNIC_FEATURE_IMMEDIATE, {IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP},
		[](ibv_qp_ex *qp) { ibv_wr_atomic_fetch_add(qp, 1, 2, 3); });
	refused(0, {IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND_WITH_IMM},
		[](ibv_qp_ex *qp) { ibv_wr_rdma_write_imm(qp, 1, 2, 3); });
	if (!has_extended_calls<ibv_qp_ex>)
		return;
	refused(SRNIC_FEATURE_ATOMIC, {}, [](auto *qp) { flush(qp, 1, 2, 3, 1, 0); });
	refused(SRNIC_FEATURE_ATOMIC, {}, [](auto *qp) { atomic_write(qp, 1, 2, "12345678"); });
}

// The ABI has the numbers of verbs (IBV_FLUSH_*), and any other reaches the module as it is.
TEST_F(Queue, AFlush)
{
	static const struct {
		uint8_t type, level;
		uint64_t how;
	} all[] = {{1, 0, SRNIC_FLUSH_GLOBAL},
		   {3, 1, SRNIC_FLUSH_GLOBAL | SRNIC_FLUSH_PERSISTENT | SRNIC_FLUSH_MR},
		   {255, 255, 0xffff}};

	if (!has_extended_calls<ibv_qp_ex>)
		GTEST_SKIP() << "this libibverbs has no such calls";
	q.qp.features |= SRNIC_FEATURE_FLUSH;
	for (uint32_t i = 0; i < 3; i++) {
		ibv_wr_start(&q.qp.ex);
		q.qp.ex.wr_flags = IBV_SEND_FENCE;
		flush(&q.qp.ex, 77, 0x2000, ~size_t{0}, all[i].type, all[i].level);
		ASSERT_EQ(ibv_wr_complete(&q.qp.ex), 0);
		EXPECT_EQ(sent(i).opcode, SRNIC_OP_FLUSH);
		EXPECT_EQ(sent(i).flags, SRNIC_WQE_FENCE);
		EXPECT_EQ(sent(i).rkey, 77u);
		EXPECT_EQ(sent(i).remote_addr, 0x2000u);
		EXPECT_EQ(sent(i).arg[0], ~uint64_t{0});
		EXPECT_EQ(sent(i).arg[1], all[i].how);
		EXPECT_EQ(sent(i).num_sge, 0);
	}
}

// The bytes are those of memory, and the program's own again at once.
TEST_F(Queue, AnAtomicWrite)
{
	char data[] = "12345678";

	if (!has_extended_calls<ibv_qp_ex>)
		GTEST_SKIP() << "this libibverbs has no such calls";
	q.qp.features |= SRNIC_FEATURE_FLUSH;
	ibv_wr_start(&q.qp.ex);
	atomic_write(&q.qp.ex, 77, 0x2000, data);
	std::memset(data, 0, sizeof(data));
	ASSERT_EQ(ibv_wr_complete(&q.qp.ex), 0);
	EXPECT_EQ(sent(0).opcode, SRNIC_OP_ATOMIC_WRITE);
	EXPECT_EQ(sent(0).rkey, 77u);
	EXPECT_EQ(sent(0).remote_addr, 0x2000u);
	EXPECT_EQ(std::memcmp(sent(0).arg, "12345678", 8), 0);
	EXPECT_EQ(sent(0).num_sge, 0);
}

// Verbs know atomics of the whole word only: no field ends below the top, all bits are compared and
// swapped (RFC 7306 5.1).
TEST_F(Queue, AtomicsAreOfTheWholeWord)
{
	ibv_sge result = {0x1000, 8, 5};
	auto add = work(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, &result, 1);
	auto swap = work(IBV_WR_ATOMIC_CMP_AND_SWP, 0, &result, 1);

	add.wr.atomic = {0x2000, 3, 0, 77};
	swap.wr.atomic = {0x2008, 4, 5, 77};
	ASSERT_EQ(send(add), 0);
	ASSERT_EQ(send(swap), 0);
	ibv_wr_start(&q.qp.ex);
	ibv_wr_atomic_fetch_add(&q.qp.ex, 77, 0x2000, 3);
	ibv_wr_set_sge(&q.qp.ex, 5, 0x1000, 8);
	ibv_wr_atomic_cmp_swp(&q.qp.ex, 77, 0x2008, 4, 5);
	ibv_wr_set_sge(&q.qp.ex, 5, 0x1000, 8);
	ASSERT_EQ(ibv_wr_complete(&q.qp.ex), 0);
	for (uint32_t i : {0, 2}) {
		const srnic_send_wqe &wqe = sent(i);

		EXPECT_EQ(wqe.opcode, SRNIC_OP_FETCH_ADD);
		EXPECT_EQ(wqe.remote_addr, 0x2000u);
		EXPECT_EQ(wqe.rkey, 77u);
		EXPECT_EQ(wqe.num_sge, 1);
		EXPECT_EQ(wqe.arg[0], 3u);
		EXPECT_EQ(wqe.arg[1] | wqe.arg[2] | wqe.arg[3], 0u);
	}
	for (uint32_t i : {1, 3}) {
		const srnic_send_wqe &wqe = sent(i);

		EXPECT_EQ(wqe.opcode, SRNIC_OP_CMP_SWAP);
		EXPECT_EQ(wqe.remote_addr, 0x2008u);
		EXPECT_EQ(wqe.arg[0], 5u);
		EXPECT_EQ(wqe.arg[2], 4u);
		EXPECT_EQ(wqe.arg[1] & wqe.arg[3], ~uint64_t{0});
	}
}

// The four bytes of verbs come first, in their order; the other four are zero.
TEST_F(Queue, ImmediateDataLieAsOnTheWire)
{
	const uint8_t octets[8] = {0x11, 0x22, 0x33, 0x44};
	ibv_sge some = {0x1000, 100, 5}, none = {};
	auto write = work(IBV_WR_RDMA_WRITE_WITH_IMM, 0, &some, 1);
	auto empty = work(IBV_WR_SEND_WITH_IMM, 0, &none, 1, IBV_SEND_INLINE);

	write.wr.rdma = {8, 9};
	write.imm_data = empty.imm_data = htobe32(0x11223344);
	write.next = &empty;
	ASSERT_EQ(send(write), 0);
	ibv_wr_start(&q.qp.ex);
	ibv_wr_rdma_write_imm(&q.qp.ex, 9, 8, write.imm_data);
	ibv_wr_set_sge(&q.qp.ex, 5, 0x1000, 100);
	ibv_wr_send_imm(&q.qp.ex, write.imm_data);
	ASSERT_EQ(ibv_wr_complete(&q.qp.ex), 0);
	for (uint32_t i : {0u, 2u}) {
		EXPECT_EQ(sent(i).opcode, SRNIC_OP_WRITE_IMM);
		EXPECT_EQ(sent(i).remote_addr, 8u);
		EXPECT_EQ(sent(i).rkey, 9u);
		EXPECT_EQ(sent(i).num_sge, 1);
		EXPECT_EQ(sent(i + 1).opcode, SRNIC_OP_IMM);
		EXPECT_EQ(sent(i + 1).num_sge, 0);
		EXPECT_FALSE(sent(i + 1).flags & SRNIC_WQE_INLINE);
	}
	for (uint32_t i = 0; i < 4; i++)
		EXPECT_EQ(memcmp(sent(i).arg, octets, sizeof(octets)), 0);
}

TEST_F(Queue, RefusesWhatExceedsTheCapacities)
{
	char data[65] = {};
	ibv_sge sge[5] = {{reinterpret_cast<uintptr_t>(data), 65, 0}};
	auto many = work(IBV_WR_SEND, 0, sge, 5);
	auto negative = work(IBV_WR_SEND, 0, sge, -1);
	auto long_inline = work(IBV_WR_SEND, 0, sge, 1, IBV_SEND_INLINE);
	auto inline_read = work(IBV_WR_RDMA_READ, 0, nullptr, 0, IBV_SEND_INLINE);

	for (auto *wr : {&many, &negative, &long_inline, &inline_read})
		EXPECT_EQ(send(*wr), EINVAL);
	sge[0].length = 0xffffffff; // twice: the sum wraps
	sge[1] = sge[0];
	long_inline.num_sge = 2;
	EXPECT_EQ(send(long_inline), EINVAL);
	EXPECT_EQ(q.sq.prod(), 0u);
}

TEST_F(Queue, PostsUpToTheBadRequestAndNamesIt)
{
	auto good = work(IBV_WR_SEND, 1), bad_one = work(IBV_WR_TSO, 2),
	     after = work(IBV_WR_SEND, 3);
	ibv_send_wr *bad = nullptr;
	good.next = &bad_one;
	bad_one.next = &after;
	q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL;

	EXPECT_EQ(send(good, &bad), EINVAL);
	EXPECT_EQ(bad, &bad_one);
	EXPECT_EQ(q.sq.prod(), 1u);
	EXPECT_EQ(doorbells, 1);
}

TEST_F(Queue, FullAtTheGrantedCapacityUntilTheKernelCompletes)
{
	auto wr = work(IBV_WR_SEND);
	ibv_send_wr *bad = nullptr;

	for (int i = 0; i < 6; i++)
		ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(send(wr, &bad), ENOMEM);
	EXPECT_EQ(bad, &wr);
	EXPECT_EQ(q.sq.prod(), 6u);
	q.sq.complete(2);
	EXPECT_EQ(send(wr), 0);
	EXPECT_EQ(send(wr), 0);
	EXPECT_EQ(send(wr), ENOMEM);
}

TEST_F(Queue, IndicesWrapAtTwoToThe32)
{
	start_at(q.qp.sq, q.sq, 0xfffffffc);
	start_at(q.qp.rq, q.rq, 0xfffffffc);
	for (uint64_t i = 0; i < 20; i++) {
		auto wr = work(IBV_WR_SEND, i);
		ibv_recv_wr rwr{.wr_id = i, .next = nullptr, .sg_list = nullptr, .num_sge = 0};
		uint32_t index = 0xfffffffc + i;

		ASSERT_EQ(send(wr), 0);
		ASSERT_EQ(recv(rwr), 0);
		ASSERT_EQ(q.sq.prod(), index + 1);
		ASSERT_EQ(sent(index).wr_id, i);
		ASSERT_EQ(q.rq.slot<srnic_recv_wqe>(index).wr_id, i);
		if (i >= 5) {
			q.sq.complete(1);
			q.rq.complete(1);
		}
	}
}

TEST_F(Queue, AQueueThatDoesNotExistIsFull)
{
	srnic_qp none{};
	const ibv_qp_cap cap{1, 1, 1, 1, 0};
	auto wr = work(IBV_WR_SEND);
	ibv_recv_wr rwr{}, *rbad = nullptr;
	ibv_send_wr *bad;

	srnic_sq_init(&none.sq, &cap);
	srnic_rq_init(&none.rq, 1, 1);
	EXPECT_EQ(srnic_post_send(&none.base, &wr, &bad), ENOMEM);
	EXPECT_EQ(srnic_post_recv(&none.base, &rwr, &rbad), ENOMEM);
	EXPECT_EQ(rbad, &rwr);
}

// ---- Receives ----

TEST_F(Queue, ReceiveSlot)
{
	ibv_sge sge[2] = {{0x1000, 10, 77}, {0x2000, 20, 78}};
	ibv_recv_wr wr{.wr_id = 9, .next = nullptr, .sg_list = sge, .num_sge = 2};

	ASSERT_EQ(recv(wr), 0);
	auto &slot = q.rq.slot<srnic_recv_wqe>(0);
	EXPECT_EQ(slot.wr_id, 9u);
	EXPECT_EQ(slot.num_sge, 2u);
	EXPECT_EQ(std::memcmp(&slot + 1, sge, sizeof(sge)), 0);
}

TEST_F(Queue, ReceiveRefusals)
{
	ibv_sge sge[5] = {};
	ibv_recv_wr last{.wr_id = 0, .next = nullptr, .sg_list = sge, .num_sge = 5};
	ibv_recv_wr wr{.wr_id = 0, .next = &last, .sg_list = sge, .num_sge = 4}, *bad = nullptr;

	EXPECT_EQ(recv(wr, &bad), EINVAL);
	EXPECT_EQ(bad, &last);
	EXPECT_EQ(q.rq.prod(), 1u);
	wr.next = nullptr;
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(recv(wr), 0);
	EXPECT_EQ(recv(wr, &bad), ENOMEM);
	EXPECT_EQ(bad, &wr);
}

TEST_F(Queue, SharedReceiveQueueNeverRings)
{
	fake::Ring ring(8, fake::recv_slot);
	srnic_srq srq{};
	ibv_recv_wr wr{}, *bad;

	ASSERT_TRUE(
		srnic_ring_open(&srq.wq.ring, ring.map(), ring.mapped(), sizeof(srnic_recv_wqe)));
	srnic_rq_init(&srq.wq, 8, 16);
	ring.hdr().state = SRNIC_QUEUE_ERROR;
	for (int i = 0; i < 8; i++)
		EXPECT_EQ(srnic_post_srq_recv(&srq.base, &wr, &bad), 0);
	EXPECT_EQ(srnic_post_srq_recv(&srq.base, &wr, &bad), ENOMEM);
	EXPECT_EQ(ring.prod(), 8u);
	EXPECT_EQ(doorbells, 0);
}

// ---- ibv_wr_*() ----

TEST_F(Queue, BatchIsPublishedAtItsEnd)
{
	ibv_qp_ex *ex = &q.qp.ex;
	char text[] = "inline";
	ibv_sge list[2] = {{1, 2, 3}, {4, 5, 6}};

	q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL;
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, 7, 8);
	ibv_wr_set_sge(ex, 9, 0x1000, 100);
	ex->wr_id = 2;
	ex->wr_flags = 0;
	ibv_wr_send_inv(ex, 0x55);
	ibv_wr_set_inline_data(ex, text, 6);
	ex->wr_id = 3;
	ibv_wr_rdma_read(ex, 10, 11);
	ibv_wr_set_sge_list(ex, 2, list);
	EXPECT_EQ(q.sq.prod(), 0u);
	ASSERT_EQ(ibv_wr_complete(ex), 0);

	ASSERT_EQ(q.sq.prod(), 3u);
	EXPECT_EQ(doorbells, 1);
	EXPECT_EQ(sent(0).opcode, SRNIC_OP_WRITE);
	EXPECT_EQ(sent(0).flags, SRNIC_WQE_SIGNALED);
	EXPECT_EQ(sent(0).rkey, 7u);
	EXPECT_EQ(sent(0).remote_addr, 8u);
	EXPECT_EQ(reinterpret_cast<srnic_sge *>(&sent(0) + 1)->lkey, 9u);
	EXPECT_EQ(sent(1).opcode, SRNIC_OP_SEND_INV);
	EXPECT_EQ(sent(1).imm_inv, 0x55u);
	EXPECT_EQ(inline_data(1), "inline");
	EXPECT_EQ(sent(2).opcode, SRNIC_OP_READ);
	EXPECT_EQ(sent(2).num_sge, 2);
}

// A program's error, but no reason to crash with the queue's lock held.
TEST_F(Queue, ListsThatAreMissingAreRefused)
{
	ibv_recv_wr receive{}, *bad_receive = nullptr;
	ibv_send_wr *bad = nullptr;

	receive.num_sge = 1;
	EXPECT_EQ(recv(receive, &bad_receive), EINVAL);
	EXPECT_EQ(bad_receive, &receive);
	for (auto opcode : {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM})
		for (unsigned flags : {0U, unsigned{IBV_SEND_INLINE}}) {
			auto wr = work(opcode, 1, nullptr, 1, flags);

			EXPECT_EQ(send(wr, &bad), EINVAL);
			EXPECT_EQ(bad, &wr);
		}
	EXPECT_EQ(q.sq.prod() + q.rq.prod(), 0u);
}

TEST_F(Queue, BatchWithoutAListIsRefused)
{
	ibv_qp_ex *ex = &q.qp.ex;

	for (auto begin : {+[](ibv_qp_ex *to) { ibv_wr_send(to); },
			   +[](ibv_qp_ex *to) { ibv_wr_send_imm(to, 0); }}) {
		ibv_wr_start(ex);
		begin(ex);
		ibv_wr_set_sge_list(ex, 1, nullptr);
		EXPECT_EQ(ibv_wr_complete(ex), EINVAL);
		ibv_wr_start(ex);
		begin(ex);
		ibv_wr_set_inline_data_list(ex, 1, nullptr);
		EXPECT_EQ(ibv_wr_complete(ex), EINVAL);
	}
	EXPECT_EQ(q.sq.prod(), 0u);
}

TEST_F(Queue, BatchIsAllOrNothing)
{
	ibv_qp_ex *ex = &q.qp.ex;
	ibv_sge list[5] = {};

	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, 5, list);
	ibv_wr_send(ex);
	EXPECT_EQ(ibv_wr_complete(ex), EINVAL);

	ibv_wr_start(ex);
	for (int i = 0; i < 7; i++)
		ibv_wr_send(ex);
	EXPECT_EQ(ibv_wr_complete(ex), ENOMEM);

	ibv_wr_start(ex);
	ibv_wr_set_sge(ex, 0, 0, 0); // without a request
	EXPECT_EQ(ibv_wr_complete(ex), EINVAL);

	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_abort(ex);

	EXPECT_EQ(q.sq.prod(), 0u);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	EXPECT_EQ(ibv_wr_complete(ex), 0);
	EXPECT_EQ(q.sq.prod(), 1u);
}

} // namespace
