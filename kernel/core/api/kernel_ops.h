/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Operations of kernel consumers, with the numbers that srnic-abi.h reserves for them. No process
 * maps the send queues of kernel consumers; core_send_wqe_check() refuses them in a user's.
 */
#ifndef SRNIC_KERNEL_OPS_H
#define SRNIC_KERNEL_OPS_H

enum srnic_kernel_opcode {
	SRNIC_OP_READ_INV = 5,	/* invalidates sge[0].lkey when the data has arrived */
	SRNIC_OP_REG_MR = 7,	/* arg[0]: struct ib_mr *; arg[1]: key << 32 | access flags */
	/* Atomic operations of fields in a word, as SRNIC_OP_FETCH_ADD and SRNIC_OP_CMP_SWAP. */
	SRNIC_OP_MASKED_FETCH_ADD = 14,
	SRNIC_OP_MASKED_CMP_SWAP = 15,
};

#endif
