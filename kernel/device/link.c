// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Which devices exist: `rdma link add NAME type srnic netdev IF`, events of the interface below,
 * module unload. One device per interface, so that an address belongs to one device.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/srnic-abi.h>

#include "compat/compat.h"
#include "connection/connect.h"
#include "device/create.h"
#include "device/link.h"
#include "device/port.h"

/*
 * Makes the check for another srnic on the interface and the registration atomic. Taken before
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

static bool occupied(struct net_device *netdev)
{
	struct ib_device *base = ib_device_get_by_netdev(netdev, SRNIC_DRIVER_ID);

	if (!base)
		return false;
	ib_device_put(base);
	return true;
}

static const char *reason(int err)
{
	switch (err) {
	case -EOPNOTSUPP:
		return "not an Ethernet, loopback or tun interface, or a port of a bridge or bond";
	case -EBUSY:
		return "there is an srnic device on that interface already";
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
static int newlink(const char *name, struct net_device *netdev)
{
	int err;

	mutex_lock(&newlink_lock);
	if (!suitable(netdev))
		err = -EOPNOTSUPP;
	else if (!srnic_compat_found(netdev))
		err = -EADDRNOTAVAIL;
	else if (occupied(netdev))
		err = -EBUSY;
	else
		err = srnic_dev_create(name, netdev);
	mutex_unlock(&newlink_lock);
	if (err)
		pr_warn_ratelimited("cannot add %s on %s: %s (%d)\n", name, netdev->name,
				    reason(err), err);
	return err;
}

/* Each change once: several events of the interface may report it. */
static void port_event(struct srnic_dev *dev)
{
	enum ib_event_type type = srnic_port_up(dev->netdev) ? IB_EVENT_PORT_ACTIVE :
							       IB_EVENT_PORT_ERR;

	ASSERT_RTNL();
	if (dev->port_event == type)
		return;
	dev->port_event = type;
	srnic_compat_port_event(&dev->base, dev->netdev, type);
}

static bool changes_vrf(unsigned long event, const void *arg)
{
	const struct netdev_notifier_changeupper_info *info = arg;

	return event == NETDEV_CHANGEUPPER && netif_is_l3_master(info->upper_dev);
}

static int netdev_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(arg);
	struct ib_device *base = ib_device_get_by_netdev(netdev, SRNIC_DRIVER_ID);

	if (changes_vrf(event, arg))	/* also of a VLAN, whose addresses a device below serves */
		srnic_listen_follow();
	if (!base)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		port_event(to_srnic_dev(base));
		break;
	case NETDEV_CHANGEADDR:
		srnic_compat_gid_changed(base);
		break;
	case NETDEV_CHANGENAME:
		strscpy(base->iw_ifname, netdev->name, sizeof(base->iw_ifname));
		break;
	case NETDEV_UNREGISTER:
		ib_unregister_device_queued(base);
		break;
	}
	ib_device_put(base);
	return NOTIFY_OK;
}

static struct notifier_block netdev_notifier = { .notifier_call = netdev_event };

static struct rdma_link_ops link_ops = { .type = "srnic", .newlink = newlink };

/*
 * A client of our own devices. The RDMA core removes a device's clients in the reverse order of
 * their registration: this one before rdma_cm, which is loaded before us because we need it.
 * rdma_cm then destroys its ids, and iw_cm waits for each connection in progress: that has to fail
 * at once, not when the peer's Reply is overdue.
 */
static int client_add(struct ib_device *base)
{
	if (base->ops.driver_id != (enum rdma_driver_id)SRNIC_DRIVER_ID)
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
	err = register_netdevice_notifier(&netdev_notifier);
	if (err) {
		ib_unregister_client(&client);
		return err;
	}
	rdma_link_register(&link_ops);
	return 0;
}

void srnic_link_exit(void)
{
	rdma_link_unregister(&link_ops);
	ib_unregister_driver(SRNIC_DRIVER_ID);
	unregister_netdevice_notifier(&netdev_notifier);
	ib_unregister_client(&client);
}
