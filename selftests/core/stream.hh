// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// An incoming stream: feeds data to the parser as the module does, and records what it delivers.
#pragma once

#include "../shared/fake_host.hh"
#include "../shared/wire.hh"

// An event that the parser reported, with its data.
struct Delivery {
	core_rx_event event;
	u32 length = 0, inv_stag = 0;
	bool solicited = false, invalidate = false, rtr = false;
	wire::Bytes data = {}; // of a Send or a completed read, or Immediate Data
	bool immediate = false;
	wire::Bytes with = {}; // Immediate Data of a Send

	bool operator==(const Delivery &) const = default;
};

inline void PrintTo(const Delivery &d, std::ostream *out)
{
	*out << "event " << d.event << " length " << d.length << " inv " << d.inv_stag
	     << (d.solicited ? " SE" : "") << (d.rtr ? " RTR" : "");
}

// An incoming stream and its effects.
struct Stream {
	FakeHost host;
	core_rx rx;
	std::vector<Delivery> deliveries;

	explicit Stream(bool crc = true, u8 rtr = 0, bool markers = false,
			u32 first_msn = CORE_FIRST_MSN, bool swaps = false)
		: send_msn(first_msn), read_msn(first_msn)
	{
		core_rx_params params{};

		params.first_msn = first_msn;
		params.crc = crc;
		params.rtr = rtr;
		params.markers = markers;
		params.swaps = swaps;
		start(params);
	}
	// As params say, but for the host's.
	explicit Stream(const core_rx_params &params)
		: send_msn(params.first_msn), read_msn(params.first_msn)
	{
		start(params);
	}
	Stream(const Stream &) = delete;

	u64 fpdus() const { return core_rx_fpdus(&rx); }
	const core_terminate &term() const { return *core_rx_terminate(&rx); }
	const core_asked &asked() const { return *core_rx_asked(&rx); }
	const core_read_request &read_request() const { return asked().read; }

	// What the peer must send next.
	u32 send_msn, read_msn;
	u32 send_mo() const { return host.receive_active ? host.filled : 0; }
	u32 send_room() const { return u32(host.receiving.size()) - send_mo(); }

	bool over() { return core_rx_next(&rx).kind == CORE_RX_STOP; }
	bool between_fpdus()
	{
		core_rx_step step = core_rx_next(&rx);

		return core_rx_between(&rx) || (step.kind == CORE_RX_BYTES && step.want == 16);
	}

	// Feeds one piece, like one skb. Returns the octets consumed before the end of the stream.
	size_t feed(const wire::Bytes &piece)
	{
		size_t done = 0;

		while (done < piece.size()) {
			const core_rx_taken whole = core_rx_whole(
				&rx, piece.data() + done, static_cast<u32>(piece.size() - done));

			if (whole.n) {
				done += whole.n;
				record(whole.event);
				continue;
			}
			core_rx_step step = core_rx_next(&rx);

			if (step.kind == CORE_RX_STOP)
				break;
			if (step.want == 0) {
				ADD_FAILURE() << "wants nothing";
				break;
			}
			size_t n = std::min<size_t>(step.want, piece.size() - done);

			core_rx_event event = take(step, piece.data() + done, static_cast<u32>(n));

			done += n;
			record(event);
		}
		return done;
	}

	void feed_octets(const wire::Bytes &stream)
	{
		for (u8 octet : stream)
			feed({octet});
	}

	void feed_pieces(const wire::Bytes &stream, unsigned seed)
	{
		std::mt19937 random(seed);

		for (size_t done = 0; done < stream.size();) {
			size_t n = std::min<size_t>(1 + random() % (random() % 4 ? 9 : 2000),
						    stream.size() - done);

			feed(wire::Bytes(stream.begin() + done, stream.begin() + done + n));
			done += n;
		}
	}

	// One whole FPDU: the parser must never want an octet beyond its end.
	core_rx_event feed_fpdu(const wire::Bytes &fpdu)
	{
		size_t before = deliveries.size();

		for (size_t done = 0; done < fpdu.size() && !over();) {
			core_rx_step step = core_rx_next(&rx);

			EXPECT_LE(step.want, fpdu.size() - done) << "wants octets of the next FPDU";
			size_t n = std::min<size_t>(step.want, fpdu.size() - done);

			done += feed(wire::Bytes(fpdu.begin() + done, fpdu.begin() + done + n));
		}
		return deliveries.size() > before ? deliveries.back().event : CORE_RX_MORE;
	}

private:
	void start(core_rx_params params)
	{
		params.ctx = &host;
		params.pd = FakeHost::pd;
		params.qpn = FakeHost::qpn;
		host.swaps = params.swaps;
		core_rx_init(&rx, &params);
	}

	// As the module does: it sums while it copies, if it may.
	core_rx_event placed(const u8 *from, u32 n)
	{
		u32 *sum = core_rx_sum(&rx);

		if (!sum)
			return core_rx_placed(&rx, from, n);
		*sum = core_crc32c_table(*sum, from, n);
		return core_rx_placed(&rx, nullptr, n);
	}

	core_rx_event take(const core_rx_step &step, const u8 *from, u32 n)
	{
		if (step.kind == CORE_RX_PLACE) {
			host.place(*step.place, from, n);
			return placed(from, n);
		}
		if (in_its_buffer(rx, step))
			memcpy(step.into, from, n);
		else
			ADD_FAILURE() << "wants octets outside its buffer";
		return core_rx_took(&rx, n);
	}

	void record(core_rx_event event)
	{
		Delivery delivery{event};

		if (event == CORE_RX_MORE)
			return;
		if (event == CORE_RX_SEND)
			describe(*core_rx_delivered(&rx), delivery);
		read_msn += event == CORE_RX_READ_REQUEST || event == CORE_RX_ATOMIC_REQUEST;
		send_msn += event == CORE_RX_SEND;
		delivery.data = host.deliver(rx, event);
		deliveries.push_back(delivery);
	}

	static void describe(const core_rx_message &message, Delivery &delivery)
	{
		delivery.length = message.length;
		delivery.inv_stag = message.inv_stag;
		delivery.solicited = message.solicited;
		delivery.invalidate = message.invalidate;
		delivery.rtr = message.rtr;
		delivery.immediate = message.is_immediate;
		if (message.has_immediate)
			delivery.with.assign(message.immediate,
					     message.immediate + sizeof(message.immediate));
	}
};
