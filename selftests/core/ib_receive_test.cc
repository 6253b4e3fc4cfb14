// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Streams with acknowledgements, the receiving half (Documentation/ib.rst; numbers are its rules).
#include <cmath>

#include "ib_order.hh"

using wire::Bytes, wire::Tagged, wire::Untagged, wire::payload;

namespace {

constexpr u32 stag = 0x500, no_rights = 0x600, foreign = 0x700;
constexpr u64 base = 0x10000;
constexpr u8 every_right =
	CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ | CORE_ACCESS_REMOTE_ATOMIC;

// An end with a region of the peer's, which may have two Reads unanswered, and with regions that
// the peer may not use.
struct Responder : IbEnd {
	Responder()
	{
		receive.host.grant(stag, base, 4096, FakeHost::pd, every_right);
		receive.host.grant(no_rights, 0, 64, FakeHost::pd, 0);
		receive.host.grant(foreign, 0, 64, FakeHost::pd + 1, every_right);
		receive.host.read_room = 2;
	}
	u8 refuses() const { return acks.refusing; }
	Bytes memory(size_t octets) const
	{
		const Bytes &all = receive.host.regions.at(stag).memory;

		return {all.begin(), all.begin() + static_cast<ptrdiff_t>(octets)};
	}
};

Tagged write(const Bytes &data, u8 rdmap = wire::op_write, u64 to = base)
{
	return {.rdmap = rdmap, .stag = stag, .to = to, .data = data};
}

Untagged send(u32 msn, const Bytes &data = {}, u8 rdmap = wire::op_send)
{
	return {.rdmap = rdmap, .msn = msn, .data = data};
}

// An end that has sent five requests: a Send, a Write, a Read, a Write with Immediate Data, and a
// Send of which only the first FPDU is out.
struct Requester : IbEnd {
	Requester()
	{
		send.post(SRNIC_OP_SEND);
		send.post(SRNIC_OP_WRITE, 4);
		send.post(SRNIC_OP_READ, 4);
		send.post(SRNIC_OP_WRITE_IMM, 4);
		for (int n = 0; n < 5; n++)
			EXPECT_TRUE(send.send_one());
		send.post(SRNIC_OP_SEND, 4000);
		EXPECT_TRUE(send.send_one());
		receive.host.reads.push_back({send.host.reads[0].sink, Bytes(4)});
		EXPECT_EQ(acks.begun, 5u);
		EXPECT_EQ(acks.whole, 4u);
	}
	core_rx_event answers()
	{
		return comes(Tagged{.rdmap = wire::op_read_response,
				    .stag = send.host.reads[0].sink.stag,
				    .data = Bytes(4)});
	}
};

} // namespace

// ---- delivery ----

// 5: the Immediate Data come with the Send.
TEST(IbReceive, ASendWithImmediateData)
{
	Responder end;

	end.receive.host.post_receive(10);
	Untagged it = send(1, payload(3), wire::op_send_imm);
	it.inv_stag = 0x01020304;
	EXPECT_EQ(end.comes(it), CORE_RX_SEND);
	EXPECT_EQ(end.receive.deliveries.back().with, (Bytes{1, 2, 3, 4, 0, 0, 0, 0}));
	EXPECT_EQ(end.receive.deliveries.back().data, payload(3));
	EXPECT_FALSE(end.receive.deliveries.back().solicited);
	EXPECT_EQ(end.acks.received, 1u);
}

TEST(IbReceive, ASolicitedSendWithImmediateData)
{
	Responder end;

	end.receive.host.post_receive(10);
	EXPECT_EQ(end.comes(send(1, {}, wire::op_send_se_imm)), CORE_RX_SEND);
	EXPECT_TRUE(end.receive.deliveries.back().solicited);
}

// 6, 9: a Write and its Immediate Data are one request, counted with the second.
TEST(IbReceive, AWriteWithImmediateDataIsOneRequest)
{
	Responder end;

	end.receive.host.post_receive(10);
	EXPECT_EQ(end.comes(write(payload(5), wire::op_write | wire::more)), CORE_RX_WRITE);
	EXPECT_EQ(end.acks.received, 0u);
	EXPECT_EQ(end.comes(wire::immediate(7)), CORE_RX_SEND);
	EXPECT_EQ(end.receive.deliveries.back().length, 5u);
	EXPECT_EQ(end.acks.received, 1u);
}

