// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Direct verbs (srnicdv.h): what they write into the ring, what they refuse, how a peer is probed.
#include "fake_kernel.hh"
#include "srnicdv.h"

#include <gtest/gtest.h>

#include <array>

namespace {

ibv_device ours, foreign;

} // namespace

bool srnicdv_is_supported(ibv_device *device) { return device == &ours; }

namespace {

using fake::completion;

class Direct : public ::testing::Test {
protected:
	fake::Qp q;
	fake::Cq cq{4};
	ibv_context context{};
	ibv_sge result = {0x1000, 8, 5};

	Direct()
	{
		context.device = &ours;
		q.qp.base.context = &context;
		q.qp.base.qp_num = 5;
		q.qp.base.send_cq = &cq.cq.base;
		cq.cq.base.context = &context;
	}

	srnicdv_send_wr work(srnicdv_wr_opcode opcode)
	{
		srnicdv_send_wr wr{};

		wr.wr_id = 3;
		wr.opcode = opcode;
		wr.sg_list = &result;
		wr.num_sge = 1;
		wr.rkey = 77;
		wr.remote_addr = 0x2000;
		return wr;
	}
	int post(srnicdv_send_wr &wr, size_t size = sizeof(srnicdv_send_wr))
	{
		srnicdv_send_wr *bad;

		return srnicdv_post_send(&q.qp.base, &wr, size, &bad);
	}
	srnic_send_wqe &sent(uint32_t index) { return q.sq.slot<srnic_send_wqe>(index); }
};

void expect_args(const srnic_send_wqe &wqe, uint8_t opcode, std::array<uint64_t, 4> args)
{
	EXPECT_EQ(wqe.opcode, opcode);
	EXPECT_EQ(wqe.rkey, 77u);
	EXPECT_EQ(wqe.remote_addr, 0x2000u);
	for (size_t i = 0; i < args.size(); i++)
		EXPECT_EQ(wqe.arg[i], args[i]) << i;
}

// Documentation/ib.rst, rules 5 and 6: Immediate Data are those of verbs. Nobody allows Swap.
TEST_F(Direct, DevicesOfTypeSrnicIbHaveNeitherLongImmediateDataNorSwap)
{
	const uint8_t imm[8] = {1};
	auto add = work(SRNICDV_WR_MASKED_FETCH_ADD);

	q.qp.ib = true;
	for (auto opcode : {SRNICDV_WR_SWAP, SRNICDV_WR_RDMA_WRITE_IMM64, SRNICDV_WR_SEND_IMM64}) {
		auto wr = work(opcode);

		EXPECT_EQ(post(wr), EOPNOTSUPP) << opcode;
	}
	ibv_wr_start(&q.qp.ex);
	EXPECT_EQ(srnicdv_wr_swap(&q.qp.ex, 77, 0x2000, 1), EOPNOTSUPP);
	EXPECT_EQ(ibv_wr_complete(&q.qp.ex), EOPNOTSUPP);
	ibv_wr_start(&q.qp.ex);
	EXPECT_EQ(srnicdv_wr_send_imm64(&q.qp.ex, imm), EOPNOTSUPP);
	EXPECT_EQ(ibv_wr_complete(&q.qp.ex), EOPNOTSUPP);
	EXPECT_EQ(q.sq.prod(), 0u);
	EXPECT_EQ(post(add), 0);
}

// RFC 7306 figure 4: data, mask, compare, compare mask.
TEST_F(Direct, OperandsLieInTheirPlaces)
{
	auto add = work(SRNICDV_WR_MASKED_FETCH_ADD), cas = work(SRNICDV_WR_MASKED_CMP_SWAP),
	     swap = work(SRNICDV_WR_SWAP);

	add.fetch_add = {1, 2};
	cas.cmp_swap = {3, 4, 5, 6};
	swap.swap = 7;
	add.next = &cas;
	cas.next = &swap;
	ASSERT_EQ(post(add), 0);
	ibv_wr_start(&q.qp.ex);
	EXPECT_EQ(srnicdv_wr_masked_fetch_add(&q.qp.ex, 77, 0x2000, 1, 2), 0);
	ibv_wr_set_sge(&q.qp.ex, 5, 0x1000, 8);
	EXPECT_EQ(srnicdv_wr_masked_cmp_swap(&q.qp.ex, 77, 0x2000, 3, 4, 5, 6), 0);
	ibv_wr_set_sge(&q.qp.ex, 5, 0x1000, 8);
	EXPECT_EQ(srnicdv_wr_swap(&q.qp.ex, 77, 0x2000, 7), 0);
	ibv_wr_set_sge(&q.qp.ex, 5, 0x1000, 8);
	ASSERT_EQ(ibv_wr_complete(&q.qp.ex), 0);
	for (uint32_t i : {0, 3}) {
		expect_args(sent(i), SRNIC_OP_FETCH_ADD, {1, 2, 0, 0});
		expect_args(sent(i + 1), SRNIC_OP_CMP_SWAP, {5, 6, 3, 4});
		expect_args(sent(i + 2), SRNIC_OP_SWAP, {7, 0, 0, 0});
		EXPECT_EQ(sent(i).num_sge, 1);
	}
}

TEST_F(Direct, AllEightBytesOfImmediateDataLieAsOnTheWire)
{
	const uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	auto write = work(SRNICDV_WR_RDMA_WRITE_IMM64), send = work(SRNICDV_WR_SEND_IMM64);

	memcpy(write.imm_data, data, 8);
	memcpy(send.imm_data, data, 8);
	EXPECT_EQ(post(send), EOPNOTSUPP) << "no message has both";
	send.num_sge = 0;
	write.next = &send;
	ASSERT_EQ(post(write), 0);
	ibv_wr_start(&q.qp.ex);
	EXPECT_EQ(srnicdv_wr_rdma_write_imm64(&q.qp.ex, 77, 0x2000, data), 0);
	ibv_wr_set_sge(&q.qp.ex, 5, 0x1000, 8);
	EXPECT_EQ(srnicdv_wr_send_imm64(&q.qp.ex, data), 0);
	ASSERT_EQ(ibv_wr_complete(&q.qp.ex), 0);
	for (uint32_t i : {0, 2}) {
		EXPECT_EQ(sent(i).opcode, SRNIC_OP_WRITE_IMM);
		EXPECT_EQ(sent(i).rkey, 77u);
		EXPECT_EQ(sent(i + 1).opcode, SRNIC_OP_IMM);
		EXPECT_EQ(memcmp(sent(i).arg, data, 8), 0);
		EXPECT_EQ(memcmp(sent(i + 1).arg, data, 8), 0);
	}
}

TEST_F(Direct, RefusesWhatItDoesNotKnow)
{
	struct {
		srnicdv_send_wr wr;
		uint64_t later;
	} newer = {work(SRNICDV_WR_SWAP), 0};
	auto wr = work(SRNICDV_WR_SWAP);

	EXPECT_EQ(post(newer.wr, sizeof(newer)), 0) << "what is zero means nothing";
	newer.later = 1;
	EXPECT_EQ(post(newer.wr, sizeof(newer)), EOPNOTSUPP);
	EXPECT_EQ(post(wr, sizeof(wr) - 1), EINVAL);
	wr.opcode = static_cast<srnicdv_wr_opcode>(5);
	EXPECT_EQ(post(wr), EINVAL);
	wr = work(SRNICDV_WR_SWAP);
	wr.num_sge = -1;
	EXPECT_EQ(post(wr), EINVAL);
	wr.num_sge = 5;
	EXPECT_EQ(post(wr), EINVAL) << "the QP was granted 4";
	wr = work(SRNICDV_WR_SWAP);
	wr.send_flags = IBV_SEND_INLINE;
	EXPECT_EQ(post(wr), EINVAL);
	EXPECT_EQ(q.sq.prod(), 1u);
}

TEST_F(Direct, RefusesForeignDevicesAndOldModules)
{
	auto wr = work(SRNICDV_WR_SWAP);
	uint8_t data[8];

	q.qp.features = SRNIC_FEATURE_IMMEDIATE;
	EXPECT_EQ(post(wr), EOPNOTSUPP);
	ibv_wr_start(&q.qp.ex);
	EXPECT_EQ(srnicdv_wr_swap(&q.qp.ex, 1, 2, 3), EOPNOTSUPP);
	EXPECT_EQ(ibv_wr_complete(&q.qp.ex), EOPNOTSUPP);
	q.qp.features = SRNIC_FEATURE_ATOMIC;
	context.device = &foreign;
	EXPECT_EQ(post(wr), EOPNOTSUPP);
	EXPECT_EQ(srnicdv_wr_swap(&q.qp.ex, 1, 2, 3), EOPNOTSUPP);
	EXPECT_EQ(srnicdv_wc_read_imm64(&cq.cq.ex, data), EOPNOTSUPP);
	EXPECT_EQ(srnicdv_probe_atomic(&q.qp.base, &result, 1, 2, 0), EOPNOTSUPP);
	EXPECT_EQ(q.sq.prod(), 0u);
}

TEST_F(Direct, ImmediateDataAreReadWhole)
{
	srnic_cqe with = completion(1, SRNIC_OP_RECV), without = completion(2, SRNIC_OP_RECV);
	const uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	uint8_t read[8];
	ibv_poll_cq_attr attr{};

	memcpy(&with.imm_inv, data, 8);
	with.flags = SRNIC_CQE_WITH_IMM;
	cq.produce(with);
	cq.produce(without);
	ASSERT_EQ(ibv_start_poll(&cq.cq.ex, &attr), 0);
	EXPECT_EQ(srnicdv_wc_read_imm64(&cq.cq.ex, read), 0);
	EXPECT_EQ(memcmp(read, data, 8), 0);
	ASSERT_EQ(ibv_next_poll(&cq.cq.ex), 0);
	EXPECT_EQ(srnicdv_wc_read_imm64(&cq.cq.ex, read), EINVAL);
	ibv_end_poll(&cq.cq.ex);
}

// RFC 7306 1.1: a FetchAdd of 0.
TEST_F(Direct, AProbeAddsNothingAndIsPatientOnlyAsLongAsItIsTold)
{
	EXPECT_EQ(srnicdv_probe_atomic(&q.qp.base, &result, 77, 0x2000, 1), ETIMEDOUT);
	expect_args(sent(0), SRNIC_OP_FETCH_ADD, {0, 0, 0, 0});
	EXPECT_EQ(sent(0).wr_id & ~uint64_t{0xffff}, SRNICDV_PROBE_WR_ID);
	EXPECT_TRUE(sent(0).flags & SRNIC_WQE_SIGNALED);
}

TEST_F(Direct, AProbeWithoutPlaceForTheAnswerSendsNothing)
{
	ibv_sge shorter = {0x1000, 7, 5};

	EXPECT_EQ(srnicdv_probe_atomic(&q.qp.base, nullptr, 77, 0x2000, 1), EINVAL);
	EXPECT_EQ(srnicdv_probe_atomic(&q.qp.base, &shorter, 77, 0x2000, 1), EINVAL);
	EXPECT_EQ(srnicdv_probe_atomic(&q.qp.base, &result, 77, 0x2000, -1), EINVAL);
	EXPECT_EQ(q.sq.prod(), 0u);
}

TEST_F(Direct, AProbeTellsWhatTheCompletionSays)
{
	const struct {
		uint8_t status;
		uint32_t vendor_err;
		int result;
	} rows[] = {{SRNIC_WC_SUCCESS, 0, 0},
		    {SRNIC_WC_REM_OP_ERR, 0x0206, EOPNOTSUPP},
		    {SRNIC_WC_REM_OP_ERR, 0x2006, EOPNOTSUPP},
		    {SRNIC_WC_REM_OP_ERR, 0x0207, EFAULT},
		    {SRNIC_WC_REM_INV_REQ_ERR, 0x0206, EOPNOTSUPP},
		    {SRNIC_WC_REM_INV_REQ_ERR, 0x1202, ENOTCONN},
		    {SRNIC_WC_REM_ACCESS_ERR, 0x0101, EACCES},
		    {SRNIC_WC_LOC_PROT_ERR, 0, EPERM},
		    {SRNIC_WC_LOC_QP_OP_ERR, 0, EPERM},
		    {SRNIC_WC_FLUSH_ERR, 0, ENOTCONN}};
	uint64_t probe = SRNICDV_PROBE_WR_ID;

	for (const auto &row : rows) {
		fake::Cq fresh{4};
		srnic_cqe cqe = completion(probe++, SRNIC_OP_FETCH_ADD);

		q.qp.base.send_cq = &fresh.cq.base;
		cqe.status = row.status;
		cqe.vendor_err = row.vendor_err;
		fresh.produce(cqe);
		EXPECT_EQ(srnicdv_probe_atomic(&q.qp.base, &result, 77, 0x2000, 0), row.result)
			<< int{row.status} << " " << row.vendor_err;
		q.sq.complete(1);
	}
}

// The completion of one without an answer in time is not the next one's.
TEST_F(Direct, AProbeIsNotAnsweredByAnEarlierOne)
{
	EXPECT_EQ(srnicdv_probe_atomic(&q.qp.base, &result, 77, 0x2000, 0), ETIMEDOUT);
	cq.produce(completion(sent(0).wr_id, SRNIC_OP_FETCH_ADD));
	EXPECT_EQ(srnicdv_probe_atomic(&q.qp.base, &result, 77, 0x2000, 0), ETIMEDOUT);
	EXPECT_NE(sent(1).wr_id, sent(0).wr_id);
}

// Others' completions, and the QP's own, stay for their owner.
TEST_F(Direct, AProbeTakesItsOwnCompletionOnly)
{
	ibv_wc wc[4];

	cq.produce(completion(SRNICDV_PROBE_WR_ID, SRNIC_OP_FETCH_ADD, 6));
	cq.produce(completion(8, SRNIC_OP_RECV));
	cq.produce(completion(SRNICDV_PROBE_WR_ID, SRNIC_OP_FETCH_ADD));
	cq.produce(completion(9, SRNIC_OP_SEND));
	EXPECT_EQ(srnicdv_probe_atomic(&q.qp.base, &result, 77, 0x2000, 0), 0);
	ASSERT_EQ(srnic_poll_cq(&cq.cq.base, 4, wc), 3);
	EXPECT_EQ(wc[0].qp_num, 6u);
	EXPECT_EQ(wc[1].wr_id, 8u);
	EXPECT_EQ(wc[2].wr_id, 9u);
}

// Though nobody polls: the CQ could overrun.
TEST_F(Direct, AProbeGivesItsSlotBack)
{
	uint64_t probe = SRNICDV_PROBE_WR_ID;

	for (int i = 0; i < 9; i++) {
		ASSERT_TRUE(cq.room()) << i;
		cq.produce(completion(probe++, SRNIC_OP_FETCH_ADD));
		EXPECT_EQ(srnicdv_probe_atomic(&q.qp.base, &result, 77, 0x2000, 0), 0);
		q.sq.complete(1);
		EXPECT_EQ(cq.ring.hdr().cons, cq.ring.prod());
	}
	EXPECT_EQ(srnic_poll_cq(&cq.cq.base, 1, nullptr), 0);
}

} // namespace
