// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The core's scheduler on a host of the test, and the resulting stream, parsed.
#pragma once

#include "posted_sends.hh"
#include "sender.hh"

// One FPDU as sent.
struct Fpdu {
	u8 opcode;
	bool last;
	wire::Bytes ulpdu;
	bool operator==(u8 other) const { return opcode == other; }
};
using Opcodes = std::vector<u8>;

inline u32 msn(const Fpdu &fpdu) { return word(fpdu.ulpdu, 10); }

// Lengths of payload, as the EMSS of these ends has them.
constexpr u32 one_segment = 1000, three_segments = 4000;

struct SendEnd {
	PostedSends host;
	core_tx tx;
	u32 emss = 1460;
	std::vector<Fpdu> out;	     // all sent FPDUs
	u32 unreadable_from = ~0u;   // payload of a message from this offset on cannot be read
	wire::Bytes stream;

	static constexpr u32 ord = 2;

	explicit SendEnd(u8 rtr = 0, bool initiator = true, u32 its_ord = ord, bool markers = false)
	{
		core_tx_params params{};

		params.ord = its_ord;
		params.crc = true;
		params.markers = markers;
		params.initiator = initiator;
		params.rtr = rtr;
		start(params);
	}
	// As params say, but for the host's.
	explicit SendEnd(const core_tx_params &params) { start(params); }
	SendEnd(const SendEnd &) = delete;

	// ---- the consumer, and the peer ----

	srnic_send_wqe &post(u8 opcode, u32 length = 0, u8 flags = 0)
	{
		auto *wqe = reinterpret_cast<srnic_send_wqe *>(
			host.posted.emplace_back(PostedSends::Slot{}).octets);

		wqe->opcode = opcode;
		wqe->flags = flags;
		wqe->rkey = 0x500;
		wqe->remote_addr = 0x7000;
		if (core_operation_of(opcode)->direction != CORE_DIRECTION_NONE) {
			wqe->num_sge = 1;
			*reinterpret_cast<srnic_sge *>(wqe + 1) = {0x10000, length, 0x900};
		}
		return *wqe;
	}
	void ask(u32 length) { host.ask({0x77, length, 0x300, 0x1111, 0x2222}); }
	void ask_atomic(u32 id, u64 original) { host.ask_atomic(id, original); }
	void answer_a_read() { host.reads.pop_front(); }

	// ---- the engine ----

	// Sends one FPDU. False if there is none now.
	bool send_one()
	{
		u32 len = core_tx_choose(&tx);

		return len && send_fpdu(len);
	}
	bool send_terminate(const core_terminate &term)
	{
		u32 len = core_tx_terminate(&tx, &term);

		return len && send_fpdu(len);
	}
	void send_all()
	{
		for (int n = 0; n < 100000 && send_one(); n++)
			;
	}
	Opcodes opcodes() const
	{
		Opcodes all;

		for (const Fpdu &fpdu : out)
			all.push_back(fpdu.opcode);
		return all;
	}

private:
	void start(core_tx_params params)
	{
		params.ctx = static_cast<SendHost *>(&host);
		params.slot_size = sizeof(PostedSends::Slot);
		params.kernel = true;
		core_tx_init(&tx, &params);
		core_tx_set_emss(&tx, emss);
	}
	bool send_fpdu(u32 expected)
	{
		wire::Bytes octets;
		core_tx_step step;

		do {
			step = core_tx_next(&tx);
			if (step.payload && !step.response && !host.list_usable) {
				core_tx_fail(&tx, CORE_REGION_INVALID);
				return send_one(); // as the module does
			}
			if (step.payload && step.offset + step.payload > unreadable_from) {
				core_tx_fail(&tx, CORE_REGION_INVALID);
				return false;
			}
			take(step, octets);
		} while (!step.last);
		EXPECT_EQ(octets.size(), expected);
		stream = stream + octets;
		if (tx.params.framing != CORE_FRAMING_RDMATCP && !tx.fpdu.markers.on)
			note(octets);
		return true;
	}
	void take(const core_tx_step &step, wire::Bytes &octets)
	{
		wire::Bytes copy(step.payload, 0xaa);

		octets.insert(octets.end(), step.bytes, step.bytes + step.len);
		if (u32 *sum = core_tx_sum(&tx)) // as the module does, while it copies
			*sum = core_crc32c_table(*sum, copy.data(), step.payload);
		else
			core_tx_copied(&tx, copy.data(), step.payload);
		octets.insert(octets.end(), copy.begin(), copy.end());
	}
	void note(const wire::Bytes &octets)
	{
		u32 len = u32{octets[0]} << 8 | octets[1];

		out.push_back({u8(octets[3] & 0x0f), (octets[2] & wire::last) != 0,
			       wire::Bytes(octets.begin() + 2, octets.begin() + 2 + len)});
	}
};
