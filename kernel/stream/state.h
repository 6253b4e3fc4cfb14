/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * States of a QP, and why its connection ended.
 */
#ifndef SRNIC_STATE_H
#define SRNIC_STATE_H

#include "stream/qp.h"

/*
 * IDLE		no connection yet; receives may be posted
 * RTS		connected
 * TERMINATING	this end found an error: the engine still has a Terminate to send, or to reset
 * ERROR	the stream is over; requests are flushed
 */
enum srnic_qp_state {
	SRNIC_QP_IDLE,
	SRNIC_QP_RTS,
	SRNIC_QP_TERMINATING,
	SRNIC_QP_ERROR,
};

/*
 * Why a connection ended. An error replaces a close; otherwise the first reason counts.
 *
 * NEVER		there has been no connection: nothing replaces this but the move to RTS
 * NONE			it has not ended
 * CLOSED		gracefully, by this end's consumer
 * PEER_CLOSED		by the peer
 * ABORTED		modify_qp(ERROR or RESET), or the device is going away
 * TCP			TCP failed; detail: errno, or 0
 * ERROR		this end found an error; detail: core_terminate_code() of what it is
 * TERMINATE		the peer sent a Terminate; detail: its core_terminate_code()
 * CHECK		a segment failed a check; detail: enum core_rdmatcp_fault
 */
enum srnic_end {
	SRNIC_END_NEVER,
	SRNIC_END_NONE,
	SRNIC_END_CLOSED,
	SRNIC_END_PEER_CLOSED,
	SRNIC_END_ABORTED,
	SRNIC_END_TCP,
	SRNIC_END_ERROR,
	SRNIC_END_TERMINATE,
	SRNIC_END_CHECK,
};

/* srnic_qp.end and its parts: one word, so that they are read together. */
static inline u32 srnic_end_word(enum srnic_end end, u16 detail)
{
	return (u32)end << 16 | detail;
}

static inline enum srnic_end srnic_end_of(u32 end)
{
	return end >> 16;
}

static inline u16 srnic_end_detail(u32 end)
{
	return end;
}

/*
 * Moves to another state; false if the current state is not in the mask `from`. term: for
 * TERMINATING. Any context.
 */
bool srnic_qp_move(struct srnic_qp *qp, u32 from, enum srnic_qp_state to,
		   const struct core_terminate *term);
#define SRNIC_QP_ANY_BUT(state) (~(1U << (state)))
/* Records why the connection ends, by the rule at enum srnic_end. Any context. */
void srnic_qp_note_end(struct srnic_qp *qp, enum srnic_end end, u16 detail);
/* srnic_qp_note_end() with state_lock held. */
void srnic_qp_note_end_locked(struct srnic_qp *qp, enum srnic_end end, u16 detail);
/* Moves to ERROR without a Terminate and lets the engine flush. Any context. */
void srnic_qp_fail(struct srnic_qp *qp);
/* Moves to TERMINATING with this Terminate; does nothing unless the QP is RTS. Any context. */
void srnic_qp_terminate(struct srnic_qp *qp, const struct core_terminate *term);
/* srnic_qp_terminate() for an error that the core did not find. */
void srnic_qp_host_error(struct srnic_qp *qp, enum core_host_error what);
/* Raises an async event, once per connection. Any context. */
void srnic_qp_event(struct srnic_qp *qp, enum ib_event_type type);
/*
 * Raises, once per connection, the event that a QP in error takes no more from its SRQ. tx.mutex
 * held.
 */
void srnic_qp_last_wqe(struct srnic_qp *qp);

#endif
