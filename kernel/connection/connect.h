/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Connections, for the rest of the module: an ep (endpoint, ep.h) is one TCP connection from its
 * first SYN to its release, through MPA startup, full operation and teardown.
 */
#ifndef SRNIC_CONNECT_H
#define SRNIC_CONNECT_H

#include <rdma/iw_cm.h>

#include "srnic.h"

struct srnic_ep;
struct srnic_qp;

enum srnic_over {
	SRNIC_OVER_PEER_CLOSED, /* FIN after the last octet was consumed */
	SRNIC_OVER_RESET,	/* RST, timeout, any socket error */
	SRNIC_OVER_TERMINATED,	/* a Terminate was sent or received: close gracefully */
	SRNIC_OVER_ABORT, /* local modify_qp(ERROR) or destroy_qp: no time is lost on what is not built yet */
	SRNIC_OVER_CLOSE, /* local modify_qp(SQD): graceful close */
};

void srnic_ep_get(struct srnic_ep *ep);
void srnic_ep_put(struct srnic_ep *ep);

/*
 * For its QP: the stream is over, or shall be. Any context; idempotent, the first reason counts (a
 * later ABORT still hurries a graceful close). Connection work does the rest in process context:
 * srnic_qp_stop(), the socket's shutdown and release, and the events that iw_cm is owed, each at
 * most once.
 */
void srnic_ep_over(struct srnic_ep *ep, enum srnic_over why);

/*
 * For a QP: nothing that connects it now will (modify_qp(ERROR or RESET), destroy_qp). Startups
 * that it takes part in end soon and give its reference back; until then they are disowned: they
 * neither start it nor fail it. Any context.
 */
void srnic_connect_abandon(struct srnic_qp *qp);
bool srnic_ep_disowned(const struct srnic_ep *ep);

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
