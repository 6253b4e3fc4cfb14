/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An ep (endpoint), for the files that implement connections: ep.c, the object; frame.c, mpa.c and
 * hello.c, startup frames; startup.c and teardown.c, the inputs of each state; machine.c, the state
 * machine; listener.c and admission.c, where startups come from; connect.c, events.c and
 * listening_id.c, iw_cm. All use socket.c.
 * The states and their transitions are the core's (core/connection.cc).
 */
#ifndef SRNIC_EP_H
#define SRNIC_EP_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "connection/admission.h"
#include "connection/consumer.h"
#include "connection/socket.h"
#include "srnic.h"
#include "stream/attach.h"

struct srnic_listener_member;
struct srnic_qp;

struct srnic_ep;
struct srnic_startup;

/*
 * What an end offers in its frame; all 0 of a consumer that has not decided yet. @rejects: only of
 * the peer. @ird, @ord: CORE_MPA_AUTO if the peer offers none. @private_data: of the consumer, or
 * in srnic_startup.in
 */
struct srnic_offer {
	bool rejects;
	u32 ird, ord;
	const void *private_data;
	u32 private_len;
};

/**
 * struct srnic_frame_ops - the frames of one framing
 * @lay_out_request: -EINVAL: the private data does not fit
 * @lay_out_reply: likewise; -EPROTO: startup->agreed has an error
 * @lay_out_refusal: with startup->refusal: up to 255 bytes, which always fit
 * @lay_out_error: what an initiator says that cannot agree, if anything
 * @receive: reads and decodes the peer's; returns as srnic_frame_receive()
 * @describe: what a decoded frame offers
 * @conclude: sets startup->agreed, from both frames of an initiator
 *
 * All with the ep's lock held.
 */
struct srnic_frame_ops {
	int (*lay_out_request)(struct srnic_ep *ep, const struct srnic_offer *offer);
	int (*lay_out_reply)(struct srnic_ep *ep, const struct srnic_offer *offer);
	void (*lay_out_refusal)(struct srnic_ep *ep);
	void (*lay_out_error)(struct srnic_ep *ep);
	int (*receive)(struct srnic_ep *ep, bool reply);
	void (*describe)(const struct srnic_startup *startup, bool reply, struct srnic_offer *out);
	void (*conclude)(struct srnic_startup *startup);
};

extern const struct srnic_frame_ops srnic_mpa_ops, srnic_hello_ops;

#define SRNIC_FRAME_MAX CORE_HELLO_MAX
static_assert(CORE_MPA_HEADER + CORE_MPA_MAX_PRIVATE <= SRNIC_FRAME_MAX);

/*
 * State of the startup phase: the addresses of TCP, the frames in both directions, and what the
 * ends agreed on. @here, @there: addresses of this end and the peer. @ops: of its framing; NULL
 * until a responder knows it. @refusal: the consumer's private data for a Reply that rejects; the
 * consumer's memory, valid only while the Reply is laid out.
 */
struct srnic_startup {
	struct sockaddr_storage here, there;
	const struct srnic_frame_ops *ops;
	struct core_startup_local local;
	union {
		struct {
			struct core_mpa_frame request, reply;
		} mpa;
		struct {
			struct core_hello request, reply;
			const u8 *private_data;		/* in @in */
		} hello;
	};
	struct core_startup_agreed agreed;
	u32 received;
	u32 out_len, out_sent;
	const void *refusal;
	u32 refusal_len;
	u8 in[SRNIC_FRAME_MAX];
	u8 out[SRNIC_FRAME_MAX];
};

