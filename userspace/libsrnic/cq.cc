// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Polling completion queues.
#include "arming.hh"
#include "doorbell.hh"

#include <errno.h>
#include <stddef.h>
#include <string.h>

namespace srnic {
namespace {

// struct srnic_cq has no alignment: this far apart they are never in one line.
constexpr size_t cache_line = 64;
static_assert(offsetof(srnic_cq, receives) >=
	      offsetof(srnic_cq, prod_seen) + sizeof(srnic_cq::prod_seen) - 1 + cache_line);

srnic_cq &to_cq(ibv_cq_ex *cq) { return *reinterpret_cast<srnic_cq *>(cq); }

// Marks a completion that srnic_cq_pick() took; the kernel does not see the mark.
constexpr u8 forgotten = 0;

srnic_cqe &slot(const srnic_cq &cq, u32 index) { return *slot_at<srnic_cqe>(cq.ring, index); }

constexpr u32 long_slot = sizeof(srnic_cqe) + sizeof(srnic_cqe_times);

// Of a CQ with timestamps: those of an entry.
const srnic_cqe_times &times(const srnic_cq &cq, u32 index)
{
	return *reinterpret_cast<const srnic_cqe_times *>(&slot(cq, index) + 1);
}

void move_slot(const srnic_cq &cq, u32 to, u32 from)
{
	memmove(&slot(cq, to), &slot(cq, from), cq.ring.slot_size);
}

bool empty(srnic_cq &cq)
{
	if (cq.cons == cq.prod_seen)
		cq.prod_seen = load_acquire(cq.ring.hdr->prod);
	return cq.cons == cq.prod_seen;
}

// Passes an entry. The lock is held, but nothing_there() reads the index without it.
void pass(srnic_cq &cq) { store_relaxed(cq.cons, cq.cons + 1); }

// Passes over forgotten completions. False if there is no other.
bool skip_forgotten(srnic_cq &cq)
{
	while (!empty(cq)) {
		if (slot(cq, cq.cons).opcode != forgotten)
			return true;
		pass(cq);
	}
	return false;
}

// Takes the oldest completion. The next release() frees its slot.
bool take(srnic_cq &cq, srnic_cqe *out)
{
	if (!skip_forgotten(cq))
		return false;
	*out = slot(cq, cq.cons);
	pass(cq);
	if (out->opcode == SRNIC_OP_RECV)
		store_relaxed(cq.receives, cq.receives + 1);
	return true;
}

// Neither a completion nor a doorbell that was put off. Without the lock, because programs poll an
// empty CQ all the time: what another thread is taking is that thread's.
bool nothing_there(const srnic_cq &cq)
{
	return load_acquire(cq.ring.hdr->prod) == load_relaxed(cq.cons) &&
	       !load_relaxed(cq.deferred);
}

void release(srnic_cq &cq) { store_release(cq.ring.hdr->cons, cq.cons); }

// Immediate Data that came with neither a Send nor a datagram.
constexpr bool is_of_write(u16 flags)
{
	return (flags & (SRNIC_CQE_WITH_IMM | SRNIC_CQE_OF_SEND | SRNIC_CQE_GRH)) ==
	       SRNIC_CQE_WITH_IMM;
}

constexpr ibv_wc_opcode to_wc_opcode(u8 opcode, u16 flags)
{
	switch (opcode) {
	case SRNIC_OP_WRITE:
	case SRNIC_OP_WRITE_IMM:
		return IBV_WC_RDMA_WRITE;
	case SRNIC_OP_READ:
		return IBV_WC_RDMA_READ;
	case SRNIC_OP_FETCH_ADD:
		return IBV_WC_FETCH_ADD;
	case SRNIC_OP_CMP_SWAP:
	case SRNIC_OP_SWAP:
		return IBV_WC_COMP_SWAP;
	case SRNIC_OP_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	case SRNIC_OP_BIND_MW:
		return IBV_WC_BIND_MW;
	case SRNIC_OP_FLUSH:
		return static_cast<ibv_wc_opcode>(SRNIC_IBV_WC_FLUSH);
	case SRNIC_OP_ATOMIC_WRITE:
		return static_cast<ibv_wc_opcode>(SRNIC_IBV_WC_ATOMIC_WRITE);
	case SRNIC_OP_RECV:
		return is_of_write(flags) ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	default:
		return IBV_WC_SEND;
	}
}

constexpr unsigned int to_wc_flags(u16 flags)
{
	return (flags & SRNIC_CQE_WITH_INV ? IBV_WC_WITH_INV : 0) |
	       (flags & SRNIC_CQE_WITH_IMM ? IBV_WC_WITH_IMM : 0) |
	       (flags & SRNIC_CQE_GRH ? IBV_WC_GRH : 0);
}

// The two share a place: a datagram has a sender instead of an error's code.
constexpr u32 src_qp_of(const srnic_cqe &cqe) { return cqe.flags & SRNIC_CQE_GRH ? cqe.src_qp : 0; }
constexpr u32 vendor_err_of(const srnic_cqe &cqe)
{
	return cqe.flags & SRNIC_CQE_GRH ? 0 : cqe.vendor_err;
}

// Adapters for RoCE say here what the headers before the payload are (Annex 17, A17.4.5.1 wants
// that of a completion): that there is UDP, and IPv6 or IPv4. UCX's ud_verbs goes by it.
constexpr u8 sl_of(const srnic_cqe &cqe)
{
	constexpr u8 udp = 8, v6 = 1, v4 = 2;

	if (!(cqe.flags & SRNIC_CQE_GRH))
		return 0;
	return udp | (cqe.flags & SRNIC_CQE_IPV4 ? v4 : v6);
}

// Verbs have the first four of the eight bytes of Immediate Data, and one name for them and for an
// invalidated STag.
__be32 imm_data_of(const srnic_cqe &cqe)
{
	__be32 imm = cqe.imm_inv;

	if (cqe.flags & SRNIC_CQE_WITH_IMM)
		memcpy(&imm, &cqe.imm_inv, sizeof(imm));
	return imm;
}

static_assert(int{SRNIC_WC_SUCCESS} == int{IBV_WC_SUCCESS} &&
	      int{SRNIC_WC_LOC_LEN_ERR} == int{IBV_WC_LOC_LEN_ERR} &&
	      int{SRNIC_WC_LOC_QP_OP_ERR} == int{IBV_WC_LOC_QP_OP_ERR} &&
	      int{SRNIC_WC_LOC_PROT_ERR} == int{IBV_WC_LOC_PROT_ERR} &&
	      int{SRNIC_WC_FLUSH_ERR} == int{IBV_WC_WR_FLUSH_ERR} &&
	      int{SRNIC_WC_MW_BIND_ERR} == int{IBV_WC_MW_BIND_ERR} &&
	      int{SRNIC_WC_REM_INV_REQ_ERR} == int{IBV_WC_REM_INV_REQ_ERR} &&
	      int{SRNIC_WC_REM_ACCESS_ERR} == int{IBV_WC_REM_ACCESS_ERR} &&
	      int{SRNIC_WC_REM_OP_ERR} == int{IBV_WC_REM_OP_ERR} &&
	      int{SRNIC_WC_RETRY_EXC_ERR} == int{IBV_WC_RETRY_EXC_ERR} &&
	      int{SRNIC_WC_RNR_RETRY_EXC_ERR} == int{IBV_WC_RNR_RETRY_EXC_ERR} &&
	      int{SRNIC_WC_GENERAL_ERR} == int{IBV_WC_GENERAL_ERR});

void to_wc(const srnic_cqe &cqe, ibv_wc *wc)
{
	*wc = ibv_wc{};
	wc->wr_id = cqe.wr_id;
	wc->status = static_cast<ibv_wc_status>(cqe.status);
	wc->opcode = to_wc_opcode(cqe.opcode, cqe.flags);
	wc->vendor_err = vendor_err_of(cqe);
	wc->byte_len = cqe.byte_len;
	wc->imm_data = imm_data_of(cqe);
	wc->qp_num = cqe.qp_num;
	wc->src_qp = src_qp_of(cqe);
	wc->wc_flags = to_wc_flags(cqe.flags);
	wc->sl = sl_of(cqe);
}

// Takes up to so many completions. Returns how many.
int take_all(srnic_cq &cq, int most, ibv_wc *wc)
{
	const u32 before = cq.cons;
	srnic_cqe cqe;
	int n = 0;

	while (n < most && take(cq, &cqe))
		to_wc(cqe, &wc[n++]);
	if (cq.cons != before)
		release(cq);
	if (n)
		has_taken(cq);
	return n;
}

// Extended CQs: the lock is held from start_poll to end_poll, and the read functions return fields
// of the last completion taken.

bool take_now(srnic_cq &cq)
{
	if (!take(cq, &cq.now))
		return false;
	cq.ex.wr_id = cq.now.wr_id;
	cq.ex.status = static_cast<ibv_wc_status>(cq.now.status);
	return true;
}

int start_poll(ibv_cq_ex *ex, ibv_poll_cq_attr *attr)
{
	srnic_cq &cq = to_cq(ex);

	if (attr && attr->comp_mask)
		return EINVAL;
	if (nothing_there(cq))
		return ENOENT;
	lock(cq.lock);
	if (take_now(cq) || (ring_before_wait(cq) && take_now(cq)))
		return 0;
	release(cq);
	unlock(cq.lock);
	return ENOENT; // no end_poll follows
}

int next_poll(ibv_cq_ex *ex)
{
	srnic_cq &cq = to_cq(ex);

	release(cq);
	return take_now(cq) ? 0 : ENOENT;
}

void end_poll(ibv_cq_ex *ex)
{
	srnic_cq &cq = to_cq(ex);

	release(cq);
	has_taken(cq);
	unlock(cq.lock);
}

ibv_wc_opcode read_opcode(ibv_cq_ex *ex)
{
	return to_wc_opcode(to_cq(ex).now.opcode, to_cq(ex).now.flags);
}
uint32_t read_vendor_err(ibv_cq_ex *ex) { return vendor_err_of(to_cq(ex).now); }
uint32_t read_byte_len(ibv_cq_ex *ex) { return to_cq(ex).now.byte_len; }
__be32 read_imm_data(ibv_cq_ex *ex)
{
	return imm_data_of(to_cq(ex).now);
} // ibv_wc_read_invalidated_rkey() too
uint32_t read_qp_num(ibv_cq_ex *ex) { return to_cq(ex).now.qp_num; }
unsigned int read_wc_flags(ibv_cq_ex *ex) { return to_wc_flags(to_cq(ex).now.flags); }
uint32_t read_src_qp(ibv_cq_ex *ex) { return src_qp_of(to_cq(ex).now); }
// RoCE has no LIDs.
uint32_t read_slid(ibv_cq_ex *) { return 0; }
uint8_t read_sl(ibv_cq_ex *ex) { return sl_of(to_cq(ex).now); }
uint8_t read_dlid_path_bits(ibv_cq_ex *) { return 0; }

// Of the last entry taken, whose slot is not released yet.
const srnic_cqe_times &times_now(ibv_cq_ex *ex) { return times(to_cq(ex), to_cq(ex).cons - 1); }
uint64_t read_completion_ts(ibv_cq_ex *ex) { return times_now(ex).monotonic; }
uint64_t read_completion_wallclock_ns(ibv_cq_ex *ex) { return times_now(ex).realtime; }

} // namespace
} // namespace srnic

