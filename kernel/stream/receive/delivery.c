// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What is done with a message that is complete, with a Terminate, and with a peer's error
 * (RFC 5040 5.2 to 5.4, 6.2.1; RFC 7306 5).
 */
#include "memory/table.h"
#include "report/counters.h"
#include "report/terminate.h"
#include "report/trace.h"
#include "stream/acks.h"
#include "stream/kick/kick.h"
#include "stream/owner.h"
#include "stream/receive/parts.h"
#include "stream/receive/receive.h"
#include "stream/state.h"

/* ---- messages ---- */

static void fail_receive(struct srnic_qp *qp, u8 status)
{
	srnic_rq_fail(&qp->rq, &qp->rx.receive, status,
		      core_terminate_code(core_rx_terminate(&qp->rx.core)));
}

static enum core_region_verdict invalidate(struct srnic_qp *qp, u32 stag, bool peer)
{
	const struct core_revoker revoker = srnic_qp_revoker(qp, stag, peer);

	return srnic_mr_invalidate(qp->dev, &revoker);
}

static enum core_rx_event deliver_send(struct srnic_qp *qp)
{
	const struct core_rx_message *message = core_rx_delivered(&qp->rx.core);
	enum core_region_verdict verdict;
	enum core_rx_event event;

	if (message->rtr)
		return CORE_RX_MORE;
	if (message->invalidate) {
		verdict = invalidate(qp, message->inv_stag, true);
		if (verdict != CORE_REGION_OK) {
			event = core_rx_fail_invalidate(&qp->rx.core, verdict);
			fail_receive(qp, SRNIC_WC_REM_INV_REQ_ERR);
			return event;
		}
	}
	srnic_rq_complete(&qp->rq, &qp->rx.receive, message);
	return CORE_RX_MORE;
}

/* A Read Request, or an Atomic Request, which is done. */
static void deliver_read_request(struct srnic_qp *qp)
{
	struct core_asked *asked = srnic_reads_next(&qp->inbound);

	*asked = *core_rx_asked(&qp->rx.core);
	srnic_reads_push(&qp->inbound);
	if (qp->acks)	/* before the engine answers it */
		core_rx_done(&qp->rx.core);
	srnic_tx_soon(qp);
}

static void deliver_read_response(struct srnic_qp *qp)
{
	struct srnic_outbound_read *read = srnic_oldest_read(qp);
	u32 index = read->sq_index, len = read->sink.length;
	bool rtr = read->rtr;
	u8 status = SRNIC_WC_SUCCESS;

	if (read->invalidate && invalidate(qp, read->inv_stag, false) != CORE_REGION_OK)
		status = SRNIC_WC_LOC_PROT_ERR;
	srnic_reads_pop(&qp->outbound);
	if (!rtr)
		srnic_sq_complete(&qp->sq, index, status, len);
	if (status != SRNIC_WC_SUCCESS) {
		core_rx_stop(&qp->rx.core);
		srnic_qp_host_error(qp, CORE_HOST_LOCAL);
	}
	if (srnic_reads_awaited(&qp->outbound))
		srnic_tx_kick(qp);
}

/* The original value is in the list before the request completes. */
static enum core_rx_event deliver_atomic_response(struct srnic_qp *qp)
{
	u64 original = core_rx_original(&qp->rx.core);
	enum core_region_verdict verdict;

	verdict = srnic_place_response(qp, (const u8 *)&original, sizeof(original));
	srnic_held_drop(&qp->rx.held);
	if (verdict != CORE_REGION_OK) {
		srnic_fail_oldest_read(qp);
		return core_rx_fail(&qp->rx.core, CORE_REGION_OK);
	}
	deliver_read_response(qp);
	return CORE_RX_MORE;
}

/* ---- the peer's Terminate ---- */

/* The oldest outstanding atomic operation, or NULL. */
static struct srnic_outbound_read *oldest_atomic(struct srnic_qp *qp)
{
	struct srnic_outbound_read *read;

	for (u32 n = 0; (read = srnic_reads_nth(&qp->outbound, n)); n++)
		if (read->sink.atomic)
			return read;
	return NULL;
}

/*
 * Completes the read that the peer refused, if it is outstanding, with the reason. The flush
 * completes the rest, and also a refused Write, which the engine may still be sending.
 */
static void blame_request(struct srnic_qp *qp, const struct core_terminate *term)
{
	struct core_refusal refusal = core_terminate_refusal(term);
	struct srnic_outbound_read *read = NULL;

	qp->rx.refusal = refusal;
	if (refusal.what == CORE_REFUSED_READ)
		read = srnic_reads_find(&qp->outbound, refusal.msn - CORE_FIRST_MSN);
	else if (refusal.what == CORE_REFUSED_ATOMIC)
		read = oldest_atomic(qp);
	if (read && !read->rtr)
		srnic_sq_complete(&qp->sq, read->sq_index, refusal.status,
				  core_terminate_code(term));
}

