/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The owner of a QP. A QP knows its connection only as an owner with struct srnic_qp_owner_ops:
 * direct calls go from connections to QPs.
 */
#ifndef SRNIC_OWNER_H
#define SRNIC_OWNER_H

#include "stream/qp.h"

struct srnic_rest;

/**
 * struct srnic_qp_owner_ops - a QP's calls to its owner
 * @hold: takes a reference. Any context
 * @put: drops a reference. Any context
 * @over: the stream is over or is to end: an input of the owner's state machine, one of its inputs
 *	from the QP, or ABORT. Any context, possibly with the socket locked or tx.mutex held, so it
 *	only records the input and queues work, which calls srnic_qp_stop(). May be called again:
 *	the first input counts, but a later ABORT still hurries a graceful close, and a later FAULT
 *	makes a reset of it.
 *	Before srnic_qp_start() only ABORT is passed: the QP can no longer be started
 * @leave_rest: the QP has left the socket, and this is to be sent on it: the owner copies it, and
 *	has it from now on. At most once, tx.mutex held. NULL: only QPs without acknowledgements
 */
struct srnic_qp_owner_ops {
	void (*hold)(struct srnic_qp_owner *owner);
	void (*put)(struct srnic_qp_owner *owner);
	void (*over)(struct srnic_qp_owner *owner, enum core_conn_input why);
	void (*leave_rest)(struct srnic_qp_owner *owner, const struct srnic_rest *rest);
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
/* Drops a QP that was claimed and not started. Idempotent. Any context. */
void srnic_qp_unclaim(struct srnic_qp *qp, struct srnic_qp_owner *owner);

/* Is this the QP's owner? tx.mutex or this owner's lock held. */
static inline bool srnic_qp_is_owner(const struct srnic_qp *qp, const struct srnic_qp_owner *owner)
{
	return READ_ONCE(qp->owner) == owner;
}

/* ---- for the QP's own files ---- */

/* Calls the owner's over(). With tx.mutex held and qp->sock set, or from the socket's callbacks. */
void srnic_qp_over(struct srnic_qp *qp, enum core_conn_input why);
/* srnic_qp_over(), if the QP has an owner, started or not. Any context. */
void srnic_qp_disconnect(struct srnic_qp *qp, enum core_conn_input why);
/* Drops the owner if it is `only`; any owner if that is NULL. Any context. */
void srnic_qp_clear_owner(struct srnic_qp *qp, struct srnic_qp_owner *only);

#endif
