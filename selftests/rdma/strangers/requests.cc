// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What comes to the port: each field of a Request wrong, one by one, and what is no Request
// (Documentation/ib.rst rules 40 to 62). After each the victim takes a right one.
#include "refusals.hh"

namespace strangers {
namespace {

struct Row {
	std::string name;
	u8 answer; // a Reason
	std::function<void(Frame &request)> change;
};

// A right Request is accepted, and the stream works.
void goes_on(Stage &stage, Pace pace)
{
	Stream stream = stage.meet(Role::listener, pace);

	stage.want_to_go_on(stream);
}

void ask_for(Stage &stage, Pace pace, const Row &row)
{
	stage.ready(Role::listener);
	Frame frame = stage.right_request();

	row.change(frame);
	if (row.answer == accepts) {
		Stream stream = stage.dialled(pace, frame);

		stream.ack({0});
		stage.want_to_go_on(stream);
	} else {
		asks_in_vain(stage, frame, row.answer, pace);
		stage.want_state(IBV_QPS_RTS);
		goes_on(stage, pace);
	}
	stage.want_aftermath();
}

const Row rows[] = {
	{"ib 40, 55: a right Request is accepted", accepts, [](Frame &) {}},
	{"ib 41: revision 0", malformed, [](Frame &f) { f.revision = 0; }},
	{"ib 41: revision 1", malformed, [](Frame &f) { f.revision = 1; }},
	{"ib 41: revision 3", malformed, [](Frame &f) { f.revision = 3; }},
	{"ib 41: M, which wants markers", malformed, [](Frame &f) { f.flags |= 0x80; }},
	{"ib 41: S, which says that depths come first", malformed,
	 [](Frame &f) { f.flags |= 0x10; }},
	{"ib 41: R of a Request is not checked", accepts, [](Frame &f) { f.flags |= flag_reject; }},
	{"ib 41: nor are the other bits", accepts, [](Frame &f) { f.flags |= 0x0f; }},
	{"ib 42: reserved octets are not checked", accepts, [](Frame &f) { f.zero = 0xffff; }},
	{"ib 42: nor are those beside the QPNs", accepts,
	 [](Frame &f) {
		 f.source_qpn |= 0xff000000;
		 f.destination_qpn |= 0xff000000;
	 }},
	{"ib 42: 97 octets of private data", accepts, [](Frame &f) { f.length = 97; }},
	{"ib 42: 512 octets of private data", accepts, [](Frame &f) { f.length = 512; }},
	{"ib 44: 513 octets of private data, more than MPA has", malformed,
	 [](Frame &f) { f.length = 513; }},
	{"ib 44: 95 octets of private data", malformed, [](Frame &f) { f.length = 95; }},
	{"ib 44: 20 octets of private data", malformed, [](Frame &f) { f.length = 20; }},
	{"ib 44: 19 octets of private data", malformed, [](Frame &f) { f.length = 19; }},
	{"ib 44: 8 octets of private data", malformed, [](Frame &f) { f.length = 8; }},
	{"ib 44: no private data", malformed, [](Frame &f) { f.length = 0; }},
	{"ib 44: a Source attempt of zero", malformed, [](Frame &f) { f.source_attempt = 0; }},
	{"ib 44: a Source incarnation of zero", malformed,
	 [](Frame &f) { f.source_incarnation = 0; }},
	{"ib 44: a Reason that is in the table", malformed, [](Frame &f) { f.reason = busy; }},
	{"ib 44: a Reason that is not", malformed, [](Frame &f) { f.reason = 255; }},
	{"ib 45: version 0", version, [](Frame &f) { f.version = 0; }},
	{"ib 45: version 2", version, [](Frame &f) { f.version = 2; }},
	{"ib 45: version 255, in which nothing else is right", version,
	 [](Frame &f) {
		 f.version = 255;
		 f.source_gid = f.destination_gid = Bytes(16, 0xff);
		 f.source_incarnation = 0;
	 }},
	{"ib 45: version 2 in 20 octets", version,
	 [](Frame &f) {
		 f.version = 2;
		 f.length = 20;
	 }},
	{"ib 44, 45: version 2 in 19 octets", malformed,
	 [](Frame &f) {
		 f.version = 2;
		 f.length = 19;
	 }},
	{"ib 46: all features are known to the initiator", accepts,
	 [](Frame &f) { f.features = ~0u; }},
	{"ib 46: a feature is needed that the responder does not know", features,
	 [](Frame &f) { f.features = f.needs = 0x80000000; }},
	{"ib 46: one is needed that the initiator does not know itself", features,
	 [](Frame &f) { f.needs = 1; }},
	{"ib 46: Flush and Atomic Write are known to the initiator", accepts,
	 [](Frame &f) { f.features = feature_extended; }},
	{"ib 47: IRD and ORD of zero", accepts, [](Frame &f) { f.ird = f.ord = 0; }},
	{"ib 47: IRD and ORD of 65535", accepts, [](Frame &f) { f.ird = f.ord = 65535; }},
	{"ib 49: attempts begin with any number", accepts,
	 [](Frame &f) { f.source_attempt = 0xffffffff; }},
	{"ib 50: a Destination attempt says nothing without an incarnation", accepts,
	 [](Frame &f) { f.destination_attempt = 0xffffffff; }},
	{"ib 54: there is no such QP", not_ready, [](Frame &f) { f.destination_qpn ^= 0x5a5a5a; }},
	{"ib 54: QP 0", not_ready, [](Frame &f) { f.destination_qpn = 0; }},
	{"ib 54: QP 1", not_ready, [](Frame &f) { f.destination_qpn = 1; }},
	{"ib 54: another Source QPN", other_pair, [](Frame &f) { f.source_qpn++; }},
	{"ib 54: another Destination GID", other_pair,
	 [](Frame &f) { f.destination_gid[15] ^= 4; }},
	{"ib 40: another Source GID than the address that it comes from", other_pair,
	 [](Frame &f) { f.source_gid[15] ^= 4; }},
	{"ib 40: the Source GID is the victim's", other_pair,
	 [](Frame &f) { f.source_gid = f.destination_gid; }},
	{"ib 57: Sent is more than was delivered", counts, [](Frame &f) { f.sent = 1; }},
	{"ib 57: Sent is less, modulo 2^32", counts, [](Frame &f) { f.sent = ~0u; }},
	{"ib 57: Delivered is more than was sent", counts, [](Frame &f) { f.delivered = 1; }},
	{"ib 58: for another incarnation", stale, [](Frame &f) { f.destination_incarnation = 1; }},
	{"ib 60: malformed decides before version", malformed,
	 [](Frame &f) {
		 f.version = 2;
		 f.reason = 1;
	 }},
	{"ib 60: version decides before not ready", version,
	 [](Frame &f) {
		 f.version = 2;
		 f.destination_qpn = 0;
	 }},
	{"ib 60: not ready decides before features", not_ready,
	 [](Frame &f) {
		 f.needs = 1;
		 f.destination_qpn = 0;
	 }},
	{"ib 60: not ready decides before other pair", not_ready,
	 [](Frame &f) {
		 f.source_qpn++;
		 f.destination_qpn = 0;
	 }},
	{"ib 40, 60: also if the Request is of another address", not_ready,
	 [](Frame &f) {
		 f.source_gid[15] ^= 4;
		 f.destination_qpn = 0;
	 }},
	{"ib 60: other pair decides before features", other_pair,
	 [](Frame &f) {
		 f.needs = 1;
		 f.source_qpn++;
	 }},
	{"ib 60: features decide before stale", features,
	 [](Frame &f) {
		 f.needs = 1;
		 f.destination_incarnation = 1;
	 }},
	{"ib 60: stale decides before counts", stale,
	 [](Frame &f) {
		 f.sent = 1;
		 f.destination_incarnation = 1;
	 }},
};

// One octet of the magic is wrong.
Row wrong_magic(size_t octet)
{
	return {"ib 44: octet " + std::to_string(octet) + " of the magic is wrong", malformed,
		[octet](Frame &f) { f.magic[octet] ^= 0x20; }};
}

// ---- what is no Request ----

struct Garbage {
	const char *name;
	Bytes octets;
};

Bytes text(const char *octets) { return {octets, octets + strlen(octets)}; }

const Garbage garbage[] = {
	{"a line of HTTP", text("GET / HTTP/1.1\r\nHost: rnic\r\n\r\n")},
	{"an MPA Reply Frame", Frame{.key = hostile::reply_key}.octets()},
	{"an MPA Request Frame whose key ends with another octet",
	 damaged(Frame{}.octets(), 15, 0x01)},
	{"20 zeros", Bytes(20)},
	{"an FPDU", fpdu(wire::ack({0}))},
	{"many ones", Bytes(4000, 0xff)},
};

void want_dropped(const Socket &socket, int ms = 2000)
{
	Over over;

	want_octets("the answer", socket.rest(&over, ms), {});
	if (over == Over::open)
		fail("the connection is not closed");
}

void talk_nonsense(Stage &stage, Pace pace, const Garbage &what)
{
	stage.ready(Role::listener);
	const Socket socket = stage.dial();

	socket.send(what.octets, pace);
	want_dropped(socket);
	goes_on(stage, pace);
	stage.want_aftermath();
}

// Without another octet the connection ends when its time is over, and not before. One that has
// said nothing at all has some more.
void fall_silent(Stage &stage, Pace pace)
{
	const Timeouts short_ones(1);

	stage.ready(Role::listener);
	const Bytes request = stage.right_request().octets();
	const auto begin = Clock::now();
	std::vector<Socket> sockets;
	const Socket silent = stage.dial();

	for (const size_t len :
	     {size_t{1}, size_t{16}, size_t{19}, size_t{20}, size_t{28}, request.size() - 1}) {
		sockets.push_back(stage.dial());
		sockets.back().send(request.slice(0, len), pace);
	}
	for (const Socket &each : sockets) {
		want_dropped(each);
		if (seconds_since(begin) < 0.9)
			fail("it ends after ", std::to_string(seconds_since(begin)), " s");
	}
	goes_on(stage, pace);
	want_dropped(silent, 12000);
	stage.want_aftermath();
}

void from_elsewhere(Stage &stage, Pace pace, bool as_itself)
{
	stage.ready(Role::listener);
	Frame frame = stage.right_request();
	const Socket socket = stage.dial_from_another();

	if (as_itself)
		frame.source_gid = stage.another_gid();
	socket.send(frame.octets(), pace);
	refused(socket, frame, other_pair);
	goes_on(stage, pace);
	stage.want_aftermath();
}

// There its peer's address is another host's.
void from_another_vrf(Stage &stage, Pace pace)
{
	stage.ready(Role::listener);
	const Frame frame = stage.right_request();
	const Socket socket = stage.dial_beside();

	socket.send(frame.octets(), pace);
	refused(socket, frame, other_pair);
	goes_on(stage, pace);
	stage.want_aftermath();
}

// ---- states of the victim ----

void in_no_state(Stage &stage, Pace pace)
{
	stage.half_ready();
	Frame of_another = stage.right_request();

	of_another.source_gid[15] ^= 4;
	asks_in_vain(stage, of_another, not_ready, pace); // which decides first
	asks_in_vain(stage, stage.right_request(), not_ready, pace);
	stage.victim().to(IBV_QPS_ERR);
	asks_in_vain(stage, stage.right_request(), not_ready, pace);
	stage.victim().to(IBV_QPS_RESET);
	asks_in_vain(stage, stage.right_request(), not_ready, pace);
	if (stage.victim().init() || stage.enter_rtr())
		fail("RTR");
	Stream stream = stage.meet(Role::listener, pace); // in RTR it does

	if (stage.victim().rts())
		fail("RTS");
	stage.want_to_go_on(stream);
	stage.want_aftermath();
}

// A QP of type UD has a number among the others, and no stream.
struct Unconnected {
	ibv_qp *qp;

