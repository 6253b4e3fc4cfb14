// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "host.hh"

static Host &host(void *ctx) { return *static_cast<Host *>(ctx); }

bool core_host_region(void *ctx, u32 stag, struct core_region *out)
{
	return host(ctx).find(stag, *out);
}
enum core_take core_host_receive(void *ctx, u32 *room) { return host(ctx).take_receive(*room); }
bool core_host_read_room(void *ctx) { return host(ctx).read_room(); }
u32 core_host_crc32c(u32 crc, const void *data, u64 len)
{
	return core_crc32c_table(crc, data, len);
}

enum core_region_verdict core_host_atomic(void *ctx, const struct core_atomic_request *request,
					  u64 *original)
{
	return host(ctx).atomic(*request, *original);
}

bool core_host_read_sink(void *ctx, struct core_read_sink *out)
{
	const core_read_sink *sink = host(ctx).oldest_read();

	if (sink)
		*out = *sink;
	return sink;
}

// ---- state ----

void Host::furnish(Input &input)
{
	static const u64 bases[] = {0, 0x1000, 0xffffffff, ~0ull - 0xff, ~0ull, 1ull << 63};

	for (u32 i = input.octet() % 4; i; i--) {
		Region region{};

		region.stag = 0x100 * i + input.octet() % 2;
		region.grant.base = bases[input.octet() % 6];
		region.grant.length = input.octet();
		region.grant.pd = pd + input.octet() % 2;
		region.grant.access = input.octet() % 16;
		regions.push_back(region);
	}
	for (u32 i = input.octet() % 5; i; i--)
		rooms.push_back(static_cast<u16>(input.octet() % 16 ? input.octet() : 0xffff));
	for (u32 i = input.octet() % 4; i; i--) {
		core_read_sink sink{};

		sink.stag = 0x900 + i;
		sink.to = input.octet() % 4 ? 0 : bases[input.octet() % 6];
		sink.length = input.octet();
		sink.atomic = sink.length == 8 && input.octet() % 4;
		reads.push_back(sink);
	}
	ird = input.octet() % 4;
	refuse_after = input.octet() % 8 ? 0 : 1 + input.octet() % 4;
	refuses_some = refuse_after;
	refuse_verdict = input.octet() % (CORE_REGION_WRAP + 1);
}

bool Host::find(u32 stag, core_region &grant) const
{
	for (const Region &region : regions)
		if (region.stag == stag) {
			grant = region.grant;
			return true;
		}
	return false;
}

core_region_verdict Host::atomic(const core_atomic_request &request, u64 &original)
{
	core_region_verdict verdict;
	core_region grant{};
	u8 word[8];

	REQUIRE(request.op.code == CORE_ATOMIC_FETCH_ADD ||
		request.op.code == CORE_ATOMIC_CMP_SWAP);
	if (!find(request.stag, grant))
		return CORE_REGION_INVALID;
	verdict = core_region_check(&grant, pd, CORE_ACCESS_REMOTE_ATOMIC, request.to,
				    sizeof(word));
	if (verdict != CORE_REGION_OK)
		return verdict;
	if (request.to % sizeof(word))
		return CORE_REGION_ALIGNMENT;
	for (u32 i = 0; i < sizeof(word); i++)
		word[i] = memory[(request.stag + (request.to - grant.base) + i) % memory_size];
	memcpy(&original, word, sizeof(word));
	u64 changed = original;
	REQUIRE(core_atomic_execute(&request.op, &changed) == original);
	memcpy(word, &changed, sizeof(word));
	for (u32 i = 0; i < sizeof(word); i++)
		memory[(request.stag + (request.to - grant.base) + i) % memory_size] = word[i];
	return CORE_REGION_OK;
}

core_take Host::take_receive(u32 &room)
{
	REQUIRE(!receive_active);
	if (rooms.empty())
		return CORE_TAKE_EMPTY;
	room = rooms.front();
	rooms.pop_front();
	if (room == 0xffff)
		return CORE_TAKE_BROKEN;
	receive_active = true;
	filled = 0;
	receiving.assign(room, 0);
	return CORE_TAKE_OK;
}

