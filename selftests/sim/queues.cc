// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory and queues of an endpoint: copies in and out of regions, completion in the order of
// posting, flushing.
#include "endpoint.hh"

namespace sim {

// ---- regions ----

Mr *Endpoint::find(u32 stag)
{
	for (Mr &mr : mrs)
		if (mr.stag == stag)
			return &mr;
	return nullptr;
}

bool Endpoint::find_region(u32 stag, core_region &grant) const
{
	for (const Mr &mr : mrs)
		if (mr.stag == stag && mr.valid) {
			grant = {mr.base, mr.length, mr.pd, mr.access, 0, 0};
			return true;
		}
	return false;
}

// The one of `to_octets` and `in` that is set gives the direction; with neither, only checks.
bool Endpoint::copy(u32 stag, u32 access, u64 to, u8 *to_octets, const u8 *in, u32 len,
		    core_region_verdict &verdict)
{
	core_region grant;
	u64 at;

	verdict = CORE_REGION_INVALID;
	if (find_region(stag, grant))
		verdict = core_region_check(&grant, {our_pd, 0}, access, to, len);
	if (verdict != CORE_REGION_OK)
		return false;
	at = find(stag)->at + (to - grant.base);
	if (at + len > octets.size())
		broken("side %u: the core let %u octets outside of all memory", side, len);
	if (to_octets)
		memcpy(to_octets, octets.data() + at, len);
	if (in) {
		memcpy(octets.data() + at, in, len);
		witness.wrote(side, placing, at, len);
	}
	return true;
}

// Memory begins at a multiple of eight.
core_region_verdict Endpoint::find_word(u32 stag, u64 to, u32 access, u64 *&word)
{
	core_region grant;
	core_region_verdict verdict = CORE_REGION_INVALID;
	u64 at;

	if (find_region(stag, grant))
		verdict = core_region_check(&grant, {our_pd, 0}, access, to, sizeof(*word));
	if (verdict != CORE_REGION_OK)
		return verdict;
	at = find(stag)->at + (to - grant.base);
	if (at % sizeof(*word))
		return CORE_REGION_ALIGNMENT;
	word = reinterpret_cast<u64 *>(octets.data() + at);
	return CORE_REGION_OK;
}

core_region_verdict Endpoint::atomic(const core_atomic_request &wanted, u64 &original)
{
	u64 *word;
	const core_region_verdict verdict =
		find_word(wanted.stag, wanted.to, CORE_ACCESS_REMOTE_ATOMIC, word);

	if (verdict == CORE_REGION_OK)
		original = core_atomic_execute(&wanted.op, word);
	return verdict;
}

core_region_verdict Endpoint::atomic_write(const core_extended &wanted)
{
	u64 *word;
	const core_region_verdict verdict =
		find_word(wanted.stag, wanted.to, CORE_ACCESS_REMOTE_WRITE, word);

	if (verdict == CORE_REGION_OK)
		core_atomic_write(wanted.data, word);
	return verdict;
}

template <class Sge, class At>
static const Sge *current_sge(const Sge *sges, u32 num, At &at, u32 &n)
{
	while (at.index < num && at.offset == sges[at.index].length)
		at = {at.index + 1, 0};
	if (at.index == num)
		return nullptr;
	n = std::min(n, sges[at.index].length - at.offset);
	return &sges[at.index];
}

core_region_verdict Endpoint::gather(const srnic_sge *list, u32 num, Cursor &at, u8 *to_octets,
				     u32 len)
{
	core_region_verdict verdict = CORE_REGION_OK;

	for (u32 n; len; at.offset += n, to_octets += n, len -= n) {
		n = len;
		const srnic_sge *sge = current_sge(list, num, at, n);

		if (!sge)
			return CORE_REGION_BOUNDS;
		if (!copy(sge->lkey, 0, sge->addr + at.offset, to_octets, nullptr, n, verdict))
			return verdict;
	}
	return verdict;
}

core_region_verdict Endpoint::scatter(const srnic_sge *list, u32 num, Cursor &at, const u8 *in,
				      u32 len)
{
	core_region_verdict verdict = CORE_REGION_OK;

	for (u32 n; len; at.offset += n, in += n, len -= n) {
		n = len;
		const srnic_sge *sge = current_sge(list, num, at, n);

		if (!sge)
			return CORE_REGION_BOUNDS;
		if (!copy(sge->lkey, CORE_ACCESS_LOCAL_WRITE, sge->addr + at.offset, nullptr, in, n,
			  verdict))
			return verdict;
	}
	return verdict;
}

core_region_verdict Endpoint::verify(const srnic_sge *list, u32 num, u32 access)
{
	core_region_verdict verdict = CORE_REGION_OK;

	for (u32 i = 0; i < num; i++)
		if (list[i].length && !copy(list[i].lkey, access, list[i].addr, nullptr, nullptr,
					    list[i].length, verdict))
			return verdict;
	return CORE_REGION_OK;
}

core_region_verdict Endpoint::invalidate(u32 stag, bool remote)
{
	Mr *mr = find(stag);

	if (!mr)
		return CORE_REGION_INVALID;
	if (mr->pd != our_pd)
		return CORE_REGION_FOREIGN;
	if (!mr->fast_reg)
		return CORE_REGION_ACCESS;
	if (!mr->valid && remote)
		return CORE_REGION_INVALID;
	mr->valid = false;
	return CORE_REGION_OK;
}

bool Endpoint::register_mr(u64 index, u32 key, u32 access)
{
	if (index >= mrs.size() || mrs[index].valid || !mrs[index].fast_reg)
		return false;
	mrs[index].stag = with_key(mrs[index].stag, key);
	mrs[index].access = access;
	mrs[index].valid = true;
	return true;
}

void Endpoint::store(u64 at, const Bytes &data)
{
	memcpy(octets.data() + at, data.data(), data.size());
}

// ---- send queue ----

bool Endpoint::post_send(const SendRequest &posted)
{
	Slot slot{};
	srnic_send_wqe head = posted.wqe;

	if (!sq_room())
		return false;
	memcpy(slot.octets, &head, sizeof(head));
	if (!posted.data.empty())
		memcpy(slot.octets + sizeof(head), posted.data.data(), posted.data.size());
	else if (!posted.sges.empty())
		memcpy(slot.octets + sizeof(head), posted.sges.data(),
		       posted.sges.size() * sizeof(srnic_sge));
	sq[prod++ & (sq_entries - 1)] = slot;
	if (needs_doorbell || now != State::rts)
		kick();
	return true;
}

void Endpoint::complete_done()
{
	while (sq_done != sq_taken && track(sq_done).done) {
		Track &done = track(sq_done);
		srnic_cqe cqe{};

		done.done = false;
		sq_done++;
		if (!(done.flags & SRNIC_WQE_SIGNALED) && done.status == SRNIC_WC_SUCCESS)
			continue;
		cqe.wr_id = done.wr_id;
		cqe.byte_len = done.byte_len;
		cqe.opcode = done.opcode;
		cqe.status = done.status;
		witness.completed(side, cqe, false);
	}
}

void Endpoint::complete(u32 index, u8 status, u32 byte_len)
{
	if (static_cast<int>(index - sq_done) < 0)
		return;
	track(index).status = status;
	track(index).byte_len = byte_len;
	track(index).done = true;
	complete_done();
}

void Endpoint::complete_sent(u32 from_index, u32 to_index)
{
	for (u32 i = from_index; i != to_index; i++)
		if (static_cast<int>(i - sq_done) >= 0 && !is_read(track(i).opcode))
			track(i).done = true;
	complete_done();
}

// Requests before this index are done, but for those that a response completes.
void Endpoint::complete_acknowledged(u32 end)
{
	if (static_cast<int>(end - acked_to) <= 0)
		return;
	complete_sent(acked_to, end);
	acked_to = end;
}

// ---- receive queue ----

void Endpoint::post_recv(const RecvRequest &posted)
{
	RecvSlot slot{};
	srnic_recv_wqe head{};

	head.wr_id = posted.wr_id;
	head.num_sge = posted.malformed ? SRNIC_MAX_SGE + 1 : static_cast<u32>(posted.sges.size());
	memcpy(slot.octets, &head, sizeof(head));
	if (!posted.sges.empty())
		memcpy(slot.octets + sizeof(head), posted.sges.data(),
		       posted.sges.size() * sizeof(srnic_sge));
	rq.push_back(slot);
	if (now == State::error)
		flush();
}

core_take Endpoint::take_receive(u32 &room)
{
	if (rq.empty()) {
		witness.found_no_receive(side);
		return CORE_TAKE_EMPTY;
	}
	receive = rq.front();
	rq.pop_front();
	receive_active = true;
	receive_cursor = {};
	if (core_recv_wqe_check(reinterpret_cast<const srnic_recv_wqe *>(receive.octets),
				sizeof(receive.octets), &room) == CORE_WQE_OK)
		return CORE_TAKE_OK;
	complete_recv(nullptr, SRNIC_WC_LOC_QP_OP_ERR);
	return CORE_TAKE_BROKEN;
}

void Endpoint::complete_recv(const core_rx_message *message, u8 status)
{
	srnic_cqe cqe{};

	cqe.wr_id = reinterpret_cast<const srnic_recv_wqe *>(receive.octets)->wr_id;
	cqe.opcode = SRNIC_OP_RECV;
	cqe.status = status;
	if (message) {
		cqe.byte_len = message->length;
		cqe.flags = message->invalidate ? SRNIC_CQE_WITH_INV : 0;
		cqe.imm_inv = message->invalidate ? message->inv_stag : 0;
		if (message->is_immediate || message->has_immediate) {
			cqe.flags = SRNIC_CQE_WITH_IMM;
			if (message->has_immediate)
				cqe.flags |= SRNIC_CQE_OF_SEND;
			memcpy(&cqe.imm_inv, message->immediate, sizeof(message->immediate));
		}
	}
	receive_active = false;
	witness.completed(side, cqe, message && message->solicited);
}

// ---- both ----

void Endpoint::flush()
{
	u32 pending = core_ring_pending(prod, sq_taken, sq_entries);

	for (u32 i = sq_done; i != sq_taken; i++) {
		if (!track(i).done)
			track(i).status = SRNIC_WC_FLUSH_ERR;
		track(i).done = true;
	}
	complete_done();
	for (; pending; pending--) {
		const auto *slot = reinterpret_cast<const srnic_send_wqe *>(
			sq[sq_taken & (sq_entries - 1)].octets);

		track(sq_taken++) = {slot->wr_id, 0, slot->opcode, 0, SRNIC_WC_FLUSH_ERR, true};
		complete_done();
	}
	built = completed = sq_taken;
	if (receive_active)
		complete_recv(nullptr, SRNIC_WC_FLUSH_ERR);
	while (!rq.empty()) {
		receive = rq.front();
		rq.pop_front();
		complete_recv(nullptr, SRNIC_WC_FLUSH_ERR);
	}
}

} // namespace sim
