// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// An end's life, its program and its engine.
#include "ib_end.hh"

using ledger::Segment;

// ---- its life ----

IbEnd::IbEnd(const IbChoices &choices) : crc(choices.crc)
{
	const core_tx_params to_send = tx_params(choices);
	const core_rx_params to_receive = rx_params(choices);

	start_acks(choices);
	core_tx_init(&tx, &to_send);
	core_tx_set_emss(&tx, 0); // the shortest FPDUs
	core_rx_init(&rx, &to_receive);
	places.grant(stag, base, region_len, FakeHost::pd, every_right);
	places.read_room = ord;
	sends.validated = false;
	places.before_placing = [this](const core_place &at, u32 n) { placing_whole(at, n); };
}

// 10: numbers go on.
void IbEnd::start_acks(const IbChoices &choices)
{
	acks.rnr_retry = choices.rnr_retry;
	acks.min_rnr_timer = 12;
	acks.access = every_right;
	acks.ask_every = choices.ask_every;
	acks.sent = ring;
	acks.mask = RingSends::entries - 1;
	core_acks_init(&acks);
	acks.acked = acks.received = choices.first_number;
	core_acks_start(&acks, 0);
	sent.acked = received.count = said = choices.first_number;
}

core_tx_params IbEnd::tx_params(const IbChoices &choices)
{
	core_tx_params params{};

	params.ctx = static_cast<SendHost *>(&sends);
	params.acks = &acks;
	params.ord = ord;
	params.slot_size = sizeof(RingSends::Slot);
	params.framing = CORE_FRAMING_IB;
	params.kernel = choices.kernel;
	params.crc = choices.crc;
	params.extended = choices.extended;
	params.initiator = choices.initiator;
	return params;
}

core_rx_params IbEnd::rx_params(const IbChoices &choices)
{
	core_rx_params params{};

	params.ctx = &places;
	params.acks = &acks;
	params.pd = FakeHost::pd;
	params.qpn = FakeHost::qpn;
	params.first_msn = CORE_FIRST_MSN;
	params.framing = CORE_FRAMING_IB;
	params.crc = crc;
	params.extended = choices.extended;
	return params;
}

void IbEnd::check() const
{
	core_rewind how{};

	if (broken)
		return;
	REQUIRE(acks.acked == sent.acked && acks.received == received.count);
	REQUIRE(acks.begun - sent.acked == sent.open.size());
	// also of a request that is to be sent again
	REQUIRE(core_acks_unacknowledged(&acks) || sent.open.empty());
	for (const SendHost::Expected &read : sends.reads)
		REQUIRE(static_cast<int>(read.sink.number - acks.acked) > 0); // 11
	REQUIRE(core_tx_must_rewind(&tx, &how) == sent.must_go_back);
	if (!sent.must_go_back)
		return;
	REQUIRE(how.index == sent.first_again() && how.reads == sends.reads.size());
	REQUIRE(how.index - sends.freed <= sends.next - sends.freed);
}

// ---- its program ----

// Mostly requests that the peer can take.
void IbEnd::post(Input &input)
{
	const u8 opcode = input.octet() % 18, shape = input.octet(), len = input.octet();
	srnic_send_wqe *wqe = &sends.wqe(sends.posted);

	if (!sends.has_room())
		return;
	memset(wqe, 0, sizeof(RingSends::Slot));
	wqe->opcode = opcode;
	wqe->flags = shape & (SRNIC_WQE_SIGNALED | SRNIC_WQE_SOLICITED | SRNIC_WQE_FENCE);
	wqe->rkey = shape & 0x40 && shape & 0x80 ? input.octet() : stag;
	wqe->remote_addr = base + (shape & 0x10 ? len * 5 : 0);
	wqe->num_sge = core_operation_of(opcode)->direction != CORE_DIRECTION_NONE;
	wqe->imm_inv = stag + 1;
	wqe->arg[0] = wqe->arg[1] = shape;
	if (wqe->num_sge)
		reinterpret_cast<srnic_sge *>(wqe + 1)->length = shape & 0x20 ? len * 3 : 8;
	sends.posted++;
}

// ---- its engine ----

// 22, 25, 29.
bool IbEnd::may_request() const
{
	return !delayed && !received.over && !answer_failed && !acks.failing && !sent.must_go_back;
}

