// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A random program: a seed determines two endpoints, the streams between them, work for both and
// the order of all events. Clean programs break no rule, and all of their work must succeed. In
// wild ones either side does anything, the stream may be damaged or reset, and the oracle must
// agree with how they end.
#pragma once

#include "oracle.hh"

namespace sim {

class Program {
public:
	Program(u64 seed, Tally &tally, bool paranoid);
	// The number of operations posted. Throws Broken.
	u64 run();

private:
	enum class Scale { small, medium, large };
	// The regions of each side, by place in its table.
	enum Place {
		mine,
		shared,
		readable,
		writable,
		foreign,
		window,
		window_too,
		scratch,
		top,
		places
	};
	// A window's owner lets its peer use it, until the peer invalidates it; scratch is for what
	// its owner sends.
	enum class Window { closed, open, closing, opening };

	u32 buffer_size();
	Cut pick_cut();
	Setup make_setup(bool initiator);
	std::vector<Mr> make_regions();
	u64 pick(u64 n) { return below(random, n); }
	u64 pick_segment();
	Place pick_source(unsigned side);
	u32 pick_length(u64 max);

	void step();
	void post(unsigned side);
	void post_wild(unsigned side);
	void post_receive(unsigned side, u32 room);
	core_framing pick_framing();
	bool acknowledges() const { return framing == CORE_FRAMING_IB; }
	bool owes();
	u32 use_receive(unsigned side);
	void pay(unsigned side);
	SendRequest begin(unsigned side, u8 opcode);
	void submit(unsigned side, SendRequest request);
	void add_payload(unsigned side, SendRequest &request, u32 length, bool sink);
	std::vector<srnic_sge> make_sges(unsigned side, u32 length, bool sink);
	void aim(unsigned side, SendRequest &request, bool read, u32 length);
	u32 add_immediate(unsigned side, SendRequest &request);
	void post_immediate(unsigned side);
	void add_operands(srnic_send_wqe &wqe);
	void post_atomic(unsigned side);
	void post_extended(unsigned side);
	bool may_be_sent(const srnic_send_wqe &extended) const;
	void post_send_op(unsigned side, bool invalidate);
	void post_window_op(unsigned side);
	u64 spot(const Mr &mr, u32 length);
	void deliver(unsigned to);
	void store(unsigned side);
	void spoil();
	void look();
	void watch_windows();
	bool pass();
	void drain();
	void finish();

	// returns.cc
	void lose_streams();
	void reset(unsigned side);
	void disturb();
	bool recount();
	void begin_streams();
	void connect(unsigned side);
	void recover();

	Random random;
	const u64 seed;
	const bool paranoid, wild;
	const core_framing framing;
	const bool returns;    // its streams do
	const bool by_kick;    // engines run only when they were kicked
	const bool flushes[2]; // the ends know Flush and Atomic Write
	const Scale scale;
	u64 region_size, target, posted = 0, steps = 0;
	u64 happened = 0;     // pairings and resets
	bool settled = false; // no QP was reset since there was a stream
	bool finishing = false;
	Setup setups[2];
	Oracle oracle;
	Stream streams[2]; // out of side 0, out of side 1
	Endpoint ends[2];
	std::deque<u32> rooms[2]; // lengths of posted receives without a Send yet
	std::deque<u32> owed[2];  // least lengths of receives for Sends that have none yet
	static constexpr unsigned shown = 2, all_windows = 3; // to the peer
	Window windows[2][all_windows] = {};
	u32 requests[2] = {}, receives[2] = {};
	Tally &tally;
};

} // namespace sim
