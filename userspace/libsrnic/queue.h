/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The interface between the files in C, which use libibverbs' private interface (C only: its
 * command structs need empty structs of size zero), and the queues in C++: the objects behind the
 * verbs handles, and the functions of the data path. Only srnic_doorbell() and
 * srnic_cq_arm_in_kernel() make a system call.
 */
#ifndef SRNIC_QUEUE_H
#define SRNIC_QUEUE_H

#include <stdbool.h>

#include <infiniband/verbs.h>
#include <rdma/srnic-abi.h>

#ifdef __cplusplus
extern "C" {
#endif

struct verbs_xrcd;
struct srnic_qp;

/*
 * A spin lock that is nearly free in a process with one thread. @unused: the application promised
 * to serialize.
 */
struct srnic_lock {
	int held;
	int unused;
};

/*
 * A mapped ring, with private copies of its header's fields at creation. All zero: the queue does
 * not exist. @slots: the ring that has the slots, another one after a resize.
 */
struct srnic_ring {
	struct srnic_ring_hdr *hdr;
	struct srnic_ring_hdr *slots;
	uint64_t mapped;	/* bytes */
	uint32_t entries;
	uint32_t slot_size;
};

/*
 * A work queue: send queue, receive queue or SRQ. Everything but @ring's shared part is private and
 * protected by @lock.
 */
struct srnic_wq {
	struct srnic_ring ring;
	struct srnic_ring resized; /* SRQs: the mapping of ring.slots, after a resize */
	struct srnic_lock lock;
	uint32_t prod;		/* published */
	uint32_t next;		/* written up to here: from prod on not published yet */
	uint32_t cons_seen;	/* the kernel's index when last read */
	uint32_t limit;		/* requests that may be outstanding: at most ring.entries */
	bool closed;		/* the QP's state takes no requests (state.cc): limit is 0 */
	uint32_t granted;	/* while it is closed: what limit is in other states */
	uint32_t max_sge;
	uint32_t max_inline;	/* send queues: bytes */
	bool imm_payload;	/* send queues: SRNIC_OP_IMM may have payload */
	int batch_error;	/* between wr_start and wr_complete: the first error */
};

/* A QP in the list of a CQ that a doorbell waits for (doorbell.hh). */
struct srnic_deferred {
	struct srnic_deferred *next;
	struct srnic_qp *qp;
	int listed;
	/* All under this CQ's lock, when it was last found empty: */
	uint32_t taken_elsewhere; /* from the QP's other CQ */
	uint32_t posted;	/* the send queue's index */
	uint32_t looks;		/* such times that a post followed, in a row */
};

/*
 * When a CQ's last event was taken (arming.hh). Without the lock: what two threads do at once is as
 * if one had done it first.
 */
struct srnic_told {
	uint32_t prod;		/* the kernel's index */
	uint32_t takings;	/* of the thread that took it */
	const uint32_t *thread;	/* that thread's counter of them, never read by another */
	uint32_t trusted;	/* armed since, without an event for what it had announced */
};

/*
 * The anonymous union is what driver.h calls struct verbs_cq. What each poll writes, from @lock to
 * @prod_seen, is in no cache line with what each post reads, from @receives on (cq.cc).
 */
struct srnic_cq {
	union {
		struct ibv_cq base;
		struct ibv_cq_ex ex;
	};
	struct srnic_ring ring;
	struct ibv_pd *parent;	/* the parent domain, or NULL */
	struct srnic_lock lock;
	uint32_t cons;
	uint32_t prod_seen;	/* the kernel's index when last read */
	struct srnic_cqe now;	/* taken by start_poll or next_poll */
	struct srnic_told told;
	struct srnic_ring resized; /* the mapping of ring.slots, after a resize */
	uint32_t receives;	/* completions of receives that were taken */
	struct srnic_deferred *deferred; /* QPs to ring for before a wait; without the lock */
};

/* The first three members are what driver.h calls struct verbs_qp. */
struct srnic_qp {
	union {
		struct ibv_qp base;
		struct ibv_qp_ex ex;
	};
	uint32_t comp_mask;
	struct verbs_xrcd *xrcd;
	struct srnic_wq sq;
	struct srnic_wq rq;
	int sq_sig_all;
	uint32_t features;	/* of the module: SRNIC_FEATURE_* */
	bool ib;		/* its device is of type srnic_ib (state.cc) */
	bool ud;		/* it is of type UD (datagram.hh) */
	uint32_t probes;	/* by srnicdv_probe_atomic(), so far */
	struct srnic_deferred at_send_cq, at_recv_cq;
	uint64_t posted_at;	/* when the last post, or its doorbell, was over (clock.hh) */
	uint32_t streak;	/* posts of a burst so far; under sq.lock */
	uint32_t deferred;	/* posts since the last doorbell; without the lock */
	uint32_t doubt;		/* doorbells that announce no burst after the last that was none */
	uint32_t doubt_left;	/* of these, still to come; both without the lock */
	uint32_t receives_seen;	/* of the receive CQ, at the last post; under sq.lock */
	uint64_t burst_gap;	/* the longest time between two posts of a burst */
};

struct srnic_srq {
	struct ibv_srq base;
	struct srnic_wq wq;
};

struct srnic_ah {
	struct ibv_ah base;
	uint32_t number;	/* by which requests name it; never 0 */
};

/* The features of which this provider knows what they mean. */
#define SRNIC_KNOWN_FEATURES                                                                       \
	(SRNIC_FEATURE_IMMEDIATE | SRNIC_FEATURE_ATOMIC | SRNIC_FEATURE_SEND_IMM |                 \
	 SRNIC_FEATURE_DATAGRAM | SRNIC_FEATURE_WINDOW | SRNIC_FEATURE_RESIZE |                    \
	 SRNIC_FEATURE_FLUSH | SRNIC_FEATURE_TIMESTAMP)

/* Does this provider speak this version of the ABI? */
bool srnic_speaks(uint32_t abi_version);
/* Which side to upgrade if it speaks none of a module whose highest version is @module. */
const char *srnic_abi_advice(uint32_t module);

/*
 * Takes over a new mapping of @mapped bytes whose slots must hold @smallest_slot bytes each. False,
 * and *ring unchanged, if this provider does not support the header.
 */
bool srnic_ring_open(struct srnic_ring *ring, void *map, uint64_t mapped, uint32_t smallest_slot);
/* Sets the limits of a new queue from the granted capacities; wq->ring is open or all zero. */
void srnic_sq_init(struct srnic_wq *wq, const struct ibv_qp_cap *cap);
void srnic_rq_init(struct srnic_wq *wq, uint32_t max_wr, uint32_t max_sge);

/* The verbs of the data path. */
int srnic_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
/* For a window of type 1, which gets its next key. */
int srnic_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int srnic_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int srnic_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int srnic_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int srnic_req_notify_cq(struct ibv_cq *cq, int solicited_only);
/* The program has taken an event of the CQ. */
void srnic_cq_event(struct ibv_cq *cq);

/*
 * The send operations that ibv_create_qp_ex() may ask for, those that want SRNIC_FEATURE_IMMEDIATE,
 * SRNIC_FEATURE_ATOMIC, SRNIC_FEATURE_WINDOW or SRNIC_FEATURE_FLUSH, those of QPs of type UD, and
 * the functions ibv_wr_*() for them.
 */
#define SRNIC_SEND_OPS                                                                             \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_INV |          \
	 IBV_QP_EX_WITH_RDMA_READ)
