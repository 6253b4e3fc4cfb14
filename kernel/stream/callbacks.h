/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The callbacks of a QP's socket.
 */
#ifndef SRNIC_CALLBACKS_H
#define SRNIC_CALLBACKS_H

#include "stream/qp.h"

struct bio_vec;

/* The QP gets the socket's events until srnic_callbacks_restore(). Socket lock held. */
void srnic_callbacks_install(struct srnic_qp *qp, struct sock *sk);
void srnic_callbacks_restore(struct srnic_qp *qp, struct sock *sk);
/*
 * Reports to the owner that TCP has failed or the peer has closed, if so: also what came before the
 * callbacks were there. Socket lock held, the QP's callbacks on it.
 */
void srnic_callbacks_report_end(struct srnic_qp *qp, struct sock *sk);
/*
 * The other end of the connection has these bytes for the QP that receives from this socket, next
 * in the stream. False, and nothing is taken, if no QP does. The socket's spinlock held, and no
 * user has locked it.
 */
bool srnic_qp_take(struct sock *sk, const struct bio_vec *vec, u32 num);

#endif
