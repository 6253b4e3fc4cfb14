/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A connection, from its first SYN to its last FIN (RFC 5044 7, RFC 5041 6.2, RFC 5040 6.2).
 * Included by core.h.
 */
#ifndef SRNIC_CORE_CONNECTION_H
#define SRNIC_CORE_CONNECTION_H

/*
 * States of a connection. States before OPERATION are the startup phase. core/connection.cc has
 * the table of transitions.
 */
enum core_conn_state {
	CORE_CONN_CONNECTING,		/* TCP connects */
	CORE_CONN_REQUESTING,		/* TCP takes the Request */
	CORE_CONN_AWAIT_REPLY,
	CORE_CONN_AWAIT_REQUEST,
	CORE_CONN_ANNOUNCED,		/* the consumer has the Request: accept or reject */
	CORE_CONN_REPLYING,		/* TCP takes the Reply that accepts */
	CORE_CONN_CLOSING,		/* TCP takes the last frame: a refusal or a Terminate */
	CORE_CONN_OPERATION,		/* the QP has the stream */
	CORE_CONN_DRAINING,		/* the QP sends what was posted */
	CORE_CONN_FINISHING,		/* TCP takes what the QP left, and its last Ack */
	CORE_CONN_LINGER,		/* our FIN is out; the peer's FIN or an ACK is missing */
	CORE_CONN_DEAD,
	CORE_CONN_STATES
};

/* Events that a connection reacts to. */
enum core_conn_input {
	CORE_CONN_NOTHING = 0,
	/* TCP, the peer and time */
	CORE_CONN_TCP_CONNECTED,
	CORE_CONN_FRAME_SENT,		/* TCP has taken all that was laid out */
	CORE_CONN_REQUEST,		/* a valid Request is complete */
	CORE_CONN_REPLY_ACCEPTS,	/* a valid Reply is complete, and the two ends agree */
	CORE_CONN_REPLY_REJECTS,
	CORE_CONN_REPLY_UNFIT,		/* accepts, but the two ends cannot agree */
	CORE_CONN_BROKEN,		/* during startup: FIN, reset, invalid frame, no memory */
	CORE_CONN_TCP_CLOSED,		/* both FINs are acked, or there was a reset */
	CORE_CONN_TIMEOUT,		/* the time of core_conn_limit_of() is over */
	/* the consumer */
	CORE_CONN_TOOK_REQUEST,		/* the consumer has the Request */
	CORE_CONN_BUSY,			/* its backlog is full, or it refuses at once */
	CORE_CONN_ACCEPTED,		/* it has the Request, and accepts at once */
	CORE_CONN_ACCEPT,
	CORE_CONN_REJECT,		/* also an accept that failed */
	CORE_CONN_UNDELIVERED,		/* REPORT_CONNECTED failed: no memory */
	/* the QP */
	CORE_CONN_QP_STARTED,
	CORE_CONN_QP_REFUSED,		/* it did not start */
	CORE_CONN_PEER_CLOSED,		/* FIN in full operation */
	CORE_CONN_RESET,		/* RST, timeout, any socket error in full operation */
	CORE_CONN_TERMINATED,		/* a Terminate was sent or received */
	CORE_CONN_FAULT,		/* an error that this framing has no message for */
	CORE_CONN_CLOSE,		/* the consumer closes gracefully: modify_qp(SQD) */
	CORE_CONN_DRAINED,		/* the QP has sent what was posted before */
	CORE_CONN_DETACH,		/* the QP, which may get another stream, leaves this one */
	/* in any state */
	CORE_CONN_ABORT,		/* modify_qp or destroy_qp; no listener; gave way */
	CORE_CONN_KILL,			/* the device goes away: do not linger */
	CORE_CONN_INPUTS
};

/*
 * Actions, taken in this order. REPORT_*: reports to the consumer, here as iw_cm's events. Status:
 * with the errno of the input. Outcome: the next input.
 */
