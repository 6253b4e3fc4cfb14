/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The life of a device and the state of its port, for verbs.c.
 */
#ifndef SRNIC_LINK_H
#define SRNIC_LINK_H

#include "srnic.h"

/* At most this many devices exist at a time. */
#define SRNIC_MAX_DEVICES	1024

/*
 * The last call on a device, registered or not: undoes all that link.c set up.
 */
void srnic_dealloc_driver(struct ib_device *base);

/* True if the port is active. */
static inline bool srnic_port_up(const struct net_device *netdev)
{
	return netif_running(netdev) && netif_carrier_ok(netdev);
}

#endif
