/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Stalls: a pass of the transmit engine ends though there is more to send.
 */
#ifndef SRNIC_STALL_H
#define SRNIC_STALL_H

#include "report/trace.h"
#include "stream/qp.h"

/* A pass has to stop for this: counts and traces it. tx.mutex held. */
static inline void srnic_tx_stalled(struct srnic_qp *qp, enum srnic_counter why)
{
	lockdep_assert_held(&qp->tx.mutex);
	trace_srnic_tx_stall(qp, why);
	srnic_qp_count(qp, why, 1);
}

#endif
