/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The rest of a stream: what a QP had built when it left its socket, and its last Ack
 * (Documentation/ib.rst rule 31). The QP's owner sends it, whatever becomes of the QP.
 */
#ifndef SRNIC_REST_H
#define SRNIC_REST_H

#include "stream/qp.h"

struct socket;
struct srnic_own_batch;

/**
 * struct srnic_rest - the rest of a stream; zeros: nothing
 * @built: what was built and not gone, or NULL
 * @ack: the last Ack, behind it
 * @len: bytes in @ack
 * @sent: of them, those that TCP has taken
 */
struct srnic_rest {
	struct srnic_own_batch *built;
	u8 ack[CORE_ACK_FPDU];
	u32 len, sent;
};

/*
 * Takes the rest from the engine. The receive half has stopped, and the engine has a reference of
 * the caller's. tx.mutex held; sleeps.
 */
void srnic_rest_take(struct srnic_qp *qp, struct srnic_rest *rest);

/* ---- for the one that has it. Process context ---- */

/* Gives @built to TCP: 1 when all is gone, 0 when some is left, or -errno. */
int srnic_rest_send_built(struct srnic_rest *rest, struct socket *sock);
/* Any context. */
void srnic_rest_free(struct srnic_rest *rest);

#endif
