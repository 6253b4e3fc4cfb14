// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive: a pull parser over one TCP stream. It says which octets it wants next, and glues the
// layers in the order of RFC 5040 figure 1: MPA's length, pad and CRC (RFC 5044 4), DDP's header
// and placement checks (RFC 5041 4 and 7.1), RDMAP's opcodes and messages (RFC 5040 4 and 5). What
// breaks a rule ends the stream in the Terminate that the specs name.
//
// Everything is checked before the first octet of payload is asked for. Nothing is delivered before
// the FPDU's CRC was found good, and no error of its header told: the CRC comes first (RFC 5044
// 4.4). Only a region that is revoked between two octets of one segment is told at once.
//
// Every FPDU is fed in steps: 16 octets, which the smallest ULPDU fills; 4 more of an untagged
// header; payload, placed by the host (a Read Request or Terminate is gathered in buf instead, and
// what was refused is skipped); pad and CRC. Markers cut these steps, and are taken out.
#include "mpa/framing.hh"
#include "rdmap/terminate.hh"

namespace srnic {
namespace {

enum class Phase : u8 { header, untagged_rest, payload, skipped, trailer };

constexpr u32 ddp_offset = fpdu_header_len;
constexpr u32 tagged_end = ddp_offset + sizeof(TaggedHeader);
constexpr u32 untagged_end = ddp_offset + sizeof(UntaggedHeader);
static_assert(sizeof(core_rx::buf) >= untagged_end + CORE_TERM_MAX + CORE_FPDU_MAX_TRAILER);
static_assert(sizeof(core_rx::buf) >= untagged_end + CORE_READ_REQUEST_LEN + CORE_FPDU_MAX_TRAILER);

u32 ulpdu_len(const core_rx &rx) { return load<FpduHeader>(rx.buf).ulpdu_length.host(); }
DdpControl ddp_control(const core_rx &rx) { return {rx.buf[ddp_offset]}; }
RdmapControl rdmap_control(const core_rx &rx) { return {rx.buf[ddp_offset + 1]}; }

// ---- Errors ----

// Captures the segment at fault, as far as figure 10 wants it sent back; its headers are still in
// buf.
[[gnu::cold, gnu::noinline]] void capture(core_rx &rx, Error why)
{
	core_terminate &term = rx.term;

	term = {};
	term.layer = why.layer;
	term.etype = why.etype;
	term.code = why.code;
	if (why.included == Included::nothing)
		return;
	term.has_ddp = 1;
	term.ddp_len = rx.ulpdu_len;
	term.ddp_header_len = ddp_header_len(ddp_control(rx).tagged());
	__builtin_memcpy(term.ddp, rx.buf + ddp_offset, term.ddp_header_len);
	if (why.included == Included::ddp)
		return;
	term.has_rdmap = 1;
	__builtin_memcpy(term.read_request, rx.buf + untagged_end, sizeof(term.read_request));
}

// Ends the stream. The first error is the one to be told (RFC 5040 7.1, 4).
[[gnu::cold, gnu::noinline]] core_rx_event fail(core_rx &rx, Error why)
{
	if (!rx.over)
		capture(rx, why);
	rx.over = 1;
	return CORE_RX_ERROR;
}

// ---- Steps ----

core_rx_event want(core_rx &rx, Phase phase, u32 need)
{
	rx.phase = static_cast<u8>(phase);
	rx.need = static_cast<u16>(need);
	return CORE_RX_MORE;
}

void start_fpdu(core_rx &rx)
{
	rx.have = 0;
	rx.summed = 0;
	rx.refused = 0;
	rx.crc = CORE_CRC_SEED;
	core_markers_end_fpdu(&rx.markers);
	want(rx, Phase::header, tagged_end);
}

// The CRC over what has been gathered in buf since it was last brought up to date.
void sum_up_to(core_rx &rx, u32 end)
{
	if (end > rx.summed && rx.params.crc)
		rx.crc = core_host_crc32c(rx.crc, rx.buf + rx.summed, end - rx.summed);
	rx.summed = static_cast<u16>(end);
}

// gathered: octets of payload that come into buf, in front of the trailer.
core_rx_event want_trailer(core_rx &rx, u32 gathered)
{
	return want(rx, Phase::trailer, rx.have + gathered + fpdu_trailer(rx.ulpdu_len));
}

core_rx_event want_payload(core_rx &rx, u32 len)
{
	if (!len)
		return want_trailer(rx, 0);
	sum_up_to(rx, rx.have);
	rx.payload_left = len;
	return want(rx, Phase::payload, rx.have);
}

// The CRC field of an FPDU whose other octets are of no interest any more.
core_rx_event want_field(core_rx &rx)
{
	rx.have = 0;
	rx.summed = 0;
	return want(rx, Phase::trailer, crc_field_len);
}

// Skips len octets and then looks at the CRC.
[[gnu::cold, gnu::noinline]] core_rx_event skip(core_rx &rx, u32 len)
{
	rx.payload_left = len;
	return len ? want(rx, Phase::skipped, rx.have) : want_field(rx);
}

// Skips what is left of the FPDU whose header is at hand.
[[gnu::cold, gnu::noinline]] core_rx_event skip_rest(core_rx &rx)
{
	sum_up_to(rx, rx.have);
	return skip(rx, fpdu_header_len + rx.ulpdu_len + fpdu_pad(rx.ulpdu_len) - rx.have);
}

// What the header at hand gets wrong. It is told when the FPDU is whole, and its CRC is good if
// there is one: RFC 5044 4.4, "the receiver MUST first". Only then has a responder received and
// validated an FPDU, and may tell anything (7.1.2, 4). What is left of the FPDU until then is
// skipped.
[[gnu::cold, gnu::noinline]] core_rx_event refuse(core_rx &rx, Error why)
{
	capture(rx, why);
	rx.refused = 1;
	return skip_rest(rx);
}

// ---- Tagged messages (RFC 5041 5.1.1) ----

// RFC 5040 5.1. Each segment is checked by itself: whose message it continues makes no difference
// to where it may land.
core_rx_event begin_write(core_rx &rx, const TaggedHeader &header, u32 len)
{
	core_region_verdict verdict = CORE_REGION_INVALID;
	core_region region;

	if (!len)
		return want_payload(rx, 0);
	rx.place = {CORE_PLACE_REGION, header.stag.host(), header.to.host()};
	if (core_host_region(rx.params.ctx, rx.place.stag, &region))
		verdict = check_region(region, rx.params.pd, CORE_ACCESS_REMOTE_WRITE, rx.place.to,
				       len);
	if (verdict != CORE_REGION_OK) [[unlikely]]
		return refuse(rx, error(tagged_error(verdict)));
	return want_payload(rx, len);
}

// Responses come in the order of their requests (RFC 5040 5.2.2) and their octets in order (5.5),
// so the next one has to lie exactly where the oldest outstanding read has got to.
core_region_verdict check_sink(const core_read_sink &sink, const TaggedHeader &header, u32 len)
{
	u64 to = header.to.host(), end = 0;

	if (header.stag.host() != sink.stag)
		return CORE_REGION_INVALID;
	if (__builtin_add_overflow(to, u64{len}, &end))
		return CORE_REGION_WRAP;
	if (to != sink.to + sink.placed || len > sink.length - sink.placed)
		return CORE_REGION_BOUNDS;
	return CORE_REGION_OK;
}

// RFC 5040 5.2.2. Neither a response that ends early nor one that is whole and does not end has an
// error code of its own.
core_rx_event begin_read_response(core_rx &rx, const TaggedHeader &header, u32 len)
{
	core_region_verdict verdict = CORE_REGION_OK;
	core_read_sink sink;

	if (!core_host_read_sink(rx.params.ctx, &sink)) [[unlikely]]
		return refuse(rx, len ? error(TaggedError::invalid_stag)
				      : error(OperationError::unexpected_opcode));
	if (len)
		verdict = check_sink(sink, header, len);
	if (verdict != CORE_REGION_OK) [[unlikely]]
		return refuse(rx, error(tagged_error(verdict)));
	if (rx.last != (sink.placed + len == sink.length)) [[unlikely]]
		return refuse(rx, error(OperationError::unspecified));
	rx.place = {CORE_PLACE_READ, sink.stag, sink.placed};
	return want_payload(rx, len);
}

core_rx_event on_tagged(core_rx &rx)
{
	TaggedHeader header = load<TaggedHeader>(rx.buf + ddp_offset);
	u32 len = rx.ulpdu_len - u32{sizeof(header)};

	if (!header.control.version_ok()) [[unlikely]]
		return refuse(rx, error(TaggedError::version));
	if (!rdmap_control(rx).version_ok()) [[unlikely]]
		return refuse(rx, error(OperationError::version));
	if (rx.opcode == CORE_RDMAP_WRITE)
		return begin_write(rx, header, len);
	if (rx.opcode == CORE_RDMAP_READ_RESPONSE)
		return begin_read_response(rx, header, len);
	return refuse(rx, error(OperationError::unexpected_opcode));
}

// ---- Untagged messages (RFC 5041 5.1.2) ----

// RFC 6581 9.2: a zero-length Send in front of everything else tells that the initiator is ready.
// It belongs to nobody's receive queue (4.4.2).
bool is_rtr(const core_rx &rx, u32 len)
{
	return rx.fpdus == 0 && rx.params.rtr & CORE_RTR_SEND && rx.opcode == CORE_RDMAP_SEND &&
	       rx.last && !len;
}

core_take take_receive(core_rx &rx)
{
	core_take taken = core_host_receive(rx.params.ctx, &rx.receive_room);

	if (taken == CORE_TAKE_OK) [[likely]] {
		rx.receive_active = 1;
		rx.receive_opcode = rx.opcode;
	}
	return taken;
}

// RFC 5040 5.3. TCP keeps order, so the only legal MSN is that of the oldest receive, and the only
// legal MO the next one.
core_rx_event begin_send(core_rx &rx, const UntaggedHeader &header, u32 len)
{
	core_take taken = CORE_TAKE_OK;

	if (header.msn.host() != rx.send_msn) [[unlikely]]
		return refuse(rx, error(UntaggedError::msn_range));
	if (header.mo.host() != rx.receive_len) [[unlikely]]
		return refuse(rx, error(UntaggedError::invalid_mo));
	if (rx.receive_active && rx.opcode != rx.receive_opcode) [[unlikely]]
		return refuse(rx, error(OperationError::unexpected_opcode));
	if (!rx.receive_active && !is_rtr(rx, len))
		taken = take_receive(rx);
	if (taken == CORE_TAKE_EMPTY) [[unlikely]]
		return refuse(rx, error(UntaggedError::no_buffer));
	if (taken != CORE_TAKE_OK) [[unlikely]]
		return fail(rx, local_catastrophic);
	if (len && len > rx.receive_room - rx.receive_len) [[unlikely]]
		return refuse(rx, error(UntaggedError::too_long));
	rx.place = {CORE_PLACE_RECEIVE, 0, rx.receive_len};
	rx.receive_len += len;
	return want_payload(rx, len);
}

// A message that RDMAP itself consumes, from a buffer of max_len octets: one segment, gathered in
// buf. DDP can tell one that is too long for the buffer; one that is cut short or spread over
// segments has no error code of its own.
core_rx_event gather(core_rx &rx, const UntaggedHeader &header, u32 len, u32 msn, u32 min_len,
		     u32 max_len)
{
	if (header.msn.host() != msn)
		return refuse(rx, error(UntaggedError::msn_range));
	if (header.mo.host() != 0)
		return refuse(rx, error(UntaggedError::invalid_mo));
	if (len > max_len)
		return refuse(rx, error(UntaggedError::too_long));
	if (len < min_len || !rx.last)
		return refuse(rx, error(OperationError::unspecified));
	return want_trailer(rx, len);
}

// RFC 5040 5.2.1: as many buffers as the IRD are available on queue 1.
core_rx_event begin_read_request(core_rx &rx, const UntaggedHeader &header, u32 len)
{
	core_rx_event event =
		gather(rx, header, len, rx.read_msn, CORE_READ_REQUEST_LEN, CORE_READ_REQUEST_LEN);

	if (event == CORE_RX_MORE && !rx.refused && !core_host_read_room(rx.params.ctx))
		[[unlikely]]
		return refuse(rx, error(UntaggedError::no_buffer));
	return event;
}

// RFC 5040 5.4: a single one, the first and last of queue 2.
core_rx_event begin_terminate(core_rx &rx, const UntaggedHeader &header, u32 len)
{
	return gather(rx, header, len, first_msn, sizeof(TerminateHeader), CORE_TERM_MAX);
}

// The control octets and the queue come first: they say which of the other rules apply.
core_rx_event on_untagged(core_rx &rx)
{
	UntaggedHeader header = load<UntaggedHeader>(rx.buf + ddp_offset);
	u32 len = rx.ulpdu_len - u32{sizeof(header)}, qn = header.qn.host();

	if (rx.refused) [[unlikely]]
		return skip_rest(rx);
	if (!header.control.version_ok()) [[unlikely]]
		return refuse(rx, error(UntaggedError::version));
	if (qn >= queues) [[unlikely]]
		return refuse(rx, error(UntaggedError::invalid_qn));
	if (!rdmap_control(rx).version_ok()) [[unlikely]]
		return refuse(rx, error(OperationError::version));
	if (static_cast<u32>(queue_of(rx.opcode)) != qn) [[unlikely]]
		return refuse(rx, error(OperationError::unexpected_opcode));
	if (qn == static_cast<u32>(Queue::send))
		return begin_send(rx, header, len);
	if (qn == static_cast<u32>(Queue::read_request))
		return begin_read_request(rx, header, len);
	return begin_terminate(rx, header, len);
}

// ---- Headers ----

core_rx_event on_trailer(core_rx &rx);

// A length that leaves no room for the header it stands in front of, as soon as it can be known:
// FPDUs as short as that end before a header would.
bool length_too_short(const core_rx &rx)
{
	bool tagged = rx.have <= ddp_offset || ddp_control(rx).tagged();

	return rx.have >= fpdu_header_len && ulpdu_len(rx) < ddp_header_len(tagged);
}

// Of all codes only MPA's third blames the ULPDU_Length: if it leaves no room for a DDP header,
// FPDUs do not start where we believe. Like every LLP error it includes no header, of which there
// is none. "In the event that the CRC is valid" (RFC 5044 8): all of the FPDU fits buf, and may be
// there already.
[[gnu::cold, gnu::noinline]] core_rx_event refuse_length(core_rx &rx)
{
	if (!rx.params.crc)
		return fail(rx, error(LlpError::framing));
	capture(rx, error(LlpError::framing));
	rx.refused = 1;
	want(rx, Phase::trailer, fpdu_len(ulpdu_len(rx)));
	return rx.have < rx.need ? CORE_RX_MORE : on_trailer(rx);
}

[[gnu::noinline]] core_rx_event on_partial(core_rx &rx)
{
	if (rx.phase == static_cast<u8>(Phase::header) && length_too_short(rx))
		return refuse_length(rx);
	return CORE_RX_MORE;
}

core_rx_event on_header(core_rx &rx)
{
	rx.ulpdu_len = static_cast<u16>(ulpdu_len(rx));
	rx.last = ddp_control(rx).last();
	rx.opcode = rdmap_control(rx).opcode();
	if (length_too_short(rx)) [[unlikely]]
		return refuse_length(rx);
	if (rx.refused) [[unlikely]]
		return skip_rest(rx);
	if (ddp_control(rx).tagged())
		return on_tagged(rx);
	return want(rx, Phase::untagged_rest, untagged_end);
}

// ---- Delivery (RFC 5041 5.4) ----

core_rx_event deliver_send(core_rx &rx)
{
	bool invalidate = is_invalidate(rx.opcode);
	u32 inv_stag = invalidate ? load<UntaggedHeader>(rx.buf + ddp_offset).rsvd_ulp2.host() : 0;

	rx.message = {is_solicited(rx.opcode), invalidate, !rx.receive_active, rx.receive_len,
		      inv_stag};
	rx.send_msn++;
	rx.receive_active = 0;
	rx.receive_len = 0;
	return CORE_RX_SEND;
}

// RFC 5040 7.2, 4. With a zero length the source must not be looked at (5.2.1).
core_region_verdict check_source(const core_rx &rx)
{
	const core_read_request &request = rx.read_request;
	core_region region;

	if (!request.length)
		return CORE_REGION_OK;
	if (!core_host_region(rx.params.ctx, request.source_stag, &region))
		return CORE_REGION_INVALID;
	return check_region(region, rx.params.pd, CORE_ACCESS_REMOTE_READ, request.source_to,
			    request.length);
}

core_rx_event deliver_read_request(core_rx &rx)
{
	core_region_verdict verdict;

	rx.read_request = decode(load<ReadRequestHeader>(rx.buf + untagged_end));
	verdict = check_source(rx);
	if (verdict != CORE_REGION_OK) [[unlikely]]
		return fail(rx, error(protection_error(verdict), true));
	rx.read_msn++;
	return CORE_RX_READ_REQUEST;
}

core_rx_event deliver_terminate(core_rx &rx)
{
	if (!core_terminate_parse(rx.buf + untagged_end, rx.ulpdu_len - u32{sizeof(UntaggedHeader)},
				  &rx.term))
		return fail(rx, error(OperationError::unspecified));
	rx.over = 1;
	return CORE_RX_TERMINATE;
}

core_rx_event deliver(core_rx &rx)
{
	switch (rx.opcode) {
	case CORE_RDMAP_WRITE:
		return CORE_RX_WRITE;
	case CORE_RDMAP_READ_RESPONSE:
		return CORE_RX_READ_RESPONSE;
	case CORE_RDMAP_READ_REQUEST:
		return deliver_read_request(rx);
	case CORE_RDMAP_TERMINATE:
		return deliver_terminate(rx);
	default:
		return deliver_send(rx);
	}
}

bool crc_good(core_rx &rx)
{
	u32 field = rx.need - crc_field_len;

	if (!rx.params.crc)
		return true;
	sum_up_to(rx, field);
	return rx.crc == crc_from_field(rx.buf + field);
}

core_rx_event on_trailer(core_rx &rx)
{
	if (!crc_good(rx)) [[unlikely]]
		return fail(rx, error(LlpError::crc));
	rx.fpdus++;
	if (rx.refused) [[unlikely]] {
		rx.over = 1;
		return CORE_RX_ERROR;
	}
	start_fpdu(rx);
	return rx.last ? deliver(rx) : CORE_RX_MORE;
}

[[gnu::cold, gnu::noinline]] core_rx_event took_skipped(core_rx &rx, u32 n)
{
	if (rx.params.crc)
		rx.crc = core_host_crc32c(rx.crc, rx.buf, n);
	rx.payload_left -= n;
	return rx.payload_left ? CORE_RX_MORE : want_field(rx);
}

core_rx_event took_payload(core_rx &rx, u32 n)
{
	rx.place.to += n;
	rx.payload_left -= n;
	return rx.payload_left ? CORE_RX_MORE : want_trailer(rx, 0);
}

// n octets of an FPDU, no marker among them.
core_rx_event took_octets(core_rx &rx, u32 n)
{
	if (rx.phase == static_cast<u8>(Phase::payload))
		return took_payload(rx, n);
	if (rx.phase == static_cast<u8>(Phase::skipped)) [[unlikely]]
		return took_skipped(rx, n);
	rx.have = static_cast<u16>(rx.have + n);
	if (rx.have < rx.need)
		return on_partial(rx);
	if (rx.phase == static_cast<u8>(Phase::header))
		return on_header(rx);
	if (rx.phase == static_cast<u8>(Phase::untagged_rest))
		return on_untagged(rx);
	return on_trailer(rx);
}

// ---- Markers (RFC 5044 4.3) ----

// RFC 5044 8, 3: a marker and the lengths do not agree on where this FPDU starts. "In the event
// that the CRC is valid", and whatever else is wrong with it: nothing of it goes up to DDP (6), and
// no more of it is placed.
[[gnu::cold, gnu::noinline]] core_rx_event refuse_marker(core_rx &rx)
{
	if (!rx.params.crc)
		return fail(rx, error(LlpError::framing));
	capture(rx, error(LlpError::framing));
	rx.refused = 1;
	if (rx.phase == static_cast<u8>(Phase::payload))
		return skip(rx, rx.payload_left + fpdu_pad(rx.ulpdu_len));
	return CORE_RX_MORE;
}

// 4.4: the CRC covers markers, in their place.
core_rx_event on_marker(core_rx &rx)
{
	Marker marker = load<Marker>(rx.marker);
	bool good = marker_points_back(marker, rx.markers.back);
	u8 ignored[CORE_MARKER_LEN];

	sum_up_to(rx, rx.have);
	if (rx.params.crc)
		rx.crc = core_host_crc32c(rx.crc, rx.marker, sizeof(rx.marker));
	rx.marker_have = 0;
	core_markers_build(&rx.markers, ignored);
	return good ? CORE_RX_MORE : refuse_marker(rx);
}

[[gnu::noinline]] core_rx_event took_between_markers(core_rx &rx, u32 n)
{
	if (rx.markers.left) {
		core_markers_pass(&rx.markers, n);
		return took_octets(rx, n);
	}
	rx.marker_have = static_cast<u8>(rx.marker_have + n);
	return rx.marker_have < CORE_MARKER_LEN ? CORE_RX_MORE : on_marker(rx);
}

core_rx_step next_octets(core_rx &rx)
{
	if (rx.phase == static_cast<u8>(Phase::payload))
		return {CORE_RX_PLACE, rx.payload_left, nullptr};
	if (rx.phase == static_cast<u8>(Phase::skipped)) [[unlikely]]
		return {CORE_RX_BYTES, min(rx.payload_left, u32{sizeof(rx.buf)}), rx.buf};
	return {CORE_RX_BYTES, u32{rx.need} - rx.have, rx.buf + rx.have};
}

[[gnu::noinline]] core_rx_step next_between_markers(core_rx &rx)
{
	core_rx_step step = next_octets(rx);

	if (!rx.markers.left)
		return {CORE_RX_BYTES, u32{CORE_MARKER_LEN} - rx.marker_have,
			rx.marker + rx.marker_have};
	step.want = min(step.want, u32{rx.markers.left});
	return step;
}

} // namespace
} // namespace srnic

