/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A QP that leaves a stream and may get another one (Documentation/ib.rst, "Pairing").
 */
#ifndef SRNIC_DETACH_H
#define SRNIC_DETACH_H

#include "stream/owner.h"

/* How far an idle QP is, or one whose stream is to be replaced (core_pairing.h). */
struct core_pair_counts srnic_qp_counts(struct srnic_qp *qp);

/*
 * Ends the QP's use of its socket: callbacks restored, no owner. An operating QP becomes IDLE and
 * keeps its requests: those of which nothing was sent go out on the next stream. The owner gets the
 * rest of the stream (owner->ops->leave_rest()). Does nothing for a QP that is not this owner's.
 * Process context; never with a socket lock held.
 */
void srnic_qp_detach(struct srnic_qp *qp, const struct srnic_qp_owner *owner);
/* srnic_qp_detach() for the owner that the QP has, if any. tx.mutex held. */
void srnic_qp_detach_locked(struct srnic_qp *qp);

#endif
