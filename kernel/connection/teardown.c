// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The end of a connection, in whatever way it comes (RFC 5040 6.2, RFC 5041 6.2, RFC 5044 7.2):
 * what was posted drains, the QP lets go, the consumer is told, and TCP is closed with nothing but
 * the socket in hand.
 */
#include <linux/jiffies.h>
#include <linux/net.h>

#include "connection/connect.h"
#include "connection/ep.h"
#include "stream/qp.h"
#include "device/stats.h"

#define DRAIN_SECONDS		1
#define DRAIN_MAX_SECONDS	60
#define DRAIN_POLL		msecs_to_jiffies(4)
#define LINGER_SECONDS		3
#define LINGER_EXTENSIONS	20

void srnic_ep_linger(struct srnic_ep *ep)
{
	srnic_ep_part(ep);
	srnic_sock_unwatch(ep->sock, &ep->watch);
	srnic_sock_watch(ep->sock, &ep->watch);
	kernel_sock_shutdown(ep->sock, SHUT_WR);
	ep->unacked = srnic_sock_unacked(ep->sock);
	ep->state = SRNIC_EP_LINGER;
	srnic_ep_set_deadline(ep, LINGER_SECONDS);
}

/* The QP's stream is over. Its consumer hears of it before the socket has come to its end. */
static void finish(struct srnic_ep *ep, enum srnic_over why)
{
	if (why == SRNIC_OVER_RESET)
		srnic_count(ep->dev, SRNIC_RESETS, 1);
	srnic_qp_stop(ep->qp, &ep->owner);
	if (ep->up)
		srnic_report(ep, IW_CM_EVENT_CLOSE, why == SRNIC_OVER_RESET ? -ECONNRESET : 0);
	ep->up = false;
	srnic_ep_linger(ep);
}

/* There is time for as long as octets flow, in either direction, and never more than so much. */
static bool drain_expired(struct srnic_ep *ep)
{
	u32 progress = srnic_sock_progress(ep->sock);

	if (progress != ep->progress)
		ep->drain_end = jiffies + DRAIN_SECONDS * HZ;
	ep->progress = progress;
	return time_after_eq(jiffies, ep->drain_end) || time_after_eq(jiffies, ep->drain_limit);
}

static bool drained(struct srnic_ep *ep)
{
	return READ_ONCE(ep->hurry) || drain_expired(ep) || srnic_sock_closed(ep->sock) ||
	       srnic_qp_closed(ep->qp, &ep->owner);
}

static void drain(struct srnic_ep *ep, enum srnic_over why)
{
	srnic_qp_close(ep->qp, &ep->owner, why == SRNIC_OVER_PEER_CLOSED);
	ep->progress = srnic_sock_progress(ep->sock);
	ep->drain_end = jiffies + DRAIN_SECONDS * HZ;
	ep->drain_limit = jiffies + DRAIN_MAX_SECONDS * HZ;
	ep->state = SRNIC_EP_DRAINING;
}

void srnic_ep_fail(struct srnic_ep *ep, int err)
{
	if (ep->state < SRNIC_EP_CLOSING)
		srnic_count(ep->dev, SRNIC_STARTUP_FAILURES, 1);
	switch (ep->state) {
	case SRNIC_EP_CONNECTING:
	case SRNIC_EP_REQUESTING:
	case SRNIC_EP_AWAIT_REPLY:
		srnic_ep_drop_qp(ep);
		srnic_report_failure(ep, err);
		break;
	case SRNIC_EP_REPLYING:
		/* accept() said that it works: only so can iw_cm be told that it did not. */
		srnic_qp_give_up(ep->qp, &ep->owner);
		srnic_report(ep, IW_CM_EVENT_ESTABLISHED, err);
		srnic_report(ep, IW_CM_EVENT_CLOSE, err);
		break;
	default:
		break;
	}
	srnic_ep_die(ep);
}

/* ---- steps: one per state, run under ep->lock; as srnic_ending_step() ---- */

static int step_operation(struct srnic_ep *ep)
{
	int over = atomic_read(&ep->over);
	enum srnic_over why;

	if (!over)
		return SRNIC_STEP_WAIT;
	why = over - 1;
	if (ep->up && why != SRNIC_OVER_ABORT && why != SRNIC_OVER_CLOSE)
		srnic_report(ep, IW_CM_EVENT_DISCONNECT, 0);
	if (!READ_ONCE(ep->hurry) && (why == SRNIC_OVER_PEER_CLOSED || why == SRNIC_OVER_CLOSE))
		drain(ep, why);
	else
		finish(ep, why);
	return SRNIC_STEP_ONWARD;
}

static int step_draining(struct srnic_ep *ep)
{
	if (drained(ep)) {
		finish(ep, atomic_read(&ep->over) - 1);
		return SRNIC_STEP_ONWARD;
	}
	ep->timed = true;
	ep->deadline = jiffies + DRAIN_POLL;
	return SRNIC_STEP_WAIT;
}

/* While octets of ours still get through, they get more time. */
static bool extend(struct srnic_ep *ep)
{
	u32 unacked = srnic_sock_unacked(ep->sock);

	if (unacked >= ep->unacked || ep->extensions >= LINGER_EXTENSIONS)
		return false;
	ep->unacked = unacked;
	ep->extensions++;
	srnic_ep_set_deadline(ep, LINGER_SECONDS);
	return true;
}

static int step_linger(struct srnic_ep *ep)
{
	if (srnic_sock_discard(ep->sock))
		srnic_ep_kick(ep);
	if (srnic_sock_closed(ep->sock) || READ_ONCE(ep->killed))
		return -ECONNRESET;	/* not an error here: all there is left to do is to die */
	return srnic_ep_expired(ep) && !extend(ep) ? -ETIMEDOUT : SRNIC_STEP_WAIT;
}

static int step_dead(struct srnic_ep *ep)
{
	return SRNIC_STEP_WAIT;
}

static int (*const steps[])(struct srnic_ep *ep) = {
	[SRNIC_EP_OPERATION] = step_operation,
	[SRNIC_EP_DRAINING] = step_draining,
	[SRNIC_EP_LINGER] = step_linger,
	[SRNIC_EP_DEAD] = step_dead,
};

int srnic_ending_step(struct srnic_ep *ep)
{
	return steps[ep->state](ep);
}
