/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An ep (endpoint), for the files that connections are made of: ep.c, the object; frame.c and
 * events.c, which speak to the peer during startup and to the consumer; startup.c and teardown.c,
 * its states; connect.c and listen.c, the verbs. Below them all is socket.c.
 */
#ifndef SRNIC_EP_H
#define SRNIC_EP_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/iw_cm.h>

#include "connection/socket.h"
#include "srnic.h"
#include "stream/attach.h"

struct srnic_listen;
struct srnic_qp;

/*
 * States of an ep. Those before OPERATION are the MPA startup phase, each with a deadline but for
 * the consumer's part.
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
 * iw_cm gets CONNECT_REPLY once per connect() that returned 0, ESTABLISHED once per accept() that
 * returned 0, and DISCONNECT and CLOSE only after one of these with status 0 (CLOSE also after a
 * failed ESTABLISHED): never more than the 4 or 3 events it has room for.
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
	struct core_mpa_local local;
	struct core_mpa_frame request, reply;
	struct core_mpa_agreed agreed;
	u32 received;
	u32 out_len, out_sent;
	u8 in[CORE_MPA_HEADER + CORE_MPA_MAX_PRIVATE];
	u8 out[CORE_MPA_HEADER + CORE_MPA_MAX_PRIVATE];
};

/**
 * struct srnic_ep - one TCP connection
 *
 * Owner: its own work moves it from state to state, and is the only one to release the socket.
 * Verbs take @lock to make the first move (connect, accept, reject); everybody else calls
 * srnic_ep_over().
 *
 *	reference held by		from			until
 *	the machine itself		creation		DEAD
 *	pending or running work		being queued		the end of the run
 *	dev->connections.announced	ANNOUNCED		@id is set and answered, or given up
 *	the QP, as its @owner		srnic_qp_claim()	unclaim, or srnic_qp_stop()
 *
 * The ep in turn holds @dev's count (srnic_connect_dev_exit() waits for it), @net, and where not
 * NULL: @cm_id, @qp,
 * @listen, @sock. The memory may be freed in any context, since all of these but the count are gone
 *	when it is DEAD.
 *
 * @lock: everything without another rule. Taken in process context only; tx.mutex, socket locks, a
 *	listening id's lock and iw_cm's spinlocks nest inside; listeners_lock does not
 * @work: runs the machine; also its timer (delayed until @deadline)
 * @over: 0, or 1 + enum srnic_over; the first one stays; atomic
 * @hurry: an ABORT came: no time may be lost; only ever set. @killed: the device goes: do not
 *	linger
 * @owner: what the QP knows of this ep (stream/attach.h)
 * @qp: claimed by this ep, or started; referenced
 * @up: the consumer believes itself connected: it is owed a CLOSE
 * @announced_id: 0, or its number in dev->connections.announced
 * @drain_end: @drain_limit: jiffies; DRAINING ends at the latest at either. The former moves when
 *	@progress, which is srnic_sock_progress() at the last look, has changed
 * @extensions: how often LINGER's deadline was moved because octets still flowed; @unacked: in
 *	LINGER, at the last look
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
	struct srnic_qp_owner owner;
	struct srnic_qp *qp;
	struct srnic_listen *listen;
	u32 announced_id;
	unsigned long drain_end, drain_limit;
	u32 progress;
	u32 extensions;
	u32 unacked;
	struct srnic_startup *startup;
	struct sockaddr_storage local, remote;
};

/*
 * What a step of the machine says when it did not fail: come back when something happens, at the
 * deadline at the latest, or at once. What a deadline means when it has passed is the state's to
 * say. A step of OPERATION or DRAINING does not fail: the QP still has the socket, and lets go of
 * it only on the way to LINGER.
 */
enum srnic_step {
	SRNIC_STEP_WAIT = 0,
	SRNIC_STEP_ONWARD = 1,
};

/*
 * All that follows is called in process context with the ep's lock held, but for what says
 * otherwise.
 */

/* ---- ep.c: the object and its work ---- */

/*
 * Locked, and with a reference of the caller's: srnic_ep_unlock_put() lets the machine go. No ep's
 * lock held before.
 */
struct srnic_ep *srnic_ep_create(struct srnic_dev *dev, struct net *net);
void srnic_ep_unlock_put(struct srnic_ep *ep);
void srnic_ep_get(struct srnic_ep *ep);
void srnic_ep_put(struct srnic_ep *ep);
/*
 * The stream is over, or shall be; so is a startup. Any context; idempotent, the first reason
 * counts (a later ABORT still hurries a graceful close). The ep's work does the rest:
 * srnic_qp_stop(), the socket's shutdown and release, and the events that iw_cm is owed, each at
 * most once.
 */
void srnic_ep_over(struct srnic_ep *ep, enum srnic_over why);
/* Has the machine run soon. Any context; the caller's reference keeps the ep while this runs. */
void srnic_ep_kick(struct srnic_ep *ep);
void srnic_ep_set_deadline(struct srnic_ep *ep, unsigned int seconds);
bool srnic_ep_expired(const struct srnic_ep *ep);
/*
 * Gives the QP back, claimed or stopped: its consumer can connect it anew, so this comes before it
 * is told of a failure.
 */
