// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Streams with acknowledgements: one ends and another takes its place; an end leaves its stream
// with a last Ack (Documentation/ib.rst; numbers are its rules).
#include "ib_end.hh"

using wire::Bytes, wire::Untagged;

namespace {

// The next stream of an end whose stream is over, with new queues: what is to be sent is posted
// again. It begins at the request that the engine goes back to.
struct Next {
	Acks &acks;
	SendEnd send;
	Stream receive;

	explicit Next(IbEnd &end, bool initiator = true)
		: acks(begin(end)), send(send_params(acks, initiator)),
		  receive(receive_params(acks))
	{
	}
	Opcodes sends()
	{
		send.send_all();
		return send.opcodes();
	}
	core_rx_event comes(const Bytes &ulpdu)
	{
		const core_rx_event event = receive.feed_fpdu(wire::fpdu(ulpdu));

		core_rx_done(&receive.rx);
		return event;
	}

private:
	static Acks &begin(IbEnd &end)
	{
		EXPECT_FALSE(core_acks_unacknowledged(&end.acks));
		core_acks_start(&end.acks, core_tx_next_request(&end.send.tx));
		return end.acks;
	}
};

// The scheduler chooses an FPDU, and TCP takes no more.
void chooses(IbEnd &end) { EXPECT_NE(core_tx_choose(&end.send.tx), 0u); }

// One request is acknowledged, and the one behind it cannot be sent: it has not completed yet.
void fails_second(IbEnd &end)
{
	end.send.post(SRNIC_OP_SEND);
	end.sends();
	end.send.host.list_usable = end.send.host.local_works = false;
}

Bytes last_ack(core_tx &tx)
{
	u8 octets[CORE_ACK_FPDU];
	const u32 len = core_tx_last_ack(&tx, octets);

	return Bytes(octets, octets + len);
}

} // namespace

// ---- which request is the next ----

// 57: an end is idle whose next request only waits. 9: it has no number yet.
TEST(IbReturn, ARequestThatOnlyWaitedIsTheNext)
{
	for (u8 opcode : {SRNIC_OP_SEND, SRNIC_OP_WRITE, SRNIC_OP_WRITE_IMM, SRNIC_OP_READ,
			  SRNIC_OP_FETCH_ADD, SRNIC_OP_IMM}) {
		IbEnd end;

		end.send.post(SRNIC_OP_SEND);
		end.sends();
		EXPECT_EQ(end.ack({1}), CORE_RX_ACK);
		end.send.post(opcode, 8);
		chooses(end);
		EXPECT_EQ(core_tx_next_request(&end.send.tx), 1u);
		Next next(end);

		next.send.post(opcode, 8);
		next.sends();
		EXPECT_EQ(next.acks.whole, 2u);
		EXPECT_EQ(next.acks.begun, 2u);
		EXPECT_EQ(core_tx_next_request(&next.send.tx), 2u);
	}
}

// 2, 61: what a responder has not sent waits for the next stream.
TEST(IbReturn, AMutedResponderTakesNothing)
{
	Acks acks;
	SendEnd end(send_params(acks, false));

	end.host.validated = false;
	end.post(SRNIC_OP_REG_MR);
	end.post(SRNIC_OP_SEND);
	end.send_all();
	EXPECT_EQ(core_tx_next_request(&end.tx), 0u);
	EXPECT_FALSE(core_acks_unacknowledged(&acks));
	EXPECT_TRUE(end.host.registered.empty());
}

// 57: a request of which an FPDU is out is unacknowledged.
TEST(IbReturn, NotWithARequestThatHasBegun)
{
	IbEnd end;

	end.send.post(SRNIC_OP_SEND, three_segments);
	EXPECT_TRUE(end.send.send_one());
	EXPECT_TRUE(core_acks_unacknowledged(&end.acks));
}

TEST(IbReturn, ARequestThatIsAcknowledgedIsNot)
{
	IbEnd end;

	end.send.post(SRNIC_OP_SEND);
	end.sends();
	EXPECT_EQ(end.ack({1}), CORE_RX_ACK);
	EXPECT_EQ(core_tx_next_request(&end.send.tx), 1u);
}

