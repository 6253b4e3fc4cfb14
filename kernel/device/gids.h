/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The GIDs of devices of type srnic_ib.
 */
#ifndef SRNIC_GIDS_H
#define SRNIC_GIDS_H

#include "srnic.h"

int srnic_gids_init(void);
void srnic_gids_exit(void);
void srnic_gids_dev_init(struct srnic_dev *dev);
/* Not registered, or not any more. May sleep. */
void srnic_gids_dev_exit(struct srnic_dev *dev);
/* Has the RDMA core compare the GIDs with the addresses soon, if it is registered. Any context. */
void srnic_gids_rescan(struct srnic_dev *dev);

#endif