// 9: each request counts once, when all of it is there.
TEST(IbReceive, RequestsAreCounted)
{
	Responder end;
	Tagged first = write(payload(4)), rest = write(payload(4), wire::op_write, base + 4);

	first.ddp = 0x81;
	end.comes(first);
	EXPECT_EQ(end.acks.received, 0u);
	end.comes(rest);
	EXPECT_EQ(end.acks.received, 1u);
	EXPECT_EQ(end.comes(wire::read_request({1, 0, 4, stag, base})), CORE_RX_READ_REQUEST);
	EXPECT_EQ(end.acks.received, 2u);
	EXPECT_EQ(end.receive.asked().number, 2u);
	EXPECT_EQ(end.comes(wire::atomic_request({.stag = stag, .to = base}, 2)),
		  CORE_RX_ATOMIC_REQUEST);
	EXPECT_EQ(end.acks.received, 3u);
	EXPECT_EQ(end.receive.asked().number, 3u);
}

// 3: `ask` counts in the last segment.
TEST(IbReceive, AskCountsInTheLastSegment)
{
	Responder end;
	Tagged first = write(payload(4), wire::op_write | wire::ask),
	       rest = write(payload(4), wire::op_write, base + 4);

	first.ddp = 0x81;
	end.comes(first);
	end.comes(rest);
	EXPECT_EQ(end.acks.asked, 0u);
	end.comes(write(payload(1), wire::op_write | wire::ask));
	EXPECT_EQ(end.acks.asked, 2u);
}

// 3: elsewhere the bits are not checked.
TEST(IbReceive, BitsWithoutAMeaningAreIgnored)
{
	Responder end;

	end.receive.host.post_receive(10);
	EXPECT_EQ(end.comes(send(1, payload(3), wire::op_send | wire::more)), CORE_RX_SEND);
	end.receive.host.post_receive(10);
	EXPECT_EQ(end.comes(write({}, wire::op_write | wire::more | wire::ask)), CORE_RX_WRITE);
	EXPECT_EQ(end.acks.asked, 0u);
	EXPECT_EQ(end.comes(wire::immediate(7, 2)), CORE_RX_SEND);
	EXPECT_EQ(end.acks.received, 2u);
	EXPECT_EQ(end.acks.asked, 0u);
}

// 1: without CRCs their field is not checked.
TEST(IbReceive, WithoutCrcs)
{
	Acks acks;
	Stream stream(receive_params(acks, false));
	Bytes fpdu = wire::fpdu(write({}));

	fpdu.back() ^= 1;
	EXPECT_EQ(stream.feed_fpdu(fpdu), CORE_RX_WRITE);
}

// 6: the Immediate Data take no memory of their receive.
TEST(IbReceive, ImmediateDataTakeNoMemory)
{
	Responder end;

	end.receive.host.post_receive(0);
	end.comes(write(payload(5), wire::op_write | wire::more));
	EXPECT_EQ(end.comes(wire::immediate(0x0102030400000000)), CORE_RX_SEND);
	EXPECT_EQ(end.receive.host.receives_taken, 1u);
	EXPECT_EQ(end.receive.deliveries.back().data, (Bytes{1, 2, 3, 4, 0, 0, 0, 0}));
}

// 7: responses and Acks come among the segments of a request.
TEST(IbReceive, ResponsesAndAcksInsideARequest)
{
	Requester end;
	Untagged first = send(1, payload(3)), rest = first;

	end.receive.host.post_receive(10);
	first.ddp = 0x01;
	rest.mo = 3;
	EXPECT_EQ(end.comes(first), CORE_RX_MORE);
	EXPECT_EQ(end.ack({2}), CORE_RX_ACK);
	EXPECT_EQ(end.answers(), CORE_RX_READ_RESPONSE);
	EXPECT_EQ(end.comes(rest), CORE_RX_SEND);
	EXPECT_EQ(end.receive.deliveries.back().length, 6u);
}

