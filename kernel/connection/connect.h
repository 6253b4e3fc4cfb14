/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Connections, for the rest of the module: an ep (endpoint, ep.h) is one TCP connection from its
 * first SYN to its release, through MPA startup, full operation and teardown.
 */
#ifndef SRNIC_CONNECT_H
#define SRNIC_CONNECT_H

#include <rdma/iw_cm.h>

#include "srnic.h"

/* A device without connections. */
void srnic_connect_dev_init(struct srnic_dev *dev);
/* Allows new connections. Process context, like the next two. */
void srnic_connect_dev_open(struct srnic_dev *dev);
/*
 * Ends startups, refuses new ones, and lets nothing linger. An established connection is left to
 * its consumers. Does not wait.
 */
void srnic_connect_dev_close(struct srnic_dev *dev);
/* Closes the device, ends all connections and listeners, and waits until all of them are gone. */
void srnic_connect_dev_exit(struct srnic_dev *dev);

/* iw_cm verbs */
int srnic_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int srnic_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int srnic_reject(struct iw_cm_id *id, const void *pdata, u8 len);
int srnic_create_listen(struct iw_cm_id *id, int backlog);
int srnic_destroy_listen(struct iw_cm_id *id);

/* Interfaces may have changed their VRFs: listening ids follow them, soon. Any context. */
void srnic_listen_follow(void);

#endif
