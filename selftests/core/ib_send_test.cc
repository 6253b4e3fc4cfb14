// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Streams with acknowledgements, the sending half (Documentation/ib.rst; numbers are its rules).
#include "ib_end.hh"

using wire::Bytes, wire::be32;

namespace {

// The peer asks for a Read with this number of its requests.
void asks_for_a_read(IbEnd &end, u32 number)
{
	end.send.ask(one_segment);
	end.send.host.asked.back().number = number;
	end.acks.received = number;
}

// The peer's request with this number is delivered, and has the bit or not.
void gets(IbEnd &end, u32 number, bool asks)
{
	end.acks.received = number;
	if (asks)
		end.acks.asked = number;
}

// Three requests are sent, and the peer is not ready for the second.
void is_refused_second(IbEnd &end)
{
	for (int n = 0; n < 3; n++)
		end.send.post(SRNIC_OP_SEND, one_segment);
	end.sends();
	ASSERT_EQ(end.ack({1, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
}

} // namespace

// ---- octets ----

// 1: no markers, and without CRCs zeros in their place.
TEST(IbSend, WithoutCrcs)
{
	Acks acks;
	SendEnd end(send_params(acks, true, false));

	end.send_all();
	EXPECT_EQ(end.stream, wire::be16(26) + Bytes(wire::ack({})) + Bytes(4));
}

// 5: the Immediate Data are in the place of the invalidated STag.
TEST(IbSend, ASendWithImmediateData)
{
	IbEnd end;

	memcpy(end.send.post(SRNIC_OP_IMM, 3).arg, "\x01\x02\x03\x04", 4);
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_SEND_IMM});
	EXPECT_EQ(Bytes(end.last().begin(), end.last().begin() + 18),
		  (Bytes{0x41, wire::op_send_imm, 1, 2, 3, 4}) + be32(0) + be32(1) + be32(0));
	EXPECT_EQ(end.last().size(), 18u + 3);
}

// 5: in each segment.
TEST(IbSend, EachSegmentOfASendHasItsImmediateData)
{
	IbEnd end;

	memcpy(end.send.post(SRNIC_OP_IMM, three_segments).arg, "\x01\x02\x03\x04", 4);
	EXPECT_EQ(end.sends().size(), 3u);
	for (const Fpdu &fpdu : end.send.out)
		EXPECT_EQ(word(fpdu.ulpdu, 2), 0x01020304u);
}

// 4: solicited or not.
TEST(IbSend, ASolicitedSendWithImmediateData)
{
	IbEnd end;

	end.send.post(SRNIC_OP_IMM, 0, SRNIC_WQE_SOLICITED);
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_SEND_SE_IMM});
}

// 3, 6: each segment of the Write has `more`; the Immediate Data ask, the Write does not.
TEST(IbSend, AWriteWithImmediateData)
{
	IbEnd end;

	end.send.post(SRNIC_OP_WRITE_IMM, three_segments, signaled);
	EXPECT_EQ(end.sends(),
		  (Opcodes{CORE_MSG_WRITE, CORE_MSG_WRITE, CORE_MSG_WRITE, CORE_MSG_IMMEDIATE}));
	for (int n = 0; n < 3; n++)
		EXPECT_EQ(end.send.out[n].ulpdu[1], wire::op_write | wire::more);
	EXPECT_EQ(end.control(), wire::op_immediate | wire::ask);
	EXPECT_EQ(end.acks.whole, 1u);
}

// 6: the Immediate Data of verbs are four octets; the others are zero.
TEST(IbSend, ImmediateDataOfAWriteHaveFourOctets)
{
	IbEnd end;

	memcpy(end.send.post(SRNIC_OP_WRITE_IMM, 0).arg, "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
	end.sends();
	EXPECT_EQ(Bytes(end.last().begin() + 18, end.last().end()),
		  (Bytes{1, 2, 3, 4, 0, 0, 0, 0}));
}

// 8: an Ack's octets.
TEST(IbSend, AnAck)
{
	IbEnd end;

	gets(end, 7, true);
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_ACK});
	EXPECT_EQ(end.last(), Bytes(wire::ack({7, 0, 0}, 2)));
}

