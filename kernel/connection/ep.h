/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An ep (endpoint), for the files that connections are made of: ep.c, the object; frame.c and
 * events.c, which speak to the peer during startup and to the consumer; startup.c and teardown.c,
 * what its states look for; machine.c, which runs it; connect.c and listen.c, the verbs. Below them
 * all is socket.c. Its states, and what leads from one to another, are the core's
 * (core/connection.cc).
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
 * What only the startup phase needs: the frames in both directions, and what they said. @refusal:
 * the consumer's private data for a Reply that rejects; its own memory, while it is laid out.
 */
struct srnic_startup {
	struct core_mpa_local local;
	struct core_mpa_frame request, reply;
	struct core_mpa_agreed agreed;
	u32 received;
	u32 out_len, out_sent;
	const void *refusal;
	u32 refusal_len;
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
 * The ep in turn holds the device's count (srnic_connect_dev_exit() waits for it), the namespace,
 * and where they are not NULL the id, the QP, the listening id and the socket. The memory may be
 * freed in any context, since all of these but the count are gone when it is DEAD.
 *
 * @ref: as in the table above
 * @link: in dev->connections.eps, under that lock
 * @lock: everything without another rule. Taken in process context only; tx.mutex, socket locks, a
 *	listening id's lock and iw_cm's spinlocks nest inside; a listener's lock does not
 * @work: runs the machine; also its timer
 * @watch: on @sock, but for OPERATION and DRAINING, when the QP has its callbacks
 * @dev: never changes
 * @net: likewise
 * @sock: released by RELEASE
 * @state: the core's word; changes in machine.c only
 * @over: 0, or 1 + enum srnic_over; the first one stays; atomic
 * @hurry: an ABORT came: no time may be lost; only ever set
 * @killed: the device goes: do not linger; only ever set
 * @peer_closed: the QP knows that no more will come
 * @error: the errno of the last input that has one
 * @patience: how long the state may last, in jiffies; not of a state without a limit
 * @cm_id: the consumer's id, until PART; its events go there
 * @owner: what the QP knows of this ep (stream/attach.h)
 * @qp: claimed by this ep, or started; referenced
 * @listen: of a startup that is not announced, until it is released
 * @place: in listener->startups while @listen is set, but for one that gives way; under
 *	listener->startups_lock
 * @since: when it took its place, in jiffies
 * @announced_id: 0, or its number in dev->connections.announced
 * @startup: NULL from OPERATION on
 * @local: our address
 * @remote: the peer's
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
	enum core_conn_state state;
	atomic_t over;
	bool hurry;
	bool killed;
	bool peer_closed;
	int error;
	struct core_patience patience;
	struct iw_cm_id *cm_id;
	struct srnic_qp_owner owner;
	struct srnic_qp *qp;
	struct srnic_listen *listen;
	struct list_head place;
	u64 since;
	u32 announced_id;
	struct srnic_startup *startup;
	struct sockaddr_storage local, remote;
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
/*
 * Gives the QP back, claimed or stopped: its consumer can connect it anew, so this comes before it
 * is told of a failure.
 */
void srnic_ep_drop_qp(struct srnic_ep *ep);
/* Ends the time in which accept and reject can find it. */
void srnic_ep_forget_announcement(struct srnic_ep *ep);
/* Gives back its place among the startups of a listening id. */
void srnic_ep_leave_listener(struct srnic_ep *ep);
/* Lets go of the consumer's objects: no event follows. */
void srnic_ep_part(struct srnic_ep *ep);
/*
 * Lets go of everything else, once it has parted and is DEAD; a connection that is not over is
 * reset. The caller still has a reference.
 */
void srnic_ep_release(struct srnic_ep *ep);
/* Both, whatever the state: an ep that nobody has been told of. */
void srnic_ep_discard(struct srnic_ep *ep);

/* ---- machine.c: what takes it from state to state ---- */

/* The body of ep->work. */
void srnic_ep_work(struct work_struct *work);
/* Its first state: the work goes on from there. */
void srnic_ep_enter(struct srnic_ep *ep, enum core_conn_state state);
/* What has happened that its state waits for, of which the work takes care. */
enum core_conn_input srnic_ep_look(struct srnic_ep *ep);
/*
 * Something has happened: does all that follows at once. False if it means nothing in this state.
 * The time of a new state is kept by the work only, so a verb kicks it afterwards.
 */
bool srnic_ep_feed(struct srnic_ep *ep, enum core_conn_input input);

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
 * Lays out the Reply that refuses (RFC 5044 7.1.2 rule 2), with startup->refusal: up to 255 octets
 * always fit.
 */
void srnic_frame_refusal(struct srnic_ep *ep);
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
/* The peer has accepted. Outcome UNDELIVERED: iw_cm could not copy the private data. */
enum core_conn_input srnic_report_connected(struct srnic_ep *ep);
/* The peer has rejected; without its private data if iw_cm cannot copy it. */
void srnic_report_rejected(struct srnic_ep *ep);
void srnic_report_established(struct srnic_ep *ep);
/*
 * Hands the connection to the consumer, under a number by which accept and reject find it for as
 * long as it is there. Outcome: TOOK_REQUEST, BUSY, or BROKEN.
 */
enum core_conn_input srnic_report_request(struct srnic_ep *ep);

/* ---- startup.c: the states before OPERATION ---- */

/*
 * Takes over an accepted socket (0), which then belongs to the new ep; so does the reference on
 * listen. No ep's lock.
 */
int srnic_ep_passive(struct srnic_dev *dev, struct srnic_listen *listen, struct socket *sock);
/* What has happened that the state waits for; BROKEN: ep->error says how. */
enum core_conn_input srnic_startup_look(struct srnic_ep *ep);
/* Seconds that a state with this limit may last. */
u32 srnic_startup_patience(enum core_conn_limit limit);
/* Outcome: QP_STARTED or QP_REFUSED. */
enum core_conn_input srnic_startup_start_qp(struct srnic_ep *ep);
/* Full operation has begun: frees ep->startup. */
void srnic_startup_done(struct srnic_ep *ep);

/* ---- teardown.c: OPERATION and the states after it ---- */

enum core_conn_input srnic_teardown_look(struct srnic_ep *ep);
/* Seconds that DRAINING and LINGER may last without progress, and in all. */
void srnic_teardown_patience(const struct srnic_ep *ep, u32 *each, u32 *most);
/* What its state counts as progress; 0 where nothing is. */
u32 srnic_teardown_progress(const struct srnic_ep *ep);
/* Closes our half and watches for the peer's. */
void srnic_teardown_shut(struct srnic_ep *ep);

/* ---- listen.c: listening ids ---- */

/* Module parameters and their defaults. */
#define SRNIC_MAX_STARTUPS		128
#define SRNIC_MAX_STARTUPS_PER_SOURCE	64
extern unsigned int srnic_max_startups, srnic_max_startups_per_source;

/*
 * Delivers a CONNECT_REQUEST; -ECONNABORTED if the id listens no more, -ENOMEM if its backlog is
 * full.
 */
int srnic_listen_announce(struct srnic_listen *listen, struct iw_cm_event *event);
/* The ep of srnic_ep_passive() takes its place among the startups in progress. */
void srnic_listen_begun(struct srnic_listen *listen, struct srnic_ep *ep);
/* It is announced or released; gives back the place, and the ep's reference on listen. */
void srnic_listen_done(struct srnic_listen *listen, struct srnic_ep *ep);
/* Closes all listening ids of a device. No ep's lock. */
void srnic_listen_dev_exit(struct srnic_dev *dev);

#endif
