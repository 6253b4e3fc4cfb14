/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The interface between srnic's kernel module and its user provider: shared rings, and the
 * driver-private parts of the uverbs commands.
 *
 * Every queue is one ring: a header page-aligned in its own mapping, then fixed-size slots. The
 * producer fills a slot and publishes it by a store-release to `prod`; the consumer frees it by a
 * store-release to `cons`. Both indices count slots since creation and wrap at 2^32; a slot is at
 * index % entries, and entries is a power of two.
 *
 * The kernel never reads back what it wrote: it keeps its own copies of its index, of `entries` and
 * of `slot_size`, and treats whatever user space wrote as hostile.
 */
#ifndef SRNIC_ABI_H
#define SRNIC_ABI_H

#include <linux/types.h>

/* RDMA_DRIVER_* numbers of both types: far outside the range that the kernel assigns. */
#define SRNIC_DRIVER_ID		0x53524e49U	/* "SRNI": type srnic */
#define SRNIC_IB_DRIVER_ID	0x53524942U	/* "SRIB": type srnic_ib */
/* The ABI versions of this header. How they grow: at the driver-private parts, below. */
#define SRNIC_ABI_MIN		1
#define SRNIC_ABI_MAX		1

#define SRNIC_RING_MAGIC	0x53524e47U	/* "SRNG" */
#define SRNIC_RING_VERSION	1
#define SRNIC_RING_SLOTS_OFFSET	256		/* bytes from the header to slot 0 */

/* srnic_ring_hdr.state of a send queue. */
#define SRNIC_SQ_NEED_DOORBELL	(1U << 0)	/* the engine went idle: ring after publishing */
#define SRNIC_SQ_STANDBY	(1U << 2)	/* it will look by itself: ring before waiting */
/* srnic_ring_hdr.state of any work queue. */
#define SRNIC_QUEUE_ERROR	(1U << 1)	/* QP in error: ring after publishing, to flush */

/*
 * srnic_ring_hdr.state of a CQ: written by the user to arm, reset by the kernel when it raises the
 * event.
 */
#define SRNIC_CQ_ARM_NONE	0U
#define SRNIC_CQ_ARM_SOLICITED	1U
#define SRNIC_CQ_ARM_NEXT	2U

/*
 * UVERBS_METHOD_QUERY_CONTEXT: a struct srnic_alloc_ucontext_resp, for a process that was given the
 * descriptor of another one's context. The driver's namespace of uverbs attributes begins at 2^12.
 */
#define SRNIC_ATTR_QUERY_CONTEXT_RESP	(1U << 12)

/**
 * struct srnic_ring_map - where to mmap a ring on the uverbs fd
 * @offset: offset in the file
 * @size: bytes to map
 */
struct srnic_ring_map {
	__aligned_u64 offset;
	__aligned_u64 size;
};

