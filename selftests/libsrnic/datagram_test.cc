// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// QPs of type UD: what their requests say, which are refused, and what a completion says of the
// sender. The contract is in <rdma/srnic-abi.h>, at struct srnic_send_wqe and struct srnic_cqe.
#include "fake_kernel.hh"

#include <gtest/gtest.h>

namespace {

using fake::completion, fake::work;

constexpr uint32_t qpn = 0xabcdef, qkey = 0x11111111;
constexpr uint64_t receiver = uint64_t{qkey} << 32 | qpn;

class Datagram : public fake::Queue {
protected:
	srnic_ah ah{.base = {}, .number = 0xa17};
	ibv_sge sge[2] = {{0x1000, 10, 77}, {0x2000, 20, 78}};

	Datagram()
	{
		q.qp.ib = q.qp.ud = q.qp.sq.imm_payload = true;
		q.qp.features |= SRNIC_FEATURE_DATAGRAM;
	}

	ibv_send_wr to(ibv_ah *whom, ibv_wr_opcode opcode, int num_sge = 0, unsigned flags = 0)
	{
		auto wr = work(opcode, 42, sge, num_sge, flags);

		wr.wr.ud = {whom, qpn, qkey};
		return wr;
	}
	const srnic_send_wqe &sent(uint32_t index) { return q.sq.slot<srnic_send_wqe>(index); }

	void expect_receiver(uint32_t index, uint32_t number = 0xa17)
	{
		EXPECT_EQ(sent(index).rkey, number);
		EXPECT_EQ(sent(index).remote_addr, receiver);
	}