void srnic_rx_blame_write(struct srnic_qp *qp)
{
	const struct core_terminate *term = core_rx_terminate(&qp->rx.core);

	lockdep_assert_held(&qp->tx.mutex);
	if (qp->rx.refusal.what != CORE_REFUSED_WRITE)
		return;
	srnic_sq_blame_write(&qp->sq, qp->rx.refusal.status, core_terminate_code(term));
	qp->rx.refusal.what = CORE_REFUSED_NOTHING;
}

/*
 * RFC 5040 6.2.1: a Terminate in either direction ends the stream, and the LLP is closed
 * gracefully.
 */
static void deliver_terminate(struct srnic_qp *qp)
{
	const struct core_terminate *term = core_rx_terminate(&qp->rx.core);

	srnic_qp_count(qp, SRNIC_RX_TERMINATES, 1);
	trace_srnic_terminate_received(qp, term, srnic_terminate_words(term));
	srnic_terminate_received(&qp->base, term);
	srnic_qp_note_end(qp, SRNIC_END_TERMINATE, core_terminate_code(term));
	blame_request(qp, term);
	srnic_qp_fail(qp);
	srnic_qp_event(qp, IB_EVENT_QP_FATAL);
	srnic_qp_over(qp, CORE_CONN_TERMINATED);
}

/* ---- the first valid FPDU ---- */

void srnic_look_whether_unmuted(struct srnic_qp *qp)
{
	if (!core_rx_fpdus(&qp->rx.core))
		return;
	WRITE_ONCE(qp->tx.validated, true);
	srnic_tx_kick(qp);
}

/* ---- errors that this end found ---- */

static void count_error(struct srnic_qp *qp, const struct core_terminate *term)
{
	enum core_rdmatcp_fault check = core_rx_fault(&qp->rx.core);
	enum core_fault fault = core_terminate_fault(term);

	if (check) {
		ibdev_warn_ratelimited(qp->base.device,
				       "qp %u: a segment of the peer failed the check %s\n",
				       qp->base.qp_num, srnic_check_name(check));
		srnic_qp_count(qp, SRNIC_RX_CHECKS + check - 1, 1);
		srnic_qp_note_end(qp, SRNIC_END_CHECK, check);
	}

	if (fault != CORE_FAULT_OWN)
		srnic_qp_count(qp, SRNIC_RX_ERRORS, 1);
	if (fault == CORE_FAULT_CRC)
		srnic_qp_count(qp, SRNIC_RX_CRC_ERRORS, 1);
}

/* The peer broke a rule, or this end's own memory failed. */
static void deliver_error(struct srnic_qp *qp)
{
	const struct core_terminate *term = core_rx_terminate(&qp->rx.core);
	u8 status = core_rx_receive_status(&qp->rx.core);

	srnic_unmute_responder(qp);	/* the segment at fault may be in a valid FPDU */
	count_error(qp, term);
	if (qp->rx.receive.active && status != SRNIC_WC_FLUSH_ERR)
		fail_receive(qp, status);
	srnic_qp_terminate(qp, term);
}

/* ---- all of it ---- */

/*
 * May the region stay held for the next message? A user's completions only wake; the kernel's
 * consumers may invalidate a region when they hear of one.
 */
static bool may_stay_held(const struct srnic_qp *qp, enum core_rx_event event)
{
	if (event == CORE_RX_SEND)
		return qp->user && !core_rx_delivered(&qp->rx.core)->invalidate;
	return event == CORE_RX_WRITE;
}

static bool is_response(enum core_rx_event event)
{
	return event == CORE_RX_READ_RESPONSE || event == CORE_RX_ATOMIC_RESPONSE;
}

void srnic_deliver(struct srnic_qp *qp, enum core_rx_event event)
{
	enum core_rx_event came = event;

	if (!may_stay_held(qp, event))
		srnic_held_drop(&qp->rx.held);
	if (event != CORE_RX_SEND)
		srnic_rq_push_together(&qp->rq);
	trace_srnic_rx_message(qp, event);
	if (qp->acks && is_response(event))
		srnic_acks_responded(qp);
	if (event == CORE_RX_SEND)
		event = deliver_send(qp);
	else if (event == CORE_RX_ATOMIC_RESPONSE)
		event = deliver_atomic_response(qp);
	switch (event) {
	case CORE_RX_READ_REQUEST:
	case CORE_RX_ATOMIC_REQUEST:
		deliver_read_request(qp);
		break;
	case CORE_RX_READ_RESPONSE:
		deliver_read_response(qp);
		break;
	case CORE_RX_TERMINATE:
		deliver_terminate(qp);
		break;
	case CORE_RX_ERROR:
		deliver_error(qp);
		break;
	case CORE_RX_REFUSED:
		srnic_unmute_responder(qp);	/* the refused request was in a valid FPDU */
		break;
	default:
		break;
	}
	if (qp->acks)
		srnic_acks_deliver(qp, event == CORE_RX_MORE ? came : event);
}
