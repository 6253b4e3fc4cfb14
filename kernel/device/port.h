/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The port of a device: what its interface says.
 */
#ifndef SRNIC_PORT_H
#define SRNIC_PORT_H

#include "srnic.h"

/* True if the port is active. */
static inline bool srnic_port_up(const struct net_device *netdev)
{
	return netif_running(netdev) && netif_carrier_ok(netdev);
}

/* Fills in what devices of both types report: state, speed and what never changes. */
int srnic_port_fill(struct srnic_dev *dev, struct ib_port_attr *attr);

#endif
