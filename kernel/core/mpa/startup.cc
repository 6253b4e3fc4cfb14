// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// MPA startup (RFC 5044 7.1, RFC 6581): encodes and decodes Request and Reply frames, and
// negotiates CRCs, markers, IRD and ORD, and the RTR indication.
#include "mpa/startup.hh"

namespace srnic {
namespace {

constexpr u8 request_key[17] = "MPA ID Req Frame";
constexpr u8 reply_key[17] = "MPA ID Rep Frame";

constexpr u8 flag(bool on, u8 bit) { return on ? bit : 0; }
constexpr u16 flag(bool on, u16 bit) { return on ? bit : 0; }

MpaHeader encode_header(const core_mpa_frame &frame)
{
	MpaHeader header{};

	__builtin_memcpy(header.key, frame.reply ? reply_key : request_key, sizeof(header.key));
	header.flags = flag(frame.markers, mpa_markers) | flag(frame.crc, mpa_crc) |
		       flag(frame.reply && frame.reject, mpa_reject) |
		       flag(frame.enhanced, mpa_enhanced) | flag(frame.large, mpa_large);
	header.revision = frame.revision;
	header.private_len = be<u16>::from_host(frame.private_len);
	return header;
}

// RFC 6581 9.2: with A zero, B, C and D are zero as well.
MpaEnhanced encode_enhanced(const core_mpa_frame &frame)
{
	u32 rtr = frame.p2p ? frame.rtr : 0;
	u16 ird = (frame.ird & mpa_depth) | flag(frame.p2p, mpa_flag_a) |
		  flag(rtr & CORE_RTR_SEND, mpa_flag_b);
	u16 ord = (frame.ord & mpa_depth) | flag(rtr & CORE_RTR_WRITE, mpa_flag_c) |
		  flag(rtr & CORE_RTR_READ, mpa_flag_d);

	return {be<u16>::from_host(ird), be<u16>::from_host(ord)};
}

constexpr u16 own_ird(const core_startup_local &local) { return min(local.ird, local.max_ird); }

// RFC 5044 7.1.1: CRCs are off only if neither end wants them; each end decides whether it receives
// markers. FPDUs are larger than TCP segments only if the administrators of both ends wish so.
core_startup_agreed agree_basics(const core_mpa_frame &peer, bool own_crc, bool own_markers,
				 const core_startup_local &local)
{
	core_startup_agreed agreed{};

	agreed.ird = own_ird(local);
	agreed.ord = local.ord;
	agreed.crc = own_crc || peer.crc;
	agreed.long_segments = local.large_fpdus && peer.large;
	agreed.send_markers = peer.markers;
	agreed.recv_markers = own_markers;
	return agreed;
}

// RFC 6581 9.1. The IRD grows to the initiator's ORD, up to max_ird; beyond that the initiator has
// to lower its ORD. Without negotiation (0x3FFF) this end's value stays, and the reply says so.
void respond_depths(const core_mpa_frame &request, const core_startup_local &local,
		    core_mpa_frame &reply, core_startup_agreed &agreed)
{
	if (request.ord != CORE_MPA_AUTO)
		agreed.ird = min(max(agreed.ird, request.ord), local.max_ird);
	if (request.ird != CORE_MPA_AUTO)
		agreed.ord = min(agreed.ord, request.ird);
	reply.ird = request.ord == CORE_MPA_AUTO ? request.ord : agreed.ird;
	reply.ord = request.ird == CORE_MPA_AUTO ? request.ird : agreed.ord;
}

// RFC 6581 9.2: offers every type that both ends know, or else the types that this end knows, and
// the initiator decides. A zero-length RDMA Read as RTR needs an IRD of one (9.1): not offered if
// the IRD is zero and cannot grow.
void respond_rtr(const core_mpa_frame &request, const core_startup_local &local,
		 core_mpa_frame &reply, core_startup_agreed &agreed)
{
	bool may_grow = request.ord != CORE_MPA_AUTO && local.max_ird > 0;
	u8 able = local.rtr & CORE_RTR_ALL;

	if (!agreed.ird && !may_grow)
		able &= CORE_RTR_ALL & ~CORE_RTR_READ;
	reply.p2p = agreed.p2p = 1;
	reply.rtr = agreed.rtr = able & request.rtr ? able & request.rtr : able;
	if (reply.rtr & CORE_RTR_READ && !agreed.ird)
		agreed.ird = reply.ird = 1;
}

// RFC 6581 9.1: the ORD shrinks to the responder's IRD; the IRD has to cover the responder's ORD.
MpaError conclude_depths(const core_mpa_frame &reply, const core_startup_local &local,
			 core_startup_agreed &agreed)
{
	if (reply.ird != CORE_MPA_AUTO)
		agreed.ord = min(agreed.ord, reply.ird);
	if (reply.ord == CORE_MPA_AUTO || reply.ord <= agreed.ird)
		return MpaError::none;
	if (reply.ord > local.max_ird)
		return MpaError::insufficient_ird;
	agreed.ird = reply.ord;
	return MpaError::none;
}

// One of the types that both ends know: a Write needs least from the responder, a Read needs room
// in its IRD.
u8 choose_rtr(u32 common, u16 responder_ird)
{
	if (common & CORE_RTR_WRITE)
		return CORE_RTR_WRITE;
	if (common & CORE_RTR_READ && responder_ird)
		return CORE_RTR_READ;
	return common & CORE_RTR_SEND;
}

MpaError conclude_rtr(const core_mpa_frame &reply, const core_startup_local &local,
		      core_startup_agreed &agreed)
{
	agreed.p2p = 1;
	agreed.rtr = reply.p2p ? choose_rtr(reply.rtr & local.rtr, reply.ird) : 0;
	return agreed.rtr ? MpaError::none : MpaError::no_matching_rtr;
}

// Applies the responder's enhanced data. RFC 6581 10: only enhanced requests have enhanced replies.
// A responder that replies to one without enhanced data gets a client-server connection: it waits
// for the first FPDU of any kind (RFC 5044 7.1.2, 4).
MpaError conclude_enhanced(const core_mpa_frame &request, const core_mpa_frame &reply,
			   const core_startup_local &local, core_startup_agreed &agreed)
{
	MpaError error = MpaError::none;

	if (reply.enhanced && !request.enhanced)
		return MpaError::local_catastrophic;
	if (reply.enhanced)
		error = conclude_depths(reply, local, agreed);
	if (error == MpaError::none && request.p2p && reply.enhanced)
		error = conclude_rtr(reply, local, agreed);
	return error;
}

} // namespace
} // namespace srnic

