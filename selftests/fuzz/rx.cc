// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The receive stream. Input: the host's state, then FPDUs, each a template overlaid with input, or
// plain input. CRCs are corrected, or off; markers are right, wrong, or off. Fed whole and in
// pieces, with the same outcome.
#include "../shared/wire.hh"
#include "host.hh"

namespace {

using namespace wire;

// So many bytes: zeros where the input has no more.
Bytes take_all(Input &input, u32 len)
{
	Bytes out = input.take(len);

	out.resize(len);
	return out;
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

	if (peer.host.regions.empty() || which >= 0xe0)
		return {input.number(4), u64{input.number(4)} << 32 | input.number(4)};
	const auto &[stag, region] = peer.host.region(which);
	u64 end = region.grant.base + region.grant.length;

	return {stag, which & 0x40   ? end - offset
		      : which & 0x20 ? region.grant.base - offset
				     : region.grant.base + offset};
}

// Continues the response to the oldest read, and ends with it unless the input says otherwise.
bool respond(Bytes &out, Input &input, Peer &peer, u8 control)
{
	u32 len = input.octet();

	if (peer.read >= peer.host.reads.size())
		return false;
	const core_read_sink &sink = peer.host.reads[peer.read].read;
	u32 left = sink.length - std::min(sink.length, peer.read_placed);

	if (input.octet() & 0x0f)
		len = std::min(len, left);
	if (input.octet() & 0x0f)
		control = len == left ? 0x40 : 0;
	out = Tagged{u8(control | more_tagged), op_read_response, sink.stag,
		     sink.to + peer.read_placed, take_all(input, len)};
	peer.read_placed += len;
	if (control) {
		peer.read++;
		peer.read_placed = 0;
	}
	return true;
}

void tagged(Bytes &out, Input &input, Peer &peer, u8 control, u8 opcode)
{
	u32 len = input.octet();
	Target target = pick_target(input, peer);

	if (opcode == op_read_response && respond(out, input, peer, control))
		return;
	out = Tagged{u8(control | more_tagged), opcode, target.stag, target.to,
		     take_all(input, len)};
}

ReadRequest read_request(Input &input, const Peer &peer)
{
	const Target source = pick_target(input, peer);

	return {input.number(2), input.number(2), input.octet(), source.stag, source.to};
}

void untagged(Bytes &out, Input &input, Peer &peer, u8 control, u8 opcode)
{
	const u8 kind = opcode & 15;
	const u32 qn = kind == 1 ? 1 : kind == 7 ? 2 : 0, len = input.octet();
	Untagged segment = {u8(control | more_untagged), opcode};

	segment.inv_stag = kind == 4 || kind == 6 ? pick_target(input, peer).stag : 0;
	segment.qn = qn;
	segment.msn = qn == 0 ? peer.send_msn : qn == 1 ? peer.read_msn++ : 1;
	segment.mo = qn ? 0 : peer.send_mo;
	segment.data = qn == 1 ? read_request(input, peer) : take_all(input, len);
	out = segment;
	if (qn)
		return;
	peer.send_mo += len;
	if (control & last) {
		peer.send_msn++;
		peer.send_mo = 0;
	}
}

Bytes make_ulpdu(Input &input, Peer &peer)
{
	u8 shape = input.octet(), opcode = 0x40 | (shape >> 4 & 7),
	   control = shape & 0x40 ? 0x40 : input.octet() & 0x40;
	Bytes out;

	if ((shape & 15) == 0)
		return input.take(input.octet());
	if (opcode == op_write || opcode == op_read_response)
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
void add_marker(Bytes &stream, Input &input, Framing framing, size_t length_at)
{
	size_t at = stream.size();

	if (!framing.markers || at % CORE_MARKER_INTERVAL)
		return;
	stream = stream + be16(framing.forge ? input.octet() : 0) +
		 be16(at - std::min(at, length_at));
	if (framing.forge && input.octet() % 8 == 0)
		stream[at + 2 + input.octet() % 2] ^= input.octet();
}

void add_fpdu(Bytes &stream, const Bytes &ulpdu, bool damage, Input &input, Framing framing)
{
	size_t start = stream.size(), length_at = ~size_t{0};
	Bytes fields = be16(ulpdu.size()) + ulpdu;
	u8 field[4];

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
Bytes make_stream(Input &input, const Host &host, u8 mode, Framing framing, u64 &good)
{
	Bytes stream;
	Peer peer{host};
	bool damage = false;

	good = ~0ull;
	if (mode == 0)
		return input.take(input.left);
	for (u64 fpdus = 0; input.left && stream.size() < 2048; fpdus++) {
		Bytes ulpdu = make_ulpdu(input, peer);

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
	Bytes stream;
	u64 good;

	whole.furnish(input);
	framing = {(flags & 0x40) != 0, (flags & 0x80) != 0};
	stream = make_stream(input, whole, flags & 3 ? 1 + (flags & 1) : 0, framing, good);
	params.pd = Host::pd;
	params.qpn = Host::qpn;
	params.first_msn = CORE_FIRST_MSN;
	params.crc = flags >> 2 & 1;
	params.rtr = flags >> 3 & 7;
	params.markers = framing.markers;
	whole.run_in_all_cuts(params, stream, 2 + flags * 77u);
	REQUIRE(!params.crc || whole.fpdus <= good);
	return 0;
}
