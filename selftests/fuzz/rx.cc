// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The receive stream. Input: the host's state, then FPDUs, each a template overlaid with input, or
// plain input. CRCs are corrected, or off; markers are right, wrong, or off. Fed whole and in
// pieces, with the same outcome.
#include "host.hh"

namespace {

void put(Octets &out, u64 value, u32 octets)
{
	while (octets--)
		out.push_back(static_cast<u8>(value >> (8 * octets)));
}

// The state of a well-behaved peer, used if the input chooses.
struct Peer {
	const Host &host;
	u32 send_msn = 1, send_mo = 0, read_msn = 1;
	u32 read = 0, read_placed = 0;
};

struct Target {
	u32 stag;
	u64 to;
};

// Around a region's start or end, or anywhere.
Target pick_target(Input &input, const Peer &peer)
{
	u8 which = input.octet(), offset = input.octet();

	if (peer.host.all_regions().empty() || which >= 0xe0)
		return {input.number(4), u64{input.number(4)} << 32 | input.number(4)};
	const Host::Region &region =
		peer.host.all_regions()[which % peer.host.all_regions().size()];
	u64 end = region.grant.base + region.grant.length;

	return {region.stag, which & 0x40   ? end - offset
			     : which & 0x20 ? region.grant.base - offset
					    : region.grant.base + offset};
}

// Continues the response to the oldest read, and ends with it unless the input says otherwise.
bool respond(Octets &out, Input &input, Peer &peer, u8 control)
{
	u32 len = input.octet();

	if (peer.read >= peer.host.all_reads().size())
		return false;
	const core_read_sink &sink = peer.host.all_reads()[peer.read];
	u32 left = sink.length - std::min(sink.length, peer.read_placed);

	if (input.octet() & 0x0f)
		len = std::min(len, left);
	if (input.octet() & 0x0f)
		control = len == left ? 0x40 : 0;
	put(out, control | 0x81, 1);
	put(out, 0x42, 1);
	put(out, sink.stag, 4);
	put(out, sink.to + peer.read_placed, 8);
	peer.read_placed += len;
	if (control) {
		peer.read++;
		peer.read_placed = 0;
	}
	while (len--)
		out.push_back(input.octet());
	return true;
}

void tagged(Octets &out, Input &input, Peer &peer, u8 control, u8 opcode)
{
	u32 len = input.octet();
	Target target = pick_target(input, peer);

	if (opcode == 0x42 && respond(out, input, peer, control))
		return;
	put(out, control | 0x81, 1);
	put(out, opcode, 1);
	put(out, target.stag, 4);
	put(out, target.to, 8);
	while (len--)
		out.push_back(input.octet());
}

void untagged(Octets &out, Input &input, Peer &peer, u8 control, u8 opcode)
{
	u32 qn = (opcode & 15) == 1 ? 1 : (opcode & 15) == 7 ? 2 : 0, len = input.octet(), before;
	u32 msn = qn == 0 ? peer.send_msn : qn == 1 ? peer.read_msn : 1;

	put(out, control | 0x01, 1);
	put(out, opcode, 1);
	put(out, (opcode & 15) == 4 || (opcode & 15) == 6 ? pick_target(input, peer).stag : 0, 4);
	put(out, qn, 4);
	put(out, msn, 4);
	put(out, qn ? 0 : peer.send_mo, 4);
	before = static_cast<u32>(out.size());
	if (qn == 1) {
		Target source = pick_target(input, peer);

		put(out, input.number(2), 4);
		put(out, input.number(2), 8);
		put(out, input.octet(), 4);
		put(out, source.stag, 4);
		put(out, source.to, 8);
		peer.read_msn++;
		len = 0;
	}
	while (len--)
		out.push_back(input.octet());
	if (qn)
		return;
	peer.send_mo += static_cast<u32>(out.size()) - before;
	if (control & 0x40) {
		peer.send_msn++;
		peer.send_mo = 0;
	}
}

Octets make_ulpdu(Input &input, Peer &peer)
{
	u8 shape = input.octet(), opcode = 0x40 | (shape >> 4 & 7),
	   control = shape & 0x40 ? 0x40 : input.octet() & 0x40;
	Octets out;

	if ((shape & 15) == 0)
		return input.take(input.octet());
	if (opcode == 0x40 || opcode == 0x42)
		tagged(out, input, peer, control, opcode);
	else
		untagged(out, input, peer, control, opcode);
	for (u32 changes = (shape & 15) == 1 ? input.octet() % 4 : 0; changes && !out.empty();
	     changes--)
		out[input.octet() % out.size()] = input.octet();
	if ((shape & 15) == 2)
		out.resize(std::min<size_t>(out.size(), input.octet()));
	return out;
}

struct Framing {
	bool markers, forge; // forge: the input says for each marker what is wrong with it
};

// The marker that is due now, if any, of an FPDU whose ULPDU_Length starts there.
void add_marker(Octets &stream, Input &input, Framing framing, size_t length_at)
{
	size_t at = stream.size();

	if (!framing.markers || at % CORE_MARKER_INTERVAL)
		return;
	put(stream, framing.forge ? input.octet() : 0, 2);
	put(stream, at - std::min(at, length_at), 2);
	if (framing.forge && input.octet() % 8 == 0)
		stream[at + 2 + input.octet() % 2] ^= input.octet();
}

void add_fpdu(Octets &stream, const Octets &ulpdu, bool damage, Input &input, Framing framing)
{
	size_t start = stream.size(), length_at = ~size_t{0};
	Octets fields;
	u8 field[4];

	put(fields, ulpdu.size(), 2);
	fields.insert(fields.end(), ulpdu.begin(), ulpdu.end());
	while (fields.size() % 4)
		fields.push_back(0);
	for (u8 octet : fields) {
		add_marker(stream, input, framing, length_at);
		length_at = std::min(length_at, stream.size());
		stream.push_back(octet);
	}
	add_marker(stream, input, framing, length_at);
	core_crc_field(
		core_crc32c_table(CORE_CRC_SEED, stream.data() + start, stream.size() - start),
		field);
	stream.insert(stream.end(), field, field + 4);
	if (damage)
		stream[start + stream.size() % (stream.size() - start)] ^= 1;
}

// good: FPDUs before the first whose CRC is wrong.
Octets make_stream(Input &input, const Host &host, u8 mode, Framing framing, u64 &good)
{
	Octets stream;
	Peer peer{host};
	bool damage = false;

	good = ~0ull;
	if (mode == 0)
		return input.take(input.left);
	for (u64 fpdus = 0; input.left && stream.size() < 2048; fpdus++) {
		Octets ulpdu = make_ulpdu(input, peer);

		damage = mode == 2 && input.octet() % 16 == 0;
		if (damage)
			good = std::min(good, fpdus);
		add_fpdu(stream, ulpdu, damage, input, framing);
	}
	return stream;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	Input input{data, size};
	u8 flags = input.octet();
	Host whole;
	core_rx_params params{};
	Framing framing;
	Octets stream;
	u64 good;

	whole.furnish(input);
	framing = {(flags & 0x40) != 0, (flags & 0x80) != 0};
	stream = make_stream(input, whole, flags & 3 ? 1 + (flags & 1) : 0, framing, good);
	params.pd = Host::pd;
	params.first_msn = CORE_FIRST_MSN;
	params.crc = flags >> 2 & 1;
	params.rtr = flags >> 3 & 7;
	params.markers = framing.markers;
	whole.run_in_all_cuts(params, stream, 2 + flags * 77u);
	REQUIRE(!params.crc || whole.fpdus <= good);
	return 0;
}
