// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The TCP port of devices of type srnic_ib: their listening sockets, one for IPv4 and one for IPv6
 * (Documentation/ib.rst rule 40), in each VRF of a namespace. The first device opens them, and the
 * last one closes them (connection/listener.h), or the end of the namespace. Devices follow their
 * interfaces (place.h).
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <net/l3mdev.h>
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

static int vrf_of(struct net_device *netdev)
{
	return srnic_listener_wildcard_l3mdev(dev_net(netdev), l3mdev_master_ifindex(netdev));
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
	member->l3mdev = dev->listening.place.vrf;
	member->leaves_net = true;
	member->backlog = 1;	/* module parameter max_startups is more */
	return member;
}

/* ---- members; srnic_listeners_lock held ---- */

/* A family that there is not leaves *out as it is. */
static int join(struct srnic_dev *dev, int family, struct srnic_listener_member **out)
{
	struct srnic_listener_member *member = alloc_member(dev, family);
	int ret;

	lockdep_assert_held(&srnic_listeners_lock);
	if (!member)
		return -ENOMEM;
	ret = srnic_listener_join(member, dev->listening.place.net);
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

static struct srnic_dev *dev_of(struct srnic_place *place)
{
	return container_of(place, struct srnic_dev, listening.place);
}

static void leave_both(struct srnic_place *place)
{
	struct srnic_dev *dev = dev_of(place);

	leave(&dev->listening.members[0]);
	leave(&dev->listening.members[1]);
}

static int join_both(struct srnic_place *place)
{
	struct srnic_dev *dev = dev_of(place);

	return join(dev, AF_INET, &dev->listening.members[0]) ?:
	       join(dev, AF_INET6, &dev->listening.members[1]);
}

struct srnic_port srnic_tcp_port = {
	.name = "listening TCP port",
	.lock = &srnic_listeners_lock,
	.places = LIST_HEAD_INIT(srnic_tcp_port.places),
	.vrf = vrf_of,
	.join = join_both,
	.leave = leave_both,
};

/* ---- devices ---- */

int srnic_pairing_listen(struct srnic_dev *dev)
{
	return srnic_place_enter(&srnic_tcp_port, &dev->listening.place);
}

void srnic_pairing_unlisten(struct srnic_dev *dev)
{
	srnic_place_leave(&srnic_tcp_port, &dev->listening.place);
}
