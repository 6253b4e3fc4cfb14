// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// QPs of devices of type srnic_ib that a program connects by hand: each step of it is a call, so
// that cases can leave steps out and change their order.
#pragma once
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

using Clock = std::chrono::steady_clock;

struct Failure : std::runtime_error {
	using runtime_error::runtime_error;
};

// Throws with this message if a condition does not hold.
void expect(bool condition, const std::string &what);
double seconds_since(Clock::time_point begin);
void sleep_ms(int ms);

// Runs this in a namespace of `ip netns`, on another thread.
void inside(const std::string &ns, const std::function<void()> &what);

// A device and one of its addresses. If the RDMA core keeps devices in their namespaces, CONTAINERS
// in the environment names these: "DEVICE=NAMESPACE ...".
class Port {
public:
	Port(const std::string &device, const std::string &address);
	Port(const Port &) = delete;
	~Port();
	// Waits until the address is in the GID table.
	static constexpr int patience_ms = 5000;

	ibv_context *verbs = nullptr;
	ibv_pd *pd = nullptr;
	ibv_gid gid{};
	int gid_index = -1;
	// The next asynchronous event, if one comes within the time.
	std::optional<ibv_event_type> event(int timeout_ms) const;
};

// A CQ, whose completions are waited for asleep.
class Queue {
	ibv_comp_channel *channel;
	bool armed = false;

	bool wait_event(Clock::time_point end);

public:
	ibv_cq *cq;

	Queue(ibv_context *verbs, int entries);
	Queue(const Queue &) = delete;
	~Queue();
	std::optional<ibv_wc> next(int timeout_ms);
	// The next completion has this wr_id and status, and comes in time.
	ibv_wc is(uint64_t wr_id, ibv_wc_status status = IBV_WC_SUCCESS, int timeout_ms = 20000);
	void none(int timeout_ms);
};

// How a program finds the other end.
struct Name {
	ibv_gid gid;
	uint32_t qpn;
	uint64_t addr;
	uint32_t rkey;
};

struct Options {
	uint8_t timeout = 18, retry = 7, rnr_retry = 7, min_rnr_timer = 12, rd_atomic = 8;
	int access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	uint32_t depth = 32, bytes = 4096;
	int region = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;
};

// One QP, its CQs and its memory.
class End {
	const Options options;
	int modify(ibv_qp_attr &attr, int mask);

public:
	const Port &port;
	std::vector<uint8_t> buffer;
	ibv_mr *mr = nullptr;
	Queue sends, receives;
	ibv_qp *qp = nullptr;

	explicit End(const Port &at, const Options &how = {});
	End(const End &) = delete;
	~End();
	void destroy_qp();

	Name name() const;
	// The next three return the errno.
	int init();
	int rtr(const Name &peer);
	int rts();
	void to(ibv_qp_state state); // RESET, ERR or SQD
	void drain();		     // SQD, and SQ_DRAINED is wanted
	ibv_qp_state state() const;

	ibv_sge piece(uint32_t offset, uint32_t len) const;
	void receive(uint64_t wr_id, uint32_t len = 64, uint32_t offset = 0);
	ibv_send_wr request(ibv_wr_opcode opcode, uint64_t wr_id,
			    const Name *remote = nullptr) const;
	// Of len bytes at the start of the buffer, to (or from) those at the start of the peer's.
	void post(ibv_wr_opcode opcode, uint64_t wr_id, const Name &peer, uint32_t len = 64,
		  unsigned flags = IBV_SEND_SIGNALED);
	void send(uint64_t wr_id, uint32_t len = 64, unsigned flags = IBV_SEND_SIGNALED);
	void post(ibv_send_wr wr, ibv_sge sge);
	template <class T> T *words() { return reinterpret_cast<T *>(buffer.data()); }
};

// Both to RTS.
void join(End &a, End &b);
// Both to RESET, then both to RTS.
void join_again(End &a, End &b);

struct Pair {
	End a, b;

	Pair(const Port &here, const Port &there, const Options &of_a = {},
	     const Options &of_b = {});
	// A Send each way.
	void exercise();
};
void exercise(End &a, End &b);
