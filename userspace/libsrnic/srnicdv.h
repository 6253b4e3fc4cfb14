/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Direct verbs of srnic: operations of RFC 7306 and of its draft for which libibverbs has no words.
 * Link with -lsrnic; pkg-config knows it as libsrnic. See srnicdv(7).
 *
 * Calls that return int return 0 or an errno: EINVAL for a wrong argument, EOPNOTSUPP for an object
 * of another device, or if the device's type does not have the operation (srnic_ib: neither Swap
 * nor Immediate Data of eight bytes), or the kernel module is too old for it. Structs may grow at
 * their end: the caller passes the size that it was compiled with, and sets all of a struct to zero
 * before it fills in what it uses.
 */
#ifndef INFINIBAND_SRNICDV_H
#define INFINIBAND_SRNICDV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* Is it a device of srnic? */
bool srnicdv_is_supported(struct ibv_device *device);

/* ---- What a device can do ---- */

enum srnicdv_caps {
	SRNICDV_CAP_IMMEDIATE = 1 << 0,	/* Immediate Data of 8 bytes (RFC 7306 6) */
	SRNICDV_CAP_ATOMIC = 1 << 1,	/* atomic operations, masked ones included (RFC 7306 5) */
	SRNICDV_CAP_SWAP = 1 << 2,	/* can ask a peer for the draft's Swap */
	SRNICDV_CAP_SWAP_ALLOWED = 1 << 3, /* peers may ask this device for one: rdmap_swap is 1 */
};

/**
 * struct srnicdv_device_attr - a device's abilities
 * @comp_mask: out: later members that are valid; none so far
 * @caps: out: enum srnicdv_caps
 * @reserved: 0
 */
struct srnicdv_device_attr {
	uint64_t comp_mask;
	uint32_t caps;
	uint32_t reserved;
};

/* size: sizeof(*attr). What a newer caller expects beyond what this library knows becomes 0. */
int srnicdv_query_device(struct ibv_context *context, struct srnicdv_device_attr *attr,
			 size_t size);

/* ---- Queue pairs ---- */

/* Operations that a QP's creator means to use. */
enum srnicdv_send_ops {
	SRNICDV_QP_WITH_MASKED_FETCH_ADD = 1 << 0,
	SRNICDV_QP_WITH_MASKED_CMP_SWAP = 1 << 1,
	SRNICDV_QP_WITH_SWAP = 1 << 2,
	SRNICDV_QP_WITH_RDMA_WRITE_IMM64 = 1 << 3,
	SRNICDV_QP_WITH_SEND_IMM64 = 1 << 4,
};

enum srnicdv_qp_init_attr_mask {
	SRNICDV_QP_INIT_ATTR_SEND_OPS = 1 << 0,
};

/**
 * struct srnicdv_qp_init_attr - options of a new QP
 * @comp_mask: enum srnicdv_qp_init_attr_mask: the members that are set
 * @send_ops: enum srnicdv_send_ops
 */
struct srnicdv_qp_init_attr {
	uint64_t comp_mask;
	uint64_t send_ops;
};

/*
 * ibv_create_qp_ex(), and the QP can begin batches with ibv_wr_start(). NULL and errno EOPNOTSUPP
 * if the module does not know all of send_ops. QPs that were created otherwise can do the same.
 */
struct ibv_qp *srnicdv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				 const struct srnicdv_qp_init_attr *options, size_t size);

/* ---- Posting ---- */

enum srnicdv_wr_opcode {
	SRNICDV_WR_MASKED_FETCH_ADD,
	SRNICDV_WR_MASKED_CMP_SWAP,
	SRNICDV_WR_SWAP,
	SRNICDV_WR_RDMA_WRITE_IMM64,
	SRNICDV_WR_SEND_IMM64,
};

/* Adds @add. A bit of @mask is the top bit of a field, out of which nothing is carried. */
struct srnicdv_fetch_add {
	uint64_t add, mask;
};

/*
 * If the bits of @compare_mask are those of @compare, replaces the bits of @swap_mask by those of
 * @swap.
 */
struct srnicdv_cmp_swap {
	uint64_t compare, compare_mask, swap, swap_mask;
};

