// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * iw_cm's calls for one connection: connect, accept and reject, and the checks of the QP (RFC 5044
 * 7.1.2).
 */
#include <linux/completion.h>
#include <linux/sched/signal.h>

#include "compat/iwcm-net.h"
#include "connection/connect.h"
#include "connection/ep.h"
#include "connection/frame.h"
#include "connection/iwcm.h"
#include "connection/machine.h"
#include "connection/open.h"
#include "stream/attach.h"
#include "stream/qp.h"

/* ---- connect ---- */

/*
 * QP numbers are not secret, and iw_cm checks nothing else. Only the process that created a user's
 * QP may connect it, and only the id that has a kernel consumer's QP.
 */
static bool may_connect(const struct iw_cm_id *id, const struct srnic_qp *qp)
{
	if (!qp->user)
		return srnic_iwcm_qp(id) == &qp->base;
	return same_thread_group(qp->base.res.task, current);
}

static struct srnic_offer offer_of(const struct iw_cm_conn_param *param)
{
	return (struct srnic_offer) {
		.ird = param->ird,
		.ord = param->ord,
		.private_data = param->private_data,
		.private_len = param->private_data_len,
	};
}

/* Claims the consumer's QP, if it can be connected. */
static int take_qp(struct srnic_ep *ep, const struct iw_cm_id *id, u32 qpn)
{
	struct srnic_qp *qp = srnic_qp_find(ep->dev, qpn);
	int ret;

	if (!qp)
		return -EINVAL;
	ret = may_connect(id, qp) ? srnic_qp_claim(qp, &ep->owner) : -EPERM;
	if (ret) {
		srnic_qp_put(qp);
		return ret;
	}
	ep->qp = qp;
	srnic_qp_set_ack_timeout(qp, &ep->owner, srnic_iwcm_ack_timeout(id));
	return 0;
}

/* rdma_cm learns this port with the reply: iw_cm takes the address of that event from the id. */
static void note_port(const struct srnic_ep *ep, struct iw_cm_id *id)
{
	struct sockaddr_storage here = ep->startup->here;

	srnic_set_port(&here, srnic_sock_port(ep->sock));
	srnic_ports_exchange(&ep->dev->connections.ports, &here);
	srnic_set_port(&id->local_addr, srnic_port_of(&here));
}

/* Uses iw_cm's mapped addresses. With a port mapper the peer listens there; else both are equal. */
static int connect_locked(struct srnic_ep *ep, struct iw_cm_id *id,
			  const struct iw_cm_conn_param *param)
{
	const struct srnic_offer offer = offer_of(param);
	const struct srnic_route route = {
		.here = &id->m_local_addr,
		.there = &id->m_remote_addr,
		.l3mdev = srnic_iwcm_l3mdev(id, ep->dev->netdev),
		.tos_set = id->tos_set,
		.tos = id->tos,
	};
	int ret = take_qp(ep, id, param->qpn) ?: srnic_open_active(ep, &route, &offer);

	if (ret)
		return ret;
	note_port(ep, id);
	id->add_ref(id);
	ep->consumer_id = id;
	return 0;
}

int srnic_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct srnic_dev *dev = to_srnic_dev(id->device);
	int family = id->m_remote_addr.ss_family;
	struct net *net = srnic_iwcm_net(id);	/* the interface may move; the id holds this one */
	struct srnic_ep *ep;
	int ret;

	if ((family != AF_INET && family != AF_INET6) || family != id->m_local_addr.ss_family)
		return -EAFNOSUPPORT;
	/* Before 6.6 rdma_cm takes a GID for proof that the device is in the id's namespace. */
	if (!net_eq(net, dev_net(dev->netdev)))
		return -EADDRNOTAVAIL;
	ep = srnic_ep_create(dev, net, srnic_machine_work, &srnic_iwcm_ops);
	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ret = connect_locked(ep, id, param);
	if (ret)
		srnic_ep_discard(ep);
	srnic_ep_unlock_put(ep);
	return ret;
}

/* ---- accept and reject ---- */

