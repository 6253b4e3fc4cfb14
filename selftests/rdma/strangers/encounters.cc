// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// More than one connection: streams that replace each other, Requests that cross, and who tries
// again when (Documentation/ib.rst rules 55 to 68).
#include "refusals.hh"

namespace strangers {
namespace {

constexpr u64 later = 0x99;

// What this peer asks for next: it has heard what the victim said last.
Frame next_request(const Stage &stage)
{
	Frame next = stage.right_request();

	next.source_attempt = stage.request.source_attempt + 1;
	next.destination_attempt = stage.reply.source_attempt;
	next.destination_incarnation = stage.reply.source_incarnation;
	return next;
}

void want_reset(const Socket &socket)
{
	Over over;

	socket.rest(&over, 5000);
	if (over != Over::reset)
		fail("the connection is not reset");
}

// A Send each way on a stream where the victim has sent so many requests.
void talk(Stage &stage, Stream &stream, u32 sent, u32 delivered)
{
	stream.ack({sent});
	stage.want_to_go_on(stream, 0, sent, delivered);
}

// ---- streams that replace each other ----

void replaced(Stage &stage, Pace pace)
{
	stage.ready(Role::listener);
	Stream first = stage.meet(Role::listener, pace);

	stage.want_to_go_on(first);
	Frame next = next_request(stage);

	next.delivered = 1;
	Stream second = stage.dialled(pace, next);

	want_reset(first.raw());
	talk(stage, second, 1, 0);
	stage.want_aftermath();
}

// The stream goes on while Requests are refused that it has outlived.
void stale_ones(Stage &stage, Pace pace)
{
	stage.ready(Role::listener);
	const Frame first = stage.right_request();
	Frame with_attempt = first;

	with_attempt.source_attempt = 1000;
	Stream stream = stage.dialled(pace, with_attempt);

	stream.ack({0});
	for (const u32 attempt : {1000u, 999u, 1u}) {
		Frame again = with_attempt;

		again.source_attempt = attempt;
		asks_in_vain(stage, again, stale, pace);
	}
	Frame reborn = first, knows = first;

	reborn.source_incarnation = later;
	asks_in_vain(stage, reborn, stale, pace); // it knows nothing
	knows.source_incarnation = later;
	knows.destination_incarnation = stage.reply.source_incarnation;
	knows.destination_attempt = stage.reply.source_attempt - 1;
	asks_in_vain(stage, knows, stale, pace); // it knows a number from before the stream
	with_attempt.source_attempt = 1001;
	with_attempt.destination_incarnation = later;
	asks_in_vain(stage, with_attempt, stale, pace); // it is for another incarnation
	stage.want_to_go_on(stream);
	stage.want_aftermath();
}

// A peer that was reset learns from the refusal.
void reborn_peer(Stage &stage, Pace pace)
{
	stage.ready(Role::listener);
	Stream first = stage.meet(Role::listener, pace);
	Frame reborn = stage.right_request();

	reborn.source_incarnation = later;
	const Frame said = asks_in_vain(stage, reborn, stale, pace);

	reborn.source_attempt++;
	reborn.destination_incarnation = said.source_incarnation;
	reborn.destination_attempt = said.source_attempt;
	Stream second = stage.dialled(pace, reborn);

	want_reset(first.raw());
	talk(stage, second, 0, 0);
	stage.want_aftermath();
}

// A Send that is not acknowledged keeps the stream.
void busy_one(Stage &stage, Pace pace)
{
	stage.ready(Role::listener);
	Stream stream = stage.meet(Role::listener, pace);

	stage.victim().send(5, 8);
	stream.behind_acks(0);
	Frame next = next_request(stage);

	asks_in_vain(stage, next, busy, pace);
	next.sent = 7;
	asks_in_vain(stage, next, busy, pace); // which decides before the counts
	stream.ack({1});
	stage.victim().sends.is(5);
	stage.want_to_go_on(stream, 1, 1);
	next.sent = 0;
	asks_in_vain(stage, next, counts, pace);
	stage.want_aftermath();
}

// Half a Send that the stream has carried does not count; its receive serves the next one.
void half_a_send(Stage &stage, Pace pace)
{
	stage.ready(Role::listener);
	Stream first = stage.meet(Role::listener, pace);

	first.send(Untagged{.ddp = more_untagged, .data = payload(40, 9)});
	first.ack({0}, ask);
	first.want_ack({0});
	Stream second = stage.dialled(pace, next_request(stage));

	want_reset(first.raw());
	second.ack({0});
	second.send(Untagged{.rdmap = op_send | ask, .data = payload(40)});
	second.want_last({}, {1});
	stage.has_changed(stage.regions["receive0"].to, payload(40));
	stage.want_delivered(1);
	stage.want_aftermath();
}

// MSNs begin anew, numbers go on.
void numbers_go_on(Stage &stage, Pace pace)
{
	stage.ready(Role::listener);
	Stream first = stage.meet(Role::listener, pace);

	first.send(Untagged{.rdmap = op_send | ask, .data = payload(4)});
	first.want_ack({1});
	stage.want_to_go_on(first, 0, 0, 1);
	Frame next = next_request(stage);

	next.sent = next.delivered = 1;
	Stream second = stage.dialled(pace, next);

	second.ack({1});
	second.send(Untagged{.rdmap = op_send | ask, .data = payload(4)});
	second.want_last({}, {2});
	stage.want_to_go_on(second, 0, 1, 2);
	stage.has_changed(stage.regions["receive0"].to, payload(4));
	stage.has_changed(stage.regions["receive1"].to, payload(4));
	stage.want_delivered(2);
	stage.want_aftermath();
}

// ---- Requests that cross ----

// The victim is the greater end: it refuses, and its own attempt goes on.
void greater_wins(Stage &stage, Pace pace)
{
	stage.ready(Role::connector);
	Socket own = stage.accept();
	const Frame asked = frame_of(own.receive(frame_size));

	asks_in_vain(stage, stage.right_request(), crossing, pace);
	own.send(stage.right_reply(asked).octets(), pace);
	Stream stream(std::move(own), pace);

	stream.want_ack({0});
	talk(stage, stream, 0, 0);
	stage.want_aftermath();
}

// It is the lesser one: it accepts, and leaves its own attempt.
void lesser_yields(Stage &stage, Pace pace)
{
	stage.meet_at_greater();
	stage.ready(Role::connector);
	const Socket own = stage.accept();

	own.receive(frame_size);
	Stream stream = stage.dialled(pace, stage.right_request());

	want_reset(own);
	talk(stage, stream, 0, 0);
	stage.want_aftermath();
}

// ---- the victim is reset while Requests cross ----

void connect_anew(Stage &stage)
{
	if (stage.victim().init() || stage.enter_rtr() || stage.victim().rts())
		fail("RTS");
}

// The victim's next attempt has another incarnation and a greater number, and is accepted.
void goes_on_anew(Stage &stage, Pace pace, const Frame &before)
{
	Socket socket = stage.accept();
	const Frame asked = frame_of(socket.receive(frame_size));

	if (asked.source_incarnation == before.source_incarnation ||
	    asked.source_attempt <= before.source_attempt || asked.destination_incarnation)
		fail("after a reset the Request is ", hex(asked.data()));
	socket.send(stage.right_reply(asked).octets(), pace);
	Stream stream(std::move(socket), pace);

	stream.want_ack({0});
	talk(stage, stream, 0, 0);
	stage.want_aftermath();
}

// Its own Request is out, and half of the peer's has come: that one finds no QP in RTR any more.
void reset_before_it_decides(Stage &stage, Pace pace, bool greater)
{
	if (!greater)
		stage.meet_at_greater();
	stage.ready(Role::connector);
	const Socket own = stage.accept();
	const Frame asked = frame_of(own.receive(frame_size)), request = stage.right_request();
	Socket crossing_one = stage.dial();

	crossing_one.send(request.octets().slice(0, frame_size / 2), pace);
	stage.victim().to(IBV_QPS_RESET);
	want_reset(own);
	crossing_one.send(request.octets().slice(frame_size / 2, frame_size / 2), pace);
	refused(crossing_one, request, not_ready);
	crossing_one.reset();
	connect_anew(stage);
	goes_on_anew(stage, pace, asked);
}

// The stream goes before its first FPDU.
void reset_once_it_has_decided(Stage &stage, Pace pace)
{
	stage.meet_at_greater();
	stage.ready(Role::connector);
	const Socket own = stage.accept();
	const Frame asked = frame_of(own.receive(frame_size));
	Socket other = stage.dial();
	const Frame request = stage.right_request();

	other.send(request.octets(), pace);
	stage.want_acceptance(frame_of(other.receive(frame_size)), request);
	Stream stream(std::move(other), pace);

	stage.victim().to(IBV_QPS_RESET);
	want_reset(own);
	stream.want_end();
	connect_anew(stage);
	goes_on_anew(stage, pace, asked);
}

// All at once, again and again: whatever the answer is, nothing is left behind.
void reset_at_any_time(Stage &stage, Pace pace)
{
	stage.ready(Role::connector);
	Frame asked;

	for (int i = 0; i < 30; i++) {
		const Socket own = stage.accept();
		Socket other = stage.dial();

		asked = frame_of(own.receive(frame_size));
		other.send(stage.right_request().octets(), pace);
		sleep_ms(i % 3);
		stage.victim().to(IBV_QPS_RESET);
		want_reset(own);
		const Frame reply = frame_of(other.receive(frame_size));

		if (reply.reason != crossing && reply.reason != not_ready)
			fail("the reason is ", std::to_string(reply.reason));
		other.reset();
		connect_anew(stage);
	}
	goes_on_anew(stage, pace, asked);
}

// ---- trying again ----

// It comes again after so many seconds at least, and at most.
Socket comes_again(const Stage &stage, double least, double most)
{
	const auto begin = Clock::now();
	Socket socket = stage.accept();
	const double took = seconds_since(begin);

	if (took < least || took > most)
		fail("it connects again after ", std::to_string(took), " s, not ",
		     std::to_string(least), " to ", std::to_string(most));
	return socket;
}

void says(const Socket &socket, const Frame &reply, Pace pace)
{
	socket.send(reply.octets(), pace);
	want_reset(socket);
}

Frame refusal_of(const Stage &stage, const Frame &asked, u8 reason)
{
	Frame reply = stage.right_reply(asked);

	reply.flags |= flag_reject;
	reply.reason = reason;
	return reply;
}

constexpr double at_once = 0.3, some = 0.3; // seconds that this machine may take more

// 63: after 1 s, then 2 s, by up to one half less. 67: at once after a refusal that says something
// new, but once.
void failures(Stage &stage, Pace pace)
{
	stage.ready(Role::connector);
	Socket socket = stage.accept();
	Frame asked = frame_of(socket.receive(frame_size));

	says(socket, refusal_of(stage, asked, busy), pace);
	socket = comes_again(stage, 0.45, 1 + some);
	asked = frame_of(socket.receive(frame_size));
	Frame news = refusal_of(stage, asked, stale);

	says(socket, news, pace); // which it has heard from the first refusal
	socket = comes_again(stage, 0.95, 2 + some);
	asked = frame_of(socket.receive(frame_size));
	if (asked.destination_incarnation != news.source_incarnation ||
	    asked.destination_attempt != news.source_attempt)
		fail("it does not say what it has heard last");
	news = refusal_of(stage, asked, stale);
	news.source_incarnation = later;
	says(socket, news, pace);
	socket = comes_again(stage, 0, at_once);
	asked = frame_of(socket.receive(frame_size));
	if (asked.destination_incarnation != later)
		fail("it has learned nothing");
	news = refusal_of(stage, asked, stale);
	news.source_incarnation = later + 1;
	says(socket, news, pace);
	if (stage.is_called(1000))
		fail("it corrects itself twice in a row");
	stage.want_aftermath();
}

// 64: after 30 s, by up to one half less; not if a Reply accepts what it would refuse, either.
void waits_long(Stage &stage, Pace pace,
		const std::function<Frame(const Frame &asked)> &reply_to_it)
{
	stage.ready(Role::connector);
	const Socket socket = stage.accept();

	says(socket, reply_to_it(frame_of(socket.receive(frame_size))), pace);
	if (stage.is_called(1500))
		fail("it does not wait for its peer");
	stage.want_aftermath();
}

void after_not_ready(Stage &stage, Pace pace)
{
	waits_long(stage, pace,
		   [&](const Frame &asked) { return refusal_of(stage, asked, not_ready); });
}

void after_counts_that_do_not_mirror(Stage &stage, Pace pace)
{
	waits_long(stage, pace, [&](const Frame &asked) {
		Frame reply = stage.right_reply(asked);

		reply.sent = 3;
		return reply;
	});
}

// 66: both were early.
void was_early(Stage &stage, Pace pace)
{
	stage.ready(Role::connector);
	Socket socket = stage.accept();
	const Frame asked = frame_of(socket.receive(frame_size));

	asks_in_vain(stage, stage.right_request(), crossing, pace);
	says(socket, refusal_of(stage, asked, not_ready), pace);
	socket = comes_again(stage, 0, at_once);
	const Frame again = frame_of(socket.receive(frame_size));

	if (again.source_attempt <= asked.source_attempt)
		fail("its attempts are not counted");
	says(socket, refusal_of(stage, again, not_ready), pace);
	if (stage.is_called(1000))
		fail("it connects at once twice for one refusal");
	stage.want_aftermath();
}

// 63: a stream that is lost counts as a failure; the next one has the same numbers.
void stream_lost(Stage &stage, Pace pace)
{
	stage.ready(Role::connector);
	Stream stream = stage.meet(Role::connector, pace);

	stage.want_to_go_on(stream);
	stream.reset();
	Socket socket = comes_again(stage, 0.45, 1 + some);
	const Frame asked = frame_of(socket.receive(frame_size));

	if (asked.sent != 1 || asked.delivered ||
	    asked.source_attempt <= stage.request.source_attempt)
		fail("the Request is ", hex(asked.data()));
	socket.send(stage.right_reply(asked).octets(), pace);
	Stream second(std::move(socket), pace);

	second.want_ack({0});
	talk(stage, second, 1, 0);
	stage.want_aftermath();
}

// IPv6.
void over_ipv6(Stage &stage, Pace pace)
{
	for (const Role role : {Role::listener, Role::connector}) {
		stage.meet_at_ipv6();
		stage.ready(role, {}, 0); // the arena is another context's
		Stream stream = stage.meet(role, pace);

		stage.want_to_go_on(stream);
		stage.want_aftermath();
	}
}

// What the device counts of all that.
void are_counted(Stage &stage, Pace pace)
{
	const auto grown = [&](const char *name, u64 before) {
		return stage.counter(name) - before;
	};
	sleep_ms(50);
	const u64 refusals = stage.counter("pairing_refusals"), errors = stage.counter("rx_errors"),
		  said = stage.counter("tx_terminates");

	stage.ready(Role::listener);
	Frame other = stage.right_request();

	other.source_qpn++;
	for (int i = 0; i < 5; i++)
		asks_in_vain(stage, other, other_pair, pace);
	Stream stream = stage.meet(Role::listener, pace);
	const Bytes lie = fpdu(Untagged{.qn = 5});

	stream.say(lie);
	stream.want({fpdu(terminate(untagged(1), lie))}, 0);
	stream.want_fin();
	stage.want_failed(0, IBV_EVENT_QP_FATAL);
	sleep_ms(50); // the RDMA core keeps counters for a while
	if (grown("pairing_refusals", refusals) != 5 || grown("rx_errors", errors) != 1 ||
	    grown("tx_terminates", said) != 1)
		fail(std::to_string(grown("pairing_refusals", refusals)), " refusals, ",
		     std::to_string(grown("rx_errors", errors)), " errors, ",
		     std::to_string(grown("tx_terminates", said)), " Terminates");
	stage.want_aftermath();
}

} // namespace

Cases encounter_cases()
{
	return {
		{"ib 55, 58, 60: a newer Request replaces the stream, whose connection ends",
		 replaced},
		{"ib 58: a Request that is not newer than the stream is refused", stale_ones},
		{"ib 58: a peer that was reset learns from the refusal", reborn_peer},
		{"ib 57, 60: a QP with a request unacknowledged refuses", busy_one},
		{"ib 31, 57: a receive that half a Send has taken serves the next one",
		 half_a_send},
		{"ib 10: numbers go on with another stream, and MSNs begin anew", numbers_go_on},
		{"ib 59: the greater end refuses a Request that crosses its own", greater_wins},
		{"ib 55, 56, 59: the lesser end accepts it, and resets its own attempt",
		 lesser_yields},
		{"ib 54, 59: the greater end is reset while Requests cross",
		 [](Stage &s, Pace pace) { reset_before_it_decides(s, pace, true); }},
		{"ib 54, 59: the lesser end is reset while Requests cross",
		 [](Stage &s, Pace pace) { reset_before_it_decides(s, pace, false); }},
		{"ib 55, 59: the lesser end is reset when it has accepted",
		 reset_once_it_has_decided},
		{"ib 54, 59: an end is reset again and again while Requests cross",
		 reset_at_any_time, true},
		{"ib 50, 63, 65, 67: it tries again after 1 s, then 2 s, at once after news",
		 failures, true},
		{"ib 64, 65: it waits longer for a peer that is not ready", after_not_ready, true},
		{"ib 63, 64: also after a Reply whose counts do not mirror",
		 after_counts_that_do_not_mirror, true},
		{"ib 66: it tries again at once if both were early", was_early, true},
		{"ib 48, 63: a lost stream comes back with its counts", stream_lost, true},
		{"ib 40, 54: over IPv6, too", over_ipv6},
		{"ib 30, 60: refusals, errors and Terminates are counted", are_counted, true},
	};
}

} // namespace strangers
