/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A QP whose peer acknowledges its requests (Documentation/ib.rst): the core's numbers, the
 * requests that may have to be sent again, and what waits for time to pass.
 */
#ifndef SRNIC_ACKS_H
#define SRNIC_ACKS_H

#include <linux/hrtimer.h>

#include "stream/ack_ride.h"
#include "stream/qp.h"

struct sock;
struct srnic_pairing;

/**
 * struct srnic_overdue - for how long requests have been unacknowledged (overdue.c)
 * @timer: looks, while there are such requests
 * @qp: whose requests
 * @since: jiffies of the last progress: the peer has said something, or TCP has delivered bytes of
 *	a request or response. Either half's
 * @looked: @since when the timer looked last. This, @sent and @delivered are the timer's while it
 *	is queued, else the engine's
 * @due: the engine is to look. Atomic
 * @waits: requests wait for the peer, as the engine knows it. The engine's
 * @sent: what TCP had delivered when the engine looked last
 * @delivered: TCP has delivered all: what it delivers now is this end's question
 */
struct srnic_overdue {
	struct hrtimer timer;
	struct srnic_qp *qp;
	unsigned long since;
	unsigned long looked;
	unsigned long due;
	u32 sent;
	bool delivered, waits;
};

/* The peer has said something, or TCP has delivered something. Any context. */
static inline void srnic_note_progress(struct srnic_overdue *overdue)
{
	unsigned long now = jiffies;

	if (READ_ONCE(overdue->since) != now)	/* the other half reads it all the time */
		WRITE_ONCE(overdue->since, now);
}

/**
 * struct srnic_kept - the kept payload of a stream (transmit/kept.h); zeros: none is kept
 * @wanted: payload of this stream is kept. Set before the stream begins
 * @base: bytes that TCP had delivered, or was to deliver, when the stream began. Set with @wanted
 * @given: TCP may have kept payload. The engine's
 * @ended: none is kept any more. The engine's
 */
struct srnic_kept {
	bool wanted;
	u64 base;
	bool given, ended;
};

/**
 * struct srnic_acks - the acknowledgements of a QP
 * @core: the numbers; struct core_acks says which half may change what. The lock of receive is the
 *	socket's lock, the engine has tx.mutex
 * @qp: of which they are
 * @due: bits by enum srnic_acks_due, set by the timers and taken by the engine
 * @delay: until a request that the peer was not ready for is sent again (rule 22)
 * @late: until deliveries are acknowledged that nobody asked about (rule 14)
 * @ride: whether an Ack waits for the program's answer
 * @overdue: until the peer counts as gone (rule 28)
 * @had_stream: since it was RESET
 * @communicates: COMM_EST was raised since it was RESET. The receive half's
 * @draining: SQ_DRAINED is to be raised. Under tx.mutex; the receive half kicks the engine for it
 * @keepalive: TCP's is on, because a responder must not send before it has heard of its peer. Under
 *	tx.mutex
 * @kept: payload of the stream that stays in its regions
 * @pairing: how the QP gets its streams (pairing/pairing.h), or NULL
 * @end: requests before this index of the send queue are acknowledged. The receive half's
 * @asked: core.asked when the engine was kicked last for that. The receive half's
 * @probes: core.probes likewise
 * @sent: the ring of core.sent
 */
struct srnic_acks {
	struct core_acks core;
	struct srnic_qp *qp;
	unsigned long due;
	struct hrtimer delay, late;
	struct srnic_ride ride;
	struct srnic_overdue overdue;
	bool had_stream, communicates, draining, keepalive;
	struct srnic_kept kept;
	struct srnic_pairing *pairing;
	u32 end;
	u32 asked, probes;
	struct core_sent sent[];
};

/*
 * Makes this QP, which was never connected, one with acknowledgements. 0 or -ENOMEM. Its send queue
 * must have been allocated; charges the active memory control group.
 */
int srnic_acks_alloc(struct srnic_qp *qp);
/* Nothing may use the QP any more. May be called for a QP without acknowledgements. */
void srnic_acks_free(struct srnic_qp *qp);

/*
 * Numbers begin: the QP is RESET, and its send queue empty. @core.paused is set. tx.mutex held, no
 * stream.
 */
void srnic_acks_reset(struct srnic_qp *qp);
/* A stream begins; numbers go on. tx.mutex held, no callbacks on the socket. */
void srnic_acks_start(struct srnic_qp *qp);
/* The QP has left its stream: no timer kicks it any more. Idempotent. Process context. */
void srnic_acks_stop(struct srnic_qp *qp);

/* ---- the engine's part. tx.mutex held ---- */

/* Does what has become due since the last pass. */
void srnic_acks_take_due(struct srnic_qp *qp);
/* Goes back to a request that the peer was not ready for. False if there is none. */
bool srnic_acks_go_back(struct srnic_qp *qp);
/*
 * Everything that could be sent is given to TCP. True if the QP has to leave its stream, and has
 * failed.
 */
bool srnic_acks_over(struct srnic_qp *qp);
/*
 * Nothing more is to be said for now: has the engine run in time for what was delivered since. Also
 * for the receive half, instead of kicking the engine.
 */
void srnic_acks_rest(struct srnic_qp *qp);

/* The source of this request of the peer, a Read, cannot be read any more: it is refused. */
void srnic_acks_source_gone(struct srnic_qp *qp, u32 number);

/* Raises SQ_DRAINED if that is wanted, and what was sent is done. */
void srnic_acks_look_drained(struct srnic_qp *qp);

/* ---- the receive half's part. Socket lock held ---- */

/* A response is complete: requests before its own are done. Before that one completes. */
void srnic_acks_responded(struct srnic_qp *qp);
/* What an event of the core means here, after the rest of its delivery. */
void srnic_acks_deliver(struct srnic_qp *qp, enum core_rx_event event);
/* The receive queue of the socket will be read, and is read. With the socket's lock. */
void srnic_acks_begin_run(struct sock *sk);
void srnic_acks_end_run(struct srnic_qp *qp);

#endif
