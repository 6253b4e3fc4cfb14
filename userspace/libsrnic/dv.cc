// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Direct verbs (srnicdv.h) of the data path: masked atomic operations, Swap, Immediate Data of
// eight bytes, and the question whether a peer knows atomic operations.
#include "send.hh"
#include "srnicdv.h"

#include <string.h>
#include <time.h>

namespace srnic {
namespace {

constexpr u8 to_opcode(srnicdv_wr_opcode opcode)
{
	switch (opcode) {
	case SRNICDV_WR_MASKED_FETCH_ADD:
		return SRNIC_OP_FETCH_ADD;
	case SRNICDV_WR_MASKED_CMP_SWAP:
		return SRNIC_OP_CMP_SWAP;
	case SRNICDV_WR_SWAP:
		return SRNIC_OP_SWAP;
	case SRNICDV_WR_RDMA_WRITE_IMM64:
		return SRNIC_OP_WRITE_IMM;
	case SRNICDV_WR_SEND_IMM64:
		return SRNIC_OP_IMM;
	default:
		return no_opcode;
	}
}

// Streams of type srnic_ib have the verbs' four bytes of Immediate Data, and no Swap.
bool has(const srnic_qp &qp, u8 opcode)
{
	return !qp.ib || (opcode != SRNIC_OP_SWAP && !operation(opcode).immediate);
}

void put_immediate(srnic_send_wqe *wqe, const uint8_t *imm_data)
{
	memcpy(wqe->arg, imm_data, sizeof(wqe->arg[0]));
}

void put_operands(srnic_send_wqe *wqe, const srnicdv_send_wr &wr)
{
	switch (wr.opcode) {
	case SRNICDV_WR_MASKED_FETCH_ADD:
		return put_fetch_add(wqe, wr.fetch_add.add, wr.fetch_add.mask);
	case SRNICDV_WR_MASKED_CMP_SWAP:
		return put_cmp_swap(wqe, wr.cmp_swap.compare, wr.cmp_swap.compare_mask,
				    wr.cmp_swap.swap, wr.cmp_swap.swap_mask);
	case SRNICDV_WR_SWAP:
		wqe->arg[0] = wr.swap;
		return;
	default:
		return put_immediate(wqe, wr.imm_data);
	}
}

int put(srnic_qp &qp, const srnicdv_send_wr &wr)
{
	if (!has(qp, to_opcode(wr.opcode)))
		return EOPNOTSUPP;
	return put_request(qp, wr, to_opcode(wr.opcode), [&](srnic_send_wqe *wqe) {
		if (operation(wqe->opcode).remote) {
			wqe->remote_addr = wr.remote_addr;
			wqe->rkey = wr.rkey;
		}
		put_operands(wqe, wr);
		return 0;
	});
}

bool is_ours(const ibv_qp &qp) { return srnicdv_is_supported(qp.context->device); }

// In a batch of one of our QPs; else null and the error.
srnic_send_wqe *begin(ibv_qp_ex *qp, u8 opcode, uint32_t rkey, uint64_t remote_addr, int *err)
{
	srnic_send_wqe *wqe = nullptr;

	*err = EOPNOTSUPP;
	if (!is_ours(qp->qp_base))
		return nullptr;
	if (!has(to_qp(qp), opcode) && !to_qp(qp).sq.batch_error)
		to_qp(qp).sq.batch_error = EOPNOTSUPP;
	wqe = begin_rdma(qp, opcode, rkey, remote_addr);
	*err = to_qp(qp).sq.batch_error;
	return wqe;
}

// ---- probing ----

u64 now_ms() { return now_ns() / 1000000; }

void pause_briefly()
{
	const timespec t = {0, 50000};

	nanosleep(&t, nullptr);
}

// vendor_err: what the peer's Terminate says, as layer, error type and code (RFC 5040 figure 9).
constexpr u32 unexpected_opcode = 0x0206, stream_catastrophic = 0x0207;

int answer_of(const srnic_cqe &cqe)
{
	switch (cqe.status) {
	case SRNIC_WC_SUCCESS:
		return 0;
	case SRNIC_WC_REM_OP_ERR:
		return cqe.vendor_err == stream_catastrophic ? EFAULT : EOPNOTSUPP;
	case SRNIC_WC_REM_INV_REQ_ERR:
		return cqe.vendor_err == unexpected_opcode ? EOPNOTSUPP : ENOTCONN;
	case SRNIC_WC_REM_ACCESS_ERR:
		return EACCES;
	case SRNIC_WC_LOC_PROT_ERR:
	case SRNIC_WC_LOC_LEN_ERR:
	case SRNIC_WC_LOC_QP_OP_ERR:
		return EPERM;
	default:
		return ENOTCONN;
	}
}

} // namespace
} // namespace srnic

