/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The asking task also runs the engine that responds. What an engine sends to a QP of this host
 * arrives while it sends: the receive half of that QP runs in the sender's own sendmsg. So the
 * sending task, the asker, can run that QP's engine as well when it is done with its own, and no
 * worker has to be woken for the response. Only its own peer's: if the asker then gets no
 * processor, only that QP, and a task that resets or destroys it, wait for it. So both QPs have one
 * payer (qp.h), and the asker has at least the normal priority.
 */
#ifndef SRNIC_ASKER_H
#define SRNIC_ASKER_H

#include <linux/types.h>

struct sock;
struct srnic_asker;
struct srnic_qp;

/*
 * The caller is about to send by this QP's socket. Returns what srnic_asker_end() wants, or NULL if
 * a task that was preempted here, or has moved away, still sends, or if the caller's priority is
 * too low. Process context, tx.mutex held.
 */
struct srnic_asker *srnic_asker_begin(const struct srnic_qp *qp);
/* Returns the QP whose engine the caller is to run now, with its reference, or NULL. */
struct srnic_qp *srnic_asker_end(struct srnic_asker *asker);
/*
 * The peer of this QP, which has this socket, waits for a response. True if the peer's engine is
 * what sends on this processor, and its caller will run this QP's engine. The socket's lock held,
 * BHs off.
 */
bool srnic_asker_takes(struct srnic_qp *qp, const struct sock *sk);

#endif
