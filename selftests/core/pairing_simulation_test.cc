// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Pairing under a random network and random programs (pairing_world.hh): what must hold holds at
// each step, and once the network and the programs are quiet, both ends are soon attached to the
// same stream.
#include "pairing_world.hh"

using namespace pairing;

namespace {

constexpr int last_stream = std::extent_v<decltype(World::streams)>;

struct Seen {
	u64 steps, replaced, stale, crossings, dead, failed;
	u64 longest; // milliseconds until both were together
};

bool deliver_something(World &world)
{
	const u32 which = world.draw();
	const int s = which % last_stream, e = which >> 8 & 1;

	switch (which >> 12 & 3) {
	case 0:
		return world.establish(s);
	case 1:
		return world.notice(s, e);
	default:
		return world.deliver(s, e);
	}
}

// A program resets its QP, sometimes with requests under way, and connects it again.
void play_program(World &world, int e)
{
	if (world.ends[e].pairing.state == CORE_PAIRING_NOT_READY)
		world.ready(e);
	else if (world.draw() % 16 == 0)
		world.reset(e);
}

void disturb(World &world)
{
	const u32 which = world.draw();
	const int e = which & 1;

	switch (which >> 4 & 15) {
	case 0:
		play_program(world, e);
		break;
	case 1:
		if (which >> 8 & 1)
			world.give_up(e);
		break;
	case 2:
		if ((which >> 8 & 3) == 0)
			world.cut((which >> 12) % last_stream);
		break;
	case 3:
		world.ends[e].blocked = (which >> 8 & 3) == 0;
		break;
	case 4:
	case 5:
		world.post(e);
		break;
	case 6:
		world.now += which >> 8 & 0xfff;
		world.expire(e);
		break;
	default:
		deliver_something(world);
		break;
	}
}

// ---- quiet ----

bool settle_once(World &world)
{
	bool any = false;

	for (int s = 0; s < last_stream; s++) {
		any |= world.establish(s);
		for (int e : {0, 1}) {
			any |= world.deliver(s, e);
			any |= world.notice(s, e);
		}
	}
	return any;
}

void settle(World &world, Seen &seen)
{
	for (int i = 0; settle_once(world); i++) {
		seen.steps++;
		world.check();
		ASSERT_LT(i, 100) << "the ends do not come to rest";
	}
}

// Nothing happens any more but that time goes on: of an attempt that hangs, ten seconds.
void next_timer(World &world)
{
	u64 next = world.now + 10000;

	for (const End &end : world.ends)
		if (end.timer)
			next = std::min(next, end.timer);
	const bool hangs = next == world.now + 10000;

	world.now = std::max(next, world.now);
	for (int e : {0, 1}) {
		world.expire(e);
		if (hangs)
			world.give_up(e);
	}
}

// Programs that find their QPs in ERR, or that have reset one, reset both.
void repair(World &world)
{
	const bool broken = world.ends[0].failed || world.ends[1].failed || !world.mirrored();

	for (int e : {0, 1})
		if (broken)
			world.reset(e);
	const int first = world.draw() & 1;

	for (int e : {first, 1 - first}) {
		if (world.ends[e].pairing.state == CORE_PAIRING_NOT_READY)
			world.ready(e);
		for (u32 i = world.draw() % 8; i; i--)
			deliver_something(world);
	}
}

bool needs_repair(const World &world)
{
	for (const End &end : world.ends)
		if (end.failed || end.pairing.state == CORE_PAIRING_NOT_READY)
			return true;
	return false;
}

// An idle end may not notice that its stream is gone. Only the other end can end that, by
// connecting.
bool holds_half_a_stream(const World &world, int e)
{
	const int s = world.ends[e].attached;

	return s >= 0 && !world.streams[s].open[1 - e];
}

void expect_end(World &world, Seen &seen)
{
	const u64 start = world.now;

	world.ends[0].blocked &= !world.ends[1].blocked; // one way stays open
	settle(world, seen);
	for (int e : {0, 1})
		world.ends[e].blocked &= !holds_half_a_stream(world, 1 - e);
	if (needs_repair(world) || !world.mirrored())
		repair(world);
	settle(world, seen);
	for (int i = 0; i < 40 && !world.together(); i++) {
		next_timer(world);
		settle(world, seen);
	}
	ASSERT_TRUE(world.together());
	ASSERT_TRUE(world.mirrored());
	ASSERT_FALSE(world.ends[0].muted || world.ends[1].muted);
	seen.longest = std::max(seen.longest, world.now - start);
}

void live(u32 seed, Seen &seen)
{
	World world(seed);

	for (int i = 0; i < 400; i++) {
		disturb(world);
		world.check();
		if (testing::Test::HasFailure())
			FAIL() << "seed " << seed << " step " << i;
	}
	seen.steps += 400;
	seen.replaced += world.replaced;
	seen.stale += world.stale;
	seen.crossings += world.crossings;
	seen.dead += world.dead;
	seen.failed += world.ends[0].failed || world.ends[1].failed;
	expect_end(world, seen);
}

// Two programs, one after the other, on a network that only delays.
void meet(World &world)
{
	Seen seen{};
	const int first = world.draw() & 1;

	for (int e : {first, 1 - first}) {
		world.ready(e);
		for (u32 i = world.draw() % 32; i; i--)
			deliver_something(world);
	}
	settle(world, seen);
	for (int i = 0; i < 4; i++) { // timers of no time
		world.expire(i & 1);
		settle(world, seen);
	}
}

} // namespace

// With resets, cuts, and messages that come when another stream is in use. Requests are lost only
// with the peer's QP, or if the network had cut the stream before.
TEST(PairingSimulation, BothEndsEndTogether)
{
	Seen seen{};

	for (u32 seed = 1; seed <= 8000; seed++) {
		live(seed * 2654435761u, seen);
		ASSERT_FALSE(HasFailure()) << "seed " << seed;
	}
	EXPECT_LE(seen.longest, 60000u); // an attempt that hangs, and then the longest pause
	EXPECT_GT(seen.steps, 3000000u);
	EXPECT_GT(seen.replaced, 500u);
	EXPECT_GT(seen.stale, 1000u);
	EXPECT_GT(seen.crossings, 1000u);
	EXPECT_GT(seen.dead, 1000u); // accepted when the initiator had left
	EXPECT_GT(seen.failed, 500u);
}

TEST(PairingSimulation, OnAGoodNetworkNobodyWaits)
{
	u32 crossings = 0;

	for (u32 seed = 1; seed <= 4000; seed++) {
		World world(seed * 2654435761u);

		meet(world);
		ASSERT_TRUE(world.together()) << "seed " << seed;
		crossings += world.crossings;
	}
	EXPECT_GT(crossings, 100u);
}

// An end that hangs behind a one-way firewall is connected to.
TEST(PairingSimulation, AOneWayFirewallKeepsNobodyApart)
{
	for (u32 seed = 1; seed <= 1000; seed++) {
		Seen seen{};
		World world(seed * 2654435761u);

		world.ends[seed & 1].blocked = true;
		meet(world);
		expect_end(world, seen);
		ASSERT_FALSE(HasFailure()) << "seed " << seed;
		ASSERT_LE(seen.longest, 20000u);
	}
}
