// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The TCP port of devices of type srnic_ib: their listening sockets, one for IPv4 and one for IPv6
 * (Documentation/ib.rst rule 40). The first device of a namespace opens them, and its last one
 * closes them (connection/listener.h).
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "connection/listener.h"
#include "connection/open.h"
#include "pairing/consumer.h"
#include "pairing/port.h"
#include "port_map.h"

#define BACKLOG	SOMAXCONN

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
	member->leaves_net = true;	/* else the device and its namespace keep each other */
	member->backlog = BACKLOG;
	return member;
}

/* NULL: there is no such family here. */
static int join(struct srnic_dev *dev, int family, struct srnic_listener_member **out)
{
	struct srnic_listener_member *member = alloc_member(dev, family);
	int ret;

	if (!member)
		return -ENOMEM;
	mutex_lock(&srnic_listeners_lock);
	ret = srnic_listener_join(member, dev_net(dev->netdev));
	mutex_unlock(&srnic_listeners_lock);
	if (ret)
		srnic_listener_put_member(member);
	else
		*out = member;
	return ret == -EAFNOSUPPORT ? 0 : ret;
}

static void leave(struct srnic_listener_member **at)
{
	struct srnic_listener_member *member = *at;

	if (!member)
		return;
	*at = NULL;
	mutex_lock(&srnic_listeners_lock);
	srnic_listener_leave(member);
	mutex_unlock(&srnic_listeners_lock);
	srnic_listener_end_startups(member);
	srnic_listener_put_member(member);
}

int srnic_pairing_listen(struct srnic_dev *dev)
{
	int ret = join(dev, AF_INET, &dev->listening[0]) ?:
		  join(dev, AF_INET6, &dev->listening[1]);

	if (ret)
		srnic_pairing_unlisten(dev);
	return ret;
}

void srnic_pairing_unlisten(struct srnic_dev *dev)
{
	leave(&dev->listening[0]);
	leave(&dev->listening[1]);
	synchronize_rcu();	/* callbacks of listening sockets run under RCU */
}