// 15: a request that completes asks; of the others every so many.
TEST(IbSend, RequestsAsk)
{
	IbEnd end(3);

	for (u8 flags : {u8{0}, signaled, u8{0}, u8{0}, u8{0}})
		end.send.post(SRNIC_OP_SEND, 1, flags);
	end.sends();
	for (size_t n = 0; n < 5; n++)
		EXPECT_EQ((end.send.out[n].ulpdu[1] & wire::ask) != 0, n == 1 || n == 4) << n;
}

// 12: a request for a response need not ask.
TEST(IbSend, ReadsDoNotAsk)
{
	IbEnd end(1);

	end.send.post(SRNIC_OP_READ, 1, signaled);
	end.send.post(SRNIC_OP_FETCH_ADD, 8, signaled);
	end.sends();
	for (const Fpdu &fpdu : end.send.out)
		EXPECT_EQ(fpdu.ulpdu[1] & (wire::ask | wire::more), 0);
}

// 7: an RDMA Write and an RDMA Read Response come one after the other.
TEST(IbSend, AWriteAndAReadResponseDoNotInterleave)
{
	for (bool write_first : {true, false}) {
		IbEnd end;
		const Opcodes write(3, CORE_MSG_WRITE), response(3, CORE_MSG_READ_RESPONSE);

		if (write_first)
			end.send.post(SRNIC_OP_WRITE, three_segments);
		else
			end.send.ask(three_segments);
		EXPECT_TRUE(end.send.send_one());
		if (write_first)
			end.send.ask(three_segments);
		else
			end.send.post(SRNIC_OP_WRITE, three_segments);
		end.sends();
		Opcodes both = write_first ? write : response;

		both.insert(both.end(), 3, write_first ? response[0] : write[0]);
		EXPECT_EQ(end.send.opcodes(), both);
	}
}

// 7: a Send and a response take turns.
TEST(IbSend, ASendAndAResponseTakeTurns)
{
	IbEnd end;

	end.send.post(SRNIC_OP_SEND, three_segments);
	EXPECT_TRUE(end.send.send_one());
	end.send.ask(three_segments);
	EXPECT_EQ(end.sends(), (Opcodes{CORE_MSG_READ_RESPONSE, CORE_MSG_SEND,
					CORE_MSG_READ_RESPONSE, CORE_MSG_SEND,
					CORE_MSG_READ_RESPONSE}));
}

// 7: responses come in the order of their requests.
TEST(IbSend, ResponsesComeInTheirOrder)
{
	IbEnd end;

	end.send.ask_atomic(7, 1);
	end.send.ask(one_segment);
	end.send.ask_atomic(8, 1);
	EXPECT_EQ(end.sends(), (Opcodes{CORE_MSG_ATOMIC_RESPONSE, CORE_MSG_READ_RESPONSE,
					CORE_MSG_ATOMIC_RESPONSE}));
}

// ---- acknowledging ----

// 14: only what was asked about, and once for all of it.
TEST(IbAcks, OneForAllThatWasAsked)
{
	IbEnd end;

	gets(end, 3, false);
	EXPECT_EQ(end.sends(), Opcodes{});
	EXPECT_TRUE(core_acks_owed(&end.acks));
	gets(end, 5, true);
	gets(end, 9, true);
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_ACK});
	EXPECT_EQ(delivered(end.send.out.back()), 9u);
	EXPECT_FALSE(core_acks_owed(&end.acks));
}

// 14: an Ack that may wait for the program is one that was asked for, of a few requests.
TEST(IbAcks, WhatMayWaitForTheProgram)
{
	IbEnd end;

	end.sends();
	gets(end, 1, false);
	gets(end, 2, true);
	EXPECT_TRUE(core_acks_only_asked(&end.acks, 2));
	EXPECT_FALSE(core_acks_only_asked(&end.acks, 1));
	end.sends();
}

