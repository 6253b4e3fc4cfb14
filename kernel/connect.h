/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Connections: an ep (endpoint) is one TCP connection from its first SYN to its release, through MPA startup, full
 * operation and teardown. connect.c, listen.c and socket.c.
 */
#ifndef SRNIC_CONNECT_H
#define SRNIC_CONNECT_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/iw_cm.h>

#include "socket.h"
#include "srnic.h"

struct srnic_ep;
struct srnic_listen;
struct srnic_qp;

enum srnic_over {
	SRNIC_OVER_PEER_CLOSED,		/* FIN after the last octet was consumed */
	SRNIC_OVER_RESET,		/* RST, timeout, any socket error */
	SRNIC_OVER_TERMINATED,		/* a Terminate was sent or received: close gracefully */
	SRNIC_OVER_ABORT,		/* local modify_qp(ERROR) or destroy_qp: no time is lost on what is not built yet */
	SRNIC_OVER_CLOSE,		/* local modify_qp(SQD): graceful close */
};

void srnic_ep_get(struct srnic_ep *ep);
void srnic_ep_put(struct srnic_ep *ep);

/*
 * For qp.c: the stream of a connected QP is over, or shall be. Any context; idempotent, the first reason counts (a later
 * ABORT still hurries a graceful close). Connection work does the rest in process context: srnic_qp_stop(), the socket's
 * shutdown and release, and the events that iw_cm is owed, each at most once.
 */
void srnic_ep_over(struct srnic_ep *ep, enum srnic_over why);

/*
 * For qp.c: the QP will not connect any more (modify_qp(ERROR), destroy_qp; its state already says so). Startups that it
 * takes part in end soon and give its reference back. Any context.
 */
void srnic_connect_abandon(struct srnic_qp *qp);

/* Ends all listeners and connections of a device and waits for their work (device removal). Process context. */
void srnic_connect_dev_init(struct srnic_dev *dev);
void srnic_connect_dev_exit(struct srnic_dev *dev);

/* iw_cm verbs */
int srnic_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int srnic_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int srnic_reject(struct iw_cm_id *id, const void *pdata, u8 len);
int srnic_create_listen(struct iw_cm_id *id, int backlog);
int srnic_destroy_listen(struct iw_cm_id *id);

/* ---- private to connect.c and listen.c ---- */

/*
 * States of an ep. Those before OPERATION are the MPA startup phase, each with a deadline but for the consumer's part.
 *
 *	state		waits for			then			if it fails
 *	CONNECTING	TCP to connect			REQUESTING		CONNECT_REPLY, DEAD
 *	REQUESTING	TCP to take the Request		AWAIT_REPLY		CONNECT_REPLY, DEAD
 *	AWAIT_REPLY	the Reply			OPERATION, CLOSING	CONNECT_REPLY, DEAD
 *	AWAIT_REQUEST	the Request			ANNOUNCED		DEAD
 *	ANNOUNCED	accept or reject		REPLYING, CLOSING	DEAD (a later accept fails)
 *	REPLYING	TCP to take the Reply		OPERATION		ESTABLISHED with status, CLOSE, DEAD
 *	CLOSING		TCP to take our last frame	LINGER			DEAD
 *	OPERATION	srnic_ep_over()			DRAINING or CLOSE, LINGER
 *	DRAINING	what is posted to be sent	CLOSE, LINGER
 *	LINGER		the peer's FIN, all acked	DEAD			DEAD (reset)
 *	DEAD		its last reference
 *
 * iw_cm gets CONNECT_REPLY once per connect() that returned 0, ESTABLISHED once per accept() that returned 0, and
 * DISCONNECT and CLOSE only after one of these with status 0 (CLOSE also after a failed ESTABLISHED): never more than
 * the 4 or 3 events it has room for.
 */
