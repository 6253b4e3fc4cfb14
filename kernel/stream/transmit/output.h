/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Giving the batch to TCP or to a peer. tx.mutex held for all.
 */
#ifndef SRNIC_OUTPUT_H
#define SRNIC_OUTPUT_H

#include "stream/qp.h"

/* What an FPDU, or a local operation, costs the caller of a run, as bytes. */
#define SRNIC_FPDU_COST	384

/* Charges the run with this many bytes of the batch, and with its FPDUs. */
static inline void srnic_tx_spend(struct srnic_tx *tx, u32 bytes)
{
	tx->spent += bytes + tx->core.fpdus * SRNIC_FPDU_COST;
}

/*
 * True when the whole batch is gone; then completes the requests that were built. more: a batch
 * follows at once.
 */
bool srnic_tx_send_batch(struct srnic_qp *qp, bool more);

#endif
