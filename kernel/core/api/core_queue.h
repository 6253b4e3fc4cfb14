/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Operations of a send queue, and the rings that user space writes. Included by core.h.
 */
#ifndef SRNIC_CORE_QUEUE_H
#define SRNIC_CORE_QUEUE_H

/* ---- Operations of a send queue ---- */

/* The direction of an operation's list. */
enum core_direction {
	CORE_DIRECTION_NONE = 0,	/* it has no list */
	CORE_DIRECTION_OUT,		/* they are sent */
	CORE_DIRECTION_IN,		/* an RDMA Read's response is placed there */
};

/* The handler in core/requests.hh for an operation whose turn has come. */
enum core_handler {
	CORE_HANDLE_NOTHING,
	CORE_HANDLE_WRITE,
	CORE_HANDLE_SEND,
	CORE_HANDLE_READ,
	CORE_HANDLE_IMMEDIATE,
	CORE_HANDLE_ATOMIC,
	CORE_HANDLE_EXTENDED,
	CORE_HANDLE_LOCAL_INVALIDATE,
	CORE_HANDLE_REGISTER,
	CORE_HANDLE_BIND,
};

/**
 * struct core_operation - an operation of a send queue: a row of core/operations.hh
 * @known: there is such an operation
 * @kernel_only: only kernel consumers may post it
 * @may_inline: its payload may be in the slot itself
 * @direction: enum core_direction
 * @remote: it accesses memory of the peer, by remote_addr and rkey
 * @names_stag: imm_inv is an STag, to be invalidated by the peer or here
 * @immediate: its message has Immediate Data, in itself or right behind it
 * @invalidates_sink: the only entry of its list is invalidated when the response is placed
 * @by_response: the peer's response completes it; others complete when sent or done
 * @min_sge: fewest entries of its list
 * @max_sge: most entries of its list
 * @handler: enum core_handler
 * @wire: enum core_msg_opcode; CORE_MSG_NONE: done locally, and nothing is sent
 * @wire_solicited: instead of @wire with SRNIC_WQE_SOLICITED
 */
struct core_operation {
	u8 known, kernel_only, may_inline;
	u8 direction;
	u8 remote, names_stag, immediate, invalidates_sink, by_response;
	u8 min_sge, max_sge;
	u8 handler;
	u8 wire, wire_solicited;
};

/* The row of any opcode (enum srnic_opcode). */
const struct core_operation *core_operation_of(u8 opcode);

/* ---- Rings: validation of user input ---- */

enum core_wqe_verdict {
	CORE_WQE_OK = 0,
	CORE_WQE_BAD_OPCODE,
	CORE_WQE_BAD_SGE,	/* too many entries, or too many or few for this opcode */
	CORE_WQE_BAD_LENGTH,	/* inline beyond the slot, or a total above 2^32-1 */
};

/*
 * Checks a private copy of a send queue slot (slot_size bytes); kernel: the opcodes reserved for
 * kernel consumers are allowed. *length: bytes of payload.
 */
enum core_wqe_verdict core_send_wqe_check(const struct srnic_send_wqe *wqe, u32 slot_size,
					  bool kernel, u32 *length);
/* Checks a private copy of a receive queue slot (slot_size bytes). *room: bytes it can hold. */
enum core_wqe_verdict core_recv_wqe_check(const struct srnic_recv_wqe *wqe, u32 slot_size,
					  u32 *room);
/*
 * Slots published and not taken, 0..entries; a hostile index yields 0.
 */
u32 core_ring_pending(u32 prod, u32 taken, u32 entries);

#endif
