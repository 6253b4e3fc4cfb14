// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A host for the core: memory, receives and reads in plain containers, and a stream that feeds data
// to the parser as the module does. It checks every placement of the core again, in wider
// arithmetic.
#pragma once

#include "../shared/wire.hh"
#include "api/core.h"

struct FakeHost {
	struct Region {
		core_region grant;
		wire::Bytes memory;
	};
	struct Sink {
		core_read_sink read;
		wire::Bytes memory;
	};
	struct Receive {
		core_take verdict;
		wire::Bytes memory;
	};

	std::map<u32, Region> regions;
	std::deque<Receive> receives;
	std::deque<Sink> reads;
	static constexpr u32 pd = 7;
	unsigned read_room = 0;
	unsigned atomics_done = 0;
	wire::Bytes receiving; // the receive in progress
	unsigned receives_taken = 0, regions_asked = 0;

	void grant(u32 stag, u64 base, u64 length, u32 of_pd = pd,
		   u32 access = CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ)
	{
		regions[stag] = {{base, length, of_pd, access}, wire::Bytes(length)};
	}
	void post_receive(u32 room, core_take verdict = CORE_TAKE_OK)
	{
		receives.push_back({verdict, wire::Bytes(room)});
	}
	void post_read(u32 stag, u64 to, u32 length)
	{
		reads.push_back({{stag, to, length, 0, 0}, wire::Bytes(length)});
	}
	void post_atomic(u32 id) { reads.push_back({{id, 0, 8, 0, 1}, wire::Bytes(8)}); }

	static FakeHost &of(void *ctx) { return *static_cast<FakeHost *>(ctx); }

	// Where n octets are to be placed, or nullptr if they must not.
	u8 *target(const core_place &at, u32 n)
	{
		if (at.kind == CORE_PLACE_REGION)
			return region_target(at, n);
		if (at.kind == CORE_PLACE_RECEIVE)
			return within(receiving, at.to, n);
		if (reads.empty() || reads.front().read.placed != at.to)
			return nullptr;
		u8 *to = within(reads.front().memory, at.to, n);
		reads.front().read.placed += n;
		return to;
	}

private:
	u8 *region_target(const core_place &at, u32 n)
	{
		auto found = regions.find(at.stag);

		if (found == regions.end())
			return nullptr;
		const core_region &grant = found->second.grant;

		if (grant.pd != pd || !(grant.access & CORE_ACCESS_REMOTE_WRITE) ||
		    at.to < grant.base)
			return nullptr;
		return within(found->second.memory, at.to - grant.base, n);
	}

	static u8 *within(wire::Bytes &memory, unsigned __int128 offset, u32 n)
	{
		return offset + n <= memory.size() ? memory.data() + static_cast<size_t>(offset)
						   : nullptr;
	}
};

inline u64 crcs_computed;

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

		params.ctx = &host;
		params.pd = FakeHost::pd;
		params.first_msn = first_msn;
		params.crc = crc;
		params.rtr = rtr;
		params.markers = markers;
		params.swaps = swaps;
		core_rx_init(&rx, &params);
	}
	// As params say, but for the host's.
	explicit Stream(core_rx_params params)
		: send_msn(params.first_msn), read_msn(params.first_msn)
	{
		params.ctx = &host;
		params.pd = FakeHost::pd;
		core_rx_init(&rx, &params);
	}
	Stream(const Stream &) = delete;

	u64 fpdus() const { return core_rx_fpdus(&rx); }
	const core_terminate &term() const { return *core_rx_terminate(&rx); }
	const core_asked &asked() const { return *core_rx_asked(&rx); }
	const core_read_request &read_request() const { return asked().read; }

	// What the peer must send next.
	u32 send_msn, read_msn;
	u32 send_mo() const { return filled; }
	u32 send_room() const { return u32(host.receiving.size()) - filled; }

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
	u32 filled = 0; // bytes of the receive in progress

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
			place(*step.place, from, n);
			return placed(from, n);
		}
		if (within_its_buffer(step.into, step.want))
			memcpy(step.into, from, n);
		else
			ADD_FAILURE() << "wants octets outside its buffer";
		return core_rx_took(&rx, n);
	}

	bool within_its_buffer(const u8 *into, u32 want) const
	{
		const u8 *start = reinterpret_cast<const u8 *>(&rx);

		return into >= start && into + want <= start + sizeof(rx);
	}

	void place(const core_place &at, const u8 *from, u32 n)
	{
		u8 *to = host.target(at, n);

		filled += at.kind == CORE_PLACE_RECEIVE ? n : 0;
		if (to)
			memcpy(to, from, n);
		else
			ADD_FAILURE() << "placement outside of what was granted";
	}

	void record(core_rx_event event)
	{
		Delivery delivery{event};

		if (event == CORE_RX_MORE)
			return;
		if (event == CORE_RX_SEND)
			complete_send(delivery);
		read_msn += event == CORE_RX_READ_REQUEST || event == CORE_RX_ATOMIC_REQUEST;
		if (event == CORE_RX_ATOMIC_RESPONSE)
			delivery.data = wire::be64(core_rx_original(&rx));
		if (event == CORE_RX_READ_RESPONSE || event == CORE_RX_ATOMIC_RESPONSE) {
			if (event == CORE_RX_READ_RESPONSE)
				delivery.data = host.reads.front().memory;
			host.reads.pop_front();
		}
		deliveries.push_back(delivery);
	}

	void complete_send(Delivery &delivery)
	{
		const core_rx_message &message = *core_rx_delivered(&rx);

		send_msn++;
		filled = 0;
		delivery.length = message.length;
		delivery.inv_stag = message.inv_stag;
		delivery.solicited = message.solicited;
		delivery.invalidate = message.invalidate;
		delivery.rtr = message.rtr;
		delivery.immediate = message.is_immediate;
		if (message.has_immediate)
			delivery.with.assign(message.immediate,
					     message.immediate + sizeof(message.immediate));
		if (delivery.rtr)
			return;
		if (delivery.immediate) {
			delivery.data.assign(message.immediate,
					     message.immediate + sizeof(message.immediate));
			host.receiving.clear();
			return;
		}
		ASSERT_LE(delivery.length, host.receiving.size());
		delivery.data.assign(host.receiving.begin(),
				     host.receiving.begin() + delivery.length);
		host.receiving.clear();
	}
};