/**
 * struct srnic_ring_hdr - first bytes of every mapped ring
 * @magic: SRNIC_RING_MAGIC
 * @version: SRNIC_RING_VERSION
 * @slot_size: bytes per slot, a multiple of 32
 * @entries: number of slots that follow, a power of two
 * @features: no bit is defined yet; a provider ignores bits that it does not know
 * @next: where to map the ring that SRNIC_RESIZE_PREPARE has made
 * @prod: slots published so far; written by user space for work queues, by the kernel for a CQ
 * @cons: slots freed so far; written by the kernel for work queues, by user space for a CQ
 * @burst: of a send queue, written by user space before it rings: nonzero if more requests are
 *	likely to follow at once
 * @state: for a send queue SRNIC_SQ_NEED_DOORBELL, SRNIC_SQ_STANDBY and SRNIC_QUEUE_ERROR, for
 *	receive queues SRNIC_QUEUE_ERROR, for a CQ one of SRNIC_CQ_ARM_*
 *
 * Doorbell protocol: the user stores prod (release), executes a full barrier, then reads state. The
 * engine sets SRNIC_SQ_NEED_DOORBELL, executes a full barrier, then reads prod once more. So one of
 * the two sees the other. It sets no flag while its next request waits for a Read to complete,
 * which has it look. Arming: the user stores state, executes a full barrier, and polls once
 * more. The kernel stores prod (release), executes a full barrier, then exchanges state. A user
 * that has armed the CQ and sees completions, but will not poll, calls the command REQ_NOTIFY_CQ:
 * then the event is raised at once.
 *
 * After a doorbell in a burst the engine does not go idle but stands by: it sets SRNIC_SQ_STANDBY
 * in the same way, and looks at the queue once or twice as soon as a processor has time for it; a
 * timer of about a millisecond makes that more urgent. Requests posted meanwhile need no doorbell,
 * so many are taken at once. A user finding SRNIC_SQ_STANDBY rings when it has nothing left to do
 * but to wait, that is, when it finds a CQ of this QP empty (and is not taking completions from its
 * other CQ, nor known to look for receives between its posts) or the queue full, and after a pause:
 * it may leave no processor to others.
 *
 * RESET of a QP of type srnic_ib is silent. When modify_qp returns, the kernel has consumed all
 * requests and receives that were posted before (an SRQ keeps those that the QP has not taken), and
 * adds no more completions of them. The state is SRNIC_SQ_NEED_DOORBELL of the send queue, 0 of the
 * receive queue, and indices go on from where they are. The user posts no sends meanwhile, and
 * drops the completions of the QP that are left in its CQs.
 */
struct srnic_ring_hdr {
	__u32 magic;
	__u16 version;
	__u16 slot_size;
	__u32 entries;
	__u32 features;
	struct srnic_ring_map next;
	/* private: */
	__u8 rsvd0[32];

	/* public: */
	__u32 prod;
	__u32 burst;
	/* private: */
	__u8 rsvd1[56];

	/* public: */
	__u32 cons;
	/* private: */
	__u8 rsvd2[60];

	/* public: */
	__u32 state;
	/* private: */
	__u8 rsvd3[60];
};

/**
 * struct srnic_sge - one piece of a gather or scatter list
 * @addr: address within the region of @lkey (its iova space)
 * @length: bytes
 * @lkey: local key; for kernel consumers possibly the device's local_dma_lkey
 */
struct srnic_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

enum srnic_opcode {
	SRNIC_OP_WRITE = 1,
	SRNIC_OP_SEND = 2,
	SRNIC_OP_SEND_INV = 3,	/* imm_inv: STag that the peer invalidates */
	SRNIC_OP_READ = 4,
	SRNIC_OP_LOCAL_INV = 6,	/* imm_inv: STag; a user's: of a window of type 2 */
	/* 5 and 7 are refused: for kernel consumers only */
	SRNIC_OP_RECV = 8,	/* only in a CQE */
	SRNIC_OP_WRITE_IMM = 9,	/* a Write, then Immediate Data (RFC 7306 6) */
	SRNIC_OP_IMM = 10,	/* Immediate Data; with payload over RDMA/TCP only */
	/* Atomic operations (RFC 7306 5): the original value goes into the list, 8 bytes. */
	SRNIC_OP_FETCH_ADD = 11, /* arg: data, mask */
	SRNIC_OP_CMP_SWAP = 12,	/* arg: data, mask, compare, compare mask */
	SRNIC_OP_SWAP = 13,	/* arg: data; of an older draft, which few peers allow */
	/* 14 and 15 are refused: for kernel consumers only */
	SRNIC_OP_FLUSH = 16,	/* arg: bytes, enum srnic_flush_how */
	SRNIC_OP_ATOMIC_WRITE = 17, /* arg[0]: 8 bytes as in memory; remote_addr: a multiple of 8 */
	SRNIC_OP_BIND_MW = 18,	/* binds a memory window */
};

/*
 * srnic_send_wqe.arg[1] of SRNIC_OP_FLUSH: the first, the second or both, and for all of the region
 * the third: then remote_addr and the number of bytes mean nothing.
 */
