// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The UDP port of devices of type srnic_ib: their sockets, one for IPv4 and one for IPv6, in each
 * VRF of a namespace (Documentation/ib.rst rule 84). The first device opens them, and the last one
 * closes them, or the end of the namespace. Devices follow their interfaces (place.h).
 *
 * An ordinary user cannot send from a port below 1024, and nobody can share this one with the
 * module. So ordinary users cannot forge datagrams; whoever is root in a container can, from its
 * addresses.
 */
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <net/l3mdev.h>
#include <net/net_namespace.h>

#include "datagram/ah.h"
#include "datagram/group.h"
#include "datagram/port.h"
#include "datagram/receive.h"

static ushort ib_datagram_port = 291;
module_param(ib_datagram_port, ushort, 0444);
MODULE_PARM_DESC(ib_datagram_port,
		 "UDP port of devices of type srnic_ib, the same on all hosts");

static const int families[] = { AF_INET, AF_INET6 };

/* Outside srnic_dev_datagrams.lock of any device. Held to open, find or close a socket. */
static DEFINE_MUTEX(ports_lock);
static LIST_HEAD(sockets);

static int vrf_of(struct net_device *netdev)
{
	return l3mdev_master_ifindex(netdev);
}

static struct srnic_dev *dev_of(struct srnic_place *place)
{
	return container_of(place, struct srnic_dev, datagrams.place);
}

/* ---- sockets that devices share; ports_lock held ---- */

static struct srnic_datagram_socket *find_socket(const struct net *net, int l3mdev, int family)
{
	struct srnic_datagram_socket *socket;

	list_for_each_entry(socket, &sockets, link)
		if (net_eq(socket->net, net) && socket->l3mdev == l3mdev &&
		    socket->family == family)
			return socket;
	return NULL;
}

/* With those of other VRFs, for as long as one is opened. */
static void share_port(struct net *net, bool share)
{
	struct srnic_datagram_socket *socket;

	lockdep_assert_held(&ports_lock);
	list_for_each_entry(socket, &sockets, link)
		if (net_eq(socket->net, net))
			srnic_datagram_socket_share(socket, share);
}

static int open_beside_others(struct srnic_datagram_socket *socket)
{
	int ret;

	share_port(socket->net, true);
	ret = srnic_datagram_socket_open(socket, srnic_datagram_receive);
	if (!ret)
		srnic_datagram_socket_share(socket, false);
	share_port(socket->net, false);
	return ret;
}

static struct srnic_datagram_socket *open_socket(const struct srnic_place *place, int family)
{
	struct srnic_datagram_socket *socket = kzalloc(sizeof(*socket), GFP_KERNEL);
	int ret;

	if (!socket)
		return ERR_PTR(-ENOMEM);
	socket->net = place->net;
	socket->l3mdev = place->vrf;
	socket->family = family;
	socket->port = htons(ib_datagram_port);
	ret = open_beside_others(socket);
	if (ret) {
		kfree(socket);
		return ERR_PTR(ret);
	}
	list_add_tail(&socket->link, &sockets);
	return socket;
}

static struct srnic_datagram_socket *take_socket(struct srnic_dev *dev, int family)
{
	const struct srnic_place *place = &dev->datagrams.place;
	struct srnic_datagram_socket *socket =
		find_socket(place->net, place->vrf, family) ?: open_socket(place, family);

	lockdep_assert_held(&ports_lock);
	if (IS_ERR(socket))
		return PTR_ERR(socket) == -EAFNOSUPPORT ? NULL : socket;
	if (!socket->users++)
		rcu_assign_pointer(socket->witness, dev);
	return socket;
}

static bool has(const struct srnic_dev *dev, const struct srnic_datagram_socket *socket)
{
	return dev->datagrams.sockets[0] == socket || dev->datagrams.sockets[1] == socket;
}

static struct srnic_dev *another_device(const struct srnic_datagram_socket *socket)
{
	struct srnic_place *place;

