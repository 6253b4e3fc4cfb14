// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive half of an endpoint: handles the stream as the core says.
#include "endpoint.hh"

// ---- what the core asks ----

static sim::Endpoint &endpoint(void *ctx) { return *static_cast<sim::Endpoint *>(ctx); }

bool core_host_region(void *ctx, u32 stag, struct core_region *out)
{
	return endpoint(ctx).find_region(stag, *out);
}
enum core_region_verdict core_host_place(void *ctx, const struct core_place *at, const u8 *data,
					 u32 n, u32 *sum)
{
	const core_region_verdict verdict = endpoint(ctx).place(*at, data, n);

	if (verdict == CORE_REGION_OK && sum)
		*sum = core_crc32c_table(*sum, data, n);
	return verdict;
}
enum core_take core_host_receive(void *ctx, u32 *room) { return endpoint(ctx).take_receive(*room); }
bool core_host_read_room(void *ctx) { return endpoint(ctx).read_room(); }
u32 core_host_crc32c(u32 crc, const void *data, u64 len)
{
	return core_crc32c_table(crc, data, len);
}

enum core_region_verdict core_host_atomic(void *ctx, const struct core_atomic_request *request,
					  u64 *original)
{
	return endpoint(ctx).atomic(*request, *original);
}

enum core_region_verdict core_host_atomic_write(void *ctx, const struct core_extended *request)
{
	return endpoint(ctx).atomic_write(*request);
}

bool core_host_read_sink(void *ctx, struct core_read_sink *out)
{
	const core_read_sink *sink = endpoint(ctx).oldest_read();

	if (sink)
		*out = *sink;
	return sink;
}

