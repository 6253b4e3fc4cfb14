// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Events of CQs that are armed while completions are there: as from hardware, the program hears of
// what it may not know of.
#include <poll.h>

#include "case.hh"

namespace {

constexpr int soon_ms = 2000, a_while_ms = 50;

void arm(const Queue &queue) { expect(!ibv_req_notify_cq(queue.cq, 0), "ibv_req_notify_cq"); }

bool raised(const Queue &queue, int timeout_ms)
{
	pollfd fd = {queue.cq->channel->fd, POLLIN, 0};

	return poll(&fd, 1, timeout_ms) == 1;
}

void take_event(const Queue &queue)
{
	ibv_cq *which;
	void *context;

	expect(raised(queue, soon_ms), "no event");
	expect(!ibv_get_cq_event(queue.cq->channel, &which, &context), "ibv_get_cq_event");
	ibv_ack_cq_events(which, 1);
}

void take_one(const Queue &queue)
{
	ibv_wc wc;

	expect(ibv_poll_cq(queue.cq, 1, &wc) == 1, "ibv_poll_cq");
}

// That many messages have arrived at an end whose receives were armed before.
void arrive(End &from, End &to, int many)
{
	for (int i = 0; i < many; i++)
		to.receive(1);
	arm(to.receives);
	for (int i = 0; i < many; i++)
		from.send(2);
	for (int i = 0; i < many; i++)
		from.sends.is(2);
}

// A program takes what another CQ has, and leaves this one.
void not_polled_since_the_event()
{
	Ports ports;
	Pair pair(ports.here, ports.there);

	arrive(pair.a, pair.b, 1);
	take_event(pair.b.receives);
	pair.a.receive(3);
	pair.b.send(4);
	pair.b.sends.is(4);
	arm(pair.b.receives);
	take_event(pair.b.receives);
	take_one(pair.b.receives);
}

void no_event_before()
{
	Ports ports;
	Pair pair(ports.here, ports.there);

	pair.b.receive(1);
	pair.a.send(2);
	pair.a.sends.is(2);
	arm(pair.b.receives);
	take_event(pair.b.receives);
	take_one(pair.b.receives);
}

// A program that takes one completion for each event.
void one_for_each_event()
{
	constexpr int many = 5;
	Ports ports;
	Pair pair(ports.here, ports.there);

	arrive(pair.a, pair.b, many);
	for (int i = 0; i < many; i++) {
		take_event(pair.b.receives);
		arm(pair.b.receives);
		take_one(pair.b.receives);
	}
}

// It is not woken once more for what it has polled after the event.
void what_is_polled_raises_none()
{
	Ports ports;
	Pair pair(ports.here, ports.there);

	arrive(pair.a, pair.b, 1);
	take_event(pair.b.receives);
	arm(pair.b.receives);
	take_one(pair.b.receives);
	expect(!raised(pair.b.receives, a_while_ms), "an event for what was polled");
}

} // namespace

Cases event_cases()
{
	return {
		{"a CQ is armed that was not polled since its event", not_polled_since_the_event},
		{"a CQ is armed that has had no event", no_event_before},
		{"a CQ is polled once for each event", one_for_each_event},
		{"a CQ is polled after its event", what_is_polled_raises_none},
	};
}
