/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Send queues: a ring of send WQEs, and the completion of requests taken from it.
 */
#ifndef SRNIC_SQ_H
#define SRNIC_SQ_H

#include "queue/cq.h"
#include "queue/ring.h"

/*
 * A send work request between its start and its completion. @detail: the CQE's byte_len, or
 * vendor_err with an error
 */
struct srnic_sq_track {
	u64 wr_id;
	u32 detail;
	u8 opcode;
	u8 flags;
	u8 status;
	bool done;
};

/**
 * struct srnic_sq - a send queue
 * @ring: send WQEs; the consumer (user space or kernel posts) produces
 * @cq: where requests complete
 * @qp_num: the QP's number in CQEs
 * @framing: enum core_framing of the connection. Set before the QP operates
 * @datagrams: the QP is of type UD: requests name address handles. Never changes
 * @sig_all: every request completes with a CQE, signaled or not
 * @lock: irqsave; protects @posted. Innermost
 * @posted: kernel consumers' producer index
 * @taken: the kernel's own consumer index. Changed by the engine only
 * @done_lock: irqsave; protects @done and @track. cq->lock nests inside; no handler is called under
 *	it
 * @done: requests completed so far; read without the lock to check for room
 * @track: one per slot, in use from srnic_sq_track() until the request completes
 */
struct srnic_sq {
	struct srnic_ring ring;
	struct srnic_cq *cq;
	u32 qp_num;
	u8 framing;
	bool datagrams;
	bool sig_all;
	spinlock_t lock;
	u32 posted;
	u32 taken;
	spinlock_t done_lock;
	u32 done;
	struct srnic_sq_track *track;
};

/* list: bytes in a slot after the WQE head. 0 or -ENOMEM; may sleep. */
int srnic_sq_alloc(struct srnic_sq *sq, u32 min_entries, u32 list);
/* May be called for a queue that was not allocated, or only in part. */
void srnic_sq_free(struct srnic_sq *sq);

/* Posts a kernel consumer's requests; *bad is the first that was refused. Any context. */
int srnic_sq_post(struct srnic_sq *sq, const struct ib_send_wr *wr, const struct ib_send_wr **bad);

/* Slots published and not taken; 0 if a user's index is impossible. For the engine. */
static inline u32 srnic_sq_pending(const struct srnic_sq *sq)
{
	/* acquire: the index before the slots that it publishes */
	return core_ring_pending(smp_load_acquire(&sq->ring.hdr->prod), sq->taken,
				 sq->ring.entries);
}

/*
 * Goes back: the request at this index, which was taken, is the next to be taken again, and none
 * from there on is done. For the engine; nothing else completes requests meanwhile.
 */
void srnic_sq_go_back(struct srnic_sq *sq, u32 index);
/* Records a request that the engine takes from the queue. */
void srnic_sq_track(struct srnic_sq *sq, u32 index, const struct srnic_send_wqe *wqe);
/*
 * Marks the request at this index done, then completes done requests in order. Any context; ignores
 * a stale index. detail: byte_len, or vendor_err with an error.
 */
void srnic_sq_complete(struct srnic_sq *sq, u32 index, u8 status, u32 detail);
/*
 * Marks all requests in [from, to) done that do not wait for a response, then completes done
 * requests in order. Any context.
 */
void srnic_sq_complete_sent(struct srnic_sq *sq, u32 from, u32 to);
/*
 * Completes the oldest request that was posted and has not completed, if there is one, with this
 * status. For the engine; nothing else completes requests meanwhile.
 */
void srnic_sq_fail_oldest(struct srnic_sq *sq, u8 status);
/*
 * Sets the status with which the next flush completes the request at this index, unless it is done.
 * Any context.
 */
void srnic_sq_blame(struct srnic_sq *sq, u32 index, u8 status);
/*
 * Sets the status with which the next flush completes the oldest undone Write, with or without
 * Immediate Data, if there is one. For the engine, right before srnic_sq_flush().
 */
void srnic_sq_blame_write(struct srnic_sq *sq, u8 status, u32 vendor_err);
/*
 * Flushes all requests that were taken or posted. False if some wait for room in the CQ. For the
 * engine; may sleep.
 */
bool srnic_sq_flush(struct srnic_sq *sq, enum srnic_flush how);

#endif
