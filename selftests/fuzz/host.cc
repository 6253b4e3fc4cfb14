// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "host.hh"

#include <cstdio>
#include <cstdlib>

void not_so(const char *file, int line, const char *condition)
{
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
	abort();
}

// ---- state ----

static const u64 bases[] = {0, 0x1000, 0xffffffff, ~0ull - 0xff, ~0ull, 1ull << 63};

void Host::furnish_regions(Input &input)
{
	for (u32 i = input.octet() % 4; i; i--) {
		const u32 stag = 0x100 * i + input.octet() % 2;
		const u64 base = bases[input.octet() % 6];
		const u64 length = input.octet();
		const u32 its_pd = pd + input.octet() % 2;

		grant(stag, base, length, its_pd, input.octet() % 16);
	}
}

void Host::furnish_reads(Input &input)
{
	for (u32 i = input.octet() % 4; i; i--) {
		const u64 to = input.octet() % 4 ? 0 : bases[input.octet() % 6];
		const u32 length = input.octet();

		post_read(0x900 + i, to, length);
		reads.back().read.atomic = length == 8 && input.octet() % 4;
	}
}

void Host::furnish(Input &input)
{
	furnish_regions(input);
	for (u32 i = input.octet() % 5; i; i--) {
		if (input.octet() % 16)
			post_receive(input.octet());
		else
			post_receive(0, CORE_TAKE_BROKEN);
	}
	furnish_reads(input);
	read_room = input.octet() % 4;
	refuse_after = input.octet() % 8 ? 0 : 1 + input.octet() % 4;
	refuses_some = refuse_after;
	refuse_verdict = static_cast<core_region_verdict>(input.octet() % (CORE_REGION_WRAP + 1));
}

// ---- what the parser reports ----

static Happened describe_send(const core_rx_message &message)
{
	return {CORE_RX_SEND,
		u64{message.length} << 4 | message.is_immediate << 3 | message.solicited << 2 |
			message.invalidate << 1 | message.rtr,
		message.inv_stag};
}

static Happened describe_read_request(const core_read_request &request)
{
	return {CORE_RX_READ_REQUEST, request.source_to ^ u64{request.sink_stag} << 32,
		u64{request.length} << 32 | request.source_stag};
}

Happened Host::describe(const core_rx &rx, core_rx_event event) const
{
	switch (event) {
	case CORE_RX_SEND:
		return describe_send(*core_rx_delivered(&rx));
	case CORE_RX_READ_REQUEST:
		return describe_read_request(core_rx_asked(&rx)->read);
	case CORE_RX_ATOMIC_REQUEST:
		return {event, core_rx_asked(&rx)->atomic.id, core_rx_asked(&rx)->atomic.original};
	case CORE_RX_READ_RESPONSE:
	case CORE_RX_ATOMIC_RESPONSE:
		return {event, reads.empty() ? 0 : reads.front().read.stag, 0};
	default:
		return {event, 0, 0};
	}
}

// The host may refuse an invalidation.
void Host::invalidate(core_rx &rx, const core_rx_message &message)
{
	if (!message.invalidate || message.inv_stag % 4 != 1)
		return;
	REQUIRE(core_rx_fail_invalidate(&rx, refuse_verdict) == CORE_RX_ERROR);
	happened.push_back({CORE_RX_ERROR, 1, 0});
}

void Host::record(core_rx &rx, core_rx_event event)
{
	if (event == CORE_RX_MORE)
		return;
	happened.push_back(describe(rx, event));
	delivered = delivered + deliver(rx, event);
	if (event != CORE_RX_SEND)
		return;
	const core_rx_message message = *core_rx_delivered(&rx);

	if (message.has_immediate)
		delivered = delivered + Bytes(message.immediate, std::end(message.immediate));
	invalidate(rx, message);
}

// The Terminate to be sent can be built, and parsed again.
void Host::finish(core_rx &rx)
{
	auto wire = std::make_unique<u8[]>(CORE_TERM_MAX);
	core_terminate again{};
	u32 len;

	fpdus = core_rx_fpdus(&rx);
	if (happened.empty() || happened.back().event < CORE_RX_TERMINATE)
		return;
	term = *core_rx_terminate(&rx);
	len = core_terminate_build(&term, wire.get());
	REQUIRE(len >= 4 && len <= CORE_TERM_MAX);
	REQUIRE(core_terminate_parse(wire.get(), len, &again));
	REQUIRE(again.layer == term.layer && again.etype == term.etype && again.code == term.code);
	REQUIRE(again.has_ddp == term.has_ddp && again.has_rdmap == term.has_rdmap);
	REQUIRE(memcmp(again.ddp, term.ddp, sizeof(term.ddp)) == 0);
	REQUIRE(memcmp(again.read_request, term.read_request, sizeof(term.read_request)) == 0);
}

// ---- feeding it ----

// 0: all of it. 1 stays 1; other sizes vary.
static size_t next_piece(u32 &cut, const Bytes &stream)
{
	if (cut <= 1)
		return cut ? 1 : stream.size();
	cut = cut * 0x9e3779b1 + 12345;
	return 1 + (cut >> 8) % (cut >> 30 ? 9 : 200);
}