// ---- calls of the parser ----

void Host::place(const core_place &at, const u8 *data, u32 n)
{
	using Wide = unsigned __int128;
	core_region grant{};

	switch (at.kind) {
	case CORE_PLACE_REGION:
		REQUIRE(find(at.stag, grant));
		REQUIRE(grant.pd == pd && grant.access & CORE_ACCESS_REMOTE_WRITE);
		REQUIRE(at.to >= grant.base &&
			Wide{at.to} + n <= Wide{grant.base} + grant.length);
		REQUIRE(Wide{at.to} + n <= Wide{1} << 64);
		for (u32 i = 0; i < n; i++)
			memory[(at.stag + (at.to - grant.base) + i) % memory_size] =
				data[i];
		break;
	case CORE_PLACE_RECEIVE:
		REQUIRE(receive_active);
		REQUIRE(at.to == filled && Wide{filled} + n <= receiving.size());
		filled += n;
		memcpy(receiving.data() + at.to, data, n);
		break;
	case CORE_PLACE_READ:
		REQUIRE(!reads.empty() && at.stag == reads.front().stag);
		REQUIRE(at.to == reads.front().placed &&
			Wide{at.to} + n <= reads.front().length);
		reads.front().placed += n;
		read.insert(read.end(), data, data + n);
		break;
	default:
		REQUIRE(false);
	}
}

