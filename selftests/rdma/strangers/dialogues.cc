// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Dialogues of more than one step: receiver not ready on either side, Immediate Data, who
// acknowledges when, and who answers in which order (Documentation/ib.rst rules 5, 6, 9 to 28).
#include "requester.hh"

#include <arpa/inet.h>

namespace strangers {
namespace {

constexpr Cause wrong_ack = operation(0x10);
constexpr u8 victims_timer = 14; // 1.28 ms

Options with_timer(int rd_atomic = 8)
{
	Options options;

	options.min_rnr_timer = victims_timer;
	options.rd_atomic = static_cast<uint8_t>(rd_atomic);
	return options;
}

Untagged send(const Bytes &data, u32 msn = 1, u8 rdmap = op_send | ask)
{
	return {.rdmap = rdmap, .msn = msn, .data = data};
}

Tagged write_in(const Region &region, size_t len, u8 bits = ask)
{
	return {.rdmap = static_cast<u8>(op_write | bits),
		.stag = region.stag,
		.to = region.to,
		.data = payload(len, 3)};
}

u64 word_of(const Region &region) { return (region.to + 7) & ~u64{7}; }

// ---- the victim is not ready ----

// It has refused request 1, a Send of this length with MSN 1.
Stream not_ready_for(Stage &stage, Pace pace, Role role, size_t len)
{
	stage.ready(role, with_timer(), 0);
	Stream stream = stage.meet(role, pace);

	stream.send(send(payload(len)));
	stream.want_ack({0, receiver_not_ready, victims_timer});
	return stream;
}

// ib.rst 20: none of these has an effect, but Acks are taken.
void say_what_is_dropped(Stage &stage, Stream &stream)
{
	stream.send(write_in(stage.regions["both"], 40));
	stream.send(send(payload(3), 2));
	stream.send(read_request({.length = 8,
				  .source_stag = stage.regions["both"].stag,
				  .source_to = stage.regions["both"].to}));
	stream.send(atomic_request(
		{.stag = stage.regions["atomic"].stag, .to = word_of(stage.regions["atomic"])}, 2));
	stream.send(Untagged{.rdmap = op_send | ask, .mo = 4, .data = payload(3)});
	stream.send(Tagged{.stag = 0xdeadbe00, .data = payload(8)});
}

void drops(Stage &stage, Pace pace, Role role)
{
	Stream stream = not_ready_for(stage, pace, role, 20);

	stream.want_silence(30);
	say_what_is_dropped(stage, stream);
	stream.ack({0}, ask);
	stream.want_ack({0});
	stream.want_silence(30);
	stage.post_receives(2);
	stream.send(send(payload(20)));
	stream.send(write_in(stage.regions["both"], 8));
	stream.want_last({}, {2});
	stage.has_changed(stage.regions["receive0"].to, payload(20));
	stage.has_changed(stage.regions["both"].to, payload(8, 3));
	stage.want_delivered(1);
	stage.want_to_go_on(stream, 0, 0, 2);
	stage.want_aftermath();
}

void each_time(Stage &stage, Pace pace, Role role)
{
	Stream stream = not_ready_for(stage, pace, role, 20);

	for (int i = 0; i < 3; i++) {
		stream.send(write_in(stage.regions["both"], 8));
		stream.send(send(payload(20)));
		stream.want_ack({0, receiver_not_ready, victims_timer});
		stream.ack({0}, ask);
		stream.want_ack({0});
	}
	stage.post_receives(1);
	stream.send(send(payload(20)));
	stream.want_last({}, {1});
	stage.has_changed(stage.regions["receive0"].to, payload(20));
	stage.want_delivered(1);
	stage.want_aftermath();
}

// ib.rst 20, 116: an Atomic Write behind a refusal is done when it comes again, and once.
void drops_extended(Stage &stage, Pace pace, Role role)
{
	stage.know(feature_extended);
	Stream stream = not_ready_for(stage, pace, role, 20);
	const Region &both = stage.regions["both"];
	const Untagged again = atomic_write(both.stag, word_of(both), payload(8, 5), 1);

	stream.send(atomic_write(both.stag, word_of(both), payload(8, 3)));
	stream.send(flush(0xdeadbe00, 0, 1, 2));
	stream.ack({0}, ask);
	stream.want_ack({0});
	stage.post_receives(1);
	stream.send(send(payload(20)));
	stream.send(again);
	stream.ack({0}, ask);
	stream.want_last({}, {2});
	stage.has_changed(stage.regions["receive0"].to, payload(20));
	stage.has_changed(word_of(both), payload(8, 5));
	stage.want_delivered(1);
	stage.want_aftermath();
}

// Posts a Flush or an Atomic Write, if libibverbs has calls for them.
template <class Ex> bool post_extended(Ex *ex, bool flushes)
{
	if constexpr (requires { ex->wr_flush; }) {
		u64 word = 1;

		ibv_wr_start(ex);
		ex->wr_id = 5;
		ex->wr_flags = IBV_SEND_SIGNALED;
		if (flushes)
			ex->wr_flush(ex, 0x77, 0x1000, 8, 1, 0);
		else
			ex->wr_atomic_write(ex, 0x77, 0x1000, &word);
		return !ibv_wr_complete(ex);
	}
	return false;
}

// ib.rst 111: a peer of an older release gets none of them.
void refuses_its_own(Stage &stage, Pace pace, Role role)
{
	for (const bool flushes : {true, false}) {
		stage.ready(role, with_timer());
		Stream stream = stage.meet(role, pace);

		if (!post_extended(ibv_qp_to_qp_ex(stage.victim().qp), flushes))
			fail("this libibverbs cannot post it");
		stage.victim().sends.is(5, IBV_WC_LOC_QP_OP_ERR);
		stream.want_last_acks({0});
		stage.want_failed(0, {});
		stage.want_aftermath();
	}
}

struct Bad {
	const char *name;
	Cause cause;
	Bytes fpdu;
};

const Bad bad_ones[] = {
	{"queue", untagged(1), fpdu(Untagged{.qn = 5})},
	{"opcode", operation(6), fpdu(Untagged{.rdmap = 0x4f})},
	{"DDP version", untagged(6), fpdu(Untagged{.ddp = 0x40, .msn = 2})},
	{"RDMAP version", operation(5), fpdu(Untagged{.rdmap = 0x83, .msn = 2})},
	{"CRC", bad_crc, damaged(fpdu(Untagged{.msn = 2, .data = payload(9)}), 30)},
};

void dropped_and_wrong(Stage &stage, Pace pace, Role role, const Bad &bad)
{
	Stream stream = not_ready_for(stage, pace, role, 20);

	stream.say(bad.fpdu);
	stream.want({fpdu(terminate(bad.cause, bad.fpdu))}, 0);
	stream.want_fin();
	stage.want_failed(0, bad.cause.layer ? IBV_EVENT_QP_FATAL : IBV_EVENT_QP_REQ_ERR);
	stage.want_aftermath();
}

// Its own requests, the peer's responses and Acks go on; a Terminate ends it.
void goes_on_meanwhile(Stage &stage, Pace pace, Role role)
{
	Stream stream = not_ready_for(stage, pace, role, 20);
	const Five five = post_five(stage, stream);

	stream.ack({2});
	stream.send(Tagged{.rdmap = op_read_response,
			   .stag = five.read.stag,
			   .to = five.read.to,
			   .data = payload(five_octets)});
	stream.ack({5});
	for (u64 n = 1; n <= 5; n++)
		stage.victim().sends.is(n);
	stage.has_changed(stage.regions["sink"].to, payload(five_octets));
	stream.send(terminate(wrong_ack, fpdu(wire::ack({0}))));
	stream.want_last_acks({0});
	stage.want_failed(0, IBV_EVENT_QP_FATAL);
	stage.want_aftermath();
}

void in_two_segments(Stage &stage, Pace pace, Role role)
{
	stage.ready(role, with_timer(), 0);
	Stream stream = stage.meet(role, pace);
	Untagged first = send(payload(20)), rest = first;

	first.ddp = more_untagged;
	rest.mo = 20;
	stream.send(first);
	stream.want_ack({0, receiver_not_ready, victims_timer});
	stage.post_receives(1);
	stream.send(rest);
	stream.ack({0}, ask);
	stream.want_ack({0});
	stream.send(first);
	stream.send(rest);
	stream.want_last({}, {1});
	stage.has_changed(stage.regions["receive0"].to, payload(20) + payload(20));
	stage.want_delivered(1);
	stage.want_aftermath();
}

void want_immediate(Stage &stage, u64 wr_id, u32 data, u32 len, bool of_write)
{
	const ibv_wc wc = stage.victim().receives.is(wr_id);
	const auto opcode = of_write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;

	if (!(wc.wc_flags & IBV_WC_WITH_IMM) || ntohl(wc.imm_data) != data || wc.byte_len != len ||
	    wc.opcode != opcode)
		fail("the receive has flags ", hostile::hex(Bytes{static_cast<u8>(wc.wc_flags)}),
		     ", data ", std::to_string(ntohl(wc.imm_data)), ", length ",
		     std::to_string(wc.byte_len), ", opcode ", std::to_string(wc.opcode));
}

// Of an RDMA Write only its Immediate Data come again, and report the length of their own Write.
void only_immediate_data(Stage &stage, Pace pace, Role role)
{
	Untagged data = immediate(u64{0xa1b2c3d4} << 32 | 0x55);

	stage.ready(role, with_timer(), 0);
	Stream stream = stage.meet(role, pace);

	data.rdmap |= ask;
	stream.send(write_in(stage.regions["both"], 24, more));
	stream.send(data);
	stream.want_ack({0, receiver_not_ready, victims_timer});
	stream.send(write_in(stage.regions["both"], 100, more)); // of another request: dropped
	stage.post_receives(1);
	stream.send(data);
	stream.want_last({}, {1});
	stage.has_changed(stage.regions["both"].to, payload(24, 3));
	want_immediate(stage, 1, 0xa1b2c3d4, 24, true);
	stage.want_aftermath();
}

// Behind the response to a Read before it.
void after_responses(Stage &stage, Pace pace, Role role)
{
	const ReadRequest read = {.sink_stag = 9, .source_stag = 1};

	stage.ready(role, with_timer(), 0);
	Stream stream = stage.meet(role, pace);

	stream.say(fpdu(read_request(read)) + fpdu(read_request(read, 2)) + fpdu(send({})));
	const Bytes answer = fpdu(Tagged{.rdmap = op_read_response, .stag = 9, .to = read.sink_to});

	stream.want_last({answer, answer}, {2, receiver_not_ready, victims_timer});
	stage.post_receives(1);
	stream.send(send({}));
	stream.want_last({}, {3});
	stage.want_delivered(1);
	stage.want_aftermath();
}

// ---- the peer is not ready ----

constexpr u8 ten_ms = 20; // 10.24 ms

void want_time(Clock::time_point begin, double least)
{
	if (seconds_since(begin) < least)
		fail("after ", std::to_string(seconds_since(begin)), " s, not ",
		     std::to_string(least));
}

void answer_read(Stream &stream, const Five &five)
{
	stream.send(Tagged{.rdmap = op_read_response,
			   .stag = five.read.stag,
			   .to = five.read.to,
			   .data = payload(five_octets)});
}

void completes_five(Stage &stage)
{
	for (u64 n = 1; n <= 5; n++)
		stage.victim().sends.is(n);
	stage.has_changed(stage.regions["sink"].to, payload(five_octets));
}

// All come again, as they came first.
void sends_again(Stage &stage, Pace pace, Role role)
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);

