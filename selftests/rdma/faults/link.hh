// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// One end of a connection on which every byte is verified: a QP, its CQ, and two registered
// buffers.
#pragma once
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <rdma/rdma_cma.h>

using Clock = std::chrono::steady_clock;

// The connection is over: a completion in error, a failed verb, a refused connect.
struct Broken : std::runtime_error {
	using runtime_error::runtime_error;
};

// Nothing came in time.
struct Stalled : std::runtime_error {
	using runtime_error::runtime_error;
};

// A byte is wrong, which must never happen.
struct Wrong : std::runtime_error {
	using runtime_error::runtime_error;
};

constexpr uint32_t data_size = 1 << 18;

// Data that depends on the seed.
void fill(uint8_t *at, uint32_t len, uint64_t seed);
// Throws Wrong, with the place of the first difference.
void verify(const uint8_t *at, uint32_t len, uint64_t seed, const char *what);

// Where the other end may write and read.
struct Target {
	uint64_t addr;
	uint32_t rkey;
};

// A message: a round's number and its length, the sender's Target, and data to be verified.
struct Message {
	uint64_t round;
	uint32_t len;
	uint32_t fill_len;
	Target target;
	uint8_t octets[1024];
	uint32_t size() const { return offsetof(Message, octets) + fill_len; }
};

class Link {
public:
	// Makes the QP; throws Broken.
	explicit Link(rdma_cm_id *id);
	~Link();
	Link(const Link &) = delete;

	Target target() const { return {reinterpret_cast<uintptr_t>(out.data()), out_mr->rkey}; }
	void send(uint64_t round, uint32_t len);
	void write(uint32_t len, const Target &to);
	void read(uint32_t len, const Target &from);
	// Waits until a message has arrived and everything posted is complete.
	const Message &receive(int patience_ms);
	// Waits until everything posted is complete.
	void settle(int patience_ms);

	// If set: whoever waits hears from it that the peer has disconnected. A QP of InfiniBand
	// that only waits for messages hears of that nowhere else.
	rdma_event_channel *connection_events = nullptr;
	// Polls the CQ now and then, in case an event was lost.
	static inline bool events_may_be_lost = false;
	rdma_cm_id *const id;
	// The peer reads and writes `out`; what is read here comes to `in`.
	std::vector<uint8_t> out, in;

private:
	void post(ibv_wr_opcode opcode, ibv_sge list, const Target &remote);
	void post_receive(int slot);
	bool event_by(Clock::time_point until);
	void hear_of_the_end();
	void next(Clock::time_point until);
	void release();

	static constexpr int slots = 2;
	ibv_comp_channel *channel = nullptr;
	ibv_cq *cq = nullptr;
	ibv_mr *out_mr = nullptr, *in_mr = nullptr, *message_mr = nullptr;
	Message messages[slots + 1]; // the last one goes out
	int unfinished = 0;
	int taken = -1;   // the slot that the caller reads
	int arrived = -1; // the slot to read next
};

// The next event of a channel, acknowledged; throws Stalled.
struct CmEvent {
	rdma_cm_event_type type;
	int status;
	rdma_cm_id *id, *listen_id;
};
CmEvent next_event(rdma_event_channel *channel, int patience_ms);
