/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The verbs of QPs that are connected by hand, for the device's table of operations.
 */
#ifndef SRNIC_PAIRING_VERBS_H
#define SRNIC_PAIRING_VERBS_H

#include <rdma/ib_verbs.h>

int srnic_ib_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int srnic_ib_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int srnic_ib_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
		      struct ib_qp_init_attr *init);
int srnic_ib_destroy_qp(struct ib_qp *qp, struct ib_udata *udata);

#endif
