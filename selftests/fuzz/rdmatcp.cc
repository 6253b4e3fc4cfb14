// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA/TCP on receive. Input: the host's state, then segments, each a template overlaid with input,
// or plain input. CRCs are right, but for some, or off. Fed whole and in pieces, with the same
// outcome. And startup: whatever a first message says, this end stays within its own limits.
#include "../shared/rdmatcp.hh"
#include "host.hh"

namespace {

using namespace rdmatcp_wire;

constexpr u64 connection = 0x1122334455667788;
constexpr u32 first_number = 0xfffffffd; // near its wrap

// The state of a well-behaved peer, used if the input chooses.
struct Peer {
	const Host &host;
	u32 number = first_number, offset = 0; // of the message in progress, or the next one
	size_t read = 0;		       // the oldest that is not answered
	u32 read_placed = 0;
};

// Around a region's start or end, or anywhere.
u64 pick_buffer(Input &input, const Peer &peer, Segment &segment)
{
	u8 which = input.octet(), offset = input.octet();

	if (peer.host.regions.empty() || which >= 0xe0) {
		segment.id = input.number(4);
		return u64{input.number(4)} << 32 | input.number(4);
	}
	const auto &[stag, region] = peer.host.region(which);

	segment.id = stag;
	return which & 0x40 ? region.grant.base + region.grant.length - offset
			    : region.grant.base + offset;
}

void with_upper_offset(Segment &segment, u64 to)
{
	segment.offset = static_cast<u32>(to);
	if (to >> 32)
		segment.control = control(upper_flag, big(to >> 32, 4));
}

void respond(Input &input, Peer &peer, Segment &segment)
{
	u32 len = input.octet();

	segment.data = input.take(len);
	segment.offset = peer.read_placed;
	if (peer.read >= peer.host.reads.size())
		return;
	const core_read_sink &sink = peer.host.reads[peer.read].read;
	const u32 left = sink.length - std::min(sink.length, peer.read_placed);

	segment.data.resize(std::min<size_t>(segment.data.size(), left));
	segment.number = sink.stag;
	segment.bits = static_cast<u8>((peer.read_placed ? 0 : begin_bit) |
				       (segment.data.size() == left ? end_bit : 0));
	peer.read_placed += static_cast<u32>(segment.data.size());
	if (segment.bits & end_bit) {
		peer.read++;
		peer.read_placed = 0;
	}
}

void send(Input &input, Peer &peer, Segment &segment)
{
	const u8 shape = input.octet();

	segment.data = input.take(input.octet());
	segment.offset = peer.offset;
	segment.bits = static_cast<u8>((peer.offset ? 0 : begin_bit) | (shape & end_bit));
	if (segment.bits & end_bit && shape & 1)
		segment.control = control(solicited_flag);
	else if (segment.bits & end_bit && shape & 2)
		segment.control = control(invalidate_flag, big(input.number(4), 4));
	else if (segment.bits & end_bit && shape & 8)
		segment.control = control(immediate_flag, big(input.number(4), 8));
	// A segment without payload that does not end its message: the next one begins it again.
	peer.offset += static_cast<u32>(segment.data.size());
	if (segment.bits & end_bit) {
		peer.number++;
		peer.offset = 0;
	}
}

void write(Input &input, Peer &peer, Segment &segment)
{
	with_upper_offset(segment, pick_buffer(input, peer, segment));
	segment.data = input.take(input.octet());
	segment.rdma_length = static_cast<u32>(segment.data.size());
	peer.number++;
}

void read(Input &input, Peer &peer, Segment &segment)
{
	with_upper_offset(segment, pick_buffer(input, peer, segment));
	segment.rdma_length = input.number(1 + input.octet() % 4);
	peer.number++;
}

Bytes make_segment(Input &input, Peer &peer)
{
	const u8 shape = input.octet();
	Segment segment = {.type = static_cast<u8>(shape & 3),
			   .number = peer.number,
			   .connection = connection};
	Bytes out;

	if (shape >> 2 == 0)
		return input.take(input.octet());
	if (segment.type == send_type)
		send(input, peer, segment);
	else if (segment.type == write_type)
		write(input, peer, segment);
	else if (segment.type == read_request_type)
		read(input, peer, segment);
	else
		respond(input, peer, segment);
	if (shape >> 2 == 1)
		segment.control = segment.control + input.take(4 * (input.octet() % 40));
	if (shape >> 2 == 2)
		segment.length_more = static_cast<signed char>(input.octet());
	if (shape >> 2 == 3)
		segment.bits = input.octet() & both_bits;
	out = segment;
	if (shape >> 2 == 4) {
		out.resize(out.size() - 4);
		for (u32 changes = input.octet() % 4; changes; changes--)
			out[input.octet() % out.size()] = input.octet();
		out = out + crc32(out);
	}
	return out;
}

// good: segments before the first one that is damaged, if plain input was not several of them.
Bytes make_stream(Input &input, const Host &host, bool damages, u64 &good)
{
	Bytes stream;
	Peer peer{host};

	good = ~u64{0};
	for (u64 n = 0; input.left && stream.size() < 2048; n++) {
		Bytes segment = make_segment(input, peer);

		if (damages && !segment.empty() && input.octet() % 16 == 0) {
			segment[input.octet() % segment.size()] ^= 1;
			good = std::min(good, n);
		}
		stream = stream + segment;
	}
	return stream;
}

void receive(Input &input)
{
	u8 flags = input.octet();
	Host whole;
	core_rx_params params{};
	u64 good;

	whole.furnish(input);
	const Bytes stream = make_stream(input, whole, flags & 2, good);

	params.framing = CORE_FRAMING_RDMATCP;
	params.connection_id = connection;
	params.first_msn = first_number;
	params.pd = Host::pd;
	params.qpn = Host::qpn;
	params.crc = flags & 1;
	whole.run_in_all_cuts(params, stream, 2 + flags * 77u);
	REQUIRE(!params.crc || whole.fpdus <= good);
}

// ---- startup ----

// In a block of its exact size, so that the sanitizer sees accesses past its end.
bool parse(const Bytes &octets, core_hello &hello)
{
	auto exact = std::make_unique<u8[]>(octets.size());
	const u8 *private_data = nullptr;

	std::copy(octets.begin(), octets.end(), exact.get());
	if (octets.size() < CORE_HELLO_HEAD)
		return false;
	const u32 len = core_hello_len(exact.get());

	REQUIRE(len <= CORE_HELLO_MAX);
	if (!len || len > octets.size() ||
	    core_hello_parse(exact.get(), len, &hello, &private_data) != CORE_RDMATCP_FINE)
		return false;
	REQUIRE(hello.private_len <= CORE_HELLO_MAX_PRIVATE && private_data >= exact.get() &&
		private_data + hello.private_len <= exact.get() + len);
	return true;
}

Bytes hello_from(Input &input)
{
	Segment segment = {.number = input.number(4), .connection = input.number(4)};

	segment.control =
		control(startup_flag, input.take(8)) + input.take(4 * (input.octet() % 9));
	segment.data = input.take(input.octet());
	if (input.octet() % 8 == 0)
		segment.length_more = static_cast<signed char>(input.octet());
	return segment;
}

void start_up(Input &input)
{
	core_startup_local local{};
	core_startup_agreed agreed{};
	const u64 random[2] = {input.number(4), input.number(4)};
	core_hello connect{}, reply{}, theirs{};
	u8 out[CORE_HELLO_MAX], data[CORE_HELLO_MAX_PRIVATE] = {};

	local.max_ird = static_cast<u16>(input.octet());
	local.ird = static_cast<u16>(input.octet() % (local.max_ird + 1));
	local.ord = static_cast<u16>(input.octet());
	local.crc = input.octet() & 1;
	if (!parse(hello_from(input), theirs))
		return;
	core_hello_respond(&theirs, &local, false, theirs.private_len, random[0], &reply, &agreed);
	REQUIRE(agreed.ird <= local.max_ird && agreed.ord <= local.ord && agreed.ord <= theirs.ird);
	REQUIRE(agreed.crc == (local.crc || theirs.crc));
	const u32 len = core_hello_build(&reply, data, out);

	REQUIRE(len <= sizeof(out) && parse(Bytes(out, out + len), theirs));
	core_hello_connect(&local, 0, random, &connect);
	core_hello_conclude(&connect, &theirs, &local, &agreed);
	REQUIRE(agreed.error || (agreed.ird <= local.max_ird && agreed.ord <= local.ord));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	Input input{data, size};

	if (input.octet() % 8)
		receive(input);
	else
		start_up(input);
	return 0;
}
