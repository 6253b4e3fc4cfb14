// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The attacks that the hostile peer makes on the module (shared/attacks), on the core: in every cut
// the same Terminate, the same deliveries, and no other byte of the memory changed.
#include "../shared/attacks/rows.hh"
#include "refusal.hh"

using namespace attacks;

namespace attacks {

static void PrintTo(const Row &row, std::ostream *out) { *out << row.name; }

} // namespace attacks

namespace {

constexpr u32 receive_size = 64;
constexpr u64 first_receive = 0x900000, sink = 0x800000, sink_size = 64;

struct Granted {
	const char *name;
	Region region;
	u32 pd, access;
};

constexpr u32 remote_both = CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ;

const Granted granted[] = {
	{"both", {0x100, 0x100000, 0x11000}, FakeHost::pd, remote_both},
	{"read-only", {0x102, 0x200000, 0x400}, FakeHost::pd, CORE_ACCESS_REMOTE_READ},
	{"write-only", {0x104, 0x210000, 0x400}, FakeHost::pd, CORE_ACCESS_REMOTE_WRITE},
	{"private", {0x106, 0x220000, 0x400}, FakeHost::pd, CORE_ACCESS_LOCAL_WRITE},
	{"atomic",
	 {0x108, 0x230000, 0x400},
	 FakeHost::pd,
	 CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_ATOMIC},
	{"foreign",
	 {0x10a, 0x240000, 0x400},
	 FakeHost::pd + 1,
	 remote_both | CORE_ACCESS_REMOTE_ATOMIC},
};

std::string receive_name(size_t n) { return "receive" + std::to_string(n); }

std::map<std::string, Region> regions_of_the_victim()
{
	std::map<std::string, Region> out;

	for (const Granted &one : granted)
		out[one.name] = one.region;
	out["stale"] = {0x10c, 0x250000, 0x400};
	out["sink"] = {0, sink, sink_size};
	for (size_t i = 0; i < 8; i++)
		out[receive_name(i)] = {0, first_receive + 0x80 * i, receive_size};
	return out;
}

const std::map<std::string, Region> victim_regions = regions_of_the_victim();

// A victim as in rdma/hostile, made of the core and the fake host.
struct Victim : Stream {
	Scene scene = {victim_regions, {}, {}};

	explicit Victim(const More &more)
	{
		for (const Granted &one : granted)
			host.grant(one.region.stag, one.region.to, one.region.length, one.pd,
				   one.access);
		for (unsigned i = 0; i < more.receives; i++)
			host.post_receive(receive_size);
		for (u32 length : more.reads)
			read(length);
		for (unsigned i = 0; i < more.atomics; i++)
			add();
		host.read_room = 4;
		if (!more.first)
			feed(fpdu(Tagged{.stag = 0xbad, .to = ~u64{0}}));
	}

	// Deliveries of an event, or either of two.
	std::vector<Delivery> delivered(core_rx_event event, core_rx_event other) const
	{
		std::vector<Delivery> out;

		for (const Delivery &one : deliveries)
			if (one.event == event || one.event == other)
				out.push_back(one);
		return out;
	}
	std::vector<Delivery> sends() const { return delivered(CORE_RX_SEND, CORE_RX_SEND); }
	std::vector<Delivery> responses() const
	{
		return delivered(CORE_RX_READ_RESPONSE, CORE_RX_ATOMIC_RESPONSE);
	}

	// All memory that a peer could reach, by address.
	std::map<u64, Bytes> memory() const
	{
		std::map<u64, Bytes> out;

		for (const Granted &one : granted)
			out[one.region.to] = host.regions.at(one.region.stag).memory;
		for (size_t i = 0; i < 8; i++)
			out[victim_regions.at(receive_name(i)).to] = receive(i);
		out[sink] = sink_memory();
		return out;
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

	static Bytes padded(Bytes data, size_t size)
	{
		data.resize(size);
		return data;
	}
	Bytes receive(size_t n) const
	{
		const std::vector<Delivery> all = sends();

		if (n < all.size())
			return padded(all[n].data, receive_size);
		return padded(n == all.size() ? host.receiving : Bytes(), receive_size);
	}
	// What the first read or atomic operation brought.
	Bytes sink_memory() const
	{
		const std::vector<Delivery> all = responses();
		Bytes data = host.reads.empty() ? Bytes() : host.reads.front().memory;

		if (!all.empty())
			data = all[0].data;
		if (!all.empty() && all[0].event == CORE_RX_ATOMIC_RESPONSE)
			std::reverse(data.begin(), data.end());
		return padded(data, sink_size);
	}
};

// The bytes of a part of the memory.
std::pair<Bytes &, size_t> find(std::map<u64, Bytes> &memory, u64 address)
{
	auto part = std::prev(memory.upper_bound(address));

	return {part->second, address - part->first};
}

void put(std::map<u64, Bytes> &memory, u64 address, const Bytes &octets)
{
	auto [part, at] = find(memory, address);

	ASSERT_LE(at + octets.size(), part.size());
	std::copy(octets.begin(), octets.end(), part.begin() + static_cast<long>(at));
}

// Both may differ where the attack may have written.
void expect_memory(std::map<u64, Bytes> before, std::map<u64, Bytes> now, const Attack &attack)
{
	for (const Change &change : attack.lands)
		put(before, change.at, change.octets);
	for (const Span &span : attack.may_change) {
		put(before, span.at, Bytes(span.length));
		put(now, span.at, Bytes(span.length));
	}
	EXPECT_TRUE(now == before) << "other memory has changed";
}

void expect_outcome(const Row &row, const Attack &attack, Victim &s)
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
		Victim s(row.more);
		const Attack attack = row.build.make(s.scene);
		const auto before = s.memory();
		Bytes stream;

		for (const Bytes &one : attack.fpdus)
			stream = stream + one;
		feed_in_cut(s, row.cause ? stream + fpdu(Untagged{}) : stream, cut);
		expect_outcome(row, attack, s);
		expect_memory(before, s.memory(), attack);
	}
}

// GoogleTest allows letters and digits only.
static std::string name_of(const testing::TestParamInfo<Row> &tested)
{
	std::string out = std::to_string(tested.index);

	for (char c : tested.param.name)
		if (std::isalnum(static_cast<unsigned char>(c)))
			out += c;
		else if (out.back() != '_')
			out += '_';
	return out;
}
INSTANTIATE_TEST_SUITE_P(Rows, Attacks, testing::ValuesIn(all_rows()), name_of);
