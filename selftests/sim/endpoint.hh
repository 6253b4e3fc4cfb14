// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One end of a connection: the real core in a small model of the module's shell, without sockets,
// locks and threads. Models of the folders of kernel/ are in connect.cc (connection), queues.cc
// (queue, memory), rx.cc and tx.cc (stream).
#pragma once

#include <functional>

#include "stream.hh"

namespace sim {

struct Setup {
	bool initiator, user;
	bool returns; // its streams come by pairing, and come again
	bool flushes; // it knows Flush and Atomic Write
	bool by_kick; // its engine runs only when it was kicked
	core_framing framing;
	core_startup_local local;
	bool long_segments; // RDMA/TCP: prefers them
	u32 private_len;
	u32 sq_entries;
	u32 first_index; // free-running indices may start anywhere
	u32 emss;
	u8 rnr_retry;
	u32 first_number, peers_first_number; // requests of this end and the peer before the stream
	u64 seed;
	std::vector<Mr> regions;
	Bytes memory;
};

class Endpoint {
public:
	Endpoint(unsigned side, const Setup &setup, Stream &out, Witness &witness);
	Endpoint(const Endpoint &) = delete;

	// What happens while the engine runs: the receive half runs, too.
	std::function<void()> meanwhile = [] {};

	// The consumer's calls.
	bool post_send(const SendRequest &request); // false: the queue is full
	void post_recv(const RecvRequest &request);
	void store(u64 at, const Bytes &data);

	// Events from outside.
	void run(); // the transmit engine gets to run: one pass
	void feed(const u8 *data, u32 len);
	void hang_up();

	// Pairing. conclude: no reply came, or this one. The streams are new before attach().
	bool request_pairing(core_pair_frame &to_peer);
	core_pair_reason respond(const core_pair_frame &asked, core_pair_frame &reply,
				 core_pair_agreed &agreed);
	core_pair_outcome conclude(const core_pair_frame *reply);
	void attach(const core_pair_agreed &pair);
	void reset_qp();
	core_pair_counts counts() const;

	enum class State { startup, waiting, rts, terminating, error };
	State state() const { return now; }
	bool muted() const { return framing != CORE_FRAMING_RDMATCP && !initiator && !validated; }
	bool acknowledges() const { return framing == CORE_FRAMING_IB; }
	// Time passes: what waits for it may go on.
	void tick();
	void has_space(); // in the stream
	u32 sq_room() const { return sq_entries - (prod - sq_done); }
	bool sq_idle() const { return sq_done == prod; }
	u32 max_ord() const { return ord; }
	const Bytes &memory() const { return octets; }
	const std::vector<Mr> &regions() const { return mrs; }
	u64 fpdus() const { return core_rx_fpdus(&rx); }
	void set_emss(u32 to) { emss = to; }

	// For the core's questions.
	bool find_region(u32 stag, core_region &out) const;
	core_take take_receive(u32 &room);
	const core_read_sink *oldest_read() const;
	bool read_room() const { return inbound.size() < ird; }
	bool has_validated() const { return validated; }
	const srnic_send_wqe *next_send();
	void take_send();
	bool verify_list(u32 access);
	void request_built() { built = sq_taken; }
	void complete_taken(u8 status) { complete(sq_taken - 1, status, 0); }

	bool done_here(bool good);
	core_region_verdict invalidate(u32 stag, bool remote);
	bool register_mr(u64 index, u32 key, u32 access);
	u32 random_number() { return static_cast<u32>(random()); }
	void expect_read(const core_read_sink &sink, core_read_kind kind);
	bool wait_for_reads(u32 most);
	u32 reads() const { return static_cast<u32>(outbound.size()); }
	bool next_read(core_asked &asked) const;
	core_region_verdict atomic(const core_atomic_request &request, u64 &original);
	core_region_verdict atomic_write(const core_extended &request);
	core_region_verdict place(const core_place &at, const u8 *data, u32 n);
	void answered() { inbound.pop_front(); }
	void local_terminate(const core_terminate &why);

private:
	struct Slot {
		alignas(8) u8 octets[sizeof(srnic_send_wqe) + SRNIC_MAX_INLINE];
	};
	struct RecvSlot {
		alignas(8) u8 octets[sizeof(srnic_recv_wqe) + SRNIC_MAX_SGE * sizeof(srnic_sge)];
	};
	struct Track {
		u64 wr_id;
		u32 byte_len;
		u8 opcode, flags, status;
		bool done;
	};
	struct Cursor {
		u32 index, offset;
	};
	struct OutboundRead {
		core_read_sink sink;
		Cursor cursor;
		std::vector<srnic_sge> sges;
		u32 index;
		bool rtr, invalidate;
	};

