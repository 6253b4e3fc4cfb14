// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Makes a device and registers it, and undoes that.
 *
 * Life of a device: alloc_device() -> ib_register_device() -> any of `rdma link delete`,
 * NETDEV_UNREGISTER or module exit -> the RDMA core removes all clients and user contexts ->
 * srnic_dealloc_driver().
 */
#include <linux/idr.h>
#include <linux/if_vlan.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/srnic-abi.h>

#include "compat/compat.h"
#include "connection/connect.h"
#include "datagram/port.h"
#include "device/create.h"
#include "device/framing.h"
#include "device/gids.h"
#include "device/types.h"
#include "memory/table.h"
#include "pairing/port.h"
#include "report/counters.h"
#include "stream/kick/standby.h"

/* At most this many devices exist at a time. */
#define MAX_DEVICES	1024

static DEFINE_IDA(indices);

/*
 * EUI-64 of the interface; random and locally administered if it has no Ethernet address. A VLAN
 * and ipvlan share the address of the interface below, and have a number in its middle: its own,
 * and the kernel's. (VLANs of one number, one in the other, have the same.) Where type srnic has
 * the first bit of that middle, type srnic_ib has its complement: an interface may have both.
 */
static __be64 node_guid(const struct net_device *netdev, bool ib)
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
		guid[3] ^= ib ? 0x80 : 0;
	} else {
		get_random_bytes(guid, sizeof(guid));
		guid[0] = (guid[0] | 0x02) & ~0x01;
	}
	memcpy(&out, guid, sizeof(out));
	return out;
}

static void init_base(struct srnic_dev *dev)
{
	struct ib_device *base = &dev->base;

	base->node_type = dev->ib ? RDMA_NODE_IB_CA : RDMA_NODE_RNIC;
	base->phys_port_cnt = 1;
	base->num_comp_vectors = nr_cpu_ids;
	base->local_dma_lkey = SRNIC_LOCAL_DMA_LKEY;
	/* The doorbell, and a CQ that is armed late. Else the data path does not use uverbs. */
	base->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
				 BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	base->node_guid = node_guid(dev->netdev, dev->ib);
	strscpy(base->node_desc, srnic_type(dev), sizeof(base->node_desc));
	ib_set_device_ops(base, &srnic_common_ops);
	base->driver_def = srnic_uapi;
	ib_set_device_ops(base, dev->ib ? &srnic_ib_ops : &srnic_iwarp_ops);
	if (dev->ib)
		return;
	base->iw_driver_flags = IW_F_NO_PORT_MAP;
	strscpy(base->iw_ifname, dev->netdev->name, sizeof(base->iw_ifname));
}

static void init_settings(struct srnic_dev *dev)
{
	dev->framings = dev->ib ? BIT(CORE_FRAMING_IB) : srnic_default_framings();
	dev->settings = dev->ib ? srnic_ib_initial_settings : srnic_initial_settings;
}

/* A device for ib_dealloc_device() to free, or an ERR_PTR; -ENOSPC: too many devices. */
static struct srnic_dev *alloc_device(struct net_device *netdev, bool ib)
{
	struct srnic_dev *dev;
	int index;

	index = ida_alloc_max(&indices, MAX_DEVICES - 1, GFP_KERNEL);
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
	dev->ib = ib;
	if (srnic_standby_dev_init(dev))
		goto free_former;
	init_settings(dev);
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
	srnic_gids_dev_init(dev);
	srnic_place_init(&dev->listening.place, &dev->base, netdev);
	srnic_datagram_dev_init(dev);
	init_base(dev);
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

	srnic_gids_dev_exit(dev);
	srnic_pairing_unlisten(dev);
	srnic_datagram_unlisten(dev);
	srnic_datagram_dev_exit(dev);
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
	err = dev->ib ? srnic_pairing_listen(dev) ?: srnic_datagram_listen(dev) : 0;
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
int srnic_dev_create(const char *name, struct net_device *netdev, bool ib)
{
	const struct net *net = dev_net(netdev);
	struct srnic_dev *dev;
	int err;

	dev = alloc_device(netdev, ib);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	get_device(&dev->base.dev);
	err = register_device(dev, name);
	if (err) {
		ib_dealloc_device(&dev->base);
	} else if (interface_left(netdev, net)) {
		ib_unregister_device(&dev->base);
		err = -ENODEV;
	} else if (ib) {
		srnic_gids_rescan(dev);	/* an address may have come while it was registered */
	}
	put_device(&dev->base.dev);
	return err == -ENFILE ? -EEXIST : err;
}
