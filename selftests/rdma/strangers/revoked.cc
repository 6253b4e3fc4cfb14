// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory that the victim's program deregisters while a message is under way that names it: an RDMA
// Write, the response to a Read, or the sink of the victim's own (Documentation/ib.rst rules 2, 24,
// 25, 29).
#include "stage.hh"

namespace strangers {
namespace {

constexpr size_t half = 32; // of an RDMA Write or a response

void want_placed(const Loan &loan, const Bytes &octets)
{
	const auto end = Clock::now() + std::chrono::seconds(5);

	while (std::memcmp(loan->addr, octets.data(), octets.size())) {
		if (Clock::now() > end)
			fail("the first half is not placed");
		sleep_ms(1);
	}
}

u64 address_of(const Loan &loan) { return reinterpret_cast<uintptr_t>(loan->addr); }

Tagged part(const Loan &loan, u8 ddp, size_t offset, size_t len)
{
	return {.ddp = ddp,
		.stag = loan->rkey,
		.to = address_of(loan) + offset,
		.data = payload(len)};
}

void want_refused(Stage &stage, Stream &stream)
{
	stream.want_last({}, {0, access_error});
	stream.want_last_acks({0});
	stage.want_failed(0, IBV_EVENT_QP_ACCESS_ERR);
	stage.want_aftermath();
}

// ---- RDMA Writes ----

void between_segments(Stage &stage, Pace pace, Role role)
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);
	Loan loan = stage.lend("both", 2 * half);

	stream.send(part(loan, more_tagged, 0, half));
	want_placed(loan, payload(half));
	stage.has_changed(address_of(loan), payload(half));
	const Tagged rest = part(loan, 0xc1, half, half);

	loan.reset();
	stream.send(rest);
	want_refused(stage, stream);
}

// Its first half is placed. Returns the second.
Bytes half_of_a_segment(Stage &stage, const Stream &stream, Loan &loan)
{
	const Bytes octets = fpdu(part(loan, 0xc1, 0, 2 * half));
	const size_t header = octets.size() - 4 - 2 * half;

	stream.say(octets.slice(0, header + half));
	want_placed(loan, payload(half));
	stage.has_changed(address_of(loan), payload(half));
	loan.reset();
	return octets.slice(header + half, half + 4);
}

void within_a_segment(Stage &stage, Pace pace, Role role)
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);
	Loan loan = stage.lend("both", 2 * half);

	stream.say(half_of_a_segment(stage, stream, loan));
	want_refused(stage, stream);
}

// A responder that has received no valid FPDU leaves without a word.
void within_the_first_segment(Stage &stage, Pace pace)
{
	stage.ready(Role::listener);
	Stream stream = stage.meet(Role::listener, pace, true);
	Loan loan = stage.lend("both", 2 * half);

	stream.say(half_of_a_segment(stage, stream, loan));
	stream.want_fin();
	stage.want_failed(0, IBV_EVENT_QP_ACCESS_ERR);
	stage.want_aftermath();
}

// ---- the source of a Read ----

constexpr u32 long_read = 250'000, reads = 4; // more than a batch and TCP take

bool is_last(const Bytes &octets) { return octets[2] & last; }

Bytes payload_of(const Bytes &octets) { return octets.slice(16, number(octets, 0, 2) - 14); }

// The responses that are whole. Their octets are right, as far as they come.
u32 whole_ones(const std::vector<Bytes> &responses, const Bytes &source)
{
	u32 whole = 0;
	Bytes octets;

	for (const Bytes &each : responses) {
		octets = octets + payload_of(each);
		want_octets("a response", octets, source.slice(0, octets.size()));
		if (!is_last(each))
			continue;
		whole++;
		octets.clear();
	}
	return whole;
}

