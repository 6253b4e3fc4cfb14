// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Acks that wait for the program's answer (Documentation/ib.rst rule 14), where it does not come: a
// program that has answered long enough stops, or goes, or does something else.
#include <thread>

#include "case.hh"

namespace {

constexpr int many = 40; // questions, after which an Ack waits

void ask(End &from, End &to)
{
	to.receive(1, 1000);
	from.send(2, 1000);
	to.receives.is(1);
}

// Each question completes with its answer at the latest.
void talk(End &from, End &to, int times = many)
{
	for (int i = 0; i < times; i++) {
		ask(from, to);
		from.receive(3, 1000);
		to.send(4, 1000);
		from.receives.is(3);
		from.sends.is(2, IBV_WC_SUCCESS, 0);
		to.sends.is(4);
	}
}

void both_ways(const std::function<void(End &, End &)> &what)
{
	Ports ports;
	Pair pair(ports.here, ports.there);

	what(pair.a, pair.b);
	what(pair.b, pair.a);
}

void nobody_answers()
{
	both_ways([](End &from, End &to) {
		for (int i = 0; i < 10; i++) {
			talk(from, to);
			ask(from, to);
			from.sends.is(2, IBV_WC_SUCCESS, 500);
		}
	});
}

// One behind the other, before the first is answered.
void more_is_asked()
{
	both_ways([](End &from, End &to) {
		talk(from, to);
		for (int i = 0; i < 10; i++)
			ask(from, to);
		for (int i = 0; i < 10; i++)
			from.sends.is(2, IBV_WC_SUCCESS, 500);
	});
}

void something_else_is_asked()
{
	both_ways([](End &from, End &to) {
		const Name there = to.name();

		talk(from, to);
		from.post(IBV_WR_RDMA_WRITE, 5, there);
		from.sends.is(5, IBV_WC_SUCCESS, 500);
		from.post(IBV_WR_RDMA_READ, 6, there);
		from.sends.is(6, IBV_WC_SUCCESS, 500);
		ask(from, to);
		from.post(IBV_WR_RDMA_READ, 6, there);
		from.sends.is(2, IBV_WC_SUCCESS, 500);
		from.sends.is(6, IBV_WC_SUCCESS, 500);
	});
}

using Way = std::function<void(End &)>;

// The end that owes the answer goes instead.
void it_goes(const Way &go)
{
	Ports ports;

	for (int i = 0; i < settings.rounds / 4; i++) {
		Pair pair(ports.here, ports.there);
		End &from = i & 1 ? pair.a : pair.b, &to = i & 1 ? pair.b : pair.a;

		talk(from, to, i % 16 + 8);
		ask(from, to);
		go(to);
		from.sends.is(2);
	}
}

void is_destroyed()
{
	it_goes([](End &end) { end.destroy_qp(); });
}

void is_reset()
{
	it_goes([](End &end) { end.to(IBV_QPS_RESET); });
}

void fails()
{
	it_goes([](End &end) { end.to(IBV_QPS_ERR); });
}

// Both ends ask, and each waits for its Acks before it asks again: no end waits for the other's.
void each_waits_for_its_acks()
{
	constexpr int times = 2000, late_ones = 200; // times 1 ms
	Ports ports;
	Pair pair(ports.here, ports.there);
	const Name names[] = {pair.b.name(), pair.a.name()};
	const auto write = [&](End &end, const Name &peer) {
		for (int i = 0; i < times; i++) {
			end.post(IBV_WR_RDMA_WRITE, 7, peer);
			end.sends.is(7);
		}
	};

	talk(pair.a, pair.b);
	talk(pair.b, pair.a);
	const auto begun = Clock::now();
	write(pair.a, names[0]);
	write(pair.b, names[1]);
	const double alone = seconds_since(begun);
	const auto together = Clock::now();
	std::thread other(write, std::ref(pair.b), names[1]);
	write(pair.a, names[0]);
	other.join();
	printf("# one by one %.3f s, together %.3f s\n", alone, seconds_since(together));
	expect(seconds_since(together) < 2 * alone + 1e-3 * late_ones, "it takes too long");
}

} // namespace

Cases conversation_cases()
{
	return {
		{"an Ack without an answer", nobody_answers},
		{"Acks of questions before an answer", more_is_asked},
		{"Acks of Writes and Reads instead of an answer", something_else_is_asked},
		{"the Ack of a QP that is destroyed instead of answering", is_destroyed},
		{"the Ack of a QP that is reset instead of answering", is_reset},
		{"the Ack of a QP that fails instead of answering", fails},
		{"Acks that both ends wait for", each_waits_for_its_acks},
	};
}