	post_five(stage, stream);
	const auto begin = Clock::now();

	stream.ack({0, receiver_not_ready, ten_ms});
	stage.victim().sends.none(0);
	const Five five = take_five(stage, stream);

	want_time(begin, 0.01024);
	answer_read(stream, five);
	stream.ack({5});
	completes_five(stage);
	stage.want_to_go_on(stream, 3, 5);
	stage.want_aftermath();
}

// The RDMA Write is done, and its Immediate Data are refused.
void sends_immediate_data_again(Stage &stage, Pace pace, Role role)
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);

	answer_read(stream, post_five(stage, stream));
	for (int i = 0; i < 2; i++) {
		const auto begin = Clock::now();

		stream.ack({3, receiver_not_ready, ten_ms});
		const auto rest = last_of_five(stage);

		stream.want({rest[1], rest[2]}, 0);
		want_time(begin, 0.01024);
	}
	stream.ack({5});
	completes_five(stage);
	stage.want_to_go_on(stream, 3, 5);
	stage.want_aftermath();
}

// Meanwhile it answers and acknowledges; and what the peer asks for is not kept back.
void answers_while_it_waits(Stage &stage, Pace pace, Role role)
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);

	post_five(stage, stream);
	stream.ack({0, receiver_not_ready, 29}); // 245.76 ms
	const auto begin = Clock::now();

	stream.send(send(payload(7)));
	stream.send(read_request({.sink_stag = 9, .source_stag = 1}));
	stream.want({fpdu(Tagged{.rdmap = op_read_response, .stag = 9, .to = 0x1000})}, 1);
	if (seconds_since(begin) > 0.2)
		fail("it answers after ", std::to_string(seconds_since(begin)), " s");
	stage.has_changed(stage.regions["receive0"].to, payload(7));
	answer_read(stream, take_five(stage, stream, 2));
	want_time(begin, 0.24);
	stream.ack({5});
	completes_five(stage);
	stage.want_delivered(1);
	stage.want_aftermath();
}

