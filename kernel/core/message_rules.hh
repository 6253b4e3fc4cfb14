// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive: decisions about segments. Which buffer a segment's payload belongs to and whether it may
// be placed (RFC 5041 5.1 and 7.1, RFC 5040 5 and 7.2), in which order messages must arrive and are
// delivered (RFC 5041 5.3 and 5.4, RFC 5040 5.5).
//
// Independent of headers and of errors on the wire: a wire format makes a Segment of each header,
// and its own errors of the verdicts. It calls begin_*() before it takes any payload, and
// deliver*() when the last segment of a message is whole and its CRC was good.
//
// One caller at a time. Memory is the host's and is not touched here.
#pragma once

#include "region.hh"
#include "segment.hh"

namespace srnic {

enum class Verdict : u8 {
	good = CORE_REGION_OK,
	// The tagged buffer: from check_region().
	stag_invalid = CORE_REGION_INVALID,
	out_of_bounds = CORE_REGION_BOUNDS,
	no_access = CORE_REGION_ACCESS,
	foreign = CORE_REGION_FOREIGN,
	wraps = CORE_REGION_WRAP,
	misaligned = CORE_REGION_ALIGNMENT,
	// The message and its buffer.
	wrong_msn,    // not the next MSN
	wrong_offset, // not the next MO
	wrong_type,   // not that of the message's first segment
	wrong_end,    // a Read Response ends before its read does, or does not end with it
	not_whole,    // a message of one segment is cut short, or spread over several
	no_read,      // a Read Response without payload, and no read is outstanding
	no_buffer,    // no receive is posted, or more reads than the IRD allows
	too_long,     // for its buffer
	unsupported,  // an atomic operation code
	not_allowed,  // the QP's access flags (ib.rst)
	wrong_ack,    // an Ack or response of what was not sent (ib.rst)
	local,	      // not the peer's fault
};

constexpr Verdict verdict_of(core_region_verdict verdict) { return Verdict{u8(verdict)}; }

// A message that the wire format or RDMAP consumes itself: one segment of at most max_len octets.
constexpr Verdict check_whole(const Segment &segment, u32 msn, u32 min_len, u32 max_len)
{
	if (segment.msn != msn)
		return Verdict::wrong_msn;
	if (segment.mo != 0)
		return Verdict::wrong_offset;
	if (segment.length > max_len)
		return Verdict::too_long;
	if (segment.length < min_len || !segment.last)
		return Verdict::not_whole;
	return Verdict::good;
}

// Responses arrive in the order of their requests (RFC 5040 5.2.2), and each in order (5.5), so the
// payload must continue the oldest outstanding read exactly.
constexpr Verdict check_sink(const core_read_sink &sink, const Segment &segment)
{
	u64 end = 0;

	if (segment.stag != sink.stag)
		return Verdict::stag_invalid;
	if (__builtin_add_overflow(segment.to, u64{segment.length}, &end))
		return Verdict::wraps;
	if (segment.to != sink.to + sink.placed || segment.length > sink.length - sink.placed)
		return Verdict::out_of_bounds;
	return Verdict::good;
}

class MessageRules {
public:
	void start(const core_rx_params &params);
	void *host() const { return ctx; }

	// May this segment's payload be placed? place() says where.
	Verdict begin_write(const Segment &segment);
	// Without the region's check: the host does that when it places the payload.
	void begin_write_unchecked(const Segment &segment);
	// may_end_later: a segment without payload may follow the last octet.
	Verdict begin_read_response(const Segment &segment, bool may_end_later = false);
	// first: the first segment of this stream.
	Verdict begin_send(const Segment &segment, bool first);
	// The request itself comes later: len octets after the header.
	Verdict begin_read_request(const Segment &segment, u32 len);

	const core_place &place() const { return where; }
	void placed(u32 n) { where.to += n; }
	// The MSNs that are next.
	u32 next_send() const { return send_msn; }
	u32 next_read() const { return read_msn; }
	// Is a Send unfinished?
	bool inside_send() const { return receive_active; }
	// Does this segment begin where the last one of an RDMA Write has ended?
	bool continues_write(const Segment &segment) const
	{
		return segment.stag == write_stag && segment.to == write_end;
	}
	// The oldest outstanding read of this end; false if there is none.
	bool oldest_read(core_read_sink &out) const { return core_host_read_sink(ctx, &out); }
	// The number of the request that is delivered next.
	void number_next(u32 number) { request.number = number; }

	// RFC 7306 6: Immediate Data consumes a receive as a Send does, but none of its memory.
	Verdict begin_immediate(const Segment &segment);

	// immediate: 8 octets that came with it, or nullptr.
	void deliver_send(const Segment &last, const u8 *immediate = nullptr);
	void deliver_immediate(const Segment &segment, const u8 *data);
	Verdict deliver_read_request(const core_read_request &wanted);

	// RFC 7306 5.2: Atomic Requests come among Read Requests, their responses on a queue of
	// their own.
	Verdict deliver_atomic_request(const core_atomic_request &wanted);
	Verdict begin_atomic_response(const Segment &segment);
	Verdict deliver_atomic_response(const core_atomic_response &response);
	// ib.rst, "Flush and Atomic Write". The request is valid.
	Verdict deliver_flush(const core_extended &wanted) const;
	Verdict deliver_atomic_write(const core_extended &wanted) const;
	const core_rx_message &message() const { return delivered; }
	const core_asked &asked() const { return request; }
	u64 original() const { return atomic_original; }

private:
	bool is_rtr(const Segment &segment, bool first) const;
	Verdict take_receive(const Segment &segment);
	Verdict check_source(const core_read_request &wanted) const;
	void note_write(const Segment &segment);