Bytes IbEnd::build(const std::function<void()> &meanwhile)
{
	const bool may = may_request();
	u32 len;

	if (ended)
		return {};
	mirror_reads();
	sends.meanwhile = meanwhile;
	len = core_tx_choose(&tx);
	sends.meanwhile = nullptr;
	mirror_reads();
	REQUIRE(!len || sends.validated || tx.params.initiator); // 2
	REQUIRE(!len || !refusal_said);				 // 25
	if (!len)
		check_over();
	return len ? build_chosen(len, may) : Bytes{};
}

// 2, 25: a responder whose first FPDU names what its own memory fails at has not validated it, and
// may not say so.
void IbEnd::check_over()
{
	const core_over why = core_tx_over(&tx);
	const bool muted = !sends.validated && !tx.params.initiator;

	REQUIRE((why == CORE_OVER_REFUSED) == (refusal_said || (muted && received.over)));
	REQUIRE(why != CORE_OVER_FAILED || sends.failed);
	over |= why != CORE_OVER_NOT;
	ended |= why != CORE_OVER_NOT;
}

Bytes IbEnd::build_chosen(u32 len, bool may)
{
	const u32 answers = sends.asked.empty() ? 0 : sends.asked.front().number;
	Bytes out;
	core_tx_step step;

	do {
		step = core_tx_next(&tx);
		out.insert(out.end(), step.bytes, step.bytes + step.len);
		if (!fill(out, step))
			return {};
	} while (!step.last);
	REQUIRE(out.size() == len && len % 4 == 0);
	check_built(out, may, answers);
	return out;
}

bool IbEnd::fill(Bytes &out, const core_tx_step &step)
{
	const Bytes payload(step.payload, 0xaa);

	if (!step.payload)
		return true;
	if (fail_payloads || (!sends.list_usable && !step.response)) {
		fail_payloads -= fail_payloads > 0;
		answer_failed |= step.response;
		core_tx_fail(&tx, CORE_REGION_INVALID);
		return false;
	}
	core_tx_copied(&tx, payload.data(), step.payload);
	out = out + payload;
	return true;
}

// answers: the number of the peer's oldest request without a response.
void IbEnd::check_built(const Bytes &octets, bool may, u32 answers)
{
	const Segment segment(octets.slice(2, octets[0] << 8 | octets[1]));

	if (segment.is_ack())
		return check_ack(segment);
	REQUIRE(!segment.is_request() || may);
	sent.note(segment, sends.next - 1);
	if (segment.is_request() || !segment.last)
		return;
	REQUIRE(static_cast<int>(answers - said) > 0);
	said = answers;
	places.read_room++;
}

// 11, 16.
void IbEnd::check_ack(const Segment &segment)
{
	const wire::Ack ack = segment.ack();

	REQUIRE(segment.msn == ++acks_sent && segment.is_well_formed() && !segment.more);
	REQUIRE(ack.delivered - said <= received.count - said);
	REQUIRE(sends.asked.empty() ||
		static_cast<int>(sends.asked.front().number - ack.delivered) > 0);
	said = ack.delivered;
	probes_sent += segment.ask;
	REQUIRE(probes_sent <= probes);
	if (ack.syndrome)
		check_refusal(ack);
}

// 17, 21, 25: it is of the request behind the last one done, and said once.
void IbEnd::check_refusal(const wire::Ack &ack)
{
	if (answer_failed) {
		REQUIRE(ack.delivered + 1 == sends.asked.front().number);
	} else {
		REQUIRE(ack.delivered == received.count && ack.syndrome == acks.refusing);
		REQUIRE(received.over || (received.refusing && !received.said));
	}
	REQUIRE((ack.syndrome == CORE_SYNDROME_NOT_READY) == !(answer_failed || received.over));
	REQUIRE(ack.syndrome != CORE_SYNDROME_NOT_READY || ack.timer == acks.min_rnr_timer);
	received.said = true;
	refusal_said = answer_failed || received.over;
}

void IbEnd::rewind()
{
	core_rewind how{};

	mirror_reads();
	if (ended || !core_tx_must_rewind(&tx, &how))
		return;
	sends.go_back(how.index);
	REQUIRE(how.reads <= sends.reads.size());
	for (u32 n = 0; n < how.reads; n++) {
		sends.reads.pop_back();
		places.reads.pop_back();
	}
	core_tx_rewind(&tx);
	sent.go_back();
	delayed = true;
}

void IbEnd::resume()
{
	if (sent.must_go_back)
		return;
	core_tx_resume(&tx);
	delayed = false;
}

void IbEnd::probe()
{
	core_tx_probe(&tx);
	probes++;
}