enum srnic_flush_how {
	SRNIC_FLUSH_GLOBAL = 1U << 0,
	SRNIC_FLUSH_PERSISTENT = 1U << 1,
	SRNIC_FLUSH_MR = 1U << 8,
};

#define SRNIC_WQE_SIGNALED	(1U << 0)
#define SRNIC_WQE_SOLICITED	(1U << 1)
#define SRNIC_WQE_INLINE	(1U << 2)	/* payload in place of the SGE list */
#define SRNIC_WQE_FENCE		(1U << 3)	/* wait until all earlier reads have completed */

/**
 * struct srnic_send_wqe - head of a send queue slot
 * @wr_id: the consumer's cookie, returned in the CQE
 * @opcode: enum srnic_opcode; of a QP of type UD SRNIC_OP_SEND, or SRNIC_OP_IMM with payload
 * @flags: SRNIC_WQE_*
 * @num_sge: entries in the list that follows; 0 with SRNIC_WQE_INLINE
 * @imm_inv: SRNIC_OP_SEND_INV: the STag that the peer invalidates; SRNIC_OP_LOCAL_INV: the STag
 *	that is invalidated; SRNIC_OP_BIND_MW: the region's STag
 * @remote_addr: tagged offset at the peer (all but Sends and Immediate Data alone); of a QP of type
 *	UD the receiver's Q_Key << 32 | QPN; SRNIC_OP_BIND_MW: the first byte, as the region counts
 * @rkey: STag at the peer (likewise); of a QP of type UD the number of the address handle;
 *	SRNIC_OP_BIND_MW: the window's new STag, whose upper 24 bits are those of all its STags
 * @inline_len: bytes of inline payload, with SRNIC_WQE_INLINE
 * @arg: [0] is the Immediate Data of SRNIC_OP_WRITE_IMM and SRNIC_OP_IMM, 8 bytes in wire order;
 *	operands of atomic operations, in host byte order; SRNIC_OP_BIND_MW: [0] bytes, [1] the
 *	IBV_ACCESS_* of the window; of SRNIC_OP_FLUSH and SRNIC_OP_ATOMIC_WRITE see there; else 0
 */
struct srnic_send_wqe {
	__aligned_u64 wr_id;
	__u8 opcode;
	__u8 flags;
	__u8 num_sge;
	/* private: */
	__u8 rsvd0;
	/* public: */
	__u32 imm_inv;
	__aligned_u64 remote_addr;
	__u32 rkey;
	__u32 inline_len;
	__aligned_u64 arg[4];
};

/**
 * struct srnic_recv_wqe - head of a receive queue or SRQ slot
 * @wr_id: the consumer's cookie, returned in the CQE
 * @num_sge: entries in the list that follows, up to the slot's end
 */
struct srnic_recv_wqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	/* private: */
	__u32 rsvd0;
	__aligned_u64 rsvd1[2];
};

/*
 * srnic_cqe.status: the numbers of enum ib_wc_status that srnic produces (equal to enum
 * ibv_wc_status).
 */
enum srnic_wc_status {
	SRNIC_WC_SUCCESS = 0,
	SRNIC_WC_LOC_LEN_ERR = 1,
	SRNIC_WC_LOC_QP_OP_ERR = 2,
	SRNIC_WC_LOC_PROT_ERR = 4,
	SRNIC_WC_FLUSH_ERR = 5,
	SRNIC_WC_MW_BIND_ERR = 6,
	SRNIC_WC_REM_INV_REQ_ERR = 9,
	SRNIC_WC_REM_ACCESS_ERR = 10,
	SRNIC_WC_REM_OP_ERR = 11,
	SRNIC_WC_RETRY_EXC_ERR = 12,
	SRNIC_WC_RNR_RETRY_EXC_ERR = 13,
	SRNIC_WC_GENERAL_ERR = 21,
};

