// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The provider's queues with a fake kernel: what they write into the rings, when they ring the
// doorbell, and how they translate completions. The contract is the comment at struct
// srnic_ring_hdr in <rdma/srnic-abi.h>.
#include "fake_kernel.hh"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace {

// What the doorbell does in the current test.
int doorbells;
int doorbell_result;
std::atomic<uint32_t> *engine_bell;

} // namespace

int srnic_doorbell(srnic_qp *)
{
	if (engine_bell) {
		++*engine_bell;
		return 0;
	}
	doorbells++;
	return doorbell_result;
}

namespace {

using fake::start_at;

class Queue : public ::testing::Test {
protected:
	Queue() { doorbells = doorbell_result = 0; }
	fake::Qp q;

	int send(ibv_send_wr &wr, ibv_send_wr **bad = nullptr)
	{
		ibv_send_wr *none;
		return srnic_post_send(&q.qp.base, &wr, bad ? bad : &none);
	}
	int recv(ibv_recv_wr &wr, ibv_recv_wr **bad = nullptr)
	{
		ibv_recv_wr *none;
		return srnic_post_recv(&q.qp.base, &wr, bad ? bad : &none);
	}
	srnic_send_wqe &sent(uint32_t index) { return q.sq.slot<srnic_send_wqe>(index); }
	std::string inline_data(uint32_t index)
	{
		return {reinterpret_cast<char *>(&sent(index) + 1), sent(index).inline_len};
	}
};

ibv_send_wr work(ibv_wr_opcode opcode, uint64_t wr_id = 0, ibv_sge *sge = nullptr, int num_sge = 0,
		 unsigned flags = 0)
{
	ibv_send_wr wr{};
	wr.wr_id = wr_id;
	wr.opcode = opcode;
	wr.sg_list = sge;
	wr.num_sge = num_sge;
	wr.send_flags = flags;
	return wr;
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
	for (auto opcode :
	     {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_LOCAL_INV,
	      IBV_WR_BIND_MW, IBV_WR_TSO}) {
		auto wr = work(opcode);
		EXPECT_EQ(send(wr), EINVAL) << opcode;
	}
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
TEST_F(Queue, RefusesImmediateDataOfAnOldModule)
{
	auto write = work(IBV_WR_RDMA_WRITE_WITH_IMM), empty = work(IBV_WR_SEND_WITH_IMM);

	q.qp.features = 0;
	EXPECT_EQ(send(write), EOPNOTSUPP);
	EXPECT_EQ(send(empty), EOPNOTSUPP);
	ibv_wr_start(&q.qp.ex);
	ibv_wr_rdma_write_imm(&q.qp.ex, 1, 2, 3);
	EXPECT_EQ(ibv_wr_complete(&q.qp.ex), EOPNOTSUPP);
	EXPECT_EQ(q.sq.prod(), 0u);
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

// ---- Doorbell: "stores prod (release), executes a full barrier, then reads state" ----

TEST_F(Queue, NoDoorbellWhileTheEngineRuns)
{
	auto wr = work(IBV_WR_SEND);
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(doorbells, 0);
}

TEST_F(Queue, OneDoorbellPerCallWhenTheEngineWentIdle)
{
	auto wr = work(IBV_WR_SEND), second = work(IBV_WR_SEND);
	wr.next = &second;
	q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL;
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(doorbells, 1);
}

TEST_F(Queue, NothingPostedNoDoorbell)
{
	auto wr = work(IBV_WR_TSO);
	ibv_send_wr *bad;
	q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL | SRNIC_QUEUE_ERROR;
	EXPECT_EQ(send(wr), EINVAL);
	EXPECT_EQ(srnic_post_send(&q.qp.base, nullptr, &bad), 0);
	EXPECT_EQ(doorbells, 0);
}

TEST_F(Queue, PostingInErrorRingsSoThatTheWorkIsFlushed)
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

TEST_F(Queue, AFailedDoorbellIsReported)
{
	auto wr = work(IBV_WR_SEND);
	ibv_send_wr *bad = nullptr;
	q.sq.hdr().state = SRNIC_SQ_NEED_DOORBELL;
	doorbell_result = EIO;
	EXPECT_EQ(send(wr, &bad), EIO);
	EXPECT_EQ(bad, &wr);
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

// ---- Completions ----

srnic_cqe completion(uint64_t wr_id, srnic_opcode opcode, uint32_t qp_num = 5)
{
	srnic_cqe cqe{};
	cqe.wr_id = wr_id;
	cqe.opcode = opcode;
	cqe.qp_num = qp_num;
	return cqe;
}

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

TEST(Completion, OpcodesAreTheVerbs)
{
	const std::pair<srnic_opcode, ibv_wc_opcode> table[] = {
		{SRNIC_OP_WRITE, IBV_WC_RDMA_WRITE}, {SRNIC_OP_SEND, IBV_WC_SEND},
		{SRNIC_OP_SEND_INV, IBV_WC_SEND},    {SRNIC_OP_READ, IBV_WC_RDMA_READ},
		{SRNIC_OP_RECV, IBV_WC_RECV},	     {SRNIC_OP_WRITE_IMM, IBV_WC_RDMA_WRITE},
		{SRNIC_OP_IMM, IBV_WC_SEND},
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
	EXPECT_EQ(srnic_poll_cq(&c.cq.base, 1, &wc), 0);
	EXPECT_EQ(c.ring.hdr().cons, 1u);
	c.produce(completion(1, SRNIC_OP_SEND));
	srnic_cq_forget(&c.cq, 5);
	EXPECT_EQ(ibv_start_poll(&c.cq.ex, nullptr), ENOENT);
	EXPECT_EQ(c.ring.hdr().cons, 2u);
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

TEST(Completion, Arming)
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

// ---- Both sides at once ----

// Waits, spinning at first, so that both sides meet within the few critical instructions.
template <class Condition> bool wait_for(Condition happened)
{
	const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);

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
