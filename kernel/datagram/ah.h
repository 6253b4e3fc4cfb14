/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Address handles: where requests of QPs of type UD are sent.
 */
#ifndef SRNIC_AH_H
#define SRNIC_AH_H

#include "pairing/path.h"
#include "srnic.h"

void srnic_ah_dev_init(struct srnic_dev *dev);
/* There is no address handle any more. */
void srnic_ah_dev_exit(struct srnic_dev *dev);

/*
 * The path of this address handle, without ports, and its hop limit; 0: no particular one. -ENOENT:
 * there is none of this number and protection domain; or an error of srnic_path_of(). Any context.
 */
int srnic_ah_path(struct srnic_dev *dev, u32 number, u32 pd, struct srnic_path *path, u8 *hops);

/* verbs */
int srnic_create_ah(struct ib_ah *ah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int srnic_query_ah(struct ib_ah *ah, struct rdma_ah_attr *attr);
int srnic_destroy_ah(struct ib_ah *ah, u32 flags);

#endif