// 9: a Send with Invalidate counts after its invalidation: if that is refused it does not.
TEST(IbReceive, ARefusedInvalidationDoesNotCount)
{
	Responder end;

	end.receive.host.post_receive(0);
	EXPECT_EQ(end.receive.feed_fpdu(wire::fpdu(send(1, {}, wire::op_send_inv))), CORE_RX_SEND);
	EXPECT_EQ(core_rx_fail_invalidate(&end.receive.rx, CORE_REGION_ACCESS), CORE_RX_REFUSED);
	EXPECT_EQ(end.refuses(), CORE_SYNDROME_INVALID);
	EXPECT_EQ(end.acks.received, 0u);
	EXPECT_TRUE(end.receive.over());
}

// ---- receiver not ready ----

// 20: nothing of what follows has an effect, until the request comes again.
TEST(IbNotReady, DropsWhatFollows)
{
	Responder end;

	EXPECT_EQ(end.comes(send(1, payload(3))), CORE_RX_REFUSED);
	EXPECT_EQ(end.refuses(), CORE_SYNDROME_NOT_READY);
	EXPECT_EQ(end.sends(), std::vector<u8>{CORE_MSG_ACK});
	end.receive.host.post_receive(10);
	EXPECT_EQ(end.comes(write(payload(4), wire::op_write | wire::ask)), CORE_RX_MORE);
	EXPECT_EQ(end.comes(send(2)), CORE_RX_MORE);
	EXPECT_EQ(end.comes(wire::read_request({1, 0, 4, stag, base})), CORE_RX_MORE);
	EXPECT_EQ(end.comes(wire::atomic_request({.stag = stag, .to = base}, 2)), CORE_RX_MORE);
	EXPECT_EQ(end.memory(4), Bytes(4));
	EXPECT_EQ(end.acks.received, 0u);
	EXPECT_EQ(end.acks.asked, 0u);
	EXPECT_EQ(end.receive.host.atomics_done, 0u);
	EXPECT_EQ(end.comes(send(1, payload(3))), CORE_RX_SEND);
	EXPECT_EQ(end.comes(write(payload(4))), CORE_RX_WRITE);
	EXPECT_EQ(end.acks.received, 2u);
	EXPECT_EQ(end.memory(4), payload(4));
}

// 20: the rest of a Send of several segments is dropped, too.
TEST(IbNotReady, DropsTheRestOfTheSend)
{
	Responder end;
	Untagged first = send(1, payload(3)), rest = send(1, payload(3));

	first.ddp = 0x01;
	rest.mo = 3;
	EXPECT_EQ(end.comes(first), CORE_RX_REFUSED);
	end.sends();
	end.receive.host.post_receive(10);
	EXPECT_EQ(end.comes(rest), CORE_RX_MORE);
	EXPECT_EQ(end.comes(first), CORE_RX_MORE);
	EXPECT_EQ(end.comes(rest), CORE_RX_SEND);
	EXPECT_EQ(end.receive.deliveries.back().length, 6u);
}

// 20: a dropped Write leaves no trace in the length that Immediate Data report.
TEST(IbNotReady, ImmediateDataReportTheirOwnWrite)
{
	Responder end;

	end.comes(write(payload(5), wire::op_write | wire::more));
	EXPECT_EQ(end.comes(wire::immediate(7)), CORE_RX_REFUSED);
	end.sends();
	end.comes(write(payload(100)));
	end.receive.host.post_receive(0);
	EXPECT_EQ(end.comes(wire::immediate(7)), CORE_RX_SEND);
	EXPECT_EQ(end.receive.deliveries.back().length, 5u);
	EXPECT_EQ(end.acks.received, 1u);
}

// 21: it is refused once each time that it comes.
TEST(IbNotReady, EachTimeItComes)
{
	Responder end;

	for (int n = 0; n < 3; n++) {
		EXPECT_EQ(end.comes(send(1)), CORE_RX_REFUSED);
		EXPECT_EQ(end.sends(), std::vector<u8>{CORE_MSG_ACK});
	}
	end.receive.host.post_receive(0);
	EXPECT_EQ(end.comes(send(1)), CORE_RX_SEND);
}

// 21: it cannot come again before the refusal was said.
TEST(IbNotReady, NotBeforeItIsSaid)
{
	Responder end;

	EXPECT_EQ(end.comes(send(1)), CORE_RX_REFUSED);
	EXPECT_EQ(end.comes(send(1)), CORE_RX_ERROR);
	EXPECT_EQ(code(end), 0x0210u);
}

