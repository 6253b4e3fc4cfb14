// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive, headers: decodes the DDP (RFC 5041 4) and RDMAP (RFC 5040 4) headers of a ULPDU into a
// Segment, on which message_rules.hh decides, and turns errors into the Terminate that the RFCs
// name.
//
// This is the layer above MPA of mpa/ulpdu.hh. Everything is checked before any payload is taken.
// An error in a header is reported once the CRC of its ULPDU was good. A region that is revoked
// during a segment is reported without waiting for the CRC.
#pragma once

#include "mpa/ulpdu.hh"
#include "rdmap/terminate.hh"

namespace srnic {

// payload: octets after the header.
constexpr Segment segment_of(const TaggedHeader &header, u32 payload)
{
	const Opcode &row = row_of(RdmapControl{header.rsvd_ulp}.opcode());

	return {.message = row.message,
		.type = row.opcode,
		.last = header.control.last(),
		.length = payload,
		.stag = header.stag.host(),
		.to = header.to.host()};
}

constexpr Segment segment_of(const UntaggedHeader &header, u32 payload)
{
	const Opcode &row = row_of(RdmapControl{header.rsvd_ulp}.opcode());

	return {.message = row.message,
		.type = row.opcode,
		.last = header.control.last(),
		.solicited = row.solicited,
		.invalidate = row.invalidate,
		.length = payload,
		.msn = header.msn.host(),
		.mo = header.mo.host(),
		.inv_stag = row.word ? header.rsvd_ulp2.host() : 0};
}

// RFC 5041 4.2 and 7.2, then RFC 5040 4.1.
template <class Dialect> constexpr Error check_header(const TaggedHeader &header)
{
	RdmapControl control{header.rsvd_ulp};

	if (!header.control.version_ok()) [[unlikely]]
		return error(TaggedError::version);
	if (!control.version_ok()) [[unlikely]]
		return error(OperationError::version);
	if (queue_in<Dialect>(control.opcode()) != Queue::tagged) [[unlikely]]
		return error(OperationError::unexpected_opcode);
	return no_error;
}

// RFC 5041 4.3. The control octets and the queue come first, because the other rules depend on
// them.
template <class Dialect> constexpr Error check_header(const UntaggedHeader &header)
{
	RdmapControl control{header.rsvd_ulp};
	u32 qn = header.qn.host();

	if (!header.control.version_ok()) [[unlikely]]
		return error(UntaggedError::version);
	if (qn >= Dialect::queues) [[unlikely]]
		return error(UntaggedError::invalid_qn);
	if (!control.version_ok()) [[unlikely]]
		return error(OperationError::version);
	if (qn != static_cast<u32>(queue_in<Dialect>(control.opcode()))) [[unlikely]]
		return error(OperationError::unexpected_opcode);
	return no_error;
}

// What RDMAP itself has behind the DDP header.
template <class Header> auto own_part(const u8 *ulpdu)
{
	return decode(load<Header>(ulpdu + sizeof(UntaggedHeader)));
}

class RdmapReceiver {
public:
	enum : u32 {
		first_header = sizeof(TaggedHeader),
		max_header = sizeof(UntaggedHeader),
		max_gathered = max(u32{CORE_TERM_MAX}, u32{CORE_ATOMIC_REQUEST_LEN}),
	};
	static u32 header_len(const u8 *ulpdu, u32 have);

	MessageRules rules;

	void start(const core_rx_params &params);
	Rest begin(const u8 *ulpdu, u32 len, bool first, Grant grant);
	void *host() const { return rules.host(); }
	const core_place &place() const { return rules.place(); }
	void placed(u32 n) { rules.placed(n); }
	core_rx_event end(const u8 *ulpdu, u32 len);
	core_rx_event fault(FramingFault why);
	bool over() const { return stopped; }
	void stop() { stopped = true; }
	bool between() const { return !rules.inside_send(); }

	void deny(const u8 *ulpdu, u32 len, core_region_verdict verdict);
	// The host failed on the segment in this ULPDU.
	core_rx_event fail(const u8 *ulpdu, u32 len, core_region_verdict verdict);
	core_rx_event fail_invalidate(const u8 *ulpdu, u32 len, core_region_verdict verdict);
	const core_terminate &terminate() const { return term; }
	u8 receive_status() const { return core_terminate_receive_status(&term); }

protected:
	// What the rules say of a segment whose headers are valid.
	Verdict begin_tagged_message(const Segment &segment, Grant grant);
	Verdict begin_untagged_message(const Segment &segment, bool first, Rest &rest);
	Rest begin_tagged(const u8 *ulpdu, u32 len, Grant grant);
	Rest begin_untagged(const u8 *ulpdu, u32 len, bool first);
	Rest refuse(const u8 *ulpdu, u32 len, Error why);
	Rest refuse(const u8 *ulpdu, u32 len, Message message, Verdict verdict);
	void capture(const u8 *ulpdu, u32 len, Error why);
	core_rx_event end_stream(const u8 *ulpdu, u32 len, Error why);
	core_rx_event deliver_send(const u8 *ulpdu, u32 len);
	core_rx_event deliver_immediate(const u8 *ulpdu, u32 len);
	core_rx_event outcome(const u8 *ulpdu, u32 len, Message message, core_rx_event good,
			      Verdict verdict);
	core_rx_event deliver_read_request(const u8 *ulpdu, u32 len);
	core_rx_event deliver_atomic_request(const u8 *ulpdu, u32 len);
	core_rx_event deliver_atomic_response(const u8 *ulpdu, u32 len);
	core_rx_event deliver_terminate(const u8 *ulpdu, u32 len);
	core_rx_event deliver(const u8 *ulpdu, u32 len, const Opcode &row);