// A local operation is done once.
TEST(IbReturn, ARegistrationBeforeItIsNotDoneAgain)
{
	IbEnd end;

	end.send.post(SRNIC_OP_REG_MR);
	end.send.post(SRNIC_OP_SEND);
	chooses(end);
	EXPECT_EQ(end.send.host.registered.size(), 1u);
	Next next(end);

	EXPECT_EQ(next.acks.index, 1u);
	EXPECT_FALSE(core_acks_unacknowledged(&next.acks));
}

TEST(IbReturn, ALocalOperationAtTheEndIsNotDoneAgain)
{
	IbEnd end;

	end.send.post(SRNIC_OP_SEND);
	end.sends();
	EXPECT_EQ(end.ack({1}), CORE_RX_ACK);
	end.send.post(SRNIC_OP_REG_MR);
	end.send.post(SRNIC_OP_LOCAL_INV);
	end.sends();
	EXPECT_EQ(core_tx_next_request(&end.send.tx), 3u);
}

TEST(IbReturn, ABindBeforeItIsNotDoneAgain)
{
	IbEnd end;

	end.send.post(SRNIC_OP_BIND_MW).rkey = 0x901;
	end.send.post(SRNIC_OP_SEND);
	chooses(end);
	EXPECT_EQ(end.send.host.bound, std::vector<u32>{0x901});
	Next next(end);

	EXPECT_EQ(next.acks.index, 1u);
	EXPECT_FALSE(core_acks_unacknowledged(&next.acks));
}

TEST(IbReturn, AnInvalidationBehindItIsDoneOnce)
{
	IbEnd end;

	end.send.post(SRNIC_OP_SEND);
	end.send.post(SRNIC_OP_LOCAL_INV).imm_inv = 0x900;
	chooses(end);
	EXPECT_TRUE(end.send.host.invalidated.empty());
	Next next(end);

	EXPECT_EQ(next.acks.index, 0u);
	next.send.post(SRNIC_OP_SEND);
	next.send.post(SRNIC_OP_LOCAL_INV).imm_inv = 0x900;
	next.sends();
	EXPECT_TRUE(next.send.host.invalidated.empty());
	EXPECT_EQ(next.comes(wire::ack({1})), CORE_RX_ACK);
	next.sends();
	EXPECT_EQ(next.send.host.invalidated, std::vector<u32>{0x900});
}

// 29: it completes with its error on the next stream.
TEST(IbReturn, ARequestThatCannotBeSentFailsAgain)
{
	for (int opcode : {int{SRNIC_OP_SEND}, int{SRNIC_OP_REG_MR}}) {
		IbEnd end;

		fails_second(end);
		end.send.post(static_cast<u8>(opcode), one_segment);
		EXPECT_FALSE(end.send.send_one());
		EXPECT_EQ(end.ack({1}), CORE_RX_ACK);
		EXPECT_TRUE(end.send.host.completions.empty());
		EXPECT_EQ(core_tx_next_request(&end.send.tx), 1u);
		Next next(end);

		next.send.host.list_usable = next.send.host.local_works = false;
		next.send.post(static_cast<u8>(opcode), one_segment);
		EXPECT_EQ(next.sends(), Opcodes{CORE_MSG_ACK});
		EXPECT_EQ(next.send.host.completions,
			  (std::vector<PostedSends::Completion>{{0, SRNIC_WC_LOC_PROT_ERR}}));
		EXPECT_EQ(core_tx_over(&next.send.tx), CORE_OVER_FAILED);
	}
}

TEST(IbReturn, OrItSucceedsIfItCanBeSentNow)
{
	IbEnd end;

	fails_second(end);
	end.send.post(SRNIC_OP_REG_MR);
	EXPECT_FALSE(end.send.send_one());
	EXPECT_EQ(end.ack({1}), CORE_RX_ACK);
	Next next(end);

	next.send.post(SRNIC_OP_REG_MR);
	next.sends();
	EXPECT_EQ(next.send.host.registered.size(), 1u);
	EXPECT_EQ(core_tx_over(&next.send.tx), CORE_OVER_NOT);
}