// 16, 17: not an answer to a peer that asks by an Ack, and no refusal.
TEST(IbAcks, WhatMayNotWaitForTheProgram)
{
	IbEnd probed, refusing;

	EXPECT_EQ(probed.comes(wire::ack({0}, 1, wire::op_ack | wire::ask)), CORE_RX_ACK);
	EXPECT_FALSE(core_acks_only_asked(&probed.acks, 4));
	probed.sends();
	EXPECT_TRUE(core_acks_only_asked(&probed.acks, 4));
	EXPECT_EQ(refusing.comes(wire::Tagged{.stag = 1, .data = wire::Bytes(4)}), CORE_RX_REFUSED);
	EXPECT_FALSE(core_acks_only_asked(&refusing.acks, 4));
}

// 14: within 10 ms what nobody asked about.
TEST(IbAcks, WhatNobodyAskedAboutInTime)
{
	IbEnd end;

	gets(end, 3, false);
	core_tx_ack_now(&end.send.tx);
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_ACK});
	core_tx_ack_now(&end.send.tx);
	EXPECT_EQ(end.sends(), Opcodes{});
}

// 14: at the next FPDU boundary, before all else.
TEST(IbAcks, GoBeforeEverythingElse)
{
	IbEnd end;

	end.send.post(SRNIC_OP_WRITE, three_segments);
	EXPECT_TRUE(end.send.send_one());
	gets(end, 1, true);
	EXPECT_EQ(end.sends(), (Opcodes{CORE_MSG_ACK, CORE_MSG_WRITE, CORE_MSG_WRITE}));
}

// 8: they are numbered.
TEST(IbAcks, HaveTheirOwnNumbers)
{
	IbEnd end;

	for (u32 n : {1u, 2u, 3u}) {
		gets(end, n, true);
		end.sends();
		EXPECT_EQ(msn(end.send.out.back()), n + 1); // the first Ack was number 1
	}
}

// 11: not what follows an unanswered Read. 12: the response acknowledges what came before.
TEST(IbAcks, StopBeforeAnUnansweredRead)
{
	IbEnd end;

	gets(end, 1, false);
	asks_for_a_read(end, 2);
	gets(end, 3, true);
	EXPECT_EQ(end.sends(), (Opcodes{CORE_MSG_ACK, CORE_MSG_READ_RESPONSE, CORE_MSG_ACK}));
	EXPECT_EQ(delivered(end.send.out.front()), 1u);
	EXPECT_EQ(delivered(end.send.out.back()), 3u);
}

// 11: nor one that comes while the engine decides.
TEST(IbAcks, AReadThatComesMeanwhileIsUnanswered)
{
	IbEnd end;
	bool came = false;

	gets(end, 1, true);
	end.send.host.meanwhile = [&] {
		if (!came)
			asks_for_a_read(end, 2);
		came = true;
	};
	EXPECT_EQ(end.sends(), (Opcodes{CORE_MSG_ACK, CORE_MSG_READ_RESPONSE}));
	EXPECT_EQ(delivered(end.send.out.front()), 1u);
}

TEST(IbAcks, AResponseIsOne)
{
	IbEnd end;

	gets(end, 1, false);
	asks_for_a_read(end, 2);
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_READ_RESPONSE});
	EXPECT_FALSE(core_acks_owed(&end.acks));
}

// 16: an Ack that asks is answered, even if there is nothing new; the answer does not ask.
TEST(IbAcks, AProbeIsAnswered)
{
	IbEnd end;

	EXPECT_EQ(end.comes(wire::ack({0}, 1, wire::op_ack | wire::ask)), CORE_RX_ACK);
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_ACK});
	EXPECT_EQ(end.control(), wire::op_ack);
	EXPECT_EQ(end.sends(), Opcodes{});
}

// 16: one answer for all that came.
TEST(IbAcks, ProbesHaveOneAnswer)
{
	IbEnd end;

	for (u32 n : {1u, 2u})
		EXPECT_EQ(end.comes(wire::ack({0}, n, wire::op_ack | wire::ask)), CORE_RX_ACK);
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_ACK});
}

TEST(IbAcks, AProbeAsks)
{
	IbEnd end;

	core_tx_probe(&end.send.tx);
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_ACK});
	EXPECT_EQ(end.control(), wire::op_ack | wire::ask);
	EXPECT_EQ(end.sends(), Opcodes{});
}

