// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory windows: which requests bind one, and what it grants to whom.
#include "refusal.hh"

using namespace wire;

constexpr u32 local_write = CORE_ACCESS_LOCAL_WRITE, remote_write = CORE_ACCESS_REMOTE_WRITE,
	      remote_read = CORE_ACCESS_REMOTE_READ, remote_atomic = CORE_ACCESS_REMOTE_ATOMIC,
	      may_have_windows = CORE_ACCESS_MW_BIND;
constexpr core_requester ours = {7, 21}, another_qp = {7, 22}, another_pd = {8, 21};

// ---- what a window grants ----

constexpr core_region type_1 = {0x10000, 0x100, 7, remote_write | remote_read, 0, 1};
constexpr core_region type_2 = {0x10000, 0x100, 7, remote_write | remote_read, 21, 1};

static core_region_verdict check(const core_region &window, core_requester requester,
				 u32 access = remote_write, u64 to = 0x10000, u64 length = 0x100)
{
	return core_region_check(&window, requester, access, to, length);
}

// RFC 5041 7.1, tagged check 2; 8.2: an STag of a protection domain, or of one stream.
TEST(Window, Type1IsForEveryQpOfItsPd)
{
	EXPECT_EQ(check(type_1, ours), CORE_REGION_OK);
	EXPECT_EQ(check(type_1, another_qp), CORE_REGION_OK);
	EXPECT_EQ(check(type_1, another_pd), CORE_REGION_FOREIGN);
}

TEST(Window, Type2IsForItsQpAndItsPd)
{
	EXPECT_EQ(check(type_2, ours), CORE_REGION_OK);
	EXPECT_EQ(check(type_2, another_qp), CORE_REGION_FOREIGN);
	EXPECT_EQ(check(type_2, another_pd), CORE_REGION_FOREIGN);
}

TEST(Window, ItsBoundsAreItsOwn)
{
	EXPECT_EQ(check(type_2, ours, remote_read, 0x100ff, 1), CORE_REGION_OK);
	EXPECT_EQ(check(type_2, ours, remote_read, 0x100ff, 2), CORE_REGION_BOUNDS);
	EXPECT_EQ(check(type_2, ours, remote_read, 0xffff, 1), CORE_REGION_BOUNDS);
	EXPECT_EQ(check(type_2, ours, remote_atomic), CORE_REGION_ACCESS);
}

// Its STag is no key for the lists of local memory, to read nor to write.
TEST(Window, NoLocalAccess)
{
	for (core_region window : {type_1, type_2}) {
		window.access |= local_write;
		EXPECT_EQ(check(window, ours, 0), CORE_REGION_ACCESS);
		EXPECT_EQ(check(window, ours, local_write), CORE_REGION_ACCESS);
	}
}

// RFC 5041 7.2: the STag is not associated with the stream.
TEST(Window, AStreamOfAnotherQpIsRefused)
{
	for (u32 qpn : {FakeHost::qpn, FakeHost::qpn + 1}) {
		const Bytes segment = fpdu(Tagged{.stag = 0x300, .to = 0x4000, .data = payload(8)});
		Stream s;

		s.host.bind(0x300, 0x4000, 64, qpn, remote_write);
		s.feed(segment);
		if (qpn == FakeHost::qpn)
			EXPECT_FALSE(s.over());
		else
			expect_refusal(s, tagged(2), segment);
	}
}

// ---- binding ----

static core_bind request(u64 to = 0x10000, u64 length = 0x100, u32 access = remote_read)
{
	return {to, length, 0x101, 0x200, access, ours};
}

static bool may_bind(core_window window, const core_bind &bind)
{
	return core_window_may_bind(&window, &bind);
}

constexpr core_window free_1 = {7, CORE_WINDOW_1, 0}, bound_1 = {7, CORE_WINDOW_1, 1},
		      free_2 = {7, CORE_WINDOW_2, 0}, bound_2 = {7, CORE_WINDOW_2, 1};