void srnic_ep_drop_qp(struct srnic_ep *ep);
/* Ends the time in which accept and reject can find it. */
void srnic_ep_forget_announcement(struct srnic_ep *ep);
/* Lets go of the consumer's objects: no event follows. */
void srnic_ep_part(struct srnic_ep *ep);
/* The end. The caller still has a reference. A connection that is not over is reset. */
void srnic_ep_die(struct srnic_ep *ep);
/*
 * Ends the startups that wait for a Request on behalf of this listening id. Any context, no ep's
 * lock needed.
 */
void srnic_ep_end_startups(struct srnic_dev *dev, const struct srnic_listen *listen);

/* ---- frame.c: the frames of startup, in ep->startup ---- */

/* What this end offers, or asks for; a consumer that has not said anything yet offers nothing. */
void srnic_frame_local(struct srnic_ep *ep, const struct iw_cm_conn_param *param);
/* Lays out the Request. -EINVAL: the private data does not fit. */
int srnic_frame_request(struct srnic_ep *ep, const struct iw_cm_conn_param *param);
/*
 * Lays out the Reply to startup->request. -EINVAL as before, -EPROTO: startup->agreed has an error.
 */
int srnic_frame_reply(struct srnic_ep *ep, const struct iw_cm_conn_param *param);
/*
 * Lays out the Reply that refuses (RFC 5044 7.1.2 rule 2). Private data of up to 255 octets always
 * fits.
 */
void srnic_frame_refusal(struct srnic_ep *ep, const void *private, u32 len);
/*
 * Lays out agreed.error in a Terminate, as RFC 6581 8 wants it of an initiator: the only FPDU that
 * it ever sends.
 */
void srnic_frame_terminate(struct srnic_ep *ep);
/* Hands on what is laid out: 1 when TCP has all of it, 0 when some is left, or -errno. */
int srnic_frame_send(struct srnic_ep *ep);
/*
 * Reads the peer's frame and not an octet beyond it: 1 when it is complete and valid, 0, or -errno.
 * One whose private data iw_cm cannot carry counts as improperly formatted (RFC 5044 7.1.2 rule 9).
 */
int srnic_frame_receive(struct srnic_ep *ep, bool reply);
/* The consumer's part of a received frame's private data. */
u8 *srnic_frame_private(struct srnic_startup *startup, const struct core_mpa_frame *frame,
			u32 *len);

/* ---- events.c: iw_cm's events; the ep's work only, cm_id valid (listen for a request) ---- */

int srnic_report(struct srnic_ep *ep, enum iw_cm_event_type type, int status);
/* A failed connect(). */
void srnic_report_failure(struct srnic_ep *ep, int status);
/*
 * The peer's answer to connect(). -ENOMEM: not delivered, since iw_cm could not copy the private
 * data.
 */
int srnic_report_reply(struct srnic_ep *ep, int status);
void srnic_report_established(struct srnic_ep *ep);
/*
 * Hands the connection to the consumer, under a number by which accept and reject find it for as
 * long as it is there.
 */
int srnic_report_request(struct srnic_ep *ep);

/* ---- startup.c: the states before OPERATION ---- */

/*
 * Takes over an accepted socket (0), which then belongs to the new ep; so does the reference on
 * listen. No ep's lock.
 */
int srnic_ep_passive(struct srnic_dev *dev, struct srnic_listen *listen, struct socket *sock);
/* The ep waits for TCP or the peer in this state, and no longer than startup_timeout. */
void srnic_startup_enter(struct srnic_ep *ep, enum srnic_ep_state state);
/* The Reply refuses; then the connection is closed. The consumer is done with it. */
void srnic_ep_refuse(struct srnic_ep *ep, const void *private, u32 len);
/*
 * The ep's work has it do what its state wants now: enum srnic_step, or -errno for srnic_ep_fail().
 */
int srnic_startup_step(struct srnic_ep *ep);

/* ---- teardown.c: OPERATION and the states after it ---- */

/* Closes our half and waits for the peer's, with nothing but the socket in hand. */
void srnic_ep_linger(struct srnic_ep *ep);
/* The state's step has failed: the events that are owed, then the end. The ep's work only. */
void srnic_ep_fail(struct srnic_ep *ep, int err);
int srnic_ending_step(struct srnic_ep *ep);

/* ---- listen.c: listening ids ---- */

/*
 * Delivers a CONNECT_REQUEST; -ECONNABORTED if the id listens no more, -ENOMEM if its backlog is
 * full.
 */
int srnic_listen_announce(struct srnic_listen *listen, struct iw_cm_event *event);
/*
 * The startup that srnic_ep_passive() began is announced or has failed; gives back the reference.
 */
void srnic_listen_done(struct srnic_listen *listen);
/* Closes all listening ids of a device. No ep's lock. */
void srnic_listen_dev_exit(struct srnic_dev *dev);

#endif