/**
 * struct srnic_ep - one TCP connection
 *
 * Its work moves it from state to state. The verbs connect, accept and reject do so too, under
 * @lock; all other code calls srnic_ep_over(). The socket is released with @lock held.
 *
 *	reference held by		from			until
 *	the machine itself		creation		DEAD
 *	pending or running work		being queued		the end of the run
 *	dev->connections.announced	the request event	ESTABLISHED is reported, or PART
 *	the QP, as its @owner		srnic_qp_claim()	unclaim, or srnic_qp_stop()
 *
 * The ep itself holds the device's count (srnic_connect_dev_exit() waits for it), the namespace,
 * and where not NULL the consumer's id, the QP, the listener's member and the socket. It may be
 * freed in any context, since a DEAD ep holds only the count.
 *
 * @ref: as in the table above
 * @link: in dev->connections.eps, under dev->connections.lock
 * @lock: protects everything without another rule. Taken in process context only; tx.mutex, socket
 *	locks, a listening id's lock and iw_cm's spinlocks nest inside; a listener's lock does not
 * @work: runs the machine; also its timer
 * @watch: on @sock, except in OPERATION and DRAINING, when the QP has the callbacks
 * @dev: never changes
 * @net: likewise
 * @sock: released by RELEASE
 * @state: the core's; changes in machine.c, and in srnic_ep_discard()
 * @over: 0, or 1 + enum srnic_over; the first reason stays; atomic
 * @refused: counted in srnic_dev_connections.refused
 * @hurry: an ABORT came: do not drain; never cleared
 * @faulted: the QP found a fault that has no message: reset, though it drains; never cleared
 * @killed: the device goes away: a startup ends, and what ends does not linger; never cleared
 * @peer_closed: the QP knows that the peer has closed its half
 * @gave_way: another startup was admitted instead; never cleared
 * @error: the errno of the last input that has one
 * @patience: how long the state may last, in jiffies; unused in a state without a limit
 * @consumer: what it reports to; never changes
 * @consumer_id: which one, as @consumer knows it; until PART
 * @owner: this ep for the QP (stream/owner.h)
 * @qp: claimed by this ep, or started; referenced
 * @member: the member of a listening socket that it was accepted for, until it is announced or
 *	released; referenced
 * @admitted: among the startups of that socket
 * @announced_id: 0, or its number in dev->connections.announced
 * @startup: NULL once OPERATION was reached or the ep is DEAD; before, @member is NULL
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
	bool refused;
	bool hurry;
	bool faulted;
	bool killed;
	bool peer_closed;
	bool gave_way;
	int error;
	struct core_patience patience;
	const struct srnic_consumer_ops *consumer;
	void *consumer_id;
	struct srnic_qp_owner owner;
	struct srnic_qp *qp;
	struct srnic_listener_member *member;
	struct srnic_admitted admitted;
	u32 announced_id;
	struct srnic_startup *startup;
};

/*
 * Unless noted, everything below is called in process context with the ep's lock held.
 */

/* ---- ep.c: the object and its work ---- */

/*
 * Returns the ep locked, with a reference for the caller; its work waits until
 * srnic_ep_unlock_put(). Call without any ep's lock.
 */
struct srnic_ep *srnic_ep_create(struct srnic_dev *dev, struct net *net,
				 const struct srnic_consumer_ops *consumer);
void srnic_ep_unlock_put(struct srnic_ep *ep);
void srnic_ep_get(struct srnic_ep *ep);
void srnic_ep_put(struct srnic_ep *ep);
/*
 * Ends the stream or the startup. Any context; idempotent: the first reason counts, but a later
 * ABORT still hurries a graceful close, and a later FAULT makes a reset of it. The ep's work does
 * the rest: srnic_qp_stop(), the socket's shutdown and release, and the consumer's events, each at
 * most once.
 */
void srnic_ep_over(struct srnic_ep *ep, enum srnic_over why);
/* Queues the ep's work. Any context; the caller holds a reference. */
void srnic_ep_kick(struct srnic_ep *ep);
/*
 * Drops the QP, claimed or stopped, so that the consumer can connect it again. Must come before the
 * consumer learns of a failure.
 */
void srnic_ep_drop_qp(struct srnic_ep *ep);
/* Releases the consumer's objects: no event follows. */
void srnic_ep_part(struct srnic_ep *ep);
/*
 * Releases everything else. The ep has parted, is DEAD and no member's startup; an open connection
 * is reset. The caller still has a reference.
 */
void srnic_ep_release(struct srnic_ep *ep);
/* Both, in any state: for an ep that neither the consumer nor a listener knows. */
void srnic_ep_discard(struct srnic_ep *ep);

/* ---- machine.c: the state machine ---- */