// 20: the header of a dropped segment is checked as any.
TEST(IbNotReady, ADroppedHeaderMustBeValid)
{
	Responder end;

	EXPECT_EQ(end.comes(send(1)), CORE_RX_REFUSED);
	EXPECT_EQ(end.comes(Untagged{.qn = 5}), CORE_RX_ERROR);
	EXPECT_EQ(code(end), 0x1201u);
}

// 20: responses and Acks are taken as always.
TEST(IbNotReady, ResponsesAndAcksAreTaken)
{
	Requester end;

	EXPECT_EQ(end.comes(send(1)), CORE_RX_REFUSED);
	EXPECT_EQ(end.answers(), CORE_RX_READ_RESPONSE);
	EXPECT_EQ(end.ack({4}), CORE_RX_ACK);
	EXPECT_EQ(end.acks.acked, 4u);
}

// ---- refusals for good ----

namespace {

struct Case {
	const char *name;
	u8 syndrome;
	Bytes ulpdu;
	u8 access = every_right;
};

class IbRefused : public testing::TestWithParam<Case> {};

} // namespace

// 24, 25: the request is refused with this syndrome, and no more is taken.
TEST_P(IbRefused, ForGood)
{
	Responder end;

	end.acks.access = GetParam().access;
	end.receive.host.post_receive(2);
	EXPECT_EQ(end.comes(GetParam().ulpdu), CORE_RX_REFUSED);
	EXPECT_EQ(end.refuses(), GetParam().syndrome);
	EXPECT_EQ(end.acks.received, 0u);
	EXPECT_TRUE(end.receive.over());
	EXPECT_EQ(end.memory(4), Bytes(4));
	EXPECT_EQ(end.sends(), std::vector<u8>{CORE_MSG_ACK});
	EXPECT_TRUE(core_tx_over(&end.send.tx));
}

static const Case refused[] = {
	{"WriteWithoutItsFlag", CORE_SYNDROME_INVALID, write(payload(4)), 6 & ~2},
	{"EmptyWriteWithoutItsFlag", CORE_SYNDROME_INVALID, write({}), 0},
	{"ReadWithoutItsFlag", CORE_SYNDROME_INVALID, wire::read_request({1, 0, 4, stag, base}),
	 CORE_ACCESS_REMOTE_WRITE},
	{"AtomicWithoutItsFlag", CORE_SYNDROME_INVALID,
	 wire::atomic_request({.stag = stag, .to = base}),
	 CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ},
	{"UnknownAtomic", CORE_SYNDROME_INVALID,
	 wire::atomic_request({.code = 5, .stag = stag, .to = base})},
	{"AtomicOnAWordThatIsNotAligned", CORE_SYNDROME_INVALID,
	 wire::atomic_request({.stag = stag, .to = base + 4})},
	{"LongSend", CORE_SYNDROME_INVALID, send(1, payload(3))},
	{"WriteToNoRegion", CORE_SYNDROME_ACCESS, Tagged{.stag = 1, .data = Bytes(4)}},
	{"WriteBeyondItsRegion", CORE_SYNDROME_ACCESS,
	 write(payload(4), wire::op_write, base + 4093)},
	{"WriteThatWraps", CORE_SYNDROME_ACCESS, write(payload(4), wire::op_write, ~0ull - 1)},
	{"ReadOfNoRegion", CORE_SYNDROME_ACCESS, wire::read_request({1, 0, 4, 1, base})},
	{"ReadBeyondItsRegion", CORE_SYNDROME_ACCESS,
	 wire::read_request({1, 0, 0xffffffff, stag, base})},
	{"AtomicOfNoRegion", CORE_SYNDROME_ACCESS, wire::atomic_request({.stag = 1, .to = base})},
	{"AtomicBeyondItsRegion", CORE_SYNDROME_ACCESS,
	 wire::atomic_request({.stag = stag, .to = base + 4096})},
	{"WriteWithoutARight", CORE_SYNDROME_ACCESS, Tagged{.stag = no_rights, .data = Bytes(4)}},
	{"ReadWithoutARight", CORE_SYNDROME_ACCESS, wire::read_request({1, 0, 4, no_rights, 0})},
	{"AtomicWithoutARight", CORE_SYNDROME_ACCESS, wire::atomic_request({.stag = no_rights})},
	{"WriteToAnotherDomain", CORE_SYNDROME_ACCESS, Tagged{.stag = foreign, .data = Bytes(4)}},
	{"ReadOfAnotherDomain", CORE_SYNDROME_ACCESS, wire::read_request({1, 0, 4, foreign, 0})},
};

