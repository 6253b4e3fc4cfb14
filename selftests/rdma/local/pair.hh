// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Two connected QPs in one process, through rdma_cm, with a registered buffer each; and the rings
// that srnic mapped for them, found in /proc/self/maps as an attacker would.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <rdma/rdma_cma.h>
#include <rdma/srnic-abi.h>

struct Failure : std::runtime_error {
	using runtime_error::runtime_error;
};

// Throws with this message if a condition does not hold.
void require(bool condition, const std::string &what);

// A ring that this process maps.
struct Ring {
	volatile srnic_ring_hdr *header;
	uint8_t *slots;
	size_t slots_len;
	uint64_t offset; // in the uverbs file
	size_t size() const { return SRNIC_RING_SLOTS_OFFSET + slots_len; }
	bool is_cq() const { return header->slot_size == sizeof(srnic_cqe); }
};
std::vector<Ring> mapped_rings();

// One end of a connection.
struct End {
	rdma_cm_id *id = nullptr;
	ibv_mr *mr = nullptr;
	std::vector<uint8_t> buffer = std::vector<uint8_t>(1 << 16);

	End() = default;
	End(const End &) = delete;
	~End();
	void adopt(rdma_cm_id *connected);
	ibv_sge sge(uint32_t len) const
	{
		return {reinterpret_cast<uintptr_t>(buffer.data()), len, mr->lkey};
	}
	int post_recv(uint64_t wr_id, uint32_t len, uint32_t lkey_flip = 0);
	int post_send(uint64_t wr_id, uint32_t len, uint32_t lkey_flip = 0);
	int post_write(uint64_t wr_id, uint32_t len, const End &peer);
	int post_write_to(uint64_t wr_id, uint32_t len, uint64_t remote_addr, uint32_t rkey);
	int modify_to_error();
	// The plain doorbell: makes the kernel read the rings again.
	void ring_doorbell();
	// The next completion of either queue, if one comes within the time.
	std::optional<ibv_wc> completion(bool receive, int timeout_ms = 10000);
};

// An id with a QP and CQs, to connect to this address and port, or to listen on it (RAI_PASSIVE).
rdma_cm_id *create_ep(const std::string &address, int flags, const char *port = "7190",
		      const ibv_qp_cap &cap = {64, 64, 4, 4, 64});

// Connects the two: create(flags) makes the listening id (RAI_PASSIVE) and the connecting one (0);
// ready() runs before the server accepts.
void join(End &client, End &server, const std::function<rdma_cm_id *(int flags)> &create,
	  const std::function<void()> &ready = [] {});

struct Pair {
	End client, server;
	std::vector<Ring> rings; // of this process, which has one pair at a time

	explicit Pair(const std::string &address);
	// Moves data both ways and compares it.
	void exercise();
};
