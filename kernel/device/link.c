// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Creation and removal of devices: `rdma link add NAME type srnic netdev IF`, events of the
 * interface below, module unload.
 *
 * Life of a device: alloc_device() -> ib_register_device() -> any of `rdma link delete`,
 * NETDEV_UNREGISTER or module exit -> the RDMA core removes all clients and user contexts ->
 * srnic_dealloc_driver(). One device per interface, so that an address belongs to one device.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/rdma_netlink.h>
#include <rdma/srnic-abi.h>

#include "compat/compat.h"
#include "connection/connect.h"
#include "device/framing.h"
#include "device/link.h"
#include "memory/table.h"
#include "report/counters.h"
#include "stream/kick/standby.h"

static DEFINE_IDA(indices);
/*
 * Makes the check for another srnic on the interface and the registration atomic. Taken before
 * rtnl, never inside a notifier.
 */
static DEFINE_MUTEX(newlink_lock);

/*
 * EUI-64 of the interface; random and locally administered if it has no Ethernet address. A VLAN
 * and ipvlan share the address of the interface below, and have a number in its middle: its own,
 * and the kernel's. (VLANs of one number, one in the other, have the same.)
 */
static __be64 node_guid(const struct net_device *netdev)
{
	u16 number = is_vlan_dev(netdev) ? 0xe000 | vlan_dev_vlan_id(netdev) : netdev->dev_id;
	u8 guid[8];
	__be64 out;

	if (netdev->addr_len == ETH_ALEN && !is_zero_ether_addr(netdev->dev_addr)) {
		addrconf_addr_eui48(guid, netdev->dev_addr);
		if (number) {
			guid[3] = number >> 8;
			guid[4] = number & 0xff;
		}
	} else {
		get_random_bytes(guid, sizeof(guid));
		guid[0] = (guid[0] | 0x02) & ~0x01;
	}
	memcpy(&out, guid, sizeof(out));
	return out;
}

static void init_base(struct ib_device *base, const struct net_device *netdev)
{
	base->node_type = RDMA_NODE_RNIC;
	base->phys_port_cnt = 1;
	base->num_comp_vectors = nr_cpu_ids;
	base->local_dma_lkey = SRNIC_LOCAL_DMA_LKEY;
	/* The doorbell. The rest of the data path does not use uverbs. */
	base->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND);
	base->node_guid = node_guid(netdev);
	strscpy(base->node_desc, "srnic", sizeof(base->node_desc));
	base->iw_driver_flags = IW_F_NO_PORT_MAP;
	strscpy(base->iw_ifname, netdev->name, sizeof(base->iw_ifname));
	ib_set_device_ops(base, &srnic_dev_ops);
}

/* A device for ib_dealloc_device() to free, or an ERR_PTR; -ENOSPC: too many devices. */
static struct srnic_dev *alloc_device(struct net_device *netdev)
{
	struct srnic_dev *dev;
	int index;

	index = ida_alloc_max(&indices, SRNIC_MAX_DEVICES - 1, GFP_KERNEL);
	if (index < 0)
		return ERR_PTR(index);
	dev = ib_alloc_device(srnic_dev, base);
	if (!dev)
		goto free_index;
	dev->stats = alloc_percpu(struct srnic_stats);
	if (!dev->stats)
		goto free_device;
	dev->former = kzalloc(sizeof(*dev->former), GFP_KERNEL);
	if (!dev->former)
		goto free_stats;
	dev->index = index;
	if (srnic_standby_dev_init(dev))
		goto free_former;
	dev->framings = srnic_default_framings();
	dev->settings = srnic_default_settings;
	dev->netdev = netdev;
	netdev_hold(netdev, &dev->netdev_tracker, GFP_KERNEL);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC);
	xa_init_flags(&dev->counters, XA_FLAGS_ALLOC);
	mutex_init(&dev->counters_lock);
	ida_init(&dev->pd_ids);
	ida_init(&dev->cq_ids);
	ida_init(&dev->srq_ids);
	srnic_mr_dev_init(dev);
	srnic_connect_dev_init(dev);
	init_base(&dev->base, netdev);
	return dev;
free_former:
	kfree(dev->former);
free_stats:
	free_percpu(dev->stats);
free_device:
	ib_dealloc_device(&dev->base);	/* dealloc_driver is not set yet */
free_index:
	ida_free(&indices, index);
	return ERR_PTR(-ENOMEM);
}

void srnic_dealloc_driver(struct ib_device *base)
{
	struct srnic_dev *dev = to_srnic_dev(base);

	srnic_connect_dev_exit(dev);
	WARN_ON(!srnic_xa_vacant(&dev->qps));
	xa_destroy(&dev->qps);
	WARN_ON(!srnic_xa_vacant(&dev->counters));
	xa_destroy(&dev->counters);
	srnic_mr_dev_exit(dev);
	ida_destroy(&dev->srq_ids);
	ida_destroy(&dev->cq_ids);
	ida_destroy(&dev->pd_ids);
	netdev_put(dev->netdev, &dev->netdev_tracker);
	srnic_standby_dev_exit(dev);
	kfree(dev->former);
	free_percpu(dev->stats);
	ida_free(&indices, dev->index);
}

static int register_device(struct srnic_dev *dev, const char *name)
{
	int err;

	srnic_compat_set_net(&dev->base, dev_net(dev->netdev));
	err = srnic_mr_dev_reserve(dev);
	if (err)
		return err;
	err = ib_device_set_netdev(&dev->base, dev->netdev, 1);
	if (err)
		return err;
	return ib_register_device(&dev->base, name, NULL);
}

/*
 * Interface events do not reach a device that is not registered yet: did we miss the removal?
 */
static bool interface_left(const struct net_device *netdev, const struct net *net)
{
	bool left;

	rtnl_lock();
	left = netdev->reg_state != NETREG_REGISTERED || !net_eq(dev_net(netdev), net);
	rtnl_unlock();
	return left;
}

/*
 * Once registered, the device may be unregistered at any time: our reference keeps its memory until
 * we have checked the interface.
 */
static int add_device(const char *name, struct net_device *netdev)
{
	const struct net *net = dev_net(netdev);
	struct srnic_dev *dev;
	int err;

	dev = alloc_device(netdev);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	get_device(&dev->base.dev);
	err = register_device(dev, name);
	if (err) {
		ib_dealloc_device(&dev->base);
	} else if (interface_left(netdev, net)) {
		ib_unregister_device(&dev->base);
		err = -ENODEV;
	}
	put_device(&dev->base.dev);
	return err == -ENFILE ? -EEXIST : err;
}

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
		err = add_device(name, netdev);
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
	ida_destroy(&indices);
}
