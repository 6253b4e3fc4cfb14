/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The UDP port of devices of type srnic_ib (Documentation/ib.rst rule 84): one for each network
 * namespace, which they share.
 */
#ifndef SRNIC_DATAGRAM_PORT_H
#define SRNIC_DATAGRAM_PORT_H

#include "datagram/socket.h"
#include "place.h"
#include "srnic.h"
#include "stream/datagrams.h"

/* As devices have it. */
extern struct srnic_port srnic_udp_port;

void srnic_datagram_dev_init(struct srnic_dev *dev);
void srnic_datagram_dev_exit(struct srnic_dev *dev);

/*
 * Datagrams come and go from now on. -EADDRINUSE: something else has the port; -ENOMEM, or another
 * error of UDP. Before the device is registered; process context.
 */
int srnic_datagram_listen(struct srnic_dev *dev);
/* There is no QP of type UD any more. Idempotent. Process context. */
void srnic_datagram_unlisten(struct srnic_dev *dev);

/*
 * Gives a datagram to UDP: as srnic_datagram_socket_send(). -ENETDOWN: the device has no socket.
 */
int srnic_datagram_transmit(struct srnic_dev *dev, struct srnic_outgoing *out, bool may_wait);

/*
 * The QP joins or leaves a group: as srnic_group_attach() and srnic_group_detach(). Process
 * context.
 */
int srnic_datagram_attach(struct srnic_datagrams *datagrams, const union ib_gid *group);
int srnic_datagram_detach(struct srnic_datagrams *datagrams, const union ib_gid *group);

#endif
