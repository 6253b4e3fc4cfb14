// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The startup phase of a connection, both roles (RFC 5044 7.1.2, RFC 6581 6 to 10): inputs and
 * time limits of the states before OPERATION. The core decides what a frame means and what follows.
 */
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "connection/ep.h"
#include "connection/frame.h"
#include "connection/startup.h"
#include "report/counters.h"
#include "stream/start.h"
#include "stream/qp.h"

#define MAX_SECONDS 3600U

static unsigned int startup_timeout = 10;
module_param(startup_timeout, uint, 0644);
MODULE_PARM_DESC(startup_timeout, "Seconds for the TCP handshake, a Request, and to send a frame");

static unsigned int reply_timeout = 30;
module_param(reply_timeout, uint, 0644);
MODULE_PARM_DESC(reply_timeout, "Seconds for the peer's Reply frame");

static unsigned int accept_timeout = 120;
module_param(accept_timeout, uint, 0644);
MODULE_PARM_DESC(accept_timeout, "Seconds for the local consumer to accept or reject");

u32 srnic_startup_patience(enum core_conn_limit limit)
{
	switch (limit) {
	case CORE_CONN_LIMIT_REPLY:
		return min(READ_ONCE(reply_timeout), MAX_SECONDS);
	case CORE_CONN_LIMIT_ACCEPT:
		return min(READ_ONCE(accept_timeout), MAX_SECONDS);
	default:
		return min(READ_ONCE(startup_timeout), MAX_SECONDS);
	}
}

/* ---- into full operation ---- */

enum core_conn_input srnic_startup_make_request(struct srnic_ep *ep)
{
	return ep->consumer->make_request ? ep->consumer->make_request(ep) : CORE_CONN_NOTHING;
}

enum core_conn_input srnic_startup_start_qp(struct srnic_ep *ep)
{
	struct srnic_qp_start start = {
		.owner = &ep->owner,
		.sock = ep->sock,
		.agreed = ep->startup->agreed,
		.initiator = ep->state == CORE_CONN_AWAIT_REPLY,
	};

	lockdep_assert_held(&ep->lock);
	/* Data that arrives from now on waits in the socket until the QP reads it. */
	srnic_sock_unwatch(ep->sock, &ep->watch);
	ep->error = ep->consumer->start(ep, &start);
	if (!ep->error)
		return CORE_CONN_QP_STARTED;
	if (ep->consumer->lasting)	/* its peer expects a reset */
		return CORE_CONN_BROKEN;
	srnic_sock_watch(ep->sock, &ep->watch);
	ep->startup->agreed.error = CORE_MPA_LOCAL_CATASTROPHIC;
	return CORE_CONN_QP_REFUSED;
}

static void startup_done(struct srnic_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	srnic_count(ep->dev, SRNIC_CONNECTS, 1);
	kfree(ep->startup);
	ep->startup = NULL;
}

enum core_conn_input srnic_startup_connected(struct srnic_ep *ep)
{
	ep->error = ep->consumer->connected(ep);
	startup_done(ep);
	return ep->error ? CORE_CONN_UNDELIVERED : CORE_CONN_NOTHING;
}

void srnic_startup_established(struct srnic_ep *ep)
{
	ep->consumer->established(ep);
	startup_done(ep);
}

/* ---- inputs of each state ---- */

static enum core_conn_input broken(struct srnic_ep *ep, int err)
{
	ep->error = err;
	return CORE_CONN_BROKEN;
}

static enum core_conn_input look_connecting(struct srnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	int ret;

	switch (inet_sk_state_load(sk)) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return CORE_CONN_NOTHING;
	case TCP_CLOSE:
		return broken(ep, sock_error(sk) ?: -ECONNREFUSED);
	}
	ret = srnic_sock_names(ep->sock, &ep->startup->here, &ep->startup->there);
	return ret ? broken(ep, ret) : CORE_CONN_TCP_CONNECTED;
}

static enum core_conn_input look_sending(struct srnic_ep *ep)
{
	int ret = srnic_frame_send(ep);

	if (!ep->startup->out_len)	/* no message for it: reset */
		return broken(ep, -EPROTO);
	if (ret < 0)
		return broken(ep, ret);
	return ret ? CORE_CONN_FRAME_SENT : CORE_CONN_NOTHING;
}

static enum core_conn_input look_await_reply(struct srnic_ep *ep)
{
	struct srnic_startup *startup = ep->startup;
	int ret = srnic_frame_receive(ep, true);
	struct srnic_offer offer;

	if (ret < 0)
		return broken(ep, ret);
	if (!ret)
		return CORE_CONN_NOTHING;
	srnic_frame_describe(startup, true, &offer);
	if (offer.rejects)
		return CORE_CONN_REPLY_REJECTS;
	srnic_frame_conclude(startup);
	return startup->agreed.error ? CORE_CONN_REPLY_UNFIT : CORE_CONN_REPLY_ACCEPTS;
}

static enum core_conn_input look_await_request(struct srnic_ep *ep)
{
	int ret = srnic_frame_receive(ep, false);

	if (ret < 0)
		return broken(ep, ret);
	return ret ? CORE_CONN_REQUEST : CORE_CONN_NOTHING;
}

static enum core_conn_input look_announced(struct srnic_ep *ep)
{
	return srnic_sock_peer_gone(ep->sock) ? broken(ep, -ECONNRESET) : CORE_CONN_NOTHING;
}

enum core_conn_input srnic_startup_look(struct srnic_ep *ep)
{
	switch (ep->state) {
	case CORE_CONN_CONNECTING:
		return look_connecting(ep);
	case CORE_CONN_REQUESTING:
	case CORE_CONN_REPLYING:
	case CORE_CONN_CLOSING:
		return look_sending(ep);
	case CORE_CONN_AWAIT_REPLY:
		return look_await_reply(ep);
	case CORE_CONN_AWAIT_REQUEST:
		return look_await_request(ep);
	case CORE_CONN_ANNOUNCED:
		return look_announced(ep);
	default:
		return CORE_CONN_NOTHING;
	}
}
