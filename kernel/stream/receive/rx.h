/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The receive half of a QP, as an object.
 */
#ifndef SRNIC_RX_H
#define SRNIC_RX_H

#include "memory/sge.h"
#include "queue/rq.h"

/**
 * struct srnic_rx_half - the receive half of a QP
 *
 * Accessed only with the socket's lock held (sk_data_ready, lock_sock, or by the other end's
 * engine). After @core was stopped under that lock only the engine changes anything: it flushes
 * @receive and clears @refusal.
 *
 * @core: the protocol state of the received stream
 * @receive: the receive request in progress
 * @cursor: in the list of @receive
 * @refusal: the request that the peer's Terminate refuses
 * @held: a region that payload is placed in; only while bytes are consumed
 * @bytes: bytes of this connection taken from TCP, or from the peer
 */
struct srnic_rx_half {
	struct core_rx core;
	struct srnic_receive receive;
	struct srnic_sge_cursor cursor;
	struct core_refusal refusal;
	struct srnic_held held;
	u64 bytes;
};

#endif
