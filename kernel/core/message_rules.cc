// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive: the start of a stream, the peer's RDMA Reads (RFC 5040 5.2.1), and Immediate Data
// (RFC 7306 6).
#include "message_rules.hh"
#include "ib/extended.hh"

namespace srnic {

void MessageRules::start(const core_rx_params &params)
{
	*this = {};
	ctx = params.ctx;
	self = {params.pd, params.qpn};
	rtr = params.rtr;
	swaps = params.swaps;
	send_msn = read_msn = atomic_msn = params.first_msn;
}

// RFC 5040 7.2, 4. With zero length the source must not be checked (5.2.1).
Verdict MessageRules::check_source(const core_read_request &wanted) const
{
	core_region region;

	if (!wanted.length)
		return Verdict::good;
	if (!core_host_region(ctx, wanted.source_stag, &region))
		return Verdict::stag_invalid;
	return verdict_of(check_region(region, self, CORE_ACCESS_REMOTE_READ, wanted.source_to,
				       wanted.length));
}

Verdict MessageRules::deliver_read_request(const core_read_request &wanted)
{
	Verdict verdict = check_source(wanted);

	if (verdict != Verdict::good)
		return verdict;
	request.kind = CORE_ASKED_READ;
	request.read = wanted;
	read_msn++;
	return Verdict::good;
}

// ---- Atomic operations ----

// RFC 7306 5.4 rules 3, 5 and 8: in the order of delivery, each when it is delivered and never
// again; only its response waits for its turn.
Verdict MessageRules::deliver_atomic_request(const core_atomic_request &wanted)
{
	const u8 code = wanted.op.code;
	u64 original = 0;
	Verdict verdict;

	if (code != CORE_ATOMIC_FETCH_ADD && code != CORE_ATOMIC_CMP_SWAP &&
	    !(code == CORE_ATOMIC_SWAP && swaps))
		return Verdict::unsupported;
	verdict = verdict_of(core_host_atomic(ctx, &wanted, &original));
	if (verdict != Verdict::good)
		return verdict;
	request.kind = CORE_ASKED_ATOMIC;
	request.atomic = {wanted.id, original};
	read_msn++;
	return Verdict::good;
}

Verdict MessageRules::begin_atomic_response(const Segment &segment)
{
	Verdict verdict = check_whole(segment, atomic_msn, CORE_ATOMIC_RESPONSE_LEN,
				      CORE_ATOMIC_RESPONSE_LEN);
	core_read_sink sink;

	if (verdict != Verdict::good)
		return verdict;
	return core_host_read_sink(ctx, &sink) && sink.atomic ? Verdict::good : Verdict::no_read;
}

// RFC 7306 5.2.2 rule 7. The request may have gone meanwhile only with the stream.
Verdict MessageRules::deliver_atomic_response(const core_atomic_response &response)
{
	core_read_sink sink;

	if (!core_host_read_sink(ctx, &sink) || !sink.atomic || response.id != sink.stag)
		return Verdict::no_read;
	atomic_msn++;
	atomic_original = response.original;
	return Verdict::good;
}

// ---- Flush and Atomic Write ----

// What was placed before is visible to all that read memory: regions are coherent memory, and
// whoever learns that this request is delivered is ordered after it. So only the grant is checked,
// also of no octets.
Verdict MessageRules::deliver_flush(const core_extended &wanted) const
{
	const bool all = wanted.level == CORE_FLUSH_REGION;
	core_region region;

	if (!core_host_region(ctx, wanted.stag, &region))
		return Verdict::stag_invalid;
	return verdict_of(check_region(region, self, ib::rights_for(wanted),
				       all ? region.base : wanted.to,
				       all ? region.length : wanted.length));
}

Verdict MessageRules::deliver_atomic_write(const core_extended &wanted) const
{
	if (wanted.to % sizeof(wanted.data))
		return Verdict::misaligned;
	return verdict_of(core_host_atomic_write(ctx, &wanted));
}

// ---- Immediate Data ----

Verdict MessageRules::begin_immediate(const Segment &segment)
{
	Verdict verdict =
		check_whole(segment, send_msn, CORE_IMMEDIATE_LEN, CORE_IMMEDIATE_LEN);

	if (verdict == Verdict::good && receive_active)
		return Verdict::wrong_type; // a Send is not complete
	return verdict == Verdict::good ? take_receive(segment) : verdict;
}

// RFC 7306 6: with the RDMA Write before it, it is one operation of the peer's.
void MessageRules::deliver_immediate(const Segment &segment, const u8 *data)
{
	delivered = {segment.solicited, false, false, true, false, written, 0, {}};
	__builtin_memcpy(delivered.immediate, data, sizeof(delivered.immediate));
	send_msn++;
	receive_active = false;
	written = 0;
}

} // namespace srnic
