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
/* One in so many does not wait, to see what the peer does then; while in doubt one of so many. */
#define SRNIC_RIDE_CHECK	32U
#define SRNIC_RIDE_DOUBTED	4U
/* So many doubts are enough. */
#define SRNIC_RIDE_DOUBTS	8U
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
 * @allowed: Acks may wait: the QP is a program's. Of a kernel consumer the peer mostly is one, too,
 *	which keeps payload until the Ack (transmit/kept.h) and asks seldom. Set before the first
 *	stream
 * @waits: the Ack of the last question was left to the program; the timer reads it without a lock
 * @late: the program's request came too late; the timer sets this, without a lock
 * @checked: the Ack of the last question did not wait for the sake of a check
 * @number: the request whose Ack waits, or has waited last; the timer reads it without a lock
 * @before: core.begun when this run of the receive half began
 * @begun: @before of the run in which the peer asked last
 * @asked: when it did, if @waits or @checked
 * @gap: ns from the last question whose Ack waited to the next
 * @streak: questions in a row that a request of this end followed; at most @needed
 * @needed: before an Ack waits
 * @taken: Acks that have waited since one did not
 * @in_time: requests that took an Ack along since @needed changed
 * @doubts: checks after which the peer asked sooner, less the others
 */
struct srnic_ride {
	struct srnic_qp *qp;
	const struct core_acks *acks;
	struct hrtimer timer;
	ktime_t end;
	u64 patience;
	bool allowed, waits, late, checked;
	u32 number;
	u32 before, begun;
	ktime_t asked;
	u64 gap;
	u16 streak, needed, taken, in_time, doubts;
};

/* For srnic_acks_alloc(); fills in zeros. */
void srnic_ride_init(struct srnic_ride *ride, struct srnic_qp *qp, const struct core_acks *acks);
/* A stream begins; tx.mutex held, no callbacks on the socket. */
void srnic_ride_start(struct srnic_ride *ride);
/* No Ack waits any more: the QP has left its stream. Process context. */
void srnic_ride_stop(struct srnic_ride *ride);
/*
 * A run of the receive half begins, with octets of the peer. A program on another processor may
 * answer them before the run ends. Socket lock held.
 */
void srnic_ride_begin_run(struct srnic_ride *ride);
/*
 * The peer has asked anew in this run. Is the Ack left to the program's next request, or gone with
 * it already? One that is left is sent within 1 ms all the same. Socket lock held.
 */
bool srnic_ride_takes(struct srnic_ride *ride);

#endif
