// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Peers that die, by a reset or by closing their half, at each point; and what an end says that
// leaves its stream (Documentation/ib.rst rules 28, 31, 57, 68).
#include "refusals.hh"

namespace strangers {
namespace {

void die(Socket &socket, bool by_reset)
{
	if (by_reset)
		socket.reset();
	socket = Socket();
}

// Accepted once the victim has noticed that its own attempt is over.
Stream dialled_in_the_end(const Stage &stage, Pace pace, const Frame &request)
{
	for (int tries = 0; tries < 100; tries++, sleep_ms(10)) {
		Socket socket = stage.dial();

		socket.send(request.octets(), pace);
		const Frame reply = frame_of(socket.receive(frame_size));

		if (reply.reason == crossing)
			continue;
		stage.want_acceptance(reply, request);
		return {std::move(socket), pace};
	}
	fail("the victim waits for an answer to its own Request");
}

void works(Stage &stage, Pace pace, const Frame &request)
{
	Stream stream = dialled_in_the_end(stage, pace, request);

	stream.ack({0});
	stream.send(Untagged{.rdmap = op_send | ask, .data = payload(9)});
	stream.want_last({}, {1});
	stage.has_changed(stage.regions["receive0"].to, payload(9));
	stage.want_delivered(1);
	stage.want_aftermath();
}

// After each octet of the Request.
void in_the_request(Stage &stage, Pace pace, bool by_reset)
{
	stage.ready(Role::listener);
	Frame request = stage.right_request();

	for (size_t len = 0; len < frame_size; len++) {
		Socket socket = stage.dial();

		socket.send(request.octets().slice(0, len), pace);
		die(socket, by_reset);
	}
	stage.want_state(IBV_QPS_RTS);
	works(stage, pace, request);
}

// After each octet of what follows it: an Ack and most of a Send. The Reply may be read, or not.
void in_the_stream(Stage &stage, Pace pace, bool by_reset)
{
	const Bytes octets =
		fpdu(wire::ack({0})) + fpdu(Untagged{.rdmap = op_send | ask, .data = payload(9)});

	stage.ready(Role::listener);
	Frame request = stage.right_request();

	for (size_t len = 0; len < octets.size(); len++, request.source_attempt++) {
		Socket socket = stage.dial();

		socket.send(request.octets() + octets.slice(0, len), pace);
		if (len % 2)
			stage.want_acceptance(frame_of(socket.receive(frame_size)), request);
		die(socket, by_reset);
	}
	request.source_attempt += 1000;
	works(stage, pace, request);
}

// After some octets of the Reply.
void in_the_reply(Stage &stage, Pace pace, size_t len, bool by_reset)
{
	stage.ready(Role::connector);
	Socket socket = stage.accept();
	const Frame asked = frame_of(socket.receive(frame_size));

	socket.send(stage.right_reply(asked).octets().slice(0, len), pace);
	die(socket, by_reset);
	stage.stop_listening();
	Frame next = stage.right_request();

	next.source_attempt = 1000;
	works(stage, pace, next);
}

// With a request of the victim unacknowledged: it fails in time, not before.
void with_a_request(Stage &stage, Pace pace, bool by_reset)
{
	Options options;

	options.timeout = 1;
	options.retry = 0;
	stage.ready(Role::listener, options);
	Stream stream = stage.meet(Role::listener, pace);

	stage.victim().send(5, 8);
	stream.behind_acks(0);
	if (by_reset)
		stream.reset();
	else
		stream.fin();
	stage.victim().sends.none(1800);
	stage.victim().sends.is(5, IBV_WC_RETRY_EXC_ERR, 1500);
	stage.want_failed(0, {});
	stage.want_aftermath();
}

// The last Ack, and then it reads and drops what still comes.
void leaves(Stage &stage, Pace pace, Role role, void (*leave)(Stage &stage))
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);

	stream.send(Untagged{.data = payload(9)});
	stage.want_delivered(1);
	leave(stage);
	if (!stream.want_last_acks({1}))
		fail("it does not say what it has delivered");
	stream.say(pace == Pace::whole ? Bytes(200'000, 0x5a) : Bytes(2000, 0x5a));
	stream.ack({77});
	if (!stream.raw().send(fpdu(Tagged{}), pace))
		fail("it does not read what still comes");
	stream.fin();
	stage.has_changed(stage.regions["receive0"].to, payload(9));
}

void by_error(Stage &stage, Pace pace, Role role)
{
	leaves(stage, pace, role, [](Stage &s) { s.victim().to(IBV_QPS_ERR); });
	stage.want_failed(1, {});
	stage.want_aftermath();
}

// Its program has ended the stream: it was not lost.
void by_reset(Stage &stage, Pace pace, Role role)
{
	sleep_ms(50); // the sound QP may have lost that of the row before
	const u64 lost = stage.counter("streams_lost");

	leaves(stage, pace, role, [](Stage &s) { s.victim().to(IBV_QPS_RESET); });
	sleep_ms(50); // the RDMA core keeps counters for a while
	if (stage.counter("streams_lost") != lost)
		fail("a stream counts as lost");
	stage.want_aftermath();
}

// The peer closes its half of an idle stream: the victim closes its own, and waits for another one.
void closes(Stage &stage, Pace pace, Role role)
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);

	stream.send(Untagged{.rdmap = op_send | ask, .data = payload(9)});
	stream.want_last({}, {1});
	stream.fin();
	stream.want_last_acks({1});
	stage.want_state(IBV_QPS_RTS);
	stage.stop_listening();
	Frame next = stage.right_request();

	next.sent = 1;
	next.source_attempt = 1000;
	Stream second = stage.dialled(pace, next);

	second.ack({0});
	stage.want_to_go_on(second, 0, 0, 1);
	stage.has_changed(stage.regions["receive0"].to, payload(9));
	stage.want_delivered(1);
	stage.want_aftermath();
}

} // namespace

Cases ending_cases()
{
	Cases all;

	for (const bool reset : {true, false}) {
		const std::string how = reset ? " by a reset" : " by closing";
		const auto add = [&](const std::string &name, auto play, bool once = false) {
			all.push_back({name + how,
				       [=](Stage &stage, Pace pace) { play(stage, pace, reset); },
				       once});
		};

		add("ib 44, 54: a peer dies after each octet of its Request,", in_the_request,
		    true);
		add("ib 57, 68: a peer dies after each octet behind its Request,", in_the_stream,
		    true);
		for (const size_t len :
		     {size_t{0}, size_t{1}, size_t{20}, size_t{115}, size_t{116}})
			add("ib 63, 68: a peer dies after " + std::to_string(len) +
				    " octets of its Reply,",
			    [len](Stage &stage, Pace pace, bool by) {
				    in_the_reply(stage, pace, len, by);
			    });
		add("ib 28, 57: a peer dies that has a request of the victim,", with_a_request,
		    true);
	}
	add_both(all, "ib 31: an end that goes to ERR says what it has delivered, and closes",
		 by_error);
	add_both(all, "ib 31: so does an end that is reset", by_reset);
	add_both(all, "ib 31, 57, 68: a peer that closes an idle stream may come back", closes);
	return all;
}

} // namespace strangers
