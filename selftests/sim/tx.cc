// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Transmit half of an endpoint: follows the core's scheduler, and packs FPDUs into batches.
#include "endpoint.hh"

// ---- what the core asks ----

static sim::Endpoint &endpoint(void *ctx) { return *static_cast<sim::Endpoint *>(ctx); }

bool core_host_validated(void *ctx) { return endpoint(ctx).has_validated(); }
const struct srnic_send_wqe *core_host_next_send(void *ctx) { return endpoint(ctx).next_send(); }
void core_host_take_send(void *ctx) { endpoint(ctx).take_send(); }
bool core_host_verify_list(void *ctx, u32 access) { return endpoint(ctx).verify_list(access); }
void core_host_built(void *ctx) { endpoint(ctx).request_built(); }
void core_host_complete(void *ctx, u8 status) { endpoint(ctx).complete_taken(status); }
u32 core_host_random(void *ctx) { return endpoint(ctx).random_number(); }
u32 core_host_reads(void *ctx) { return endpoint(ctx).reads(); }
bool core_host_wait_for_reads(void *ctx, u32 most) { return endpoint(ctx).wait_for_reads(most); }
void core_host_answered(void *ctx) { endpoint(ctx).answered(); }

bool core_host_local_invalidate(void *ctx, u32 stag)
{
	return endpoint(ctx).done_here(endpoint(ctx).invalidate(stag, false) == CORE_REGION_OK);
}

bool core_host_register(void *ctx, const struct srnic_send_wqe *wqe)
{
	return endpoint(ctx).done_here(
		endpoint(ctx).register_mr(wqe->arg[0], static_cast<u32>(wqe->arg[1] >> 32),
					  static_cast<u32>(wqe->arg[1])));
}

// Its programs bind no windows.
bool core_host_bind(void *ctx, const struct srnic_send_wqe *)
{
	return endpoint(ctx).done_here(false);
}

void core_host_expect_read(void *ctx, const struct core_read_sink *sink, enum core_read_kind kind)
{
	endpoint(ctx).expect_read(*sink, kind);
}

bool core_host_next_read(void *ctx, struct core_asked *out)
{
	return endpoint(ctx).next_read(*out);
}

void core_host_terminate(void *ctx, const struct core_terminate *term)
{
	endpoint(ctx).local_terminate(*term);
}