using namespace srnic;

enum core_mpa_result core_mpa_parse(const u8 octets[CORE_MPA_HEADER], bool expect_reply,
				    struct core_mpa_frame *out)
{
	MpaHeader header = load<MpaHeader>(octets);
	core_mpa_frame frame{};

	if (__builtin_memcmp(header.key, expect_reply ? reply_key : request_key,
			     sizeof(header.key)) != 0)
		return CORE_MPA_BAD_KEY;
	if (header.revision < 1 || header.revision > 2)
		return CORE_MPA_BAD_REVISION;

	frame.reply = expect_reply;
	frame.markers = (header.flags & mpa_markers) != 0;
	frame.crc = (header.flags & mpa_crc) != 0;
	frame.reject = expect_reply && header.flags & mpa_reject; // requests: not checked
	frame.enhanced =
		header.revision >= 2 && header.flags & mpa_enhanced; // revision 1: a reserved bit
	frame.large = (header.flags & mpa_large) != 0;
	frame.revision = header.revision;
	frame.private_len = header.private_len.host();
	if (frame.private_len > CORE_MPA_MAX_PRIVATE ||
	    (frame.enhanced && frame.private_len < CORE_MPA_ENHANCED))
		return CORE_MPA_BAD_LENGTH;
	*out = frame;
	return CORE_MPA_OK;
}

void core_mpa_parse_enhanced(const u8 octets[CORE_MPA_ENHANCED], struct core_mpa_frame *frame)
{
	MpaEnhanced data = load<MpaEnhanced>(octets);
	u16 ird = data.ab_ird.host(), ord = data.cd_ord.host();

	frame->ird = ird & mpa_depth;
	frame->ord = ord & mpa_depth;
	frame->p2p = (ird & mpa_flag_a) != 0;
	frame->rtr = 0;
	if (!frame->p2p)
		return;
	frame->rtr = (ird & mpa_flag_b ? CORE_RTR_SEND : 0) |
		     (ord & mpa_flag_c ? CORE_RTR_WRITE : 0) |
		     (ord & mpa_flag_d ? CORE_RTR_READ : 0);
}

u32 core_mpa_build(const struct core_mpa_frame *frame, u8 out[CORE_MPA_HEADER + CORE_MPA_ENHANCED])
{
	store(out, encode_header(*frame));
	if (!frame->enhanced)
		return CORE_MPA_HEADER;
	store(out + CORE_MPA_HEADER, encode_enhanced(*frame));
	return CORE_MPA_HEADER + CORE_MPA_ENHANCED;
}

void core_mpa_request(const struct core_startup_local *local, u16 private_len,
		      struct core_mpa_frame *out)
{
	bool enhanced = local->revision >= 2;

	*out = {};
	out->markers = local->markers;
	out->crc = local->crc;
	out->large = local->large_fpdus;
	out->revision = local->revision;
	out->private_len = private_len;
	if (!enhanced)
		return;
	out->enhanced = 1;
	out->private_len += CORE_MPA_ENHANCED;
	out->ird = own_ird(*local);
	out->ord = local->ord;
	out->p2p = local->p2p;
	out->rtr = local->p2p ? local->rtr & CORE_RTR_ALL : 0;
}

void core_mpa_respond(const struct core_mpa_frame *request, const struct core_startup_local *local,
		      bool reject, u16 private_len, struct core_mpa_frame *reply,
		      struct core_startup_agreed *out)
{
	*out = agree_basics(*request, local->crc, local->markers, *local);
	*reply = {};
	reply->reply = 1;
	reply->markers = local->markers;
	reply->crc = out->crc;
	reply->large = out->long_segments;
	reply->reject = reject;
	reply->revision = request->revision;
	reply->private_len = private_len;
	if (!request->enhanced)
		return;
	reply->enhanced = 1;
	reply->private_len += CORE_MPA_ENHANCED;
	respond_depths(*request, *local, *reply, *out);
	if (request->p2p)
		respond_rtr(*request, *local, *reply, *out);
}

void core_mpa_conclude(const struct core_mpa_frame *request, const struct core_mpa_frame *reply,
		       const struct core_startup_local *local, struct core_startup_agreed *out)
{
	*out = agree_basics(*reply, request->crc, request->markers, *local);
	if (!reply->reject && !out->error)
		out->error = static_cast<u8>(conclude_enhanced(*request, *reply, *local, *out));
}

u32 core_mpa_mulpdu(u32 emss, bool markers) { return mulpdu(emss, markers); }
