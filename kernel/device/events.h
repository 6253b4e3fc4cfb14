/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Events of interfaces.
 */
#ifndef SRNIC_EVENTS_H
#define SRNIC_EVENTS_H

int srnic_events_init(void);
void srnic_events_exit(void);

#endif
