/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * iw_cm as the consumer of connections, for the files that know its types: events.c, its events;
 * connect.c, its calls for one connection; listening_id.c, its listening ids.
 */
#ifndef SRNIC_IWCM_H
#define SRNIC_IWCM_H

#include <rdma/iw_cm.h>

#include "connection/consumer.h"
#include "connection/listener.h"

/**
 * struct srnic_listening_id - a listening id of iw_cm on one device
 * @member: of a listening socket. Its references are those of this object; the id's provider_data
 *	holds one until destroy_listen
 * @link: in the list of those that listen, while @joined
 * @joined: the member has joined; under srnic_listeners_lock
 * @lock: only iw_cm's locks nest inside; protects @open
 * @open: events may be delivered on @cm_id, which is referenced
 * @cm_id: never changes
 */
struct srnic_listening_id {
	struct srnic_listener_member member;
	struct list_head link;
	bool joined;
	struct mutex lock;
	bool open;
	struct iw_cm_id *cm_id;
};

/* events.c; consumer_id is a struct iw_cm_id, srnic_ep.member that of a listening id. */
extern const struct srnic_consumer_ops srnic_iwcm_ops;

/*
 * events.c: the announced connection of this id, locked and referenced; NULL if it is gone (closed
 * or timed out). No ep's lock.
 */
struct srnic_ep *srnic_find_announced(struct iw_cm_id *id);

/* listening_id.c: closes all listening ids of a device. No ep's lock. */
void srnic_listening_dev_exit(struct srnic_dev *dev);
/* listening_id.c, for tests: the socket of a listening id, referenced; NULL if it has none now. */
struct sock *srnic_listening_sock(const struct iw_cm_id *id);

#endif