enum srnic_ep_state {
	SRNIC_EP_CONNECTING,
	SRNIC_EP_REQUESTING,
	SRNIC_EP_AWAIT_REPLY,
	SRNIC_EP_AWAIT_REQUEST,
	SRNIC_EP_ANNOUNCED,
	SRNIC_EP_REPLYING,
	SRNIC_EP_CLOSING,
	SRNIC_EP_OPERATION,
	SRNIC_EP_DRAINING,
	SRNIC_EP_LINGER,
	SRNIC_EP_DEAD,
};

/* What only the startup phase needs: the frames in both directions, and what they said. */
struct srnic_startup {
	struct srnic_mpa_local local;
	struct srnic_mpa_frame request, reply;
	struct srnic_mpa_agreed agreed;
	u32 received;
	u32 out_len, out_sent;
	u8 in[SRNIC_MPA_HEADER + SRNIC_MPA_MAX_PRIVATE];
	u8 out[SRNIC_MPA_HEADER + SRNIC_MPA_MAX_PRIVATE];
};

/**
 * struct srnic_ep - one TCP connection
 *
 * Owner: its own work moves it from state to state, and is the only one to release the socket. Verbs take @lock to make
 * the first move (connect, accept, reject); everybody else calls srnic_ep_over().
 *
 *	reference held by		from			until
 *	the machine itself		creation		DEAD
 *	pending or running work		being queued		the end of the run
 *	dev->connections.announced	ANNOUNCED		@id is set and answered, or given up
 *	the QP				srnic_qp_start()	srnic_qp_stop()
 *
 * The ep in turn holds @dev's count (srnic_connect_dev_exit() waits for it), @net, and where not NULL: @cm_id, @qp,
 * @listen, @sock. The memory may be freed in any context, since all of these but the count are gone when it is DEAD.
 *
 * @lock: everything without another rule. Taken in process context only; tx.mutex, socket locks, a listening id's lock
 *	and iw_cm's spinlocks nest inside; listeners_lock does not
 * @work: runs the machine; also its timer (delayed until @deadline)
 * @over: 0, or 1 + enum srnic_over; the first one stays; atomic
 * @hurry: an ABORT came; only ever set. @killed: the device goes: do not linger
 * @qp: changes under @lock and dev->connections.lock
 * @up: the consumer believes itself connected: it is owed a CLOSE
 * @announced_id: 0, or its number in dev->connections.announced
 * @drain_start: @drain_end: jiffies; DRAINING ends at the latter at the latest
 * @extensions: how often LINGER's deadline was moved because octets still flowed; @unacked: as of the last
 *	look, in LINGER and DRAINING
 */
struct srnic_ep {
	struct kref ref;
	struct mutex lock;
	struct delayed_work work;
	struct srnic_watch watch;
	struct list_head link;
	struct srnic_dev *dev;
	struct net *net;
	struct socket *sock;
	enum srnic_ep_state state;
	atomic_t over;
	bool hurry;
	bool killed;
	bool up;
	bool timed;
	unsigned long deadline;
	struct iw_cm_id *cm_id;
	struct srnic_qp *qp;
	struct srnic_listen *listen;
	u32 announced_id;
	unsigned long drain_start, drain_end;
	u32 extensions;
	u32 unacked;
	struct srnic_startup *startup;
	struct sockaddr_storage local, remote;
};

/* connect.c: takes over an accepted socket (0), which then belongs to the new ep; so does the reference on listen. */
int srnic_ep_passive(struct srnic_dev *dev, struct srnic_listen *listen, struct socket *sock);
/* connect.c: ends the startups that wait for a Request on behalf of this listening id. Any context. */
void srnic_ep_end_startups(struct srnic_dev *dev, const struct srnic_listen *listen);

/* listen.c: delivers a CONNECT_REQUEST; -ECONNABORTED if the id listens no more, -ENOMEM if its backlog is full. */
int srnic_listen_announce(struct srnic_listen *listen, struct iw_cm_event *event);
/* listen.c: the startup that srnic_ep_passive() began is announced or has failed; gives back the reference. */
void srnic_listen_done(struct srnic_listen *listen);
/* listen.c: closes all listening ids of a device. */
void srnic_listen_dev_exit(struct srnic_dev *dev);

#endif