void tries_are_counted(Stage &stage, Pace pace, Role role)
{
	Options options;

	options.rnr_retry = 2;
	stage.ready(role, options);
	Stream stream = stage.meet(role, pace);
	Five five = post_five(stage, stream);

	for (int i = 0; i < 2; i++) {
		stream.ack({0, receiver_not_ready, 1});
		five = take_five(stage, stream);
	}
	answer_read(stream, five); // acknowledges the first: the count begins anew
	for (int i = 0; i < 2; i++) {
		stream.ack({4, receiver_not_ready, 1});
		stream.want({last_of_five(stage)[2]}, 0);
	}
	stream.ack({4, receiver_not_ready, 1});
	stream.want_last_acks({0});
	for (u64 n = 1; n <= 4; n++)
		stage.victim().sends.is(n);
	stage.victim().sends.is(5, IBV_WC_RNR_RETRY_EXC_ERR);
	stage.has_changed(stage.regions["sink"].to, payload(five_octets));
	stage.want_state(IBV_QPS_ERR);
	stage.want_aftermath();
}

// ---- who acknowledges when ----

void acknowledges(Stage &stage, Pace pace, Role role)
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);
	Tagged first = write_in(stage.regions["both"], 8), rest = first;

	// Not asked: within 10 ms, and some time for this machine.
	const auto begin = Clock::now();

	stream.send(send(payload(4), 1, op_send));
	stream.want_ack({1});
	if (seconds_since(begin) > 0.2)
		fail("it acknowledges after ", std::to_string(seconds_since(begin)), " s");
	// Each probe has an answer, which does not ask; one may answer more.
	Bytes probes;

	for (int i = 0; i < 5; i++)
		probes = probes + stream.next_ack({0}, ask);
	stream.say(probes);
	stream.want_ack({1});
	for (int i = 0; i < 4 && !stream.raw().silent(30); i++)
		stream.want_ack({1});
	stream.want_silence(30);
	// Ask counts in the last segment.
	first.ddp = more_tagged;
	stream.send(first);
	stream.want_silence(30);
	rest.to += 8;
	stream.send(rest);
	stream.want_ack({2});
	stage.has_changed(stage.regions["receive0"].to, payload(4));
	stage.has_changed(first.to, payload(8, 3) + payload(8, 3));
	stage.want_delivered(1);
	stage.want_to_go_on(stream, 0, 0, 2);
	stage.want_aftermath();
}

