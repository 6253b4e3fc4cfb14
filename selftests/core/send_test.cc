// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The send scheduler: turns, waiting, numbering, and the end of the stream.
#include "send_end.hh"

using wire::be32, wire::be64, wire::Bytes;

constexpr u8 op_write = CORE_MSG_WRITE, op_request = CORE_MSG_READ_REQUEST,
	     op_response = CORE_MSG_READ_RESPONSE, op_send = CORE_MSG_SEND,
	     op_terminate = CORE_MSG_TERMINATE;

// ---- Order and numbers ----

// RFC 5040 5.5 rule 13: in the order in which they were posted.
TEST(SendOrder, RequestsGoOutAsPosted)
{
	SendEnd end;

	end.post(SRNIC_OP_SEND, one_segment);
	end.post(SRNIC_OP_WRITE, three_segments);
	end.post(SRNIC_OP_READ, one_segment);
	end.post(SRNIC_OP_SEND_INV, 0).imm_inv = 0xabc;
	end.send_all();
	EXPECT_EQ(end.opcodes(),
		  (Opcodes{op_send, op_write, op_write, op_write, op_request, CORE_MSG_SEND_INV}));
	EXPECT_EQ(end.host.built, 4u);
	EXPECT_EQ(end.tx.fpdus, 6u);
	EXPECT_FALSE(end.host.terminate);
}

// RFC 5040 5.5 rule 17: responses in the order of the peer's requests, to the sinks named there.
TEST(SendOrder, ResponsesGoOutAsAsked)
{
	SendEnd end;

	for (u32 stag : {5u, 6u}) {
		end.ask(one_segment);
		end.host.asked.back().read.sink_stag = stag;
	}
	end.send_all();
	ASSERT_EQ(end.opcodes(), (Opcodes{op_response, op_response}));
	for (u32 i : {0u, 1u})
		EXPECT_EQ(Bytes(end.out[i].ulpdu.begin() + 2, end.out[i].ulpdu.begin() + 14),
			  be32(5 + i) + be64(0x1111));
	EXPECT_EQ(end.host.answered, 2u);
}

// RFC 5041 4.3: MSNs count the messages of each queue from 1; tagged messages have none.
TEST(SendOrder, EachQueueCountsFromOne)
{
	SendEnd end;

	for (u8 opcode : {SRNIC_OP_SEND, SRNIC_OP_READ, SRNIC_OP_WRITE, SRNIC_OP_SEND_INV,
			  SRNIC_OP_READ})
		end.post(opcode, 4);
	end.send_all();
	ASSERT_EQ(end.out.size(), 5u);
	EXPECT_EQ(msn(end.out[0]), 1u);
	EXPECT_EQ(msn(end.out[1]), 1u);
	EXPECT_EQ(msn(end.out[3]), 2u);
	EXPECT_EQ(msn(end.out[4]), 2u);
}

// RFC 5041 4.3: after all ones comes zero.
TEST(SendOrder, NumbersWrap)
{
	SendEnd end;

	end.tx.send_msn = 0xfffffffe;
	end.post(SRNIC_OP_SEND);
	end.post(SRNIC_OP_SEND);
	end.send_all();
	EXPECT_EQ(msn(end.out.at(0)), 0xffffffffu);
	EXPECT_EQ(msn(end.out.at(1)), 0u);
}

// RFC 5040 8.1.1: a Read Request names an STag that cannot be guessed and is no key of this end.
TEST(SendOrder, AReadNamesASinkOfItsOwn)
{
	SendEnd end;

	end.host.random = 0x4242;
	end.post(SRNIC_OP_READ, 300);
	end.send_all();
	ASSERT_EQ(end.host.reads.size(), 1u);
	EXPECT_EQ(end.host.reads[0].sink.stag, 0x4243u);
	EXPECT_EQ(end.host.reads[0].kind, CORE_READ_REQUEST);
	EXPECT_EQ(Bytes(end.out.at(0).ulpdu.begin() + 18, end.out[0].ulpdu.end()),
		  be32(0x4243) + be64(0) + be32(300) + be32(0x500) + be64(0x7000));
	EXPECT_EQ(end.host.list_access, u32{CORE_ACCESS_LOCAL_WRITE});
}

// ---- Turns ----

// A response and Sends alternate by FPDU: receivers know untagged messages from tagged ones.
TEST(Turns, UntaggedAndTaggedByFpdu)
{
	SendEnd end;

	end.ask(three_segments);
	for (int i = 0; i < 3; i++)
		end.post(SRNIC_OP_SEND, one_segment);
	end.send_all();
	EXPECT_EQ(end.opcodes(), (Opcodes{op_send, op_response, op_send, op_response, op_send,
					  op_response}));
}