// ---- receiver not ready ----

// 19, 21: a refusal is said once, with the timer. Later Acks have syndrome 0.
TEST(IbNotReady, IsSaidOnce)
{
	IbEnd end;

	EXPECT_EQ(end.comes(wire::Untagged{}), CORE_RX_REFUSED);
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_ACK});
	EXPECT_EQ(delivered(end.send.out.back()), 0u);
	EXPECT_EQ(syndrome(end.send.out.back()), CORE_SYNDROME_NOT_READY);
	EXPECT_EQ(timer(end.send.out.back()), 12);
	EXPECT_EQ(end.comes(wire::ack({0}, 1, wire::op_ack | wire::ask)), CORE_RX_ACK);
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_ACK});
	EXPECT_EQ(syndrome(end.send.out.back()), CORE_SYNDROME_NONE);
	EXPECT_FALSE(core_tx_over(&end.send.tx));
}

// 20: the responder goes on with what is its own.
TEST(IbNotReady, TheResponderGoesOn)
{
	IbEnd end;

	end.send.post(SRNIC_OP_WRITE, three_segments);
	EXPECT_TRUE(end.send.send_one());
	EXPECT_EQ(end.comes(wire::Untagged{}), CORE_RX_REFUSED);
	end.send.post(SRNIC_OP_SEND, one_segment);
	EXPECT_EQ(end.sends(),
		  (Opcodes{CORE_MSG_ACK, CORE_MSG_WRITE, CORE_MSG_WRITE, CORE_MSG_SEND}));
	EXPECT_EQ(end.ack({2}), CORE_RX_ACK);
	EXPECT_FALSE(core_acks_unacknowledged(&end.acks));
}

// 17, 19: request Delivered + 1 is refused: so the responses to all before come first.
TEST(IbNotReady, WaitsForEarlierResponses)
{
	IbEnd end;

	asks_for_a_read(end, 1);
	EXPECT_EQ(end.comes(wire::Untagged{}), CORE_RX_REFUSED);
	EXPECT_EQ(end.sends(), (Opcodes{CORE_MSG_READ_RESPONSE, CORE_MSG_ACK}));
	EXPECT_EQ(delivered(end.send.out.back()), 1u);
	EXPECT_EQ(syndrome(end.send.out.back()), CORE_SYNDROME_NOT_READY);
}

// 22: the refused request and all after it, with the same MSNs, after the time of the timer.
TEST(IbNotReady, SendsAgainWhenTheTimeIsOver)
{
	IbEnd end;

	is_refused_second(end);
	const core_rewind how = end.goes_back();

	EXPECT_EQ(how.index, 1u);
	EXPECT_EQ(how.reads, 0u);
	EXPECT_EQ(how.delay, core_rnr_delay(1));
	end.send.post(SRNIC_OP_SEND, one_segment);
	end.send.post(SRNIC_OP_SEND, one_segment);
	EXPECT_EQ(end.sends(), Opcodes{});
	EXPECT_FALSE(core_tx_may_take(&end.send.tx));
	core_tx_resume(&end.send.tx);
	EXPECT_EQ(end.sends(), (Opcodes{CORE_MSG_SEND, CORE_MSG_SEND}));
	EXPECT_EQ(msn(end.send.out[3]), 2u);
	EXPECT_EQ(msn(end.send.out[4]), 3u);
	EXPECT_EQ(end.acks.whole, 3u);
}

// A QP that pauses ends what it has begun, and begins nothing.
TEST(IbNotReady, SendsAgainWhilePaused)
{
	IbEnd end;

	is_refused_second(end);
	end.acks.paused = 1;
	end.goes_back();
	for (int n = 0; n < 3; n++)
		end.send.post(SRNIC_OP_SEND, one_segment);
	core_tx_resume(&end.send.tx);
	EXPECT_EQ(end.sends(), (Opcodes{CORE_MSG_SEND, CORE_MSG_SEND}));
	EXPECT_TRUE(core_acks_unacknowledged(&end.acks));
	EXPECT_EQ(end.ack({3}), CORE_RX_ACK);
	EXPECT_FALSE(core_acks_unacknowledged(&end.acks));
	EXPECT_EQ(end.sends(), Opcodes{});
	end.acks.paused = 0;
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_SEND});
}

