// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One end of a stream with acknowledgements: both halves of the core around one struct core_acks,
// their host, and a ledger that checks after each step what Documentation/ib.rst says.
#pragma once

#include "host.hh"
#include "ib_ledger.hh"
#include "ib_sends.hh"

// What the input decides about an end.
struct IbChoices {
	bool initiator, crc, kernel;
	u8 ask_every, rnr_retry;
	u32 first_number; // of both ends' requests, - 1
	bool extended;	  // the ends have agreed on Flush and Atomic Write
};

class IbEnd {
public:
	static constexpr u32 ord = 2, stag = 0x100, region_len = 1024;
	static constexpr u64 base = 0x1000;
	static constexpr u16 every_right = CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ |
					   CORE_ACCESS_REMOTE_ATOMIC | CORE_ACCESS_FLUSH_GLOBAL |
					   CORE_ACCESS_FLUSH_PERSISTENT;

	RingSends sends;
	FakeHost places;
	core_acks acks{};
	core_tx tx;
	core_rx rx;
	ledger::Sent sent;
	ledger::Received received;
	bool over = false;			   // nothing is taken from the peer any more
	bool ended = false;			   // nor sent
	bool broken = false;			   // because the peer has broken a rule
	u8 fail_placements = 0, fail_payloads = 0; // how many more
	u8 fail_invalidations = 0;

	explicit IbEnd(const IbChoices &choices);
	IbEnd(const IbEnd &) = delete;

	// The program.
	void post(Input &input);
	// The engine: one FPDU, or nothing. meanwhile: runs in its questions to the host.
	Bytes build(const std::function<void()> &meanwhile);
	void rewind();
	void resume();
	void probe();
	// The peer's octets, in any pieces.
	void feed(const Bytes &octets);
	// What holds between two steps.
	void check() const;

private:
	const bool crc;
	core_sent ring[RingSends::entries];
	bool delayed = false, answer_failed = false, refusal_said = false;
	u32 probes = 0, probes_sent = 0, said = 0, last_end = 0, acks_sent = 0, acks_taken = 0;
	Bytes fpdu; // that is coming

	core_tx_params tx_params(const IbChoices &choices);
	core_rx_params rx_params(const IbChoices &choices);

	bool may_request() const;
	Bytes build_chosen(u32 len, bool may_request);
	bool fill(Bytes &out, const core_tx_step &step);
	void fail_payload(bool response);
	void check_built(const Bytes &octets, bool may_request, u32 answers);
	void check_ack(const ledger::Segment &segment);
	void check_refusal(const wire::Ack &ack);
	void check_over();
	void start_acks(const IbChoices &choices);

	void mirror_reads();
	u32 fpdu_len() const;
	Bytes ulpdu() const;
	bool drops() const;
	bool may_place(const core_place &at) const;
	core_rx_event place(const core_place &at, const u8 *from, u32 n);
	core_rx_event take(const core_rx_step &step, const u8 *from, u32 n);
	void placing_whole(const core_place &at, u32 n);
	u32 take_whole(const Bytes &octets);
	void on_fpdu(core_rx_event event);
	void on_event(const ledger::Segment *segment, core_rx_event event);
	void on_more(const ledger::Segment &segment);
	void on_delivered(const ledger::Segment &segment, core_rx_event event);
	void on_ack(const ledger::Segment &segment);
	void on_response(core_rx_event event);
	void on_refused(const ledger::Segment *segment);
	void on_error(const ledger::Segment *segment);
	void check_not_ready(const ledger::Segment &segment) const;
	bool is_invalidation_refused(const ledger::Segment &segment);
	void count(u32 requests);
	bool has_good_crc() const;
	bool is_good_ack(const ledger::Segment &segment) const;
};
