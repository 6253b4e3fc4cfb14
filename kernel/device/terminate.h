/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Terminates that a device sends and receives: counted, traced, and told in the kernel's log.
 */
#ifndef SRNIC_TERMINATE_H
#define SRNIC_TERMINATE_H

#include "stream/qp.h"

/* Any context, all. */
void srnic_terminate_sent(struct srnic_qp *qp, const struct core_terminate *term);
void srnic_terminate_received(struct srnic_qp *qp, const struct core_terminate *term);
/* Sent instead of full operation (RFC 6581 8). */
void srnic_terminate_at_startup(struct srnic_dev *dev, const struct core_terminate *term);

#endif
