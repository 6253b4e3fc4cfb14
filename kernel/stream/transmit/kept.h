/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Kept payload: it stays in the region until the peer acknowledges its request, and TCP sends it
 * from there (Documentation/ib.rst rule 117). That is for kernel consumers.
 *
 * A request completes by an Ack, which says that the peer has consumed the bytes, so TCP needs them
 * no more. TCP's buffers refer to the pages: a region that goes away earlier leaves them where they
 * are, and nobody gets them for something else. What ends a request in another way comes after
 * srnic_kept_end(), because then its bytes may be anything while TCP still has them.
 */
#ifndef SRNIC_KEPT_H
#define SRNIC_KEPT_H

#include <linux/types.h>

struct sock;
struct srnic_qp;

/*
 * Decides whether payload of the stream that begins on this socket is kept. tx.mutex and the
 * socket's lock held, no callbacks on the socket, and nothing built.
 */
void srnic_kept_start(struct srnic_qp *qp, const struct sock *sk, bool crc);
/* Is payload of this stream kept? tx.mutex held. */
bool srnic_kept_wanted(const struct srnic_qp *qp);
/* So many bytes of the batch that TCP is about to get are kept. tx.mutex held. */
void srnic_kept_give(struct srnic_qp *qp, u32 bytes);
/* Tells the core what TCP has delivered. For the receive half: with the socket's lock. */
void srnic_kept_look(struct srnic_qp *qp, const struct sock *sk);
/*
 * From now on the batch and TCP have copies of their own: requests that were not acknowledged may
 * complete. Without memory for that the connection is reset. tx.mutex held, between two FPDUs;
 * sleeps, and locks the socket.
 */
void srnic_kept_end(struct srnic_qp *qp);

#endif