// 22: also within a message. Responses and Acks go on.
TEST(IbNotReady, AbandonsTheMessageInProgress)
{
	IbEnd end;

	end.send.post(SRNIC_OP_SEND);
	end.send.post(SRNIC_OP_WRITE, three_segments);
	EXPECT_TRUE(end.send.send_one());
	EXPECT_TRUE(end.send.send_one());
	EXPECT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
	EXPECT_EQ(end.goes_back().index, 0u);
	asks_for_a_read(end, 1);
	gets(end, 2, true);
	EXPECT_EQ(end.sends(), (Opcodes{CORE_MSG_READ_RESPONSE, CORE_MSG_ACK}));
	EXPECT_EQ(end.acks.begun, 0u);
}

// 22: of a Write with Immediate Data only these are sent again, as they were.
TEST(IbNotReady, OnlyTheImmediateDataComeAgain)
{
	IbEnd end;

	end.send.post(SRNIC_OP_WRITE_IMM, three_segments).arg[0] = 0x1122334455667788;
	end.send.post(SRNIC_OP_SEND);
	end.sends();
	const Bytes first = end.send.out[3].ulpdu;

	EXPECT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
	EXPECT_EQ(end.goes_back().index, 1u);
	end.send.post(SRNIC_OP_SEND);
	core_tx_resume(&end.send.tx);
	EXPECT_EQ(end.sends(), (Opcodes{CORE_MSG_IMMEDIATE, CORE_MSG_SEND}));
	const Bytes &again = end.send.out[5].ulpdu;

	EXPECT_EQ(Bytes(again.begin() + 2, again.end()), Bytes(first.begin() + 2, first.end()));
	EXPECT_EQ(again[1], wire::op_immediate | wire::ask);
}

