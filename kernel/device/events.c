// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What happens to the interface below, for the devices on it: at most one of each type.
 */
#include <linux/rtnetlink.h>
#include <rdma/srnic-abi.h>

#include "compat/compat.h"
#include "connection/connect.h"
#include "device/events.h"
#include "device/port.h"
#include "place.h"

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

static void follow(void)
{
	srnic_listen_follow();
	srnic_places_follow();
}

static bool changes_vrf(unsigned long event, const void *arg)
{
	const struct netdev_notifier_changeupper_info *info = arg;

	return event == NETDEV_CHANGEUPPER && netif_is_l3_master(info->upper_dev);
}

/* What only iw_cm, and its client rdma_cm, want to know. */
static void rnic_event(struct ib_device *base, unsigned long event, struct net_device *netdev)
{
	if (event == NETDEV_CHANGEADDR)
		srnic_compat_gid_changed(base);
	else if (event == NETDEV_CHANGENAME)
		strscpy(base->iw_ifname, netdev->name, sizeof(base->iw_ifname));
}

static void device_event(struct ib_device *base, unsigned long event, struct net_device *netdev)
{
	struct srnic_dev *dev = to_srnic_dev(base);

	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		port_event(dev);
		break;
	case NETDEV_UNREGISTER:
		ib_unregister_device_queued(base);
		break;
	default:
		if (!dev->ib)
			rnic_event(base, event, netdev);
	}
}

static int netdev_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	static const u32 types[] = { SRNIC_DRIVER_ID, SRNIC_IB_DRIVER_ID };
	struct net_device *netdev = netdev_notifier_info_to_dev(arg);
	struct ib_device *base;
	int i;

	if (changes_vrf(event, arg))	/* also of a VLAN, whose addresses a device below serves */
		follow();
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		base = ib_device_get_by_netdev(netdev, types[i]);
		if (!base)
			continue;
		device_event(base, event, netdev);
		ib_device_put(base);
	}
	return NOTIFY_OK;
}

static struct notifier_block notifier = { .notifier_call = netdev_event };

int srnic_events_init(void)
{
	return register_netdevice_notifier(&notifier);
}

void srnic_events_exit(void)
{
	unregister_netdevice_notifier(&notifier);
}
