// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The sending end of a stream, for tests: turns messages into octets by the core's steps.
#pragma once

#include "../shared/wire.hh"
#include "api/core.h"

struct Sent {
	wire::Bytes header; // ULPDU_Length and DDP header, if there are no markers
	u32 offset, payload, pad;
	bool last;
};

struct Sender {
	core_fpdu fpdu{};
	wire::Bytes stream = {};
	std::vector<Sent> sent = {};

	explicit Sender(bool markers = false, bool crc = true)
	{
		core_fpdu_init(&fpdu, crc, markers);
	}

	void send(core_tx_msg msg, const wire::Bytes &data, u32 mulpdu = 64768)
	{
		for (size_t n = 0; !msg.done && n < 100000; n++)
			send_fpdu(msg, data, mulpdu);
	}

	void send_fpdu(core_tx_msg &msg, const wire::Bytes &data, u32 mulpdu)
	{
		u32 expected = core_fpdu_len(&fpdu, &msg, mulpdu), offset = msg.sent;
		wire::Bytes octets;
		core_tx_step step;

		core_fpdu_begin(&fpdu, &msg, mulpdu);
		do {
			step = core_fpdu_next(&fpdu);
			octets.insert(octets.end(), step.bytes, step.bytes + step.len);
			if (!step.payload)
				continue;
			const u8 *from = data.data() + step.offset;

			core_fpdu_copied(&fpdu, from, step.payload);
			octets.insert(octets.end(), from, from + step.payload);
		} while (!step.last);
		EXPECT_EQ(octets.size(), expected);
		EXPECT_EQ(octets.size() % 4, 0u); // RFC 5044 4.1
		sent.push_back(describe(octets, offset, msg.sent - offset, msg.done));
		stream = stream + octets;
	}

private:
	static Sent describe(const wire::Bytes &octets, u32 offset, u32 payload, bool last)
	{
		u32 ulpdu = u32{octets[0]} << 8 | octets[1], header = octets[2] & 0x80 ? 16 : 20;
		u32 whole = static_cast<u32>(octets.size());

		return {wire::Bytes(octets.begin(), octets.begin() + header), offset, payload,
			whole - 2 - ulpdu - 4, last};
	}
};

inline core_tx_msg message(u8 opcode, size_t length, u32 msn = 1)
{
	core_tx_msg msg{};

	msg.opcode = opcode;
	msg.length = static_cast<u32>(length);
	msg.msn = msn;
	return msg;
}
