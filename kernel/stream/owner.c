// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The owner of a QP: the connection that it belongs to, to which it reports the end of its stream.
 */
#include "stream/owner.h"
#include "stream/state.h"

int srnic_qp_claim(struct srnic_qp *qp, struct srnic_qp_owner *owner)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&qp->state_lock, flags);
	if (qp->state != SRNIC_QP_IDLE) {
		ret = -EINVAL;
	} else if (qp->owner) {
		ret = -EBUSY;
	} else {
		owner->ops->hold(owner);
		WRITE_ONCE(qp->owner, owner);
	}
	spin_unlock_irqrestore(&qp->state_lock, flags);
	return ret;
}

void srnic_qp_clear_owner(struct srnic_qp *qp, struct srnic_qp_owner *only)
{
	struct srnic_qp_owner *owner;
	unsigned long flags;

	spin_lock_irqsave(&qp->state_lock, flags);
	owner = !only || qp->owner == only ? qp->owner : NULL;
	if (owner)
		WRITE_ONCE(qp->owner, NULL);
	spin_unlock_irqrestore(&qp->state_lock, flags);
	if (owner)
		owner->ops->put(owner);
}

void srnic_qp_unclaim(struct srnic_qp *qp, struct srnic_qp_owner *owner)
{
	srnic_qp_clear_owner(qp, owner);
}

/* Errors that the QP found itself were noted there, with their details. */
static enum srnic_end end_of(enum core_conn_input why)
{
	switch (why) {
	case CORE_CONN_PEER_CLOSED:
		return SRNIC_END_PEER_CLOSED;
	case CORE_CONN_RESET:
		return SRNIC_END_TCP;
	case CORE_CONN_CLOSE:
		return SRNIC_END_CLOSED;
	default:
		return SRNIC_END_ABORTED;
	}
}

void srnic_qp_over(struct srnic_qp *qp, enum core_conn_input why)
{
	srnic_qp_note_end(qp, end_of(why), 0);
	qp->owner->ops->over(qp->owner, why);
}

void srnic_qp_disconnect(struct srnic_qp *qp, enum core_conn_input why)
{
	struct srnic_qp_owner *owner;
	unsigned long flags;

	spin_lock_irqsave(&qp->state_lock, flags);
	owner = qp->owner;
	if (owner) {
		/* here, while the QP cannot get another connection */
		srnic_qp_note_end_locked(qp, end_of(why), 0);
		owner->ops->hold(owner);
	}
	spin_unlock_irqrestore(&qp->state_lock, flags);
	if (!owner)
		return;
	owner->ops->over(owner, why);
	owner->ops->put(owner);
}
