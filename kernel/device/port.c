// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * State and speed of a device's port.
 */
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>

#include "device/port.h"

/* Some interfaces have no speed, or none that they know; a VLAN has that of the one below it. */
static bool has_speed(struct net_device *netdev)
{
	struct ethtool_link_ksettings link;
	bool has;

	rtnl_lock();
	has = netdev->reg_state == NETREG_REGISTERED &&
	      !__ethtool_get_link_ksettings(netdev, &link) && link.base.speed != (u32)SPEED_UNKNOWN;
	rtnl_unlock();
	return has;
}

/*
 * The RDMA core's function logs a warning each time that it finds no speed, and then takes the one
 * here.
 */
static int port_speed(struct ib_device *base, struct net_device *netdev, struct ib_port_attr *attr)
{
	if (has_speed(netdev))
		return ib_get_eth_speed(base, 1, &attr->active_speed, &attr->active_width);
	attr->active_speed = IB_SPEED_SDR;
	attr->active_width = IB_WIDTH_1X;
	return 0;
}

int srnic_port_fill(struct srnic_dev *dev, struct ib_port_attr *attr)
{
	bool up = srnic_port_up(dev->netdev);

	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = IB_MTU_4096;
	attr->pkey_tbl_len = 1;
	return port_speed(&dev->base, dev->netdev, attr);
}
