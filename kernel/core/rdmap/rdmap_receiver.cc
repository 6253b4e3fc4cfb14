// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive, headers: the Terminate for an error, with headers of the segment at fault (RFC 5040 4.8,
// figure 10), and the messages that RDMAP consumes itself (RFC 5040 5.2.1 and 5.4).
#include "rdmap/rdmap_receiver.hh"
#include "rdmap/atomic.hh"

namespace srnic {

void RdmapReceiver::start(const core_rx_params &params)
{
	stopped = false;
	refused = false;
	term = {};
	rules.start(params);
}

// ---- Errors ----

[[gnu::cold]] void RdmapReceiver::capture(const u8 *ulpdu, u32 len, Error why)
{
	term = terminate_of(why);
	if (why.included == Included::nothing)
		return;
	term.has_ddp = 1;
	term.ddp_len = static_cast<u16>(len);
	term.ddp_header_len = ddp_header_len(DdpControl{ulpdu[0]}.tagged());
	__builtin_memcpy(term.ddp, ulpdu, term.ddp_header_len);
	if (why.included == Included::ddp)
		return;
	term.has_rdmap = 1;
	__builtin_memcpy(term.read_request, ulpdu + sizeof(UntaggedHeader),
			 sizeof(term.read_request));
}

// Ends the stream. Only the first error is reported (RFC 5040 7.1, 4).
[[gnu::cold]] core_rx_event RdmapReceiver::end_stream(const u8 *ulpdu, u32 len, Error why)
{
	if (!stopped)
		capture(ulpdu, len, why);
	stopped = true;
	return CORE_RX_ERROR;
}

[[gnu::cold]] Rest RdmapReceiver::refuse(const u8 *ulpdu, u32 len, Error why)
{
	capture(ulpdu, len, why);
	refused = true;
	return Rest::skipped;
}

// A local error does not wait for the CRC.
[[gnu::cold]] Rest RdmapReceiver::refuse(const u8 *ulpdu, u32 len, Message message,
					 Verdict verdict)
{
	if (verdict != Verdict::local)
		return refuse(ulpdu, len, error_of(message, verdict));
	end_stream(ulpdu, len, local_catastrophic);
	return Rest::over;
}

// Of an RDMA Write: only its region is checked when payload is placed.
[[gnu::cold]] void RdmapReceiver::deny(const u8 *ulpdu, u32 len, core_region_verdict verdict)
{
	refuse(ulpdu, len, Message::write, verdict_of(verdict));
}

// LLP errors, which include no header.
[[gnu::cold]] core_rx_event RdmapReceiver::fault(FramingFault why)
{
	LlpError code = why == FramingFault::crc ? LlpError::crc : LlpError::framing;

	return end_stream(nullptr, 0, error(code));
}

// Receives and read sinks are this end's memory: if the host cannot use them, that is a local error
// unless the verdict says otherwise.
[[gnu::cold]] core_rx_event RdmapReceiver::fail(const u8 *ulpdu, u32 len,
						core_region_verdict verdict)
{
	Message message = row_of(RdmapControl{ulpdu[1]}.opcode()).message;

	if (verdict == CORE_REGION_OK || message == Message::send)
		return end_stream(ulpdu, len, local_catastrophic);
	return end_stream(ulpdu, len, region_error(message, verdict_of(verdict)));
}

// RFC 5040 5.3 names the code for an STag of another stream; also used for one that may not be
// invalidated.
[[gnu::cold]] core_rx_event RdmapReceiver::fail_invalidate(const u8 *ulpdu, u32 len,
							   core_region_verdict verdict)
{
	if (verdict == CORE_REGION_OK)
		return end_stream(ulpdu, len, local_catastrophic);
	if (verdict == CORE_REGION_INVALID)
		return end_stream(ulpdu, len, error(ProtectionError::invalid_stag, false));
	return end_stream(ulpdu, len, error(ProtectionError::cannot_invalidate, false));
}

// ---- Messages that RDMAP consumes ----

// The event of a message that is delivered, or the Terminate for it.
core_rx_event RdmapReceiver::outcome(const u8 *ulpdu, u32 len, Message message, core_rx_event good,
				     Verdict verdict)
{
	if (verdict != Verdict::good) [[unlikely]]
		return end_stream(ulpdu, len, error_of(message, verdict));
	return good;
}

core_rx_event RdmapReceiver::deliver_immediate(const u8 *ulpdu, u32 len)
{
	rules.deliver_immediate(
		segment_of(load<UntaggedHeader>(ulpdu), len - sizeof(UntaggedHeader)),
		ulpdu + sizeof(UntaggedHeader));
	return CORE_RX_SEND;
}

core_rx_event RdmapReceiver::deliver_read_request(const u8 *ulpdu, u32 len)
{
	return outcome(ulpdu, len, Message::read_request, CORE_RX_READ_REQUEST,
		       rules.deliver_read_request(own_part<ReadRequestHeader>(ulpdu)));
}

core_rx_event RdmapReceiver::deliver_atomic_request(const u8 *ulpdu, u32 len)
{
	return outcome(ulpdu, len, Message::atomic_request, CORE_RX_ATOMIC_REQUEST,
		       rules.deliver_atomic_request(own_part<AtomicRequestHeader>(ulpdu)));
}

core_rx_event RdmapReceiver::deliver_atomic_response(const u8 *ulpdu, u32 len)
{
	return outcome(ulpdu, len, Message::atomic_response, CORE_RX_ATOMIC_RESPONSE,
		       rules.deliver_atomic_response(own_part<AtomicResponseHeader>(ulpdu)));
}

core_rx_event RdmapReceiver::deliver_terminate(const u8 *ulpdu, u32 len)
{
	if (!core_terminate_parse(ulpdu + sizeof(UntaggedHeader), len - u32{sizeof(UntaggedHeader)},
				  &term))
		return end_stream(ulpdu, len, error(OperationError::unspecified));
	stopped = true;
	return CORE_RX_TERMINATE;
}

} // namespace srnic
