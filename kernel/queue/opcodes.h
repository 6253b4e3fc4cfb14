/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The verbs' opcodes for the operations of a send queue (core/operations.hh).
 */
#ifndef SRNIC_OPCODES_H
#define SRNIC_OPCODES_H

#include <rdma/ib_verbs.h>

/*
 * The operation (enum srnic_opcode or srnic_kernel_opcode) of a work request; -EINVAL: none. A
 * Send with Immediate Data may have payload only if the framing has immediate_payload.
 */
int srnic_opcode_of(enum ib_wr_opcode wr);
/* The completion opcode of an operation or a receive. */
enum ib_wc_opcode srnic_wc_opcode(u8 opcode);

#endif