#define SRNIC_IMMEDIATE_OPS (IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define SRNIC_ATOMIC_OPS                                                                           \
	(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define SRNIC_WINDOW_OPS (IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV)
/*
 * IBV_QP_EX_WITH_FLUSH and IBV_QP_EX_WITH_ATOMIC_WRITE, and enum ibv_wc_opcode of their
 * completions: Debian 12's libibverbs has no names for them.
 */
#define SRNIC_FLUSH_OP			(1 << 11)
#define SRNIC_ATOMIC_WRITE_OP		(1 << 12)
#define SRNIC_FLUSH_OPS			(SRNIC_FLUSH_OP | SRNIC_ATOMIC_WRITE_OP)
#define SRNIC_IBV_WC_FLUSH		8
#define SRNIC_IBV_WC_ATOMIC_WRITE	9
#define SRNIC_DATAGRAM_OPS (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
/* The calls of operations that are not in ops (IBV_QP_EX_WITH_*) are null: librpma looks there. */
void srnic_qp_ex_init(struct srnic_qp *qp, uint64_t ops);
/* The start_poll(), next_poll(), end_poll() and read_*() functions of an extended CQ. */
void srnic_cq_ex_init(struct srnic_cq *cq);

/* Rings for all QPs of the CQ whose doorbell was put off, before one of them is destroyed. */
void srnic_cq_ring(struct srnic_cq *cq);
/* Makes later polls skip the completions of a destroyed QP, or of one that was reset. */
void srnic_cq_forget(struct srnic_cq *cq, uint32_t qp_num);
/* Takes this QP's completion of the request with this wr_id out of turn; false: not there yet. */
bool srnic_cq_pick(struct srnic_cq *cq, uint32_t qp_num, uint64_t wr_id, struct srnic_cqe *out);

/*
 * The second step of a resize (struct srnic_resize_req): with the queue's lock held, the kernel
 * switches to @next, and so does the queue. *next becomes what was used before. 0 or an errno, and
 * nothing changes.
 */
int srnic_cq_switch(struct srnic_cq *cq, struct srnic_ring *next, int cqe);
int srnic_srq_switch(struct srnic_srq *srq, struct srnic_ring *next, struct ibv_srq_attr *attr,
		     int mask);
/* The kernel's part. In cq_verbs.c and srq_verbs.c. */
int srnic_cq_switch_in_kernel(struct srnic_cq *cq, int cqe);
int srnic_srq_switch_in_kernel(struct srnic_srq *srq, struct ibv_srq_attr *attr, int mask);

/*
 * States of a QP of type srnic_ib. Posting fails with EINVAL, or not, as in this state.
 */
void srnic_qp_set_state(struct srnic_qp *qp, enum ibv_qp_state state);
/* The kernel has reset the QP: drops what its CQs still have of it. */
void srnic_qp_was_reset(struct srnic_qp *qp);

/*
 * Makes the kernel read the QP's queues. 0 or an errno. The only system call of the data path, in
 * doorbell.c, but for that of a CQ that is armed late.
 */
int srnic_doorbell(struct srnic_qp *qp);
/*
 * Makes the kernel arm the CQ, and raise the event at once if completions are there that this is
 * for. 0 or an errno. In cq_verbs.c.
 */
int srnic_cq_arm_in_kernel(struct srnic_cq *cq, int solicited_only);

/*
 * Is what a newer caller passes beyond the `known` bytes of a struct zero, and so without meaning?
 * In dv.cc.
 */
bool srnicdv_known(const void *object, size_t known, size_t size);

#ifdef __cplusplus
}
#endif
#endif
