// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A host for the core: memory, receives and reads in plain containers, and a stream that feeds
// octets to the parser the way the module does. It trusts the core in nothing: every placement is
// checked again, in wider arithmetic.
#pragma once

#include "wire.hh"

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
	unsigned read_room = 0;
	wire::Bytes receiving; // the receive in progress
	unsigned receives_taken = 0, regions_asked = 0;

	void grant(u32 stag, u64 base, u64 length, u32 pd = 7,
		   u32 access = CORE_ACCESS_REMOTE_WRITE | CORE_ACCESS_REMOTE_READ)
	{
		regions[stag] = {{base, length, pd, access}, wire::Bytes(length)};
	}
	void post_receive(u32 room, core_take verdict = CORE_TAKE_OK)
	{
		receives.push_back({verdict, wire::Bytes(room)});
	}
	void post_read(u32 stag, u64 to, u32 length)
	{
		reads.push_back({{stag, to, length, 0}, wire::Bytes(length)});
	}

	static FakeHost &of(void *ctx) { return *static_cast<FakeHost *>(ctx); }
};

inline u64 crcs_computed;

// One thing that the parser reported, with what belongs to it.
struct Delivery {
	core_rx_event event;
	u32 length = 0, inv_stag = 0;
	bool solicited = false, invalidate = false, rtr = false;
	wire::Bytes data = {}; // of a Send or a completed read

	bool operator==(const Delivery &) const = default;
};

inline void PrintTo(const Delivery &d, std::ostream *out)
{
	*out << "event " << d.event << " length " << d.length << " inv " << d.inv_stag
	     << (d.solicited ? " SE" : "") << (d.rtr ? " RTR" : "");
}

// One incoming stream and everything it did.
struct Stream {
	FakeHost host;
	core_rx rx;
	std::vector<Delivery> deliveries;

	explicit Stream(bool crc = true, u8 rtr = 0, bool markers = false)
	{
		core_rx_params params{};

		params.ctx = &host;
		params.pd = 7;
		params.crc = crc;
		params.rtr = rtr;
		params.markers = markers;
		core_rx_init(&rx, &params);
	}
	Stream(const Stream &) = delete;

	bool over() { return core_rx_next(&rx).kind == CORE_RX_STOP; }
	bool between_fpdus()
	{
		return !over() && rx.have == 0 && core_rx_next(&rx).kind == CORE_RX_BYTES;
	}

	// Feeds one piece, as one skb would come. Returns the octets that were taken before the
	// stream was over.
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

			if (!take(step, piece.data() + done, static_cast<u32>(n)))
				break;
			done += n;
			record(core_rx_took(&rx, static_cast<u32>(n)));
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

	// One whole FPDU: the parser must never want an octet behind its end.
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
	bool take(const core_rx_step &step, const u8 *from, u32 n)
	{
		if (step.kind == CORE_RX_PLACE)
			return place(from, n);
		if (!within_one_of_its_buffers(step.into, step.want)) {
			ADD_FAILURE() << "wants octets outside its buffers";
			return false;
		}
		memcpy(step.into, from, n);
		return true;
	}

	bool within_one_of_its_buffers(const u8 *into, u32 want) const
	{
		return (into >= rx.buf && into + want <= rx.buf + sizeof(rx.buf)) ||
		       (into >= rx.marker && into + want <= rx.marker + sizeof(rx.marker));
	}

	bool place(const u8 *from, u32 n)
	{
		u8 *to = target(n);

		if (!to) {
			ADD_FAILURE() << "placement outside of what was granted";
			return false;
		}
		memcpy(to, from, n);
		if (rx.params.crc)
			rx.crc = core_host_crc32c(rx.crc, from, n);
		return true;
	}

	u8 *target(u32 n)
	{
		if (rx.place.kind == CORE_PLACE_REGION)
			return region_target(n);
		if (rx.place.kind == CORE_PLACE_RECEIVE)
			return within(host.receiving, rx.place.to, n);
		if (host.reads.empty() || host.reads.front().read.placed != rx.place.to)
			return nullptr;
		u8 *to = within(host.reads.front().memory, rx.place.to, n);
		host.reads.front().read.placed += n;
		return to;
	}

	u8 *region_target(u32 n)
	{
		auto found = host.regions.find(rx.place.stag);

		if (found == host.regions.end())
			return nullptr;
		const core_region &grant = found->second.grant;

		if (grant.pd != rx.params.pd || !(grant.access & CORE_ACCESS_REMOTE_WRITE) ||
		    rx.place.to < grant.base)
			return nullptr;
		return within(found->second.memory, rx.place.to - grant.base, n);
	}

	static u8 *within(wire::Bytes &memory, unsigned __int128 offset, u32 n)
	{
		return offset + n <= memory.size() ? memory.data() + static_cast<size_t>(offset)
						   : nullptr;
	}

	void record(core_rx_event event)
	{
		Delivery delivery{event};

		if (event == CORE_RX_MORE)
			return;
		if (event == CORE_RX_SEND)
			complete_send(delivery);
		if (event == CORE_RX_READ_RESPONSE) {
			delivery.data = host.reads.front().memory;
			host.reads.pop_front();
		}
		deliveries.push_back(delivery);
	}

	void complete_send(Delivery &delivery)
	{
		delivery.length = rx.message.length;
		delivery.inv_stag = rx.message.inv_stag;
		delivery.solicited = rx.message.solicited;
		delivery.invalidate = rx.message.invalidate;
		delivery.rtr = rx.message.rtr;
		if (delivery.rtr)
			return;
		ASSERT_LE(delivery.length, host.receiving.size());
		delivery.data.assign(host.receiving.begin(),
				     host.receiving.begin() + delivery.length);
		host.receiving.clear();
	}
};
