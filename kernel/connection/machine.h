/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The state machine of an ep.
 */
#ifndef SRNIC_MACHINE_H
#define SRNIC_MACHINE_H

#include <linux/workqueue.h>

#include "core/api/core.h"

struct srnic_ep;

/* Unless noted, all of these are called in process context with the ep's lock held. */

/* The body of ep->work. No ep's lock. */
void srnic_machine_work(struct work_struct *work);
/* Sets the first state; the work continues from there. */
void srnic_machine_enter(struct srnic_ep *ep, enum core_conn_state state);
/* The next input for the current state, or NOTHING. For the work. */
enum core_conn_input srnic_machine_look(struct srnic_ep *ep);
/*
 * Handles an input and those that follow from it. False if it means nothing in this state. Only the
 * work arms the timer of a new state, so a verb calls srnic_ep_kick() afterwards.
 */
bool srnic_machine_feed(struct srnic_ep *ep, enum core_conn_input input);

#endif