// A Write waits for the end of a response in progress, and delays later requests.
TEST(Turns, TwoTaggedMessagesByMessage)
{
	SendEnd end;

	end.ask(three_segments);
	ASSERT_TRUE(end.send_one());
	end.post(SRNIC_OP_WRITE, three_segments);
	end.post(SRNIC_OP_SEND, one_segment);
	end.ask(one_segment);
	end.send_all();
	EXPECT_EQ(end.opcodes(),
		  (Opcodes{op_response, op_response, op_response, op_write, op_write, op_write,
			   op_response, op_send}));
}

// Neither side starves: Writes and due responses alternate.
TEST(Turns, WritesAndResponsesAlternate)
{
	SendEnd end;

	for (int i = 0; i < 3; i++) {
		end.ask(one_segment);
		end.post(SRNIC_OP_WRITE, one_segment);
	}
	end.send_all();
	EXPECT_EQ(end.opcodes(), (Opcodes{op_write, op_response, op_write, op_response, op_write,
					  op_response}));
}

// Choosing has no effect: an engine without room asks again later, and gets the same answer.
TEST(Turns, ChoosingAgainChangesNothing)
{
	SendEnd end;
	u32 len;

	end.post(SRNIC_OP_SEND, one_segment);
	end.ask(one_segment);
	len = core_tx_choose(&end.tx);
	EXPECT_EQ(core_tx_choose(&end.tx), len);
	EXPECT_EQ(end.host.taken, 1u);
	end.send_all();
	EXPECT_EQ(end.opcodes(), (Opcodes{op_send, op_response}));
}

// ---- What waits for reads ----

// RFC 5040 8.1.4 and 5.2.1: never more reads outstanding than the ORD.
TEST(Waiting, AReadForOneOfTheOrdsPlaces)
{
	SendEnd end;

	for (int i = 0; i < 3; i++)
		end.post(SRNIC_OP_READ, 8);
	end.post(SRNIC_OP_SEND, 8);
	end.send_all();
	EXPECT_EQ(end.opcodes(), (Opcodes{op_request, op_request}));
	EXPECT_GT(end.host.waits, 0u);
	EXPECT_EQ(end.host.taken, 2u);
	end.answer_a_read();
	end.send_all();
	EXPECT_EQ(end.opcodes(), (Opcodes{op_request, op_request, op_request, op_send}));
}

// With an ORD of zero a read is impossible.
TEST(Waiting, AnOrdOfNoneHasNoReads)
{
	SendEnd end(0, true, 0);

	end.post(SRNIC_OP_READ, 8);
	end.send_all();
	EXPECT_TRUE(end.out.empty());
	EXPECT_EQ(end.host.completions,
		  (std::vector<PostedSends::Completion>{{0, SRNIC_WC_LOC_QP_OP_ERR}}));
	EXPECT_TRUE(end.host.terminate);
}

// The fence of verbs, RFC 5040 5.5: a fenced request begins when all earlier reads are complete.
TEST(Waiting, AFenceForAllReads)
{
	SendEnd end;

	end.post(SRNIC_OP_READ, 8);
	end.post(SRNIC_OP_SEND, 8, SRNIC_WQE_FENCE);
	end.send_all();
	EXPECT_EQ(end.opcodes(), (Opcodes{op_request}));
	end.answer_a_read();
	end.send_all();
	EXPECT_EQ(end.opcodes(), (Opcodes{op_request, op_send}));
}

// The peer's reads are answered meanwhile: otherwise both ends could wait for each other for ever.
TEST(Waiting, ResponsesDoNotWaitForReads)
{
	SendEnd end;

	end.post(SRNIC_OP_READ, 8);
	end.post(SRNIC_OP_SEND, 8, SRNIC_WQE_FENCE);
	end.ask(three_segments);
	end.send_all();
	EXPECT_EQ(end.opcodes(), (Opcodes{op_request, op_response, op_response, op_response}));
}

// ---- How a stream begins ----

