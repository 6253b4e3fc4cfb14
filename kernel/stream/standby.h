/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Engines that stand by.
 */
#ifndef SRNIC_STANDBY_H
#define SRNIC_STANDBY_H

#include "stream/qp.h"

/* The device's thread. 0 or -errno; may sleep. */
int srnic_standby_dev_init(struct srnic_dev *dev);
/* No QP is left. May sleep. */
void srnic_standby_dev_exit(struct srnic_dev *dev);

void srnic_standby_init(struct srnic_qp *qp);
/*
 * Is the engine to stand by now? Only after a doorbell, so that a user who lies makes it look just
 * once more. tx.mutex held.
 */
bool srnic_standby_wanted(struct srnic_qp *qp);
/*
 * Has the engine run before long if the queue's state is SRNIC_SQ_STANDBY then. tx.mutex held.
 */
void srnic_standby(struct srnic_qp *qp);
/* Nobody rings any more. May sleep. */
void srnic_standby_exit(struct srnic_qp *qp);

#endif
