/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The TCP port of devices of type srnic_ib (Documentation/ib.rst rule 40): one for each network
 * namespace, which they share.
 */
#ifndef SRNIC_PAIRING_PORT_H
#define SRNIC_PAIRING_PORT_H

#include "srnic.h"

/* Module parameter; read when a device is added. */
extern ushort srnic_pairing_port;

/*
 * The device listens from now on. -EADDRINUSE: something else has the port; -ENOMEM, or another
 * error of TCP. Before the device is registered; process context.
 */
int srnic_pairing_listen(struct srnic_dev *dev);
/* Stops listening; before the connections of the device end. Idempotent. Process context. */
void srnic_pairing_unlisten(struct srnic_dev *dev);

/* An interface has changed its VRF: its devices listen where it is now. Any context. */
void srnic_pairing_follow(void);

/* The module is loaded, and unloaded, when there is no device. */
int srnic_pairing_init(void);
void srnic_pairing_exit(void);

#endif