// RFC 6581 9.2: the initiator's first FPDU in peer-to-peer mode is the one agreed on.
TEST(Rtr, ComesBeforeWhatWasPosted)
{
	const std::pair<u8, u8> types[] = {{CORE_RTR_SEND, op_send},
					   {CORE_RTR_WRITE, op_write},
					   {CORE_RTR_READ, op_request}};

	for (auto [rtr, opcode] : types) {
		SendEnd end(rtr);

		end.post(SRNIC_OP_SEND, 8);
		end.send_all();
		ASSERT_EQ(end.opcodes(), (Opcodes{opcode, op_send}));
		EXPECT_EQ(end.host.built, 1u);
		// A Send of it is message 1 of its queue.
		EXPECT_EQ(msn(end.out[1]), rtr == CORE_RTR_SEND ? 2u : 1u);
		EXPECT_TRUE(end.out[0].last);
	}
}

// RFC 6581 9.2: it has zero length. Some hardware still needs nonzero STags.
TEST(Rtr, HasNoLength)
{
	SendEnd write(CORE_RTR_WRITE), read(CORE_RTR_READ);

	write.send_all();
	EXPECT_EQ(write.out.at(0).ulpdu, wire::hex("c140 00000001 0000000000000000"));
	read.host.random = 0;
	read.send_all();
	EXPECT_EQ(read.out.at(0).ulpdu,
		  wire::hex("4141 00000000 00000001 00000001 00000000"
			    "00000001 0000000000000000 00000000 00000001 0000000000000000"));
	ASSERT_EQ(read.host.reads.size(), 1u);
	EXPECT_EQ(read.host.reads[0].kind, CORE_READ_RTR);
}

// RFC 5044 7.1.2 rule 4: a responder sends nothing before it has validated an FPDU.
TEST(Hold, AResponderSendsNothingFirst)
{
	SendEnd end(0, false);

	end.host.validated = false;
	end.post(SRNIC_OP_SEND, 8);
	end.ask(8);
	end.send_all();
	EXPECT_TRUE(end.out.empty());
	EXPECT_EQ(end.host.taken, 0u);
	EXPECT_FALSE(core_tx_may_take(&end.tx));
	end.host.validated = true;
	EXPECT_TRUE(core_tx_may_take(&end.tx));
	end.send_all();
	EXPECT_EQ(end.opcodes(), (Opcodes{op_send, op_response}));
}

// RFC 5044 7.1.2 rule 4: not even a Terminate.
TEST(Hold, NorATerminate)
{
	core_terminate term{};
	SendEnd end(0, false);

	end.host.validated = false;
	EXPECT_FALSE(end.send_terminate(term));
	EXPECT_FALSE(end.send_one());
}

TEST(Hold, AnInitiatorDoesNotWait)
{
	SendEnd end;

	end.host.validated = false;
	end.post(SRNIC_OP_SEND, 8);
	EXPECT_TRUE(end.send_one());
}

// ---- Local operations ----

// They take their place in the order, and send nothing.
TEST(Local, DoneWhenTheirTurnComes)
{
	SendEnd end;

	end.post(SRNIC_OP_READ, 8);
	end.post(SRNIC_OP_LOCAL_INV, 0, SRNIC_WQE_FENCE).imm_inv = 0x900;
	end.post(SRNIC_OP_REG_MR).arg[1] = 7ull << 32;
	end.post(SRNIC_OP_SEND, 8);
	end.send_all();
	EXPECT_TRUE(end.host.invalidated.empty());
	end.answer_a_read();
	end.send_all();
	EXPECT_EQ(end.host.invalidated, (std::vector<u32>{0x900}));
	EXPECT_EQ(end.host.registered, (std::vector<u32>{7}));
	std::vector<PostedSends::Completion> both = {{1, SRNIC_WC_SUCCESS}, {2, SRNIC_WC_SUCCESS}};
	EXPECT_EQ(end.host.completions, both);
	EXPECT_EQ(end.opcodes(), (Opcodes{op_request, op_send}));
}

// ---- Errors of this end (RFC 5040 7.1 case 1) ----

static void expect_refused(SendEnd &end, u8 status)
{
	end.post(SRNIC_OP_SEND, 8);
	end.ask(8);
	end.send_all();
	EXPECT_TRUE(end.out.empty());
	EXPECT_EQ(end.host.completions, (std::vector<PostedSends::Completion>{{0, status}}));
	EXPECT_EQ(end.host.taken, 1u);
	ASSERT_TRUE(end.host.terminate);
	EXPECT_EQ(end.host.terminate->layer, CORE_LAYER_RDMAP);
	EXPECT_EQ(end.host.terminate->etype, 0);
	EXPECT_FALSE(end.host.terminate->has_ddp || end.host.terminate->has_rdmap);
}

