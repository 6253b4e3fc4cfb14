// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive half of an endpoint: does with the stream's octets what the core says.
#include "endpoint.hh"

// ---- what the core asks ----

static sim::Endpoint &endpoint(void *ctx) { return *static_cast<sim::Endpoint *>(ctx); }

bool srnic_host_region(void *ctx, u32 stag, struct srnic_region *out) { return endpoint(ctx).find_region(stag, *out); }
enum srnic_take srnic_host_receive(void *ctx, u32 *room) { return endpoint(ctx).take_receive(*room); }
bool srnic_host_read_room(void *ctx) { return endpoint(ctx).read_room(); }
u32 srnic_host_crc32c(u32 crc, const void *data, u64 len) { return srnic_crc32c_table(crc, data, len); }

bool srnic_host_read_sink(void *ctx, struct srnic_read_sink *out)
{
	const srnic_read_sink *sink = endpoint(ctx).oldest_read();

	if (sink)
		*out = *sink;
	return sink;
}

namespace sim {

const srnic_read_sink *Endpoint::oldest_read() const { return outbound.empty() ? nullptr : &outbound.front().sink; }

// ---- placement ----

srnic_rx_event Endpoint::place(const u8 *data, u32 n)
{
	srnic_region_verdict verdict = SRNIC_REGION_OK;

	if (rx.place.kind == SRNIC_PLACE_REGION) {
		if (!copy(rx.place.stag, SRNIC_ACCESS_REMOTE_WRITE, rx.place.to, nullptr, data, n, verdict))
			return srnic_rx_fail(&rx, verdict);
	} else if (rx.place.kind == SRNIC_PLACE_RECEIVE) {
		const auto *head = reinterpret_cast<const srnic_recv_wqe *>(receive.octets);

		if (scatter(reinterpret_cast<const srnic_sge *>(head + 1), head->num_sge, receive_cursor, data, n) !=
		    SRNIC_REGION_OK) {
			complete_recv(nullptr, SRNIC_WC_LOC_PROT_ERR);
			return srnic_rx_fail(&rx, SRNIC_REGION_OK);
		}
	} else {
		OutboundRead &read = outbound.front();

		read.sink.placed += n;
		if (scatter(read.sges.data(), static_cast<u32>(read.sges.size()), read.cursor, data, n) !=
		    SRNIC_REGION_OK) {
			complete(read.index, SRNIC_WC_LOC_PROT_ERR, 0);
			return srnic_rx_fail(&rx, SRNIC_REGION_OK);
		}
	}
	if (rx.params.crc)
		rx.crc = srnic_host_crc32c(rx.crc, data, n);
	return srnic_rx_took(&rx, n);
}

// ---- delivery ----

srnic_rx_event Endpoint::deliver_send()
{
	srnic_region_verdict verdict;

	witness.delivered(side, SRNIC_RX_SEND);
	if (rx.message.rtr)
		return SRNIC_RX_MORE;
	if (rx.message.invalidate) {
		verdict = invalidate(rx.message.inv_stag, true);
		if (verdict != SRNIC_REGION_OK) {
			complete_recv(nullptr, SRNIC_WC_REM_INV_REQ_ERR);
			return srnic_rx_fail_invalidate(&rx, verdict);
		}
	}
	complete_recv(&rx.message, SRNIC_WC_SUCCESS);
	return SRNIC_RX_MORE;
}

void Endpoint::deliver_read_response()
{
	OutboundRead read = outbound.front();
	u8 status = SRNIC_WC_SUCCESS;

	outbound.pop_front();
	if (read.invalidate && invalidate(read.sges[0].lkey, false) != SRNIC_REGION_OK)
		status = SRNIC_WC_LOC_PROT_ERR;
	witness.delivered(side, SRNIC_RX_READ_RESPONSE);
	if (!read.rtr)
		complete(read.index, status, read.sink.length);
}

// RFC 5044 7.1.2 rule 4: a responder may send once it has received and validated one FPDU.
void Endpoint::release_hold()
{
	if (rx.fpdus)
		is_held = false;
}

void Endpoint::deliver(srnic_rx_event event)
{
	if (event == SRNIC_RX_SEND)
		event = deliver_send();
	switch (event) {
	case SRNIC_RX_WRITE:
		witness.delivered(side, event);
		break;
	case SRNIC_RX_READ_REQUEST:
		inbound.push_back(rx.read_request);
		witness.delivered(side, event);
		break;
	case SRNIC_RX_READ_RESPONSE:
		deliver_read_response();
		break;
	case SRNIC_RX_TERMINATE:
		witness.delivered(side, event);
		fail(Cause::peer_terminated);
		break;
	case SRNIC_RX_ERROR:
		release_hold(); // what is refused may still be a valid FPDU
		terminate(Cause::peer_error, rx.term);
		break;
	default:
		break;
	}
}

void Endpoint::feed(const u8 *data, u32 len)
{
	if (now == State::startup)
		feed_startup(data, len);
	if (now != State::rts)
		rx.over = 1;
	while (len) {
		srnic_rx_step step = srnic_rx_next(&rx);
		u32 n = std::min(len, step.want);
		srnic_rx_event event;

		if (step.kind == SRNIC_RX_STOP)
			return;
		if (!n)
			broken("side %u: the core wants nothing", side);
		if (step.kind == SRNIC_RX_PLACE) {
			event = place(data, n);
		} else {
			memcpy(step.into, data, n);
			event = srnic_rx_took(&rx, n);
		}
		if (event != SRNIC_RX_MORE)
			deliver(event);
		data += n;
		len -= n;
	}
	release_hold();
}

} // namespace sim
