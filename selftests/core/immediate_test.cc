// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Immediate Data (RFC 7306 6 and 7), received and sent. rx_error_test.cc has what is refused.
#include "stream.hh"
#include "send_end.hh"

using namespace wire;

static Delivery immediate_delivery(u32 written, u64 data, bool solicited = false)
{
	return {.event = CORE_RX_SEND,
		.length = written,
		.solicited = solicited,
		.data = be64(data),
		.immediate = true};
}

// ---- Received ----

// RFC 7306 6: "The combination of an RDMA Write Message followed by an Immediate Data Operation has
// the same behavior as the RDMA Write with Immediate Data operation found in InfiniBand."
TEST(Immediate, TellsOfTheWriteThatCameBeforeIt)
{
	for (size_t cut : {1, 3, 1000}) {
		Stream s;

		s.host.grant(1, 0, 100);
		s.host.post_receive(4);
		s.feed_pieces(fpdu(Tagged{.ddp = 0x81, .stag = 1, .data = payload(40)}) +
				      fpdu(Tagged{.stag = 1, .to = 40, .data = payload(2)}) +
				      fpdu(immediate(0x1122334455667788)),
			      static_cast<unsigned>(cut));
		ASSERT_EQ(s.deliveries.size(), 2u);
		EXPECT_EQ(s.deliveries[1], immediate_delivery(42, 0x1122334455667788));
	}
}

// 6: "An Immediate Data operation that is not preceded by an RDMA Write operation causes an RDMA
// Completion."
TEST(Immediate, AloneTellsOfNothingElse)
{
	Stream s;

	s.host.grant(1, 0, 100);
	for (int i = 0; i < 4; i++)
		s.host.post_receive(10);
	s.feed(fpdu(immediate(1)) + fpdu(Tagged{.stag = 1, .data = payload(9)}) +
	       fpdu(immediate(2, 2)) + fpdu(immediate(3, 3)) +
	       fpdu(Tagged{.stag = 1, .data = payload(8)}) +
	       fpdu(Untagged{.msn = 4, .data = payload(1)}));
	s.host.post_receive(0);
	s.feed(fpdu(immediate(5, 5)));
	ASSERT_EQ(s.deliveries.size(), 7u);
	EXPECT_EQ(s.deliveries[0], immediate_delivery(0, 1));
	EXPECT_EQ(s.deliveries[2], immediate_delivery(9, 2));
	EXPECT_EQ(s.deliveries[3], immediate_delivery(0, 3));
	EXPECT_EQ(s.deliveries[6], immediate_delivery(0, 5));
}

// The last one counts, not all of them together.
TEST(Immediate, TellsOfOneWriteOnly)
{
	Stream s;

	s.host.grant(1, 0, 100);
	s.host.post_receive(0);
	s.feed(fpdu(Tagged{.stag = 1, .data = payload(70)}) +
	       fpdu(Tagged{.stag = 1, .data = payload(5)}) + fpdu(immediate(1)));
	EXPECT_EQ(s.deliveries.back(), immediate_delivery(5, 1));
}

// RFC 5041 4.2: segments of one message have the same STag, and each begins where the one before it
// ends. Those of a peer that does not care are counted alone.
TEST(Immediate, TellsOfSegmentsThatContinueEachOtherOnly)
{
	const Tagged first{.ddp = 0x81, .stag = 1, .to = 10, .data = payload(40)};
	Stream s;

	s.host.grant(1, 0, 100);
	s.host.grant(2, 0, 100);
	for (int i = 0; i < 3; i++)
		s.host.post_receive(0);
	s.feed(fpdu(first) + fpdu(Tagged{.stag = 1, .to = 10, .data = payload(7)}) +
	       fpdu(immediate(1)));
	EXPECT_EQ(s.deliveries.back(), immediate_delivery(7, 1));
	s.feed(fpdu(first) + fpdu(Tagged{.stag = 2, .to = 50, .data = payload(6)}) +
	       fpdu(immediate(2, 2)));
	EXPECT_EQ(s.deliveries.back(), immediate_delivery(6, 2));
	s.feed(fpdu(first) + fpdu(Tagged{.stag = 1, .to = 50, .data = payload(5)}) +
	       fpdu(immediate(3, 3)));
	EXPECT_EQ(s.deliveries.back(), immediate_delivery(45, 3));
}

// 6.3: "One Immediate Data or Immediate Data with SE Message MUST consume one Untagged Buffer", and
// they "MUST be Delivered to the Remote Peer's ULP in the order they were sent".
TEST(Immediate, ConsumesAReceiveAndComesInOrder)
{
	Stream s;

	for (int i = 0; i < 3; i++)
		s.host.post_receive(10);
	s.feed_octets(fpdu(Untagged{.data = payload(3)}) +
		      fpdu(Untagged{.rdmap = op_immediate_se, .msn = 2, .data = be64(7)}) +
		      fpdu(Untagged{.msn = 3, .data = payload(4)}));
	ASSERT_EQ(s.deliveries.size(), 3u);
	EXPECT_EQ(s.host.receives_taken, 3u);
	EXPECT_EQ(s.deliveries[0].length, 3u);
	EXPECT_EQ(s.deliveries[1], immediate_delivery(0, 7, true));
	EXPECT_EQ(s.deliveries[2].length, 4u);
}

