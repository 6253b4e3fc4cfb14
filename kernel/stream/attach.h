/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A QP and its connection, for code that connects QPs (attach.c). A QP knows its connection only as
 * an owner with struct srnic_qp_owner_ops: direct calls go from connections to QPs.
 */
#ifndef SRNIC_ATTACH_H
#define SRNIC_ATTACH_H

#include <linux/net.h>

#include "core/core.h"

struct bio_vec;
struct srnic_qp;
struct srnic_qp_owner;

/* Why a stream is over or is to end. */
enum srnic_over {
	SRNIC_OVER_PEER_CLOSED,	/* FIN after the last byte was consumed */
	SRNIC_OVER_RESET,	/* RST, timeout, any socket error */
	SRNIC_OVER_TERMINATED,	/* a Terminate was sent or received: close gracefully */
	SRNIC_OVER_FAULT,	/* an error without a message (RDMA/TCP): reset, though it drains */
	SRNIC_OVER_ABORT,	/* modify_qp(ERROR, RESET), destroy_qp: startup ends, no drain */
	SRNIC_OVER_CLOSE,	/* modify_qp(SQD): close gracefully */
};

/**
 * struct srnic_qp_owner_ops - a QP's calls to its owner
 * @hold: takes a reference. Any context
 * @put: drops a reference. Any context
 * @over: the stream is over or is to end. Any context, possibly with the socket locked or tx.mutex
 *	held, so it only records the reason and queues work, which calls srnic_qp_stop(). May be
 *	called again: the first reason counts, but a later ABORT still hurries a graceful close,
 *	and a later FAULT makes a reset of it.
 *	Before srnic_qp_start() only ABORT is passed: the QP can no longer be started
 */
struct srnic_qp_owner_ops {
	void (*hold)(struct srnic_qp_owner *owner);
	void (*put)(struct srnic_qp_owner *owner);
	void (*over)(struct srnic_qp_owner *owner, enum srnic_over why);
};

/**
 * struct srnic_qp_owner - the owner of a QP; a member of the connection's own struct
 * @ops: never changes
 *
 * srnic_qp_claim() sets the owner of an idle QP, one at a time, and the QP holds a reference on it.
 * srnic_qp_unclaim() clears the owner of a QP that was not started, srnic_qp_stop() that of any QP;
 * destroy_qp and modify_qp(RESET) also call stop. A function here that takes an owner does nothing,
 * or fails, if the QP no longer belongs to that owner: so a connection may finish while another
 * already connects its former QP.
 *
 * qp->owner changes under state_lock. Only stop (with tx.mutex held as well) and the owner itself
 * clear it: with tx.mutex or the calling owner's lock held it may be compared without state_lock.
 * It is not NULL while qp->sock is set or the socket's callbacks are ours.
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
void srnic_qp_set_ack_timeout(struct srnic_qp *qp, const struct srnic_qp_owner *owner, u8 timeout);
/* Drops a QP that was claimed and not started. Idempotent. Any context. */
void srnic_qp_unclaim(struct srnic_qp *qp, struct srnic_qp_owner *owner);

/**
 * struct srnic_qp_start - parameters of srnic_qp_start()
 * @owner: has claimed the QP
 * @sock: connected; full operation begins with its next byte. The owner shuts and releases it,
 *	after srnic_qp_stop()
 * @agreed: result of the startup frames, its framing included
 * @initiator: this end sent the Request
 */
struct srnic_qp_start {
	struct srnic_qp_owner *owner;
	struct socket *sock;
	struct core_startup_agreed agreed;
	bool initiator;
};

/*
 * Moves an idle QP to RTS on this socket: takes over the socket's callbacks and sk_user_data, and
 * handles bytes already received. 0, -ENOMEM, or -EINVAL if the QP is not idle or not this owner's.
 * owner->ops->over() may be called before this returns. Process context, no lock of the QP or the
 * socket held; no other callbacks may be on the socket.
 */
int srnic_qp_start(struct srnic_qp *qp, const struct srnic_qp_start *start);
/*
 * Closes the stream gracefully (RFC 5041 6.2.1): requests posted before and the peer's reads still
 * go out; later requests are flushed. peer: the peer has closed its half. If that cut a message
 * short or left a read without its response, it is error 1 of RFC 5044 8. Called again if the peer
 * closes later. Process context.
 */
void srnic_qp_close(struct srnic_qp *qp, const struct srnic_qp_owner *owner, bool peer);
/* Is the close done, or the QP no longer this owner's? Process context. */
bool srnic_qp_closed(struct srnic_qp *qp, const struct srnic_qp_owner *owner);
/*
 * Ends the QP's use of its socket: state ERROR, callbacks restored. When it returns neither half
 * uses the socket, and the QP has no owner. This call flushes posted requests, unless the engine
 * runs elsewhere and then does. owner NULL: any owner, which is told SRNIC_OVER_ABORT. Idempotent;
 * process context; never with a socket lock held.
 */
void srnic_qp_stop(struct srnic_qp *qp, const struct srnic_qp_owner *owner);
/*
 * A startup failed after accept() had succeeded for the consumer: fails an idle QP of this owner.
 * Process context.
 */
void srnic_qp_give_up(struct srnic_qp *qp, const struct srnic_qp_owner *owner);

/* ---- for the QP's own files ---- */

/*
 * The other end of the connection has these bytes for the QP that receives from this socket, next
 * in the stream. False, and nothing is taken, if no QP does. The socket's spinlock held, and no
 * user has locked it.
 */
bool srnic_qp_take(struct sock *sk, const struct bio_vec *vec, u32 num);

/*
 * Sets TCP's timers so that it notices a peer that is gone, on idle and busy connections, in the
 * time that the consumer or else the administrator wants. tx.mutex held, qp->sock set.
 */
void srnic_qp_watch_peer(struct srnic_qp *qp);

/* Calls the owner's over(). With tx.mutex held and qp->sock set, or from the socket's callbacks. */
void srnic_qp_over(struct srnic_qp *qp, enum srnic_over why);
/* The same, if the QP has an owner, started or not. Any context. */
void srnic_qp_disconnect(struct srnic_qp *qp, enum srnic_over why);
/* Frees the queues of RDMA Reads that a start allocated. No stream may use them. */
void srnic_qp_free_reads(struct srnic_qp *qp);

#endif
