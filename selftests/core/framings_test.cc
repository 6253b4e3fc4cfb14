// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The table of framings: the scheduler does what the rows say, and sets of framings have what their
// members have.
#include <set>

#include "send_end.hh"

namespace {

constexpr core_framing all[] = {CORE_FRAMING_MPA, CORE_FRAMING_RDMATCP};
constexpr u32 first = 7;

const core_framing_traits &row(core_framing framing) { return *core_framing_traits_of(framing); }

core_tx_params params(core_framing framing, bool initiator = true)
{
	core_tx_params out{};

	out.framing = u8(framing);
	out.first_msn = first;
	out.ord = SendEnd::ord;
	out.initiator = initiator;
	return out;
}

// Posts one request and sends what becomes of it.
std::unique_ptr<SendEnd> end_after(core_framing framing, u8 opcode, u32 octets)
{
	auto end = std::make_unique<SendEnd>(params(framing));

	end->post(opcode, octets);
	end->send_all();
	return end;
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
		SendEnd end(params(framing));

		EXPECT_EQ(core_tx_terminate(&end.tx, &term) != 0, row(framing).terminate != 0);
	}
}

TEST(Framings, OperationsWithoutAMessageAreRefused)
{
	for (core_framing framing : all) {
		auto atomic = end_after(framing, SRNIC_OP_FETCH_ADD, 8);
		auto immediate = end_after(framing, SRNIC_OP_IMM, 8);

		EXPECT_EQ(refused(*atomic), !row(framing).atomics);
		EXPECT_EQ(refused(*immediate), !row(framing).immediate_payload);
	}
}

TEST(Framings, AWriteHasItsImmediateDataInsideOrBehindIt)
{
	for (core_framing framing : all) {
		SendEnd end(params(framing));

		end.post(SRNIC_OP_WRITE_IMM, 8);
		ASSERT_TRUE(end.send_one());
		EXPECT_EQ(!end.send_one(), row(framing).immediate_in_write != 0);
	}
}

TEST(Framings, MessagesAreNumbered)
{
	for (core_framing framing : all) {
		SendEnd end(params(framing));
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
		SendEnd end(params(framing, false));

		end.host.validated = false;
		end.post(SRNIC_OP_SEND, 8);
		EXPECT_EQ(!end.send_one(), row(framing).mutes_responder != 0);
	}
}

TEST(Framings, TaggedMessagesInterleaveOrNot)
{
	for (core_framing framing : all) {
		SendEnd end(params(framing));

		end.post(SRNIC_OP_WRITE, 100000);
		ASSERT_TRUE(end.send_one());
		end.ask(100000);
		ASSERT_TRUE(end.send_one());
		EXPECT_EQ(end.tx.answer_active, row(framing).interleaves_tagged);
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
