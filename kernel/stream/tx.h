/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The transmit engine, for its own files: tx.c, message.c, fpdu.c. All of this belongs to the
 * engine (tx.mutex held).
 */
#ifndef SRNIC_TX_H
#define SRNIC_TX_H

#include "stream/qp.h"

/* The request that tx.local is of. */
static inline const struct srnic_send_wqe *srnic_tx_wqe(const struct srnic_tx *tx)
{
	return (const struct srnic_send_wqe *)tx->wqe;
}

static inline const struct srnic_sge *srnic_tx_sges(const struct srnic_tx *tx)
{
	return (const struct srnic_sge *)(srnic_tx_wqe(tx) + 1);
}

static inline bool srnic_reads_outstanding(struct srnic_qp *qp)
{
	return qp->outbound_tail != smp_load_acquire(&qp->outbound_head);
}

/* ---- message.c: what is sent next ---- */

void srnic_message_start(struct srnic_tx_message *message, struct core_tx_msg msg,
			 enum srnic_tx_source source, const void *bytes);
/* Is there a send request that may be taken? */
bool srnic_message_pending(struct srnic_qp *qp);
/*
 * The message that the next FPDU is of, begun if need be; NULL if there is nothing to be sent now.
 */
struct srnic_tx_message *srnic_message_next(struct srnic_qp *qp);
/* Adds its next FPDU to the batch. The caller has reserved room for it. */
void srnic_message_build(struct srnic_qp *qp, struct srnic_tx_message *message, u32 mulpdu);

/* ---- fpdu.c: FPDUs in the batch ---- */

/* Adds one FPDU, or nothing if its payload cannot be read. The caller has reserved room for it. */
enum core_region_verdict srnic_fpdu_put(struct srnic_qp *qp, struct srnic_tx_message *message,
					const u8 *header, const struct core_tx_seg *seg);

#endif