void Host::deliver(core_rx &rx, core_rx_event event)
{
	const core_rx_message message = *core_rx_delivered(&rx);
	Happened what{event, 0, 0};

	switch (event) {
	case CORE_RX_SEND:
		REQUIRE(message.rtr != receive_active);
		if (message.is_immediate) {
			REQUIRE(!message.invalidate && !filled);
			what.a = u64{message.length} << 3 | message.solicited << 2;
			memcpy(&what.b, message.immediate, sizeof(message.immediate));
			receive_active = false;
			break;
		}
		REQUIRE(!message.rtr || (!message.length && fpdus == 0));
		REQUIRE(message.rtr || message.length == filled);
		what.a = message.length << 3 | message.solicited << 2 |
			 message.invalidate << 1 | message.rtr;
		what.b = message.inv_stag;
		received.insert(received.end(), receiving.begin(),
				receiving.begin() + (message.rtr ? 0 : message.length));
		receive_active = false;
		break;
	case CORE_RX_READ_REQUEST: {
		const core_read_request &request = core_rx_asked(&rx)->read;
		core_region grant{};

		REQUIRE(inbound < ird);
		inbound++;
		if (request.length) {
			REQUIRE(find(request.source_stag, grant));
			REQUIRE(grant.pd == pd && grant.access & CORE_ACCESS_REMOTE_READ);
			REQUIRE(request.source_to >= grant.base && request.length <= grant.length &&
				request.source_to - grant.base <= grant.length - request.length);
		}
		what.a = request.source_to ^ u64 { request.sink_stag } << 32;
		what.b = u64{request.length} << 32 | request.source_stag;
		break;
	}
	case CORE_RX_ATOMIC_REQUEST:
		REQUIRE(inbound < ird && core_rx_asked(&rx)->kind == CORE_ASKED_ATOMIC);
		inbound++;
		what.a = core_rx_asked(&rx)->atomic.id;
		what.b = core_rx_asked(&rx)->atomic.original;
		break;
	case CORE_RX_ATOMIC_RESPONSE:
		REQUIRE(!reads.empty() && reads.front().atomic);
		what.a = reads.front().stag;
		what.b = core_rx_original(&rx);
		reads.pop_front();
		break;
	case CORE_RX_READ_RESPONSE:
		REQUIRE(!reads.empty() && !reads.front().atomic);
		REQUIRE(!reads.empty() && reads.front().placed == reads.front().length);
		what.a = reads.front().stag;
		reads.pop_front();
		break;
	case CORE_RX_TERMINATE:
	case CORE_RX_ERROR:
		REQUIRE(core_rx_next(&rx).kind == CORE_RX_STOP);
		break;
	default:
		break;
	}
	happened.push_back(what);
	// The host may refuse an invalidation.
	if (event == CORE_RX_SEND && message.invalidate && message.inv_stag % 4 == 1) {
		REQUIRE(core_rx_fail_invalidate(&rx, static_cast<core_region_verdict>(
							     refuse_verdict)) == CORE_RX_ERROR);
		happened.push_back({CORE_RX_ERROR, 1, 0});
	}
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

// 1 stays 1; other sizes vary.
static size_t next_piece(u32 &cut)
{
	if (cut == 1)
		return 1;
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

// In a buffer of its exact size, for the sanitizer.
static bool in_its_buffer(const core_rx &rx, const core_rx_step &step)
{
	const u8 *start = reinterpret_cast<const u8 *>(&rx);

	return step.into >= start && step.into + step.want <= start + sizeof(rx);
}

void Host::run(const core_rx_params &params, const Bytes &stream, u32 cut)
{
	auto rx = std::make_unique<core_rx>();
	u64 ended = 0, room = 0;
	size_t done = 0;

	core_rx_init(rx.get(), &params);
	for (size_t piece, end = 0; done < stream.size();) {
		if (done == end) {
			piece = cut ? next_piece(cut) : stream.size();
			end = std::min(stream.size(), done + piece);
		}
		core_rx_step step = core_rx_next(rx.get());
		u32 n = static_cast<u32>(std::min<size_t>(step.want, end - done));
		core_rx_event event;

		if (step.kind == CORE_RX_STOP) {
			REQUIRE(step.want == 0);
			break;
		}
		// It asks for no byte of a later FPDU: two octets of length, then no more than
		// these announce.
		if (core_rx_fpdus(rx.get()) != ended || done == 0) {
			ended = core_rx_fpdus(rx.get());
			room = params.framing == CORE_FRAMING_MPA
				       ? extent(stream, done, params.markers)
				       : extent_of_segment(stream, done);
		}
		REQUIRE(step.want > 0 && step.want <= room);
		room -= n;
		if (step.kind == CORE_RX_PLACE) {
			if (refuse_after && !--refuse_after) {
				event = core_rx_fail(
					rx.get(), static_cast<core_region_verdict>(refuse_verdict));
				REQUIRE(event == CORE_RX_ERROR);
			} else {
				place(*step.place, stream.data() + done, n);
				event = core_rx_placed(rx.get(), stream.data() + done, n);
			}
		} else {
			REQUIRE(in_its_buffer(*rx, step));
			memcpy(step.into, stream.data() + done, n);
			event = core_rx_took(rx.get(), n);
		}
		done += n;
		if (event != CORE_RX_MORE)
			deliver(*rx, event);
		fpdus = core_rx_fpdus(rx.get());
	}
	finish(*rx);
}

static void require_same(const Host &whole, const Host &split)
{
	REQUIRE(whole.happened == split.happened);
	REQUIRE(whole.fpdus == split.fpdus);
	REQUIRE(memcmp(&whole.term, &split.term, sizeof(whole.term)) == 0);
	REQUIRE(whole.memory == split.memory && whole.received == split.received &&
		whole.read == split.read);
}

void Host::run_in_all_cuts(core_rx_params params, const Bytes &stream, u32 cut)
{
	Host split = *this, octets = *this;

	params.ctx = this;
	run(params, stream, 0);
	params.ctx = &split;
	split.run(params, stream, cut);
	if (refuses()) // by count of placements, which depends on the cut
		return;
	require_same(*this, split);
	params.ctx = &octets;
	octets.run(params, stream, 1);
	require_same(*this, octets);
}