// 7: "Immediate Data is Completed after RDMA Write is Placed and Delivered".
TEST(Immediate, ComesAfterItsWriteIsPlaced)
{
	Stream s;
	Bytes all = fpdu(Tagged{.stag = 1, .data = payload(20)}) + fpdu(immediate(1));

	s.host.grant(1, 0, 20);
	s.host.post_receive(0);
	s.feed_octets(Bytes(all.begin(), all.end() - 1));
	EXPECT_EQ(s.deliveries, std::vector<Delivery>{{CORE_RX_WRITE}});
	EXPECT_EQ(s.host.regions[1].memory, payload(20));
	s.feed({all.back()});
	EXPECT_EQ(s.deliveries.back(), immediate_delivery(20, 1));
}

// A responder that waits for an RTR takes it for nothing else (RFC 6581 9.2).
TEST(Immediate, IsNoRtr)
{
	Stream s(true, CORE_RTR_SEND);

	s.host.post_receive(0);
	s.feed(fpdu(immediate(1)));
	EXPECT_EQ(s.deliveries.back(), immediate_delivery(0, 1));
	EXPECT_EQ(s.host.receives_taken, 1u);
}

// ---- Sent ----

static void set_data(srnic_send_wqe &wqe, u64 data)
{
	Bytes octets = be64(data);

	memcpy(wqe.arg, octets.data(), octets.size());
}

// Figures 2 and 7, A.3: untagged, on queue 0, RDMA Version 01b, Invalidate STag zero, and 8 octets.
TEST(SendImmediate, LooksAsTheRfcDrawsIt)
{
	SendEnd end;

	set_data(end.post(SRNIC_OP_IMM), 0x0102030405060708);
	set_data(end.post(SRNIC_OP_IMM, 0, SRNIC_WQE_SOLICITED), ~0ull);
	end.send_all();
	ASSERT_EQ(end.out.size(), 2u);
	EXPECT_EQ(end.out[0].ulpdu,
		  hex("41 48 00000000 00000000 00000001 00000000 0102030405060708"));
	EXPECT_EQ(end.out[1].ulpdu,
		  hex("41 49 00000000 00000000 00000002 00000000 ffffffffffffffff"));
	EXPECT_EQ(end.host.built, 2u);
}

// 6.3: "The Local Peer MUST issue Immediate Data and Immediate Data with SE Messages in the order
// they were submitted by the ULP"; and a request with a Write is built when both messages are.
TEST(SendImmediate, FollowsItsWriteAtOnce)
{
	SendEnd end;

	set_data(end.post(SRNIC_OP_WRITE_IMM, 4000), 1);
	end.post(SRNIC_OP_SEND, 4);
	set_data(end.post(SRNIC_OP_WRITE_IMM, 0, SRNIC_WQE_SOLICITED), 2);
	for (int i = 0; i < 3; i++)
		ASSERT_TRUE(end.send_one());
	EXPECT_EQ(end.host.built, 0u);
	EXPECT_FALSE(core_tx_closed(&end.tx));
	ASSERT_TRUE(end.send_one());
	EXPECT_EQ(end.host.built, 1u);
	end.send_all();
	EXPECT_EQ(end.opcodes(), (std::vector<u8>{0, 0, 0, 8, 3, 0, 9}));
	EXPECT_EQ(end.host.built, 3u);
	EXPECT_TRUE(core_tx_closed(&end.tx));
}

// Not even a response that waits for its turn comes between.
TEST(SendImmediate, LetsNothingBetweenItAndItsWrite)
{
	SendEnd end;

	end.post(SRNIC_OP_WRITE_IMM, 4000);
	ASSERT_TRUE(end.send_one());
	end.ask(100);
	end.send_all();
	EXPECT_EQ(end.opcodes(), (std::vector<u8>{0, 0, 0, 8, 2}));
}

// RFC 5040 5.4: but a Terminate goes out instead of what is left.
TEST(SendImmediate, DoesNotFollowATerminate)
{
	core_terminate term{};
	SendEnd end;

	end.post(SRNIC_OP_WRITE_IMM, 4000);
	ASSERT_TRUE(end.send_one());
	ASSERT_TRUE(end.send_terminate(term));
	end.send_all();
	EXPECT_EQ(end.opcodes(), (std::vector<u8>{0, 7}));
}

// RFC 7306 3 has no message with both payload and Immediate Data.
TEST(SendImmediate, AloneHasNoPayload)
{
	SendEnd end;

	end.post(SRNIC_OP_IMM, 1);
	end.send_all();
	EXPECT_TRUE(end.out.empty());
	EXPECT_EQ(end.host.completions.at(0).status, SRNIC_WC_LOC_QP_OP_ERR);
}