using namespace srnic;

bool srnicdv_known(const void *object, size_t known, size_t size)
{
	const auto *octets = static_cast<const u8 *>(object);

	for (size_t i = known; i < size; i++)
		if (octets[i])
			return false;
	return true;
}

int srnicdv_post_send(ibv_qp *qp, srnicdv_send_wr *wr, size_t size, srnicdv_send_wr **bad_wr)
{
	if (!is_ours(*qp) || size < sizeof(*wr)) {
		*bad_wr = wr;
		return is_ours(*qp) ? EINVAL : EOPNOTSUPP;
	}
	return post_list(to_qp(qp), wr, bad_wr, [size](srnic_qp &to, const srnicdv_send_wr &one) {
		return srnicdv_known(&one, sizeof(one), size) ? put(to, one) : EOPNOTSUPP;
	});
}

int srnicdv_wr_masked_fetch_add(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, uint64_t add,
				uint64_t mask)
{
	int err;

	if (auto *wqe = begin(qp, SRNIC_OP_FETCH_ADD, rkey, remote_addr, &err))
		put_fetch_add(wqe, add, mask);
	return err;
}

int srnicdv_wr_masked_cmp_swap(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, uint64_t compare,
			       uint64_t compare_mask, uint64_t swap, uint64_t swap_mask)
{
	int err;

	if (auto *wqe = begin(qp, SRNIC_OP_CMP_SWAP, rkey, remote_addr, &err))
		put_cmp_swap(wqe, compare, compare_mask, swap, swap_mask);
	return err;
}

int srnicdv_wr_swap(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, uint64_t swap)
{
	int err;

	if (auto *wqe = begin(qp, SRNIC_OP_SWAP, rkey, remote_addr, &err))
		wqe->arg[0] = swap;
	return err;
}

int srnicdv_wr_rdma_write_imm64(ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				const uint8_t imm_data[8])
{
	int err;

	if (auto *wqe = begin(qp, SRNIC_OP_WRITE_IMM, rkey, remote_addr, &err))
		put_immediate(wqe, imm_data);
	return err;
}

int srnicdv_wr_send_imm64(ibv_qp_ex *qp, const uint8_t imm_data[8])
{
	int err;

	if (auto *wqe = begin(qp, SRNIC_OP_IMM, 0, 0, &err))
		put_immediate(wqe, imm_data);
	return err;
}

int srnicdv_wc_read_imm64(ibv_cq_ex *ex, uint8_t imm_data[8])
{
	if (!srnicdv_is_supported(ex->context->device))
		return EOPNOTSUPP;
	const srnic_cqe &now = reinterpret_cast<srnic_cq *>(ex)->now;

	if (!(now.flags & SRNIC_CQE_WITH_IMM))
		return EINVAL;
	static_assert(sizeof(now.imm_inv) == 8);
	memcpy(imm_data, &now.imm_inv, 8);
	return 0;
}

int srnicdv_probe_atomic(ibv_qp *qp, ibv_sge *sink, uint32_t rkey, uint64_t remote_addr,
			 int timeout_ms)
{
	srnicdv_send_wr wr{}, *bad;
	srnic_cqe cqe;

	if (!is_ours(*qp))
		return EOPNOTSUPP;
	if (!sink || sink->length != sizeof(u64) || timeout_ms < 0)
		return EINVAL;
	// An earlier probe without an answer has another number.
	wr.wr_id = SRNICDV_PROBE_WR_ID | (to_qp(qp).probes++ & 0xffff);
	wr.sg_list = sink;
	wr.num_sge = 1;
	wr.opcode = SRNICDV_WR_MASKED_FETCH_ADD;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.rkey = rkey;
	wr.remote_addr = remote_addr;
	if (int err = srnicdv_post_send(qp, &wr, sizeof(wr), &bad))
		return err;
	auto *cq = reinterpret_cast<srnic_cq *>(qp->send_cq);

	for (const u64 end = now_ms() + static_cast<u64>(timeout_ms);;) {
		const bool late = now_ms() >= end;

		if (srnic_cq_pick(cq, qp->qp_num, wr.wr_id, &cqe))
			return answer_of(cqe);
		if (late)
			return ETIMEDOUT;
		pause_briefly();
	}
}
