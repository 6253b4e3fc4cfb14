// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * An ep: references, its work, calls from the QP, creation and release.
 */
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "connection/ep.h"
#include "stream/qp.h"

/* ---- references, and queueing its work ---- */

/* The device may be gone afterwards. */
static void leave_device(struct srnic_dev_connections *conns)
{
	unsigned long flags;

	spin_lock_irqsave(&conns->lock, flags);
	if (!--conns->num)
		wake_up_all(&conns->idle);
	spin_unlock_irqrestore(&conns->lock, flags);
}

static void free_ep(struct kref *ref)
{
	struct srnic_ep *ep = container_of(ref, struct srnic_ep, ref);
	struct srnic_dev *dev = ep->dev;

	srnic_rest_free(&ep->rest);
	kfree(ep);
	leave_device(&dev->connections);
}

void srnic_ep_get(struct srnic_ep *ep)
{
	kref_get(&ep->ref);
}

void srnic_ep_put(struct srnic_ep *ep)
{
	kref_put(&ep->ref, free_ep);
}

void srnic_ep_kick(struct srnic_ep *ep)
{
	srnic_ep_get(ep);
	if (mod_delayed_work(srnic_wq, &ep->work, 0))
		srnic_ep_put(ep);	/* it was pending and has a reference */
}

static void ep_socket_event(struct srnic_watch *watch)
{
	srnic_ep_kick(container_of(watch, struct srnic_ep, watch));
}

void srnic_ep_over(struct srnic_ep *ep, enum core_conn_input why)
{
	if (why == CORE_CONN_ABORT)
		WRITE_ONCE(ep->hurry, true);
	if (why == CORE_CONN_FAULT)
		WRITE_ONCE(ep->faulted, true);
	if (!atomic_cmpxchg(&ep->over, CORE_CONN_NOTHING, why))
		srnic_ep_kick(ep);
}

/* ---- calls from the QP ---- */

static struct srnic_ep *ep_of(struct srnic_qp_owner *owner)
{
	return container_of(owner, struct srnic_ep, owner);
}

static void owner_hold(struct srnic_qp_owner *owner)
{
	srnic_ep_get(ep_of(owner));
}

static void owner_put(struct srnic_qp_owner *owner)
{
	srnic_ep_put(ep_of(owner));
}

static void owner_over(struct srnic_qp_owner *owner, enum core_conn_input why)
{
	srnic_ep_over(ep_of(owner), why);
}

static void owner_leave_rest(struct srnic_qp_owner *owner, const struct srnic_rest *rest)
{
	ep_of(owner)->rest = *rest;
}

static const struct srnic_qp_owner_ops owner_ops = {
	.hold = owner_hold,
	.put = owner_put,
	.over = owner_over,
	.leave_rest = owner_leave_rest,
};

/* ---- creation and release ---- */

/*
 * Adds the ep to the device's list. -ECONNABORTED, as for a startup that the removal ended: the
 * device is going away. Not -ENODEV, which an RPC client takes for an error of its own.
 */
static int enlist(struct srnic_ep *ep)
{
	struct srnic_dev_connections *conns = &ep->dev->connections;
	unsigned long flags;
	int ret = -ECONNABORTED;

	spin_lock_irqsave(&conns->lock, flags);
	if (!conns->dying) {
		list_add_tail(&ep->link, &conns->eps);
		conns->num++;
		ret = 0;
	}
	spin_unlock_irqrestore(&conns->lock, flags);
	return ret;
}

bool srnic_ep_change_device(struct srnic_ep *ep, struct srnic_dev *dev)
{
	struct srnic_dev_connections *former = &ep->dev->connections;

	lockdep_assert_held(&ep->lock);
	if (ep->dev == dev)
		return true;
	if (!net_eq(ep->net, dev_net(dev->netdev)))
		return false;
	spin_lock_irq(&former->lock);
	list_del_init(&ep->link);
	spin_unlock_irq(&former->lock);
	ep->dev = dev;
	if (enlist(ep)) {
		ep->dev = container_of(former, struct srnic_dev, connections);
		spin_lock_irq(&former->lock);
		list_add_tail(&ep->link, &former->eps);
		WRITE_ONCE(ep->killed, ep->killed || former->dying);
		spin_unlock_irq(&former->lock);
		return false;
	}
	leave_device(former);
	return true;
}

static void free_unlisted(struct srnic_ep *ep)
{
	if (ep->net)
		put_net(ep->net);
	kfree(ep->startup);
	kfree(ep);
}

struct srnic_ep *srnic_ep_create(struct srnic_dev *dev, struct net *net, work_func_t work,
				 const struct srnic_consumer_ops *consumer)
{
	struct srnic_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!ep)
		return ERR_PTR(-ENOMEM);
	kref_init(&ep->ref);
	mutex_init(&ep->lock);
	INIT_DELAYED_WORK(&ep->work, work);
	ep->watch.event = ep_socket_event;
	ep->owner.ops = &owner_ops;
	ep->consumer = consumer;
	ep->dev = dev;
	ep->net = maybe_get_net(net);
	ep->startup = kzalloc(sizeof(*ep->startup), GFP_KERNEL);
	srnic_ep_get(ep);
	mutex_lock(&ep->lock);
	if (ep->startup)
		ret = ep->net ? enlist(ep) : -ENETDOWN;
	if (!ret)
		return ep;
	mutex_unlock(&ep->lock);
	free_unlisted(ep);
	return ERR_PTR(ret);
}

void srnic_ep_unlock_put(struct srnic_ep *ep)
{
	mutex_unlock(&ep->lock);
	srnic_ep_put(ep);
}

void srnic_ep_drop_qp(struct srnic_ep *ep)
{
	struct srnic_qp *qp = ep->qp;

	lockdep_assert_held(&ep->lock);
	if (!qp)
		return;
	ep->qp = NULL;
	srnic_qp_unclaim(qp, &ep->owner);
	srnic_qp_put(qp);
}

void srnic_ep_part(struct srnic_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	ep->consumer->part(ep);
	srnic_ep_drop_qp(ep);
}

void srnic_ep_release(struct srnic_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	if (ep->sock) {
		srnic_sock_unwatch(ep->sock, &ep->watch);
		srnic_sock_release(ep->sock);
	}
	ep->sock = NULL;
	srnic_rest_free(&ep->rest);
	put_net(ep->net);
	kfree(ep->startup);
	ep->startup = NULL;
	spin_lock_irq(&ep->dev->connections.lock);
	list_del_init(&ep->link);
	ep->dev->connections.refused -= ep->refused;
	ep->dev->connections.leaving -= ep->leaving;
	spin_unlock_irq(&ep->dev->connections.lock);
	srnic_ep_put(ep);
}

void srnic_ep_discard(struct srnic_ep *ep)
{
	lockdep_assert_held(&ep->lock);
	ep->state = CORE_CONN_DEAD;
	srnic_ep_part(ep);
	srnic_ep_release(ep);
}
