// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Posting to the send queue, by lists of work requests (ibv_post_send) or call by call (ibv_wr_*).
#include "send.hh"

namespace srnic {
namespace {

constexpr u8 to_opcode(ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
		return SRNIC_OP_WRITE;
	case IBV_WR_SEND:
		return SRNIC_OP_SEND;
	case IBV_WR_SEND_WITH_INV:
		return SRNIC_OP_SEND_INV;
	case IBV_WR_RDMA_READ:
		return SRNIC_OP_READ;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return SRNIC_OP_WRITE_IMM;
	case IBV_WR_SEND_WITH_IMM:
		return SRNIC_OP_IMM;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return SRNIC_OP_FETCH_ADD;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return SRNIC_OP_CMP_SWAP;
	case IBV_WR_LOCAL_INV:
		return SRNIC_OP_LOCAL_INV;
	case IBV_WR_BIND_MW:
		return SRNIC_OP_BIND_MW;
	default:
		return no_opcode;
	}
}

// RFC 7306 has eight bytes of Immediate Data, verbs four.
void put_immediate(srnic_send_wqe *wqe, __be32 imm_data)
{
	memcpy(wqe->arg, &imm_data, sizeof(imm_data));
}

// Verbs know operations of the whole word: no field ends but at its top, and all bits are compared
// and swapped.
void put_atomic(srnic_send_wqe *wqe, uint64_t compare_add, uint64_t swap)
{
	constexpr u64 all = ~u64{0};

	if (wqe->opcode == SRNIC_OP_FETCH_ADD)
		put_fetch_add(wqe, compare_add, 0);
	else
		put_cmp_swap(wqe, compare_add, all, swap, all);
}

// What it works on at the peer, if anything.
void put_target(srnic_send_wqe *wqe, const ibv_send_wr &wr)
{
	if (is_atomic(wqe->opcode)) {
		wqe->remote_addr = wr.wr.atomic.remote_addr;
		wqe->rkey = wr.wr.atomic.rkey;
		put_atomic(wqe, wr.wr.atomic.compare_add, wr.wr.atomic.swap);
	} else if (operation(wqe->opcode).remote) {
		wqe->remote_addr = wr.wr.rdma.remote_addr;
		wqe->rkey = wr.wr.rdma.rkey;
	}
}

// All STags of a window have the same upper 24 bits (ibv_inc_rkey()).
int put_bind(srnic_send_wqe *wqe, const ibv_mw *mw, u32 rkey, const ibv_mw_bind_info &info)
{
	constexpr u32 key_bits = 8;

	if (!mw || (!info.mr && info.length) || (rkey ^ mw->rkey) >> key_bits)
		return EINVAL;
	wqe->rkey = rkey;
	wqe->imm_inv = info.mr ? info.mr->lkey : 0;
	wqe->remote_addr = info.addr;
	wqe->arg[0] = info.length;
	wqe->arg[1] = info.mw_access_flags;
	return 0;
}

// Programs post no request for a window of type 1: ibv_bind_mw() does, and has it change its key.
int put_posted_bind(srnic_send_wqe *wqe, const ibv_mw *mw, u32 rkey, const ibv_mw_bind_info &info)
{
	return mw && mw->type == IBV_MW_TYPE_2 ? put_bind(wqe, mw, rkey, info) : EINVAL;
}

int fill(const srnic_qp &qp, srnic_send_wqe *wqe, const ibv_send_wr &wr)
{
	if (wqe->opcode == SRNIC_OP_BIND_MW)
		return put_posted_bind(wqe, wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info);
	if (operation(wqe->opcode).names_stag)
		wqe->imm_inv = wr.invalidate_rkey;
	if (qp.ud)
		put_receiver(wqe, wr.wr.ud.ah, wr.wr.ud.remote_qpn, wr.wr.ud.remote_qkey);
	else
		put_target(wqe, wr);
	if (operation(wqe->opcode).immediate)
		put_immediate(wqe, wr.imm_data);
	return 0;
}

int put(srnic_qp &qp, const ibv_send_wr &wr)
{
	if (qp.ud && !wr.wr.ud.ah)
		return EINVAL;
	return put_request(qp, wr, to_opcode(wr.opcode),
			   [&](srnic_send_wqe *wqe) { return fill(qp, wqe, wr); });
}

// ibv_bind_mw(): binds a window of type 1.
int put_type_1(srnic_qp &qp, const ibv_send_wr &wr)
{
	const auto &bind = wr.bind_mw;

	return put_request(qp, wr, SRNIC_OP_BIND_MW, [&](srnic_send_wqe *wqe) {
		return put_bind(wqe, bind.mw, bind.rkey, bind.bind_info);
	});
}

// ibv_wr_*(): between wr_start and wr_complete the caller holds the lock. wr_send etc. write a
// header and claim the slot; the following wr_set_*() fills the slot claimed last.

srnic_send_wqe *current(srnic_wq &sq)
{
	if (sq.batch_error)
		return nullptr;
	if (sq.next == sq.prod) {
		sq.batch_error = EINVAL;
		return nullptr;
	}
	return slot_at<srnic_send_wqe>(sq.ring, sq.next - 1);
}

void wr_start(ibv_qp_ex *ex)
{
	srnic_wq &sq = to_qp(ex).sq;

	lock(sq.lock);
	sq.batch_error = 0;
}

void wr_send(ibv_qp_ex *ex) { begin(ex, SRNIC_OP_SEND); }

void wr_send_inv(ibv_qp_ex *ex, uint32_t rkey)
{
	if (auto *wqe = begin(ex, SRNIC_OP_SEND_INV))
		wqe->imm_inv = rkey;
}

void wr_rdma_write(ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	begin_rdma(ex, SRNIC_OP_WRITE, rkey, addr);
}
void wr_rdma_read(ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	begin_rdma(ex, SRNIC_OP_READ, rkey, addr);
}

void wr_rdma_write_imm(ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm_data)
{
	if (auto *wqe = begin_rdma(ex, SRNIC_OP_WRITE_IMM, rkey, addr))
		put_immediate(wqe, imm_data);
}

void wr_send_imm(ibv_qp_ex *ex, __be32 imm_data)
{
	if (auto *wqe = begin(ex, SRNIC_OP_IMM))
		put_immediate(wqe, imm_data);
}

void wr_atomic_fetch_add(ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t add)
{
	if (auto *wqe = begin_rdma(ex, SRNIC_OP_FETCH_ADD, rkey, addr))
		put_atomic(wqe, add, 0);
}

void wr_atomic_cmp_swp(ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t compare, uint64_t swap)
{
	if (auto *wqe = begin_rdma(ex, SRNIC_OP_CMP_SWAP, rkey, addr))
		put_atomic(wqe, compare, swap);
}

void wr_local_inv(ibv_qp_ex *ex, uint32_t rkey)
{
	if (auto *wqe = begin(ex, SRNIC_OP_LOCAL_INV))
		wqe->imm_inv = rkey;
}

void wr_bind_mw(ibv_qp_ex *ex, ibv_mw *mw, uint32_t rkey, const ibv_mw_bind_info *info)
{
	if (auto *wqe = begin(ex, SRNIC_OP_BIND_MW))
		to_qp(ex).sq.batch_error = put_posted_bind(wqe, mw, rkey, *info);
}

// The numbers of enum srnic_flush_how are those of verbs. A type or level that verbs do not have is
// the module's to refuse.
constexpr u64 to_flush(uint8_t type, uint8_t level) { return type | u64{level} << 8; }

[[maybe_unused]] void wr_flush(ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, size_t len,
			       uint8_t type, uint8_t level)
{
	if (auto *wqe = begin_rdma(ex, SRNIC_OP_FLUSH, rkey, addr)) {
		wqe->arg[0] = len;
		wqe->arg[1] = to_flush(type, level);
	}
}

[[maybe_unused]] void wr_atomic_write(ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, const void *data)
{
	if (auto *wqe = begin_rdma(ex, SRNIC_OP_ATOMIC_WRITE, rkey, addr))
		memcpy(wqe->arg, data, sizeof(wqe->arg[0]));
}

void wr_set_ud_addr(ibv_qp_ex *ex, ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	srnic_qp &qp = to_qp(ex);
	auto *wqe = current(qp.sq);

	if (!wqe)
		return;
	if (qp.ud && ah)
		put_receiver(wqe, ah, qpn, qkey);
	else
		qp.sq.batch_error = EINVAL;
}

void wr_set_sge_list(ibv_qp_ex *ex, size_t num_sge, const ibv_sge *sge)
{
	srnic_wq &sq = to_qp(ex).sq;
	auto *wqe = current(sq);

	if (!wqe)
		return;
	if (is_missing(sge, num_sge))
		sq.batch_error = EINVAL;
	else
		sq.batch_error = must_be_empty(sq, wqe) ? check_empty(num_sge, sge)
							: put_sges(sq, wqe, num_sge, sge);
}

void wr_set_sge(ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const ibv_sge sge = {addr, length, lkey};

	wr_set_sge_list(ex, 1, &sge);
}

void wr_set_inline_data_list(ibv_qp_ex *ex, size_t num, const ibv_data_buf *buf)
{
	srnic_wq &sq = to_qp(ex).sq;
	auto *wqe = current(sq);

	if (!wqe)
		return;
	if (is_missing(buf, num) || must_be_empty(sq, wqe)) {
		sq.batch_error = is_missing(buf, num) ? EINVAL : check_empty(num, buf);
		return;
	}
	sq.batch_error = put_inline(sq, wqe, nullptr, 0);
	for (size_t i = 0; i < num && !sq.batch_error; i++)
		sq.batch_error = put_inline(sq, wqe, buf[i].addr, buf[i].length);
}

void wr_set_inline_data(ibv_qp_ex *ex, void *addr, size_t length)
{
	const ibv_data_buf buf = {addr, length};

	wr_set_inline_data_list(ex, 1, &buf);
}

void wr_abort(ibv_qp_ex *ex)
{
	srnic_wq &sq = to_qp(ex).sq;

	sq.next = sq.prod;
	unlock(sq.lock);
}

bool all_have_receivers(const srnic_wq &sq)
{
	for (u32 i = sq.prod; i != sq.next; i++)
		if (!has_receiver(*slot_at<srnic_send_wqe>(sq.ring, i)))
			return false;
	return true;
}

template <class Call> void set_call(Call &call, u64 ops, u64 op, Call implementation)
{
	call = ops & op ? implementation : nullptr;
}

// Debian 12's libibverbs has no such calls.
template <class Ex> void set_flush_calls(Ex &ex, u64 ops)
{
	if constexpr (requires { ex.wr_flush; })
		set_call(ex.wr_flush, ops, SRNIC_FLUSH_OP, wr_flush);
	if constexpr (requires { ex.wr_atomic_write; })
		set_call(ex.wr_atomic_write, ops, SRNIC_ATOMIC_WRITE_OP, wr_atomic_write);
}

void set_operation_calls(ibv_qp_ex &ex, u64 ops)
{
	set_call(ex.wr_send, ops, IBV_QP_EX_WITH_SEND, wr_send);
	set_call(ex.wr_send_inv, ops, IBV_QP_EX_WITH_SEND_WITH_INV, wr_send_inv);
	set_call(ex.wr_send_imm, ops, IBV_QP_EX_WITH_SEND_WITH_IMM, wr_send_imm);
	set_call(ex.wr_rdma_write, ops, IBV_QP_EX_WITH_RDMA_WRITE, wr_rdma_write);
	set_call(ex.wr_rdma_write_imm, ops, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, wr_rdma_write_imm);
	set_call(ex.wr_rdma_read, ops, IBV_QP_EX_WITH_RDMA_READ, wr_rdma_read);
	set_call(ex.wr_atomic_fetch_add, ops, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
		 wr_atomic_fetch_add);
	set_call(ex.wr_atomic_cmp_swp, ops, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, wr_atomic_cmp_swp);
	set_call(ex.wr_local_inv, ops, IBV_QP_EX_WITH_LOCAL_INV, wr_local_inv);
	set_call(ex.wr_bind_mw, ops, IBV_QP_EX_WITH_BIND_MW, wr_bind_mw);
	set_flush_calls(ex, ops);
}

int error_of_batch(const srnic_qp &qp)
{
	if (qp.sq.batch_error)
		return qp.sq.batch_error;
	return qp.ud && !all_have_receivers(qp.sq) ? EINVAL : 0;
}

// Posts all of a batch or nothing.
int wr_complete(ibv_qp_ex *ex)
{
	srnic_qp &qp = to_qp(ex);
	const int err = error_of_batch(qp);

	if (err)
		qp.sq.next = qp.sq.prod;
	const bool must_ring = publish_sends(qp, err == ENOMEM);
	unlock(qp.sq.lock);
	const int gone = must_ring ? ring(qp) : 0;
	return err ? err : gone;
}

} // namespace
} // namespace srnic

