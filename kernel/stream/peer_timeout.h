/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A peer that is gone without a FIN or RST.
 */
#ifndef SRNIC_PEER_TIMEOUT_H
#define SRNIC_PEER_TIMEOUT_H

#include "stream/owner.h"

/*
 * Sets TCP's timers so that it notices a peer that is gone, on idle and busy connections, in the
 * time that the consumer or else the administrator wants. tx.mutex held, qp->sock set.
 */
void srnic_qp_watch_peer(struct srnic_qp *qp);
/*
 * The ack timeout that the consumer gave its rdma_cm id, unchecked, in IBTA's units; 0: it gave
 * none, and that of modify_qp stays. Process context.
 */
void srnic_qp_set_ack_timeout(struct srnic_qp *qp, const struct srnic_qp_owner *owner, u8 timeout);

#endif
