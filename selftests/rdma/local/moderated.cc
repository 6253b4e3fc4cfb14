// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Moderated events of CQs (ibv_modify_cq): after so many completions, or so long after the first.
#include <chrono>
#include <poll.h>

#include "case.hh"
#include "process.hh"

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint16_t longest = 65535; // microseconds
constexpr uint16_t count = 4;

struct Stage : Pair {
	ibv_cq *cq = server.id->recv_cq;

	Stage() : Pair(address) {}
	int moderate(uint16_t completions, uint16_t period) const
	{
		ibv_modify_cq_attr attr{};

		attr.attr_mask = IBV_CQ_ATTR_MODERATE;
		attr.moderate = {completions, period};
		return ibv_modify_cq(cq, &attr);
	}
	void arm() const { require(!ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq"); }
	bool has_event(int timeout_ms) const
	{
		pollfd fd = {server.id->recv_cq_channel->fd, POLLIN, 0};

		return poll(&fd, 1, timeout_ms) == 1;
	}
	void take_event() const
	{
		ibv_cq *of;
		void *context;

		require(!ibv_get_cq_event(server.id->recv_cq_channel, &of, &context) && of == cq,
			"ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
	}
	void send(int messages)
	{
		for (int i = 0; i < messages; i++)
			require(!server.post_recv(1, 64) && !client.post_send(1, 64), "posting");
		for (int i = 0; i < messages; i++)
			require(client.completion(false).has_value(), "a Send");
	}
	void drain()
	{
		while (server.completion(true, 0))
			;
	}
	// From the posts to the event.
	Clock::duration time_to_event(int messages)
	{
		const auto begin = Clock::now();

		arm();
		send(messages);
		require(has_event(10000), "there is no event");
		const auto end = Clock::now();

		take_event();
		drain();
		return end - begin;
	}
};

// The machine may have other work: one of a few events has to be in time, none may be early.
bool is_soon(Stage &s, int messages)
{
	for (int tries = 0; tries < 10; tries++)
		if (s.time_to_event(messages) < milliseconds(50))
			return true;
	return false;
}

void waits_for_the_period()
{
	Stage s;

	require(!s.moderate(count, longest), "ibv_modify_cq");
	for (int tries = 0; tries < 3; tries++)
		require(s.time_to_event(1) >= milliseconds(60), "an event before the period ends");
}

void waits_for_the_count()
{
	Stage s;

	require(!s.moderate(count, longest), "ibv_modify_cq");
	require(is_soon(s, count), "an event after the period, though enough have completed");
}

void does_not_wait_without_either()
{
	for (auto [completions, period] : {std::pair<uint16_t, uint16_t>{0, longest}, {count, 0}}) {
		Stage s;

		require(!s.moderate(count, longest) && !s.moderate(completions, period),
			"ibv_modify_cq");
		require(is_soon(s, 1), "an event that waits, though none is to");
	}
}

// The CQ is destroyed, or its process killed, while an event waits.
void ends_while_an_event_waits()
{
	for (int round = 0; round < 20; round++) {
		Stage s;

		require(!s.moderate(100, longest), "ibv_modify_cq");
		s.arm();
		s.send(1);
	}
	auto *left = new Stage;

	require(!left->moderate(100, longest), "ibv_modify_cq");
	left->arm();
	left->send(1);
}

} // namespace

Cases moderated_cases()
{
	return {
		{"a moderated event waits for the period", waits_for_the_period},
		{"a moderated event waits no longer than for the count", waits_for_the_count},
		{"no event waits if count or period is 0", does_not_wait_without_either},
		{"a CQ ends while an event waits", ends_while_an_event_waits},
	};
}
