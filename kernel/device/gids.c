// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The GIDs of devices of type srnic_ib are the addresses of the interface. The RDMA core keeps the
 * table, but ignores addresses that come and go on an interface that is not Ethernet: lo, tun,
 * WireGuard. For these we have it look at all addresses again.
 *
 * It then adds what is missing, but removes no GID whose address has left. It can only remove all
 * of the interface, which would move those that QPs use to other indices, so this waits for an
 * event while there is no QP. Until then a QP with such a GID cannot connect.
 */
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <rdma/srnic-abi.h>

#include "compat/compat.h"
#include "device/gids.h"

/* Takes rtnl. An event during the scan queues the next one. */
static void rescan(struct work_struct *work)
{
	struct srnic_dev *dev = container_of(work, struct srnic_dev, gids.rescan);

	if (!atomic_read(&dev->num_qps) && xchg(&dev->gids.stale, false))
		srnic_compat_forget_gids(&dev->base, dev->netdev);
	rdma_roce_rescan_device(&dev->base);
	ib_device_put(&dev->base);
}

void srnic_gids_rescan(struct srnic_dev *dev)
{
	if (!ib_device_try_get(&dev->base))
		return;
	if (!schedule_work(&dev->gids.rescan))	/* is queued, with a reference of its own */
		ib_device_put(&dev->base);
}

void srnic_gids_dev_init(struct srnic_dev *dev)
{
	INIT_WORK(&dev->gids.rescan, rescan);
}

void srnic_gids_dev_exit(struct srnic_dev *dev)
{
	flush_work(&dev->gids.rescan);
}

/* Any context. Addresses that leave are not in the interface's list any more. */
static int address_event(struct net_device *netdev, unsigned long event)
{
	struct ib_device *base;

	if (netdev->type == ARPHRD_ETHER)
		return NOTIFY_DONE;
	base = ib_device_get_by_netdev(netdev, SRNIC_IB_DRIVER_ID);
	if (!base)
		return NOTIFY_DONE;
	if (event == NETDEV_DOWN)
		xchg(&to_srnic_dev(base)->gids.stale, true);
	srnic_gids_rescan(to_srnic_dev(base));
	ib_device_put(base);
	return NOTIFY_OK;
}

static int inet_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	return address_event(((const struct in_ifaddr *)arg)->ifa_dev->dev, event);
}

static int inet6_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	return address_event(((const struct inet6_ifaddr *)arg)->idev->dev, event);
}

static struct notifier_block inet_notifier = { .notifier_call = inet_event };
static struct notifier_block inet6_notifier = { .notifier_call = inet6_event };

int srnic_gids_init(void)
{
	int err = register_inetaddr_notifier(&inet_notifier);

	if (err || !IS_ENABLED(CONFIG_IPV6))
		return err;
	err = register_inet6addr_notifier(&inet6_notifier);
	if (err)
		unregister_inetaddr_notifier(&inet_notifier);
	return err;
}

void srnic_gids_exit(void)
{
	if (IS_ENABLED(CONFIG_IPV6))
		unregister_inet6addr_notifier(&inet6_notifier);
	unregister_inetaddr_notifier(&inet_notifier);
}
