/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Connections, for the rest of the module: an ep (endpoint, ep.h) is one TCP connection from its
 * first SYN to its release, through MPA startup, full operation and teardown.
 */
#ifndef SRNIC_CONNECT_H
#define SRNIC_CONNECT_H

#include <rdma/iw_cm.h>

#include "srnic.h"

/*
 * Ends all listeners and connections of a device and waits for their work (device removal). Process
 * context.
 */
void srnic_connect_dev_init(struct srnic_dev *dev);
void srnic_connect_dev_exit(struct srnic_dev *dev);

/* iw_cm verbs */
int srnic_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int srnic_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int srnic_reject(struct iw_cm_id *id, const void *pdata, u8 len);
int srnic_create_listen(struct iw_cm_id *id, int backlog);
int srnic_destroy_listen(struct iw_cm_id *id);

#endif