// 22, 57: a request that waits to be sent again is not acknowledged.
TEST(IbReturn, NotWhileARequestIsToBeSentAgain)
{
	IbEnd end;

	end.send.post(SRNIC_OP_SEND);
	end.send.post(SRNIC_OP_REG_MR);
	end.sends();
	EXPECT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
	EXPECT_TRUE(core_acks_unacknowledged(&end.acks));
	end.goes_back();
	EXPECT_TRUE(core_acks_unacknowledged(&end.acks));
	end.send.post(SRNIC_OP_SEND);
	core_tx_resume(&end.send.tx);
	chooses(end);
	EXPECT_TRUE(core_acks_unacknowledged(&end.acks)); // so the registration is not repeated
}

// 23: only an acknowledged request begins the count anew.
TEST(IbReturn, RefusalsOfTheNextRequestCount)
{
	IbEnd end;

	end.acks.rnr_retry = 1;
	end.send.post(SRNIC_OP_SEND);
	end.sends();
	EXPECT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
	end.goes_back();
	end.send.post(SRNIC_OP_SEND);
	core_tx_resume(&end.send.tx);
	chooses(end);
	Next next(end);

	next.send.post(SRNIC_OP_SEND);
	EXPECT_EQ(next.sends(), (Opcodes{CORE_MSG_ACK, CORE_MSG_SEND}));
	EXPECT_EQ(next.comes(wire::ack({0, CORE_SYNDROME_NOT_READY, 1})), CORE_RX_ACK);
	EXPECT_EQ(core_rx_acked(&next.receive.rx)->kind, CORE_ACKED_REFUSED);
	EXPECT_EQ(core_rx_acked(&next.receive.rx)->status, SRNIC_WC_RNR_RETRY_EXC_ERR);
}

// ---- what the streams share ----

// 10: numbers go on. MSNs, those of Acks, too, begin anew in both directions.
TEST(IbReturn, NumbersGoOnAndMsnsBeginAnew)
{
	IbEnd end;

	end.send.post(SRNIC_OP_READ, 4);
	end.send.post(SRNIC_OP_SEND);
	end.sends();
	end.receive.host.reads.push_back({end.send.host.reads[0].sink, Bytes(4)});
	EXPECT_EQ(end.comes(wire::Tagged{.rdmap = wire::op_read_response,
					 .stag = end.send.host.reads[0].sink.stag,
					 .data = Bytes(4)}),
		  CORE_RX_READ_RESPONSE);
	EXPECT_EQ(end.ack({2}), CORE_RX_ACK);
	end.receive.host.post_receive(10);
	end.receive.host.post_receive(10);
	EXPECT_EQ(end.comes(Untagged{.msn = 1}), CORE_RX_SEND);
	EXPECT_EQ(end.comes(Untagged{.msn = 2}), CORE_RX_SEND);
	Next next(end);

	next.send.post(SRNIC_OP_READ, 4);
	next.send.post(SRNIC_OP_SEND);
	EXPECT_EQ(next.sends(), (Opcodes{CORE_MSG_ACK, CORE_MSG_READ_REQUEST, CORE_MSG_SEND}));
	for (const Fpdu &fpdu : next.send.out)
		EXPECT_EQ(msn(fpdu), 1u);
	EXPECT_EQ(delivered(next.send.out[0]), 2u);
	EXPECT_EQ(next.send.host.reads[0].sink.number, 3u);
	next.receive.host.post_receive(10);
	EXPECT_EQ(next.comes(Untagged{.msn = 1}), CORE_RX_SEND);
	EXPECT_EQ(next.acks.received, 3u);
	EXPECT_EQ(next.comes(wire::ack({2}, 1)), CORE_RX_ACK);
}