// The payload of all response segments up to this many octets; Acks before say no more than that.
Bytes response_octets(Stream &stream, size_t len, u32 delivered)
{
	Bytes all;

	while (all.size() < len) {
		const Bytes octets = stream.behind_acks(delivered);

		if ((octets[3] & 0x0f) != (op_read_response & 0x0f))
			fail("no Read Response: ", hex(octets.slice(0, 40)));
		all = all + octets.slice(16, number(octets, 0, 2) - 14);
	}
	return all;
}

Bytes canaries(const Region &region, size_t len)
{
	const u8 *at = reinterpret_cast<const u8 *>(region.to);

	return {at, at + len};
}

constexpr u32 long_read = 250'000;

// A peer that reads nothing keeps two Reads from being answered. A third is beyond the IRD.
void beyond_the_ird(Stage &stage, Pace pace, bool atomic)
{
	stage.ready(Role::listener, with_timer(2));
	stage.take_little();
	Stream stream = stage.meet(Role::listener, pace);
	const Region &both = stage.regions["both"];
	const ReadRequest read = {
		.length = long_read, .source_stag = both.stag, .source_to = both.to};
	const Bytes third = atomic ? Bytes(atomic_request({.stag = stage.regions["atomic"].stag,
							   .to = word_of(stage.regions["atomic"])},
							  3))
				   : Bytes(read_request(read, 3));

	if (stage.reply.ird != 2)
		fail("the IRD is ", std::to_string(stage.reply.ird));
	stream.say(fpdu(read_request(read)) + fpdu(read_request(read, 2)) + fpdu(third));
	const Bytes octets = response_octets(stream, 2 * long_read, 1);

	want_octets("the responses", octets, canaries(both, long_read) + canaries(both, long_read));
	stream.want_last({}, {2, invalid_request});
	stream.want_last_acks({2});
	stage.want_failed(0, IBV_EVENT_QP_REQ_ERR);
	stage.want_aftermath();
}

