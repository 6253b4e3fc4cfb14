/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Terminates that a device sends and receives, in the kernel's log (RFC 5040 4.8).
 */
#ifndef SRNIC_TERMINATE_H
#define SRNIC_TERMINATE_H

#include <rdma/ib_verbs.h>

#include "core/api/core.h"

/* What a Terminate means, in words. */
const char *srnic_terminate_words(const struct core_terminate *term);
/* Any context, all. */
void srnic_terminate_sent(const struct ib_qp *qp, const struct core_terminate *term);
void srnic_terminate_received(const struct ib_qp *qp, const struct core_terminate *term);
/* Sent instead of full operation (RFC 6581 8). */
void srnic_terminate_at_startup(struct ib_device *dev, const struct core_terminate *term);

#endif
