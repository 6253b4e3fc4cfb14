// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The MPA startup phase of a connection, both roles (RFC 5044 7.1.2, RFC 6581 6 to 10): from TCP's
 * connection to full operation, or to the frame that says why not. What a frame means is decided in
 * the core.
 */
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include "connection/connect.h"
#include "connection/ep.h"
#include "stream/qp.h"
#include "device/stats.h"

static unsigned int startup_timeout = 10;
module_param(startup_timeout, uint, 0644);
MODULE_PARM_DESC(
	startup_timeout,
	"Seconds for TCP to connect, for a Request to come, and for each MPA startup frame to go");

static unsigned int reply_timeout = 30;
module_param(reply_timeout, uint, 0644);
MODULE_PARM_DESC(reply_timeout, "Seconds to wait for the peer's consumer to accept");

static unsigned int accept_timeout = 120;
module_param(accept_timeout, uint, 0644);
MODULE_PARM_DESC(accept_timeout, "Seconds for the local consumer to accept or reject");

void srnic_startup_enter(struct srnic_ep *ep, enum srnic_ep_state state)
{
	ep->state = state;
	srnic_ep_set_deadline(ep, startup_timeout);
}

int srnic_ep_passive(struct srnic_dev *dev, struct srnic_listen *listen, struct socket *sock)
{
	struct srnic_ep *ep = srnic_ep_create(dev, sock_net(sock->sk));

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	WRITE_ONCE(ep->listen, listen);
	ep->sock = sock;
	srnic_sock_names(sock, &ep->local, &ep->remote);
	srnic_frame_local(ep, &(struct iw_cm_conn_param) {});
	srnic_sock_watch(sock, &ep->watch);
	srnic_startup_enter(ep, SRNIC_EP_AWAIT_REQUEST);
	srnic_ep_kick(ep);
	srnic_ep_unlock_put(ep);
	return 0;
}

/* ---- ending it with a frame ---- */

/* What is in startup->out goes out, then the connection is closed. The consumer is done with it. */
static void close_after_frame(struct srnic_ep *ep)
{
	srnic_ep_part(ep);
	srnic_startup_enter(ep, SRNIC_EP_CLOSING);
}

void srnic_ep_refuse(struct srnic_ep *ep, const void *private, u32 len)
{
	srnic_frame_refusal(ep, private, len);
	close_after_frame(ep);
}

/*
 * The initiator cannot go on: its consumer hears of it, and the peer gets agreed.error in a
 * Terminate (RFC 6581 8).
 */
static void terminate(struct srnic_ep *ep, int status)
{
	srnic_count(ep->dev, SRNIC_STARTUP_FAILURES, 1);
	srnic_count(ep->dev, SRNIC_TX_TERMINATES, 1);
	srnic_ep_drop_qp(ep);
	srnic_report_failure(ep, status);
	srnic_frame_terminate(ep);
	close_after_frame(ep);
}

/* ---- into full operation ---- */

static int start_qp(struct srnic_ep *ep, bool initiator)
{
	struct srnic_qp_start start = {
		.owner = &ep->owner,
		.sock = ep->sock,
		.agreed = ep->startup->agreed,
		.initiator = initiator,
	};

	/* What comes from here on waits in the socket until the QP looks. */
	srnic_sock_unwatch(ep->sock, &ep->watch);
	return srnic_qp_start(ep->qp, &start);
}

static void enter_operation(struct srnic_ep *ep)
{
	srnic_count(ep->dev, SRNIC_CONNECTS, 1);
	ep->state = SRNIC_EP_OPERATION;
	ep->timed = false;
	kfree(ep->startup);
	ep->startup = NULL;
}

static int operate_initiator(struct srnic_ep *ep)
{
	int ret = start_qp(ep, true);

	if (ret) {
		ep->startup->agreed.error = CORE_MPA_LOCAL_CATASTROPHIC;
		terminate(ep, ret);
		return SRNIC_STEP_ONWARD;
	}
	ret = srnic_report_reply(ep, 0);
	ep->up = !ret;
	if (ret) {
		srnic_report_failure(ep, ret);
		srnic_ep_over(ep, SRNIC_OVER_ABORT);
	}
	enter_operation(ep);
	return SRNIC_STEP_ONWARD;
}