	// connect.cc
	void greet();
	void greet_by_mpa();
	void greet_by_rdmatcp();
	void feed_startup(const u8 *&data, u32 &len);
	void greeted_by_mpa();
	void greeted_by_rdmatcp();
	void start(const core_startup_agreed &agreed);
	void prepare_acks();
	void start_sending(const core_startup_agreed &agreed);
	void fail(Cause cause);
	void terminate(Cause cause, const core_terminate &term);
	void reset(Cause cause, core_rdmatcp_fault fault);

	// pairing.cc
	void get_ready();
	void forget_stream();
	void detach();
	void lose();
	void leave();

	// kicks.cc
	void kick() { kicked = true; }
	void rest();
	void take_due();
	bool may_go_on();
	void run_until_idle();
	void end_receiving();
	void fire_timers();

	// queues.cc
	Mr *find(u32 stag);
	bool copy(u32 stag, u32 access, u64 to, u8 *out, const u8 *in, u32 len,
		  core_region_verdict &verdict);
	core_region_verdict gather(const srnic_sge *sges, u32 num, Cursor &at, u8 *out, u32 len);
	core_region_verdict scatter(const srnic_sge *sges, u32 num, Cursor &at, const u8 *in,
				    u32 len);
	core_region_verdict verify(const srnic_sge *sges, u32 num, u32 access);
	Track &track(u32 index) { return tracks[index & (sq_entries - 1)]; }
	void complete(u32 index, u8 status, u32 byte_len);
	void complete_sent(u32 from, u32 to);
	void complete_acknowledged(u32 end);
	void complete_done();
	void complete_recv(const core_rx_message *message, u8 status);
	void flush();

	// rx.cc
	core_region_verdict place_receive(const u8 *data, u32 n);
	core_region_verdict place_response(const u8 *data, u32 n);
	core_rx_event place_step(const core_place &at, const u8 *data, u32 n);
	core_rx_taken take_step(const u8 *data, u32 len);
	core_rx_event deliver_send();
	void deliver_read_response();
	core_region_verdict find_word(u32 stag, u64 to, u32 access, u64 *&word);
	core_rx_event deliver_atomic_response();
	void blame_request(const core_terminate &why);
	void deliver_acked(const core_acked &acked);
	void deliver_refused();
	void deliver_with_acks(core_rx_event event);
	void unmute_responder();
	void deliver(core_rx_event event);

	// tx.cc
	const srnic_send_wqe &wqe() const
	{
		return *reinterpret_cast<const srnic_send_wqe *>(current.octets);
	}
	const srnic_sge *sges() const { return reinterpret_cast<const srnic_sge *>(&wqe() + 1); }
	Source source_of(const core_tx_msg &msg) const;
	void announce(const core_tx_msg &msg);
	core_region_verdict fetch(const core_tx_msg &msg, u32 offset, u8 *out, u32 n);
	core_region_verdict put_payload(const core_tx_msg &msg, u32 offset, u32 len);
	void build_fpdu(u32 len);
	bool pauses();
	bool goes_on();
	bool build_batch();
	bool send_batch();
	void send_terminate();
	void rewind(const core_rewind &how);
	void note_failures();
	void leave_as_core_says();

	const unsigned side;
	bool initiator;
	const bool user, returns, flushes, by_kick;
	const u8 rnr_retry;
	const u32 first_number, peers_first_number;
	const core_framing framing;
	Stream &out;
	Witness &witness;
	Random random;
	State now = State::startup;
	u32 emss;

	core_startup_local local;
	bool long_segments;
	core_mpa_frame request{};
	core_hello hello{};
	u32 private_len;
	Bytes greeting;

	Bytes octets;
	std::vector<Mr> mrs;

	u32 sq_entries, prod, sq_taken, sq_done;
	std::vector<Slot> sq;
	std::vector<Track> tracks;
	std::deque<RecvSlot> rq;

	u32 ird = 0, ord = 0;
	std::deque<core_asked> inbound;
	std::deque<OutboundRead> outbound;
	u32 reads_done = 0; // removed from outbound

	core_rx rx{};
	core_place_kind placing{}; // of the data being placed
	bool receive_active = false;
	Cursor receive_cursor{};
	RecvSlot receive{};

	core_pairing pairing{};
	u32 attempt = 0;
	core_acks acks{};
	std::vector<core_sent> sent_requests;
	u32 acked_to = 0; // requests before it are acknowledged
	bool gave_up = false, gave_up_answer = false;

	core_tx tx{};
	bool kicked = false, needs_doorbell = true, lacks_space = false, awaiting_reads = false;
	bool late_armed = false, late_due = false, delay_armed = false, delay_due = false;
	u32 awaited_reads = 0, seen_asked = 0, seen_probes = 0;
	bool pausing = false, validated = false, term_pending = false;
	u32 built = 0, completed = 0;
	core_terminate term{};
	Bytes batch;
	u64 stream_built = 0; // bytes built so far, sent or not
	bool announced[2] = {}; // the request being built, the response
	Cursor cursor[2] = {};
	Slot current{};
};

} // namespace sim