	bool stopped;
	bool refused; // term has the error, to be reported if this ULPDU's CRC is good
	core_terminate term;
};

// RFC 5040 5.4: a Terminate always fits.
static_assert(RdmapReceiver::max_gathered >= CORE_TERM_MAX);

inline u32 RdmapReceiver::header_len(const u8 *ulpdu, u32 have)
{
	return ddp_header_len(!have || DdpControl{ulpdu[0]}.tagged());
}

[[gnu::always_inline]] inline Verdict RdmapReceiver::begin_tagged_message(const Segment &segment,
									  Grant grant)
{
	if (segment.message != Message::write)
		return rules.begin_read_response(segment);
	if (grant == Grant::at_header)
		return rules.begin_write(segment);
	rules.begin_write_unchecked(segment);
	return Verdict::good;
}

// RFC 5040 5.4: a single Terminate, the first and last message of queue 2.
[[gnu::always_inline]] inline Verdict
RdmapReceiver::begin_untagged_message(const Segment &segment, bool first, Rest &rest)
{
	rest = Rest::gathered;
	if (segment.message == Message::send) {
		rest = Rest::placed;
		return rules.begin_send(segment, first);
	}
	if (segment.message == Message::immediate)
		return rules.begin_immediate(segment);
	if (segment.message == Message::read_request)
		return rules.begin_read_request(segment, CORE_READ_REQUEST_LEN);
	if (segment.message == Message::atomic_request)
		return rules.begin_read_request(segment, CORE_ATOMIC_REQUEST_LEN);
	if (segment.message == Message::atomic_response)
		return rules.begin_atomic_response(segment);
	return check_whole(segment, first_msn, sizeof(TerminateHeader), CORE_TERM_MAX);
}

[[gnu::always_inline]] inline Rest RdmapReceiver::begin_tagged(const u8 *ulpdu, u32 len,
							       Grant grant)
{
	const auto header = load<TaggedHeader>(ulpdu);
	const Error wrong = check_header<RdmapDialect>(header);
	Verdict verdict;

	if (wrong.found()) [[unlikely]]
		return refuse(ulpdu, len, wrong);
	const Segment segment = segment_of(header, len - sizeof(header));
	verdict = begin_tagged_message(segment, grant);
	if (verdict != Verdict::good) [[unlikely]]
		return refuse(ulpdu, len, segment.message, verdict);
	return Rest::placed;
}

[[gnu::always_inline]] inline Rest RdmapReceiver::begin_untagged(const u8 *ulpdu, u32 len,
								 bool first)
{
	const auto header = load<UntaggedHeader>(ulpdu);
	const Error wrong = check_header<RdmapDialect>(header);
	Rest rest;
	Verdict verdict;

	if (wrong.found()) [[unlikely]]
		return refuse(ulpdu, len, wrong);
	const Segment segment = segment_of(header, len - sizeof(header));
	verdict = begin_untagged_message(segment, first, rest);
	if (verdict != Verdict::good) [[unlikely]]
		return refuse(ulpdu, len, segment.message, verdict);
	return rest;
}

[[gnu::always_inline]] inline Rest RdmapReceiver::begin(const u8 *ulpdu, u32 len, bool first,
							Grant grant)
{
	return DdpControl{ulpdu[0]}.tagged() ? begin_tagged(ulpdu, len, grant)
					     : begin_untagged(ulpdu, len, first);
}

// ---- Delivery (RFC 5041 5.4) ----

inline core_rx_event RdmapReceiver::deliver_send(const u8 *ulpdu, u32 len)
{
	rules.deliver_send(segment_of(load<UntaggedHeader>(ulpdu), len - sizeof(UntaggedHeader)));
	return CORE_RX_SEND;
}

inline core_rx_event RdmapReceiver::deliver(const u8 *ulpdu, u32 len, const Opcode &row)
{
	if (row.message == Message::send)
		return deliver_send(ulpdu, len);
	if (row.message == Message::write)
		return CORE_RX_WRITE;
	if (row.message == Message::read_response)
		return CORE_RX_READ_RESPONSE;
	if (row.message == Message::immediate)
		return deliver_immediate(ulpdu, len);
	if (row.message == Message::read_request)
		return deliver_read_request(ulpdu, len);
	if (row.message == Message::atomic_request)
		return deliver_atomic_request(ulpdu, len);
	if (row.message == Message::atomic_response)
		return deliver_atomic_response(ulpdu, len);
	return deliver_terminate(ulpdu, len);
}

inline core_rx_event RdmapReceiver::end(const u8 *ulpdu, u32 len)
{
	if (refused) [[unlikely]] {
		stopped = true;
		return CORE_RX_ERROR;
	}
	if (!DdpControl{ulpdu[0]}.last())
		return CORE_RX_MORE;
	return deliver(ulpdu, len, row_of(RdmapControl{ulpdu[1]}.opcode()));
}

} // namespace srnic
