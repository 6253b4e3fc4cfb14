// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a peer may say of the victim's own requests: true Acks, lies, and refusals
// (Documentation/ib.rst rules 8, 11 to 18, 22, 26). The victim plays either role.
#include "requester.hh"

namespace strangers {
namespace {

constexpr Cause wrong_ack = operation(0x10), unexpected = operation(6);
constexpr u8 longest_wait = 31; // 491.52 ms

// All that comes after the victim has posted its five requests.
struct Row {
	std::string name;
	std::vector<Ack> truths;
	Bytes (*lie)(Stream &stream, const Five &five);
	unsigned completed = 0; // requests
	Cause cause = wrong_ack;
};

void want_broken(Stage &stage, Stream &stream, const Row &row, const Bytes &lie)
{
	stream.say(lie);
	stream.want({fpdu(terminate(row.cause, lie))}, 0);
	stream.want_fin();
	for (u64 n = 1; n <= 5; n++)
		stage.victim().sends.is(n,
					n <= row.completed ? IBV_WC_SUCCESS : IBV_WC_WR_FLUSH_ERR);
	const bool of_buffer = row.cause.layer == 1 && row.cause.type == 1;

	stage.want_failed(0, of_buffer	       ? IBV_EVENT_QP_ACCESS_ERR
			     : row.cause.layer ? IBV_EVENT_QP_FATAL
					       : IBV_EVENT_QP_REQ_ERR);
}

void lie(Stage &stage, Pace pace, Role role, const Row &row)
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);
	const Five five = post_five(stage, stream);

	for (const Ack &truth : row.truths)
		stream.ack(truth);
	want_broken(stage, stream, row, row.lie(stream, five));
	stage.may_change(stage.regions["sink"].to, five_octets);
	stage.want_aftermath();
}

template <u32 delivered, u8 syndrome = 0, u8 timer = 0> Bytes says(Stream &stream, const Five &)
{
	return stream.next_ack({delivered, syndrome, timer});
}

Bytes response(const Five &five, u64 offset, size_t len, u32 key_flip = 0, u8 ddp = 0xc1)
{
	return fpdu(Tagged{.ddp = ddp,
			   .rdmap = op_read_response,
			   .stag = five.read.stag ^ key_flip,
			   .to = five.read.to + offset,
			   .data = payload(len)});
}

const Row rows[] = {
	{"ib 18: Delivered is before the last request acknowledged", {{2}}, says<1>, 2},
	{"ib 18: Delivered goes back to the start", {{1}}, says<0>, 1},
	{"ib 18: Delivered is the number of a Read whose response has not come", {}, says<3>},
	{"ib 18: Delivered is behind a Read whose response has not come", {{1}}, says<4>, 1},
	{"ib 18: Delivered is the last request, behind such a Read", {{2}}, says<5>, 2},
	{"ib 18: Delivered is behind the last request sent", {}, says<6>},
	{"ib 18: Delivered is 2^32 - 1", {}, says<0xffffffff>},
	{"ib 18: Delivered is 2^31", {}, says<0x80000000>},
	{"ib 18: Delivered is 2^31 - 1", {{1}}, says<0x7fffffff>, 1},
	{"ib 18: the syndrome is 5", {{1}}, says<1, 5>, 1},
	{"ib 18: the syndrome is 255", {}, says<0, 255>},
	{"ib 18: receiver not ready for an RDMA Write", {{1}}, says<1, 1, 1>, 1},
	{"ib 18: receiver not ready for a Read", {{2}}, says<2, 1, 1>, 2},
	{"ib 18: receiver not ready with timer 32", {}, says<0, 1, 32>},
	{"ib 18: receiver not ready with timer 255", {}, says<0, 1, 255>},
	{"ib 18: a refusal that goes back", {{2}}, says<0, 2>, 2},
	{"ib 18: a refusal of what is behind a Read without response", {{2}}, says<3, 3>, 2},
	{"ib 18: a refused request counts as not sent: it is acknowledged",
	 {{0, 1, longest_wait}},
	 says<1>},
	{"ib 18: a refused request counts as not sent: one behind it is acknowledged",
	 {{0, 1, longest_wait}},
	 says<5>},
	{"ib 18: a refused request counts as not sent: it is refused again",
	 {{0, 1, longest_wait}},
	 says<0, 1, longest_wait>},
	{"ib 18: a refused request counts as not sent: it is refused for good",
	 {{0, 1, longest_wait}},
	 says<0, 3>},
	{"ib 18: a response to a request behind a refused one",
	 {{0, 1, longest_wait}},
	 [](Stream &, const Five &five) { return response(five, 0, five_octets); }},
	{"ib 7, 18: an Atomic Response where a Read Response is due",
	 {},
	 [](Stream &, const Five &five) { return fpdu(atomic_response(five.read.stag, 5)); },
	 0,
	 unexpected},
	{"ib 18: a Read Response to another STag",
	 {{2}},
	 [](Stream &, const Five &five) { return response(five, 0, five_octets, 0x100); },
	 2,
	 tagged(0)},
	{"ib 18: a Read Response that begins behind its start",
	 {},
	 [](Stream &, const Five &five) { return response(five, 1, 4); },
	 0,
	 tagged(1)},
	{"ib 18: a Read Response that is longer than was asked for",
	 {},
	 [](Stream &, const Five &five) { return response(five, 0, five_octets + 1); },
	 0,
	 tagged(1)},
	{"ib 18: a Read Response that ends too early",
	 {},
	 [](Stream &, const Five &five) { return response(five, 0, five_octets - 1); },
	 0,
	 operation(0xff)},
	{"ib 18: a Read Response of 65521 octets",
	 {},
	 [](Stream &, const Five &five) { return response(five, 0, 65535 - 14); },
	 0,
	 tagged(1)},
};

