/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shortcuts: where both ends of a connection are QPs in one network namespace, an engine hands its
 * batch to the other end's receive half without TCP, if both devices allow it (sysfs
 * local_shortcut). It does so only while TCP holds nothing for that end, so the stream keeps its
 * order, and either end may use TCP at any time: when the other end's socket is busy, or gone. TCP
 * stays connected, and reports the connection's end.
 */
#ifndef SRNIC_SHORTCUT_H
#define SRNIC_SHORTCUT_H

#include "stream/transmit/shortcut_end.h"

/*
 * Allows the QP's connection a shortcut, if its device does; without memory there is none. tx.mutex
 * held, qp->sock set. Sleeps.
 */
void srnic_shortcut_begin(struct srnic_qp *qp);
/* Undoes that, if it was done. tx.mutex held, the receive half stopped, qp->sock still set. */
void srnic_shortcut_end(struct srnic_qp *qp);
/*
 * Will the next batch go to the other end, as far as one can know? Then its payload may stay in the
 * regions until that end copies it to its own. tx.mutex held.
 */
bool srnic_shortcut_expected(const struct srnic_qp *qp);
/*
 * Hands the whole batch over, which must not be empty. Returns its length; 0: TCP has to take it.
 * tx.mutex held, no socket's lock.
 */
int srnic_shortcut_send(struct srnic_qp *qp);

#endif