#define SRNIC_CQE_WITH_INV	(1U << 0)	/* imm_inv: the STag that the peer invalidated */
#define SRNIC_CQE_WITH_IMM	(1U << 1)	/* imm_inv: Immediate Data, in wire order */
#define SRNIC_CQE_OF_SEND	(1U << 2)	/* they came with a Send */
#define SRNIC_CQE_GRH		(1U << 3)	/* of a datagram: 40 bytes before the payload */
#define SRNIC_CQE_IPV4		(1U << 4)	/* with it: the last 20 are an IPv4 header */
#define SRNIC_CQE_VLAN		(1U << 5)	/* with it: it came on the VLAN vlan */

/**
 * struct srnic_cqe - one completion (a CQ's slot)
 * @wr_id: cookie of the work request
 * @imm_inv: see @flags
 * @imm: of a datagram, with SRNIC_CQE_WITH_IMM: Immediate Data, in wire order
 * @vlan: of a datagram, with SRNIC_CQE_VLAN: 12 bits
 * @byte_len: bytes received (receives and reads)
 * @qp_num: the QP it belongs to
 * @opcode: enum srnic_opcode of the completed work request
 * @status: enum srnic_wc_status
 * @flags: SRNIC_CQE_*
 * @vendor_err: for an error in a Terminate, sent or received (RFC 5040 4.8): layer << 12 | error
 *	type << 8 | error code; else 0
 * @src_qp: with SRNIC_CQE_GRH: the QPN of the sender
 */
struct srnic_cqe {
	__aligned_u64 wr_id;
	union {
		__aligned_u64 imm_inv;
		struct {
			__u8 imm[4];
			__u16 vlan;
			/* private: */
			__u16 rsvd0;
			/* public: */
		};
	};
	__u32 byte_len;
	__u32 qp_num;
	__u8 opcode;
	__u8 status;
	__u16 flags;
	union {
		__u32 vendor_err;
		__u32 src_qp;
	};
};

/**
 * struct srnic_cqe_times - when a completion was added: behind it in the slot of a CQ that was
 * created with IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION
 * @monotonic: nanoseconds of CLOCK_MONOTONIC, in the initial time namespace
 * @realtime: nanoseconds of CLOCK_REALTIME
 */
struct srnic_cqe_times {
	__aligned_u64 monotonic;
	__aligned_u64 realtime;
	/* private: */
	__aligned_u64 rsvd[2];
};

/* Limits of the ring formats. The device's own limits may be lower. */
#define SRNIC_MAX_SGE		16
#define SRNIC_MAX_INLINE	256	/* bytes: the room of SRNIC_MAX_SGE entries */

/*
 * ---- driver-private parts of the uverbs commands ----
 *
 * How they grow. Structs get new members at their end, whose zero means what was before: nothing
 * that exists changes its meaning or place. For each verb, of every module and provider:
 *
 * - A request may be longer than the struct that the module knows if the rest is zero; else the
 *   verb fails with EOPNOTSUPP. What a shorter one lacks is zero. Verbs without a struct here take
 *   zeros only. (Verbs that destroy look at no request.)
 * - A response fills the smaller of its struct and the room for it; the rest of the room becomes
 *   zero. A verb fails with EINVAL if there is no room for what version 1 cannot work without: the
 *   members up to the rings' places. So a provider sees 0 where the module is older.
 * - A bit of SRNIC_FEATURE_* says that a side knows something new. The provider announces its bits
 *   when it opens a context; the response has those that both know, and the provider uses no more.
 * - Only a change that all of this cannot express gets a new version. A module speaks all versions
 *   from its lowest to its highest, and a context has the highest that its provider speaks, too.
 *   Without one in common, opening fails with EPROTO, and the provider says which side to upgrade:
 *   the highest of the module is the ABI version in its uverbs device's sysfs.
 */