using namespace srnic;

void core_rx_init(struct core_rx *rx, const struct core_rx_params *params)
{
	*rx = {};
	rx->params = *params;
	rx->send_msn = first_msn;
	rx->read_msn = first_msn;
	core_markers_start(&rx->markers, params->markers);
	start_fpdu(*rx);
}

// A marker between two FPDUs is part of the second (RFC 5044 4.3); one that is whole has its gap
// before it.
bool core_rx_between(const struct core_rx *rx)
{
	bool marked = rx->marker_have || rx->markers.left == marker_gap;

	return rx->over || (rx->phase == static_cast<u8>(Phase::header) && !rx->have && !marked &&
			    !rx->receive_active);
}

struct core_rx_step core_rx_next(struct core_rx *rx)
{
	if (rx->over) [[unlikely]]
		return {CORE_RX_STOP, 0, nullptr};
	return rx->markers.on ? next_between_markers(*rx) : next_octets(*rx);
}

enum core_rx_event core_rx_took(struct core_rx *rx, u32 n)
{
	return rx->markers.on ? took_between_markers(*rx, n) : took_octets(*rx, n);
}

// Receives and read sinks are this end's own memory: what keeps the host from using them is not the
// peer's fault, unless the verdict says so.
enum core_rx_event core_rx_fail(struct core_rx *rx, enum core_region_verdict verdict)
{
	if (verdict == CORE_REGION_OK || queue_of(rx->opcode) == Queue::send)
		return fail(*rx, local_catastrophic);
	if (is_tagged(rx->opcode))
		return fail(*rx, error(tagged_error(verdict)));
	return fail(*rx, error(protection_error(verdict), rx->opcode == CORE_RDMAP_READ_REQUEST));
}

// RFC 5040 5.3 names the code for an STag that is not the stream's; the same tells of one that may
// not be invalidated.
enum core_rx_event core_rx_fail_invalidate(struct core_rx *rx, enum core_region_verdict verdict)
{
	if (verdict == CORE_REGION_OK)
		return fail(*rx, local_catastrophic);
	if (verdict == CORE_REGION_INVALID)
		return fail(*rx, error(ProtectionError::invalid_stag, false));
	return fail(*rx, error(ProtectionError::cannot_invalidate, false));
}