INSTANTIATE_TEST_SUITE_P(Each, IbRefused, testing::ValuesIn(refused),
			 [](const auto &one) { return one.param.name; });

// 24: more Reads and atomic operations than the IRD.
TEST(IbRefusal, TooManyReads)
{
	for (const Bytes &request : {Bytes(wire::read_request({1, 0, 4, stag, base})),
				     Bytes(wire::atomic_request({.stag = stag, .to = base}))}) {
		Responder end;

		end.receive.host.read_room = 0;
		EXPECT_EQ(end.comes(request), CORE_RX_REFUSED);
		EXPECT_EQ(end.refuses(), CORE_SYNDROME_INVALID);
		EXPECT_EQ(end.receive.host.atomics_done, 0u);
	}
}

// 24: a receive that is too short fails with the right status.
TEST(IbRefusal, AReceiveThatIsTooShort)
{
	Responder end;

	end.receive.host.post_receive(2);
	end.comes(send(1, payload(3)));
	EXPECT_EQ(core_rx_receive_status(&end.receive.rx), SRNIC_WC_LOC_LEN_ERR);
}

// 17: a receive that cannot be used is the responder's own error.
TEST(IbRefusal, AReceiveThatCannotBeUsed)
{
	Responder end;

	end.receive.host.post_receive(2, CORE_TAKE_BROKEN);
	EXPECT_EQ(end.comes(send(1, payload(1))), CORE_RX_REFUSED);
	EXPECT_EQ(end.refuses(), CORE_SYNDROME_OPERATION);
}

// 17: a region that is revoked while a Write arrives.
TEST(IbRefusal, ARegionThatIsRevokedMeanwhile)
{
	Responder end;
	const Bytes fpdu = wire::fpdu(write(payload(100)));

	end.receive.feed(Bytes(fpdu.begin(), fpdu.begin() + 20));
	EXPECT_EQ(core_rx_fail(&end.receive.rx, CORE_REGION_INVALID), CORE_RX_REFUSED);
	EXPECT_EQ(end.refuses(), CORE_SYNDROME_ACCESS);
	EXPECT_TRUE(end.receive.over());
}

// 29: the sink of an own Read that cannot be used: nothing is said to the peer.
TEST(IbRefusal, ASinkThatCannotBeUsed)
{
	Requester end;
	const Bytes fpdu = wire::fpdu(Tagged{.rdmap = wire::op_read_response,
					     .stag = end.send.host.reads[0].sink.stag,
					     .data = Bytes(4)});

	end.receive.feed(Bytes(fpdu.begin(), fpdu.begin() + 17));
	EXPECT_EQ(core_rx_fail(&end.receive.rx, CORE_REGION_OK), CORE_RX_FAILED);
	EXPECT_TRUE(end.receive.over());
}

// 24: nothing is refused for a header whose CRC is wrong.
TEST(IbRefusal, NotBeforeTheCrcIsGood)
{
	Responder end;
	Bytes fpdu = wire::fpdu(Tagged{.stag = 1, .data = Bytes(4)});

	fpdu.back() ^= 1;
	EXPECT_EQ(end.receive.feed_fpdu(fpdu), CORE_RX_ERROR);
	EXPECT_EQ(code(end), 0x2002u);
	EXPECT_EQ(end.refuses(), CORE_SYNDROME_NONE);
}

// 24: a length of 0 needs no STag.
TEST(IbRefusal, NotOfWhatIsEmpty)
{
	Responder end;

	EXPECT_EQ(end.comes(Tagged{.stag = 1}), CORE_RX_WRITE);
	EXPECT_EQ(end.comes(wire::read_request({1, 0, 0, 1, 0})), CORE_RX_READ_REQUEST);
	EXPECT_EQ(end.acks.received, 2u);
}

