// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The end of a connection (RFC 5040 6.2, RFC 5041 6.2, RFC 5044 7.2): inputs and time limits of
 * OPERATION and the states after it. The core decides what follows.
 */
#include <linux/jiffies.h>
#include <linux/net.h>

#include "connection/admission.h"
#include "connection/ep.h"
#include "connection/teardown.h"
#include "stream/attach.h"
#include "stream/qp.h"

/*
 * Seconds without progress, and in all. TCP retransmits after 0.2, 0.6, 1.4 and 3 seconds: the last
 * of these can still be answered in time.
 */
#define STALL_SECONDS	5
#define MAX_SECONDS	60

/*
 * ib.rst rule 31: the peer must get the last Ack, so TCP has the time that it has for any other
 * data. A peer that takes little at a time gets some of these.
 */
#define LAST_ACKS	5

static void patience_for_last_ack(const struct srnic_ep *ep, u32 *each, u32 *most)
{
	*each = READ_ONCE(ep->dev->settings.peer_timeout) ?: MAX_SECONDS;
	*most = LAST_ACKS * *each;
}

u64 srnic_teardown_hurry(const struct srnic_ep *ep)
{
	if (!ep->consumer->lasting || ep->state < CORE_CONN_FINISHING || !ep->sock)
		return 0;
	if (!READ_ONCE(ep->killed) && !srnic_sock_fin_acked(ep->sock))
		return 0;
	return get_jiffies_64() + STALL_SECONDS * HZ;
}

void srnic_teardown_patience(const struct srnic_ep *ep, u32 *each, u32 *most)
{
	if (ep->consumer->lasting && !ep->startup) {
		patience_for_last_ack(ep, each, most);
		return;
	}
	*each = STALL_SECONDS;
	/* Before OPERATION at most one frame is in flight. */
	*most = ep->startup ? STALL_SECONDS : MAX_SECONDS;
}

u32 srnic_teardown_progress(const struct srnic_ep *ep)
{
	switch (ep->state) {
	case CORE_CONN_DRAINING:
		/* the QP's include what bypasses TCP (stream/transmit/shortcut.h) */
		return srnic_sock_progress(ep->sock) + srnic_qp_bytes(ep->qp);
	case CORE_CONN_FINISHING:
	case CORE_CONN_LINGER:
		return srnic_sock_acked(ep->sock);
	default:
		return 0;
	}
}

/* Counts the ep in one of its device's numbers, until it ends. */
static void count_in(struct srnic_ep *ep, u32 *number, bool *counted)
{
	struct srnic_dev_connections *conns = &ep->dev->connections;

	spin_lock_irq(&conns->lock);
	(*number)++;
	spin_unlock_irq(&conns->lock);
	*counted = true;
}

/*
 * A QP can be reset as often as its program likes, towards a peer that takes nothing. Those beyond
 * a limit do not wait.
 */
#define MAX_LEAVING	4096

static bool too_many_leaving(const struct srnic_ep *ep)
{
	return ep->leaving && READ_ONCE(ep->dev->connections.leaving) > MAX_LEAVING;
}

void srnic_teardown_take_rest(struct srnic_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	count_in(ep, &ep->dev->connections.leaving, &ep->leaving);
	srnic_sock_watch(ep->sock, &ep->watch);
	srnic_ep_kick(ep);
}

void srnic_teardown_shut(struct srnic_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	srnic_sock_unwatch(ep->sock, &ep->watch);
	srnic_sock_watch(ep->sock, &ep->watch);
	kernel_sock_shutdown(ep->sock, SHUT_WR);
	if (ep->startup && !ep->refused)
		count_in(ep, &ep->dev->connections.refused, &ep->refused);
}

/*
 * A refused peer no longer counts as one of its listener's startups, and may stay silent. So that
 * such peers do not add up, those beyond a limit are left to TCP alone.
 */
static bool too_many_refused(const struct srnic_ep *ep)
{
	return ep->refused && READ_ONCE(ep->dev->connections.refused) >
				      max(READ_ONCE(srnic_max_startups), 1U);
}

static enum core_conn_input look_draining(struct srnic_ep *ep)
{
	if (srnic_sock_closed(ep->sock))
		return CORE_CONN_TCP_CLOSED;
	if (srnic_sock_peer_gone(ep->sock) && !ep->peer_closed)
		return CORE_CONN_PEER_CLOSED;
	if (!srnic_qp_closed(ep->qp, &ep->owner))
		return CORE_CONN_NOTHING;
	/* A fault that has closed it was reported before: both with tx.mutex held. */
	return READ_ONCE(ep->faulted) ? CORE_CONN_FAULT : CORE_CONN_DRAINED;
}

static int send_rest(struct srnic_ep *ep)
{
	struct srnic_rest *rest = &ep->rest;
	int ret = srnic_rest_send_built(rest, ep->sock);

	while (ret > 0 && rest->sent < rest->len) {
		ret = srnic_sock_send(ep->sock, rest->ack + rest->sent, rest->len - rest->sent);
		if (ret > 0)
			rest->sent += ret;
	}
	return ret == -EAGAIN ? 0 : ret;
}

/* A peer that sends, and does not read meanwhile, must not keep this end from sending. */
static enum core_conn_input look_finishing(struct srnic_ep *ep)
{
	int ret = send_rest(ep);

	if (too_many_leaving(ep) && ret <= 0)
		return CORE_CONN_KILL;
	if (srnic_sock_discard(ep->sock))
		srnic_ep_kick(ep);
	if (ret < 0) {
		ep->error = ret;
		return CORE_CONN_BROKEN;
	}
	return ret ? CORE_CONN_FRAME_SENT : CORE_CONN_NOTHING;
}

static enum core_conn_input look_linger(struct srnic_ep *ep)
{
	if (too_many_refused(ep) || too_many_leaving(ep))
		return CORE_CONN_KILL;
	if (srnic_sock_discard(ep->sock))
		srnic_ep_kick(ep);
	return srnic_sock_closed(ep->sock) ? CORE_CONN_TCP_CLOSED : CORE_CONN_NOTHING;
}

enum core_conn_input srnic_teardown_look(struct srnic_ep *ep)
{
	switch (ep->state) {
	case CORE_CONN_DRAINING:
		return look_draining(ep);
	case CORE_CONN_FINISHING:
		return look_finishing(ep);
	case CORE_CONN_LINGER:
		return look_linger(ep);
	default:
		return CORE_CONN_NOTHING;	/* OPERATION: the QP calls srnic_ep_over() */
	}
}