// The length of the FPDU that starts here, or of the shortest header if it announces less, with
// markers.
static u64 extent(const Bytes &stream, size_t start, bool markers)
{
	size_t at = start + (markers && start % CORE_MARKER_INTERVAL == 0 ? CORE_MARKER_LEN : 0);
	u64 words;

	if (stream.size() < at + 2)
		return ~0u;
	words = (std::max<u64>(2u + (stream[at] << 8 | stream[at + 1]), 16) + 3) / 4 + 1;
	for (at = start; words; words--) {
		if (markers && at % CORE_MARKER_INTERVAL == 0)
			at += CORE_MARKER_LEN;
		at += 4;
	}
	return at - start;
}

// The length of the RDMA/TCP segment that starts here, or of the shortest one if it announces less.
static u64 extent_of_segment(const Bytes &stream, size_t at)
{
	if (stream.size() < at + 4)
		return ~0u;
	return (std::max<u64>(stream[at + 2] << 8 | stream[at + 3], 24) + 3) / 4 * 4 + 4;
}

// The parser asks for no byte of a later FPDU: two octets of length, then no more than these
// announce.
struct Allowance {
	const core_rx_params &params;
	const Bytes &stream;
	u64 ended = 0, room = 0;

	void take(const core_rx &rx, const core_rx_step &step, size_t done, u32 n)
	{
		if (core_rx_fpdus(&rx) != ended || done == 0) {
			ended = core_rx_fpdus(&rx);
			room = params.framing == CORE_FRAMING_MPA
				       ? extent(stream, done, params.markers)
				       : extent_of_segment(stream, done);
		}
		REQUIRE(step.want > 0 && step.want <= room);
		room -= n;
	}
};

core_rx_event Host::take(core_rx &rx, const core_rx_step &step, const u8 *from, u32 n)
{
	if (step.kind != CORE_RX_PLACE) {
		REQUIRE(in_its_buffer(rx, step));
		memcpy(step.into, from, n);
		return core_rx_took(&rx, n);
	}
	if (refuse_after && !--refuse_after) {
		REQUIRE(core_rx_fail(&rx, refuse_verdict) == CORE_RX_ERROR);
		return CORE_RX_ERROR;
	}
	place(*step.place, from, n);
	return core_rx_placed(&rx, from, n);
}

// A whole FPDU at once, if the parser takes one; the octets of it. The next placement may be
// refused.
u32 Host::take_whole(core_rx &rx, const u8 *from, size_t n)
{
	const unsigned before = placed_whole;

	if (refuse_after && refuse_verdict == CORE_REGION_OK) // not of a whole one
		return 0;
	whole_verdict = refuse_after == 1 ? refuse_verdict : CORE_REGION_OK;
	const core_rx_taken taken = core_rx_whole(&rx, from, static_cast<u32>(n));
	const bool placed = placed_whole != before;

	REQUIRE(taken.n <= n && !(placed && !taken.n));
	REQUIRE(!(placed && refuse_after == 1) || taken.event == CORE_RX_ERROR);
	refuse_after -= placed && refuse_after;
	if (taken.n)
		record(rx, taken.event);
	return taken.n;
}

// In pieces chosen by `cut`, to a parser in a block of its exact size, for the sanitizer.
void Host::run(core_rx_params params, const Bytes &stream, u32 cut)
{
	auto rx = std::make_unique<core_rx>();
	Allowance allowance{params, stream};

	params.ctx = static_cast<FakeHost *>(this);
	core_rx_init(rx.get(), &params);
	for (size_t done = 0, end = 0; done < stream.size();) {
		if (done == end)
			end = std::min(stream.size(), done + next_piece(cut, stream));
		if (const u32 whole = take_whole(*rx, stream.data() + done, end - done)) {
			done += whole;
			continue;
		}
		core_rx_step step = core_rx_next(rx.get());
		u32 n = static_cast<u32>(std::min<size_t>(step.want, end - done));

		if (step.kind == CORE_RX_STOP) {
			REQUIRE(step.want == 0);
			break;
		}
		allowance.take(*rx, step, done, n);
		record(*rx, take(*rx, step, stream.data() + done, n));
		done += n;
	}
	finish(*rx);
}

void Host::require_same(const Host &other) const
{
	REQUIRE(happened == other.happened);
	REQUIRE(fpdus == other.fpdus);
	REQUIRE(memcmp(&term, &other.term, sizeof(term)) == 0);
	REQUIRE(delivered == other.delivered && receiving == other.receiving);
	for (size_t i = 0; i < reads.size(); i++)
		REQUIRE(reads[i].memory == other.reads[i].memory);
	for (const auto &[stag, region] : regions)
		REQUIRE(region.memory == other.regions.at(stag).memory);
}

void Host::run_in_all_cuts(const core_rx_params &params, const Bytes &stream, u32 cut)
{
	Host split = *this, octets = *this;

	run(params, stream, 0);
	split.run(params, stream, cut);
	if (refuses_some) // by count of placements, which depends on the cut
		return;
	require_same(split);
	octets.run(params, stream, 1);
	require_same(octets);
}
