// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Two ends become ready in any order, early, late, at once, and again (Documentation/ib.rst,
// "Pairing").
#include <cstdlib>
#include <deque>
#include <thread>

#include "case.hh"

namespace {

constexpr int batch = 200;

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

// Pairs that are there at the same time have file descriptors.
void in_batches(const std::function<void(int)> &what)
{
	for (int left = settings.rounds; left > 0; left -= batch)
		what(std::min(left, batch));
}

// Both ends at once, from two threads.
void crossing_pairs(int count)
{
	Ports ports;
	std::deque<End> a, b;
	double longest = 0;

	for (int i = 0; i < count; i++) {
		a.emplace_back(ports.here);
		b.emplace_back(ports.there);
		expect(!a[i].init() && !b[i].init(), "INIT");
	}
	for (int i = 0; i < count; i++) {
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

void crossing() { in_batches(crossing_pairs); }

// All at RTR before the first work item runs, or nearly so.
void crossing_crowd_of(int count)
{
	Ports ports;
	std::deque<End> a, b;

	for (int i = 0; i < count; i++) {
		a.emplace_back(ports.here);
		b.emplace_back(ports.there);
		expect(!a[i].init() && !b[i].init(), "INIT");
		b[i].receive(1);
	}
	const auto begin = Clock::now();
	std::thread there([&] {
		for (int i = 0; i < count; i++)
			b[i].rtr(a[i].name());
	});

	for (int i = 0; i < count; i++)
		a[i].rtr(b[i].name());
	there.join();
	for (int i = 0; i < count; i++) {
		expect(!a[i].rts(), "RTS");
		a[i].send(2);
	}
	for (int i = 0; i < count; i++) {
		a[i].sends.is(2);
		b[i].receives.is(1);
	}
	printf("# %.2f s\n", seconds_since(begin));
}

void crossing_crowd() { in_batches(crossing_crowd_of); }

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

// Rule 57: the counts of the other end do not mirror those of a QP that began anew.
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

// Rule 62.
void alone()
{
	Port port(settings.here.device, settings.here.address);
	End a(port);

	for (int i = 0; i < 20; i++) {
		a.to(IBV_QPS_RESET);
		expect(!a.init() && !a.rtr(a.name()) && !a.rts(), "RTS");
		a.receive(1);
		a.send(2);
		a.post(IBV_WR_RDMA_READ, 3, a.name());
		const auto wc = a.receives.next(2000);

		expect(wc && wc->wr_id == 1 && wc->status == IBV_WC_SUCCESS, "a Send to itself");
		a.sends.is(2);
		a.sends.is(3);
	}
}

// TCP loses idle streams: others take their places, and nothing is lost.
void stream_lost()
{
	Ports ports;
	std::deque<Pair> pairs;

	if (system("ss -K dport = 1 2>&1 | grep -q answers") == 0)
		throw Skip("this kernel closes no sockets for ss -K");
	for (int i = 0; i < 8; i++)
		pairs.emplace_back(ports.here, ports.there).exercise();
	for (int i = 0; i < 2; i++) {
		sleep_ms(50);
		command("ss -K state established '( dport = 4791 or sport = 4791 )' >/dev/null");
		for (Pair &pair : pairs)
			pair.exercise();
	}
}

// SQD pauses: what is under way ends, what is posted then waits.
void paused()
{
	Ports ports;
	Pair pair(ports.here, ports.there);

	pair.exercise();
	pair.a.to(IBV_QPS_SQD);
	pair.b.receive(1);
	pair.a.send(2);
	pair.a.receive(3);
	pair.b.send(4);
	pair.a.receives.is(3);
	pair.b.sends.is(4);
	pair.a.sends.none(100);
	pair.a.to(IBV_QPS_RTS);
	pair.a.sends.is(2);
	pair.b.receives.is(1);
	pair.exercise();
}

void drained(const Port &port, const std::string &when)
{
	expect(port.event(2000) == IBV_EVENT_SQ_DRAINED, "SQ_DRAINED " + when);
}

// What is to be sent again is under way, too.
void drains()
{
	Ports ports;
	Pair pair(ports.here, ports.there);

	pair.exercise();
	pair.a.drain();
	drained(ports.here, "of a queue with nothing in it");
	pair.a.to(IBV_QPS_RTS);
	pair.a.send(1); // no receive: it is sent again and again
	pair.a.post(IBV_WR_RDMA_READ, 2, pair.b.name());
	sleep_ms(20);
	pair.a.drain();
	pair.a.send(3);
	expect(!ports.here.event(300), "an event before the queue has drained");
	pair.b.receive(4);
	drained(ports.here, "when the requests are done");
	pair.a.sends.is(1, IBV_WC_SUCCESS, 0);
	pair.a.sends.is(2, IBV_WC_SUCCESS, 0);
	pair.a.sends.none(100);
	pair.b.receive(5);
	pair.a.to(IBV_QPS_RTS);
	pair.a.sends.is(3);
	pair.a.to(IBV_QPS_SQD);
	expect(!ports.here.event(100), "an event that nobody asked for, or twice");
}

// Without a stream there is nothing to wait for; and nothing comes once the QP has left SQD.
void drains_without_peer()
{
	Ports ports;
	End a(ports.here), b(ports.there);

	expect(!a.init() && !a.rtr(b.name()) && !a.rts(), "RTS");
	a.send(1);
	a.drain();
	drained(ports.here, "of a QP without a peer");
	join_again(a, b);
	a.send(2);
	sleep_ms(20);
	a.drain();
	a.to(IBV_QPS_RTS);
	b.receive(3);
	a.sends.is(2);
	expect(!ports.here.event(100), "an event of a QP that has left SQD");
}

// ERR flushes what waits for a peer that never came.
void given_up()
{
	Ports ports;
	End a(ports.here), b(ports.there);

	expect(!a.init() && !a.rtr(b.name()) && !a.rts(), "RTS");
	a.receive(1);
	a.send(2);
	a.to(IBV_QPS_ERR);
	a.receives.is(1, IBV_WC_WR_FLUSH_ERR);
	a.sends.is(2, IBV_WC_WR_FLUSH_ERR);
	join_again(a, b);
	exercise(a, b);
}

// Any step at any time, at both ends, without waiting for each other. Then they meet.
void at_random()
{
	Ports ports;
	Pair pair(ports.here, ports.there);
	auto chaos = [](End &end, const Name &peer, unsigned seed) {
		for (int i = 0; i < settings.rounds; i++) {
			end.to(rand_r(&seed) % 4 ? IBV_QPS_RESET : IBV_QPS_ERR);
			end.to(IBV_QPS_RESET);
			end.init();
			end.receive(1);
			end.rtr(peer);
			if (rand_r(&seed) % 2)
				std::this_thread::yield();
			end.rts();
			for (unsigned n = rand_r(&seed) % 4; n; n--)
				end.post(n % 2 ? IBV_WR_RDMA_READ : IBV_WR_SEND, 1, peer, 64);
			if (rand_r(&seed) % 2)
				sleep_ms(static_cast<int>(rand_r(&seed) % 8));
			while (end.sends.next(0) || end.receives.next(0))
				;
		}
	};
	const Name a = pair.a.name(), b = pair.b.name();

	for (int i = 0; i < 3; i++) {
		std::thread there([&] { chaos(pair.b, a, 77 + i); });

		chaos(pair.a, b, 11 + i);
		there.join();
		join_again(pair.a, pair.b);
		while (pair.a.sends.next(0) || pair.b.sends.next(0) || pair.a.receives.next(0) ||
		       pair.b.receives.next(0))
			;
		const auto begin = Clock::now();

		pair.exercise();
		expect(seconds_since(begin) < 0.8, "they meet at once");
	}
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
		{"a QP is connected with itself", alone},
		{"TCP loses idle streams", stream_lost},
		{"SQD pauses", paused},
		{"SQD says when the queue has drained", drains},
		{"SQD says that the queue of a QP without a peer has drained", drains_without_peer},
		{"a QP that waits for its peer goes to the error state", given_up},
		{"both ends take random steps", at_random},
	};
}
