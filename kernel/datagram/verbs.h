/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The verbs of QPs of type UD, for the device's table of operations.
 */
#ifndef SRNIC_DATAGRAM_VERBS_H
#define SRNIC_DATAGRAM_VERBS_H

#include <rdma/ib_verbs.h>

int srnic_ud_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int srnic_ud_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int srnic_ud_query_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
		      struct ib_qp_init_attr *init);
int srnic_ud_destroy_qp(struct ib_qp *qp, struct ib_udata *udata);
int srnic_ud_attach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid);
int srnic_ud_detach_mcast(struct ib_qp *qp, union ib_gid *gid, u16 lid);

#endif