// 57: the peer knows what was delivered, by the counts: nothing is owed.
TEST(IbReturn, NoAckIsOwedForTheStreamBefore)
{
	IbEnd end;

	end.acks.received = end.acks.asked = 3;
	core_tx_ack_now(&end.send.tx);
	core_tx_probe(&end.send.tx);
	end.acks.probes = 2;
	chooses(end); // an Ack
	Next next(end, false);

	EXPECT_FALSE(core_acks_owed(&next.acks));
	EXPECT_EQ(next.sends(), Opcodes{});
}

// 20, 57: a peer whose request was refused does not return. It may have been reset: then its first
// request is a new one.
TEST(IbReturn, ARefusalEndsWithTheStream)
{
	for (bool is_said : {false, true}) {
		IbEnd end;

		EXPECT_EQ(end.comes(Untagged{}), CORE_RX_REFUSED);
		if (is_said)
			end.sends();
		Next next(end, false);

		EXPECT_EQ(next.acks.refusing, CORE_SYNDROME_NONE);
		EXPECT_EQ(next.sends(), Opcodes{});
		next.receive.host.post_receive(10);
		EXPECT_EQ(next.comes(Untagged{}), CORE_RX_SEND);
		EXPECT_EQ(next.acks.received, 1u);
		EXPECT_EQ(next.comes(Untagged{.msn = 2}), CORE_RX_REFUSED);
		EXPECT_EQ(next.sends(), Opcodes{CORE_MSG_ACK});
		EXPECT_EQ(delivered(next.send.out.back()), 1u);
		EXPECT_EQ(syndrome(next.send.out.back()), CORE_SYNDROME_NOT_READY);
	}
}

// 25: an end that refuses for good goes to the error state.
TEST(IbReturn, NotWithARefusalForGood)
{
	IbEnd end;

	end.send.post(SRNIC_OP_SEND);
	chooses(end);
	EXPECT_EQ(end.comes(wire::Tagged{.stag = 1, .data = Bytes(4)}), CORE_RX_REFUSED);
	EXPECT_TRUE(core_acks_unacknowledged(&end.acks));
	chooses(end); // the refusal, instead of the Send
	EXPECT_TRUE(core_acks_unacknowledged(&end.acks));
	EXPECT_EQ(core_tx_next_request(&end.send.tx), 0u);
	end.sends();
	EXPECT_EQ(core_tx_over(&end.send.tx), CORE_OVER_REFUSED);
	EXPECT_TRUE(core_acks_unacknowledged(&end.acks));
	EXPECT_TRUE(core_acks_must_fail(&end.acks));
}

// 29: an end whose request has failed goes to the error state, and does not take it again.
TEST(IbReturn, NotWithARequestThatHasFailed)
{
	IbEnd end;

	fails_second(end);
	end.send.post(SRNIC_OP_SEND, one_segment);
	EXPECT_EQ(end.ack({1}), CORE_RX_ACK);
	end.sends();
	EXPECT_EQ(core_tx_over(&end.send.tx), CORE_OVER_FAILED);
	EXPECT_TRUE(core_acks_unacknowledged(&end.acks));
	EXPECT_TRUE(core_acks_must_fail(&end.acks));
	EXPECT_EQ(core_tx_next_request(&end.send.tx), 2u);
}

// ---- the last Ack ----

// 31: of all that it has delivered, asked or not.
TEST(IbLastAck, IsOfAllThatWasDelivered)
{
	for (bool crc : {true, false}) {
		Acks acks;
		SendEnd end(send_params(acks, true, crc));

		end.send_all();
		acks.received = 3;
		const Bytes octets = last_ack(end.tx), ulpdu = wire::ack({3}, 2);

		EXPECT_EQ(octets, crc ? wire::fpdu(ulpdu) : wire::be16(26) + ulpdu + Bytes(4));
		EXPECT_EQ(octets.size(), u32{CORE_ACK_FPDU});
		EXPECT_FALSE(core_acks_owed(&acks));
	}
}

