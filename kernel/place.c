// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Keeps the ports of devices of type srnic_ib where their interfaces are.
 */
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

#include "place.h"

static struct srnic_port *const *all_ports;

/* ---- one place; the port's lock held ---- */

static int join(struct srnic_port *port, struct srnic_place *place)
{
	int ret;

	lockdep_assert_held(port->lock);
	place->net = dev_net(place->netdev);
	place->vrf = port->vrf(place->netdev);
	ret = port->join(place);
	place->joined = !ret;
	return ret;
}

static void remove(struct srnic_port *port, struct srnic_place *place)
{
	lockdep_assert_held(port->lock);
	port->leave(place);
	list_del_init(&place->link);
}

/* Not if the interface has left the namespace: then the device goes. */
static bool is_elsewhere(const struct srnic_port *port, const struct srnic_place *place)
{
	return net_eq(place->net, dev_net(place->netdev)) &&
	       (!place->joined || place->vrf != port->vrf(place->netdev));
}

static void move(struct srnic_port *port, struct srnic_place *place)
{
	int ret;

	port->leave(place);
	ret = join(port, place);
	if (ret)
		ibdev_warn_ratelimited(place->base, "no %s in another VRF: error %d\n",
				       port->name, ret);
}

/* ---- devices ---- */

void srnic_place_init(struct srnic_place *place, struct ib_device *base, struct net_device *netdev)
{
	INIT_LIST_HEAD(&place->link);
	place->base = base;
	place->netdev = netdev;
}

int srnic_place_enter(struct srnic_port *port, struct srnic_place *place)
{
	int ret;

	mutex_lock(port->lock);
	list_add_tail(&place->link, &port->places);
	ret = join(port, place);
	if (ret)
		remove(port, place);
	mutex_unlock(port->lock);
	return ret;
}

void srnic_place_leave(struct srnic_port *port, struct srnic_place *place)
{
	mutex_lock(port->lock);
	remove(port, place);
	mutex_unlock(port->lock);
	synchronize_rcu();
}

/* ---- interfaces that move between VRFs ---- */

static void follow_on(struct srnic_port *port)
{
	struct srnic_place *place;

	mutex_lock(port->lock);
	list_for_each_entry(place, &port->places, link)
		if (is_elsewhere(port, place))
			move(port, place);
	mutex_unlock(port->lock);
}

/* Not on srnic's own queue, on which storage depends: ports may wait for rtnl. */
static void follow(struct work_struct *work)
{
	unsigned int noio = memalloc_noio_save(); /* storage may wait for the locks */

	for (struct srnic_port *const *port = all_ports; *port; port++)
		follow_on(*port);
	memalloc_noio_restore(noio);
}

static DECLARE_WORK(follow_work, follow);

void srnic_places_follow(void)
{
	schedule_work(&follow_work);
}

/* ---- network namespaces ---- */

static void end_in(struct srnic_port *port, const struct net *net)
{
	struct srnic_place *place, *next;

	mutex_lock(port->lock);
	list_for_each_entry_safe(place, next, &port->places, link)
		if (net_eq(place->net, net))
			remove(port, place);
	mutex_unlock(port->lock);
}

/*
 * Before its interfaces go, and with them the devices. An interface may have left just now, and its
 * device goes by and by.
 */
static void net_exit(struct net *net)
{
	for (struct srnic_port *const *port = all_ports; *port; port++)
		end_in(*port, net);
	synchronize_rcu();
}

static struct pernet_operations net_ops = { .exit = net_exit };

int srnic_places_init(struct srnic_port *const *ports)
{
	all_ports = ports;
	return register_pernet_device(&net_ops);
}

void srnic_places_exit(void)
{
	cancel_work_sync(&follow_work);
	unregister_pernet_device(&net_ops);
}
