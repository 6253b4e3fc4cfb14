/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A QP and the connection it is on, for those who connect it (attach.c). A QP knows its connection
 * as an owner, by nothing but struct srnic_qp_owner_ops: calls by name go from connections to QPs.
 */
#ifndef SRNIC_ATTACH_H
#define SRNIC_ATTACH_H

#include <linux/net.h>

#include "core/core.h"

struct srnic_qp;
struct srnic_qp_owner;

/* Why a stream is over, or shall be. */
enum srnic_over {
	SRNIC_OVER_PEER_CLOSED,	/* FIN after the last byte was consumed */
	SRNIC_OVER_RESET,	/* RST, timeout, any socket error */
	SRNIC_OVER_TERMINATED,	/* a Terminate was sent or received: close gracefully */
	SRNIC_OVER_ABORT,	/* modify_qp(ERROR, RESET), destroy_qp: startup ends, no drain */
	SRNIC_OVER_CLOSE,	/* modify_qp(SQD): close gracefully */
};

/**
 * struct srnic_qp_owner_ops - what a QP calls its owner for
 * @hold: takes a reference. Any context
 * @put: gives one back. Any context
 * @over: the stream is over, or shall be. Any context, possibly with the socket locked or tx.mutex
 *	held, so it only notes the reason and queues work, which calls srnic_qp_stop(). May be
 *	called again: the first reason counts, but a later ABORT still hurries a graceful close.
 *	Before srnic_qp_start(), only ABORT comes: the QP cannot be started any more
 */
struct srnic_qp_owner_ops {
	void (*hold)(struct srnic_qp_owner *owner);
	void (*put)(struct srnic_qp_owner *owner);
	void (*over)(struct srnic_qp_owner *owner, enum srnic_over why);
};

/**
 * struct srnic_qp_owner - what connects a QP; a member of the connection's own struct
 * @ops: never changes
 *
 * An idle QP gets its owner by srnic_qp_claim(), one at a time, and holds a reference on it. It
 * loses the owner by srnic_qp_unclaim(), if it was not started, or by srnic_qp_stop(), which
 * destroy_qp and modify_qp(RESET) also call. A function here that takes an owner does nothing, or
 * fails, once the QP is not that owner's any more: so a connection may finish at leisure while
 * its former QP is connected again by another.
 *
 * qp->owner changes under state_lock. It is cleared by stop under tx.mutex in addition, and
 * otherwise by the owner itself only: who holds tx.mutex, or the lock of the owner that calls, may
 * compare it without state_lock. While qp->sock is set, or the socket's callbacks are ours, it is
 * not NULL.
 */
struct srnic_qp_owner {
	const struct srnic_qp_owner_ops *ops;
};

/* 0; -EINVAL if the QP is not idle, -EBUSY if it has an owner. Any context. */
int srnic_qp_claim(struct srnic_qp *qp, struct srnic_qp_owner *owner);
/*
 * The ack timeout that the consumer gave its rdma_cm id, unchecked, in IBTA's units; 0: it gave
 * none, and that of modify_qp stays. Process context.
 */
void srnic_qp_set_ack_timeout(struct srnic_qp *qp, u8 timeout);
/* Gives back a QP that was claimed and not started. Idempotent. Any context. */
void srnic_qp_unclaim(struct srnic_qp *qp, struct srnic_qp_owner *owner);

/**
 * struct srnic_qp_start - how a QP is to begin
 * @owner: that has claimed it
 * @sock: connected, in full operation phase from its next byte on; stays the owner's to shut and
 *	release, after srnic_qp_stop()
 * @agreed: what the two ends' startup frames said
 * @initiator: this end sent the Request
 */
struct srnic_qp_start {
	struct srnic_qp_owner *owner;
	struct socket *sock;
	struct core_mpa_agreed agreed;
	bool initiator;
};

/*
 * An idle QP becomes RTS on this socket: takes over the socket's callbacks and sk_user_data, and
 * handles bytes that are already there. 0, -ENOMEM, or -EINVAL if the QP is not idle or not this
 * owner's. owner->ops->over() may be called before this returns. Process context, no lock of the
 * QP's or the socket's held; nobody else's callbacks may be on the socket.
 */
int srnic_qp_start(struct srnic_qp *qp, const struct srnic_qp_start *start);
/*
 * The stream comes to a graceful end (RFC 5041 6.2.1): what was posted and what the peer has asked
 * to read still goes out; what is posted from now on will be flushed. peer: it has closed its half.
 * If that cut a message short or left a read without its response, it is the error that RFC 5044 8
 * has as number 1. Again when the peer closes later. Process context.
 */
void srnic_qp_close(struct srnic_qp *qp, const struct srnic_qp_owner *owner, bool peer);
/* Is all that done, or the QP not this owner's any more? Process context. */
bool srnic_qp_closed(struct srnic_qp *qp, const struct srnic_qp_owner *owner);
/*
 * Ends the QP's use of its socket: state ERROR, callbacks restored; when it returns neither half
 * uses the socket or will, and the QP has no owner. What is posted is flushed by this call, or by
 * whoever is the engine when it returns. owner NULL: whoever that is. Idempotent; process context;
 * never with a socket lock held.
 */
void srnic_qp_stop(struct srnic_qp *qp, const struct srnic_qp_owner *owner);
/*
 * A startup whose consumer believes that it works has failed: an idle QP of this owner's fails with
 * it. Process context.
 */
void srnic_qp_give_up(struct srnic_qp *qp, const struct srnic_qp_owner *owner);

/* ---- for the QP's own files ---- */

/*
 * Has TCP notice a peer that is gone, on idle and on busy connections, in the time that the
 * consumer or else the administrator wants. tx.mutex held.
 */
void srnic_qp_watch_peer(struct srnic_qp *qp);

/* Tells the owner. tx.mutex and qp->sock set, or in the socket's callbacks. */
void srnic_qp_over(struct srnic_qp *qp, enum srnic_over why);
/* The same from anywhere: tells the owner if there is one, also one that has not started the QP. */
void srnic_qp_disconnect(struct srnic_qp *qp, enum srnic_over why);
/* Frees the queues of RDMA Reads, which a start had made. No stream is there any more. */
void srnic_qp_free_reads(struct srnic_qp *qp);

#endif
