// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The table of framings: the scheduler does what the rows say, and sets of framings have what their
// members have.
#include <set>

#include "ib_end.hh"

namespace {

constexpr core_framing all[] = {CORE_FRAMING_MPA, CORE_FRAMING_RDMATCP, CORE_FRAMING_IB};
constexpr u32 first = 7;

const core_framing_traits &row(core_framing framing) { return *core_framing_traits_of(framing); }

core_tx_params params(core_framing framing, bool initiator, Acks &acks)
{
	core_tx_params out{};

	out.framing = u8(framing);
	if (row(framing).acknowledges)
		out.acks = &acks;
	out.first_msn = first;
	out.ord = SendEnd::ord;
	out.initiator = initiator;
	return out;
}

// An end of such a stream, which has sent what it sends without a request.
struct FramedEnd {
	Acks acks;
	SendEnd end;

	explicit FramedEnd(core_framing framing, bool initiator = true)
		: end(params(framing, initiator, acks))
	{
		if (initiator)
			end.send_all();
	}
};

// Posts one request and sends what becomes of it.
std::unique_ptr<FramedEnd> end_after(core_framing framing, u8 opcode, u32 octets)
{
	auto framed = std::make_unique<FramedEnd>(framing);

	framed->end.post(opcode, octets);
	framed->end.send_all();
	return framed;
}

bool refused(const SendEnd &end)
{
	return !end.host.completions.empty() &&
	       end.host.completions[0].status == SRNIC_WC_LOC_QP_OP_ERR;
}

} // namespace

TEST(Framings, EachHasAName)
{
	std::set<std::string> names;

	for (core_framing framing : all)
		EXPECT_TRUE(names.insert(row(framing).name).second);
}

TEST(Framings, TerminateIsSentOrNot)
{
	const core_terminate term{};

	for (core_framing framing : all) {
		FramedEnd framed(framing);
		SendEnd &end = framed.end;

		EXPECT_EQ(core_tx_terminate(&end.tx, &term) != 0, row(framing).terminate != 0);
	}
}

TEST(Framings, OperationsWithoutAMessageAreRefused)
{
	for (core_framing framing : all) {
		auto atomic = end_after(framing, SRNIC_OP_FETCH_ADD, 8);
		auto immediate = end_after(framing, SRNIC_OP_IMM, 8);

		EXPECT_EQ(refused(atomic->end), !row(framing).atomics);
		EXPECT_EQ(refused(immediate->end), !row(framing).immediate_payload);
	}
}

TEST(Framings, AWriteHasItsImmediateDataInsideOrBehindIt)
{
	for (core_framing framing : all) {
		FramedEnd framed(framing);
		SendEnd &end = framed.end;

		end.post(SRNIC_OP_WRITE_IMM, 8);
		ASSERT_TRUE(end.send_one());
		EXPECT_EQ(!end.send_one(), row(framing).immediate_in_write != 0);
	}
}

TEST(Framings, MessagesAreNumbered)
{
	for (core_framing framing : all) {
		FramedEnd framed(framing);
		SendEnd &end = framed.end;
		const core_framing_traits &has = row(framing);
		const u32 start = has.numbers_agreed ? first : CORE_FIRST_MSN;

		for (u8 opcode : {SRNIC_OP_WRITE, SRNIC_OP_READ, SRNIC_OP_SEND})
			end.post(opcode, 8);
		ASSERT_TRUE(end.send_one());
		EXPECT_EQ(end.tx.local.msn, has.numbers_writes ? start : 0);
		ASSERT_TRUE(end.send_one());
		EXPECT_EQ(end.tx.local.msn, start + has.numbers_writes);
		EXPECT_EQ(end.host.reads[0].sink.stag == end.tx.local.msn, !has.sink_stag);
		ASSERT_TRUE(end.send_one());
		EXPECT_EQ(end.tx.local.msn, start + has.numbers_writes + !has.numbers_by_queue);
	}
}

TEST(Framings, AResponderIsMutedOrNot)
{
	for (core_framing framing : all) {
		FramedEnd framed(framing, false);
		SendEnd &end = framed.end;

		end.host.validated = false;
		end.post(SRNIC_OP_SEND, 8);
		EXPECT_EQ(!end.send_one(), row(framing).mutes_responder != 0);
	}
}

TEST(Framings, TaggedMessagesInterleaveOrNot)
{
	for (core_framing framing : all) {
		FramedEnd framed(framing);
		SendEnd &end = framed.end;

		end.post(SRNIC_OP_WRITE, 100000);
		ASSERT_TRUE(end.send_one());
		end.ask(100000);
		ASSERT_TRUE(end.send_one());
		EXPECT_EQ(end.tx.answer_active, row(framing).interleaves_tagged);
	}
}

TEST(Framings, RequestsAreAcknowledgedOrNot)
{
	for (core_framing framing : all) {
		auto framed = end_after(framing, SRNIC_OP_SEND, 8);

		EXPECT_EQ(core_acks_unacknowledged(&framed->acks), row(framing).acknowledges != 0);
	}
}

TEST(Framings, OfASet)
{
	constexpr u32 mpa = 1U << CORE_FRAMING_MPA, rdmatcp = 1U << CORE_FRAMING_RDMATCP;

	EXPECT_EQ(core_framing_to_connect(mpa), CORE_FRAMING_MPA);
	EXPECT_EQ(core_framing_to_connect(rdmatcp), CORE_FRAMING_RDMATCP);
	EXPECT_EQ(core_framing_to_connect(mpa | rdmatcp), CORE_FRAMING_MPA);
	EXPECT_TRUE(core_framings_have_atomics(mpa));
	EXPECT_FALSE(core_framings_have_atomics(rdmatcp));
	EXPECT_TRUE(core_framings_have_atomics(mpa | rdmatcp));
	EXPECT_FALSE(core_framings_have_immediate_payload(mpa));
	EXPECT_TRUE(core_framings_have_immediate_payload(rdmatcp));
	EXPECT_FALSE(core_framings_have_immediate_payload(mpa | rdmatcp));
}