// What the victim sends behind as much of these responses as it has sent.
Bytes behind_responses(Stream &stream, u32 delivered)
{
	Bytes octets;

	do
		octets = stream.behind_acks(delivered);
	while ((octets[3] & 0x0f) == (op_read_response & 0x0f));
	return octets;
}

// Behind Reads whose responses are not read, so that the victim cannot refuse the first Send before
// the second has come, however many processors it has.
void too_early(Stage &stage, Pace pace)
{
	stage.ready(Role::listener, with_timer(), 0);
	stage.take_little();
	Stream stream = stage.meet(Role::listener, pace);
	const Region &both = stage.regions["both"];
	const ReadRequest read = {
		.length = long_read, .source_stag = both.stag, .source_to = both.to};
	const Bytes early = fpdu(send(payload(20)));
	Bytes requests;

	for (u32 msn = 1; msn <= 4; msn++)
		requests = requests + fpdu(read_request(read, msn));
	stream.say(requests + early + early);
	want_octets("what ends the stream", behind_responses(stream, 4),
		    fpdu(terminate(wrong_ack, early)));
	stream.want_fin();
	stage.want_failed(0, IBV_EVENT_QP_REQ_ERR);
	stage.want_aftermath();
}

// Nothing behind a Read that is not answered is acknowledged, asked or not.
void not_before_the_response(Stage &stage, Pace pace)
{
	stage.ready(Role::listener, with_timer());
	stage.take_little();
	Stream stream = stage.meet(Role::listener, pace);
	const Region &both = stage.regions["both"];

	stream.say(fpdu(read_request(
			   {.length = long_read, .source_stag = both.stag, .source_to = both.to})) +
		   fpdu(send(payload(5))));
	stage.victim().receives.is(1);
	stream.ack({0}, ask);
	want_octets("the response", response_octets(stream, long_read, 0),
		    canaries(both, long_read));
	stream.want_last({}, {2});
	stage.has_changed(stage.regions["receive0"].to, payload(5));
	stage.want_aftermath();
}

// ---- Immediate Data ----

void immediate_data(Stage &stage, Pace pace, Role role)
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);
	Untagged first = send(payload(9), 1, op_send_imm),
		 rest = send(payload(3), 1, op_send_imm | ask),
		 solicited = send({}, 2, op_send_se_imm | ask), of_write = immediate(~0ull, 3);

	first.ddp = more_untagged;
	first.inv_stag = rest.inv_stag = 0x80000001;
	rest.mo = 9;
	of_write.rdmap = op_immediate_se | ask;
	stream.send(first);
	stream.send(rest);
	stream.send(solicited);
	stream.send(Tagged{.rdmap = op_write | more, .stag = 1}); // of length 0
	stream.send(of_write);
	stream.want_last({}, {3});
	want_immediate(stage, 1, 0x80000001, 12, false);
	want_immediate(stage, 2, 0, 0, false);
	want_immediate(stage, 3, ~0u, 0, true);
	stage.has_changed(stage.regions["receive0"].to, payload(9) + payload(3));
	stage.want_aftermath();
}

// A receive that names memory which the victim does not have.
void broken_receive(Stage &stage, Pace pace, Role role)
{
	stage.ready(role, {}, 0);
	Stream stream = stage.meet(role, pace);
	ibv_sge wrong = stage.sink(0, 64);

	wrong.lkey ^= 0x12345600;
	victim::post_receive(stage.victim().qp, wrong, 9);
	stream.send(send(payload(4)));
	stream.want_last({}, {0, operation_error});
	stream.want_last_acks({0});
	stage.victim().receives.is(9, IBV_WC_LOC_PROT_ERR);
	stage.want_failed(0, IBV_EVENT_QP_REQ_ERR);
	stage.want_aftermath();
}

// ---- silence ----

void asks_to_send(Stage &stage) { stage.victim().send(1, 8); }

