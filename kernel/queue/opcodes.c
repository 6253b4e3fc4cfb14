// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The verbs' opcodes for the operations of a send queue: one row each.
 */
#include <rdma/srnic-abi.h>

#include "core/api/kernel_ops.h"
#include "queue/opcodes.h"

static const struct {
	u8 opcode;
	enum ib_wr_opcode wr;
	enum ib_wc_opcode wc;
} rows[] = {
	{ SRNIC_OP_SEND, IB_WR_SEND, IB_WC_SEND },
	{ SRNIC_OP_WRITE, IB_WR_RDMA_WRITE, IB_WC_RDMA_WRITE },
	{ SRNIC_OP_SEND_INV, IB_WR_SEND_WITH_INV, IB_WC_SEND },
	{ SRNIC_OP_WRITE_IMM, IB_WR_RDMA_WRITE_WITH_IMM, IB_WC_RDMA_WRITE },
	{ SRNIC_OP_IMM, IB_WR_SEND_WITH_IMM, IB_WC_SEND },
	{ SRNIC_OP_FETCH_ADD, IB_WR_ATOMIC_FETCH_AND_ADD, IB_WC_FETCH_ADD },
	{ SRNIC_OP_CMP_SWAP, IB_WR_ATOMIC_CMP_AND_SWP, IB_WC_COMP_SWAP },
	{ SRNIC_OP_MASKED_FETCH_ADD, IB_WR_MASKED_ATOMIC_FETCH_AND_ADD, IB_WC_MASKED_FETCH_ADD },
	{ SRNIC_OP_MASKED_CMP_SWAP, IB_WR_MASKED_ATOMIC_CMP_AND_SWP, IB_WC_MASKED_COMP_SWAP },
	{ SRNIC_OP_READ, IB_WR_RDMA_READ, IB_WC_RDMA_READ },
	{ SRNIC_OP_READ_INV, IB_WR_RDMA_READ_WITH_INV, IB_WC_RDMA_READ },
	{ SRNIC_OP_LOCAL_INV, IB_WR_LOCAL_INV, IB_WC_LOCAL_INV },
	{ SRNIC_OP_REG_MR, IB_WR_REG_MR, IB_WC_REG_MR },
};

int srnic_opcode_of(enum ib_wr_opcode wr)
{
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].wr == wr)
			return rows[i].opcode;
	return -EINVAL;
}

enum ib_wc_opcode srnic_wc_opcode(u8 opcode)
{
	if (opcode == SRNIC_OP_RECV)
		return IB_WC_RECV;
	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].opcode == opcode)
			return rows[i].wc;
	return IB_WC_SEND;	/* a flushed request may be anything */
}
