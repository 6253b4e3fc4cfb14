/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * An ep (endpoint): one TCP connection. The states and their transitions are the core's
 * (core/connection.cc); machine.c carries them out. The files of connection/, from the ground up:
 *
 *	address.c, socket.c		addresses, kernel TCP sockets
 *	ep.c				the object: references, its work, release
 *	frame.c, mpa.c, hello.c,	startup frames
 *	pair.c
 *	admission.c, listener.c		startups of a listening socket, and that socket
 *	startup.c, teardown.c		inputs of the states before OPERATION, and of the others
 *	machine.c			the state machine
 *	open.c				how either end begins
 *	events.c, listening_id.c,	iw_cm as the consumer: its events, its listening ids, its
 *	connect.c			calls for one connection
 *	connections.c			all connections of a device
 */
#ifndef SRNIC_EP_H
#define SRNIC_EP_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "connection/consumer.h"
#include "connection/socket.h"
#include "srnic.h"
#include "stream/owner.h"
#include "stream/transmit/rest.h"

struct srnic_frame_ops;
struct srnic_listener_member;
struct srnic_qp;
struct srnic_source;

/*
 * What an end offers in its frame; all 0 while its consumer has not decided. @rejects: the peer's
 * only. @ird, @ord: CORE_MPA_AUTO if the peer offers none. @private_data: in the consumer's memory,
 * or the peer's in srnic_startup.in
 */
struct srnic_offer {
	bool rejects;
	u32 ird, ord;
	const void *private_data;
	u32 private_len;
};

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
		struct {
			struct core_pair_frame request, reply;
			enum core_pair_reason fault;	/* of the peer's frame */
		} pair;
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
 * struct srnic_admitted - an ep among the startups of a listening socket (admission.h)
 * @link: in admission->startups, while @source is set
 * @beside: in source->startups, while @source is set
 * @source: where the peer is; NULL if the ep is not among the startups or gave way
 * @since: when it was admitted, in jiffies
 *
 * Under admission->lock.
 */
struct srnic_admitted {
	struct list_head link, beside;
	struct srnic_source *source;
	u64 since;
};

/**
 * struct srnic_ep - one TCP connection
 *
 * Its work moves it from state to state. The verbs connect, accept and reject do so too, under
 * @lock; all other code calls srnic_ep_over(). The socket is released with @lock held.
 *
 *	reference held by		from			until
 *	the machine itself		creation		DEAD
 *	queued or running work		being queued		the end of the run
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
 * @dev: whose connection it is; a responder may change it before it has a QP
 * @net: never changes
 * @sock: released by RELEASE
 * @state: the core's; changes in machine.c, and in srnic_ep_discard()
 * @over: enum core_conn_input of srnic_ep_over(), NOTHING before; the first stays; atomic
 * @refused: counted in srnic_dev_connections.refused
 * @leaving: counted in srnic_dev_connections.leaving
 * @hurry: an ABORT came: do not drain; never cleared
 * @faulted: the QP found a fault that has no message: reset, though it drains; never cleared
 * @killed: the device goes away: a startup ends, and what ends does not linger, or, of a consumer
 *	whose QPs are lasting, not for long; never cleared
 * @peer_closed: the QP knows that the peer has closed its half
 * @gave_way: another startup was admitted instead; never cleared
 * @error: the errno of the last input that has one
 * @patience: how long the state may last, in jiffies; unused in a state without a limit
 * @consumer: what it reports to; never changes
 * @consumer_id: which one, as @consumer knows it; until PART
 * @owner: this ep for the QP (stream/owner.h)
 * @qp: claimed by this ep, or started; referenced. Of a consumer whose QPs are lasting, an
 *	initiator claims it when it starts it
 * @rest: what the QP has left to send; from FINISHING on. Set with tx.mutex held, taken with @lock
 * @member: the member of a listening socket that it was accepted for, until it is announced or
 *	released; referenced. Cleared before @admitted leaves the list where others compare it
 * @admitted: among the startups of that socket
 * @announced_id: 0, or its number in dev->connections.announced
 * @startup: NULL once OPERATION was reached or the ep is DEAD; @member is NULL by then
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
	bool leaving;
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
	struct srnic_rest rest;
	struct srnic_listener_member *member;
	struct srnic_admitted admitted;
	u32 announced_id;
	struct srnic_startup *startup;
};

/* Unless noted, all of these are called in process context with the ep's lock held. */

/*
 * Returns the ep locked, with a reference for the caller. work: srnic_machine_work(), which waits
 * until srnic_ep_unlock_put(). Call without any ep's lock.
 */
struct srnic_ep *srnic_ep_create(struct srnic_dev *dev, struct net *net, work_func_t work,
				 const struct srnic_consumer_ops *consumer);
void srnic_ep_unlock_put(struct srnic_ep *ep);
/*
 * Makes the ep one of this device, whose address its peer has used as well. False: the device goes
 * away, or is in another network namespace.
 */
bool srnic_ep_change_device(struct srnic_ep *ep, struct srnic_dev *dev);
void srnic_ep_get(struct srnic_ep *ep);
void srnic_ep_put(struct srnic_ep *ep);
/*
 * Ends the stream or the startup. Any context; idempotent: the first input counts, but a later
 * ABORT still hurries a graceful close, and a later FAULT makes a reset of it. The ep's work does
 * the rest: srnic_qp_stop(), the socket's shutdown and release, and the reports to the consumer,
 * each at most once.
 */
void srnic_ep_over(struct srnic_ep *ep, enum core_conn_input why);
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

#endif
