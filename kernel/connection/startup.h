/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The states of an ep before OPERATION: inputs, time limits, and outcomes of actions.
 */
#ifndef SRNIC_STARTUP_H
#define SRNIC_STARTUP_H

#include <linux/types.h>

#include "core/api/core.h"

struct srnic_ep;

/* Unless noted, all of these are called in process context with the ep's lock held. */

/* The next input of a startup state; BROKEN: the reason is in ep->error. */
enum core_conn_input srnic_startup_look(struct srnic_ep *ep);
/* Seconds that a state with this limit may last. Any context. */
u32 srnic_startup_patience(enum core_conn_limit limit);
/* Outcome: BROKEN on failure; REPLY_ACCEPTS if there are no frames. */
enum core_conn_input srnic_startup_make_request(struct srnic_ep *ep);
/* Outcome: QP_STARTED or QP_REFUSED; BROKEN of a QP that outlives its streams. */
enum core_conn_input srnic_startup_start_qp(struct srnic_ep *ep);
/*
 * Full operation has begun: the consumer gets its report, and ep->startup is freed. Outcome of the
 * first: UNDELIVERED on failure.
 */
enum core_conn_input srnic_startup_connected(struct srnic_ep *ep);
void srnic_startup_established(struct srnic_ep *ep);

#endif
