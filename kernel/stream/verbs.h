/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The verbs of queue pairs, for the device's table of operations.
 */
#ifndef SRNIC_QP_VERBS_H
#define SRNIC_QP_VERBS_H

#include <rdma/ib_verbs.h>

/* ---- verbs.c ---- */

int srnic_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int srnic_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int srnic_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);
int srnic_destroy_qp(struct ib_qp *qp, struct ib_udata *udata);

struct srnic_qp;

/* What query_qp returns of the QP's creation. */
void srnic_query_init_attr(const struct srnic_qp *qp, struct ib_qp_init_attr *init);
/*
 * What the states RESET and ERR do, whatever the QP's state is. After the second returns nothing of
 * the peer is placed: it waits for a receive in progress; a later one sees the state. Process
 * context.
 */
void srnic_qp_reset(struct srnic_qp *qp);
void srnic_qp_fail_and_wait(struct srnic_qp *qp);

/* ---- post.c ---- */

/* wr NULL: a user's doorbell. */
int srnic_post_send(struct ib_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad);
int srnic_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad);

#endif