// RFC 5040 figure 9: a local catastrophic error. Nothing is sent after the refused request.
TEST(Refused, WhatMakesNoSense)
{
	for (u8 opcode : {0, 8, 99, 255}) {
		SendEnd end;

		end.post(opcode);
		expect_refused(end, SRNIC_WC_LOC_QP_OP_ERR);
	}
}

TEST(Refused, ListsThatMayNotBeUsed)
{
	SendEnd end;

	end.host.list_usable = false;
	end.post(SRNIC_OP_WRITE, 8);
	expect_refused(end, SRNIC_WC_LOC_PROT_ERR);
}

TEST(Refused, LocalOperationsThatFail)
{
	SendEnd end;

	end.host.local_works = false;
	end.post(SRNIC_OP_LOCAL_INV);
	expect_refused(end, SRNIC_WC_LOC_PROT_ERR);
}

TEST(Local, ABindTakesItsTurn)
{
	SendEnd end;

	end.post(SRNIC_OP_READ, 8);
	end.post(SRNIC_OP_BIND_MW, 0, SRNIC_WQE_FENCE).rkey = 0x901;
	end.post(SRNIC_OP_SEND, 8);
	end.send_all();
	EXPECT_TRUE(end.host.bound.empty());
	end.answer_a_read();
	end.send_all();
	EXPECT_EQ(end.host.bound, (std::vector<u32>{0x901}));
	EXPECT_EQ(end.host.completions,
		  (std::vector<PostedSends::Completion>{{1, SRNIC_WC_SUCCESS}}));
	EXPECT_EQ(end.opcodes(), (Opcodes{op_request, op_send}));
}

// A program may post them as fast as they are done: the host gets its turn, and so does the peer.
TEST(Local, SomeAreDoneAtATime)
{
	SendEnd end;
	u32 turns = 0;

	for (int n = 0; n < 1000; n++)
		end.post(SRNIC_OP_BIND_MW);
	end.post(SRNIC_OP_SEND, 8);
	end.ask(8);
	EXPECT_TRUE(end.send_one());
	EXPECT_EQ(end.opcodes(), Opcodes{op_response});
	EXPECT_LE(end.host.bound.size(), 64u);
	for (bool sent = false; !sent && turns < 1000; turns++) {
		EXPECT_TRUE(core_tx_may_take(&end.tx));
		sent = end.send_one();
	}
	EXPECT_GT(turns, 10u);
	EXPECT_EQ(end.host.bound.size(), 1000u);
	EXPECT_EQ(end.opcodes(), (Opcodes{op_response, op_send}));
}

TEST(Refused, ABindThatFails)
{
	SendEnd end;

	end.host.local_works = false;
	end.post(SRNIC_OP_BIND_MW);
	expect_refused(end, SRNIC_WC_MW_BIND_ERR);
}

// Memory revoked in the middle of a message: no octet of the affected FPDU is sent, and the stream,
// with its markers, is back to where it was before that FPDU.
TEST(Rollback, PayloadThatIsGone)
{
	for (bool markers : {false, true}) {
		SendEnd end(0, true, 2, markers);
		core_terminate term{};
		Bytes before;

		end.post(SRNIC_OP_WRITE, three_segments);
		end.unreadable_from = 2000;
		ASSERT_TRUE(end.send_one());
		before = end.stream;
		core_markers were = end.tx.fpdu.markers;

		EXPECT_FALSE(end.send_one());
		EXPECT_EQ(end.host.completions,
			  (std::vector<PostedSends::Completion>{{0, SRNIC_WC_LOC_PROT_ERR}}));
		ASSERT_TRUE(end.host.terminate);
		EXPECT_EQ(memcmp(&were, &end.tx.fpdu.markers, sizeof(were)), 0);
		EXPECT_FALSE(end.send_one());

		term = *end.host.terminate;
		EXPECT_TRUE(end.send_terminate(term));
		Sender sender(markers);
		core_tx_msg write = message(CORE_MSG_WRITE, three_segments),
			    last = message(CORE_MSG_TERMINATE, 0);

		write.stag = 0x500;
		write.to = 0x7000;
		last.term = &term;
		sender.send_fpdu(write, Bytes(three_segments, 0xaa), end.tx.mulpdu);
		EXPECT_TRUE(sender.stream == before);
		sender.send(last, {}, 128);
		EXPECT_TRUE(sender.stream == end.stream);
	}
}

