// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Two ends become ready in any order, early, late, at once, and again (Documentation/ib.rst,
// "Pairing").
#include <deque>
#include <thread>

#include "case.hh"

namespace {

void each_order()
{
	Ports ports;

	for (int order = 0; order < 4; order++) {
		End a(ports.here), b(ports.there);
		End &first = order & 1 ? b : a, &last = order & 1 ? a : b;

		expect(!a.init() && !b.init() && !first.rtr(last.name()), "RTR");
		if (order & 2)
			expect(!first.rts(), "RTS");
		sleep_ms(50);
		expect(!last.rtr(first.name()) && !last.rts(), "RTS");
		if (!(order & 2))
			expect(!first.rts(), "RTS");
		exercise(a, b);
	}
}

// In RTR a QP receives and answers.
void answers_in_rtr()
{
	Ports ports;
	End a(ports.here), b(ports.there);

	expect(!a.init() && !b.init() && !a.rtr(b.name()) && !b.rtr(a.name()) && !a.rts(), "RTS");
	b.receive(1);
	a.send(2);
	a.post(IBV_WR_RDMA_READ, 3, b.name());
	b.receives.is(1);
	a.sends.is(2);
	a.sends.is(3);
	expect(!b.rts(), "RTS");
	exercise(a, b);
}

// What is posted waits for the peer, which then connects at once, however long it was away.
void late_peer(int ms)
{
	Ports ports;
	End a(ports.here), b(ports.there);

	expect(!a.init() && !a.rtr(b.name()) && !a.rts(), "RTS");
	a.receive(1);
	a.send(2);
	a.post(IBV_WR_RDMA_WRITE, 3, b.name());
	a.sends.none(ms);
	expect(!b.init(), "INIT");
	b.receive(4);
	const auto begin = Clock::now();

	expect(!b.rtr(a.name()) && !b.rts(), "RTS");
	a.sends.is(2);
	a.sends.is(3);
	b.receives.is(4);
	expect(seconds_since(begin) < 0.8, "the peer connects at once, not after " +
						   std::to_string(seconds_since(begin)) + " s");
	b.send(5);
	a.receives.is(1);
	b.sends.is(5);
}

void very_late_peer() { late_peer(15000); }

void posts_before_peer() { late_peer(200); }

// Both ends at once, from two threads.
void crossing()
{
	Ports ports;
	std::deque<End> a, b;
	double longest = 0;

	for (int i = 0; i < settings.rounds; i++) {
		a.emplace_back(ports.here);
		b.emplace_back(ports.there);
		expect(!a[i].init() && !b[i].init(), "INIT");
	}
	for (int i = 0; i < settings.rounds; i++) {
		const auto begin = Clock::now();
		int other = 0;
		std::thread there([&] { other = b[i].rtr(a[i].name()) ?: b[i].rts(); });
		const int own = a[i].rtr(b[i].name()) ?: a[i].rts();

		there.join();
		expect(!own && !other, "RTS");
		exercise(a[i], b[i]);
		longest = std::max(longest, seconds_since(begin));
	}
	printf("# the longest took %.2f s\n", longest);
	expect(longest < 0.8, "both ends at once is no failure");
}

// All at RTR before the first work item runs, or nearly so.
void crossing_crowd()
{
	Ports ports;
	std::deque<End> a, b;

	for (int i = 0; i < settings.rounds; i++) {
		a.emplace_back(ports.here);
		b.emplace_back(ports.there);
		expect(!a[i].init() && !b[i].init(), "INIT");
		b[i].receive(1);
	}
	const auto begin = Clock::now();
	std::thread there([&] {
		for (int i = 0; i < settings.rounds; i++)
			b[i].rtr(a[i].name());
	});

	for (int i = 0; i < settings.rounds; i++)
		a[i].rtr(b[i].name());
	there.join();
	for (int i = 0; i < settings.rounds; i++) {
		expect(!a[i].rts(), "RTS");
		a[i].send(2);
	}
	for (int i = 0; i < settings.rounds; i++) {
		a[i].sends.is(2);
		b[i].receives.is(1);
	}
	printf("# %.2f s\n", seconds_since(begin));
}

// The same QPNs again and again. PSNs are 0 each time.
void reset_both()
{
	Ports ports;
	Pair pair(ports.here, ports.there);
	double longest = 0;

	for (int i = 0; i < settings.rounds; i++) {
		const auto begin = Clock::now();

		pair.exercise();
		join_again(pair.a, pair.b);
		longest = std::max(longest, seconds_since(begin));
	}
	pair.exercise();
	printf("# the longest took %.2f s\n", longest);
	expect(longest < 0.8, "a pair that was reset connects at once");
}

// With requests under way, which end without completions.
void reset_both_busy()
{
	Ports ports;
	Pair pair(ports.here, ports.there);

	for (int i = 0; i < settings.rounds; i++) {
		for (uint64_t n = 1; n <= 8; n++) {
			pair.b.receive(n);
			pair.a.send(n);
			pair.b.post(IBV_WR_RDMA_READ, n, pair.a.name(), 4000);
		}
		join_again(pair.a, pair.b);
		while (pair.a.sends.next(0) || pair.b.sends.next(0) || pair.b.receives.next(0))
			;
		pair.exercise();
	}
}

// Rule 57: the other end's counts do not mirror those of a QP that began anew, unless they are zero.
void reset_one()
{
	Ports ports;
	Pair pair(ports.here, ports.there);
	End &a = pair.a, &b = pair.b;

	pair.exercise();
	a.to(IBV_QPS_RESET);
	expect(!a.init() && !a.rtr(b.name()) && !a.rts(), "RTS");
	a.send(7);
	b.receive(8);
	a.sends.none(2500);
	expect(b.state() == IBV_QPS_RTS, "the peer of a QP that was reset stays in RTS");
	b.to(IBV_QPS_RESET);
	expect(!b.init(), "INIT");
	b.receive(9);
	const auto begin = Clock::now();

	expect(!b.rtr(a.name()) && !b.rts(), "RTS");
	a.sends.is(7);
	b.receives.is(9);
	expect(seconds_since(begin) < 0.8, "the other end connects at once");
	pair.exercise();
}

// Nothing was sent: the counts mirror each other.
void reset_one_unused()
{
	Ports ports;
	Pair pair(ports.here, ports.there);
	End &a = pair.a, &b = pair.b;

	sleep_ms(50);
	for (int i = 0; i < 10; i++) {
		End &one = i & 1 ? b : a;
		const Name other = i & 1 ? a.name() : b.name();

		one.to(IBV_QPS_RESET);
		expect(!one.init() && !one.rtr(other) && !one.rts(), "RTS");
		sleep_ms(30);
	}
	pair.exercise();
}

} // namespace

Cases meeting_cases()
{
	return {
		{"RTR and RTS in each order", each_order},
		{"a QP in RTR receives and answers", answers_in_rtr},
		{"requests wait for a peer", posts_before_peer},
		{"a peer that comes 15 s later connects at once", very_late_peer},
		{"both ends come to RTR at once", crossing},
		{"many pairs come to RTR at once", crossing_crowd},
		{"both ends are reset and connected again, many times", reset_both},
		{"both ends are reset with requests under way", reset_both_busy},
		{"one end is reset, and then the other", reset_one},
		{"one end is reset before anything was sent", reset_one_unused},
	};
}
