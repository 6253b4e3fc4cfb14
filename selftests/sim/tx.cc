// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Transmit half of an endpoint: drains the send queue and the peer's reads into batches of FPDUs.
#include "endpoint.hh"

namespace sim {

constexpr size_t batch_max = 64 * 1024;

// ---- starting messages ----

void Endpoint::start_message(const core_tx_msg &message, From where, Source source)
{
	msg = message;
	from = where;
	cursor = {};
	msg_active = true;
	witness.started(side, source, msg, sq_taken - 1);
}

Endpoint::OutboundRead &Endpoint::start_read(u32 length, u32 source_stag, u64 source_to,
					     bool is_rtr)
{
	OutboundRead read{};
	core_read_request header{};
	core_tx_msg message{};

	read.sink.stag = static_cast<u32>(random()) | 1;
	read.sink.length = length;
	read.rtr = is_rtr;
	header.sink_stag = read.sink.stag;
	header.length = length;
	header.source_stag = source_stag;
	header.source_to = source_to;
	core_read_request_build(&header, control);
	bytes = control;
	message.opcode = CORE_RDMAP_READ_REQUEST;
	message.length = CORE_READ_REQUEST_LEN;
	message.msn = ++read_msn;
	start_message(message, From::bytes, is_rtr ? Source::rtr : Source::request);
	outbound.push_back(read);
	return outbound.back();
}

void Endpoint::start_rtr()
{
	core_tx_msg message{};

	want_rtr = false;
	if (rtr == CORE_RTR_READ) {
		start_read(0, 1, 0, true);
		return;
	}
	message.opcode = rtr == CORE_RTR_WRITE ? CORE_RDMAP_WRITE : CORE_RDMAP_SEND;
	if (rtr == CORE_RTR_WRITE)
		message.stag = 1;
	else
		message.msn = ++send_msn;
	start_message(message, From::bytes, Source::rtr);
}

bool Endpoint::start_response()
{
	core_tx_msg message{};

	if (inbound.empty())
		return false;
	response = inbound.front();
	message.opcode = CORE_RDMAP_READ_RESPONSE;
	message.stag = response.sink_stag;
	message.to = response.sink_to;
	message.length = response.length;
	start_message(message, From::region, Source::response);
	return true;
}

static u8 send_opcode(const srnic_send_wqe &wqe)
{
	bool solicited = wqe.flags & SRNIC_WQE_SOLICITED;

	if (wqe.opcode == SRNIC_OP_SEND_INV)
		return solicited ? CORE_RDMAP_SEND_SE_INV : CORE_RDMAP_SEND_INV;
	return solicited ? CORE_RDMAP_SEND_SE : CORE_RDMAP_SEND;
}

u8 Endpoint::do_local(u32 index)
{
	bool good = wqe().opcode == SRNIC_OP_LOCAL_INV
			    ? invalidate(wqe().imm_inv, false) == CORE_REGION_OK
			    : register_mr(wqe().arg[0], static_cast<u32>(wqe().arg[1] >> 32),
					  static_cast<u32>(wqe().arg[1]));

	if (good)
		witness.done_locally(side, index);
	return good ? SRNIC_WC_SUCCESS : SRNIC_WC_LOC_PROT_ERR;
}

void Endpoint::refuse_wqe(u32 index, u8 status)
{
	complete(index, status, 0);
	terminate(Cause::local_error, core_terminate{});
}

u8 Endpoint::verify_wqe()
{
	if (verify(sges(), wqe().num_sge, is_read(wqe().opcode) ? CORE_ACCESS_LOCAL_WRITE : 0) !=
	    CORE_REGION_OK)
		return SRNIC_WC_LOC_PROT_ERR;
	return is_read(wqe().opcode) && !ord ? SRNIC_WC_LOC_QP_OP_ERR : SRNIC_WC_SUCCESS;
}

void Endpoint::start_wqe(u32 index, u32 length)
{
	core_tx_msg message{};
	u8 status;

	message.length = length;
	bytes = reinterpret_cast<const u8 *>(&wqe() + 1);
	if (wqe().opcode == SRNIC_OP_WRITE) {
		message.opcode = CORE_RDMAP_WRITE;
		message.stag = wqe().rkey;
		message.to = wqe().remote_addr;
	} else if (is_send(wqe().opcode)) {
		message.opcode = send_opcode(wqe());
		message.msn = ++send_msn;
		message.inv_stag = wqe().imm_inv;
	} else if (is_read(wqe().opcode)) {
		OutboundRead &read = start_read(length, wqe().rkey, wqe().remote_addr, false);

		read.index = index;
		read.sges.assign(sges(), sges() + wqe().num_sge);
		read.invalidate = wqe().opcode == SRNIC_OP_READ_INV;
		return;
	} else {
		status = do_local(index);
		if (status == SRNIC_WC_SUCCESS)
			complete(index, status, 0);
		else
			refuse_wqe(index, status);
		built = sq_taken;
		return;
	}
	start_message(message, wqe().flags & SRNIC_WQE_INLINE ? From::bytes : From::sges,
		      Source::request);
}

bool Endpoint::must_wait() const
{
	bool fence = wqe().flags & SRNIC_WQE_FENCE;

	if (!ord)
		return false;
	return (fence && !outbound.empty()) || (is_read(wqe().opcode) && outbound.size() >= ord);
}

bool Endpoint::take_wqe()
{
	u32 index = sq_taken, length = 0;
	u8 status;

	if (!core_ring_pending(prod, sq_taken, sq_entries))
		return false;
	current = sq[index & (sq_entries - 1)];
	if (must_wait())
		return false;
	track(index) = {wqe().wr_id, 0, wqe().opcode, wqe().flags, SRNIC_WC_SUCCESS, false};
	sq_taken++;
	if (core_send_wqe_check(&wqe(), sizeof(current.octets), !user, &length) != CORE_WQE_OK)
		status = SRNIC_WC_LOC_QP_OP_ERR;
	else
		status = verify_wqe();
	if (status == SRNIC_WC_SUCCESS)
		start_wqe(index, length);
	else
		refuse_wqe(index, status);
	return true;
}

bool Endpoint::next_message()
{
	if (want_rtr) {
		start_rtr();
		return true;
	}
	respond_next = !respond_next;
	if (respond_next)
		return start_response() || take_wqe();
	return take_wqe() || start_response();
}

// ---- building FPDUs ----

core_region_verdict Endpoint::fetch(u32 offset, u8 *to_octets, u32 n)
{
	core_region_verdict verdict = CORE_REGION_OK;

	if (!n)
		return verdict;
	if (from == From::bytes) {
		memcpy(to_octets, bytes + offset, n);
		return verdict;
	}
	if (from == From::sges)
		verdict = gather(sges(), wqe().num_sge, cursor, to_octets, n);
	else
		copy(response.source_stag, CORE_ACCESS_REMOTE_READ, response.source_to + offset,
		     to_octets, nullptr, n, verdict);
	if (verdict == CORE_REGION_OK)
		witness.fetched(side, offset, n);
	return verdict;
}

void Endpoint::put_marker_if_due()
{
	u8 marker[CORE_MARKER_LEN];

	if (!markers.on || markers.left)
		return;
	core_markers_build(&markers, marker);
	batch.insert(batch.end(), marker, marker + sizeof(marker));
}

// Header, payload and pad, with the markers among them and the one behind them.
void Endpoint::put_between_markers(const Bytes &fields)
{
	for (size_t done = 0, n; done < fields.size(); done += n) {
		auto from_here = fields.begin() + static_cast<ptrdiff_t>(done);

		put_marker_if_due();
		n = fields.size() - done;
		if (markers.on)
			n = std::min<size_t>(n, markers.left);
		core_markers_pass(&markers, static_cast<u32>(n));
		batch.insert(batch.end(), from_here, from_here + static_cast<ptrdiff_t>(n));
	}
	put_marker_if_due();
}

void Endpoint::build_fpdu(u32 mulpdu)
{
	u8 header[CORE_FPDU_MAX_HEADER], crc_field[4] = {};
	u32 expected = core_markers_len(&markers, core_tx_next_len(&msg, mulpdu));
	core_tx_seg seg = core_tx_next(&msg, mulpdu, header);
	size_t keep = batch.size();
	Bytes fields(header, header + seg.header_len);

	fields.resize(seg.header_len + size_t{seg.payload});
	if (fetch(seg.offset, fields.data() + seg.header_len, seg.payload) != CORE_REGION_OK) {
		msg_active = false;
		if (from == From::region) {
			core_terminate gone{};

			gone.etype = 1;
			terminate(Cause::response_gone, gone);
		} else {
			refuse_wqe(sq_taken - 1, SRNIC_WC_LOC_PROT_ERR);
		}
		return;
	}
	fields.resize(fields.size() + seg.pad);
	put_between_markers(fields);
	if (crc)
		core_crc_field(
			core_host_crc32c(CORE_CRC_SEED, batch.data() + keep, batch.size() - keep),
			crc_field);
	batch.insert(batch.end(), crc_field, crc_field + sizeof(crc_field));
	core_markers_pass(&markers, sizeof(crc_field));
	core_markers_end_fpdu(&markers);
	if (batch.size() - keep != expected)
		broken("side %u: an FPDU of %zu octets instead of %u", side, batch.size() - keep,
		       expected);
	stream_built += batch.size() - keep;
	if (!msg.done)
		return;
	msg_active = false;
	witness.finished(side, stream_built);
	if (from == From::region)
		inbound.pop_front();
	else
		built = sq_taken;
}

void Endpoint::build_batch()
{
	u32 mulpdu = core_mpa_mulpdu(emss, markers.on);

	while (now == State::rts && !is_held) {
		if (!msg_active) {
			if (!next_message())
				return;
			continue;
		}
		if (!batch.empty() &&
		    batch.size() + core_markers_len(&markers, core_tx_next_len(&msg, mulpdu)) >
			    batch_max)
			return;
		build_fpdu(mulpdu);
	}
}

// ---- passes ----

bool Endpoint::send_batch()
{
	if (out.reset()) {
		fail(Cause::stream_over);
		return false;
	}
	batch.erase(batch.begin(),
		    batch.begin() + (batch.empty() ? 0
						   : out.write(batch.data(),
							       static_cast<u32>(batch.size()))));
	if (!batch.empty())
		return false;
	if (completed != built) {
		complete_sent(completed, built);
		completed = built;
	}
	return true;
}

void Endpoint::pass_terminating()
{
	core_tx_msg message{};

	if (is_held)
		term_pending = false;
	if (term_pending && send_batch()) {
		term_pending = false;
		bytes = control;
		message.opcode = CORE_RDMAP_TERMINATE;
		message.length = core_terminate_build(&term, control);
		message.msn = 1;
		start_message(message, From::bytes, Source::terminate);
		build_fpdu(core_mpa_mulpdu(0, false));
	}
	if (!term_pending && send_batch())
		fail(Cause::local_error);
}

void Endpoint::run()
{
	if (now == State::rts && send_batch()) {
		build_batch();
		send_batch();
	}
	if (now == State::terminating || now == State::error)
		flush();
	if (now == State::terminating)
		pass_terminating();
}

} // namespace sim