// ---- order ----

namespace {

class IbOrder : public IbOrders {};

Bytes first_of_a_write(u8 rdmap = wire::op_write)
{
	Tagged first = write(payload(4), rdmap);

	first.ddp = 0x81;
	return first;
}

Bytes first_of_a_send()
{
	Untagged first = send(1, payload(1));

	first.ddp = 0x01;
	return first;
}

} // namespace

// 4, 6, 7: what breaks the order of requests ends the stream.
TEST_P(IbOrder, IsKept) { end_the_stream<Responder>(); }

static const Order orders[] = {
	{"SendInsideAWrite", 0x0206, {first_of_a_write(), send(1)}},
	{"WriteInsideASend", 0x0206, {first_of_a_send(), write({})}},
	{"ReadInsideAWrite", 0x0206, {first_of_a_write(), wire::read_request({1, 0, 4, stag})}},
	{"GapInAWrite", 0x0206, {first_of_a_write(), write(payload(4), wire::op_write, base + 8)}},
	{"MoreInOneSegmentOnly",
	 0x0206,
	 {first_of_a_write(), write(payload(4), wire::op_write | wire::more, base + 4)}},
	{"NoImmediateData", 0x0206, {write(payload(4), wire::op_write | wire::more), send(1)}},
	{"WriteBeforeTheImmediateData",
	 0x0206,
	 {write(payload(4), wire::op_write | wire::more), write({})}},
	{"ImmediateDataAlone", 0x0206, {wire::immediate(1)}},
	{"ReservedOpcode", 0x0206, {Untagged{.rdmap = 0x4f}}},
	{"AckOnAnotherQueue", 0x0206, {Untagged{.rdmap = wire::op_ack, .data = wire::Ack{}}}},
	{"ReservedQueue", 0x1201, {Untagged{.qn = 5}}},
	{"SendOutOfOrder", 0x1203, {send(2)}},
	{"LongReadRequest", 0x1205, {Bytes(wire::read_request({1, 0, 4, stag, base})) + Bytes{0}}},
	{"LongAtomicRequest", 0x1205, {Bytes(wire::atomic_request({.stag = stag})) + Bytes{0}}},
	{"LongImmediateData",
	 0x1205,
	 {write(payload(4), wire::op_write | wire::more), Bytes(wire::immediate(1)) + Bytes{0}}},
};

INSTANTIATE_TEST_SUITE_P(Each, IbOrder, testing::ValuesIn(orders),
			 [](const auto &one) { return one.param.name; });

// ---- Acks ----

// 13: requests before the one that is named, in the send queue.
TEST(IbAcked, CompletesRequests)
{
	Requester end;

	EXPECT_EQ(end.ack({2}), CORE_RX_ACK);
	EXPECT_EQ(end.acked().kind, CORE_ACKED);
	EXPECT_EQ(end.acked().end, 2u);
}

// 12: a response acknowledges all before it.
TEST(IbAcked, AResponseAcknowledgesWhatCameBefore)
{
	Requester end;

	EXPECT_EQ(end.answers(), CORE_RX_READ_RESPONSE);
	EXPECT_EQ(end.acked().end, 2u);
	EXPECT_EQ(end.acks.acked, 3u);
}

// 17, 26: a refusal names the request that fails.
TEST(IbAcked, ARefusalForGood)
{
	static const struct {
		u8 syndrome, status;
	} all[] = {{CORE_SYNDROME_INVALID, SRNIC_WC_REM_INV_REQ_ERR},
		   {CORE_SYNDROME_ACCESS, SRNIC_WC_REM_ACCESS_ERR},
		   {CORE_SYNDROME_OPERATION, SRNIC_WC_REM_OP_ERR}};

	for (const auto &each : all) {
		Requester end;

		EXPECT_EQ(end.ack({2, each.syndrome}), CORE_RX_ACK);
		EXPECT_EQ(end.acked().kind, CORE_ACKED_REFUSED);
		EXPECT_EQ(end.acked().end, 2u);
		EXPECT_EQ(end.acked().status, each.status);
	}
}

