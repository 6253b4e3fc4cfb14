/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * OPERATION and the states of an ep after it: inputs, time limits, and closing.
 */
#ifndef SRNIC_TEARDOWN_H
#define SRNIC_TEARDOWN_H

#include <linux/types.h>

#include "core/api/core.h"

struct srnic_ep;

/* Unless noted, all of these are called in process context with the ep's lock held. */

enum core_conn_input srnic_teardown_look(struct srnic_ep *ep);
/* Seconds that DRAINING, FINISHING and LINGER may last without progress, and in all. */
void srnic_teardown_patience(const struct srnic_ep *ep, u32 *each, u32 *most);
/* A number that changes with progress; 0 in states that count none. */
u32 srnic_teardown_progress(const struct srnic_ep *ep);
/* An earlier end of the state that has begun, in jiffies; 0: none. */
u64 srnic_teardown_hurry(const struct srnic_ep *ep);
/* The QP has left its socket: watches that, to send what the QP has left. */
void srnic_teardown_take_rest(struct srnic_ep *ep);
/* Closes our half and watches the socket for the peer's close. */
void srnic_teardown_shut(struct srnic_ep *ep);

#endif