/* The body of ep->work. No ep's lock. */
void srnic_ep_work(struct work_struct *work);
/* Sets the first state; the work continues from there. */
void srnic_ep_enter(struct srnic_ep *ep, enum core_conn_state state);
/* The next input for the current state, or NOTHING. For the work. */
enum core_conn_input srnic_ep_look(struct srnic_ep *ep);
/*
 * Handles an input and those that follow from it. False if it means nothing in this state. Only the
 * work arms the timer of a new state, so a verb calls srnic_ep_kick() afterwards.
 */
bool srnic_ep_feed(struct srnic_ep *ep, enum core_conn_input input);

/* ---- frame.c: the frames of startup, in ep->startup; mpa.c, hello.c ---- */

/* Sets what this end offers or asks for. */
void srnic_frame_local(struct srnic_ep *ep, const struct srnic_offer *offer);
/* Lays out the Request. -EINVAL: the private data does not fit. */
int srnic_frame_request(struct srnic_ep *ep, const struct srnic_offer *offer);
/*
 * Lays out the Reply to the Request. -EINVAL as before, -EPROTO: startup->agreed has an error.
 */
int srnic_frame_reply(struct srnic_ep *ep, const struct srnic_offer *offer);
/*
 * Lays out the Reply that refuses (RFC 5044 7.1.2 rule 2), with startup->refusal: up to 255 bytes,
 * which always fit.
 */
void srnic_frame_refusal(struct srnic_ep *ep);
/* Lays out what an initiator sends that cannot agree, if anything: agreed.error. */
void srnic_frame_error(struct srnic_ep *ep);
/* Sends the frame laid out: 1 when TCP has all of it, 0 when some is left, or -errno. */
int srnic_frame_send(struct srnic_ep *ep);
/*
 * Reads the first `want` bytes of the peer's frame: 1 when all are there, 0 when some are missing,
 * or -errno.
 */
int srnic_frame_fill(struct srnic_ep *ep, u32 want);
/*
 * Reads the peer's frame and not a byte beyond it: 1 when complete and valid, 0 if not complete, or
 * -errno. A frame with too much private data for iw_cm counts as improperly formatted (RFC 5044
 * 7.1.2 rule 9).
 */
int srnic_frame_receive(struct srnic_ep *ep, bool reply);
/* What a received frame offers. */
void srnic_frame_describe(const struct srnic_startup *startup, bool reply, struct srnic_offer *out);
/* Sets startup->agreed, of an initiator with both frames. */
void srnic_frame_conclude(struct srnic_startup *startup);

/* ---- startup.c: the states before OPERATION ---- */

/*
 * Makes an ep of an accepted socket between these addresses. If it returns 0, the ep owns the
 * socket. No ep's lock.
 */
int srnic_ep_passive(struct srnic_listener_member *member, struct socket *sock,
		     const struct sockaddr_storage *here, const struct sockaddr_storage *there);
/* The next input of a startup state; BROKEN: the reason is in ep->error. */
enum core_conn_input srnic_startup_look(struct srnic_ep *ep);
/* Seconds that a state with this limit may last. Any context. */
u32 srnic_startup_patience(enum core_conn_limit limit);
/* Outcome: QP_STARTED or QP_REFUSED. */
enum core_conn_input srnic_startup_start_qp(struct srnic_ep *ep);
/* Announces the connection to the consumer. Outcome: TOOK_REQUEST, BUSY or BROKEN. */
enum core_conn_input srnic_startup_request(struct srnic_ep *ep);
/*
 * Full operation has begun: the consumer gets its report, and ep->startup is freed. Outcome of the
 * first: UNDELIVERED on failure.
 */
enum core_conn_input srnic_startup_connected(struct srnic_ep *ep);
void srnic_startup_established(struct srnic_ep *ep);

/* ---- teardown.c: OPERATION and the states after it ---- */

enum core_conn_input srnic_teardown_look(struct srnic_ep *ep);
/* Seconds that DRAINING and LINGER may last without progress, and in all. */
void srnic_teardown_patience(const struct srnic_ep *ep, u32 *each, u32 *most);
/* A number that changes with progress; 0 in states that count none. */
u32 srnic_teardown_progress(const struct srnic_ep *ep);
/* Closes our half and watches the socket for the peer's close. */
void srnic_teardown_shut(struct srnic_ep *ep);

#endif