namespace sim {

constexpr size_t batch_max = 64 * 1024;

// ---- requests ----

const srnic_send_wqe *Endpoint::next_send()
{
	if (now != State::rts || !core_ring_pending(prod, sq_taken, sq_entries))
		return nullptr;
	current = sq[sq_taken & (sq_entries - 1)];
	return &wqe();
}

void Endpoint::take_send()
{
	track(sq_taken++) = {wqe().wr_id, 0, wqe().opcode, wqe().flags, SRNIC_WC_SUCCESS, false};
}

bool Endpoint::verify_list(u32 access)
{
	return verify(sges(), wqe().num_sge, access) == CORE_REGION_OK;
}

bool Endpoint::done_here(bool good)
{
	if (good)
		witness.done_locally(side, sq_taken - 1);
	return good;
}

// ---- reads, of both ends ----

void Endpoint::expect_read(const core_read_sink &sink, core_read_kind kind)
{
	OutboundRead read{};

	read.sink = sink;
	read.rtr = kind == CORE_READ_RTR;
	read.invalidate = kind == CORE_READ_INVALIDATE;
	if (!read.rtr) {
		read.index = sq_taken - 1;
		read.sges.assign(sges(), sges() + wqe().num_sge);
	}
	outbound.push_back(read);
}

bool Endpoint::next_read(core_asked &asked) const
{
	if (inbound.empty())
		return false;
	asked = inbound.front();
	return true;
}

// ---- building FPDUs ----

Source Endpoint::source_of(const core_tx_msg &msg) const
{
	if (msg.opcode == CORE_MSG_READ_RESPONSE || msg.opcode == CORE_MSG_ATOMIC_RESPONSE)
		return Source::response;
	if (msg.opcode == CORE_MSG_TERMINATE)
		return Source::terminate;
	if (msg.opcode == CORE_MSG_ACK)
		return Source::ack;
	return tx.of_request ? Source::request : Source::rtr;
}

// Reports a message when its first FPDU is built.
void Endpoint::announce(const core_tx_msg &msg)
{
	Source source = source_of(msg);
	bool &known = announced[source == Source::response];

	if (known || source == Source::ack)
		return;
	known = true;
	cursor[source == Source::response] = {};
	witness.started(side, source, msg, sq_taken - 1);
}

core_region_verdict Endpoint::fetch(const core_tx_msg &msg, u32 offset, u8 *to_octets, u32 n)
{
	core_region_verdict verdict = CORE_REGION_OK;
	Source source = source_of(msg);

	if (source == Source::response) {
		const core_read_request &asked = inbound.front().read;

		copy(asked.source_stag, CORE_ACCESS_REMOTE_READ, asked.source_to + offset,
		     to_octets, nullptr, n, verdict);
	} else if (wqe().flags & SRNIC_WQE_INLINE) {
		memcpy(to_octets, reinterpret_cast<const u8 *>(&wqe() + 1) + offset, n);
		return verdict;
	} else {
		verdict = gather(sges(), wqe().num_sge, cursor[0], to_octets, n);
	}
	if (verdict == CORE_REGION_OK)
		witness.fetched(side, source, offset, n);
	return verdict;
}

// Payload comes in pieces, as pages do.
core_region_verdict Endpoint::put_payload(const core_tx_msg &msg, u32 offset, u32 len)
{
	core_region_verdict verdict = CORE_REGION_OK;

	for (u32 n; len && verdict == CORE_REGION_OK; offset += n, len -= n) {
		size_t at = batch.size();

		n = std::min(len, 1 + static_cast<u32>(below(random, 4096)));
		batch.resize(at + n);
		verdict = fetch(msg, offset, batch.data() + at, n);
		if (verdict == CORE_REGION_OK)
			core_tx_copied(&tx, batch.data() + at, n);
	}
	return verdict;
}

void Endpoint::build_fpdu(u32 expected)
{
	const core_tx_msg &msg = *tx.turn;
	size_t keep = batch.size();
	core_tx_step step;

	announce(msg);
	do {
		core_region_verdict verdict = CORE_REGION_OK;

		step = core_tx_next(&tx);
		batch.insert(batch.end(), step.bytes, step.bytes + step.len);
		verdict = put_payload(msg, step.offset, step.payload);
		if (verdict != CORE_REGION_OK) {
			batch.resize(keep);
			core_tx_fail(&tx, verdict);
			return;
		}
	} while (!step.last);
	if (batch.size() - keep != expected)
		broken("side %u: an FPDU of %zu octets instead of %u", side, batch.size() - keep,
		       expected);
	stream_built += expected;
	if (!msg.done || source_of(msg) == Source::ack)
		return;
	announced[source_of(msg) == Source::response] = false;
	witness.finished(side, source_of(msg), stream_built);
}

// TCP takes no more, now that the FPDU is chosen. Not twice in a row.
bool Endpoint::pauses()
{
	pausing = acknowledges() && !pausing && one_in(random, 16);
	return pausing;
}

// The receive half runs at any time between two steps of the engine. False: the stream is over.
bool Endpoint::goes_on()
{
	if (acknowledges() && one_in(random, 8))
		meanwhile();
	return now == State::rts;
}

// False if the batch or TCP takes no more: the rest is for another run.
bool Endpoint::build_batch()
{
	core_tx_set_emss(&tx, emss);
	while (goes_on()) {
		u32 len = core_tx_choose(&tx);
		core_rewind how;

		note_failures();
		if (core_tx_must_rewind(&tx, &how)) {
			rewind(how);
			continue;
		}
		if (!len)
			return true;
		if ((!batch.empty() && batch.size() + len > batch_max) || pauses())
			return false;
		if (!goes_on())
			return true;
		build_fpdu(len);
	}
	return true;
}

// ---- with acknowledgements ----

// The peer was not ready for a request: it is the next again, and nothing behind it is done.
void Endpoint::rewind(const core_rewind &how)
{
	for (u32 i = how.index; i != sq_taken; i++)
		track(i).done = false;
	sq_taken = how.index;
	built = std::min(built, sq_taken);
	outbound.resize(outbound.size() - how.reads);
	announced[0] = gave_up = false;
	core_tx_rewind(&tx);
	delay_armed = true;
	witness.rewound(side, how.index);
}

// Reports what the core has given up, when it does.
void Endpoint::note_failures()
{
	if (acks.failing && !gave_up)
		witness.gave_up(side, sq_taken - 1);
	if (acks.answer_refused && !gave_up_answer)
		witness.answer_refused(side);
	gave_up |= acks.failing != 0;
	gave_up_answer |= acks.answer_refused != 0;
}

void Endpoint::tick()
{
	if (!acknowledges() || now != State::rts)
		return;
	if (by_kick)
		return fire_timers();
	core_tx_resume(&tx);
	if (core_acks_owed(&acks))
		core_tx_ack_now(&tx);
	if (core_acks_unacknowledged(&acks))
		core_tx_probe(&tx);
}

// ---- passes ----

bool Endpoint::send_batch()
{
	if (out.reset()) {
		hang_up();
		return false;
	}
	batch.erase(batch.begin(),
		    batch.begin() + (batch.empty() ? 0
						   : out.write(batch.data(),
							       static_cast<u32>(batch.size()))));
	lacks_space = !batch.empty();
	if (lacks_space)
		return false;
	if (completed != built && !acknowledges()) {
		complete_sent(completed, built);
		completed = built;
	}
	return true;
}

void Endpoint::send_terminate()
{
	if (term_pending && send_batch()) {
		u32 len = core_tx_terminate(&tx, &term);

		term_pending = false;
		announced[0] = false;
		if (len)
			build_fpdu(len);
	}
	if (!term_pending && send_batch())
		fail(Cause::local_error);
}

void Endpoint::leave_as_core_says()
{
	fail(core_tx_over(&tx) == CORE_OVER_FAILED ? Cause::local_error : Cause::refused_peer);
}

void Endpoint::run()
{
	if (by_kick && !kicked && now != State::terminating)
		return;
	kicked = false;
	if (now == State::rts && by_kick) {
		run_until_idle();
	} else if (now == State::rts && send_batch()) {
		build_batch();
		if (now == State::rts && send_batch() && core_tx_over(&tx))
			leave_as_core_says();
	}
	if (now == State::terminating || now == State::error)
		flush();
	if (now == State::terminating)
		send_terminate();
}

} // namespace sim
