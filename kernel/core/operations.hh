// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The operations of a send queue (enum srnic_opcode), one row each: what it may carry, which
// consumers may post it, which message it becomes (RFC 5040 3) and what completes it. A new
// operation needs a new row, and a handler in requests.hh if none fits. For the module and the
// user provider.
#pragma once

#include "rdma/srnic-abi.h"
#include "types.hh"

namespace srnic {

namespace row {

constexpr u8 _ = 0, yes = 1, none = CORE_MSG_NONE, list = SRNIC_MAX_SGE;
constexpr u8 out = CORE_DIRECTION_OUT, in = CORE_DIRECTION_IN;

// clang-format off
// The columns of struct core_operation: known, kernel_only, may_inline, direction, remote,
// names_stag, immediate, invalidates_sink, by_response, min_sge, max_sge, handler, wire,
// wire_solicited.
constexpr core_operation
	unknown   = {_,   _,   _,   _,   _,   _,   _,   _,   _,   _, _,    CORE_HANDLE_NOTHING,
		     none, none},
	write     = {yes, _,   yes, out, yes, _,   _,   _,   _,   _, list, CORE_HANDLE_WRITE,
		     CORE_MSG_WRITE, CORE_MSG_WRITE},
	write_imm = {yes, _,   yes, out, yes, _,   yes, _,   _,   _, list, CORE_HANDLE_WRITE,
		     CORE_MSG_WRITE, CORE_MSG_WRITE},
	imm       = {yes, _,   yes, out, _,   _,   yes, _,   _,   _, list, CORE_HANDLE_IMMEDIATE,
		     CORE_MSG_IMMEDIATE, CORE_MSG_IMMEDIATE_SE},
	send      = {yes, _,   yes, out, _,   _,   _,   _,   _,   _, list, CORE_HANDLE_SEND,
		     CORE_MSG_SEND, CORE_MSG_SEND_SE},
	send_inv  = {yes, _,   yes, out, _,   yes, _,   _,   _,   _, list, CORE_HANDLE_SEND,
		     CORE_MSG_SEND_INV, CORE_MSG_SEND_SE_INV},
	read      = {yes, _,   _,   in,  yes, _,   _,   _,   yes, _, list, CORE_HANDLE_READ,
		     CORE_MSG_READ_REQUEST, CORE_MSG_READ_REQUEST},
	read_inv  = {yes, yes, _,   in,  yes, _,   _,   yes, yes, 1, 1,    CORE_HANDLE_READ,
		     CORE_MSG_READ_REQUEST, CORE_MSG_READ_REQUEST},
	atomic	  = {yes, _,   _,   in,  yes, _,   _,   _,   yes, 1, list, CORE_HANDLE_ATOMIC,
		     CORE_MSG_ATOMIC_REQUEST, CORE_MSG_ATOMIC_REQUEST},
	masked    = {yes, yes, _,   in,  yes, _,   _,   _,   yes, 1, list, CORE_HANDLE_ATOMIC,
		     CORE_MSG_ATOMIC_REQUEST, CORE_MSG_ATOMIC_REQUEST},
	extended  = {yes, _,   _,   _,   yes, _,   _,   _,   _,   _, _,    CORE_HANDLE_EXTENDED,
		     CORE_MSG_EXTENDED, CORE_MSG_EXTENDED},
	local_inv = {yes, _,   _,   _,   _,   yes, _,   _,   _,   _, _,
		     CORE_HANDLE_LOCAL_INVALIDATE, none, none},
	reg_mr    = {yes, yes, _,   _,   _,   _,   _,   _,   _,   _, _,    CORE_HANDLE_REGISTER,
		     none, none},
	bind_mw   = {yes, _,   _,   _,   _,   _,   _,   _,   _,   _, _,    CORE_HANDLE_BIND,
		     none, none};
// clang-format on

} // namespace row

// By enum srnic_opcode. Only Sends and Immediate Data have a Solicited Event: other operations
// ignore the flag.
constexpr core_operation operation_table[] = {
	row::unknown,	row::write,  row::send,	   row::send_inv,  row::read,	  row::read_inv,
	row::local_inv, row::reg_mr, row::unknown, row::write_imm, row::imm,	  row::atomic,
	row::atomic,	row::atomic, row::masked,  row::masked,	   row::extended, row::extended,
	row::bind_mw,
};

constexpr u32 operations = sizeof(operation_table) / sizeof(operation_table[0]);

// Any opcode that a user wrote: one without a row is unknown.
constexpr const core_operation &operation(u8 opcode)
{
	return opcode < operations ? operation_table[opcode] : operation_table[0];
}

constexpr bool is_read(const core_operation &op) { return op.direction == CORE_DIRECTION_IN; }
constexpr bool is_local(const core_operation &op) { return op.known && op.wire == CORE_MSG_NONE; }

// The message that it becomes on the wire.
constexpr u8 wire_opcode(const core_operation &op, u8 wqe_flags)
{
	return wqe_flags & SRNIC_WQE_SOLICITED ? op.wire_solicited : op.wire;
}

static_assert(operations == SRNIC_OP_BIND_MW + 1);
static_assert(!operation(0).known && !operation(SRNIC_OP_RECV).known && !operation(255).known);
static_assert(operation(SRNIC_OP_WRITE_IMM).immediate != 0 &&
	      operation(SRNIC_OP_IMM).immediate != 0);
static_assert(operation(SRNIC_OP_WRITE).wire == CORE_MSG_WRITE &&
	      operation(SRNIC_OP_SEND).wire == CORE_MSG_SEND &&
	      operation(SRNIC_OP_SEND_INV).wire == CORE_MSG_SEND_INV);
static_assert(is_read(operation(SRNIC_OP_READ)) && is_read(operation(SRNIC_OP_READ_INV)));
static_assert(is_local(operation(SRNIC_OP_LOCAL_INV)) && is_local(operation(SRNIC_OP_REG_MR)) &&
	      is_local(operation(SRNIC_OP_BIND_MW)));
static_assert(wire_opcode(operation(SRNIC_OP_SEND_INV), SRNIC_WQE_SOLICITED) ==
	      CORE_MSG_SEND_SE_INV);

} // namespace srnic