using namespace srnic;

int srnic_poll_cq(ibv_cq *ibcq, int num_entries, ibv_wc *wc)
{
	srnic_cq &cq = to_cq(ibcq);

	if (nothing_there(cq))
		return 0;

	locked hold(cq.lock);
	int n = take_all(cq, num_entries, wc);

	if (!n && num_entries && ring_before_wait(cq))
		n = take_all(cq, num_entries, wc);
	return n;
}

void srnic_cq_ring(srnic_cq *cq)
{
	locked hold(cq->lock);

	ring_deferred(*cq);
}

void srnic_cq_forget(srnic_cq *cq, uint32_t qp_num)
{
	locked hold(cq->lock);
	const u32 end = cq->cons + pending(*cq);
	u32 kept = end;

	for (u32 i = end; i != cq->cons;) {
		const srnic_cqe &cqe = slot(*cq, --i);

		if (cqe.opcode != forgotten && cqe.qp_num != qp_num)
			move_slot(*cq, --kept, i);
	}
	store_relaxed(cq->cons, kept);
	cq->prod_seen = end;
	release(*cq);
}

bool srnic_cq_pick(srnic_cq *cq, uint32_t qp_num, uint64_t wr_id, srnic_cqe *out)
{
	locked hold(cq->lock);
	const u32 left = pending(*cq);

	for (u32 i = 0; i < left; i++) {
		srnic_cqe &cqe = slot(*cq, cq->cons + i);

		if (cqe.opcode == forgotten || cqe.qp_num != qp_num || cqe.wr_id != wr_id)
			continue;
		*out = cqe;
		cqe.opcode = forgotten;
		skip_forgotten(*cq); // its owner may never poll
		release(*cq);
		return true;
	}
	ring_deferred(*cq);
	return false;
}

int srnic_cq_switch(srnic_cq *cq, srnic_ring *next, int cqe)
{
	locked hold(cq->lock);
	const int err = srnic_cq_switch_in_kernel(cq, cqe);

	if (!err)
		use_slots(cq->ring, cq->resized, *next);
	return err;
}

void srnic_cq_ex_init(srnic_cq *cq)
{
	ibv_cq_ex &ex = cq->ex;

	ex.start_poll = start_poll;
	ex.next_poll = next_poll;
	ex.end_poll = end_poll;
	ex.read_opcode = read_opcode;
	ex.read_vendor_err = read_vendor_err;
	ex.read_byte_len = read_byte_len;
	ex.read_imm_data = read_imm_data;
	ex.read_qp_num = read_qp_num;
	ex.read_src_qp = read_src_qp;
	ex.read_wc_flags = read_wc_flags;
	ex.read_slid = read_slid;
	ex.read_sl = read_sl;
	ex.read_dlid_path_bits = read_dlid_path_bits;
	if (cq->ring.slot_size >= long_slot) {
		ex.read_completion_ts = read_completion_ts;
		ex.read_completion_wallclock_ns = read_completion_wallclock_ns;
	}
}
