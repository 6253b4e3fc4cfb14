/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * iw_cm as the consumer of connections, for the files that know its types: events.c, its events;
 * connect.c, its calls for one connection; listen.c, its listening ids.
 */
#ifndef SRNIC_IWCM_H
#define SRNIC_IWCM_H

#include <rdma/iw_cm.h>

#include "connection/consumer.h"

struct srnic_listen;

/* events.c; consumer_id is a struct iw_cm_id. */
extern const struct srnic_consumer_ops srnic_iwcm_ops;

/*
 * events.c: the announced connection of this id, locked and referenced; NULL if it is gone (closed
 * or timed out). No ep's lock.
 */
struct srnic_ep *srnic_find_announced(struct iw_cm_id *id);

/*
 * listen.c: delivers a CONNECT_REQUEST; -ECONNABORTED if the id no longer listens, -ENOMEM if its
 * backlog is full.
 */
int srnic_listen_announce(struct srnic_listen *listen, struct iw_cm_event *event);
/* listen.c, for tests: the socket of a listening id, referenced; NULL if it has none just now. */
struct sock *srnic_listen_sock(const struct iw_cm_id *id);

#endif
