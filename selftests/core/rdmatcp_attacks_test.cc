// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The attacks of the hostile peer that speaks RDMA/TCP (shared/attacks/rdmatcp), on the core: in
// every cut the same fault, the same deliveries, and no other byte of the memory changed.
#include "../shared/attacks/rdmatcp/rows.hh"
#include "victim.hh"

using namespace rdmatcp_attacks;

namespace rdmatcp_attacks {

static void PrintTo(const Row &row, std::ostream *out) { *out << row.name; }

} // namespace rdmatcp_attacks

namespace {

constexpr u64 connection = 0x1020304050607080;
constexpr u32 first_number = 0, first_read = 0x31;

// The module's counters, by fault.
const std::map<core_rdmatcp_fault, std::string> checks = {
	{CORE_RDMATCP_VERSION, "version"},     {CORE_RDMATCP_CONNECTION_ID, "connection_id"},
	{CORE_RDMATCP_NUMBER, "number"},       {CORE_RDMATCP_BITS, "bits"},
	{CORE_RDMATCP_LENGTH, "length"},       {CORE_RDMATCP_CRC, "crc"},
	{CORE_RDMATCP_OFFSET, "offset"},       {CORE_RDMATCP_TOO_LONG, "too_long"},
	{CORE_RDMATCP_NO_BUFFER, "no_buffer"}, {CORE_RDMATCP_CONTROL, "control"},
	{CORE_RDMATCP_BUFFER_ID, "buffer_id"}, {CORE_RDMATCP_BOUNDS, "bounds"},
	{CORE_RDMATCP_ACCESS, "access"},
};

core_rx_params params()
{
	core_rx_params out{};

	out.framing = CORE_FRAMING_RDMATCP;
	out.connection_id = connection;
	out.first_msn = first_number;
	out.crc = true;
	return out;
}

struct End : Victim {
	Scene scene = {victim_regions, connection, first_number, {}};

	explicit End(const Row &row) : Victim(params(), 4)
	{
		for (u32 length : row.reads) {
			scene.reads.push_back(first_read + static_cast<u32>(scene.reads.size()));
			host.post_read(scene.reads.back(), 0, length);
		}
	}
};

void expect_outcome(const Row &row, End &s)
{
	EXPECT_EQ(s.sends().size(), row.delivered);
	EXPECT_EQ(s.over(), row.check != nullptr);
	if (row.check) {
		ASSERT_FALSE(s.deliveries.empty());
		EXPECT_EQ(s.deliveries.back().event, CORE_RX_ERROR);
		EXPECT_EQ(checks.at(core_rx_fault(&s.rx)), row.check);
	} else {
		EXPECT_EQ(core_rx_fault(&s.rx), CORE_RDMATCP_FINE);
		EXPECT_TRUE(core_rx_between(&s.rx));
	}
}

void expect_changes(const Row &row, const Memory &before, const Memory &now)
{
	const u64 both = victim_regions.at("both").to;

	expect_memory(before, now, {{both, payload(row.lands)}},
		      {{both, row.touches},
		       {first_receive, row.touches},
		       {sink, row.reads.empty() ? 0 : row.reads[0]}});
}

} // namespace

class RdmatcpAttacks : public testing::TestWithParam<Row> {};

TEST_P(RdmatcpAttacks, InEveryCut)
{
	const Row &row = GetParam();

	for (unsigned cut = 0; cut < all_cuts; cut++) {
		SCOPED_TRACE(testing::Message() << row.name << ", cut " << cut);
		End s(row);
		const Memory before = s.memory();

		const Bytes attack = row.make(s.scene);

		feed_in_cut(s, row.check ? attack + s.scene.send(4, 1) : attack, cut);
		expect_outcome(row, s);
		expect_changes(row, before, s.memory());
	}
}

static std::string name_of(const testing::TestParamInfo<Row> &tested)
{
	return test_name(tested.index, tested.param.name);
}
INSTANTIATE_TEST_SUITE_P(Rows, RdmatcpAttacks, testing::ValuesIn(all_rows()), name_of);