// 22: Reads behind the refused request are issued anew.
TEST(IbNotReady, ReadsAreForgotten)
{
	IbEnd end;

	end.send.post(SRNIC_OP_READ, one_segment);
	end.send.post(SRNIC_OP_SEND);
	end.send.post(SRNIC_OP_READ, one_segment);
	end.send.post(SRNIC_OP_FETCH_ADD, 8);
	end.sends();
	end.receive.host.reads.push_back({end.send.host.reads[0].sink, Bytes(one_segment)});
	ASSERT_EQ(end.comes(wire::Tagged{.rdmap = wire::op_read_response,
					 .stag = end.send.host.reads[0].sink.stag,
					 .data = Bytes(one_segment)}),
		  CORE_RX_READ_RESPONSE);
	EXPECT_EQ(end.ack({1, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
	EXPECT_EQ(end.goes_back().reads, 2u);
	end.send.post(SRNIC_OP_SEND);
	end.send.post(SRNIC_OP_READ, one_segment);
	core_tx_resume(&end.send.tx);
	EXPECT_EQ(end.sends(), (Opcodes{CORE_MSG_SEND, CORE_MSG_READ_REQUEST}));
	EXPECT_EQ(msn(end.send.out.back()), 2u);
}

// 22: what sends nothing is not done again.
TEST(IbNotReady, LocalOperationsAreNotRepeated)
{
	IbEnd end;

	end.send.post(SRNIC_OP_SEND);
	end.send.post(SRNIC_OP_REG_MR).arg[1] = u64{5} << 32;
	end.sends();
	EXPECT_EQ(end.send.host.registered.size(), 1u);
	EXPECT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
	end.goes_back();
	end.send.post(SRNIC_OP_SEND);
	end.send.post(SRNIC_OP_REG_MR).arg[1] = u64{5} << 32;
	end.send.post(SRNIC_OP_REG_MR).arg[1] = u64{6} << 32;
	core_tx_resume(&end.send.tx);
	end.sends();
	EXPECT_EQ(end.send.host.registered.size(), 2u);
}

// 22: an STag is not invalidated while a request before may come again.
TEST(IbNotReady, InvalidationWaitsForAcknowledgements)
{
	IbEnd end;

	end.send.post(SRNIC_OP_WRITE, one_segment);
	end.send.post(SRNIC_OP_LOCAL_INV).imm_inv = 0x900;
	end.sends();
	EXPECT_TRUE(end.send.host.invalidated.empty());
	EXPECT_TRUE(core_acks_awaited(&end.acks));
	EXPECT_FALSE(core_tx_may_take(&end.send.tx));
	EXPECT_EQ(end.ack({1}), CORE_RX_ACK);
	end.sends();
	EXPECT_EQ(end.send.host.invalidated, std::vector<u32>{0x900});
}

// ---- errors ----

// 25: the responses to all before, then the refusal, then nothing.
TEST(IbRefusal, ComesAfterEarlierResponses)
{
	IbEnd end;

	asks_for_a_read(end, 1);
	EXPECT_EQ(end.comes(wire::Tagged{.stag = 1, .data = Bytes(4)}), CORE_RX_REFUSED);
	end.send.post(SRNIC_OP_SEND);
	EXPECT_EQ(end.sends(), (Opcodes{CORE_MSG_READ_RESPONSE, CORE_MSG_ACK}));
	EXPECT_EQ(delivered(end.send.out.back()), 1u);
	EXPECT_EQ(syndrome(end.send.out.back()), CORE_SYNDROME_ACCESS);
	EXPECT_TRUE(core_tx_over(&end.send.tx));
	EXPECT_TRUE(end.receive.over());
}

// 25: it ends its own requests.
TEST(IbRefusal, EndsOwnRequests)
{
	IbEnd end;

	end.send.post(SRNIC_OP_WRITE, three_segments);
	EXPECT_TRUE(end.send.send_one());
	asks_for_a_read(end, 1);
	EXPECT_EQ(end.comes(wire::Tagged{.stag = 1, .data = Bytes(4)}), CORE_RX_REFUSED);
	EXPECT_EQ(end.sends(), (Opcodes{CORE_MSG_READ_RESPONSE, CORE_MSG_ACK}));
}

// 17, 25: a response that cannot be built refuses its request.
TEST(IbRefusal, OfARequestWhoseResponseCannotBeBuilt)
{
	IbEnd end;

	asks_for_a_read(end, 1);
	end.send.unreadable_from = 0;
	end.sends();
	end.send.unreadable_from = ~0u;
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_ACK});
	EXPECT_EQ(delivered(end.send.out.back()), 0u);
	EXPECT_EQ(syndrome(end.send.out.back()), CORE_SYNDROME_ACCESS);
	EXPECT_TRUE(core_tx_over(&end.send.tx));
	EXPECT_FALSE(end.send.host.terminate);
}

// 29: a request that cannot be sent completes when all before it are acknowledged.
TEST(IbErrors, OfThisEndWaitForAcknowledgements)
{
	IbEnd end;

	end.send.post(SRNIC_OP_SEND);
	end.sends();
	end.send.host.list_usable = false;
	end.send.post(SRNIC_OP_SEND, one_segment);
	end.send.post(SRNIC_OP_SEND);
	EXPECT_FALSE(end.send.send_one());
	EXPECT_TRUE(core_acks_awaited(&end.acks)); // else no acknowledgement runs the engine
	EXPECT_EQ(end.sends(), Opcodes{});
	EXPECT_TRUE(end.send.host.completions.empty());
	EXPECT_FALSE(core_tx_over(&end.send.tx));
	gets(end, 1, true);
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_ACK});
	EXPECT_EQ(end.ack({1}), CORE_RX_ACK);
	EXPECT_EQ(end.sends(), Opcodes{});
	EXPECT_EQ(end.send.host.completions,
		  (std::vector<PostedSends::Completion>{{1, SRNIC_WC_LOC_PROT_ERR}}));
	EXPECT_TRUE(core_tx_over(&end.send.tx));
	EXPECT_FALSE(end.send.host.terminate);
}

