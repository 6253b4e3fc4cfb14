// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The rules of RFC 5040 5.5 and verbs: a model of both memories and of all queues at the level of
// messages, without segments, framing or the core's checks. It checks all that the endpoints report
// and throws at the first violation.
//
// Exactness: only its own consumer and the messages of one stream change an endpoint's memory, so
// each received byte has one right place and value: the next of the oldest undelivered message. The
// payload of a message is taken from the model's memory at the moment when the sender reads it.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "endpoint.hh"

namespace sim {

// How often each event happened, to show that a run reached it.
using Tally = std::map<std::string, u64>;

class Oracle : public Witness {
public:
	Oracle(const Setup setups[2], Tally &tally);

	void attach(unsigned side, const Endpoint &endpoint, const Stream &out);

	// The consumer's calls, before the endpoint gets them.
	void posted(unsigned side, const SendRequest &request);
	void posted(unsigned side, const RecvRequest &request);
	void stored(unsigned side, u64 at, const Bytes &data);

	// Data is about to reach this side.
	void receiving(unsigned side) { foresee(side); }

	// Compares all of an endpoint's memory.
	void compare(unsigned side) const;
	// At the end: checks that nothing is missing.
	void expect_all_done() const;
	void expect_all_flushed() const;

	bool failed(unsigned side) const { return sides[side].failed; }
	Cause cause(unsigned side) const { return sides[side].cause; }
	// This side's QP was reset; both ends begin a stream.
	void reset(unsigned side);
	void paired();
	// The lengths of receives that are posted, and of messages without a receive yet.
	std::vector<u32> open_receives(unsigned side) const;
	std::vector<u32> open_messages(unsigned side) const;
	size_t unanswered(unsigned side) const { return sides[side].wire.size(); }
	u64 completions() const { return completed_count; }

	void started(unsigned, Source, const core_tx_msg &, u32) override;
	void fetched(unsigned, Source, u32, u32) override;
	void finished(unsigned, Source, u64) override;
	void done_locally(unsigned, u32) override;
	void wrote(unsigned, core_place_kind, u64, u32) override;
	void delivered(unsigned, core_rx_event) override;
	void completed(unsigned, const srnic_cqe &, bool) override;
	void connected(unsigned, const core_startup_agreed &) override;
	void failed(unsigned, Cause, const core_terminate *, core_rdmatcp_fault) override;
	void found_no_receive(unsigned) override;
	void refused(unsigned, core_syndrome) override;
	void answer_refused(unsigned) override;
	void gave_up(unsigned, u32) override;
	void rewound(unsigned, u32) override;
	void lost(unsigned, u32, bool) override;
	void left(unsigned, bool) override;

private:
	struct Op {
		SendRequest request;
		u32 length;
		bool started, built, done;
		bool delivered; // to the peer; of a Write with Immediate Data both
		bool refused;	// found to be impossible
		u64 stream_end;
		u64 write_end; // 0, or to where its Write is built, whose Immediate Data is due
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
		bool solicited, has_immediate;
		u64 immediate; // Immediate Data,
		u32 written;   //	and the length of the Write that came right before it
		Bytes content; // what the sender has read so far
		u32 placed;
		bool doomed; // the peer drops it: it comes again
	};
	struct InboundRead { // delivered, not yet answered
		u32 stag;
		u64 to;
		u32 length, op;
		bool rtr;
		bool atomic = false;
		u64 original = 0;
	};
	static constexpr u32 no_op = ~0u;
	struct Side {
		const Endpoint *endpoint = nullptr;
		const Stream *out = nullptr;
		Bytes memory;
		std::vector<Mr> regions;
		u32 first_op = 0; // since the QP was reset
		u32 first_index, next_start = 0, next_send = 0, next_recv = 0;
		std::vector<Op> ops;
		std::vector<RecvRequest> receives;
		// Sent by this side, not yet delivered, in the order of their start. A response may
		// overlap with another message: each kind has its own order.
		std::deque<Message> wire;
		u32 written = 0; // octets of the last Write, and nothing on queue 0 since
		std::deque<InboundRead> inbound;
		// Outstanding: op numbers, or no_op for the RTR.
		std::deque<u32> reads;
		std::optional<Message> arrived; // a delivered Send without its completion yet
		bool failed = false;
		// The refusal expected from the last completion: code().
		std::optional<u32> owed;
		// Those that have been right for the first undelivered message at some time since
		// its last byte arrived: MPA reports a header error only after the CRC check.
		std::set<u32> due;
		core_terminate sent_term{};
		// With acknowledgements: the peer drops requests until the refused one comes again;
		// which of this end's requests is refused for good, and why; so is one of the peer.
		bool dropped = false;
		u32 refused_op = no_op;
		u8 refused_status = 0;
		bool refuses = false, lacks_receive = false;
		u32 refusals = 0, rewinds = 0;
		// Requests before it are acknowledged by the peer's last Ack; why this end failed.
		u32 assured = 0;
		Cause cause{};
		core_startup_agreed agreed{};
		bool is_connected = false;
	};
	static bool is_atomic(u8 opcode)
	{
		return core_operation_of(opcode)->handler == CORE_HANDLE_ATOMIC;
	}
	static bool is_immediate(u8 opcode)
	{
		return opcode == CORE_MSG_IMMEDIATE || opcode == CORE_MSG_IMMEDIATE_SE;
	}
	// Does its payload go to memory? MPA's Immediate Data do not.
	bool places(const Message &message) const
	{
		return message.opcode != CORE_MSG_TERMINATE &&
		       message.opcode != CORE_MSG_READ_REQUEST &&
		       message.opcode != CORE_MSG_ATOMIC_REQUEST &&
		       message.opcode != CORE_MSG_EXTENDED &&
		       !(!rdmatcp && is_immediate(message.opcode));
	}
	static bool is_response(const Message &message)
	{
		return message.source == Source::response;
	}
	// The oldest undelivered response, or other message; the one being built.
	static Message *oldest(Side &side, bool response);
	static Message *unfinished(Side &side, bool response);