#define SRNIC_FEATURE_IMMEDIATE	(1U << 0)	/* SRNIC_OP_WRITE_IMM, SRNIC_OP_IMM */
#define SRNIC_FEATURE_ATOMIC	(1U << 1)	/* SRNIC_OP_FETCH_ADD, CMP_SWAP and SWAP */
#define SRNIC_FEATURE_SEND_IMM	(1U << 2)	/* SRNIC_OP_IMM with payload: not with MPA */
#define SRNIC_FEATURE_DATAGRAM	(1U << 3)	/* QPs of type UD, and address handles */
#define SRNIC_FEATURE_WINDOW	(1U << 4)	/* memory windows; SRNIC_OP_LOCAL_INV and BIND_MW */
#define SRNIC_FEATURE_RESIZE	(1U << 5)	/* struct srnic_resize_req */
#define SRNIC_FEATURE_FLUSH	(1U << 7)	/* SRNIC_OP_FLUSH, SRNIC_OP_ATOMIC_WRITE */
#define SRNIC_FEATURE_TIMESTAMP	(1U << 8)	/* struct srnic_cqe_times */

/**
 * struct srnic_alloc_ucontext_req - request for a new context
 * @min_abi: lowest ABI version that the provider speaks; 0: SRNIC_ABI_MIN of this header, 1
 * @max_abi: highest; 0: @min_abi
 * @features: SRNIC_FEATURE_* that the provider knows
 * @rsvd: 0
 */
struct srnic_alloc_ucontext_req {
	__u32 min_abi;
	__u32 max_abi;
	__u32 features;
	__u32 rsvd;
};

/**
 * struct srnic_alloc_ucontext_resp - response for a new context
 * @abi_version: that of this context: the highest that both sides speak
 * @device_id: index of the device
 * @features: SRNIC_FEATURE_* that both sides know and the device has
 * @min_abi: lowest ABI version that the module speaks
 * @max_abi: highest
 * @rsvd: 0
 */
struct srnic_alloc_ucontext_resp {
	__u32 abi_version;
	__u32 device_id;
	__u32 features;
	__u32 min_abi;
	__u32 max_abi;
	__u32 rsvd;
};

struct srnic_create_cq_resp {
	struct srnic_ring_map ring;
	__u32 cq_id;
	__u32 rsvd;
};

struct srnic_create_qp_resp {
	struct srnic_ring_map sq;
	struct srnic_ring_map rq;	/* of size 0 if the QP uses an SRQ */
	__u32 qp_num;
	__u32 rsvd;
};

/**
 * struct srnic_create_ah_resp - response for a new address handle
 * @number: names it in srnic_send_wqe.rkey of QPs of the same protection domain; never 0
 * @rsvd: 0
 */
struct srnic_create_ah_resp {
	__u32 number;
	__u32 rsvd;
};

struct srnic_create_srq_resp {
	struct srnic_ring_map ring;
	__u32 srq_id;
	__u32 rsvd;
};

enum srnic_resize_step {
	SRNIC_RESIZE_PREPARE = 1,	/* makes a ring; the queue is as before */
	SRNIC_RESIZE_SWITCH = 2,	/* the queue uses its slots from now on */
};

/**
 * struct srnic_resize_req - request of RESIZE_CQ, and of MODIFY_SRQ with IB_SRQ_MAX_WR
 * @step: enum srnic_resize_step
 * @rsvd: 0
 *
 * A resize takes two commands of the same size, one resize at a time. SRNIC_RESIZE_PREPARE makes a
 * ring, and writes to next of the queue's header where to map it. The user maps it, and leaves the
 * queue alone during SRNIC_RESIZE_SWITCH: the kernel moves what is in the queue to the slots of
 * that ring with the same indices (index % its entries), and both sides use these slots from then
 * on. The queue's header, with its indices and state, is that of the first ring for ever. The ring
 * whose slots were used before is gone if it is not the first one: the user unmaps it.
 *
 * EINVAL: more is in the queue than fits, or the user has not left it alone. Then nothing changes.
 */
struct srnic_resize_req {
	__u32 step;
	__u32 rsvd;
};

#endif