TEST(Bind, OnlyQpsOfTheWindowsPd)
{
	for (u8 type : {CORE_WINDOW_1, CORE_WINDOW_2}) {
		EXPECT_TRUE(may_bind({7, type, 0}, request()));
		EXPECT_FALSE(may_bind({8, type, 0}, request()));
		EXPECT_FALSE(may_bind({0, type, 0}, request()));
	}
}

// Type 1 is bound again and again, or to nothing; type 2 has to be invalidated first.
TEST(Bind, AWindowThatIsBound)
{
	EXPECT_TRUE(may_bind(bound_1, request()));
	EXPECT_TRUE(may_bind(bound_1, request(0x10000, 0)));
	EXPECT_TRUE(may_bind(free_1, request(0, 0)));
	EXPECT_FALSE(may_bind(bound_2, request()));
	EXPECT_FALSE(may_bind(free_2, request(0x10000, 0)));
	EXPECT_FALSE(may_bind(bound_2, request(0x10000, 0)));
}

TEST(Bind, OnlyType2CountsFromZero)
{
	const core_bind zero_based = request(0x10000, 8, remote_read | CORE_ACCESS_ZERO_BASED);

	EXPECT_TRUE(may_bind(free_2, zero_based));
	EXPECT_FALSE(may_bind(free_1, zero_based));
}

TEST(Bind, RightsThatThereAreNot)
{
	for (u32 bit = 0; bit < 32; bit++) {
		const u32 access = 1u << bit;
		const bool known = access == CORE_ACCESS_ZERO_BASED || access <= remote_atomic;

		EXPECT_EQ(may_bind(free_2, request(0x10000, 8, access)), known) << access;
	}
}

static bool may_bind_to(core_region region, const core_bind &bind)
{
	return core_region_may_bind(&region, &bind);
}

constexpr core_region region = {0x10000, 0x1000, 7, local_write | may_have_windows, 0, 0};

TEST(BindTo, ARegionThatMayHaveWindows)
{
	EXPECT_TRUE(may_bind_to(region, request()));
	EXPECT_FALSE(may_bind_to({0x10000, 0x1000, 7, local_write, 0, 0}, request()));
	EXPECT_FALSE(may_bind_to({0x10000, 0x1000, 8, region.access, 0, 0}, request()));
	EXPECT_FALSE(may_bind_to({0x10000, 0x1000, 7, region.access, 0, 1}, request()));
}

TEST(BindTo, APartOfTheRegion)
{
	EXPECT_TRUE(may_bind_to(region, request(0x10000, 0x1000)));
	EXPECT_TRUE(may_bind_to(region, request(0x10fff, 1)));
	EXPECT_FALSE(may_bind_to(region, request(0xffff, 2)));
	EXPECT_FALSE(may_bind_to(region, request(0x10000, 0x1001)));
	EXPECT_FALSE(may_bind_to(region, request(0x11000, 1)));
	EXPECT_FALSE(may_bind_to(region, request(0x10000, ~u64{0})));
	EXPECT_FALSE(may_bind_to(region, request(~u64{0}, 1)));
	EXPECT_FALSE(may_bind_to(region, request(~u64{0} - 8, 16)));
}

// The region need not grant the right itself; but what this end may not write, no peer may.
TEST(BindTo, WritesNeedTheRegionsLocalWrite)
{
	const core_region read_only = {0x10000, 0x1000, 7, may_have_windows, 0, 0};

	for (u32 access : {remote_write, remote_atomic, remote_write | remote_read}) {
		EXPECT_TRUE(may_bind_to(region, request(0x10000, 8, access)));
		EXPECT_FALSE(may_bind_to(read_only, request(0x10000, 8, access)));
	}
	EXPECT_TRUE(may_bind_to(read_only, request(0x10000, 8, remote_read)));
	EXPECT_TRUE(may_bind_to(read_only, request(0x10000, 8, 0)));
}