	void *ctx;
	core_requester self;
	u8 rtr;
	bool receive_active;
	u8 receive_type;
	u32 receive_len;  // bytes of the receive in progress used by segments so far
	u32 receive_room; // its capacity
	u32 send_msn, read_msn, atomic_msn;
	bool swaps;
	u32 written;	 // octets of the last RDMA Write, and nothing on queue 0 since;
	bool write_over; //	its last segment has come
	u32 write_stag;	 //	its next segment continues here
	u64 write_end;
	core_place where;
	core_rx_message delivered;
	core_asked request;
	u64 atomic_original;
};

// ---- Tagged buffers (RFC 5041 5.1.1) ----

// RFC 5041 4.2: each segment of a message continues the one before. Octets are counted anew from a
// segment that does not, so that a peer's Immediate Data cannot report more than the region has.
inline void MessageRules::note_write(const Segment &segment)
{
	if (write_over || segment.stag != write_stag || segment.to != write_end)
		written = 0;
	written += segment.length;
	write_over = segment.last;
	write_stag = segment.stag;
	write_end = segment.to + segment.length;
}

inline void MessageRules::begin_write_unchecked(const Segment &segment)
{
	where = {CORE_PLACE_REGION, segment.stag, segment.to};
	note_write(segment);
}

// RFC 5040 5.1. Each segment is checked by itself: its place does not depend on the message that it
// continues. RFC 5041 5.2: no check without payload.
inline Verdict MessageRules::begin_write(const Segment &segment)
{
	core_region region;

	begin_write_unchecked(segment);
	if (!segment.length)
		return Verdict::good;
	if (!core_host_region(ctx, segment.stag, &region)) [[unlikely]]
		return Verdict::stag_invalid;
	return verdict_of(check_region(region, self, CORE_ACCESS_REMOTE_WRITE, segment.to,
				       segment.length));
}

// RFC 5040 5.2.2.
inline Verdict MessageRules::begin_read_response(const Segment &segment, bool may_end_later)
{
	Verdict verdict = Verdict::good;
	core_read_sink sink;
	bool whole;

	if (!core_host_read_sink(ctx, &sink) || sink.atomic) [[unlikely]]
		return segment.length ? Verdict::stag_invalid : Verdict::no_read;
	if (segment.length)
		verdict = check_sink(sink, segment);
	if (verdict != Verdict::good) [[unlikely]]
		return verdict;
	whole = sink.placed + segment.length == sink.length;
	if (segment.last != whole && (segment.last || !may_end_later)) [[unlikely]]
		return Verdict::wrong_end;
	where = {CORE_PLACE_READ, sink.stag, sink.placed};
	return Verdict::good;
}

// ---- Untagged buffers (RFC 5041 5.1.2) ----

// RFC 6581 9.2: a zero-length Send before everything else says that the initiator is ready. It
// consumes no receive (4.4.2).
inline bool MessageRules::is_rtr(const Segment &segment, bool first) const
{
	return first && rtr & CORE_RTR_SEND && segment.last && !segment.length &&
	       !segment.solicited && !segment.invalidate;
}

inline Verdict MessageRules::take_receive(const Segment &segment)
{
	core_take taken = core_host_receive(ctx, &receive_room);

	if (taken != CORE_TAKE_OK) [[unlikely]]
		return taken == CORE_TAKE_EMPTY ? Verdict::no_buffer : Verdict::local;
	receive_active = true;
	receive_type = segment.type;
	return Verdict::good;
}

// RFC 5040 5.3. TCP keeps order, so only the MSN of the oldest receive and the next MO are legal.
inline Verdict MessageRules::begin_send(const Segment &segment, bool first)
{
	Verdict verdict = Verdict::good;

	if (segment.msn != send_msn) [[unlikely]]
		return Verdict::wrong_msn;
	if (segment.mo != receive_len) [[unlikely]]
		return Verdict::wrong_offset;
	if (receive_active) {
		if (segment.type != receive_type) [[unlikely]]
			return Verdict::wrong_type;
	} else if (!is_rtr(segment, first)) {
		verdict = take_receive(segment);
	}
	if (verdict != Verdict::good) [[unlikely]]
		return verdict;
	if (segment.length && segment.length > receive_room - receive_len) [[unlikely]]
		return Verdict::too_long;
	where = {CORE_PLACE_RECEIVE, 0, receive_len};
	receive_len += segment.length;
	return Verdict::good;
}

// The queue of Read Requests has as many buffers as the IRD.
inline Verdict MessageRules::begin_read_request(const Segment &segment, u32 len)
{
	Verdict verdict = check_whole(segment, read_msn, len, len);

	if (verdict != Verdict::good)
		return verdict;
	return core_host_read_room(ctx) ? Verdict::good : Verdict::no_buffer;
}

// ---- Delivery (RFC 5041 5.4) ----

inline void MessageRules::deliver_send(const Segment &last, const u8 *immediate)
{
	delivered = {last.solicited,	   last.invalidate, !receive_active, false,
		     immediate != nullptr, receive_len,	    last.inv_stag,   {}};
	if (immediate) [[unlikely]]
		__builtin_memcpy(delivered.immediate, immediate, sizeof(delivered.immediate));
	send_msn++;
	receive_active = false;
	receive_len = 0;
	written = 0;
}

} // namespace srnic