	explicit Unconnected(const ibv_qp *like)
	{
		ibv_qp_init_attr init{};

		init.qp_type = IBV_QPT_UD;
		init.send_cq = like->send_cq;
		init.recv_cq = like->recv_cq;
		init.cap.max_send_wr = init.cap.max_recv_wr = 1;
		qp = ibv_create_qp(like->pd, &init);
		if (!qp)
			fail("a QP of type UD");
	}
	Unconnected(const Unconnected &) = delete;
	~Unconnected() { ibv_destroy_qp(qp); }

	void to(ibv_qp_state state, int mask)
	{
		ibv_qp_attr attr{};

		attr.qp_state = state;
		attr.port_num = 1;
		if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask))
			fail("a state of a QP of type UD");
	}
};

void to_type_ud(Stage &stage, Pace pace)
{
	stage.half_ready();
	Unconnected other(stage.victim().qp);
	Frame request = stage.right_request();

	request.destination_qpn = other.qp->qp_num;
	asks_in_vain(stage, request, not_ready, pace);
	other.to(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	other.to(IBV_QPS_RTR, 0);
	asks_in_vain(stage, request, not_ready, pace);
	if (stage.enter_rtr())
		fail("RTR");
	Stream stream = stage.meet(Role::listener, pace);

	if (stage.victim().rts())
		fail("RTS");
	stage.want_to_go_on(stream);
	stage.want_aftermath();
}

// What is behind a Request belongs to the stream.
void with_more_behind(Stage &stage, Pace pace)
{
	stage.ready(Role::listener);
	const Frame frame = stage.right_request();
	const Socket refused_one = stage.dial();
	Socket socket = stage.dial();
	Frame wrong = frame;

	wrong.source_qpn++;
	refused_one.send(wrong.octets() + fpdu(wire::ack({0})) + Bytes(3000, 7), pace);
	refused(refused_one, wrong, other_pair);
	socket.send(frame.octets() + fpdu(wire::ack({0}, 1, op_ack | ask)) +
			    fpdu(Untagged{.rdmap = op_send | ask, .data = payload(9)}),
		    pace);
	stage.want_acceptance(frame_of(socket.receive(frame_size)), frame);
	Stream stream(std::move(socket), pace);

	stream.want_last({}, {1});
	stage.has_changed(stage.regions["receive0"].to, payload(9));
	stage.want_delivered(1);
	stage.want_aftermath();
}

// What the responder has to send waits.
void says_nothing_first(Stage &stage, Pace pace)
{
	stage.ready(Role::listener);
	stage.victim().send(5, 8);
	Stream stream = stage.dialled(pace, stage.right_request());
	const Bytes octets(stage.victim().buffer.begin(), stage.victim().buffer.begin() + 8);

	stream.want_silence(100);
	stream.ack({0});
	stream.want({fpdu(Untagged{.rdmap = op_send | ask, .data = octets})}, 0);
	stream.ack({1});
	stage.victim().sends.is(5);
	stage.want_to_go_on(stream, 1, 1);
	stage.want_aftermath();
}

// Neither end wants CRCs: their field is zero, and not checked.
void without_crcs(Stage &stage, Pace pace)
{
	struct Off {
		Off() { with_crcs = false; }
		~Off() { with_crcs = true; }
	} off;

	stage.ready(Role::listener);
	Stream stream = stage.meet(Role::listener, pace);
	Bytes send = fpdu(Untagged{.rdmap = op_send | ask, .data = payload(20)});

	send.back() = 0x55;
	stream.say(send);
	stream.want_ack({1});
	stage.has_changed(stage.regions["receive0"].to, payload(20));
	stage.want_delivered(1);
	stage.want_to_go_on(stream, 0, 0, 1);
	stage.want_aftermath();
}

// The Request of an end to itself, which is made at its own address.
void names_itself(Stage &stage, Pace pace)
{
	stage.meet_itself();
	stage.half_ready();
	if (stage.victim().rtr(stage.victim().name()) || stage.victim().rts())
		fail("RTS");
	Frame frame = stage.right_request();

	frame.source_qpn = frame.destination_qpn;
	{
		const Elsewhere there("sr1");

		asks_in_vain(stage, frame, other_pair, pace);
	}
	exercise(stage.victim(), stage.victim());
	stage.want_aftermath();
}

} // namespace