// 22, 29: a request before it may still come again; then this one is tried again, too.
TEST(IbErrors, AFailedRequestIsTriedAgainAfterGoingBack)
{
	IbEnd end;

	end.send.post(SRNIC_OP_SEND);
	end.sends();
	end.send.host.local_works = false;
	end.send.post(SRNIC_OP_REG_MR);
	end.sends();
	EXPECT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
	end.goes_back();
	end.send.host.local_works = true;
	end.send.post(SRNIC_OP_SEND);
	end.send.post(SRNIC_OP_REG_MR);
	core_tx_resume(&end.send.tx);
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_SEND});
	EXPECT_FALSE(core_tx_over(&end.send.tx));
	EXPECT_EQ(end.send.host.registered.size(), 2u);
}

// 29, 22: the peer is not ready for a request that has failed meanwhile: it does not come again.
TEST(IbErrors, AFailedRequestDoesNotComeAgain)
{
	IbEnd end;
	core_rewind how{};

	end.send.unreadable_from = 2000;
	end.send.post(SRNIC_OP_SEND, three_segments);
	end.send.host.on_completion = [&] {
		EXPECT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
	};
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_SEND});
	EXPECT_EQ(end.sends(), Opcodes{});
	ASSERT_EQ(end.send.host.completions.size(), 1u);
	EXPECT_EQ(core_tx_over(&end.send.tx), CORE_OVER_FAILED);
	EXPECT_FALSE(core_tx_must_rewind(&end.send.tx, &how));
}

// 30: a broken rule is answered with a Terminate.
TEST(IbErrors, ABrokenRuleHasATerminate)
{
	const core_terminate term{};
	IbEnd end;

	EXPECT_TRUE(end.send.send_terminate(term));
	EXPECT_EQ(end.send.out.back().opcode, CORE_MSG_TERMINATE);
}

// 10: numbers go on with another connection; they wrap.
TEST(IbNumbers, GoOn)
{
	IbEnd end;

	end.acks.acked = 0xfffffffe;
	end.acks.received = 0xffffffff;
	core_acks_start(&end.acks, 0);
	EXPECT_FALSE(core_acks_unacknowledged(&end.acks));
	for (int n = 0; n < 3; n++)
		end.send.post(SRNIC_OP_SEND);
	end.sends();
	EXPECT_TRUE(core_acks_unacknowledged(&end.acks));
	EXPECT_EQ(end.ack({1}), CORE_RX_ACK);
	EXPECT_EQ(end.acked().end, 3u);
	EXPECT_FALSE(core_acks_unacknowledged(&end.acks));
}

// 10: MSNs begin anew with the connection.
TEST(IbNumbers, MsnsBeginAnew)
{
	IbEnd end;
	core_tx_params params = end.send.tx.params;

	end.send.post(SRNIC_OP_SEND);
	end.sends();
	EXPECT_EQ(end.ack({1}), CORE_RX_ACK);
	core_acks_start(&end.acks, 1);
	SendEnd next(params);

	next.post(SRNIC_OP_SEND);
	next.send_all();
	EXPECT_EQ(next.opcodes(), (Opcodes{CORE_MSG_ACK, CORE_MSG_SEND}));
	for (const Fpdu &fpdu : next.out)
		EXPECT_EQ(msn(fpdu), 1u);
	EXPECT_EQ(end.acks.whole, 2u);
}

// 2, 61: the initiator sends an Ack at once.
TEST(IbStart, TheInitiatorSendsAnAck)
{
	Acks acks;
	SendEnd end(send_params(acks));

	end.send_all();
	EXPECT_EQ(end.opcodes(), Opcodes{CORE_MSG_ACK});
}

// 2, 61: the responder waits for it.
TEST(IbStart, TheResponderWaits)
{
	Acks acks;
	SendEnd end(send_params(acks, false));

	end.host.validated = false;
	end.post(SRNIC_OP_SEND);
	end.send_all();
	EXPECT_EQ(end.opcodes(), Opcodes{});
	EXPECT_FALSE(core_acks_unacknowledged(&acks));
	end.host.validated = true;
	end.send_all();
	EXPECT_EQ(end.opcodes(), Opcodes{CORE_MSG_SEND});
}