using namespace srnic;

int srnic_post_send(ibv_qp *ibqp, ibv_send_wr *wr, ibv_send_wr **bad_wr)
{
	return post_list(to_qp(ibqp), wr, bad_wr, put);
}

int srnic_bind_mw(ibv_qp *ibqp, ibv_mw *mw, ibv_mw_bind *bind)
{
	ibv_send_wr wr{}, *bad;

	wr.wr_id = bind->wr_id;
	wr.send_flags = bind->send_flags;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = bind->bind_info;
	const int err = post_list(to_qp(ibqp), &wr, &bad, put_type_1);

	if (!err)
		mw->rkey = wr.bind_mw.rkey;
	return err;
}

void srnic_sq_init(srnic_wq *wq, const ibv_qp_cap *cap)
{
	if (!wq->ring.hdr)
		return;
	const u32 room = wq->ring.slot_size - u32{sizeof(srnic_send_wqe)};

	wq->limit = min(cap->max_send_wr, wq->ring.entries);
	wq->max_sge = min(cap->max_send_sge, room / u32{sizeof(srnic_sge)});
	wq->max_inline = min(cap->max_inline_data, room);
}

void srnic_qp_ex_init(srnic_qp *qp, uint64_t ops)
{
	ibv_qp_ex &ex = qp->ex;

	qp->burst_gap = ticks_in(5000);
	ex.wr_start = wr_start;
	ex.wr_complete = wr_complete;
	ex.wr_abort = wr_abort;
	set_operation_calls(ex, ops);
	ex.wr_set_ud_addr = wr_set_ud_addr;
	ex.wr_set_sge = wr_set_sge;
	ex.wr_set_sge_list = wr_set_sge_list;
	ex.wr_set_inline_data = wr_set_inline_data;
	ex.wr_set_inline_data_list = wr_set_inline_data_list;
}