enum core_conn_action {
	CORE_CONN_COUNT_FAILURE,	/* statistics: a startup failed */
	CORE_CONN_COUNT_RESET,
	CORE_CONN_REPORT_DISCONNECT,	/* DISCONNECT */
	CORE_CONN_START_QP,		/* outcome: QP_STARTED, QP_REFUSED */
	CORE_CONN_DRAIN_QP,		/* it takes no new work requests */
	CORE_CONN_STOP_QP,		/* to error, and off the socket */
	CORE_CONN_FAIL_QP,		/* to error, before it was started */
	CORE_CONN_DROP_QP,		/* the consumer can connect it again */
	/* CONNECT_REQUEST; outcome: TOOK_REQUEST, BUSY, BROKEN, or (not of iw_cm) ACCEPTED */
	CORE_CONN_REPORT_REQUEST,
	CORE_CONN_LEAVE_LISTENER,	/* no longer one of its startups */
	CORE_CONN_REPORT_CONNECTED,	/* CONNECT_REPLY; outcome: UNDELIVERED on failure */
	CORE_CONN_REPORT_REJECTED,	/* CONNECT_REPLY with the peer's private data */
	CORE_CONN_REPORT_FAILED,	/* CONNECT_REPLY, status */
	CORE_CONN_REPORT_ESTABLISHED,	/* ESTABLISHED */
	CORE_CONN_REPORT_NOT_ESTABLISHED,	/* ESTABLISHED, status */
	CORE_CONN_REPORT_CLOSED,	/* CLOSE, status */
	/* lay out the Request, if not before; outcome: BROKEN; REPLY_ACCEPTS: without frames */
	CORE_CONN_MAKE_REQUEST,
	CORE_CONN_MAKE_REFUSAL,		/* lay out a Reply that rejects */
	CORE_CONN_MAKE_TERMINATE,	/* lay out a Terminate, if the framing has one */
	CORE_CONN_PART,			/* release the consumer's objects: no event follows */
	CORE_CONN_TAKE_REST,		/* from the QP, which has left it */
	CORE_CONN_SHUT,			/* close TCP's half connection: FIN */
	CORE_CONN_RELEASE,		/* release the socket: resets an open connection */
	CORE_CONN_ACTIONS
};

/* Which timeout bounds a state. */
enum core_conn_limit {
	CORE_CONN_NO_LIMIT,		/* OPERATION, DEAD */
	CORE_CONN_LIMIT_STARTUP,	/* TCP or the peer has to make progress */
	CORE_CONN_LIMIT_REPLY,		/* the peer's consumer has to decide */
	CORE_CONN_LIMIT_ACCEPT,		/* our consumer has to decide */
	CORE_CONN_LIMIT_DRAIN,		/* extended while bytes flow */
	CORE_CONN_LIMIT_LINGER,		/* extended while bytes are acked: FINISHING, too */
};

/* actions: bits by enum core_conn_action. known: false if the input means nothing in this state. */
struct core_conn_step {
	enum core_conn_state next;
	u32 actions;
	bool known;
};

struct core_conn_step core_conn_next(enum core_conn_state state, enum core_conn_input input);
enum core_conn_limit core_conn_limit_of(enum core_conn_state state);

/**
 * struct core_startups - the startups in progress on a port, when another connection arrives
 * @num: how many there are
 * @limit: how many there may be
 * @busiest: how many the source has that has most
 * @each: how many a source may have, once the port is full
 * @source_idles: the busiest source has an idle startup
 * @idles: any source has an idle startup
 * @age: of the oldest idle startup
 * @grace: how long a startup may be idle
 *
 * A startup is idle if the peer owes the next byte. A startup with unread bytes is not idle: there
 * this end is late. Times are ticks of the caller's clock.
 */
struct core_startups {
	u32 num, limit;
	u32 busiest, each;
	bool source_idles, idles;
	u64 age, grace;
};

/* May another startup begin? */
enum core_admission {
	CORE_ADMIT,
	CORE_ADMIT_FOR_SOURCE,		/* yes: the busiest source's oldest idle one gives way */
	CORE_ADMIT_FOR_OLDEST,		/* yes: the oldest idle one gives way */
	CORE_ADMIT_LATER		/* no */
};

/* *wait: after which time to ask again if the answer is no; sooner if a startup ends. */
enum core_admission core_admit(const struct core_startups *startups, u64 *wait);

/**
 * struct core_patience - a timeout that progress extends, up to a limit
 * @end: when it expires
 * @limit: the latest time for @end
 * @each: time from the last progress seen to @end
 * @progress: the value seen last, in any unit
 *
 * Times are ticks of the caller's clock.
 */
struct core_patience {
	u64 end, limit;
	u32 each;
	u32 progress;
};

void core_patience_begin(struct core_patience *patience, u64 now, u32 each, u32 most, u32 progress);
/* Records progress; true if the timeout has expired even so. */
bool core_patience_over(struct core_patience *patience, u64 now, u32 progress);

#endif
