// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Streams with acknowledgements: what happens between two looks of a half (Documentation/ib.rst;
// numbers are its rules). Either half may run while the other does; going back, closing and another
// stream may come in any order.
#include "ib_end.hh"

using wire::Bytes, wire::be32, wire::Tagged, wire::Untagged, wire::payload;

namespace {
constexpr u32 stag = 0x500;
constexpr u64 base = 0x10000;
} // namespace

// 18, 22: a response begins while the engine still has to go back: its sink will be forgotten.
TEST(IbRaces, NothingIsPlacedForAReadThatIsAboutToBeForgotten)
{
	IbEnd end;

	end.send.post(SRNIC_OP_SEND);
	end.send.post(SRNIC_OP_READ, 1000);
	end.sends();
	end.receive.host.reads.push_back({end.send.host.reads[0].sink, Bytes(1000)});
	const Bytes response = wire::fpdu(Tagged{.rdmap = wire::op_read_response,
						 .stag = end.send.host.reads[0].sink.stag,
						 .data = Bytes(1000)});
	ASSERT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
	// one skb ends inside the response
	end.receive.feed(Bytes(response.begin(), response.begin() + 100));
	EXPECT_EQ(end.goes_back().reads, 1u);
	end.receive.host.reads.clear();
	EXPECT_NE(core_rx_next(&end.receive.rx).kind, CORE_RX_PLACE);
	end.receive.feed(Bytes(response.begin() + 100, response.end()));
}

// 11: the peer's Read comes in after the engine has looked for one.
TEST(IbRaces, AnAckDoesNotAcknowledgeAReadThatComesMeanwhile)
{
	IbEnd end;

	end.acks.received = end.acks.asked = 1;
	end.send.host.meanwhile = [&] {
		if (end.acks.received != 1)
			return;
		core_asked what{};
		what.number = 2;
		what.read = {0x77, 1000, 0x300, 0x1111, 0x2222};
		end.send.host.asked.push_back(what);
		end.acks.received = 2;
	};
	ASSERT_EQ(end.sends(), (Opcodes{CORE_MSG_ACK, CORE_MSG_READ_RESPONSE}));
	EXPECT_EQ(delivered(end.send.out.front()), 1u);
}

// 11: the engine answers a Read before the receive half gets to core_rx_done().
TEST(IbRaces, AnAckIsNotBehindTheLastResponse)
{
	IbEnd end;

	end.acks.received = end.acks.said = 1;
	core_asked what{};
	what.number = 2;
	what.read = {0x77, 1000, 0x300, 0x1111, 0x2222};
	end.send.host.asked.push_back(what);
	ASSERT_EQ(end.sends(), (Opcodes{CORE_MSG_READ_RESPONSE}));
	core_tx_probe(&end.send.tx);
	ASSERT_EQ(end.sends(), (Opcodes{CORE_MSG_ACK}));
	EXPECT_EQ(delivered(end.send.out.back()), 2u);
}

// 18: a Read of this end goes out after the receive half has looked for one: a lying Ack.
TEST(IbRaces, AnAckOfAReadThatIsSentMeanwhile)
{
	IbEnd end;

	end.receive.host.after_read_sink = [&] {
		if (end.acks.whole)
			return;
		end.send.post(SRNIC_OP_READ, 4);
		end.sends();
	};
	EXPECT_EQ(end.ack({1}), CORE_RX_ERROR);
}

// 22: closing, then going back.
TEST(IbRaces, RequestsPostedBeforeTheCloseAreSentAgain)
{
	IbEnd end;

	end.send.post(SRNIC_OP_SEND);
	end.sends();
	core_tx_close(&end.send.tx, 0, false);
	EXPECT_FALSE(core_tx_closed(&end.send.tx)); // unacknowledged
	ASSERT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
	EXPECT_FALSE(core_tx_closed(&end.send.tx));
	end.goes_back();
	end.send.post(SRNIC_OP_SEND);
	core_tx_resume(&end.send.tx);
	EXPECT_FALSE(core_tx_closed(&end.send.tx));
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_SEND});
}

// 14
TEST(IbRaces, ClosedOnlyWhenTheAckIsSaid)
{
	IbEnd end;

	end.acks.received = end.acks.asked = 1;
	core_tx_close(&end.send.tx, 0, false);
	EXPECT_FALSE(core_tx_closed(&end.send.tx));
}

// 25: the engine would not go idle: go_idle() asks this.
TEST(IbRaces, NothingMayBeTakenWhenItIsOver)
{
	IbEnd end;

	EXPECT_EQ(end.comes(Tagged{.stag = 1, .data = Bytes(4)}), CORE_RX_REFUSED);
	end.send.post(SRNIC_OP_SEND);
	end.sends();
	ASSERT_TRUE(core_tx_over(&end.send.tx));
	EXPECT_FALSE(core_tx_may_take(&end.send.tx));
}

