/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Pairing: how a QP that its program connects by hand comes to its streams, one after the other
 * (Documentation/ib.rst, "Pairing"). The decisions are the core's (core/ib/pairing.cc). The files
 * of pairing/, from the ground up:
 *
 *	path.c			where the streams go: the addresses of two GIDs
 *	pairing.c		the object: its life, and the end of a stream or an attempt
 *	consumer.c		both roles, as the consumer of eps (connection/consumer.h)
 *	connector.c		attempts to connect
 *	port.c			the TCP port of a network namespace
 *	attributes.c, verbs.c	modify_qp and query_qp, creation and destruction
 */
#ifndef SRNIC_PAIRING_H
#define SRNIC_PAIRING_H

#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "pairing/path.h"
#include "srnic.h"
#include "stream/acks.h"

struct srnic_ep;

/**
 * struct srnic_pairing - one QP's pairing
 * @core: the decisions; tx.mutex
 * @qp: whose; never changes. Eps that know this have a reference to it
 * @work: connects when it is time. Queued only while @core waits; gone when the QP is destroyed
 * @path: where its streams go; tx.mutex. Set when the QP enters RTR
 * @attempt: the connection that this end tries to open, referenced, or NULL; tx.mutex
 * @attached: the connection that has its stream, or is to have it, referenced, or NULL; tx.mutex
 * @reason: why there was no stream when that was tried last: as core_pair_outcome.reason; tx.mutex
 * @error: likewise, if TCP failed: an errno, else 0; tx.mutex
 * @modify: one modify_qp at a time. Taken before tx.mutex
 * @attr: the attributes that modify_qp has set, for query_qp; @modify
 */
struct srnic_pairing {
	struct core_pairing core;
	struct srnic_qp *qp;
	struct delayed_work work;
	struct srnic_path path;
	struct srnic_ep *attempt, *attached;
	u8 reason;
	int error;
	struct mutex modify;
	struct ib_qp_attr attr;
};

static inline struct srnic_pairing *srnic_pairing_of(const struct srnic_qp *qp)
{
	return qp->acks->pairing;
}

/* ---- pairing.c. Process context ---- */

/* The QP has acknowledgements, and no pairing. 0 or -ENOMEM. */
int srnic_pairing_alloc(struct srnic_qp *qp);
/* Nothing has the QP any more. */
void srnic_pairing_free(struct srnic_pairing *pairing);

/* The QP is in RTR: @path, and the host's part of @core but the incarnation, are set. */
void srnic_pairing_begin(struct srnic_pairing *pairing);
/*
 * The QP leaves RTR and RTS, or is destroyed: no attempt is made any more when this returns. The
 * caller ends the stream.
 */
void srnic_pairing_end(struct srnic_pairing *pairing);

/* The calls below with tx.mutex held. */

/* Ends the attempt in progress, if there is one. */
void srnic_pairing_drop_attempt(struct srnic_pairing *pairing);
/*
 * Ends the stream, if there is one, because there is another one: the QP leaves it, and its
 * connection is reset.
 */
void srnic_pairing_drop_stream(struct srnic_pairing *pairing);
/* There is no stream yet: what the core says about an attempt. error: TCP's, or 0. */
void srnic_pairing_take_outcome(struct srnic_pairing *pairing,
				const struct core_pair_outcome *outcome, int error);
/* The QP has left the stream of this ep, or will not get it: it waits for another one. */
void srnic_pairing_lost(struct srnic_pairing *pairing, struct srnic_ep *ep);

/* ---- connector.c ---- */

/* The work of @work. */
void srnic_pairing_connect(struct work_struct *work);

#endif
