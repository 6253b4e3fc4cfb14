// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One end of a stream with acknowledgements (Documentation/ib.rst), for tests: both halves of a QP
// around one struct core_acks, and the octets that its peer sends.
#pragma once

#include "../shared/ib.hh"
#include "send_end.hh"
#include "stream.hh"

constexpr u8 signaled = SRNIC_WQE_SIGNALED;

// Fields of an Ack that was sent.
inline u32 delivered(const Fpdu &ack) { return word(ack.ulpdu, 18); }
inline u8 syndrome(const Fpdu &ack) { return ack.ulpdu[22]; }
inline u8 timer(const Fpdu &ack) { return ack.ulpdu[23]; }

// A ring of requests that may be unacknowledged, and what a QP sets.
struct Acks : core_acks {
	std::vector<core_sent> requests = std::vector<core_sent>(16);

	explicit Acks(u32 ask_often = 100) : core_acks()
	{
		rnr_retry = CORE_RNR_FOR_EVER;
		min_rnr_timer = 12;
		access = CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ |
			 CORE_ACCESS_REMOTE_ATOMIC | CORE_ACCESS_FLUSH_GLOBAL |
			 CORE_ACCESS_FLUSH_PERSISTENT;
		ask_every = ask_often;
		sent = requests.data();
		mask = static_cast<u32>(requests.size()) - 1;
		core_acks_init(this);
		core_acks_start(this, 0);
	}
};

// The parameters of such a stream.
inline core_tx_params send_params(Acks &acks, bool initiator = true, bool crc = true)
{
	core_tx_params params{};

	params.framing = CORE_FRAMING_IB;
	params.acks = &acks;
	params.ord = 4;
	params.crc = crc;
	params.initiator = initiator;
	return params;
}

inline core_rx_params receive_params(Acks &acks, bool crc = true)
{
	core_rx_params params{};

	params.framing = CORE_FRAMING_IB;
	params.acks = &acks;
	params.first_msn = CORE_FIRST_MSN;
	params.crc = crc;
	return params;
}

// With Flush and Atomic Write.
template <class Params> Params extended(Params params, bool agreed = true)
{
	params.extended = agreed;
	return params;
}

struct IbEnd {
	Acks acks;
	SendEnd send;
	Stream receive;

	explicit IbEnd(u32 ask_every = 100, bool flushes = false)
		: acks(ask_every), send(extended(send_params(acks), flushes)),
		  receive(extended(receive_params(acks), flushes))
	{
		sends(); // the first Ack
		send.out.clear();
	}

	// What the peer sends, and what becomes of it.
	core_rx_event comes(const wire::Bytes &ulpdu)
	{
		const core_rx_event event = receive.feed_fpdu(wire::fpdu(ulpdu));

		core_rx_done(&receive.rx);
		return event;
	}
	core_rx_event ack(const wire::Ack &what) { return comes(wire::ack(what, next_ack++)); }
	const core_acked &acked() const { return *core_rx_acked(&receive.rx); }

	// The engine: what it sends until it has nothing more.
	Opcodes sends()
	{
		const size_t before = send.out.size();

		send.send_all();
		const Opcodes opcodes = send.opcodes();
		return {opcodes.begin() + static_cast<ptrdiff_t>(before), opcodes.end()};
	}
	// Goes back, as the host does when the peer is not ready. How.
	core_rewind goes_back()
	{
		core_rewind how{};

		EXPECT_FALSE(send.send_one());
		EXPECT_TRUE(core_tx_must_rewind(&send.tx, &how));
		for (u32 n = 0; n < how.reads; n++)
			send.host.reads.pop_back();
		core_tx_rewind(&send.tx);
		return how;
	}
	const wire::Bytes &last() const { return send.out.back().ulpdu; }
	u8 control() const { return last()[1]; }

	u32 next_ack = 1;
};

// Of the Terminate that ends the stream.
inline u32 code(const IbEnd &end) { return core_terminate_code(&end.receive.term()); }
