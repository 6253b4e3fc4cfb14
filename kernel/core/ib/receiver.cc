// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive, headers, of streams with acknowledgements: which requests are delivered, which refused,
// which dropped (Documentation/ib.rst, "Requests", "Receiver not ready", "Refusals").
#include "ib/receiver.hh"
#include "ib/extended.hh"
#include "rdma/srnic-abi.h"
#include "rdmap/atomic.hh"

namespace srnic::ib {
namespace {

constexpr bool is_request(Message message)
{
	return message == Message::write || message == Message::send ||
	       message == Message::immediate || message == Message::read_request ||
	       message == Message::atomic_request || message == Message::extended;
}

constexpr bool is_response(Message message)
{
	return message == Message::read_response || message == Message::atomic_response;
}

u8 control_of(const u8 *ulpdu) { return ulpdu[1]; }

template <class Dialect> Error header_error_in(const u8 *ulpdu)
{
	if (DdpControl{ulpdu[0]}.tagged())
		return check_header<Dialect>(load<TaggedHeader>(ulpdu));
	return check_header<Dialect>(load<UntaggedHeader>(ulpdu));
}

Error header_error(const u8 *ulpdu, bool extended)
{
	return extended ? header_error_in<ExtendedDialect>(ulpdu)
			: header_error_in<IbDialect>(ulpdu);
}

Segment segment_in(const u8 *ulpdu, u32 len)
{
	if (DdpControl{ulpdu[0]}.tagged())
		return segment_of(load<TaggedHeader>(ulpdu), len - u32{sizeof(TaggedHeader)});
	return segment_of(load<UntaggedHeader>(ulpdu), len - u32{sizeof(UntaggedHeader)});
}

} // namespace

void Receiver::start(const core_rx_params &params)
{
	RdmapReceiver::start(params);
	acks = params.acks;
	effect = {};
	dropping = too_long = more = inside_write = counts = asks = false;
	turned_down = CORE_SYNDROME_NONE;
	extended = params.extended;
	extended_msn = params.first_msn;
}

// ---- what may come ----

// The request that was refused comes again from its start.
bool Receiver::comes_again(const Segment &segment) const
{
	return (segment.message == Message::send || segment.message == Message::immediate) &&
	       segment.msn == rules.next_send() && segment.mo == 0;
}

bool Receiver::dropped(const Segment &segment) const
{
	return acks->refusing != CORE_SYNDROME_NONE && is_request(segment.message) &&
	       !comes_again(segment);
}

// Requests do not interleave: a message is whole before the next begins, and Immediate Data follow
// their Write at once.
Verdict Receiver::check_order(const Segment &segment, u8 control) const
{
	if (inside_write && (segment.message != Message::write || !rules.continues_write(segment) ||
			     more != ((control & control_more) != 0)))
		return Verdict::wrong_type;
	if (!inside_write && more != (segment.message == Message::immediate))
		return Verdict::wrong_type;
	if (rules.inside_send() && segment.message != Message::send)
		return Verdict::wrong_type;
	return Verdict::good;
}

Verdict Receiver::check_rights(u32 needed) const
{
	const u32 access = __atomic_load_n(&acks->access, __ATOMIC_RELAXED);

	return (access & needed) == needed ? Verdict::good : Verdict::not_allowed;
}

Verdict Receiver::check_rights_of(Message message) const
{
	if (message == Message::write)
		return check_rights(CORE_ACCESS_REMOTE_WRITE);
	if (message == Message::read_request)
		return check_rights(CORE_ACCESS_REMOTE_READ);
	if (message == Message::atomic_request)
		return check_rights(CORE_ACCESS_REMOTE_ATOMIC);
	return Verdict::good; // an Extended Request: once its contents are known
}

Verdict Receiver::check_request(const Segment &segment, u8 control)
{
	Verdict verdict;

	if (acks->refusing != CORE_SYNDROME_NONE && !refused_again(*acks))
		return Verdict::wrong_ack;
	verdict = check_order(segment, control);
	return verdict == Verdict::good ? check_rights_of(segment.message) : verdict;
}

// Nothing is placed for a Read that is not sent wholly, or that the engine is about to forget: it
// cannot do so while this segment arrives, because no Ack comes in between.
Verdict Receiver::check_response() const
{
	core_read_sink sink{};

	return rules.oldest_read(sink) && may_be_answered(*acks, sink.number) ? Verdict::good
									      : Verdict::wrong_ack;
}

Verdict Receiver::begin_message(const Segment &segment, u8 control, Grant grant, Rest &rest)
{
	Verdict verdict = Verdict::good;

	rest = Rest::gathered;
	if (segment.message == Message::ack)
		return check_whole(segment, acks->ack_in_msn, CORE_ACK_LEN, CORE_ACK_LEN);
	if (is_request(segment.message))
		verdict = check_request(segment, control);
	else if (is_response(segment.message))
		verdict = check_response();
	if (verdict != Verdict::good)
		return verdict;
	if (segment.message == Message::extended)
		return check_whole(segment, extended_msn, CORE_EXTENDED_LEN, CORE_EXTENDED_LEN);
	if (!is_tagged(segment.type))
		return begin_untagged_message(segment, false, rest);
	rest = Rest::placed;
	return begin_tagged_message(segment, grant);
}

// ---- refusing ----

// What breaks the protocol ends the stream; what InfiniBand has a syndrome for refuses the request.
// Neither happens before the CRC has shown that the peer sent this header.
[[gnu::cold]] Rest Receiver::turn_down(const u8 *ulpdu, u32 len, const Segment &segment,
				       Verdict verdict)
{
	const bool request = is_request(segment.message);

	turned_down = request ? syndrome_of(segment.message, verdict) : CORE_SYNDROME_NONE;
	if (turned_down == CORE_SYNDROME_NONE)
		return refuse(ulpdu, len, segment.message, verdict);
	too_long = verdict == Verdict::too_long;
	return Rest::skipped;
}

[[gnu::cold]] void Receiver::deny(const u8 *ulpdu, u32 len, core_region_verdict verdict)
{
	turn_down(ulpdu, len, segment_in(ulpdu, len), verdict_of(verdict));
}

// Nothing is taken any more after a refusal for good: the QP goes to the error state once the peer
// has been told.
[[gnu::cold]] core_rx_event Receiver::refuse_now(core_syndrome syndrome)
{
	turned_down = CORE_SYNDROME_NONE;
	counts = false;
	stopped |= syndrome != CORE_SYNDROME_NOT_READY;
	ib::refuse(*acks, syndrome);
	return CORE_RX_REFUSED;
}

u8 Receiver::receive_status() const
{
	if (acks->refusing != CORE_SYNDROME_NONE && too_long)
		return SRNIC_WC_LOC_LEN_ERR;
	return core_terminate_receive_status(&terminate());
}

// The host could not place: an RDMA Write's region was revoked, or this end's own memory.
[[gnu::cold]] core_rx_event Receiver::fail(const u8 *ulpdu, u32 len, core_region_verdict verdict)
{
	const Message message = row_of(RdmapControl{ulpdu[1]}.opcode()).message;

	(void)len;
	if (message == Message::write && verdict != CORE_REGION_OK)
		return refuse_now(CORE_SYNDROME_ACCESS);
	if (is_request(message))
		return refuse_now(CORE_SYNDROME_OPERATION);
	stopped = true;
	return CORE_RX_FAILED;
}

[[gnu::cold]] core_rx_event Receiver::fail_invalidate(const u8 *ulpdu, u32 len,
						      core_region_verdict verdict)
{
	(void)ulpdu;
	(void)len;
	return refuse_now(verdict == CORE_REGION_OK ? CORE_SYNDROME_OPERATION
						    : CORE_SYNDROME_INVALID);
}

// ---- segments ----

Rest Receiver::begin(const u8 *ulpdu, u32 len, bool, Grant grant)
{
	const Error wrong = header_error(ulpdu, extended);
	Rest rest = Rest::skipped;
	Verdict verdict;

	if (wrong.found()) [[unlikely]]
		return refuse(ulpdu, len, wrong);
	const Segment segment = segment_in(ulpdu, len);

	dropping = dropped(segment);
	if (dropping) [[unlikely]]
		return Rest::skipped;
	verdict = begin_message(segment, control_of(ulpdu), grant, rest);
	if (verdict != Verdict::good) [[unlikely]]
		return turn_down(ulpdu, len, segment, verdict);
	if (segment.message == Message::write) {
		more = (control_of(ulpdu) & control_more) != 0;
		inside_write = !segment.last;
	}
	return rest;
}

core_rx_event Receiver::end(const u8 *ulpdu, u32 len)
{
	if (refused) [[unlikely]] {
		stopped = true;
		return CORE_RX_ERROR;
	}
	if (turned_down != CORE_SYNDROME_NONE) [[unlikely]]
		return refuse_now(turned_down);
	if (dropping || !DdpControl{ulpdu[0]}.last())
		return CORE_RX_MORE;
	return deliver(ulpdu, len, row_of(RdmapControl{ulpdu[1]}.opcode()));
}

// ---- delivery ----

core_rx_event Receiver::deliver_ack(const u8 *ulpdu, u32 len)
{
	const core_ack ack = decode(load<AckBody>(ulpdu + sizeof(UntaggedHeader)));
	core_read_sink sink;
	Verdict verdict = Verdict::wrong_ack;

	if (may_be_delivered(*acks, ack.delivered)) // whole before the oldest read
		verdict = take_ack(*acks, ack, rules.oldest_read(sink) ? &sink : nullptr, effect);

	acks->ack_in_msn++;
	if (control_of(ulpdu) & control_ask)
		publish(acks->probes, acks->probes + 1);
	return outcome(ulpdu, len, Message::ack, CORE_RX_ACK, verdict);
}

// The response is to the oldest outstanding read, which the host still has.
core_rx_event Receiver::deliver_response(const u8 *ulpdu, u32 len, core_rx_event event)
{
	core_read_sink sink{};

	rules.oldest_read(sink);
	return outcome(ulpdu, len, Message::ack, event, take_response(*acks, sink.number, effect));
}

core_rx_event Receiver::deliver_send_with_immediate(const u8 *ulpdu, u32 len)
{
	const Segment segment = segment_in(ulpdu, len);
	u8 immediate[CORE_IMMEDIATE_LEN] = {};

	store(immediate, be<u32>::from_host(segment.inv_stag));
	rules.deliver_send(segment, immediate);
	return CORE_RX_SEND;
}

// A request is delivered, or refused now that its contents are known.
core_rx_event Receiver::outcome_of(const u8 *ulpdu, u32 len, Message message, core_rx_event good,
				   Verdict verdict)
{
	const core_syndrome syndrome = syndrome_of(message, verdict);

	if (verdict != Verdict::good && syndrome != CORE_SYNDROME_NONE) [[unlikely]]
		return refuse_now(syndrome);
	return outcome(ulpdu, len, message, good, verdict);
}

core_rx_event Receiver::deliver_read_request(const u8 *ulpdu, u32 len)
{
	rules.number_next(acks->received + 1);
	return outcome_of(ulpdu, len, Message::read_request, CORE_RX_READ_REQUEST,
			  rules.deliver_read_request(own_part<ReadRequestHeader>(ulpdu)));
}

core_rx_event Receiver::deliver_atomic_request(const u8 *ulpdu, u32 len)
{
	rules.number_next(acks->received + 1);
	return outcome_of(ulpdu, len, Message::atomic_request, CORE_RX_ATOMIC_REQUEST,
			  rules.deliver_atomic_request(own_part<AtomicRequestHeader>(ulpdu)));
}

Verdict Receiver::execute(const core_extended &request)
{
	const bool valid = is_valid(request);
	Verdict verdict = valid ? check_rights(rights_for(request)) : Verdict::unsupported;

	if (verdict != Verdict::good)
		return verdict;
	return request.code == CORE_EXTENDED_FLUSH ? rules.deliver_flush(request)
						   : rules.deliver_atomic_write(request);
}

core_rx_event Receiver::deliver_extended(const u8 *ulpdu, u32 len)
{
	extended_msn++;
	return outcome_of(ulpdu, len, Message::extended, CORE_RX_EXTENDED,
			  execute(own_part<ExtendedHeader>(ulpdu)));
}

core_rx_event Receiver::deliver(const u8 *ulpdu, u32 len, const Opcode &row)
{
	core_rx_event event;

	counts = is_request(row.message) && !(row.message == Message::write && more);
	asks = (control_of(ulpdu) & control_ask) != 0;
	switch (row.message) {
	case Message::ack:
		return deliver_ack(ulpdu, len);
	case Message::read_response:
		return deliver_response(ulpdu, len, CORE_RX_READ_RESPONSE);
	case Message::atomic_response:
		event = deliver_atomic_response(ulpdu, len);
		return event == CORE_RX_ATOMIC_RESPONSE ? deliver_response(ulpdu, len, event)
							: event;
	case Message::send:
		if (row.word && !row.invalidate)
			return deliver_send_with_immediate(ulpdu, len);
		return deliver_send(ulpdu, len);
	case Message::immediate:
		more = false;
		return deliver_immediate(ulpdu, len);
	case Message::read_request:
		return deliver_read_request(ulpdu, len);
	case Message::atomic_request:
		return deliver_atomic_request(ulpdu, len);
	case Message::extended:
		return deliver_extended(ulpdu, len);
	default:
		return RdmapReceiver::deliver(ulpdu, len, row);
	}
}

void Receiver::done()
{
	if (counts)
		count(*acks, asks);
	counts = false;
}

} // namespace srnic::ib
