// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA/TCP on receive: the fields of a segment (draft-williams-rdmatcp-00 3.4 and 4), in the order
// in which they are checked.
#include "rdmatcp/segment_receiver.hh"

#include "rdma/srnic-abi.h"
#include "rdmatcp/faults.hh"

namespace srnic::rdmatcp {

namespace {

// The flags that control data may have, by type of segment. Those about the whole message come at
// its end.
constexpr u16 allowed(Type type, bool last)
{
	switch (type) {
	case Type::send:
		return last ? invalidate | immediate | solicited : 0;
	case Type::write:
		return last ? upper_offset | immediate | solicited : upper_offset;
	case Type::read_request:
		return upper_offset;
	default:
		return 0;
	}
}

} // namespace

void SegmentReceiver::start(const core_rx_params &params)
{
	*this = {};
	rules.start(params);
	connection_id = params.connection_id;
	number = params.first_msn;
	check = params.crc;
	want(Part::header, sizeof(StreamHeader));
}

// ---- Steps ----

core_rx_event SegmentReceiver::want(Part next_part, u32 up_to)
{
	part = next_part;
	need = static_cast<u16>(up_to);
	return CORE_RX_MORE;
}

core_rx_event SegmentReceiver::want_trailer()
{
	have = 0;
	return want(Part::trailer, trailer_len(common().length.host()));
}

core_rx_event SegmentReceiver::want_payload()
{
	left = payload();
	return left ? want(Part::payload, 0) : want_trailer();
}

core_rx_event SegmentReceiver::took(u32 n)
{
	if (part == Part::ignored) [[unlikely]]
		return took_ignored(n);
	have = static_cast<u16>(have + n);
	if (have < need)
		return CORE_RX_MORE;
	return part == Part::header ? on_header() : on_trailer();
}

core_rx_event SegmentReceiver::took_ignored(u32 n)
{
	sum(rest, n);
	left -= n;
	return left ? CORE_RX_MORE : want_payload();
}

core_rx_event SegmentReceiver::placed(const u8 *data, u32 n)
{
	sum(data, n);
	rules.placed(n);
	left -= n;
	return left ? CORE_RX_MORE : want_trailer();
}

bool SegmentReceiver::between() const
{
	return stopped || (part == Part::header && !have && !open.active && !answering);
}

// ---- Errors ----

[[gnu::cold]] core_rx_event SegmentReceiver::refuse(core_rdmatcp_fault why)
{
	if (!stopped)
		found = why;
	stopped = true;
	return CORE_RX_ERROR;
}

[[gnu::cold]] core_rx_event SegmentReceiver::fail(core_region_verdict verdict)
{
	if (verdict == CORE_REGION_OK)
		return refuse(CORE_RDMATCP_LOCAL);
	return refuse(fault_of(verdict_of(verdict)));
}

const core_terminate &SegmentReceiver::terminate() const { return terminates.of[found]; }

u8 SegmentReceiver::receive_status() const
{
	return found == CORE_RDMATCP_TOO_LONG ? SRNIC_WC_LOC_LEN_ERR : SRNIC_WC_FLUSH_ERR;
}

// ---- Fields ----

u32 SegmentReceiver::payload() const
{
	return common().length.host() - header_len(type()) - control_octets();
}

u64 SegmentReceiver::buffer_offset() const
{
	return u64{control.upper} << 32 | header().buffer_offset.host();
}

Segment SegmentReceiver::segment(Message message) const
{
	return {.message = message,
		.type = static_cast<u8>(type()),
		.last = last(),
		.solicited = (control.flags & solicited) != 0,
		.invalidate = (control.flags & invalidate) != 0,
		.length = payload(),
		.inv_stag = control.invalid_id};
}

// Checks that need only the common part of the header. After them the other lengths are valid.
core_rdmatcp_fault SegmentReceiver::check_common() const
{
	if (common().version != version)
		return CORE_RDMATCP_VERSION;
	if (common().connection_id.host() != connection_id)
		return CORE_RDMATCP_CONNECTION_ID;
	if (common().length.host() < header_len(type()) + control_octets())
		return CORE_RDMATCP_LENGTH;
	return CORE_RDMATCP_FINE;
}

// 4: all segments of one message come before the first one of the next.
core_rdmatcp_fault SegmentReceiver::check_place_in_message() const
{
	if (common().number.host() != number)
		return CORE_RDMATCP_NUMBER;
	if (common().bits.begin() == open.active || (open.active && type() != open.type))
		return CORE_RDMATCP_BITS;
	return CORE_RDMATCP_FINE;
}

core_rdmatcp_fault SegmentReceiver::begin_send()
{
	Segment part_of_send = segment(Message::send);

	part_of_send.msn = rules.next_send();
	part_of_send.mo = data_offset();
	return fault_of(rules.begin_send(part_of_send, false));
}

// 3.4: the same buffer and RDMA Length in all segments, and one after the other.
core_rdmatcp_fault SegmentReceiver::check_write() const
{
	if (header().buffer_id.host() != open.id)
		return CORE_RDMATCP_BUFFER_ID;
	if (buffer_offset() != open.to)
		return CORE_RDMATCP_OFFSET;
	if (header().rdma_length.host() != open.length || payload() > open.length - open.done ||
	    (last() && payload() != open.length - open.done))
		return CORE_RDMATCP_LENGTH;
	return CORE_RDMATCP_FINE;
}

core_rdmatcp_fault SegmentReceiver::begin_write()
{
	Segment part_of_write = segment(Message::write), data = segment(Message::immediate);
	core_rdmatcp_fault why;
	Verdict verdict;

	if (common().bits.begin()) {
		open.id = header().buffer_id.host();
		open.to = buffer_offset();
		open.length = header().rdma_length.host();
		open.done = 0;
	}
	why = check_write();
	if (why != CORE_RDMATCP_FINE)
		return why;
	part_of_write.stag = open.id;
	part_of_write.to = open.to;
	open.to += payload();
	open.done += payload();
	verdict = rules.begin_write(part_of_write);
	if (verdict != Verdict::good || !(control.flags & immediate))
		return fault_of(verdict);
	data.msn = rules.next_send();
	data.length = immediate_len;
	return fault_of(rules.begin_immediate(data));
}

// 3.3: one segment without payload.
core_rdmatcp_fault SegmentReceiver::begin_read_request()
{
	Segment request = segment(Message::read_request);

	if (!last())
		return CORE_RDMATCP_BITS;
	if (payload())
		return CORE_RDMATCP_LENGTH;
	request.msn = rules.next_read();
	return fault_of(rules.begin_read_request(request, 0));
}

core_rdmatcp_fault SegmentReceiver::begin_message()
{
	core_rdmatcp_fault why = check_place_in_message();

	if (why != CORE_RDMATCP_FINE)
		return why;
	open.active = true;
	open.type = type();
	if (type() == Type::send)
		return begin_send();
	return type() == Type::write ? begin_write() : begin_read_request();
}

// The number is that of the oldest request that is not answered.
core_rdmatcp_fault SegmentReceiver::begin_read_response()
{
	Segment response = segment(Message::read_response);
	core_read_sink sink;

	if (common().bits.begin() == answering)
		return CORE_RDMATCP_BITS;
	if (!core_host_read_sink(rules.host(), &sink) || common().number.host() != sink.stag)
		return CORE_RDMATCP_NUMBER;
	if (data_offset() != answered)
		return CORE_RDMATCP_OFFSET;
	answering = !last();
	answered = last() ? 0 : answered + payload();
	response.stag = sink.stag;
	response.to = sink.to + data_offset();
	return fault_of(rules.begin_read_response(response, true));
}

core_rdmatcp_fault SegmentReceiver::begin()
{
	if (!decode(head + header_len(type()), min(control_octets(), max_control), control) ||
	    control.flags & must_be_known & ~allowed(type(), last()) ||
	    (control.flags & invalidate && control.flags & immediate))
		return CORE_RDMATCP_CONTROL;
	return type() == Type::read_response ? begin_read_response() : begin_message();
}

core_rx_event SegmentReceiver::on_header()
{
	core_rdmatcp_fault why = check_common();
	u32 used = header_len(type()) + min(control_octets(), max_control);

	if (why == CORE_RDMATCP_FINE && have < used)
		return want(Part::header, used);
	if (why == CORE_RDMATCP_FINE)
		why = begin();
	if (why != CORE_RDMATCP_FINE) [[unlikely]]
		return refuse(why);
	crc = crc_seed;
	sum(head, used);
	left = header_len(type()) + control_octets() - used;
	return left ? want(Part::ignored, 0) : want_payload();
}

// ---- Delivery ----

core_rx_event SegmentReceiver::deliver_send()
{
	rules.deliver_send(segment(Message::send), control.immediate);
	return CORE_RX_SEND;
}

core_rx_event SegmentReceiver::deliver_write()
{
	if (!(control.flags & immediate))
		return CORE_RX_WRITE;
	rules.deliver_immediate(segment(Message::immediate), control.immediate);
	return CORE_RX_SEND;
}

// The response names the request's number, which stands for its sink.
core_rx_event SegmentReceiver::deliver_read_request()
{
	Verdict verdict =
		rules.deliver_read_request({common().number.host(), header().rdma_length.host(),
					    header().buffer_id.host(), 0, buffer_offset()});

	return verdict == Verdict::good ? CORE_RX_READ_REQUEST : refuse(fault_of(verdict));
}

core_rx_event SegmentReceiver::deliver()
{
	if (type() == Type::read_response)
		return CORE_RX_READ_RESPONSE;
	open.active = false;
	number++;
	if (type() == Type::send)
		return deliver_send();
	return type() == Type::write ? deliver_write() : deliver_read_request();
}

core_rx_event SegmentReceiver::on_trailer()
{
	u32 pad = need - crc_field_len;

	sum(rest, pad);
	if (check && !is_crc(crc, rest + pad)) [[unlikely]]
		return refuse(CORE_RDMATCP_CRC);
	whole++;
	have = 0;
	want(Part::header, sizeof(StreamHeader));
	return last() ? deliver() : CORE_RX_MORE;
}

} // namespace srnic::rdmatcp
