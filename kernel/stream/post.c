// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting: kernel consumers' work requests, and a user's doorbell.
 */
#include "report/trace.h"
#include "stream/kick/kick.h"
#include "stream/state.h"
#include "stream/transmit/transmit.h"
#include "stream/verbs.h"

/*
 * Kernel consumers may post in any context, so for them the engine always runs on the workqueue.
 * For users, wr is NULL and this is the doorbell: the engine runs in the caller's system call.
 */
int srnic_post_send(struct ib_qp *base, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct srnic_qp *qp = to_srnic_qp(base);
	int ret;

	if (qp->user) {
		if (wr) {
			*bad = wr;
			return -EINVAL;
		}
		srnic_tx_doorbell(qp);
		return 0;
	}
	ret = srnic_sq_post(&qp->sq, wr, bad);
	trace_srnic_tx_post(qp);
	smp_mb();	/* prod before state: pairs with go_idle() and srnic_tx_flush() */
	if (READ_ONCE(qp->sq.ring.hdr->state))
		srnic_tx_kick(qp);
	return ret;
}

int srnic_post_recv(struct ib_qp *base, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	struct srnic_qp *qp = to_srnic_qp(base);
	int ret;

	if (qp->rq.srq || qp->user) {
		*bad = wr;
		return -EINVAL;
	}
	ret = srnic_recv_ring_post(&qp->rq.recv, wr, bad);
	smp_mb();	/* prod before the QP's state: pairs with srnic_tx_flush() */
	if (READ_ONCE(qp->state) >= SRNIC_QP_TERMINATING)
		srnic_tx_kick(qp);
	return ret;
}
