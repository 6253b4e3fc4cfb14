// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The TCP port of devices of type srnic_ib: their listening sockets, one for IPv4 and one for IPv6
 * (Documentation/ib.rst rule 40), in each VRF of a namespace. The first device opens them, and the
 * last one closes them (connection/listener.h), or the end of the namespace, which they do not
 * keep. A device follows its interface from one VRF to another.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/l3mdev.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "connection/listener.h"
#include "connection/open.h"
#include "pairing/consumer.h"
#include "pairing/port.h"
#include "port_map.h"

ushort srnic_pairing_port = 4791;
module_param_named(ib_port, srnic_pairing_port, ushort, 0444);
MODULE_PARM_DESC(ib_port, "TCP port of devices of type srnic_ib, the same on all hosts");

static int accepted(struct srnic_listener_member *member, struct socket *sock,
		    const struct sockaddr_storage *here, const struct sockaddr_storage *there)
{
	return srnic_open_passive(member, &srnic_pairing_ops, sock, here, there);
}

static void free_member(struct srnic_listener_member *member)
{
	kfree(member);
}

static const struct srnic_member_ops member_ops = {
	.accepted = accepted,
	.free = free_member,
};

/* The VRF in which the device listens. */
static int l3mdev_of(const struct srnic_dev *dev)
{
	return srnic_listener_wildcard_l3mdev(dev_net(dev->netdev),
					      l3mdev_master_ifindex(dev->netdev));
}

static struct srnic_listener_member *alloc_member(struct srnic_dev *dev, int family)
{
	struct srnic_listener_member *member = kzalloc(sizeof(*member), GFP_KERNEL);

	if (!member)
		return NULL;
	kref_init(&member->ref);
	member->ops = &member_ops;
	member->dev = dev;
	member->addr.ss_family = family;
	srnic_set_port(&member->addr, htons(srnic_pairing_port));
	member->rdma_port = htons(srnic_pairing_port);
	member->v6only = family == AF_INET6;
	member->l3mdev = l3mdev_of(dev);
	member->leaves_net = true;
	member->backlog = 1;	/* module parameter max_startups is more */
	return member;
}

/* ---- members; srnic_listeners_lock held ---- */

/* Devices that listen, by their listening.link. */
static LIST_HEAD(listening);

/* A family that there is not leaves *out as it is. */
static int join(struct srnic_dev *dev, int family, struct srnic_listener_member **out)
{
	struct srnic_listener_member *member = alloc_member(dev, family);
	int ret;

	lockdep_assert_held(&srnic_listeners_lock);
	if (!member)
		return -ENOMEM;
	ret = srnic_listener_join(member, dev_net(dev->netdev));
	if (ret)
		srnic_listener_put_member(member);
	else
		*out = member;
	return ret == -EAFNOSUPPORT ? 0 : ret;
}

static void leave(struct srnic_listener_member **at)
{
	struct srnic_listener_member *member = *at;

	lockdep_assert_held(&srnic_listeners_lock);
	if (!member)
		return;
	*at = NULL;
	srnic_listener_leave(member);
	srnic_listener_end_startups(member);
	srnic_listener_put_member(member);
}

static void leave_both(struct srnic_dev *dev)
{
	leave(&dev->listening.members[0]);
	leave(&dev->listening.members[1]);
}

static void unlisten(struct srnic_dev *dev)
{
	leave_both(dev);
	list_del_init(&dev->listening.link);
}

static int join_both(struct srnic_dev *dev)
{
	return join(dev, AF_INET, &dev->listening.members[0]) ?:
	       join(dev, AF_INET6, &dev->listening.members[1]);
}

/* ---- devices ---- */

int srnic_pairing_listen(struct srnic_dev *dev)
{
	int ret;

	mutex_lock(&srnic_listeners_lock);
	list_add_tail(&dev->listening.link, &listening);
	ret = join_both(dev);
	if (ret)
		unlisten(dev);
	mutex_unlock(&srnic_listeners_lock);
	return ret;
}

void srnic_pairing_unlisten(struct srnic_dev *dev)
{
	bool listened;

	mutex_lock(&srnic_listeners_lock);
	listened = !list_empty(&dev->listening.link);
	unlisten(dev);
	mutex_unlock(&srnic_listeners_lock);
	if (listened)
		synchronize_rcu();	/* callbacks of listening sockets run under RCU */
}

/* ---- interfaces that move between VRFs ---- */

/* Not if the interface has left the namespace: then the device goes. */
static bool is_elsewhere(const struct srnic_dev *dev)
{
	const struct srnic_listener_member *member = dev->listening.members[0];

	return !member || (srnic_listener_is_in(member, dev_net(dev->netdev)) &&
			   member->l3mdev != l3mdev_of(dev));
}

static void move(struct srnic_dev *dev)
{
	int ret;

	leave_both(dev);
	ret = join_both(dev);
	if (ret)
		ibdev_warn_ratelimited(&dev->base,
				       "TCP port %u is not listened on in another VRF: error %d\n",
				       srnic_pairing_port, ret);
}

static void follow(struct work_struct *work)
{
	unsigned int noio = memalloc_noio_save(); /* storage may wait for works behind this one */
	struct srnic_dev *dev;

	mutex_lock(&srnic_listeners_lock);
	list_for_each_entry(dev, &listening, listening.link)
		if (is_elsewhere(dev))
			move(dev);
	mutex_unlock(&srnic_listeners_lock);
	memalloc_noio_restore(noio);
}

static DECLARE_WORK(follow_work, follow);

void srnic_pairing_follow(void)
{
	queue_work(srnic_wq, &follow_work);
}

/* ---- network namespaces ---- */

static bool is_in(const struct srnic_listener_member *member, const struct net *net)
{
	return member && srnic_listener_is_in(member, net);
}

/* Without sockets: would it get them there? */
static bool listens_in(const struct srnic_dev *dev, const struct net *net)
{
	struct srnic_listener_member *const *members = dev->listening.members;

	if (!members[0] && !members[1])
		return net_eq(dev_net(dev->netdev), net);
	return is_in(members[0], net) || is_in(members[1], net);
}

/*
 * Before its interfaces go, and with them the devices. An interface may have left just now, and its
 * device goes by and by.
 */
static void net_exit(struct net *net)
{
	struct srnic_dev *dev, *next;

	mutex_lock(&srnic_listeners_lock);
	list_for_each_entry_safe(dev, next, &listening, listening.link)
		if (listens_in(dev, net))
			unlisten(dev);
	mutex_unlock(&srnic_listeners_lock);
	synchronize_rcu();
}

static struct pernet_operations net_ops = { .exit = net_exit };

int srnic_pairing_init(void)
{
	return register_pernet_device(&net_ops);
}

void srnic_pairing_exit(void)
{
	unregister_pernet_device(&net_ops);
}
