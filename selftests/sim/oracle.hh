// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What has to be, after RFC 5040 5.5 and verbs: a model of both memories and of all queues at the
// level of messages. It knows nothing of segments, framing or the core's checks. It follows what
// the endpoints tell, believes none of it, and throws at the first thing that is not as it must be.
//
// Exactness: an endpoint's memory is changed by its own consumer and by messages that come in one
// stream, so each octet that comes in has one right place and one right value: the next of the
// oldest message that is not delivered. What a message carries is taken from the model's memory at
// the moment when the sender reads it.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "endpoint.hh"

namespace sim {

// How often everything happened, to show that a run reached it.
using Tally = std::map<std::string, u64>;

class Oracle : public Witness {
public:
	Oracle(const Setup setups[2], Tally &tally);

	void attach(unsigned side, const Endpoint &endpoint, const Stream &out);

	// The consumer's calls, before the endpoint hears of them.
	void posted(unsigned side, const SendRequest &request);
	void posted(unsigned side, const RecvRequest &request);
	void stored(unsigned side, u64 at, const Bytes &data);

	// Octets are about to reach this side.
	void receiving(unsigned side) { foresee(side); }

	// All of an endpoint's memory is as it should be.
	void compare(unsigned side) const;
	// At the end: nothing is missing.
	void expect_all_done() const;
	void expect_all_flushed() const;

	bool failed(unsigned side) const { return sides[side].failed; }
	size_t unanswered(unsigned side) const { return sides[side].wire.size(); }
	u64 completions() const { return completed_count; }

	void started(unsigned, Source, const core_tx_msg &, u32) override;
	void fetched(unsigned, Source, u32, u32) override;
	void finished(unsigned, Source, u64) override;
	void done_locally(unsigned, u32) override;
	void wrote(unsigned, core_place_kind, u64, u32) override;
	void delivered(unsigned, core_rx_event) override;
	void completed(unsigned, const srnic_cqe &, bool) override;
	void connected(unsigned, const core_mpa_agreed &) override;
	void failed(unsigned, Cause, const core_terminate *) override;

private:
	struct Op {
		SendRequest request;
		u32 length;
		bool started, built, done;
		bool refused; // seen to be impossible
		u64 stream_end;
	};
	struct Message {
		Source source;
		u8 opcode;
		u32 length;
		u32 op; // of the sender's, for its requests; of the reader's, for responses
		bool rtr;
		bool built;
		u64 stream_end;
		u32 stag, inv_stag; // writes: at the receiver
		u64 to;
		Bytes content; // as far as the sender has read it
		u32 placed;
	};
	struct InboundRead { // delivered, not yet answered
		u32 stag;
		u64 to;
		u32 length, op;
		bool rtr;
	};
	struct Side {
		const Endpoint *endpoint = nullptr;
		const Stream *out = nullptr;
		Bytes memory;
		std::vector<Mr> regions;
		u32 first_index, next_start = 0, next_send = 0, next_recv = 0;
		std::vector<Op> ops;
		std::vector<RecvRequest> receives;
		// Sent by this side, not yet delivered, in the order in which they began. A
		// response and others may be under way at once: each kind has its own order.
		std::deque<Message> wire;
		std::deque<InboundRead> inbound;
		// Issued, without their response: op numbers, or no_op for the RTR.
		std::deque<u32> reads;
		std::optional<Message> arrived; // a Send delivered whose completion has not shown
		bool failed = false;
		// The Terminate that a completion just told of: layer, type, code.
		std::optional<u32> owed;
		// Terminates that the first undelivered message has deserved at some time since its
		// last octet came: an error of its header is told later, when the CRC has been
		// found good.
		std::set<u32> due;
		core_terminate sent_term{};
		core_mpa_agreed agreed{};
		bool is_connected = false;
	};
	static constexpr u32 no_op = ~0u;

	static bool is_response(const Message &message)
	{
		return message.source == Source::response;
	}
	// The oldest response, or other message, that is not delivered; the one being built.
	static Message *oldest(Side &side, bool response);
	static Message *unfinished(Side &side, bool response);

	const Mr *find(const Side &side, u32 stag) const;
	// Why octets [to, to + len) of stag cannot be used so; CORE_REGION_OK if they can.
	core_region_verdict usable(const Side &side, u32 stag, u32 access, u64 to, u64 len) const;
	bool usable(const Side &side, const std::vector<srnic_sge> &sges, u32 access) const;
	// Can this request not be done, as things are?
	bool impossible(const Side &side, const Op &op) const;
	bool can_invalidate(const Side &side, u32 stag) const;
	bool is_known(const Side &side, u32 stag) const;
	bool invalidate(Side &side, u32 stag, bool remote);

	// Where up to len octets have to lie: as many as lie together. Nothing, if they must not be
	// used.
	struct Spot {
		u64 at;
		u32 run;
	};
	std::optional<Spot> in_list(const Side &side, const std::vector<srnic_sge> &sges,
				    u32 offset, u32 len, u32 access) const;
	std::optional<Spot> destination(const Side &side, const Message &message, u32 len) const;
	bool place_exactly(unsigned side, core_place_kind, u64 at, u32 len);
	bool place_in(unsigned side, Message &message, u64 at, u32 len);
	void place_damaged(unsigned side, u64 at, u32 len);
	std::optional<Spot> source(const Side &side, const Message &message, u32 len) const;
	bool damaged(unsigned to) const;

	void check_send_completion(unsigned side, Op &op, const srnic_cqe &cqe);
	void check_recv_completion(unsigned side, const RecvRequest &receive, const srnic_cqe &cqe,
				   bool solicited);
	Op *at_hand(Side &side);
	void foresee(unsigned side);
	void check_refusal(unsigned side, const core_terminate &term);

	Side sides[2];
	Tally &tally;
	u64 completed_count = 0;
};

} // namespace sim