static int operate_responder(struct srnic_ep *ep)
{
	int ret = start_qp(ep, false);

	if (ret)
		return ret;
	srnic_ep_forget_announcement(ep);
	srnic_report_established(ep);
	ep->up = true;
	enter_operation(ep);
	return SRNIC_STEP_ONWARD;
}

/* ---- steps: one per state, run under ep->lock; as srnic_startup_step() ---- */

static int step_connecting(struct srnic_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	int ret;

	switch (inet_sk_state_load(sk)) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return SRNIC_STEP_WAIT;
	case TCP_CLOSE:
		return sock_error(sk) ?: -ECONNREFUSED;
	}
	ret = srnic_sock_names(ep->sock, &ep->local, &ep->remote);
	if (ret)
		return ret;
	srnic_startup_enter(ep, SRNIC_EP_REQUESTING);
	return SRNIC_STEP_ONWARD;
}

static int step_requesting(struct srnic_ep *ep)
{
	int ret = srnic_frame_send(ep);

	if (ret <= 0)
		return ret;
	ep->state = SRNIC_EP_AWAIT_REPLY;
	srnic_ep_set_deadline(ep, reply_timeout);
	return SRNIC_STEP_ONWARD;
}

static int step_await_reply(struct srnic_ep *ep)
{
	struct srnic_startup *startup = ep->startup;
	int ret = srnic_frame_receive(ep, true);

	if (ret <= 0)
		return ret;
	if (startup->reply.reject) {
		srnic_ep_drop_qp(ep);
		if (srnic_report_reply(ep, -ECONNREFUSED))
			srnic_report_failure(ep, -ECONNREFUSED);
		srnic_ep_linger(ep);
		return SRNIC_STEP_ONWARD;
	}
	core_mpa_conclude(&startup->request, &startup->reply, &startup->local, &startup->agreed);
	if (!startup->agreed.error)
		return operate_initiator(ep);
	terminate(ep, -EPROTO);
	return SRNIC_STEP_ONWARD;
}

static int step_await_request(struct srnic_ep *ep)
{
	int ret = srnic_frame_receive(ep, false);

	if (ret <= 0)
		return ret;
	ret = srnic_report_request(ep);
	if (ret == -ENOMEM) {	/* the consumer's backlog is full: it would refuse */
		srnic_ep_refuse(ep, NULL, 0);
		return SRNIC_STEP_ONWARD;
	}
	if (ret < 0)
		return ret;
	srnic_listen_done(ep->listen);
	WRITE_ONCE(ep->listen, NULL);
	ep->state = SRNIC_EP_ANNOUNCED;
	srnic_ep_set_deadline(ep, accept_timeout);
	return SRNIC_STEP_ONWARD;
}

static int step_announced(struct srnic_ep *ep)
{
	return srnic_sock_peer_gone(ep->sock) ? -ECONNRESET : SRNIC_STEP_WAIT;
}

static int step_replying(struct srnic_ep *ep)
{
	int ret = srnic_frame_send(ep);

	return ret > 0 ? operate_responder(ep) : ret;
}

static int step_closing(struct srnic_ep *ep)
{
	int ret = srnic_frame_send(ep);

	if (ret <= 0)
		return ret;
	srnic_ep_linger(ep);
	return SRNIC_STEP_ONWARD;
}

static int (*const steps[])(struct srnic_ep *ep) = {
	[SRNIC_EP_CONNECTING] = step_connecting,
	[SRNIC_EP_REQUESTING] = step_requesting,
	[SRNIC_EP_AWAIT_REPLY] = step_await_reply,
	[SRNIC_EP_AWAIT_REQUEST] = step_await_request,
	[SRNIC_EP_ANNOUNCED] = step_announced,
	[SRNIC_EP_REPLYING] = step_replying,
	[SRNIC_EP_CLOSING] = step_closing,
};

int srnic_startup_step(struct srnic_ep *ep)
{
	int ret = steps[ep->state](ep);

	return ret == SRNIC_STEP_WAIT && srnic_ep_expired(ep) ? -ETIMEDOUT : ret;
}
