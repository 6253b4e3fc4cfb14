// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A fake of the kernel's side of the shared rings, in ordinary memory.
#pragma once

#include "queue.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

#include <gtest/gtest.h>

namespace fake {

// What the doorbell did and shall do in the current test; a running engine counts it instead.
inline int doorbells;
inline int doorbell_result;
inline int armings; // by the kernel
inline bool armed_solicited;
inline std::atomic<uint32_t> *engine_bell;
inline std::function<void()> on_doorbell;

// A ring as the kernel would map it. Its slots start with garbage.
class Ring {
public:
	Ring(uint32_t entries, uint16_t slot_size)
		: mapped_(SRNIC_RING_SLOTS_OFFSET + uint64_t{entries} * slot_size),
		  memory_(static_cast<uint8_t *>(std::aligned_alloc(64, (mapped_ + 63) / 64 * 64)))
	{
		std::memset(memory_.get(), 0xa5, mapped_);
		hdr() = srnic_ring_hdr{};
		hdr().magic = SRNIC_RING_MAGIC;
		hdr().version = SRNIC_RING_VERSION;
		hdr().entries = entries;
		hdr().slot_size = slot_size;
	}

	srnic_ring_hdr &hdr() { return *reinterpret_cast<srnic_ring_hdr *>(memory_.get()); }
	void *map() { return memory_.get(); }
	uint64_t mapped() const { return mapped_; }

	template <class T> T &slot(uint32_t index)
	{
		return *reinterpret_cast<T *>(memory_.get() + SRNIC_RING_SLOTS_OFFSET +
					      size_t{index % hdr().entries} * hdr().slot_size);
	}

	// Sets the initial value of both indices.
	void start_at(uint32_t index) { hdr().prod = hdr().cons = index; }

	uint32_t prod() { return __atomic_load_n(&hdr().prod, __ATOMIC_ACQUIRE); }
	void complete(uint32_t n)
	{
		__atomic_store_n(&hdr().cons, hdr().cons + n, __ATOMIC_RELEASE);
	}

private:
	struct Free {
		void operator()(uint8_t *p) const { std::free(p); }
	};
	uint64_t mapped_;
	std::unique_ptr<uint8_t, Free> memory_;
};

inline void start_at(srnic_wq &wq, Ring &ring, uint32_t index)
{
	ring.start_at(index);
	wq.prod = wq.next = wq.cons_seen = index;
}

constexpr uint16_t send_slot = sizeof(srnic_send_wqe) + SRNIC_MAX_INLINE;
constexpr uint16_t recv_slot = sizeof(srnic_recv_wqe) + SRNIC_MAX_SGE * sizeof(srnic_sge);

struct Cq {
	Ring ring;
	srnic_cq cq{};

	explicit Cq(uint32_t entries = 4) : ring(entries, sizeof(srnic_cqe))
	{
		srnic_ring_open(&cq.ring, ring.map(), ring.mapped(), sizeof(srnic_cqe));
		srnic_cq_ex_init(&cq);
	}

	void start_at(uint32_t index)
	{
		ring.start_at(index);
		cq.cons = cq.prod_seen = index;
	}

	bool room()
	{
		return ring.prod() - __atomic_load_n(&ring.hdr().cons, __ATOMIC_ACQUIRE) <
		       ring.hdr().entries;
	}

	// As in the ABI header: publish, full barrier, exchange state. True if an event is due.
	bool produce(const srnic_cqe &cqe, bool solicited = false)
	{
		ring.slot<srnic_cqe>(ring.hdr().prod) = cqe;
		__atomic_store_n(&ring.hdr().prod, ring.hdr().prod + 1, __ATOMIC_RELEASE);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		uint32_t armed = __atomic_load_n(&ring.hdr().state, __ATOMIC_RELAXED);
		if (armed == SRNIC_CQ_ARM_NONE || (armed == SRNIC_CQ_ARM_SOLICITED && !solicited))
			return false;
		return __atomic_exchange_n(&ring.hdr().state, SRNIC_CQ_ARM_NONE,
					   __ATOMIC_RELAXED) != SRNIC_CQ_ARM_NONE;
	}
};

// A QP of so many slots each way, of which the user was granted fewer.
struct Qp {
	Ring sq, rq;
	Cq sends, receives;
	srnic_qp qp{};

	explicit Qp(uint32_t slots = 8, uint32_t granted = 6, uint32_t completions = 4)
		: sq(slots, send_slot), rq(slots, recv_slot), sends(completions),
		  receives(completions)
	{
		const ibv_qp_cap cap = {granted, granted, 4, 4, 64}; // .., entries, inline bytes

		srnic_ring_open(&qp.sq.ring, sq.map(), sq.mapped(), sizeof(srnic_send_wqe));
		srnic_ring_open(&qp.rq.ring, rq.map(), rq.mapped(), sizeof(srnic_recv_wqe));
		srnic_sq_init(&qp.sq, &cap);
		srnic_rq_init(&qp.rq, cap.max_recv_wr, cap.max_recv_sge);
		srnic_qp_ex_init(&qp, ~uint64_t{0});
		qp.base.send_cq = &sends.cq.base;
		qp.base.recv_cq = &receives.cq.base;
		qp.features = SRNIC_FEATURE_IMMEDIATE | SRNIC_FEATURE_ATOMIC;
	}

	// All posts from now on are one burst.
	void be_in_burst()
	{
		qp.burst_gap = ~uint64_t{0};
		qp.streak = 1000;
	}
};

inline ibv_send_wr work(ibv_wr_opcode opcode, uint64_t wr_id = 0, ibv_sge *sge = nullptr,
			int num_sge = 0, unsigned flags = 0)
{
	ibv_send_wr wr{};
	wr.wr_id = wr_id;
	wr.opcode = opcode;
	wr.sg_list = sge;
	wr.num_sge = num_sge;
	wr.send_flags = flags;
	return wr;
}

inline srnic_cqe completion(uint64_t wr_id, srnic_opcode opcode, uint32_t qp_num = 5)
{
	srnic_cqe cqe{};
	cqe.wr_id = wr_id;
	cqe.opcode = opcode;
	cqe.qp_num = qp_num;
	return cqe;
}

// A QP to post to.
class Queue : public ::testing::Test {
protected:
	Queue()
	{
		doorbells = doorbell_result = 0;
		on_doorbell = nullptr;
	}
	Qp q;

	int send(ibv_send_wr &wr, ibv_send_wr **bad = nullptr)
	{
		ibv_send_wr *none;
		return srnic_post_send(&q.qp.base, &wr, bad ? bad : &none);
	}
	int recv(ibv_recv_wr &wr, ibv_recv_wr **bad = nullptr)
	{
		ibv_recv_wr *none;
		return srnic_post_recv(&q.qp.base, &wr, bad ? bad : &none);
	}
};

} // namespace fake
