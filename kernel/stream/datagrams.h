/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A QP of type UD, or QP 1 (Documentation/ib.rst, "Datagrams"), which has no stream. Its state is
 * SRNIC_QP_RTS from RTR on: it receives. What it does with datagrams is in datagram/.
 */
#ifndef SRNIC_DATAGRAMS_H
#define SRNIC_DATAGRAMS_H

#include <linux/mutex.h>
#include <linux/rcupdate.h>

#include "stream/qp.h"

/**
 * struct srnic_datagrams - what a QP of type UD, or QP 1, has instead of a stream
 * @qp: whose; not to be used after the QP was closed. Never changes
 * @send: the engine's pass of an operating QP; never changes. tx.mutex held
 * @receiving: BHs off; protects @open, @qkey and the QP's receive half (qp->rx): a datagram is
 *	received under it, whichever processor it comes on. Completion handlers may be called under
 *	it, as under the lock of a stream's socket
 * @open: datagrams are received. Written with tx.mutex held as well, but by a receive that fails
 * @qkey: the QP's Q_Key. Written with tx.mutex held as well
 * @sends: the QP is in RTS: requests are taken from the send queue; tx.mutex
 * @broken: a request has failed, and those behind it are flushed: SQE; tx.mutex
 * @payload: of the datagram that is sent, CORE_DATAGRAM_MAX bytes; tx.mutex
 * @modify: one modify_qp at a time; taken before tx.mutex
 * @attr: the attributes that modify_qp has set, for query_qp; @modify
 * @link: of a QP 1: among all of them (datagram/receive.c)
 * @rcu: frees it, after receives that have found it
 */
struct srnic_datagrams {
	struct srnic_qp *qp;
	enum engine_result (*send)(struct srnic_qp *qp);
	spinlock_t receiving;
	bool open;
	u32 qkey;
	bool sends, broken;
	u8 *payload;
	struct mutex modify;
	struct ib_qp_attr attr;
	struct list_head link;
	struct rcu_head rcu;
};

/* QPs that send datagrams: those of type UD, and QP 1, which is the kernel's. */
static inline bool srnic_has_datagrams(const struct ib_qp *base)
{
	return base->qp_type == IB_QPT_UD || base->qp_type == IB_QPT_GSI;
}

/* NULL: the QP is of another type. */
static inline struct srnic_datagrams *srnic_datagrams_of(const struct srnic_qp *qp)
{
	return srnic_has_datagrams(&qp->base) ? qp->datagrams : NULL;
}

/* 0 or -ENOMEM; charges the active memory control group. */
int srnic_datagrams_alloc(struct srnic_qp *qp);
/* Nothing uses the QP any more. May be called for a QP without. */
void srnic_datagrams_free(struct srnic_qp *qp);

/* Datagrams are received from now on. tx.mutex held. */
void srnic_datagrams_open(struct srnic_datagrams *datagrams);
/*
 * When this returns no receive uses the QP, and none will until it is opened again. Idempotent.
 * Process context.
 */
void srnic_datagrams_close(struct srnic_datagrams *datagrams);

#endif
