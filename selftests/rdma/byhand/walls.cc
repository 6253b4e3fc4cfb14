// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Ends that cannot connect, or not at once: firewalls, and SYNs that are lost (Documentation/ib.rst
// rules 59, 63 and 64). Whoever can connect does.
#include <cstdlib>
#include <deque>
#include <unistd.h>

#include "wall.hh"

namespace {

struct WalledPorts {
	Port ports[2] = {{"srnic2", Wall::address[0]}, {"srnic3", Wall::address[1]}};
};

void to_rts(End &end, const End &peer)
{
	expect(!end.init() && !end.rtr(peer.name()) && !end.rts(), "RTS");
}

double meets_after(End &a, End &b)
{
	const auto begin = Clock::now();

	exercise(a, b);
	return seconds_since(begin);
}

// The blocked end comes first, last, or both come at once.
void one_way(int blocked)
{
	Wall wall;
	WalledPorts at;

	wall.keep_back(blocked, 100);
	for (int ms : {-500, 0, 500}) {
		End a(at.ports[blocked]), b(at.ports[!blocked]);
		End &first = ms < 0 ? a : b, &last = ms < 0 ? b : a;

		to_rts(first, last);
		sleep_ms(abs(ms));
		to_rts(last, first);
		const double took = meets_after(a, b);

		printf("# blocked end %d ms after the other: %.2f s\n", ms, took);
		expect(took < (ms < 0 ? 0.8 : 5), "the other end connects soon");
	}
	expect(wall.kept_back(blocked), "SYNs were kept back");
}

void first_blocked() { one_way(0); }
void other_blocked() { one_way(1); }

void both_blocked()
{
	Wall wall;
	WalledPorts at;
	End a(at.ports[0]), b(at.ports[1]);

	wall.keep_back(0, 100);
	wall.keep_back(1, 100);
	to_rts(a, b);
	to_rts(b, a);
	a.send(3);
	b.receive(2);
	a.sends.none(2500);
	expect(wall.kept_back(0) > 1 && wall.kept_back(1) > 1, "both try again");
	wall.keep_back(0, 0);
	wall.keep_back(1, 0);
	const auto begin = Clock::now();

	a.sends.is(3);
	b.receives.is(2);
	printf("# %.2f s after the wall fell\n", seconds_since(begin));
	expect(seconds_since(begin) < 6, "they meet soon");
	exercise(a, b);
}

void lost_syns()
{
	constexpr int count = 16;
	Wall wall;
	WalledPorts at;
	std::deque<End> a, b;

	for (int from : {0, 1})
		wall.keep_back(from, 50);
	for (int i = 0; i < count; i++) {
		a.emplace_back(at.ports[0]);
		to_rts(a[i], b.emplace_back(at.ports[1]));
		to_rts(b[i], a[i]);
	}
	const auto begin = Clock::now();

	sleep_ms(2000);
	for (int from : {0, 1})
		wall.keep_back(from, 0);
	for (int i = 0; i < count; i++)
		exercise(a[i], b[i]);
	printf("# %d SYNs lost, %.2f s\n", wall.kept_back(0) + wall.kept_back(1),
	       seconds_since(begin));
	expect(wall.kept_back(0) && wall.kept_back(1), "SYNs were lost");
	expect(seconds_since(begin) < 8, "they meet soon");
}

} // namespace

Cases wall_cases()
{
	if (access("/dev/net/tun", F_OK))
		return {};
	return {
		{"one end's SYNs are dropped: the other end connects", first_blocked},
		{"the other end's SYNs are dropped", other_blocked},
		{"the SYNs of both are dropped for a while", both_blocked},
		{"half of the SYNs are lost for a while", lost_syns},
	};
}