void asks_to_read(Stage &stage)
{
	const Name remote = {.gid = {}, .qpn = 0, .addr = 0x1000, .rkey = 0x77};

	stage.victim().post(stage.victim().request(IBV_WR_RDMA_READ, 1, &remote), stage.sink(0, 8));
}

// The time goes on, whatever else the peer says.
void never_acknowledges(Stage &stage, Pace pace, bool answers, void (*asks)(Stage &stage))
{
	Options options;
	unsigned asked = 0;

	options.timeout = 1;
	options.retry = 0;
	stage.ready(Role::listener, options);
	Stream stream = stage.meet(Role::listener, pace);

	const auto begin = Clock::now();

	asks(stage);
	stream.behind_acks(0);
	while (stage.victim().state() == IBV_QPS_RTS) {
		if (seconds_since(begin) > 3.5)
			fail("it waits for ever; it has asked ", std::to_string(asked), " times");
		if (stream.raw().silent(5) || !stream.is_asked(0))
			continue;
		asked++;
		if (answers)
			stream.ack({0});
	}
	want_time(begin, 1.95);
	if (!asked)
		fail("it has not asked for an Ack");
	stage.victim().sends.is(1, IBV_WC_RETRY_EXC_ERR);
	stage.want_failed(0, {});
	stage.want_aftermath();
}

} // namespace

Cases dialogue_cases()
{
	Cases all;

	add_both(all, "ib 19, 20: what follows a refused Send is dropped, and has no effect",
		 drops);
	add_both(all, "ib 20, 116: an Atomic Write behind a refusal is done once", drops_extended,
		 feature_extended);
	add_both(all, "ib 111: a peer that does not know Flush or Atomic Write gets none",
		 refuses_its_own, feature_extended);
	add_both(all, "ib 21: a refusal is said once, each time that the request comes", each_time);
	all.push_back({"ib 21: a refused Send does not come again before the refusal", too_early});
	for (const Bad &bad : bad_ones)
		add_both(all, std::string("ib 20: what is dropped is checked: ") + bad.name,
			 [&bad](Stage &stage, Pace pace, Role role) {
				 dropped_and_wrong(stage, pace, role, bad);
			 });
	add_both(all,
		 "ib 20: responses, Acks and a Terminate are taken; the responder goes on to send",
		 goes_on_meanwhile);
	add_both(all, "ib 20: the rest of a refused Send is dropped, until it comes with MO 0",
		 in_two_segments);
	add_both(all,
		 "ib 20, 22: of a refused RDMA Write with Immediate Data only these come again",
		 only_immediate_data);
	add_both(all, "ib 19: the refusal follows the responses to all requests before",
		 after_responses);
	add_both(all, "ib 22: all from the refused request on come again, with their MSNs",
		 sends_again);
	add_both(all, "ib 22: of an RDMA Write only the refused Immediate Data are sent again",
		 sends_immediate_data_again);
	add_both(all, "ib 22: responses and Acks go on while it waits", answers_while_it_waits);
	add_both(all, "ib 23: after rnr_retry times it fails; an acknowledged request begins anew",
		 tries_are_counted);
	add_both(all, "ib 3, 14, 16: asked or not, requests and probes are acknowledged",
		 acknowledges);
	all.push_back({"ib 24: invalid: more Reads than the IRD",
		       [](Stage &stage, Pace pace) { beyond_the_ird(stage, pace, false); }});
	all.push_back({"ib 24: invalid: an atomic operation beyond the IRD",
		       [](Stage &stage, Pace pace) { beyond_the_ird(stage, pace, true); }});
	all.push_back({"ib 11, 14: nothing behind an unanswered Read is acknowledged",
		       not_before_the_response});
	add_both(all, "ib 4, 5, 6: Immediate Data of a Send and of an RDMA Write", immediate_data);
	add_both(all,
		 "ib 24: operation: a receive that names memory which its program does not have",
		 broken_receive);
	const auto add_silence = [&](const char *name, bool answers, void (*asks)(Stage & stage)) {
		all.push_back({name,
			       [=](Stage &stage, Pace pace) {
				       never_acknowledges(stage, pace, answers, asks);
			       },
			       true});
	};
	add_silence("ib 28: a peer that does not answer: it asks, and fails in time", false,
		    asks_to_send);
	add_silence("ib 28: a peer that answers and acknowledges nothing: it fails in time", true,
		    asks_to_send);
	add_silence("ib 28: a peer that answers, but not to a Read: it fails in time", true,
		    asks_to_read);
	return all;
}

} // namespace strangers
