// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Encodes and decodes the frames that pair two QPs (Documentation/ib.rst, "Startup"). What comes
// from a peer is checked here as far as no QP has to be known for it.
#include "ib/pairing_frame.hh"

namespace srnic::ib {
namespace {

constexpr u8 magic[9] = "srnic-ib";
constexpr u8 mpa_revision = 2;

PairingHead head_of(const core_pair_frame &frame)
{
	PairingHead head = {{},
			    CORE_PAIR_VERSION,
			    frame.reason,
			    {0},
			    be<u32>::from_host(frame.features),
			    be<u32>::from_host(frame.needs)};

	__builtin_memcpy(head.magic, magic, sizeof(head.magic));
	return head;
}

PairingData encode(const core_pair_frame &frame)
{
	PairingData data = {
		.head = head_of(frame),
		.source_gid = {},
		.destination_gid = {},
		.source_qpn = be<u32>::from_host(frame.from.qpn & qpn_bits),
		.destination_qpn = be<u32>::from_host(frame.to.qpn & qpn_bits),
		.ird = be<u16>::from_host(frame.ird),
		.ord = be<u16>::from_host(frame.ord),
		.sent = be<u32>::from_host(frame.sent),
		.delivered = be<u32>::from_host(frame.delivered),
		.source_attempt = be<u32>::from_host(frame.attempt),
		.destination_attempt = be<u32>::from_host(frame.peer_attempt),
		.source_incarnation = be<u64>::from_host(frame.incarnation),
		.destination_incarnation = be<u64>::from_host(frame.peer_incarnation),
	};

	__builtin_memcpy(data.source_gid, frame.from.gid, sizeof(data.source_gid));
	__builtin_memcpy(data.destination_gid, frame.to.gid, sizeof(data.destination_gid));
	return data;
}

core_pair_end end_of(const u8 gid[16], be<u32> qpn)
{
	core_pair_end end = {{}, qpn.host() & qpn_bits};

	__builtin_memcpy(end.gid, gid, sizeof(end.gid));
	return end;
}

void decode(const PairingData &data, core_pair_frame &out)
{
	out.incarnation = data.source_incarnation.host();
	out.peer_incarnation = data.destination_incarnation.host();
	out.attempt = data.source_attempt.host();
	out.peer_attempt = data.destination_attempt.host();
	out.from = end_of(data.source_gid, data.source_qpn);
	out.to = end_of(data.destination_gid, data.destination_qpn);
	out.sent = data.sent.host();
	out.delivered = data.delivered.host();
	out.ird = data.ird.host();
	out.ord = data.ord.host();
}

bool fits(const core_mpa_frame &header)
{
	return header.revision == mpa_revision && !header.markers && !header.enhanced &&
	       header.private_len >= sizeof(PairingHead);
}

bool is_magic(const PairingHead &head)
{
	return __builtin_memcmp(head.magic, magic, sizeof(head.magic)) == 0;
}

// A reason is for a Reply that refuses, and for no other frame.
bool has_right_reason(const core_mpa_frame &header, u8 reason)
{
	return (header.reject != 0) == (reason != CORE_PAIR_OK);
}

// Only an end that refuses may say nothing of itself.
bool is_introduced(const core_mpa_frame &header, const core_pair_frame &frame)
{
	return header.reject || (frame.incarnation && frame.attempt);
}

} // namespace
} // namespace srnic::ib

using namespace srnic;
using namespace srnic::ib;

void core_pair_build(const struct core_pair_frame *frame, u8 out[CORE_PAIR_FRAME])
{
	core_mpa_frame header{};

	header.reply = frame->reply;
	header.crc = frame->crc;
	header.reject = frame->reply && frame->reason != CORE_PAIR_OK;
	header.revision = mpa_revision;
	header.private_len = sizeof(PairingData);
	store(out + core_mpa_build(&header, out), encode(*frame));
}

enum core_pair_reason core_pair_parse(const struct core_mpa_frame *header, const u8 *private_data,
				      struct core_pair_frame *out)
{
	PairingHead head;

	*out = {};
	if (!fits(*header))
		return CORE_PAIR_MALFORMED;
	head = load<PairingHead>(private_data);
	if (!is_magic(head) || !has_right_reason(*header, head.reason))
		return CORE_PAIR_MALFORMED;
	out->reply = header->reply;
	out->crc = header->crc;
	out->reason = head.reason;
	out->features = head.features.host();
	out->needs = head.needs.host();
	if (head.version != CORE_PAIR_VERSION)
		return header->reject ? CORE_PAIR_OK : CORE_PAIR_VERSION_UNKNOWN;
	if (header->private_len < sizeof(PairingData))
		return CORE_PAIR_MALFORMED;
	decode(load<PairingData>(private_data), *out);
	return is_introduced(*header, *out) ? CORE_PAIR_OK : CORE_PAIR_MALFORMED;
}

void core_pair_refuse(const struct core_pair_frame *request, enum core_pair_reason reason,
		      struct core_pair_frame *reply)
{
	*reply = {};
	reply->from = request->to;
	reply->to = request->from;
	reply->reply = 1;
	reply->reason = reason;
}