Cases request_cases()
{
	Cases all;
	const auto add = [&](const Row &row) {
		all.push_back({row.name + " (Request)",
			       [row](Stage &stage, Pace pace) { ask_for(stage, pace, row); }});
	};

	for (const Row &row : rows)
		add(row);
	for (size_t octet = 0; octet < 8; octet++)
		add(wrong_magic(octet));
	for (const Garbage &what : garbage)
		all.push_back(
			{std::string("ib 44: no answer to ") + what.name,
			 [&what](Stage &stage, Pace pace) { talk_nonsense(stage, pace, what); }});
	for (const Case &each : Cases{
		     {"ib 40: a Request from another address than that of its Source GID is "
		      "refused",
		      [](Stage &stage, Pace pace) { from_elsewhere(stage, pace, false); }},
		     {"ib 40, 54: a Request from another address, with the GID of that, is refused",
		      [](Stage &stage, Pace pace) { from_elsewhere(stage, pace, true); }},
		     {"ib 44: a Request that is not whole in time is dropped", fall_silent, true},
		     {"ib 54: a QP in RESET, INIT or ERR refuses, and accepts in RTR", in_no_state},
		     {"ib 54: a QP of type UD refuses", to_type_ud},
		     {"ib 61: the responder reads nothing behind the Request before it has replied",
		      with_more_behind},
		     {"ib 2, 61: the responder sends no FPDU before it has received a valid one",
		      says_nothing_first},
		     {"ib 1, 41: without CRCs their field is not checked", without_crcs},
		     {"ib 62: a Request of an end to itself is refused", names_itself},
	     })
		all.push_back(each);
	return all;
}

Cases beside_cases()
{
	return {{"ib 40: a Request from another VRF, from the peer's address, is refused",
		 from_another_vrf}};
}

} // namespace strangers
