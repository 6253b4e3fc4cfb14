// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The send scheduler and either transmit framing, in any order of events: every FPDU or segment has
// its announced length and is complete, with MPA two tagged messages never mix and a muted
// responder sends nothing, reads stay within the ORD, and nothing follows a refusal or Terminate.
#include "input_sends.hh"

namespace {

constexpr u32 ord = 2;

struct End {
	InputSends host;
	core_tx tx;
	bool initiator, mpa, over = false;
	u8 tagged_open = CORE_MSG_NONE; // the unfinished tagged message

	End(Input input, u8 how) : host{input}, initiator(how & 1), mpa(input.octet() % 4)
	{
		core_tx_params params{};

		params.ctx = static_cast<SendHost *>(&host);
		params.ord = ord;
		params.slot_size = sizeof(host.slot);
		params.kernel = how & 2;
		params.crc = how & 4;
		params.markers = how & 8;
		params.initiator = initiator;
		params.rtr = initiator && mpa ? 1 << (how >> 4) % 3 & (how >> 6 ? 7 : 0) : 0;
		params.framing = mpa ? CORE_FRAMING_MPA : CORE_FRAMING_RDMATCP;
		core_tx_init(&tx, &params);
		core_tx_set_emss(&tx, 600);
	}

	void check_turn(const core_tx_msg &msg)
	{
		bool tagged = msg.opcode == CORE_MSG_WRITE || msg.opcode == CORE_MSG_READ_RESPONSE;

		REQUIRE(initiator || host.validated || !mpa);
		if (!tagged || !mpa)
			return;
		REQUIRE(tagged_open == CORE_MSG_NONE || tagged_open == msg.opcode);
		tagged_open = msg.done ? u8{CORE_MSG_NONE} : msg.opcode;
	}

	// fail_at: the payload step that cannot be read.
	void build(u32 len, u32 fail_at)
	{
		const core_tx_msg &msg = *tx.turn;
		u8 payload[700] = {};
		u32 built = 0, copies = 0;
		core_tx_step step;

		do {
			step = core_tx_next(&tx);
			REQUIRE(step.len || step.payload);
			built += step.len + step.payload;
			if (step.len)
				memcpy(payload, step.bytes, step.len); // all of it can be read
			if (!step.payload)
				continue;
			REQUIRE(u64{step.offset} + step.payload <= msg.length &&
				step.payload <= sizeof(payload));
			if (copies++ == fail_at) {
				core_tx_fail(&tx, CORE_REGION_INVALID);
				REQUIRE(host.terminate && !core_tx_choose(&tx));
				return;
			}
			core_tx_copied(&tx, payload, step.payload);
		} while (!step.last);
		REQUIRE(built == len && built % 4 == 0);
		check_turn(msg);
	}

	void check_reads()
	{
		REQUIRE(host.reads.size() <= ord + 1);
		for (const SendHost::Expected &read : host.reads)
			REQUIRE(read.sink.stag || !mpa); // RDMA/TCP: the request's number
	}

	void terminate()
	{
		core_terminate term{};
		u32 len;

		term.has_ddp = 1;
		term.ddp_header_len = 18;
		len = core_tx_terminate(&tx, &term);
		over = true;
		host.terminate = term;
		REQUIRE(!len == (!mpa || (!initiator && !host.validated)));
		tagged_open = CORE_MSG_NONE;
		if (len)
			build(len, ~0u);
		REQUIRE(!core_tx_choose(&tx));
	}

	// Each third request is an atomic operation.
	void ask()
	{
		const u32 n = host.answered + static_cast<u32>(host.asked.size()) + 1;

		if (host.asked.size() == 4)
			return;
		if (n % 3 == 2)
			host.ask_atomic(5, 6);
		else
			host.ask({1, 700 * (n % 5), 2, 3, 4});
	}

	void step(u8 what)
	{
		switch (what % 8) {
		case 0:
			ask();
			break;
		case 1:
			if (!host.reads.empty())
				host.reads.pop_front();
			break;
		case 2:
			host.validated = true;
			break;
		case 3:
			core_tx_close(&tx, what >> 3, what & 0x80);
			core_tx_closed(&tx);
			break;
		case 4:
			if (what >= 0xf0)
				terminate();
			break;
		default:
			if (u32 len = core_tx_choose(&tx))
				build(len, what >> 3);
			if (host.terminate)
				REQUIRE(!core_tx_choose(&tx));
		}
		check_reads();
	}
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	Input input{data, size};
	u8 how = input.octet();
	End end(input, how);

	while (end.host.input.left && !end.over)
		end.step(end.host.input.octet());
	end.terminate();
	return 0;
}
