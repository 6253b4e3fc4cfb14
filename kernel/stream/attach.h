/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A QP on a connected socket, for code that connects QPs.
 */
#ifndef SRNIC_ATTACH_H
#define SRNIC_ATTACH_H

#include "stream/owner.h"
#include "stream/peer_timeout.h"
#include "stream/start.h"

/*
 * Moves an idle QP to RTS on this socket: takes over the socket's callbacks and sk_user_data, and
 * handles bytes already received. 0, -ENOMEM, or -EINVAL if the QP is not idle or not this owner's.
 * owner->ops->over() may be called before this returns. Process context, no lock of the QP or the
 * socket held; no other callbacks may be on the socket.
 */
int srnic_qp_start(struct srnic_qp *qp, const struct srnic_qp_start *start);
/* srnic_qp_start() with tx.mutex held; srnic_tx_unlock() then drops it. */
int srnic_qp_start_locked(struct srnic_qp *qp, const struct srnic_qp_start *start);
/*
 * Closes the stream gracefully (RFC 5041 6.2.1): requests posted before and the peer's reads still
 * go out; later requests are flushed. peer: the peer has closed its half. If that cut a message
 * short or left a read without its response, it is error 1 of RFC 5044 8. Called again if the peer
 * closes later. Process context.
 */
void srnic_qp_close(struct srnic_qp *qp, const struct srnic_qp_owner *owner, bool peer);
/* Is the close done, or the QP no longer this owner's? Process context. */
bool srnic_qp_closed(struct srnic_qp *qp, const struct srnic_qp_owner *owner);
/*
 * Ends the QP's use of its socket: state ERROR, callbacks restored. When it returns neither half
 * uses the socket, and the QP has no owner. This call flushes posted requests, unless the engine
 * runs elsewhere and then does. owner NULL: any owner, which gets CORE_CONN_ABORT. Idempotent;
 * process context; never with a socket lock held.
 */
void srnic_qp_stop(struct srnic_qp *qp, const struct srnic_qp_owner *owner);
/*
 * A startup failed after accept() had succeeded for the consumer: fails an idle QP of this owner.
 * Process context.
 */
void srnic_qp_give_up(struct srnic_qp *qp, const struct srnic_qp_owner *owner);

/*
 * For the QP's own files: ends its use of its socket, and gives its owner the rest of the stream.
 * tx.mutex held; sleeps. The QP's state and owner are the caller's to change.
 */
void srnic_qp_leave_socket(struct srnic_qp *qp);
/* Frees the queues of RDMA Reads that a start allocated. No stream may use them. */
void srnic_qp_free_reads(struct srnic_qp *qp);

#endif