/**
 * struct srnicdv_send_wr - a send work request
 * @wr_id: returned in the completion
 * @next: the next one of a list, or NULL
 * @sg_list: atomic operations: where the original value goes, 8 bytes, in host byte order
 * @num_sge: entries of @sg_list
 * @opcode: what to do
 * @send_flags: enum ibv_send_flags
 * @rkey: STag at the peer; not for SRNICDV_WR_SEND_IMM64
 * @remote_addr: address at the peer, a multiple of 8 for atomic operations
 * @fetch_add: SRNICDV_WR_MASKED_FETCH_ADD; mask 0: one field of 64 bits
 * @cmp_swap: SRNICDV_WR_MASKED_CMP_SWAP
 * @swap: SRNICDV_WR_SWAP: replaces the word
 * @imm_data: Immediate Data, in the order of the wire
 */
struct srnicdv_send_wr {
	uint64_t wr_id;
	struct srnicdv_send_wr *next;
	struct ibv_sge *sg_list;
	int num_sge;
	enum srnicdv_wr_opcode opcode;
	unsigned int send_flags;
	uint32_t rkey;
	uint64_t remote_addr;

	__extension__ union {
		struct srnicdv_fetch_add fetch_add;
		struct srnicdv_cmp_swap cmp_swap;
		uint64_t swap;
		uint8_t imm_data[8];
	};
};

/*
 * Posts a list, like ibv_post_send(): up to the first bad one, which *bad_wr becomes. size:
 * sizeof(*wr). The completions have the verbs' opcodes of the operations without masks; a Swap has
 * IBV_WC_COMP_SWAP.
 */
int srnicdv_post_send(struct ibv_qp *qp, struct srnicdv_send_wr *wr, size_t size,
		      struct srnicdv_send_wr **bad_wr);

/*
 * The same between ibv_wr_start() and ibv_wr_complete(), followed by ibv_wr_set_sge() and its like.
 * wr_id and flags are the QP's. An error is also the batch's, and so ibv_wr_complete()'s.
 */
int srnicdv_wr_masked_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				uint64_t add, uint64_t mask);
int srnicdv_wr_masked_cmp_swap(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
			       uint64_t compare, uint64_t compare_mask, uint64_t swap,
			       uint64_t swap_mask);
int srnicdv_wr_swap(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, uint64_t swap);
int srnicdv_wr_rdma_write_imm64(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr,
				const uint8_t imm_data[8]);
int srnicdv_wr_send_imm64(struct ibv_qp_ex *qp, const uint8_t imm_data[8]);

/* ---- Completions ---- */

/*
 * All 8 bytes of the Immediate Data of the completion that ibv_start_poll() or ibv_next_poll() has
 * taken; EINVAL if it has none. ibv_wc_read_imm_data() returns the first four.
 */
int srnicdv_wc_read_imm64(struct ibv_cq_ex *cq, uint8_t imm_data[8]);

/* ---- Peers ---- */

/* The upper 48 bits of the wr_id of the requests that srnicdv_probe_atomic() posts. */
#define SRNICDV_PROBE_WR_ID 0x73726e6963700000ULL

/*
 * Does the peer know atomic operations? Adds 0 to the word at remote_addr, as RFC 7306 1.1
 * suggests, and waits for the completion, without touching others of the same CQ. sink: 8 bytes,
 * for the word's value.
 *
 * 0: it does. All other results but the last three mean that the connection is over. EOPNOTSUPP:
 * the peer does not. EACCES: it does, but not with this rkey and address. EFAULT: it does, but the
 * word is not aligned. EPERM: this end cannot ask: the QP has no outbound reads (ORD 0), the
 * connection is RDMA/TCP, or sink's lkey does not allow it. ENOTCONN: the connection ended
 * otherwise. ETIMEDOUT: no answer in timeout_ms; sink must stay as it is until the completion
 * comes, with SRNICDV_PROBE_WR_ID. EINVAL, ENOMEM: nothing was sent.
 *
 * No other thread may poll the QP's send CQ meanwhile, and this one must not be within a batch of
 * the QP or a poll of the CQ (ibv_wr_start(), ibv_start_poll()).
 */
int srnicdv_probe_atomic(struct ibv_qp *qp, struct ibv_sge *sink, uint32_t rkey,
			 uint64_t remote_addr, int timeout_ms);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
