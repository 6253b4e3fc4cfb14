// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What an end that connects does with an answer: each field of a Reply wrong, one by one, and what
// is no Reply (Documentation/ib.rst rules 41 to 56, 61). It resets the connection, and takes a
// right Request afterwards.
#include "stage.hh"

namespace strangers {
namespace {

struct Row {
	std::string name;
	bool attached;
	std::function<void(Frame &reply)> change;
};

// Rules 40 to 50: what it asks with.
void want_right_request(const Stage &stage, const Frame &is)
{
	Frame want = stage.right_request();

	std::swap(want.source_gid, want.destination_gid);
	std::swap(want.source_qpn, want.destination_qpn);
	want.features = stage.knows();
	want.ird = is.ird;
	want.ord = is.ord;
	want.source_attempt = is.source_attempt;
	want.source_incarnation = is.source_incarnation;
	want_octets("the Request", is.octets().slice(18, 500), want.octets().slice(18, 500));
	if (is.flags || is.revision != 2 || !is.source_attempt || !is.source_incarnation)
		fail("the Request is ", hex(is.octets()));
}

Frame take_request(const Stage &stage, const Socket &socket)
{
	const Frame frame = frame_of(socket.receive(frame_size));

	want_right_request(stage, frame);
	return frame;
}

// It resets the connection, perhaps before it has all of this, and says nothing more.
void is_reset(const Socket &socket, const Bytes &octets, Pace pace)
{
	const bool sent = socket.send(octets, pace);
	Over over;

	want_octets("what it says to the Reply", socket.rest(&over, 5000), {});
	if (sent && over != Over::reset)
		fail(over == Over::open ? "the connection is not closed"
					: "the connection ends by FIN, not by a reset");
}

// The end goes on to wait, and accepts.
void accepts_then(Stage &stage, Pace pace)
{
	stage.want_state(IBV_QPS_RTS);
	stage.stop_listening();
	Stream stream = stage.meet(Role::listener, pace);

	stage.want_to_go_on(stream);
}

void reply_with(Stage &stage, Pace pace, const Row &row)
{
	stage.ready(Role::connector);
	Socket socket = stage.accept();
	Frame reply = stage.right_reply(take_request(stage, socket));

	row.change(reply);
	if (row.attached) {
		socket.send(reply.octets(), pace);
		Stream stream(std::move(socket), pace);

		stream.want_ack({0});
		stream.ack({0});
		stage.want_to_go_on(stream);
	} else {
		is_reset(socket, reply.octets(), pace);
		accepts_then(stage, pace);
	}
	stage.want_aftermath();
}

void refuse(Frame &f, u8 reason)
{
	f.flags |= flag_reject;
	f.reason = reason;
}

const Row rows[] = {
	{"ib 55, 56: a right Reply is accepted", true, [](Frame &) {}},
	{"ib 41: other bits of a Reply are not checked", true, [](Frame &f) { f.flags |= 0x0f; }},
	{"ib 42: reserved octets of a Reply are not checked", true,
	 [](Frame &f) {
		 f.zero = 0xffff;
		 f.source_qpn |= 0xff000000;
		 f.destination_qpn |= 0xff000000;
	 }},
	{"ib 42: a Reply with 97 octets of private data", true, [](Frame &f) { f.length = 97; }},
	{"ib 42: with 512", true, [](Frame &f) { f.length = 512; }},
	{"ib 46: a Reply with features that nobody has asked for", true,
	 [](Frame &f) { f.features = ~0u; }},
	{"ib 47: a Reply with IRD and ORD of zero", true, [](Frame &f) { f.ird = f.ord = 0; }},
	{"ib 47: a Reply with IRD and ORD of 65535", true, [](Frame &f) { f.ird = f.ord = 65535; }},
	{"ib 44: a Reply without the magic", false, [](Frame &f) { f.magic[7] ^= 0x20; }},
	{"ib 44: with 95 octets of private data", false, [](Frame &f) { f.length = 95; }},
	{"ib 44: with 20 octets", false, [](Frame &f) { f.length = 20; }},
	{"ib 44: with none", false, [](Frame &f) { f.length = 0; }},
	{"ib 44: with 513", false, [](Frame &f) { f.length = 513; }},
	{"ib 44: with 65535, of which 96 come", false, [](Frame &f) { f.says = 65535; }},
	{"ib 41, 44: revision 0 of a Reply", false, [](Frame &f) { f.revision = 0; }},
	{"ib 41, 44: revision 1 of a Reply", false, [](Frame &f) { f.revision = 1; }},
	{"ib 41, 44: M of a Reply", false, [](Frame &f) { f.flags |= 0x80; }},
	{"ib 41, 44: S of a Reply", false, [](Frame &f) { f.flags |= 0x10; }},
	{"ib 44: a Reply that accepts, with a Reason", false, [](Frame &f) { f.reason = busy; }},
	{"ib 44: a Reply that refuses, without a Reason", false,
	 [](Frame &f) { f.flags |= flag_reject; }},
	{"ib 44: a Reply that accepts, with a Source attempt of zero", false,
	 [](Frame &f) { f.source_attempt = 0; }},
	{"ib 44: with a Source incarnation of zero", false,
	 [](Frame &f) { f.source_incarnation = 0; }},
	{"ib 44: a Request Frame as the Reply", false,
	 [](Frame &f) { f.key = hostile::request_key; }},
	{"ib 45: a Reply that accepts, of version 2", false, [](Frame &f) { f.version = 2; }},
	{"ib 45: a Reply that refuses, of version 2, in 20 octets", false,
	 [](Frame &f) {
		 refuse(f, version);
		 f.version = 2;
		 f.length = 20;
	 }},
	{"ib 46, 56: a Reply that needs a feature", false, [](Frame &f) { f.needs = 1; }},
	{"ib 56: a Reply with another Source GID", false, [](Frame &f) { f.source_gid[15] ^= 4; }},
	{"ib 56: with another Source QPN", false, [](Frame &f) { f.source_qpn++; }},
	{"ib 56: with another Destination GID", false, [](Frame &f) { f.destination_gid[0] ^= 1; }},
	{"ib 56: with another Destination QPN", false, [](Frame &f) { f.destination_qpn++; }},
	{"ib 56: with Source and Destination as in the Request", false,
	 [](Frame &f) {
		 std::swap(f.source_gid, f.destination_gid);
		 std::swap(f.source_qpn, f.destination_qpn);
	 }},
	{"ib 56: with another Destination incarnation", false,
	 [](Frame &f) { f.destination_incarnation++; }},
	{"ib 56: with no Destination incarnation", false,
	 [](Frame &f) { f.destination_incarnation = 0; }},
	{"ib 56: with the Destination attempt before", false,
	 [](Frame &f) { f.destination_attempt--; }},
	{"ib 56: with the next Destination attempt", false,
	 [](Frame &f) { f.destination_attempt++; }},
	{"ib 56, 57: a Reply whose Sent is too much", false, [](Frame &f) { f.sent = 1; }},
	{"ib 56, 57: a Reply whose Delivered is too much", false,
	 [](Frame &f) { f.delivered = ~0u; }},
};

Row refusal(u8 reason, bool zeros)
{
	return {"ib 52, 53: reason " + std::to_string(reason) +
			(zeros ? ", from nobody" : ", from the other end"),
		false, [=](Frame &f) {
			refuse(f, reason);
			if (!zeros)
				return;
			const Frame was = f;

			f = Frame{.key = was.key, .flags = was.flags, .reason = was.reason};
			f.ird = f.ord = 0;
			f.source_attempt = 0;
			f.source_incarnation = 0;
		}};
}

// ---- what is no Reply ----

void say_no_reply(Stage &stage, Pace pace, const Bytes &octets)
{
	stage.ready(Role::connector);
	const Socket socket = stage.accept();

	take_request(stage, socket);
	is_reset(socket, octets, pace);
	accepts_then(stage, pace);
	stage.want_aftermath();
}

void fall_silent(Stage &stage, Pace pace, size_t len)
{
	const Timeouts short_ones(1);

	stage.ready(Role::connector);
	const Socket socket = stage.accept();
	const Frame reply = stage.right_reply(take_request(stage, socket));
	const auto begin = Clock::now();

	is_reset(socket, reply.octets().slice(0, len), pace);
	if (seconds_since(begin) < 0.9)
		fail("after ", std::to_string(seconds_since(begin)), " s");
	accepts_then(stage, pace);
	stage.want_aftermath();
}

// What it has to send waits for the Reply.
void says_nothing_first(Stage &stage, Pace pace)
{
	stage.ready(Role::connector);
	Socket socket = stage.accept();

	stage.victim().send(5, 8);
	const Frame asked = take_request(stage, socket);
	const Bytes reply = stage.right_reply(asked).octets(),
		    octets(stage.victim().buffer.begin(), stage.victim().buffer.begin() + 8);

	if (!socket.silent(100))
		fail("it sends more than its Request");
	socket.send(reply.slice(0, reply.size() - 1), pace);
	if (!socket.silent(50))
		fail("it sends more than its Request, and the Reply is not whole");
	Stream stream(std::move(socket), pace);

	stream.say(reply.slice(reply.size() - 1, 1));
	stream.want_ack({0});
	stream.want({fpdu(Untagged{.rdmap = op_send | ask, .data = octets})}, 0);
	stream.ack({1});
	stage.victim().sends.is(5);
	stage.want_to_go_on(stream, 1, 1);
	stage.want_aftermath();
}

// What is behind the Reply belongs to the stream.
void with_more_behind(Stage &stage, Pace pace)
{
	stage.ready(Role::connector);
	Socket socket = stage.accept();
	const Frame asked = take_request(stage, socket);

	socket.send(stage.right_reply(asked).octets() +
			    fpdu(Untagged{.rdmap = op_send | ask, .data = payload(9)}),
		    pace);
	Stream stream(std::move(socket), pace);

	stream.want_last({}, {1});
	stage.has_changed(stage.regions["receive0"].to, payload(9));
	stage.want_delivered(1);
	stage.want_to_go_on(stream, 0, 0, 1);
	stage.want_aftermath();
}

} // namespace

Cases reply_cases()
{
	Cases all;
	const auto add = [&](const Row &row) {
		all.push_back({row.name + " (Reply)",
			       [row](Stage &stage, Pace pace) { reply_with(stage, pace, row); }});
	};

	for (const Row &row : rows)
		add(row);
	for (const u8 reason : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255})
		for (const bool zeros : {false, true})
			add(refusal(reason, zeros));
	all.push_back({"ib 44: an FPDU as the Reply", [](Stage &stage, Pace pace) {
			       say_no_reply(stage, pace, fpdu(wire::ack({0})));
		       }});
	all.push_back({"ib 44: zeros as the Reply",
		       [](Stage &stage, Pace pace) { say_no_reply(stage, pace, Bytes(200)); }});
	for (const size_t len : {size_t{0}, size_t{20}, frame_size - 1})
		all.push_back({"ib 63: " + std::to_string(len) +
				       " octets of a Reply, and then silence, end in time",
			       [len](Stage &stage, Pace pace) { fall_silent(stage, pace, len); },
			       true});
	all.push_back({"ib 61: the initiator sends nothing before it has read the Reply",
		       says_nothing_first});
	all.push_back({"ib 61: FPDUs may follow the Reply at once", with_more_behind});
	return all;
}

} // namespace strangers