// RFC 5040 7.2 rule 4: the source of a read is revoked while it is answered. The Terminate has the
// request, updated by what was sent.
TEST(Rollback, TheSourceOfARead)
{
	SendEnd end;

	end.ask(8);
	end.ask(three_segments);
	end.unreadable_from = 2000;
	end.send_all();
	ASSERT_EQ(end.out.size(), 2u);
	ASSERT_TRUE(end.host.terminate);
	const core_terminate &term = *end.host.terminate;
	u32 sent = static_cast<u32>(end.out[1].ulpdu.size()) - 14;

	EXPECT_EQ(term.layer, CORE_LAYER_RDMAP);
	EXPECT_EQ(term.etype, 1);
	EXPECT_EQ(term.code, 0);
	EXPECT_EQ(Bytes(term.ddp, term.ddp + 18),
		  wire::hex("4141 00000000 00000001 00000002 00000000"));
	EXPECT_EQ(Bytes(term.read_request, term.read_request + 28),
		  be32(0x77) + be64(0x1111 + sent) + be32(three_segments - sent) + be32(0x300) +
			  be64(0x2222 + sent));
}

// ---- How a stream ends ----

// RFC 5040 5.4: one Terminate, at the boundary of an FPDU, even within a message; then nothing.
TEST(Last, TheTerminate)
{
	SendEnd end;
	core_terminate term{};

	term.layer = CORE_LAYER_DDP;
	term.etype = 2;
	term.code = 3;
	end.post(SRNIC_OP_WRITE, three_segments);
	end.post(SRNIC_OP_SEND, 8);
	end.ask(8);
	ASSERT_TRUE(end.send_one());
	EXPECT_TRUE(end.send_terminate(term));
	end.send_all();
	ASSERT_EQ(end.opcodes(), (Opcodes{op_write, op_terminate}));
	EXPECT_EQ(end.out[1].ulpdu,
		  wire::hex("4147 00000000 00000002 00000001 00000000 12 03 00 00"));
	EXPECT_FALSE(end.send_one());
}

// RFC 5041 6.2.1: requests posted before a graceful close are still sent, and nothing else.
TEST(Closing, WhatWasPostedGoesOut)
{
	SendEnd end;

	end.post(SRNIC_OP_SEND, 8);
	end.post(SRNIC_OP_SEND, 8);
	core_tx_close(&end.tx, 2, false);
	end.post(SRNIC_OP_SEND, 8);
	EXPECT_FALSE(core_tx_closed(&end.tx));
	end.send_all();
	EXPECT_EQ(end.out.size(), 2u);
	EXPECT_TRUE(core_tx_closed(&end.tx));
	EXPECT_FALSE(core_tx_may_take(&end.tx));
}

// RFC 5041 6.2.1: pending reads of the peer are still answered.
TEST(Closing, WhatWasAskedIsAnswered)
{
	SendEnd end;

	end.ask(three_segments);
	core_tx_close(&end.tx, 0, false);
	ASSERT_TRUE(end.send_one());
	EXPECT_FALSE(core_tx_closed(&end.tx));
	end.send_all();
	EXPECT_EQ(end.out.size(), 3u);
	EXPECT_TRUE(core_tx_closed(&end.tx));
}

// An outstanding read is awaited, unless the peer has closed its half.
TEST(Closing, WaitsForReadsWhileThePeerMayAnswer)
{
	SendEnd end;

	end.post(SRNIC_OP_READ, 8);
	core_tx_close(&end.tx, 1, false);
	end.send_all();
	EXPECT_FALSE(core_tx_closed(&end.tx));
	core_tx_close(&end.tx, 0, true);
	EXPECT_TRUE(core_tx_closed(&end.tx));
}

// What was posted since this end closed stays unsent when the peer closes as well.
TEST(Closing, ThePeersCloseLetsNothingMoreOut)
{
	SendEnd end;

	end.post(SRNIC_OP_SEND, 8);
	core_tx_close(&end.tx, 1, false);
	end.post(SRNIC_OP_SEND, 8);
	core_tx_close(&end.tx, 2, true);
	end.send_all();
	EXPECT_EQ(end.out.size(), 1u);
	EXPECT_TRUE(core_tx_closed(&end.tx));
}

// RFC 5044 7.1.2 rule 4: a responder whose peer closes without an FPDU will never send.
TEST(Closing, AHeldResponderHasNothingToWaitFor)
{
	SendEnd end(0, false);

	end.host.validated = false;
	end.post(SRNIC_OP_SEND, 8);
	core_tx_close(&end.tx, 1, true);
	EXPECT_TRUE(core_tx_closed(&end.tx));
}