namespace sim {

const core_read_sink *Endpoint::oldest_read() const
{
	return outbound.empty() ? nullptr : &outbound.front().sink;
}

// ---- placement ----

core_region_verdict Endpoint::place_receive(const u8 *data, u32 n)
{
	const auto *head = reinterpret_cast<const srnic_recv_wqe *>(receive.octets);
	const core_region_verdict verdict = scatter(reinterpret_cast<const srnic_sge *>(head + 1),
						    head->num_sge, receive_cursor, data, n);

	if (verdict != CORE_REGION_OK)
		complete_recv(nullptr, SRNIC_WC_LOC_PROT_ERR);
	return verdict;
}

core_region_verdict Endpoint::place_response(const u8 *data, u32 n)
{
	OutboundRead &read = outbound.front();
	core_region_verdict verdict;

	read.sink.placed += n;
	verdict = scatter(read.sges.data(), static_cast<u32>(read.sges.size()), read.cursor, data,
			  n);
	if (verdict != CORE_REGION_OK)
		complete(read.index, SRNIC_WC_LOC_PROT_ERR, 0);
	return verdict;
}

core_region_verdict Endpoint::place(const core_place &at, const u8 *data, u32 n)
{
	core_region_verdict verdict = CORE_REGION_OK;

	placing = static_cast<core_place_kind>(at.kind);
	if (at.kind == CORE_PLACE_RECEIVE)
		return place_receive(data, n);
	if (at.kind == CORE_PLACE_READ)
		return place_response(data, n);
	copy(at.stag, CORE_ACCESS_REMOTE_WRITE, at.to, nullptr, data, n, verdict);
	return verdict;
}

core_rx_event Endpoint::place_step(const core_place &at, const u8 *data, u32 n)
{
	const core_region_verdict verdict = place(at, data, n);

	if (verdict == CORE_REGION_OK)
		return core_rx_placed(&rx, data, n);
	return core_rx_fail(&rx, at.kind == CORE_PLACE_REGION ? verdict : CORE_REGION_OK);
}

core_rx_taken Endpoint::take_step(const u8 *data, u32 len)
{
	const core_rx_step step = core_rx_next(&rx);
	const u32 n = std::min(len, step.want);

	if (step.kind == CORE_RX_STOP)
		return {0, CORE_RX_MORE};
	if (!n)
		broken("side %u: the core wants nothing", side);
	if (step.kind == CORE_RX_PLACE)
		return {n, place_step(*step.place, data, n)};
	memcpy(step.into, data, n);
	return {n, core_rx_took(&rx, n)};
}

// ---- delivery ----

core_rx_event Endpoint::deliver_send()
{
	const core_rx_message *message = core_rx_delivered(&rx);
	core_region_verdict verdict;

	witness.delivered(side, CORE_RX_SEND);
	if (message->rtr)
		return CORE_RX_MORE;
	if (message->invalidate) {
		verdict = invalidate(message->inv_stag, true);
		if (verdict != CORE_REGION_OK) {
			complete_recv(nullptr, SRNIC_WC_REM_INV_REQ_ERR);
			return core_rx_fail_invalidate(&rx, verdict);
		}
	}
	complete_recv(message, SRNIC_WC_SUCCESS);
	return CORE_RX_MORE;
}

core_rx_event Endpoint::deliver_atomic_response()
{
	OutboundRead &read = outbound.front();
	const u64 original = core_rx_original(&rx);

	placing = CORE_PLACE_READ;
	if (scatter(read.sges.data(), static_cast<u32>(read.sges.size()), read.cursor,
		    reinterpret_cast<const u8 *>(&original), sizeof(original)) != CORE_REGION_OK) {
		complete(read.index, SRNIC_WC_LOC_PROT_ERR, 0);
		return core_rx_fail(&rx, CORE_REGION_OK);
	}
	deliver_read_response();
	return CORE_RX_MORE;
}

void Endpoint::deliver_read_response()
{
	OutboundRead read = outbound.front();
	u8 status = SRNIC_WC_SUCCESS;

	outbound.pop_front();
	reads_done++;
	if (awaiting_reads && reads() <= awaited_reads)
		kick();
	if (read.invalidate && invalidate(read.sges[0].lkey, false) != CORE_REGION_OK)
		status = SRNIC_WC_LOC_PROT_ERR;
	witness.delivered(side, read.sink.atomic ? CORE_RX_ATOMIC_RESPONSE : CORE_RX_READ_RESPONSE);
	if (!read.rtr)
		complete(read.index, status, read.sink.length);
}

// The read that the peer refused, if outstanding, completes as refused; MSNs begin with 1.
void Endpoint::blame_request(const core_terminate &why)
{
	core_refusal refusal = core_terminate_refusal(&why);
	u32 at = refusal.msn - CORE_FIRST_MSN - reads_done;

	if (refusal.what == CORE_REFUSED_READ && at < outbound.size() && !outbound[at].rtr)
		complete(outbound[at].index, refusal.status, 0);
}

// RFC 5044 7.1.2 rule 4: a responder may send once it has received and validated one FPDU.
void Endpoint::unmute_responder()
{
	if (!validated && core_rx_fpdus(&rx)) {
		validated = true;
		kick();
	}
}

// Requests that the peer has done complete; one that it refuses fails, or is sent again.
void Endpoint::deliver_acked(const core_acked &acked)
{
	complete_acknowledged(acked.end);
	if (acked.kind == CORE_ACKED_AGAIN || core_acks_awaited(&acks))
		kick();
	if (acked.kind != CORE_ACKED_REFUSED)
		return;
	complete(acked.end, acked.status, 0);
	fail(Cause::peer_refused);
}

void Endpoint::deliver_refused()
{
	unmute_responder(); // the refused request was in a valid FPDU
	witness.refused(side, static_cast<core_syndrome>(acks.refusing));
	if (receive_active && core_rx_receive_status(&rx) != SRNIC_WC_FLUSH_ERR)
		complete_recv(nullptr, core_rx_receive_status(&rx));
	kick();
}

// What only a stream with acknowledgements does with an event.
void Endpoint::deliver_with_acks(core_rx_event event)
{
	switch (event) {
	case CORE_RX_SEND:
	case CORE_RX_WRITE:
	case CORE_RX_READ_REQUEST:
	case CORE_RX_ATOMIC_REQUEST:
	case CORE_RX_EXTENDED:
		core_rx_done(&rx);
		break;
	case CORE_RX_ACK:
		deliver_acked(*core_rx_acked(&rx));
		break;
	case CORE_RX_REFUSED:
		deliver_refused();
		break;
	case CORE_RX_FAILED:
		fail(Cause::local_error);
		break;
	default:
		break;
	}
}

void Endpoint::deliver(core_rx_event event)
{
	const core_terminate &theirs = *core_rx_terminate(&rx);
	const core_rx_event came = event;

	if (acknowledges() &&
	    (event == CORE_RX_READ_RESPONSE || event == CORE_RX_ATOMIC_RESPONSE)) {
		complete_acknowledged(core_rx_acked(&rx)->end);
		if (core_acks_awaited(&acks))
			kick();
	}
	if (event == CORE_RX_SEND)
		event = deliver_send();
	if (event == CORE_RX_ATOMIC_RESPONSE)
		event = deliver_atomic_response();
	switch (event) {
	case CORE_RX_WRITE:
	case CORE_RX_EXTENDED:
		witness.delivered(side, event);
		break;
	case CORE_RX_READ_REQUEST:
	case CORE_RX_ATOMIC_REQUEST:
		inbound.push_back(*core_rx_asked(&rx));
		kick();
		witness.delivered(side, event);
		break;
	case CORE_RX_READ_RESPONSE:
		deliver_read_response();
		break;
	case CORE_RX_TERMINATE:
		witness.delivered(side, event);
		blame_request(theirs);
		fail(Cause::peer_terminated);
		break;
	case CORE_RX_ERROR:
		unmute_responder(); // a refused FPDU may still be valid
		if (receive_active && core_rx_receive_status(&rx) != SRNIC_WC_FLUSH_ERR)
			complete_recv(nullptr, core_rx_receive_status(&rx));
		if (framing == CORE_FRAMING_RDMATCP)
			reset(Cause::peer_error, core_rx_fault(&rx));
		else
			terminate(Cause::peer_error, theirs);
		break;
	default:
		break;
	}
	if (acknowledges())
		deliver_with_acks(event == CORE_RX_MORE ? came : event);
}

void Endpoint::feed(const u8 *data, u32 len)
{
	if (now == State::startup)
		feed_startup(data, len);
	if (now != State::rts)
		core_rx_stop(&rx);
	while (len) {
		core_rx_taken taken = core_rx_whole(&rx, data, len);

		if (!taken.n)
			taken = take_step(data, len);
		if (!taken.n)
			break;
		if (taken.event != CORE_RX_MORE)
			deliver(taken.event);
		data += taken.n;
		len -= taken.n;
	}
	unmute_responder();
	if (acknowledges())
		end_receiving();
}

} // namespace sim
