/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The life of a device.
 */
#ifndef SRNIC_CREATE_H
#define SRNIC_CREATE_H

#include "srnic.h"

/*
 * Makes and registers a device, of type srnic or srnic_ib. -EEXIST: the name is taken. -ENOSPC: too
 * many devices. -ENODEV: the interface left meanwhile.
 */
int srnic_dev_create(const char *name, struct net_device *netdev, bool ib);
/*
 * The last call on a device, registered or not: undoes all that create.c set up.
 */
void srnic_dealloc_driver(struct ib_device *base);

#endif