// 17: a request of which only some FPDUs were sent may be refused, too.
TEST(IbAcked, ARequestInProgressMayBeRefused)
{
	Requester end;

	end.answers();
	EXPECT_EQ(end.ack({4, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
	EXPECT_EQ(end.acked().kind, CORE_ACKED_AGAIN);
	EXPECT_EQ(end.acked().end, 4u);
}

// 23: so often, then it fails. An acknowledged request begins the count anew.
TEST(IbAcked, TriesAreCounted)
{
	IbEnd end;

	end.acks.rnr_retry = 2;
	for (int n = 0; n < 2; n++)
		end.send.post(SRNIC_OP_SEND);
	end.sends();
	for (u32 delivered : {0u, 0u, 1u, 1u}) {
		ASSERT_EQ(end.ack({delivered, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
		ASSERT_EQ(end.acked().kind, CORE_ACKED_AGAIN);
		end.goes_back();
		core_tx_resume(&end.send.tx);
		for (u32 n = delivered; n < 2; n++)
			end.send.post(SRNIC_OP_SEND);
		end.sends();
	}
	EXPECT_EQ(end.ack({1, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
	EXPECT_EQ(end.acked().kind, CORE_ACKED_REFUSED);
	EXPECT_EQ(end.acked().status, SRNIC_WC_RNR_RETRY_EXC_ERR);
	EXPECT_EQ(end.acked().end, 1u);
}

TEST(IbAcked, ForEverIsForEver)
{
	IbEnd end;

	for (int n = 0; n < 600; n++) {
		end.send.post(SRNIC_OP_SEND);
		end.sends();
		ASSERT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
		ASSERT_EQ(end.acked().kind, CORE_ACKED_AGAIN);
		end.goes_back();
		core_tx_resume(&end.send.tx);
	}
}

namespace {

struct Wrong {
	const char *name;
	std::vector<wire::Ack> acks; // the last one is wrong
};

class IbWrongAck : public testing::TestWithParam<Wrong> {};

} // namespace

// 18: an Ack that cannot be true ends the stream.
TEST_P(IbWrongAck, EndsTheStream)
{
	Requester end;
	core_rx_event event = CORE_RX_MORE;

	for (const wire::Ack &ack : GetParam().acks) {
		EXPECT_NE(event, CORE_RX_ERROR);
		event = end.ack(ack);
	}
	EXPECT_EQ(event, CORE_RX_ERROR);
	EXPECT_EQ(code(end), 0x0210u);
}

static const Wrong wrong_acks[] = {
	{"OfNothing", {{1}, {0}}},
	{"OfTheUnansweredRead", {{3}}},
	{"OfWhatFollowsTheRead", {{4}}},
	{"OfWhatIsNotWhole", {{5}}},
	{"OfWhatIsNotSent", {{6}}},
	{"OfWhatWraps", {{0xffffffff}}},
	{"OfHalfOfAllNumbers", {{0x80000000}}},
	{"UnknownSyndrome", {{1, 5}}},
	{"NoReceiveForAWrite", {{1, CORE_SYNDROME_NOT_READY, 1}}},
	{"NoReceiveForARead", {{2, CORE_SYNDROME_NOT_READY, 1}}},
	{"TimerOutOfRange", {{0, CORE_SYNDROME_NOT_READY, 32}}},
	{"AboveWhatIsRefused", {{0, CORE_SYNDROME_NOT_READY, 1}, {1}}},
	{"RefusedBeforeItCameAgain",
	 {{0, CORE_SYNDROME_NOT_READY, 1}, {0, CORE_SYNDROME_NOT_READY, 1}}},
	{"RefusedForGoodBeforeItCameAgain",
	 {{0, CORE_SYNDROME_NOT_READY, 1}, {0, CORE_SYNDROME_ACCESS}}},
};

INSTANTIATE_TEST_SUITE_P(Each, IbWrongAck, testing::ValuesIn(wrong_acks),
			 [](const auto &one) { return one.param.name; });

// 18: a response to what counts for nothing any more.
TEST(IbWrongResponse, AfterARefusal)
{
	Requester end;

	EXPECT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ACK);
	EXPECT_EQ(end.answers(), CORE_RX_ERROR);
	EXPECT_EQ(code(end), 0x0210u);
}

// 18: a response of any kind to a request that was not sent.
TEST(IbWrongResponse, ThatNobodyAskedFor)
{
	for (const Bytes &response :
	     {Bytes(Tagged{.rdmap = wire::op_read_response, .stag = 5, .data = payload(4)}),
	      Bytes(Tagged{.rdmap = wire::op_read_response}), Bytes(wire::atomic_response(5, 5))}) {
		IbEnd end;

		EXPECT_EQ(end.comes(response), CORE_RX_ERROR);
		EXPECT_EQ(code(end), 0x0210u);
	}
}

// 18: the refusal of a request that is not sent.
TEST(IbWrongAck, RefusesWhatIsNotSent)
{
	Requester end;

	end.answers();
	end.ack({4});
	end.send.host.validated = true;
	EXPECT_EQ(end.ack({5, CORE_SYNDROME_ACCESS}), CORE_RX_ERROR);
	EXPECT_EQ(code(end), 0x0210u);
}

// 18: nor of one whose payload could not be read for its first FPDU.
TEST(IbWrongAck, RefusesWhatCouldNotBeBuilt)
{
	IbEnd end;

	end.send.unreadable_from = 0;
	end.send.post(SRNIC_OP_SEND, 4);
	EXPECT_TRUE(end.sends().empty());
	EXPECT_FALSE(core_acks_unacknowledged(&end.acks));
	EXPECT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ERROR);
}

// 6, 18: a Write whose Immediate Data are not sent cannot have found no receive.
TEST(IbWrongAck, NoReceiveBeforeTheImmediateData)
{
	IbEnd end;

	end.send.post(SRNIC_OP_WRITE_IMM, 4);
	EXPECT_TRUE(end.send.send_one());
	EXPECT_EQ(end.ack({0, CORE_SYNDROME_NOT_READY, 1}), CORE_RX_ERROR);
}

// 8: an Ack is one segment of eight octets, with the next MSN.
TEST(IbWrongAck, Form)
{
	const Bytes whole = wire::Ack{};
	Untagged half = wire::ack({0}), longer = half, late = wire::ack({0}, 2), parted = half;

	half.data = Bytes(whole.begin(), whole.begin() + 7);
	longer.data = whole + Bytes{0};
	parted.ddp = 0x01;
	for (const Untagged &each : {half, longer, late, parted}) {
		Requester end;

		EXPECT_EQ(end.comes(each), CORE_RX_ERROR);
	}
}

// 8: what an Ack need not say is not checked.
TEST(IbAcked, TheTimerOfNoRefusalAndTheLastOctetsAreIgnored)
{
	Requester end;
	Untagged ack = wire::ack({2, 0, 99});

	ack.data[6] = ack.data[7] = 0xff;
	EXPECT_EQ(end.comes(ack), CORE_RX_ACK);
	EXPECT_EQ(end.acks.acked, 2u);
}

// ---- times ----

// 27: the table of the RNR NAK timer.
TEST(IbTimes, RnrTimer)
{
	static const double milliseconds[] = {
		655.36, 0.01,  0.02,  0.03,  0.04,  0.06,  0.08,   0.12,   0.16,   0.24,   0.32,
		0.48,   0.64,  0.96,  1.28,  1.92,  2.56,  3.84,   5.12,   7.68,   10.24,  15.36,
		20.48,  30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52};

	ASSERT_EQ(std::size(milliseconds), 32u);
	for (u8 code = 0; code < 32; code++)
		EXPECT_EQ(core_rnr_delay(code), std::lround(milliseconds[code] * 1000))
			<< int{code};
}

// 28: at least two seconds; 0 is for ever.
TEST(IbTimes, Timeout)
{
	EXPECT_EQ(core_ack_timeout(0, 7), 0u);
	EXPECT_EQ(core_ack_timeout(1, 0), 2000000u);
	EXPECT_EQ(core_ack_timeout(14, 7),
		  u64{4096} * 16384 / 1000 * 8 < 2000000 ? 2000000 : u64{4096} * 16384 / 1000 * 8);
	EXPECT_EQ(core_ack_timeout(20, 0), u64{4096} * 1048576 / 1000);
	EXPECT_EQ(core_ack_timeout(31, 7), u64{4096} * 2147483648 / 1000 * 8);
}
