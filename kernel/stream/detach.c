// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A QP that leaves a stream and may get another one (Documentation/ib.rst rules 10, 31 and 57).
 */
#include "stream/acks.h"
#include "stream/attach.h"
#include "stream/detach.h"
#include "stream/kick/kick.h"
#include "stream/overdue.h"
#include "stream/state.h"
#include "stream/transmit/transmit.h"

struct core_pair_counts srnic_qp_counts(struct srnic_qp *qp)
{
	const struct core_acks *acks = &qp->acks->core;

	lockdep_assert_held(&qp->tx.mutex);
	return (struct core_pair_counts) {
		.sent = acks->whole,
		.delivered = READ_ONCE(acks->received),
		.idle = !core_acks_unacknowledged(acks),
	};
}

/*
 * Requests of which nothing was sent are taken again. If a request was sent and is not
 * acknowledged, no stream takes its place, and they wait for the error (overdue.c).
 */
static void take_again(struct srnic_qp *qp)
{
	if (!core_acks_unacknowledged(&qp->acks->core))
		srnic_sq_go_back(&qp->sq, core_tx_next_request(&qp->tx.core));
	qp->tx.built = qp->sq.taken;
	qp->tx.completed = qp->sq.taken;
}

void srnic_qp_detach_locked(struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->tx.mutex);
	if (qp->sock) {
		srnic_overdue_settle(qp);
		srnic_qp_leave_socket(qp);
		if (srnic_qp_move(qp, BIT(SRNIC_QP_RTS), SRNIC_QP_IDLE, NULL)) {
			srnic_rq_put_back(&qp->rx.receive);
			take_again(qp);
			srnic_overdue_watch(qp);
			/* what is posted now may wait too long */
			WRITE_ONCE(qp->sq.ring.hdr->state, SRNIC_SQ_NEED_DOORBELL);
			srnic_tx_kick(qp);
			if (core_acks_must_fail(&qp->acks->core))
				srnic_qp_fail(qp);
		}
	}
	srnic_qp_clear_owner(qp, NULL);
	if (srnic_qp_move(qp, BIT(SRNIC_QP_TERMINATING), SRNIC_QP_ERROR, NULL))
		srnic_tx_kick(qp);
}

void srnic_qp_detach(struct srnic_qp *qp, const struct srnic_qp_owner *owner)
{
	mutex_lock(&qp->tx.mutex);
	if (srnic_qp_is_owner(qp, owner))
		srnic_qp_detach_locked(qp);
	srnic_tx_unlock(qp);
}
