// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The attacks that the hostile peer makes on the module (shared/attacks), on the core: in every cut
// the same Terminate, the same deliveries, and no other byte of the memory changed.
#include "../shared/attacks/rows.hh"
#include "victim.hh"

using namespace attacks;

namespace attacks {

static void PrintTo(const Row &row, std::ostream *out) { *out << row.name; }

} // namespace attacks

namespace {

core_rx_params params()
{
	core_rx_params out{};

	out.first_msn = CORE_FIRST_MSN;
	out.crc = true;
	return out;
}

struct End : Victim {
	Scene scene = {victim_regions, {}, {}};

	explicit End(const More &more) : Victim(params(), more.receives)
	{
		for (u32 length : more.reads)
			read(length);
		for (unsigned i = 0; i < more.atomics; i++)
			add();
		if (!more.first)
			feed(fpdu(Tagged{.stag = 0xbad, .to = ~u64{0}}));
	}

private:
	void read(u32 length)
	{
		const u32 n = static_cast<u32>(scene.reads.size());

		scene.reads.push_back({0x900 + n, 0x5000 + 0x100 * n, length});
		host.post_read(0x900 + n, 0x5000 + 0x100 * n, length);
	}
	void add()
	{
		scene.atomics.push_back(0x7700 + static_cast<u32>(scene.atomics.size()));
		host.post_atomic(scene.atomics.back());
	}
};

void expect_outcome(const Row &row, const Attack &attack, End &s)
{
	EXPECT_EQ(s.sends().size(), row.more.delivered);
	EXPECT_EQ(s.responses().size(), row.more.reads_done);
	if (row.cause) {
		const Bytes &culprit = attack.culprit == the_last ? attack.fpdus.back()
								  : attack.fpdus.at(attack.culprit);

		expect_refusal(s, *row.cause, culprit);
	} else {
		for (const Delivery &one : s.deliveries)
			EXPECT_NE(one.event, CORE_RX_ERROR);
		EXPECT_TRUE(s.between_fpdus());
	}
}

} // namespace

class Attacks : public testing::TestWithParam<Row> {};

TEST_P(Attacks, InEveryCut)
{
	const Row &row = GetParam();

	for (unsigned cut = 0; cut < all_cuts; cut++) {
		SCOPED_TRACE(testing::Message() << row.name << ", cut " << cut);
		End s(row.more);
		const Attack attack = row.build.make(s.scene);
		const auto before = s.memory();
		Bytes stream;

		for (const Bytes &one : attack.fpdus)
			stream = stream + one;
		feed_in_cut(s, row.cause ? stream + fpdu(Untagged{}) : stream, cut);
		expect_outcome(row, attack, s);
		expect_memory(before, s.memory(), attack.lands, attack.may_change);
	}
}

static std::string name_of(const testing::TestParamInfo<Row> &tested)
{
	return test_name(tested.index, tested.param.name);
}
INSTANTIATE_TEST_SUITE_P(Rows, Attacks, testing::ValuesIn(all_rows()), name_of);