	const Mr *find(const Side &side, u32 stag) const;
	// Why octets [to, to + len) of stag cannot be used so; CORE_REGION_OK if they can.
	core_region_verdict usable(const Side &side, u32 stag, u32 access, u64 to, u64 len) const;
	bool usable(const Side &side, const std::vector<srnic_sge> &sges, u32 access) const;
	// Is this request impossible at the moment?
	bool impossible(const Side &side, const Op &op) const;
	bool can_invalidate(const Side &side, u32 stag) const;
	bool is_known(const Side &side, u32 stag) const;
	bool invalidate(Side &side, u32 stag, bool remote);

	// The place of up to len contiguous bytes; nothing if they must not be used.
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

	InboundRead do_atomic(unsigned side, const Op &op, u32 number);
	std::optional<u32> atomic_error(const Side &us, const Op &op) const;
	std::optional<u32> extended_error(const Side &us, const Op &op) const;
	void do_extended(unsigned side, const Op &op);
	void start_request(Side &us, unsigned side, Message &message, u32 number);
	void track_written(Side &us, Message &message);
	void check_send_completion(unsigned side, Op &op, const srnic_cqe &cqe);
	void check_delivered(unsigned side, const Message &message, const srnic_cqe &cqe,
			     bool solicited);
	void check_invalidation_refused(unsigned side, const Message &message);
	void check_recv_completion(unsigned side, const RecvRequest &receive, const srnic_cqe &cqe,
				   bool solicited);
	Op *at_hand(Side &side);
	// The code of a refusal: layer, type and code of a Terminate, RDMA/TCP's fault, or the
	// syndrome of an Ack.
	u32 code(u32 terminate, core_rdmatcp_fault fault) const
	{
		return rdmatcp ? u32{fault} : acknowledges ? syndrome(terminate) : terminate;
	}
	// What InfiniBand has for it.
	static u32 syndrome(u32 terminate);
	static u32 first_refused(const Side &side);
	void expect_all_done_before(unsigned side, u32 failed_op) const;
	static bool is_done(const Op &op);
	void check_assured(unsigned side, u32 number) const;
	void doom(unsigned side);
	Message *next_request(Side &side);
	void refuse_for_good(unsigned side, core_syndrome syndrome);
	u32 code(core_region_verdict verdict, bool write) const;
	void foresee(unsigned side);
	void foresee_receive(Side &us, const Message &message);
	void check_refusal(unsigned side, u32 what);

	const bool rdmatcp, acknowledges;
	Side sides[2];
	Tally &tally;
	u64 completed_count = 0;
};

} // namespace sim