// 31: the rest of the message in progress is not sent.
TEST(IbLastAck, NothingFollowsIt)
{
	IbEnd end;

	end.send.post(SRNIC_OP_SEND, three_segments, signaled);
	EXPECT_TRUE(end.send.send_one());
	end.acks.received = end.acks.asked = 1;
	EXPECT_EQ(last_ack(end.send.tx), wire::fpdu(wire::ack({1}, 2)));
	core_tx_probe(&end.send.tx);
	EXPECT_EQ(end.sends(), Opcodes{});
	EXPECT_EQ(last_ack(end.send.tx), Bytes{});
}

// 11: not of what follows an unanswered Read, nor of that.
TEST(IbLastAck, StopsBeforeAnUnansweredRead)
{
	for (u32 length : {one_segment, three_segments}) {
		IbEnd end;

		end.send.ask(length);
		end.send.host.asked.back().number = 2;
		end.acks.received = end.acks.asked = 3;
		if (length == three_segments) { // partly answered
			EXPECT_TRUE(end.send.send_one());
			EXPECT_TRUE(end.send.send_one());
		}
		EXPECT_EQ(word(last_ack(end.send.tx), 2 + 18), 1u);
	}
}

// 11, 12: a response that is built has acknowledged its request, counted or not.
TEST(IbLastAck, IsNotBehindTheLastResponse)
{
	IbEnd end;

	end.send.ask(one_segment);
	end.send.host.asked.back().number = 1;
	EXPECT_EQ(end.sends(), Opcodes{CORE_MSG_READ_RESPONSE});
	EXPECT_EQ(last_ack(end.send.tx), wire::fpdu(wire::ack({1}, 2)));
}

// 31: it does not refuse, and does not acknowledge what is refused.
TEST(IbLastAck, DoesNotAcknowledgeWhatIsRefused)
{
	for (bool is_chosen : {false, true})
		for (const Bytes &refused : {Bytes(Untagged{.msn = 2}),
					     Bytes(wire::Tagged{.stag = 1, .data = Bytes(4)})}) {
			IbEnd end;

			end.receive.host.post_receive(10);
			EXPECT_EQ(end.comes(Untagged{}), CORE_RX_SEND);
			EXPECT_EQ(end.comes(refused), CORE_RX_REFUSED);
			if (is_chosen)
				chooses(end);
			EXPECT_EQ(last_ack(end.send.tx), wire::fpdu(wire::ack({1}, 2)));
		}
}

TEST(IbLastAck, DoesNotAcknowledgeAReadThatCannotBeAnswered)
{
	IbEnd end;

	end.send.ask(one_segment);
	end.send.host.asked.back().number = 2;
	end.acks.received = 2;
	end.send.unreadable_from = 0;
	EXPECT_FALSE(end.send.send_one());
	EXPECT_EQ(last_ack(end.send.tx), wire::fpdu(wire::ack({1}, 2)));
}

// 4, 8: an Ack that was chosen and not built has not used its number; that it asked is forgotten.
TEST(IbLastAck, HasTheNextMsn)
{
	IbEnd end;

	end.acks.received = end.acks.asked = 1;
	core_tx_probe(&end.send.tx);
	chooses(end);
	core_tx_probe(&end.send.tx);
	EXPECT_EQ(last_ack(end.send.tx), wire::fpdu(wire::ack({1}, 2)));
}

// 31: after a Terminate there is none.
TEST(IbLastAck, IsNotSentAfterATerminate)
{
	const core_terminate term{};
	IbEnd end;

	EXPECT_TRUE(end.send.send_terminate(term));
	EXPECT_EQ(last_ack(end.send.tx), Bytes{});
}

// 2, 61: a responder that has received nothing sends nothing; an initiator's Ack is its first.
TEST(IbLastAck, IsNotSentByAMutedResponder)
{
	for (bool initiator : {false, true}) {
		Acks acks;
		SendEnd end(send_params(acks, initiator));

		end.host.validated = false;
		EXPECT_EQ(last_ack(end.tx), initiator ? wire::fpdu(wire::ack({0}, 1)) : Bytes{});
	}
}

TEST(IbLastAck, IsOfStreamsWithAcknowledgementsOnly)
{
	SendEnd end;

	EXPECT_EQ(last_ack(end.tx), Bytes{});
}
