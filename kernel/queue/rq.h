/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Receive queues of QPs: receives of their own, or those of a shared receive queue.
 */
#ifndef SRNIC_RQ_H
#define SRNIC_RQ_H

#include "queue/cq.h"
#include "queue/recv_ring.h"

struct srnic_srq;

#define SRNIC_RQ_TOGETHER	8U

/**
 * struct srnic_rq_together - receives that are complete, whose entries go into the CQ together
 * @num: how many
 * @solicited: bit i: entry i is
 * @cqe: the entries
 */
struct srnic_rq_together {
	u32 num;
	u32 solicited;
	struct srnic_cqe cqe[SRNIC_RQ_TOGETHER];
};

/**
 * struct srnic_rq - a receive queue
 * @recv: its own receives. No ring with @srq
 * @srq: the shared queue that receives come from, or NULL
 * @cq: where receives complete
 * @qp_num: the QP's number in CQEs
 * @together: while its stream's bytes are consumed: what is complete and not in the CQ yet. NULL:
 *	each receive completes at once
 */
struct srnic_rq {
	struct srnic_recv_ring recv;
	struct srnic_srq *srq;
	struct srnic_cq *cq;
	u32 qp_num;
	struct srnic_rq_together *together;
};

/*
 * A receive that was taken; its taker completes it. @wqe: a copy of its slot, of @size bytes.
 * @active: taken, not completed yet
 * @again: the message that took it was cut short: the next one gets it
 */
struct srnic_receive {
	struct srnic_recv_wqe *wqe;
	u32 size;
	bool active, again;
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

/* Reads the producer index into @recv.seen. Any context. */
void srnic_rq_update_seen(struct srnic_rq *rq);
/*
 * Takes the next receive; *room: bytes that it can hold. A receive with an invalid list completes
 * in error at once (CORE_TAKE_BROKEN). Any context.
 */
enum core_take srnic_rq_take(struct srnic_rq *rq, struct srnic_receive *receive, u32 *room);
/*
 * The same for a message whose length is known. *small: the next receive can hold less than @need
 * bytes; it stays in the queue (CORE_TAKE_EMPTY). Any context.
 */
enum core_take srnic_rq_take_for(struct srnic_rq *rq, struct srnic_receive *receive, u32 need,
				 bool *small);
/* The message that took it, if it is active, was cut short: it serves the next one. */
static inline void srnic_rq_put_back(struct srnic_receive *receive)
{
	receive->again = receive->active;
}

/*
 * From now on receives complete together: when there are SRNIC_RQ_TOGETHER, before one that fails,
 * or when the caller says. None is flushed meanwhile. The socket's lock held, until
 * srnic_rq_end_together(). The CQ's handlers only wake programs: they complete no receives.
 */
static inline void srnic_rq_begin_together(struct srnic_rq *rq, struct srnic_rq_together *together)
{
	together->num = 0;
	together->solicited = 0;
	rq->together = together;
}

void srnic_rq_push(struct srnic_rq *rq);
/* Adds the entries of all that are complete to the CQ. */
static inline void srnic_rq_push_together(struct srnic_rq *rq)
{
	if (rq->together && rq->together->num)
		srnic_rq_push(rq);
}

static inline void srnic_rq_end_together(struct srnic_rq *rq)
{
	srnic_rq_push_together(rq);
	rq->together = NULL;
}

/* Completes it with this message. Any context. */
void srnic_rq_complete(struct srnic_rq *rq, struct srnic_receive *receive,
		       const struct core_rx_message *message);

/**
 * struct srnic_datagram_way - how a datagram came
 * @v4: by IPv4
 * @vlan: on this VLAN; VLAN_N_VID or more: on none
 */
struct srnic_datagram_way {
	bool v4;
	u16 vlan;
};

/* Completes it with this datagram, whose GRH and payload are in its list. Any context. */
void srnic_rq_complete_datagram(struct srnic_rq *rq, struct srnic_receive *receive,
				const struct core_datagram *datagram,
				const struct srnic_datagram_way *way);
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
