/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the transmit engine is to send: send requests, and the requests of the peer. tx.mutex held.
 */
#ifndef SRNIC_REQUESTS_H
#define SRNIC_REQUESTS_H

#include "stream/qp.h"

/* The request that was taken last, or may be taken next. */
static inline const struct srnic_send_wqe *srnic_tx_wqe(const struct srnic_tx *tx)
{
	return tx->wqe;
}

static inline const struct srnic_sge *srnic_tx_sges(const struct srnic_tx *tx)
{
	return (const struct srnic_sge *)(srnic_tx_wqe(tx) + 1);
}

/* The peer's oldest request that is not answered, or NULL. */
static inline const struct core_asked *srnic_tx_oldest_asked(const struct srnic_qp *qp)
{
	lockdep_assert_held(&qp->tx.mutex);
	return srnic_reads_nth(&qp->inbound, 0);
}

/* Is there a send request that may be taken? */
bool srnic_request_pending(struct srnic_qp *qp);
/*
 * Copies its slot, once, for srnic_tx_wqe() and srnic_tx_sges(). NULL: there is none, or the QP
 * does not operate.
 */
const struct srnic_send_wqe *srnic_request_next(struct srnic_qp *qp);
/* Takes the request that was copied. It has to be completed. */
void srnic_request_take(struct srnic_qp *qp);

#endif