/*
 * Until iw_cm has processed the ESTABLISHED event of an accepted id, it takes another accept or
 * reject of that id. Each breaks it: a second accept overwrites the id's QP and leaks a reference,
 * and after a reject, or an accept that fails, the event hits a BUG(). rdma_ucm admits one call of
 * an id at a time, so an accept that lasts until iw_cm is past that state leaves no room for such a
 * call. Only the id's handler shows when that is: this structure takes its place until then.
 *
 * A kernel consumer does not wait: it may accept in the worker that processes the event, and it is
 * trusted not to answer twice.
 */
struct user_accept {
	iw_cm_handler handler;
	struct completion processed;
};

/* In iw_cm's worker. Must not wait: the accept, too, holds rdma_cm's lock of the id. */
static int event_processed(struct iw_cm_id *id, struct iw_cm_event *event)
{
	struct user_accept *user = id->provider_data;
	iw_cm_handler handler = user->handler;

	id->cm_handler = handler;
	id->provider_data = NULL;
	complete(&user->processed);	/* @user is gone */
	return handler(id, event);
}

static void watch_event(struct iw_cm_id *id, struct user_accept *user)
{
	init_completion(&user->processed);
	user->handler = id->cm_handler;
	id->provider_data = user;
	id->cm_handler = event_processed;
}

/* Withdraws an accept of which iw_cm has no event yet. */
static bool withdraw(struct srnic_ep *ep, struct iw_cm_id *id, const struct user_accept *user)
{
	bool early;

	mutex_lock(&ep->lock);
	early = ep->state == CORE_CONN_REPLYING;
	if (early) {
		id->cm_handler = user->handler;
		id->provider_data = NULL;
		srnic_machine_feed(ep, CORE_CONN_REJECT);
	}
	mutex_unlock(&ep->lock);
	return early;
}

/*
 * The Reply goes to TCP at once unless memory is short, and then times out. A killed caller does
 * not wait for the Reply, only for iw_cm.
 */
static int wait_for_event(struct srnic_ep *ep, struct iw_cm_id *id, struct user_accept *user)
{
	if (!wait_for_completion_killable(&user->processed))
		return 0;
	if (withdraw(ep, id, user))
		return -EINTR;
	wait_for_completion(&user->processed);
	return 0;
}

static int accept_locked(struct srnic_ep *ep, struct iw_cm_id *id,
			 const struct iw_cm_conn_param *param)
{
	const struct srnic_offer offer = offer_of(param);
	int ret;

	if (srnic_sock_peer_gone(ep->sock))
		return -ECONNRESET;
	ret = take_qp(ep, id, param->qpn) ?: srnic_frame_reply(ep, &offer);
	if (ret)
		return ret;
	id->add_ref(id);
	ep->consumer_id = id;
	return 0;
}

/*
 * After an error iw_cm does not call us again for this connection, so the refusal is sent here. A
 * kernel consumer's second accept ends the connection without events, as iw_cm expects.
 */
int srnic_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct srnic_ep *ep = srnic_find_announced(id);
	struct user_accept user;
	int ret = -EINVAL;
	bool waits;

	if (!ep)
		return -ECONNRESET;
	if (ep->state == CORE_CONN_ANNOUNCED)
		ret = accept_locked(ep, id, param);
	waits = !ret && ep->qp->user;
	if (waits)
		watch_event(id, &user);
	if (!srnic_machine_feed(ep, ret ? CORE_CONN_REJECT : CORE_CONN_ACCEPT))
		ret = -ECONNRESET;
	srnic_ep_kick(ep);
	mutex_unlock(&ep->lock);
	if (waits)
		ret = wait_for_event(ep, id, &user);
	srnic_ep_put(ep);
	return ret;
}

int srnic_reject(struct iw_cm_id *id, const void *pdata, u8 len)
{
	struct srnic_ep *ep = srnic_find_announced(id);

	if (!ep)
		return 0;
	if (ep->startup) {
		ep->startup->refusal = pdata;
		ep->startup->refusal_len = len;
	}
	srnic_machine_feed(ep, CORE_CONN_REJECT);
	srnic_ep_kick(ep);
	srnic_ep_unlock_put(ep);
	return 0;
}
