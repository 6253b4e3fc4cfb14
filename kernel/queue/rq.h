/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Receive queues: a ring of receive WQEs of one QP, or its share of a shared receive queue.
 */
#ifndef SRNIC_RQ_H
#define SRNIC_RQ_H

#include "queue/cq.h"
#include "queue/ring.h"

struct srnic_srq;

/**
 * struct srnic_rq - a receive queue
 * @ring: receive WQEs; the consumer (user space or kernel posts) produces. None with @srq
 * @srq: the shared queue that receives come from, or NULL
 * @cq: where receives complete
 * @qp_num: the QP's number in CQEs
 * @lock: irqsave; protects @posted, @taken and @seen. cq->lock nests inside
 * @posted: kernel consumers' producer index
 * @taken: the kernel's own consumer index
 * @seen: the producer index when a receive was last taken, or the connection began
 */
struct srnic_rq {
	struct srnic_ring ring;
	struct srnic_srq *srq;
	struct srnic_cq *cq;
	u32 qp_num;
	spinlock_t lock;
	u32 posted;
	u32 taken;
	u32 seen;
};

/*
 * A receive that was taken. Whoever took it completes it. @wqe: a copy of its slot, of @size bytes.
 * @active: taken, not completed yet
 */
struct srnic_receive {
	struct srnic_recv_wqe *wqe;
	u32 size;
	bool active;
};

static inline const struct srnic_recv_wqe *srnic_receive_wqe(const struct srnic_receive *receive)
{
	return receive->wqe;
}

static inline const struct srnic_sge *srnic_receive_sges(const struct srnic_receive *receive)
{
	return (const struct srnic_sge *)(srnic_receive_wqe(receive) + 1);
}

/* A queue with an SRQ has no ring. 0 or -ENOMEM; may sleep. */
int srnic_rq_alloc(struct srnic_rq *rq, u32 min_entries, u32 max_sge);
/* May be called for a queue that was not allocated. */
void srnic_rq_free(struct srnic_rq *rq);

/* For receives that are taken from this queue. 0 or -ENOMEM; may sleep. */
int srnic_receive_alloc(struct srnic_receive *receive, const struct srnic_rq *rq);
/* May be called for one that was not allocated. */
void srnic_receive_free(struct srnic_receive *receive);

/* Posts a kernel consumer's requests; *bad is the first that was refused. Any context. */
int srnic_rq_post(struct srnic_rq *rq, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);

/* Sets @seen. Any context. */
void srnic_rq_look(struct srnic_rq *rq);
/*
 * Takes the next receive; *room: bytes that it can hold. A receive with an invalid list completes
 * in error at once (CORE_TAKE_BROKEN). Any context.
 */
enum core_take srnic_rq_take(struct srnic_rq *rq, struct srnic_receive *receive, u32 *room);
/* Completes it with this message. Any context. */
void srnic_rq_complete(struct srnic_rq *rq, struct srnic_receive *receive,
		       const struct core_rx_message *message);
/* Completes it in error. vendor_err: as in struct srnic_cqe. Any context. */
void srnic_rq_fail(struct srnic_rq *rq, struct srnic_receive *receive, u8 status, u32 vendor_err);
/*
 * Flushes a receive that was taken, if active. False if it waits for room in the CQ. Any context.
 */
bool srnic_rq_flush_taken(struct srnic_rq *rq, struct srnic_receive *receive,
			  enum srnic_flush how);
/*
 * Flushes all posted receives (not those of an SRQ). False if some wait for room in the CQ. Process
 * context; may sleep.
 */
bool srnic_rq_flush(struct srnic_rq *rq, enum srnic_flush how);

#endif