void source_is_gone(Stage &stage, Pace pace)
{
	stage.ready(Role::listener);
	stage.take_little();
	Stream stream = stage.meet(Role::listener, pace);
	Loan loan = stage.lend("both", long_read);
	const u8 *at = static_cast<const u8 *>(loan->addr);
	const Bytes source(at, at + long_read);
	Bytes requests;
	Ack refusal;

	for (u32 msn = 1; msn <= reads; msn++)
		requests = requests + fpdu(read_request({.length = long_read,
							 .source_stag = loan->rkey,
							 .source_to = address_of(loan)},
							msn));
	stream.say(requests);
	std::vector<Bytes> responses = {stream.behind_acks(0)};

	loan.reset();
	for (const Bytes &each : stream.until_refusal(refusal))
		responses.push_back(each);
	const u32 whole = whole_ones(responses, source);

	if (whole == reads || refusal.delivered != whole || refusal.syndrome != access_error)
		fail(std::to_string(whole), " responses are whole, and the refusal says ",
		     std::to_string(refusal.delivered), ", ", std::to_string(refusal.syndrome));
	stream.want_last_acks({whole});
	stage.want_failed(0, IBV_EVENT_QP_ACCESS_ERR);
	stage.want_aftermath();
}

// ---- the sink of the victim's own ----

struct Asked {
	Loan sink;
	Bytes request;
};

// Between two Sends, of which the first is acknowledged.
Asked ask_for(Stage &stage, Stream &stream, ibv_wr_opcode opcode, u32 len)
{
	::End &victim = stage.victim();
	Asked asked = {stage.lend("sink", len), {}};
	const Name remote = {.gid = {}, .qpn = 0, .addr = 0x1000, .rkey = 0x77};

	victim.send(1, 8);
	victim.post(victim.request(opcode, 2, &remote),
		    {address_of(asked.sink), len, asked.sink->lkey});
	victim.send(3, 8);
	stream.behind_acks(0);
	asked.request = stream.behind_acks(0);
	stream.behind_acks(0);
	stream.ack({1});
	victim.sends.is(1);
	return asked;
}

// It fails for a reason of its own, and says so to nobody.
void want_own_failure(Stage &stage, Stream &stream)
{
	stream.want_last_acks({0});
	stage.victim().sends.is(2, IBV_WC_LOC_PROT_ERR);
	stage.victim().sends.is(3, IBV_WC_WR_FLUSH_ERR);
	stage.want_failed(0, {});
	stage.want_aftermath();
}

Tagged response_to(const Bytes &request, size_t offset, size_t len, u8 ddp = 0xc1)
{
	return {.ddp = ddp,
		.rdmap = op_read_response,
		.stag = static_cast<u32>(number(request, 20, 4)),
		.to = number(request, 24, 8) + offset,
		.data = payload(len)};
}

void sink_is_gone(Stage &stage, Pace pace, Role role)
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);
	Asked asked = ask_for(stage, stream, IBV_WR_RDMA_READ, half);

	asked.sink.reset();
	stream.send(response_to(asked.request, 0, half));
	want_own_failure(stage, stream);
}

void sink_goes_meanwhile(Stage &stage, Pace pace, Role role)
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);
	Asked asked = ask_for(stage, stream, IBV_WR_RDMA_READ, 2 * half);

	stream.send(response_to(asked.request, 0, half, more_tagged));
	want_placed(asked.sink, payload(half));
	stage.has_changed(address_of(asked.sink), payload(half));
	asked.sink.reset();
	stream.send(response_to(asked.request, half, half));
	want_own_failure(stage, stream);
}

void sink_of_an_atomic(Stage &stage, Pace pace, Role role)
{
	stage.ready(role);
	Stream stream = stage.meet(role, pace);
	Asked asked = ask_for(stage, stream, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);

	asked.sink.reset();
	stream.send(atomic_response(static_cast<u32>(number(asked.request, 24, 4)), 5));
	want_own_failure(stage, stream);
}

} // namespace

Cases revoked_cases()
{
	Cases all;

	add_both(all, "ib 24: access: a region is deregistered between segments of an RDMA Write",
		 between_segments);
	add_both(all, "ib 24: access: a region is deregistered within a segment of an RDMA Write",
		 within_a_segment);
	all.push_back({"ib 2, 25: within the first FPDU of all: the responder says nothing",
		       within_the_first_segment});
	all.push_back({"ib 24, 25: access: a region is deregistered while a Read is answered",
		       source_is_gone});
	add_both(all, "ib 29: a Read whose sink is deregistered fails, and its peer hears nothing",
		 sink_is_gone);
	add_both(all, "ib 29: also one whose sink is deregistered within the response",
		 sink_goes_meanwhile);
	add_both(all, "ib 29: an atomic operation whose sink is deregistered fails alike",
		 sink_of_an_atomic);
	return all;
}

} // namespace strangers