// 2, 25: a muted responder whose peer's first FPDU is refused before it is whole.
TEST(IbRaces, AMutedResponderThatRefuses)
{
	Acks acks;
	SendEnd end(send_params(acks, false));
	Stream receive(receive_params(acks));

	receive.host.grant(stag, base, 4096, FakeHost::pd, CORE_ACCESS_REMOTE_WRITE);
	const Bytes fpdu = wire::fpdu(Tagged{.stag = stag, .to = base, .data = Bytes(100)});
	end.host.validated = false;
	receive.feed(Bytes(fpdu.begin(), fpdu.begin() + 20));
	ASSERT_EQ(core_rx_fail(&receive.rx, CORE_REGION_INVALID), CORE_RX_REFUSED);
	receive.feed(Bytes(fpdu.begin() + 20, fpdu.end()));
	EXPECT_TRUE(receive.over());
	EXPECT_EQ(core_rx_fpdus(&receive.rx), 0u);
	end.send_all();
	EXPECT_TRUE(core_tx_over(&end.tx)); // else nothing ever ends this QP
}

// 24, 30: a Read Request of a wrong length breaks RDMAP; rule 24 does not have it.
TEST(IbRaces, ALongReadRequestBreaksTheProtocol)
{
	IbEnd end;

	end.receive.host.grant(stag, base, 4096, FakeHost::pd, 7);
	end.receive.host.read_room = 2;
	Untagged longer = wire::read_request({1, 0, 4, stag, base});
	longer.data = longer.data + Bytes{0};
	EXPECT_EQ(end.comes(longer), CORE_RX_ERROR);
}

// 29: nothing is unacknowledged, so no Ack will ever run the engine again.
TEST(IbRaces, ARequestThatFailsOnAnIdleStreamCompletes)
{
	IbEnd end;

	end.send.host.list_usable = false;
	end.send.post(SRNIC_OP_SEND, 1000);
	EXPECT_EQ(end.sends(), Opcodes{}); // one run of the engine: core_tx_choose() until it is 0
	EXPECT_EQ(end.send.host.completions.size(), 1u);
	EXPECT_TRUE(core_tx_over(&end.send.tx));
}

// 29: else the Ack does not run the engine.
TEST(IbRaces, ARequestThatFailsAwaitsAcks)
{
	IbEnd end;

	end.send.post(SRNIC_OP_SEND);
	end.sends();
	end.send.host.list_usable = false;
	end.send.post(SRNIC_OP_SEND, 1000);
	EXPECT_EQ(end.sends(), Opcodes{});
	EXPECT_EQ(end.ack({1}), CORE_RX_ACK);
	EXPECT_TRUE(core_acks_awaited(&end.acks));
}

// 22, 57: the Write is done, its Immediate Data are still to be sent: this QP is not idle.
TEST(IbRaces, HalfOfAWriteWithImmediateDataIsUnacknowledged)
{
	IbEnd end;

	end.send.post(SRNIC_OP_WRITE_IMM, 4);
	end.sends();
	EXPECT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
	end.goes_back();
	EXPECT_TRUE(core_acks_unacknowledged(&end.acks));
}

// 22, 57: a stream that comes back while the engine waits for the timer.
TEST(IbRaces, LocalOperationsAreNotRepeatedOnTheNextStream)
{
	IbEnd end;

	end.send.post(SRNIC_OP_SEND);
	end.send.post(SRNIC_OP_REG_MR);
	end.sends();
	EXPECT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
	const u32 index = end.goes_back().index;
	if (core_acks_unacknowledged(&end.acks))
		return; // not idle: there is no next stream
	core_acks_start(&end.acks, index);
	const core_tx_params params = end.send.tx.params;
	core_tx_init(&end.send.tx, &params);
	core_tx_set_emss(&end.send.tx, 1460);
	end.send.post(SRNIC_OP_SEND);
	end.send.post(SRNIC_OP_REG_MR);
	end.sends();
	EXPECT_EQ(end.send.host.registered.size(), 1u);
}

// 6: between a Write and its Immediate Data a message is not finished.
TEST(IbRaces, NotBetweenMessagesBeforeTheImmediateData)
{
	IbEnd end;

	end.receive.host.grant(stag, base, 4096, FakeHost::pd, 7);
	EXPECT_EQ(end.comes(Tagged{.rdmap = wire::op_write | wire::more,
				   .stag = stag,
				   .to = base,
				   .data = payload(4)}),
		  CORE_RX_WRITE);
	EXPECT_FALSE(core_rx_between(&end.receive.rx));
}

// 14: the time is over while an earlier Read is being answered.
TEST(IbRaces, WhatFollowsAReadIsAcknowledgedInTime)
{
	IbEnd end;

	core_asked what{};
	what.number = 1;
	what.read = {0x77, 4000, 0x300, 0x1111, 0x2222};
	end.send.host.asked.push_back(what);
	end.acks.received = 2; // a Send that does not ask
	ASSERT_TRUE(end.send.send_one());
	core_tx_ack_now(&end.send.tx); // 10 ms
	end.sends();
	EXPECT_EQ(end.send.out.back().opcode, CORE_MSG_ACK);
	EXPECT_FALSE(core_acks_owed(&end.acks));
}
