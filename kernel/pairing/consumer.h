/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Pairings as the consumer of eps (connection/consumer.h).
 */
#ifndef SRNIC_PAIRING_CONSUMER_H
#define SRNIC_PAIRING_CONSUMER_H

#include "connection/consumer.h"

/*
 * consumer_id is the number of an initiator's attempt, and NULL of a responder. srnic_ep.qp is the
 * QP from the beginning, or from when a Request has named it; an ep claims it when it attaches it.
 */
extern const struct srnic_consumer_ops srnic_pairing_ops;

#endif
