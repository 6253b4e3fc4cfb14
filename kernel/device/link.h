/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * `rdma link`.
 */
#ifndef SRNIC_LINK_H
#define SRNIC_LINK_H

int srnic_link_init(void);
void srnic_link_exit(void);

#endif
