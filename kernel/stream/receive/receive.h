/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The receive half of a QP.
 */
#ifndef SRNIC_RECEIVE_H
#define SRNIC_RECEIVE_H

#include "stream/qp.h"

struct bio_vec;
struct srnic_qp_start;

/* Resets the receive half for a new connection. tx.mutex held, no callbacks on the socket. */
void srnic_rx_start(struct srnic_qp *qp, const struct srnic_qp_start *start);
/* Consumes the socket's receive queue. Socket lock held. */
void srnic_rx_run(struct srnic_qp *qp, struct sock *sk);
/* Consumes these bytes, which come next in the stream. Socket lock held, BHs off. */
void srnic_rx_take(struct srnic_qp *qp, struct sock *sk, const struct bio_vec *vec, u32 num);

/* ---- delivery.c ---- */

/*
 * Sets the status of the Write that the peer's Terminate refused, if it is not complete, for the
 * flush that follows. tx.mutex held, the receive half stopped.
 */
void srnic_rx_blame_write(struct srnic_qp *qp);

#endif
