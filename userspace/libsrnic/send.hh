// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What posting by verbs (send.cc) and by direct verbs (dv.cc) share: filling a slot, claiming one
// in a batch, posting a list. The caller holds the send queue's lock, but for post_list().
#pragma once

#include "datagram.hh"
#include "doorbell.hh"
#include "operations.hh"

#include <errno.h>

namespace srnic {

inline srnic_qp &to_qp(ibv_qp *qp) { return *reinterpret_cast<srnic_qp *>(qp); }
inline srnic_qp &to_qp(ibv_qp_ex *qp) { return *reinterpret_cast<srnic_qp *>(qp); }

// Requests of memory windows, which send nothing.
inline bool is_of_window(u8 opcode) { return is_local(operation(opcode)); }

inline bool is_atomic(u8 opcode) { return operation(opcode).handler == CORE_HANDLE_ATOMIC; }

inline bool is_extended(u8 opcode) { return operation(opcode).handler == CORE_HANDLE_EXTENDED; }

// Does the module know this operation? One that does not would end the connection.
inline bool knows(const srnic_qp &qp, u8 opcode)
{
	const u32 needs = (operation(opcode).immediate ? SRNIC_FEATURE_IMMEDIATE : 0) |
			  (is_atomic(opcode) ? SRNIC_FEATURE_ATOMIC : 0) |
			  (is_extended(opcode) ? SRNIC_FEATURE_FLUSH : 0) |
			  (is_of_window(opcode) ? SRNIC_FEATURE_WINDOW : 0);

	return (qp.features & needs) == needs;
}

constexpr u8 to_flags(unsigned int send_flags, bool signal_all)
{
	return (signal_all || (send_flags & IBV_SEND_SIGNALED) ? SRNIC_WQE_SIGNALED : 0) |
	       (send_flags & IBV_SEND_SOLICITED ? SRNIC_WQE_SOLICITED : 0) |
	       (send_flags & IBV_SEND_FENCE ? SRNIC_WQE_FENCE : 0);
}

// Fills everything but the payload of a slot.
inline void put_header(const srnic_qp &qp, srnic_send_wqe *wqe, u64 wr_id, u8 opcode,
		       unsigned int send_flags)
{
	*wqe = srnic_send_wqe{};
	wqe->wr_id = wr_id;
	wqe->opcode = opcode;
	wqe->flags = to_flags(send_flags, qp.sq_sig_all);
}

inline int put_sges(const srnic_wq &sq, srnic_send_wqe *wqe, size_t num_sge, const ibv_sge *sge)
{
	if (num_sge > sq.max_sge)
		return EINVAL;
	wqe->num_sge = num_sge;
	if (num_sge)
		memcpy(payload(wqe), sge, num_sge * sizeof(*sge));
	return 0;
}

// Appends one piece of inline payload.
inline int put_inline(const srnic_wq &sq, srnic_send_wqe *wqe, const void *data, size_t length)
{
	if (!operation(wqe->opcode).may_inline || length > sq.max_inline - wqe->inline_len)
		return EINVAL;
	wqe->flags |= SRNIC_WQE_INLINE;
	if (length)
		memcpy(payload(wqe) + wqe->inline_len, data, length);
	wqe->inline_len += length;
	return 0;
}

// RFC 7306 has no message with both payload and Immediate Data: a Send with Immediate Data is one
// without payload. RDMA/TCP has both.
inline bool must_be_empty(const srnic_wq &sq, const srnic_send_wqe *wqe)
{
	return wqe->opcode == SRNIC_OP_IMM && !sq.imm_payload;
}

template <class Piece> int check_empty(size_t num, const Piece *pieces)
{
	for (size_t i = 0; i < num; i++)
		if (pieces[i].length)
			return EOPNOTSUPP;
	return 0;
}

// The payload of a request in a list: the bytes themselves, if they are to be inline.
inline int put_payload(const srnic_wq &sq, srnic_send_wqe *wqe, unsigned int send_flags,
		       size_t num_sge, const ibv_sge *sge)
{
	if (must_be_empty(sq, wqe))
		return check_empty(num_sge, sge);
	if (is_of_window(wqe->opcode)) // the list means nothing
		return 0;
	if (!(send_flags & IBV_SEND_INLINE))
		return put_sges(sq, wqe, num_sge, sge);
	if (int err = put_inline(sq, wqe, nullptr, 0)) // inline payload may be empty
		return err;
	for (size_t i = 0; i < num_sge; i++)
		if (int err = put_inline(sq, wqe, reinterpret_cast<const void *>(sge[i].addr),
					 sge[i].length))
			return err;
	return 0;
}

// Begins a request in the next slot, which the caller claims.
inline int open_slot(srnic_qp &qp, u8 opcode, u64 wr_id, unsigned int send_flags,
		     srnic_send_wqe **wqe)
{
	if (qp.ud && !is_datagram(opcode))
		return EINVAL;
	if (!knows(qp, opcode))
		return EOPNOTSUPP;
	*wqe = next_slot<srnic_send_wqe>(qp.sq);
	if (!*wqe)
		return qp.sq.closed ? EINVAL : ENOMEM;
	put_header(qp, *wqe, wr_id, opcode, send_flags);
	return 0;
}

// The operands of atomic operations (struct srnic_send_wqe).

inline void put_fetch_add(srnic_send_wqe *wqe, u64 add, u64 mask)
{
	wqe->arg[0] = add;
	wqe->arg[1] = mask;
}

inline void put_cmp_swap(srnic_send_wqe *wqe, u64 compare, u64 compare_mask, u64 swap,
			 u64 swap_mask)
{
	wqe->arg[0] = swap;
	wqe->arg[1] = swap_mask;
	wqe->arg[2] = compare;
	wqe->arg[3] = compare_mask;
}

constexpr u8 no_opcode = 0;

// One request of a list: fill() puts what is not in every request's header or payload, and returns
// 0 or an errno. Wr: ibv_send_wr, srnicdv_send_wr.
template <class Wr, class Fill> int put_request(srnic_qp &qp, const Wr &wr, u8 opcode, Fill fill)
{
	srnic_send_wqe *wqe;

	if (opcode == no_opcode || wr.num_sge < 0 || is_missing(wr.sg_list, wr.num_sge))
		return EINVAL;
	if (int err = open_slot(qp, opcode, wr.wr_id, wr.send_flags, &wqe))
		return err;
	if (int err = fill(wqe))
		return err;
	if (int err = put_payload(qp.sq, wqe, wr.send_flags, wr.num_sge, wr.sg_list))
		return err;
	qp.sq.next++;
	return 0;
}

// Begins and claims the next request of a batch; null, and the batch has an error.
inline srnic_send_wqe *begin(ibv_qp_ex *ex, u8 opcode)
{
	srnic_qp &qp = to_qp(ex);
	srnic_send_wqe *wqe;

	if (!qp.sq.batch_error)
		qp.sq.batch_error = open_slot(qp, opcode, ex->wr_id, ex->wr_flags, &wqe);
	if (qp.sq.batch_error)
		return nullptr;
	qp.sq.next++;
	return wqe;
}

inline srnic_send_wqe *begin_rdma(ibv_qp_ex *ex, u8 opcode, uint32_t rkey, uint64_t remote_addr)
{
	auto *wqe = begin(ex, opcode);

	if (wqe) {
		wqe->rkey = rkey;
		wqe->remote_addr = remote_addr;
	}
	return wqe;
}

// Posts a list up to the first request that put() refuses, which *bad becomes. Takes the lock.
template <class Wr, class Put> int post_list(srnic_qp &qp, Wr *wr, Wr **bad, Put put)
{
	Wr *first = wr;
	int err = 0;
	bool must_ring;

	{
		locked hold(qp.sq.lock);

		while (wr && !(err = put(qp, *wr)))
			wr = wr->next;
		must_ring = publish_sends(qp, err == ENOMEM);
	}
	if (err)
		*bad = wr;
	if (must_ring)
		if (int gone = ring(qp); gone && !err) {
			*bad = first;
			err = gone;
		}
	return err;
}

} // namespace srnic