	list_for_each_entry(place, &srnic_udp_port.places, link)
		if (has(dev_of(place), socket))
			return dev_of(place);
	return NULL;
}

/* The device does not have it any more. Receives may go on until the end of a grace period. */
static void leave_socket(struct srnic_datagram_socket *socket)
{
	lockdep_assert_held(&ports_lock);
	rcu_assign_pointer(socket->witness, another_device(socket));
	if (--socket->users)
		return;
	list_del(&socket->link);
	srnic_datagram_socket_close(socket);
	synchronize_rcu();
	kfree(socket);
}

/* ---- devices; ports_lock held ---- */

static void set_socket(struct srnic_dev *dev, int which, struct srnic_datagram_socket *socket)
{
	down_write(&dev->datagrams.lock);	/* until datagrams that are being sent are sent */
	dev->datagrams.sockets[which] = socket;
	up_write(&dev->datagrams.lock);
}

static int join(struct srnic_dev *dev, int which)
{
	struct srnic_datagram_socket *socket = take_socket(dev, families[which]);

	if (IS_ERR(socket))
		return PTR_ERR(socket);
	set_socket(dev, which, socket);
	return 0;
}

static void leave(struct srnic_dev *dev, int which)
{
	struct srnic_datagram_socket *socket = dev->datagrams.sockets[which];

	if (!socket)
		return;
	set_socket(dev, which, NULL);
	leave_socket(socket);
}

static int join_both(struct srnic_place *place)
{
	int ret = join(dev_of(place), 0) ?: join(dev_of(place), 1);

	srnic_groups_join(dev_of(place));
	return ret;
}

static void leave_both(struct srnic_place *place)
{
	srnic_groups_leave(dev_of(place));
	leave(dev_of(place), 0);
	leave(dev_of(place), 1);
}

struct srnic_port srnic_udp_port = {
	.name = "UDP port",
	.lock = &ports_lock,
	.places = LIST_HEAD_INIT(srnic_udp_port.places),
	.vrf = vrf_of,
	.join = join_both,
	.leave = leave_both,
};

/* ---- devices ---- */

void srnic_datagram_dev_init(struct srnic_dev *dev)
{
	init_rwsem(&dev->datagrams.lock);
	srnic_place_init(&dev->datagrams.place, &dev->base, dev->netdev);
	srnic_groups_dev_init(dev);
	srnic_ah_dev_init(dev);
}

void srnic_datagram_dev_exit(struct srnic_dev *dev)
{
	srnic_ah_dev_exit(dev);
	srnic_groups_dev_exit(dev);
}

int srnic_datagram_listen(struct srnic_dev *dev)
{
	return srnic_place_enter(&srnic_udp_port, &dev->datagrams.place);
}

void srnic_datagram_unlisten(struct srnic_dev *dev)
{
	srnic_place_leave(&srnic_udp_port, &dev->datagrams.place);
}

/* ---- use ---- */

int srnic_datagram_attach(struct srnic_datagrams *datagrams, const union ib_gid *group)
{
	int ret;

	mutex_lock(&ports_lock);
	ret = srnic_group_attach(datagrams->qp->dev, datagrams, group);
	mutex_unlock(&ports_lock);
	return ret;
}

int srnic_datagram_detach(struct srnic_datagrams *datagrams, const union ib_gid *group)
{
	int ret;

	mutex_lock(&ports_lock);
	ret = srnic_group_detach(datagrams->qp->dev, datagrams, group);
	mutex_unlock(&ports_lock);
	return ret;
}

int srnic_datagram_transmit(struct srnic_dev *dev, struct srnic_outgoing *out, bool may_wait)
{
	struct srnic_dev_datagrams *datagrams = &dev->datagrams;
	const struct srnic_datagram_socket *socket;
	int ret = -ENETDOWN;

	down_read(&datagrams->lock);
	socket = datagrams->sockets[out->path.here.ss_family == AF_INET6];
	if (socket)
		ret = srnic_datagram_socket_send(socket, out, may_wait);
	up_read(&datagrams->lock);
	return ret;
}