	// A batch that says this, and whether it is posted.
	template <class Say> int batch(Say say)
	{
		ibv_wr_start(&q.qp.ex);
		q.qp.ex.wr_id = 42;
		q.qp.ex.wr_flags = IBV_SEND_SIGNALED;
		say(&q.qp.ex);
		return ibv_wr_complete(&q.qp.ex);
	}
};

// ---- what is posted ----

TEST_F(Datagram, ASendNamesItsReceiver)
{
	auto wr = to(&ah.base, IBV_WR_SEND, 2, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);

	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(sent(0).wr_id, 42u);
	EXPECT_EQ(sent(0).opcode, SRNIC_OP_SEND);
	EXPECT_EQ(sent(0).flags, SRNIC_WQE_SIGNALED | SRNIC_WQE_SOLICITED);
	EXPECT_EQ(sent(0).num_sge, 2);
	EXPECT_EQ(std::memcmp(&sent(0) + 1, sge, sizeof(sge)), 0);
	EXPECT_EQ(sent(0).imm_inv, 0u);
	for (auto arg : sent(0).arg)
		EXPECT_EQ(arg, 0u);
	expect_receiver(0);
}

TEST_F(Datagram, ImmediateDataComeWithPayload)
{
	const uint8_t octets[8] = {0x11, 0x22, 0x33, 0x44};
	auto wr = to(&ah.base, IBV_WR_SEND_WITH_IMM, 2);

	wr.imm_data = htobe32(0x11223344);
	ASSERT_EQ(send(wr), 0);
	EXPECT_EQ(sent(0).opcode, SRNIC_OP_IMM);
	EXPECT_EQ(sent(0).num_sge, 2);
	EXPECT_EQ(memcmp(sent(0).arg, octets, sizeof(octets)), 0);
	expect_receiver(0);
}

TEST_F(Datagram, InlinePayload)
{
	char text[] = "hello";

	sge[0] = {reinterpret_cast<uintptr_t>(text), 5, 0};
	for (auto opcode : {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM}) {
		auto wr = to(&ah.base, opcode, 1, IBV_SEND_INLINE);

		ASSERT_EQ(send(wr), 0);
	}
	for (uint32_t i : {0, 1}) {
		EXPECT_EQ(sent(i).flags, SRNIC_WQE_INLINE);
		EXPECT_EQ(sent(i).inline_len, 5u);
		EXPECT_EQ(std::memcmp(&sent(i) + 1, text, 5), 0);
		expect_receiver(i);
	}
}

TEST_F(Datagram, EachRequestOfAListHasItsOwnReceiver)
{
	srnic_ah other{.base = {}, .number = 0xffffffff};
	auto first = to(&ah.base, IBV_WR_SEND), second = to(&other.base, IBV_WR_SEND);

	first.next = &second;
	ASSERT_EQ(send(first), 0);
	expect_receiver(0);
	expect_receiver(1, 0xffffffff);
}

TEST_F(Datagram, Batches)
{
	char text[] = "hello";
	ibv_data_buf buf = {text, 5};

	ASSERT_EQ(batch([&](ibv_qp_ex *qp) {
			  ibv_wr_send(qp);
			  ibv_wr_set_ud_addr(qp, &ah.base, qpn, qkey);
			  ibv_wr_set_sge(qp, 77, 0x1000, 10);
			  ibv_wr_send_imm(qp, htobe32(0x11223344));
			  ibv_wr_set_sge_list(qp, 2, sge);
			  ibv_wr_set_ud_addr(qp, &ah.base, qpn, qkey);
			  ibv_wr_send(qp);
			  ibv_wr_set_ud_addr(qp, &ah.base, qpn, qkey);
			  ibv_wr_set_inline_data_list(qp, 1, &buf);
		  }),
		  0);
	ASSERT_EQ(q.sq.prod(), 3u);
	for (uint32_t i = 0; i < 3; i++)
		expect_receiver(i);
	EXPECT_EQ(sent(0).num_sge, 1);
	EXPECT_EQ(sent(1).opcode, SRNIC_OP_IMM);
	EXPECT_EQ(sent(1).num_sge, 2);
	EXPECT_EQ(sent(2).inline_len, 5u);
}

// ---- what is refused ----

TEST_F(Datagram, RefusesARequestWithoutAnAddressHandle)
{
	auto good = to(&ah.base, IBV_WR_SEND), lost = to(nullptr, IBV_WR_SEND);
	ibv_send_wr *bad = nullptr;

	good.next = &lost;
	EXPECT_EQ(send(good, &bad), EINVAL);
	EXPECT_EQ(bad, &lost);
	EXPECT_EQ(q.sq.prod(), 1u);
}

TEST_F(Datagram, RefusesWhatADatagramCannotSay)
{
	for (auto opcode :
	     {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_SEND_WITH_INV,
	      IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_LOCAL_INV,
	      IBV_WR_BIND_MW, IBV_WR_TSO}) {
		auto wr = to(&ah.base, opcode);

		EXPECT_EQ(send(wr), EINVAL) << opcode;
	}
	EXPECT_EQ(q.sq.prod(), 0u);
}

TEST_F(Datagram, BatchesRefuseItToo)
{
	const std::initializer_list<void (*)(ibv_qp_ex *)> say = {
		[](ibv_qp_ex *qp) { ibv_wr_rdma_write(qp, 1, 2); },
		[](ibv_qp_ex *qp) { ibv_wr_rdma_write_imm(qp, 1, 2, 3); },
		[](ibv_qp_ex *qp) { ibv_wr_rdma_read(qp, 1, 2); },
		[](ibv_qp_ex *qp) { ibv_wr_send_inv(qp, 1); },
		[](ibv_qp_ex *qp) { ibv_wr_atomic_fetch_add(qp, 1, 2, 3); },
		[](ibv_qp_ex *qp) { ibv_wr_atomic_cmp_swp(qp, 1, 2, 3, 4); },
		[](ibv_qp_ex *qp) { ibv_wr_send(qp); },
		[](ibv_qp_ex *qp) {
			ibv_wr_send(qp);
			ibv_wr_set_ud_addr(qp, nullptr, qpn, qkey);
		},
	};

	for (auto one : say)
		EXPECT_EQ(batch([&](ibv_qp_ex *qp) {
				  ibv_wr_send(qp);
				  ibv_wr_set_ud_addr(qp, &ah.base, qpn, qkey);
				  one(qp);
			  }),
			  EINVAL);
	EXPECT_EQ(batch([&](ibv_qp_ex *qp) { ibv_wr_set_ud_addr(qp, &ah.base, qpn, qkey); }),
		  EINVAL);
	EXPECT_EQ(q.sq.prod(), 0u);
	EXPECT_EQ(batch([&](ibv_qp_ex *qp) {
			  ibv_wr_send(qp);
			  ibv_wr_set_ud_addr(qp, &ah.base, qpn, qkey);
		  }),
		  0)
		<< "a batch that was refused has left something";
}

// The first request of a batch lies in an old slot.
TEST_F(Datagram, TheReceiverOfAnOldRequestIsNotTakenForThatOfANewOne)
{
	auto wr = to(&ah.base, IBV_WR_SEND);

	for (int i = 0; i < 8; i++) {
		ASSERT_EQ(send(wr), 0);
		q.sq.complete(1);
	}
	EXPECT_EQ(batch([](ibv_qp_ex *qp) { ibv_wr_send(qp); }), EINVAL);
	EXPECT_EQ(q.sq.prod(), 8u);
}

TEST_F(Datagram, AConnectedQpHasNoReceivers)
{
	q.qp.ud = false;
	EXPECT_EQ(batch([&](ibv_qp_ex *qp) {
			  ibv_wr_send(qp);
			  ibv_wr_set_ud_addr(qp, &ah.base, qpn, qkey);
		  }),
		  EINVAL);
	EXPECT_EQ(q.sq.prod(), 0u);
}

TEST_F(Datagram, StatesAreThoseOfOtherQps)
{
	auto wr = to(&ah.base, IBV_WR_SEND);

	for (auto state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR}) {
		srnic_qp_set_state(&q.qp, state);
		EXPECT_EQ(send(wr), EINVAL) << state;
	}
	for (auto state : {IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_SQE, IBV_QPS_ERR}) {
		srnic_qp_set_state(&q.qp, state);
		EXPECT_EQ(send(wr), 0) << state;
	}
}

// ---- completions ----

