/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Driver attributes of `rdma resource show -dd`.
 */
#ifndef SRNIC_RES_H
#define SRNIC_RES_H

#include <rdma/ib_verbs.h>

int srnic_fill_res_mr(struct sk_buff *msg, struct ib_mr *mr);
int srnic_fill_res_cq(struct sk_buff *msg, struct ib_cq *cq);
int srnic_fill_res_qp(struct sk_buff *msg, struct ib_qp *qp);
int srnic_fill_res_srq(struct sk_buff *msg, struct ib_srq *srq);

#endif