// ---- true ones ----

struct Refusal {
	const char *name;
	u8 syndrome;
	ibv_wc_status status;
};

const Refusal refusals[] = {{"invalid request", invalid_request, IBV_WC_REM_INV_REQ_ERR},
			    {"remote access error", access_error, IBV_WC_REM_ACCESS_ERR},
			    {"remote operation error", operation_error, IBV_WC_REM_OP_ERR}};

// The refused request is the last that is acknowledged, and one.
void refuses(Stage &stage, Pace pace, Role role, const Refusal &refusal, u32 delivered)
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);

	post_five(stage, stream);
	stream.ack({delivered, refusal.syndrome, 77}); // its timer is not checked
	stream.want_last({}, {0});
	stream.say(Bytes(5000, 0x33)); // it reads and drops
	stream.want_fin();
	for (u64 n = 1; n <= 5; n++)
		stage.victim().sends.is(n, n <= delivered	? IBV_WC_SUCCESS
					   : n == delivered + 1 ? refusal.status
								: IBV_WC_WR_FLUSH_ERR);
	stage.want_failed(0, {});
	stage.want_aftermath();
}

void says_nothing_new(Stage &stage, Pace pace, Role role)
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);
	const Five five = post_five(stage, stream);
	Untagged odd = wire::ack({2, 0, 99}, 0);

	stream.ack({1});
	stream.ack({1});
	odd.data[6] = odd.data[7] = 0xff;
	odd.msn = 4;
	stream.send(odd);
	stream.skip_own_ack();
	stage.victim().sends.is(1);
	stage.victim().sends.is(2);
	stage.victim().sends.none(0);
	stream.say(response(five, 0, 5, 0, more_tagged) + response(five, 5, five_octets - 5));
	stage.has_changed(stage.regions["sink"].to, payload(5) + payload(five_octets - 5));
	stage.victim().sends.is(3);
	stage.victim().sends.none(20);
	stream.ack({5});
	stage.victim().sends.is(4);
	stage.victim().sends.is(5);
	stage.want_to_go_on(stream, 3, 5);
	stage.want_aftermath();
}

// Before the victim has sent anything.
void of_nothing(Stage &stage, Pace pace, Role role, const Ack &what)
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);
	const Bytes lie = stream.next_ack(what);

	stream.say(lie);
	stream.want({fpdu(terminate(wrong_ack, lie))}, 0);
	stream.want_fin();
	stage.want_failed(0, IBV_EVENT_QP_REQ_ERR);
	stage.want_aftermath();
}

// The first FPDU of an initiator is checked like others.
void first_of_all(Stage &stage, Pace pace)
{
	stage.ready(Role::listener);
	Stream stream = stage.meet(Role::listener, pace, true);
	const Bytes lie = stream.next_ack({1});

	stream.say(lie);
	stream.want({fpdu(terminate(wrong_ack, lie))}, 0); // its CRC was good
	stream.want_fin();
	stage.want_failed(0, IBV_EVENT_QP_REQ_ERR);
	stage.want_aftermath();
}

// A peer's Terminate fails the victim, which says nothing more.
void terminates(Stage &stage, Pace pace, Role role)
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);

	post_five(stage, stream);
	stream.ack({1});
	stream.send(terminate(wrong_ack, fpdu(wire::ack({0}))));
	stream.want_last_acks({0});
	stage.victim().sends.is(1);
	for (u64 n = 2; n <= 5; n++)
		stage.victim().sends.is(n, IBV_WC_WR_FLUSH_ERR);
	stage.want_failed(0, IBV_EVENT_QP_FATAL);
	stage.want_aftermath();
}

} // namespace

Cases ack_cases()
{
	Cases all;

	for (const Row &row : rows)
		add_both(all, row.name, [&row](Stage &stage, Pace pace, Role role) {
			lie(stage, pace, role, row);
		});
	for (const Refusal &refusal : refusals)
		for (const u32 delivered : {0u, 2u})
			add_both(all,
				 std::string("ib 17, 26: ") + refusal.name + ", after " +
					 std::to_string(delivered) + " requests",
				 [&refusal, delivered](Stage &stage, Pace pace, Role role) {
					 refuses(stage, pace, role, refusal, delivered);
				 });
	add_both(
		all,
		"ib 8, 12, 13: an Ack may say nothing new, and what it need not say is not checked",
		says_nothing_new);
	add_both(all, "ib 18: an Ack of a request before there is one",
		 [](Stage &stage, Pace pace, Role role) { of_nothing(stage, pace, role, {1}); });
	add_both(all, "ib 18: a refusal of a request before there is one",
		 [](Stage &stage, Pace pace, Role role) {
			 of_nothing(stage, pace, role, {0, 3});
		 });
	add_both(all, "ib 30: a Terminate fails the QP", terminates);
	all.push_back(
		{"ib 18, 30: the first FPDU of all is an Ack of what was not sent", first_of_all});
	return all;
}

} // namespace strangers
