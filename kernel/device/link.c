// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which devices exist: `rdma link add NAME type srnic|srnic_ib netdev IF`, module unload.
 *
 * An interface has at most one device of each type, so that an address belongs to one device for
 * each kind of connection. If it has both, type srnic was first: rdma_cm looks through the devices
 * in the order of their registration, and would take the other one for its connections.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <rdma/rdma_netlink.h>
#include <rdma/srnic-abi.h>

#include "compat/compat.h"
#include "connection/connect.h"
#include "device/create.h"
#include "device/events.h"
#include "device/gids.h"
#include "device/link.h"

/*
 * Makes the check for other devices on the interface and the registration atomic. Taken before
 * rtnl, never inside a notifier.
 */
static DEFINE_MUTEX(newlink_lock);

/*
 * Addresses live on the master of a bridge or bond port, and rdma_cm takes interfaces of type
 * InfiniBand for IPoIB.
 */
static bool suitable(const struct net_device *netdev)
{
	switch (netdev->type) {
	case ARPHRD_ETHER:
	case ARPHRD_LOOPBACK:
	case ARPHRD_NONE:
		return !netif_is_bridge_port(netdev) && !netif_is_lag_port(netdev) &&
		       !netif_is_ovs_port(netdev);
	default:
		return false;
	}
}

static bool has_device(struct net_device *netdev, enum rdma_driver_id type)
{
	struct ib_device *base = ib_device_get_by_netdev(netdev, type);

	if (!base)
		return false;
	ib_device_put(base);
	return true;
}

/* 0: a device of this type may be on the interface. Under newlink_lock. */
static int refusal(struct net_device *netdev, bool ib)
{
	if (!suitable(netdev))
		return -EOPNOTSUPP;
	if (ib && is_vlan_dev(netdev))	/* the RDMA core would give it no GIDs */
		return -EINVAL;
	if (!ib && !srnic_compat_found(netdev))
		return -EADDRNOTAVAIL;
	if (has_device(netdev, ib ? SRNIC_IB_DRIVER_ID : SRNIC_DRIVER_ID))
		return -EBUSY;
	if (!ib && has_device(netdev, SRNIC_IB_DRIVER_ID))
		return -EADDRINUSE;
	return 0;
}

static const char *reason(int err, bool ib)
{
	switch (err) {
	case -EOPNOTSUPP:
		return "not an Ethernet, loopback or tun interface, or a port of a bridge or bond";
	case -EINVAL:
		return "a VLAN: add it on the interface below, it has the VLAN's addresses, too";
	case -EBUSY:
		return ib ? "there is an srnic_ib device on that interface already" :
			    "there is an srnic device on that interface already";
	case -EADDRINUSE:
		if (ib)
			return "its TCP or UDP port is in use: ib_port or ib_datagram_port";
		return "there is an srnic_ib device on that interface: delete it, add srnic first";
	case -EADDRNOTAVAIL:
		return "before Linux 6.6 an interface needs a hardware address";
	case -EEXIST:
		return "an RDMA device of that name exists (possibly in another network namespace)";
	case -ENOSPC:
		return "too many srnic devices";
	case -ENODEV:
		return "the interface is going away";
	case -ENOMEM:
		return "out of memory";
	default:
		return "the RDMA core refused it";
	}
}

/* The RDMA core passes no extack, so one line in the log explains the errno. */
static int newlink(const char *name, struct net_device *netdev, bool ib)
{
	int err;

	mutex_lock(&newlink_lock);
	err = refusal(netdev, ib) ?: srnic_dev_create(name, netdev, ib);
	mutex_unlock(&newlink_lock);
	if (err)
		pr_warn_ratelimited("cannot add %s%s on %s: %s (%d)\n",
				    ib ? "srnic_ib device " : "", name, netdev->name,
				    reason(err, ib), err);
	return err;
}

static int newlink_srnic(const char *name, struct net_device *netdev)
{
	return newlink(name, netdev, false);
}

static int newlink_srnic_ib(const char *name, struct net_device *netdev)
{
	return newlink(name, netdev, true);
}

static struct rdma_link_ops link_ops = { .type = "srnic", .newlink = newlink_srnic };
static struct rdma_link_ops ib_link_ops = { .type = "srnic_ib", .newlink = newlink_srnic_ib };

static bool is_ours(const struct ib_device *base)
{
	u32 type = base->ops.driver_id;

	return type == SRNIC_DRIVER_ID || type == SRNIC_IB_DRIVER_ID;
}

/*
 * A client of our own devices. The RDMA core removes a device's clients in the reverse order of
 * their registration: this one before rdma_cm, which is loaded before us because we need it.
 * rdma_cm then destroys its ids, and iw_cm waits for each connection in progress: that has to fail
 * at once, not when the peer's Reply is overdue.
 */
static int client_add(struct ib_device *base)
{
	if (!is_ours(base))
		return -EOPNOTSUPP;
	srnic_connect_dev_open(to_srnic_dev(base));
	return 0;
}

static void client_remove(struct ib_device *base, void *data)
{
	srnic_connect_dev_close(to_srnic_dev(base));
}

static struct ib_client client = {
	.name = "srnic",
	.add = client_add,
	.remove = client_remove,
};

int srnic_link_init(void)
{
	int err;

	err = ib_register_client(&client);
	if (err)
		return err;
	err = srnic_events_init();
	if (err)
		goto unregister_client;
	err = srnic_gids_init();
	if (err)
		goto exit_events;
	rdma_link_register(&link_ops);
	rdma_link_register(&ib_link_ops);
	return 0;
exit_events:
	srnic_events_exit();
unregister_client:
	ib_unregister_client(&client);
	return err;
}

void srnic_link_exit(void)
{
	rdma_link_unregister(&ib_link_ops);
	rdma_link_unregister(&link_ops);
	ib_unregister_driver(SRNIC_IB_DRIVER_ID);
	ib_unregister_driver(SRNIC_DRIVER_ID);
	srnic_gids_exit();
	srnic_events_exit();
	ib_unregister_client(&client);
}
