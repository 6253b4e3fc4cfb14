// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Where requests end in the stream, and Acks of what TCP has not delivered (Documentation/ib.rst,
// rule 117).
#include "ib_end.hh"

using wire::Bytes, wire::Tagged;

namespace {

// Octets of all that the end has sent, with MPA's around them.
u64 octets_of(const SendEnd &send)
{
	u64 octets = 0;

	for (const Fpdu &fpdu : send.out)
		octets += wire::fpdu(fpdu.ulpdu).size();
	return octets;
}

// Two Sends, the second one of several FPDUs, and where each ends.
struct Delivered : IbEnd {
	const u64 before = acks.octets;
	u64 first, second;

	Delivered()
	{
		send.post(SRNIC_OP_SEND, 5);
		sends();
		first = before + octets_of(send);
		send.post(SRNIC_OP_SEND, three_segments);
		sends();
		second = before + octets_of(send);
	}
};

} // namespace

// 117: a request ends behind its last FPDU.
TEST(IbDelivered, WhereRequestsEnd)
{
	Delivered end;

	EXPECT_GT(end.second, end.first + three_segments);
	EXPECT_EQ(end.acks.requests[1].end, end.first);
	EXPECT_EQ(end.acks.requests[2].end, end.second);
}

// 117: what is not built after all has no octets.
TEST(IbDelivered, WithoutAnFpduThatCannotBeBuilt)
{
	Delivered end;

	end.send.unreadable_from = one_segment;
	end.send.post(SRNIC_OP_SEND, one_segment / 2);
	end.send.post(SRNIC_OP_SEND, three_segments);
	end.sends();
	EXPECT_EQ(end.acks.octets, end.before + octets_of(end.send));
}

// 117: an Ack of a request whose last octet TCP has not delivered cannot be true.
TEST(IbDelivered, AnAckOfWhatTcpHasNotDelivered)
{
	for (u64 missing : {u64{1}, u64{0}}) {
		Delivered end;

		end.acks.gone = end.second - missing;
		EXPECT_EQ(end.ack({1}), CORE_RX_ACK);
		EXPECT_EQ(end.ack({2}), missing ? CORE_RX_ERROR : CORE_RX_ACK);
		EXPECT_EQ(end.acks.acked, missing ? 1u : 2u);
	}
}

// 117: nor does a refusal acknowledge it, or a response to a later request.
TEST(IbDelivered, NothingElseAcknowledgesIt)
{
	Delivered refusal, response;

	refusal.acks.gone = refusal.first;
	refusal.send.post(SRNIC_OP_SEND);
	refusal.sends();
	EXPECT_EQ(refusal.ack({2, CORE_SYNDROME_ACCESS}), CORE_RX_ERROR);

	response.send.post(SRNIC_OP_READ, 4);
	response.sends();
	response.acks.gone = response.first;
	response.receive.host.reads.push_back({response.send.host.reads[0].sink, Bytes(4)});
	EXPECT_EQ(response.comes(Tagged{.rdmap = wire::op_read_response,
					.stag = response.send.host.reads[0].sink.stag,
					.data = Bytes(4)}),
		  CORE_RX_ERROR);
}

// 117: of a request in progress TCP may have delivered any part: it may be refused.
TEST(IbDelivered, ARequestInProgressMayBeRefused)
{
	Delivered end;

	end.acks.gone = end.first + 1;
	EXPECT_EQ(end.ack({1, CORE_SYNDROME_ACCESS}), CORE_RX_ACK);
	EXPECT_EQ(end.acked().kind, CORE_ACKED_REFUSED);
}