srnic_cqe received(uint16_t flags)
{
	auto cqe = completion(1, SRNIC_OP_RECV, 9);

	cqe.flags = flags;
	cqe.byte_len = 40 + 30;
	cqe.src_qp = qpn;
	return cqe;
}

TEST(DatagramCompletion, SaysWhoSentIt)
{
	const uint16_t of_ip[] = {SRNIC_CQE_GRH, SRNIC_CQE_GRH | SRNIC_CQE_IPV4};
	fake::Cq c;
	ibv_wc wc[2];

	for (auto flags : of_ip)
		c.produce(received(flags));
	ASSERT_EQ(srnic_poll_cq(&c.cq.base, 2, wc), 2);
	for (const ibv_wc &one : wc) {
		EXPECT_EQ(one.status, IBV_WC_SUCCESS);
		EXPECT_EQ(one.opcode, IBV_WC_RECV);
		EXPECT_EQ(one.wc_flags, unsigned{IBV_WC_GRH});
		EXPECT_EQ(one.src_qp, qpn);
		EXPECT_EQ(one.qp_num, 9u);
		EXPECT_EQ(one.byte_len, 70u);
		EXPECT_EQ(one.vendor_err, 0u);
		EXPECT_EQ(one.slid, 0u);
		EXPECT_EQ(one.dlid_path_bits, 0u);
		EXPECT_EQ(one.pkey_index, 0u);
	}
	EXPECT_EQ(wc[0].sl, 9u) << "UDP over IPv6";
	EXPECT_EQ(wc[1].sl, 10u) << "UDP over IPv4";
}

// The kernel says that they came with a Send, or does not.
TEST(DatagramCompletion, ImmediateDataAreThoseOfASend)
{
	fake::Cq c;
	ibv_wc wc[2];

	for (uint16_t more : {0u, SRNIC_CQE_OF_SEND}) {
		auto cqe = received(SRNIC_CQE_GRH | SRNIC_CQE_WITH_IMM | more);
		const __be32 imm = htobe32(0x11223344);

		memcpy(&cqe.imm_inv, &imm, sizeof(imm));
		c.produce(cqe);
	}
	ASSERT_EQ(srnic_poll_cq(&c.cq.base, 2, wc), 2);
	for (const ibv_wc &one : wc) {
		EXPECT_EQ(one.opcode, IBV_WC_RECV);
		EXPECT_EQ(one.wc_flags, unsigned{IBV_WC_GRH | IBV_WC_WITH_IMM});
		EXPECT_EQ(one.imm_data, htobe32(0x11223344));
	}
}

TEST(DatagramCompletion, AnErrorOfAConnectedQpHasNoSender)
{
	fake::Cq c;
	ibv_wc wc;
	auto cqe = completion(1, SRNIC_OP_RECV);

	cqe.status = SRNIC_WC_REM_INV_REQ_ERR;
	cqe.vendor_err = 0x1202;
	c.produce(cqe);
	ASSERT_EQ(srnic_poll_cq(&c.cq.base, 1, &wc), 1);
	EXPECT_EQ(wc.vendor_err, 0x1202u);
	EXPECT_EQ(wc.src_qp, 0u);
	EXPECT_EQ(wc.wc_flags, 0u);
	EXPECT_EQ(wc.sl, 0u);
}

// All fields that IBV_WC_STANDARD_FLAGS promises.
TEST(DatagramCompletion, LazyPolling)
{
	fake::Cq c;
	ibv_poll_cq_attr attr{};
	auto failed = completion(2, SRNIC_OP_SEND);

	failed.status = SRNIC_WC_LOC_QP_OP_ERR;
	failed.vendor_err = 7;
	c.produce(received(SRNIC_CQE_GRH));
	c.produce(failed);
	ASSERT_EQ(ibv_start_poll(&c.cq.ex, &attr), 0);
	EXPECT_EQ(ibv_wc_read_opcode(&c.cq.ex), IBV_WC_RECV);
	EXPECT_EQ(ibv_wc_read_wc_flags(&c.cq.ex), unsigned{IBV_WC_GRH});
	EXPECT_EQ(ibv_wc_read_src_qp(&c.cq.ex), qpn);
	EXPECT_EQ(ibv_wc_read_byte_len(&c.cq.ex), 70u);
	EXPECT_EQ(ibv_wc_read_qp_num(&c.cq.ex), 9u);
	EXPECT_EQ(ibv_wc_read_vendor_err(&c.cq.ex), 0u);
	EXPECT_EQ(ibv_wc_read_slid(&c.cq.ex), 0u);
	EXPECT_EQ(ibv_wc_read_sl(&c.cq.ex), 9u);
	EXPECT_EQ(ibv_wc_read_dlid_path_bits(&c.cq.ex), 0u);
	ASSERT_EQ(ibv_next_poll(&c.cq.ex), 0);
	EXPECT_EQ(ibv_wc_read_vendor_err(&c.cq.ex), 7u);
	EXPECT_EQ(ibv_wc_read_src_qp(&c.cq.ex), 0u);
	EXPECT_EQ(ibv_next_poll(&c.cq.ex), ENOENT);
	ibv_end_poll(&c.cq.ex);
}

} // namespace
