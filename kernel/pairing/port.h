/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The TCP port of devices of type srnic_ib (Documentation/ib.rst rule 40): one for each network
 * namespace, which they share.
 */
#ifndef SRNIC_PAIRING_PORT_H
#define SRNIC_PAIRING_PORT_H

#include "place.h"
#include "srnic.h"

/* As devices have it; under srnic_listeners_lock. */
extern struct srnic_port srnic_tcp_port;

/* Module parameter; read when a device is added. */
extern ushort srnic_pairing_port;

/*
 * The device listens from now on. -EADDRINUSE: something else has the port; -ENOMEM, or another
 * error of TCP. Before the device is registered; process context.
 */
int srnic_pairing_listen(struct srnic_dev *dev);
/* Stops listening; before the connections of the device end. Idempotent. Process context. */
void srnic_pairing_unlisten(struct srnic_dev *dev);

#endif
