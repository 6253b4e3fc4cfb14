/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Acks that the peer has asked for, and that wait for the program's answer, which takes them along
 * (Documentation/ib.rst rule 14).
 */
#ifndef SRNIC_ACK_RIDE_H
#define SRNIC_ACK_RIDE_H

#include <linux/hrtimer.h>

struct core_acks;
struct srnic_qp;

/* So many questions in a row must have been answered before an Ack waits: at first, and at most. */
#define SRNIC_RIDE_STREAK	8U
#define SRNIC_RIDE_STREAK_MAX	4096U
/* One in so many does not wait: does the program's request follow without that, too? */
#define SRNIC_RIDE_CHECK	32U
/* A request that is late costs as much as about so many Acks. */
#define SRNIC_RIDE_LATE		256U
/* Requests that one Ack may wait with: more is a stream. */
#define SRNIC_RIDE_MOST		4U

/**
 * struct srnic_ride - does an Ack wait for the program's next request? The receive half's, under
 *	the socket's lock, where nothing else is said
 * @qp: whose Acks they are
 * @acks: its numbers
 * @timer: sends it by itself. Left alone while it is queued: it then looks at @end
 * @end: when it has waited for too long; written without a lock
 * @patience: ns until then; only tests change it
 * @allowed: Acks may wait: the QP is a program's. A kernel's peer keeps payload until the Ack
 *	(transmit/kept.h), and asks seldom. Set before the first stream
 * @waits: the Ack of the last question was left to the program; the timer reads it without a lock
 * @late: the program's request came too late; the timer sets this, without a lock
 * @begun: core.begun when the peer asked last
 * @streak: questions in a row that a request of this end followed; at most @needed
 * @needed: before an Ack waits
 * @taken: Acks that have waited since one did not
 * @in_time: requests that took an Ack along since @needed changed
 */
struct srnic_ride {
	struct srnic_qp *qp;
	const struct core_acks *acks;
	struct hrtimer timer;
	ktime_t end;
	u32 patience;
	bool allowed, waits, late;
	u32 begun;
	u16 streak, needed, taken, in_time;
};

/* For srnic_acks_alloc(); fills in zeros. */
void srnic_ride_init(struct srnic_ride *ride, struct srnic_qp *qp, const struct core_acks *acks);
/* A stream begins; tx.mutex held, no callbacks on the socket. */
void srnic_ride_start(struct srnic_ride *ride);
/* No Ack waits any more: the QP has left its stream. Process context. */
void srnic_ride_stop(struct srnic_ride *ride);
/*
 * The peer has asked anew. Is the Ack left to the program's next request? Then it is sent within
 * 1 ms all the same. Socket lock held.
 */
bool srnic_ride_takes(struct srnic_ride *ride);

#endif
