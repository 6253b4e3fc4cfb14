/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sending datagrams.
 */
#ifndef SRNIC_DATAGRAM_SEND_H
#define SRNIC_DATAGRAM_SEND_H

#include "stream/datagrams.h"

/* What a datagram of the device carries at most: what a packet of RoCE could. */
enum ib_mtu srnic_active_mtu(const struct srnic_dev *dev);

/* The pass of srnic_datagrams.send. */
enum engine_result srnic_datagram_send(struct srnic_qp *qp);

#endif
