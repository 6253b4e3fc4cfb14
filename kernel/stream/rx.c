// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receive half of a QP: pulls bytes out of the TCP socket, or takes them from the other end's
 * engine (shortcut.c), and does with them what the core says.
 *
 * Runs from sk_data_ready, in softirq or from release_sock, possibly inside this QP's own sendmsg;
 * or in the other engine, with BHs off. So it takes no lock that is held across sendmsg, never
 * sleeps and never allocates. Other rules for qp->rx are at struct srnic_rx_half. The transmit
 * engine answers reads and sends Terminates.
 */
#include <net/tcp.h>

#include "memory/mr.h"
#include "stream/attach.h"
#include "stream/qp.h"
#include "queue/srq.h"
#include "device/stats.h"
#include "device/terminate.h"
#include "tracing/trace.h"

static struct srnic_outbound_read *oldest_read(struct srnic_qp *qp)
{
	return srnic_reads_nth(&qp->outbound, 0);
}

/* ---- callbacks of the core ---- */

bool core_host_region(void *ctx, u32 stag, struct core_region *out)
{
	struct srnic_qp *qp = ctx;

	return srnic_region_snapshot(&qp->rx.held, stag, out);
}

enum core_take core_host_receive(void *ctx, u32 *room)
{
	struct srnic_qp *qp = ctx;
	enum core_take taken;

	if (!qp->user)	/* an SRQ may raise its limit event */
		srnic_held_drop(&qp->rx.held);
	qp->rx.cursor = (struct srnic_sge_cursor) { };
	taken = srnic_rq_take(&qp->rq, &qp->rx.receive, room);
	if (taken == CORE_TAKE_EMPTY)
		srnic_qp_count(qp, SRNIC_RX_NO_RECEIVE, 1);
	return taken;
}

bool core_host_read_sink(void *ctx, struct core_read_sink *out)
{
	struct srnic_outbound_read *read = oldest_read(ctx);

	if (read)
		*out = read->sink;
	return read;
}

enum core_region_verdict core_host_atomic(void *ctx, const struct core_atomic_request *request,
					  u64 *original)
{
	struct srnic_qp *qp = ctx;

	return srnic_region_atomic(&qp->rx.held, qp->pd, request->stag, request->to, &request->op,
				   original);
}

bool core_host_read_room(void *ctx)
{
	struct srnic_qp *qp = ctx;

	return srnic_reads_count(&qp->inbound) < qp->ird;
}

/* ---- placement ---- */

/* The memory of a receive from an SRQ is in the SRQ's protection domain. */
static enum core_region_verdict place_receive(struct srnic_qp *qp, const u8 *data, u32 n)
{
	const struct srnic_receive *receive = &qp->rx.receive;
	struct srnic_sge_list list = srnic_qp_list(qp, &qp->rx.held, srnic_receive_sges(receive),
						   srnic_receive_wqe(receive)->num_sge);

	if (qp->rq.srq)
		list.pd = qp->rq.srq->pd;
	return srnic_sges_scatter(&list, &qp->rx.cursor, data, n);
}

static enum core_region_verdict place_read(struct srnic_qp *qp, const u8 *data, u32 n)
{
	struct srnic_outbound_read *read = oldest_read(qp);
	struct srnic_sge_list list = srnic_qp_list(qp, &qp->rx.held, read->sge, read->num_sge);

	read->sink.placed += n;
	return srnic_sges_scatter(&list, &read->cursor, data, n);
}

static enum core_region_verdict copy_to(struct srnic_qp *qp, const struct core_place *at,
					const u8 *data, u32 n)
{
	switch (at->kind) {
	case CORE_PLACE_REGION:
		return srnic_region_write(&qp->rx.held, qp->pd, false, at->stag,
					  CORE_ACCESS_REMOTE_WRITE, at->to, data, n);
	case CORE_PLACE_RECEIVE:
		return place_receive(qp, data, n);
	case CORE_PLACE_READ:
		return place_read(qp, data, n);
	}
	return CORE_REGION_INVALID;
}

/*
 * If a peer's tagged access fails, that is the peer's fault; if local memory fails, it is a local
 * error (RFC 5040 figure 9).
 */
static enum core_rx_event place_failed(struct srnic_qp *qp, const struct core_place *at,
				       enum core_region_verdict verdict)
{
	if (at->kind == CORE_PLACE_REGION)
		return core_rx_fail(&qp->rx.core, verdict);
	srnic_held_drop(&qp->rx.held);
	if (at->kind == CORE_PLACE_RECEIVE)
		srnic_rq_fail(&qp->rq, &qp->rx.receive, SRNIC_WC_LOC_PROT_ERR, 0);
	else
		srnic_sq_complete(&qp->sq, oldest_read(qp)->sq_index, SRNIC_WC_LOC_PROT_ERR, 0);
	return core_rx_fail(&qp->rx.core, CORE_REGION_OK);
}

static enum core_rx_event place(struct srnic_qp *qp, const struct core_place *at, const u8 *data,
				u32 n)
{
	u32 *sum = core_rx_sum(&qp->rx.core);
	enum core_region_verdict verdict;

	qp->rx.held.sum = sum;
	verdict = copy_to(qp, at, data, n);
	qp->rx.held.sum = NULL;
	if (unlikely(verdict != CORE_REGION_OK))
		return place_failed(qp, at, verdict);
	return core_rx_placed(&qp->rx.core, sum ? NULL : data, n);
}

/* ---- delivery ---- */

static void fail_receive(struct srnic_qp *qp, u8 status)
{
	srnic_rq_fail(&qp->rq, &qp->rx.receive, status,
		      core_terminate_code(core_rx_terminate(&qp->rx.core)));
}

static enum core_rx_event deliver_send(struct srnic_qp *qp)
{
	const struct core_rx_message *message = core_rx_delivered(&qp->rx.core);
	enum core_region_verdict verdict;

	if (message->rtr)
		return CORE_RX_MORE;
	if (message->invalidate) {
		verdict = srnic_mr_invalidate(qp->dev, qp->pd, message->inv_stag,
					      qp->base.qp_num);
		if (verdict != CORE_REGION_OK) {
			core_rx_fail_invalidate(&qp->rx.core, verdict);
			fail_receive(qp, SRNIC_WC_REM_INV_REQ_ERR);
			return CORE_RX_ERROR;
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
	srnic_tx_soon(qp);
}

static void deliver_read_response(struct srnic_qp *qp)
{
	struct srnic_outbound_read *read = oldest_read(qp);
	u32 index = read->sq_index, len = read->sink.length;
	bool rtr = read->rtr;
	u8 status = SRNIC_WC_SUCCESS;

	if (read->invalidate &&
	    srnic_mr_invalidate(qp->dev, qp->pd, read->inv_stag, 0) != CORE_REGION_OK)
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

	verdict = place_read(qp, (const u8 *)&original, sizeof(original));
	srnic_held_drop(&qp->rx.held);
	if (verdict != CORE_REGION_OK) {
		srnic_sq_complete(&qp->sq, oldest_read(qp)->sq_index, SRNIC_WC_LOC_PROT_ERR, 0);
		return core_rx_fail(&qp->rx.core, CORE_REGION_OK);
	}
	deliver_read_response(qp);
	return CORE_RX_MORE;
}

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

	srnic_terminate_received(qp, term);
	srnic_qp_note_end(qp, SRNIC_END_TERMINATE, core_terminate_code(term));
	blame_request(qp, term);
	srnic_qp_fail(qp);
	srnic_qp_event(qp, IB_EVENT_QP_FATAL);
	srnic_qp_over(qp, SRNIC_OVER_TERMINATED);
}

/* RFC 5044 7.1.2 rule 4: a responder may send once it has received and validated one FPDU. */
static void release_hold(struct srnic_qp *qp)
{
	if (likely(READ_ONCE(qp->tx.validated)) || !core_rx_fpdus(&qp->rx.core))
		return;
	WRITE_ONCE(qp->tx.validated, true);
	srnic_tx_kick(qp);
}

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

	release_hold(qp);	/* the segment at fault may be in a valid FPDU */
	count_error(qp, term);
	if (qp->rx.receive.active && status != SRNIC_WC_FLUSH_ERR)
		fail_receive(qp, status);
	srnic_qp_terminate(qp, term);
}

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

static void deliver(struct srnic_qp *qp, enum core_rx_event event)
{
	if (!may_stay_held(qp, event))
		srnic_held_drop(&qp->rx.held);
	trace_srnic_rx_message(qp, event);
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
	default:
		break;
	}
}

/* Consumes a contiguous piece of the stream; drops it after the stream's end. */
static void feed(struct srnic_qp *qp, const u8 *data, u32 len)
{
	struct core_rx *core = &qp->rx.core;

	while (len) {
		struct core_rx_step step = core_rx_next(core);
		u32 n = min(len, step.want);
		enum core_rx_event event;

		if (step.kind == CORE_RX_STOP)
			return;
		if (step.kind == CORE_RX_PLACE) {
			event = place(qp, step.place, data, n);
		} else {
			memcpy(step.into, data, n);
			event = core_rx_took(core, n);
			srnic_held_pause(&qp->rx.held);
		}
		if (event != CORE_RX_MORE)
			deliver(qp, event);
		data += n;
		len -= n;
	}
	release_hold(qp);
}

/* An skb with memory of a device, which the CPU cannot read: the stream is lost. */
static void unreadable(struct srnic_qp *qp)
{
	core_rx_stop(&qp->rx.core);
	srnic_qp_host_error(qp, CORE_HOST_LOCAL);
}

/* A span of an skb: bytes to pass before it, and bytes in it that are left. */
struct span {
	u32 before, left;
};

/* The next size bytes of the skb are these. */
static void feed_span(struct srnic_qp *qp, struct span *span, const u8 *data, u32 size)
{
	u32 pass = min(span->before, size), n = min(span->left, size - pass);

	feed(qp, data + pass, n);
	span->before -= pass;
	span->left -= n;
}

/*
 * Fragment *i and those behind it that continue it in memory, because TCP keeps the pages of a
 * large block one by one. Passes them; NULL if the CPU cannot read them.
 */
static const u8 *next_run(const struct skb_shared_info *shared, u32 *i, u32 *size)
{
	const u8 *at = skb_frag_address(&shared->frags[*i]);

	if (!at)
		return NULL;
	*size = skb_frag_size(&shared->frags[*i]);
	while (++*i < shared->nr_frags && skb_frag_address(&shared->frags[*i]) == at + *size)
		*size += skb_frag_size(&shared->frags[*i]);
	return at;
}

/* False if the CPU cannot read some of it. Skbs in an skb's list have no such list. */
static bool feed_skb(struct srnic_qp *qp, struct sk_buff *skb, struct span *span)
{
	const struct skb_shared_info *shared = skb_shinfo(skb);
	u32 i = 0, size;

	feed_span(qp, span, skb->data, skb_headlen(skb));
	while (i < shared->nr_frags && span->left) {
		const u8 *at = next_run(shared, &i, &size);

		if (!at)
			return false;
		feed_span(qp, span, at, size);
	}
	return true;
}

static int rx_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int offset, size_t len)
{
	struct srnic_qp *qp = desc->arg.data;
	struct span span = { .before = offset, .left = len };
	struct sk_buff *part;
	bool readable;

	trace_srnic_rx_segment(qp, len);
	readable = feed_skb(qp, skb, &span);
	skb_walk_frags(skb, part)
		readable = readable && feed_skb(qp, part, &span);
	srnic_held_drop(&qp->rx.held);
	if (unlikely(!readable || span.left))
		unreadable(qp);
	return len;
}

/*
 * Urgent bytes stay in the stream and mean nothing to MPA, but tcp_read_sock() would stop at one
 * for good.
 */
static void forget_urgent(struct sock *sk)
{
	if (unlikely(tcp_sk(sk)->urg_data))
		WRITE_ONCE(tcp_sk(sk)->urg_data, 0);
}

/*
 * Returns the FPDUs so far. A QP in error processes no more bytes, but still takes them, so that
 * closing sends FIN and not RST.
 */
static u64 begin_run(struct srnic_qp *qp, const struct sock *sk)
{
	lockdep_assert(lockdep_sock_is_held(sk));
	if (READ_ONCE(qp->state) != SRNIC_QP_RTS)
		core_rx_stop(&qp->rx.core);
	return core_rx_fpdus(&qp->rx.core);
}

static void end_run(struct srnic_qp *qp, u64 fpdus, u32 octets)
{
	WRITE_ONCE(qp->rx.octets, qp->rx.octets + octets);
	fpdus = core_rx_fpdus(&qp->rx.core) - fpdus;
	trace_srnic_rx_batch(qp, octets, fpdus);
	srnic_qp_count(qp, SRNIC_RX_BATCHES, 1);
	srnic_qp_count(qp, SRNIC_RX_OCTETS, octets);
	srnic_qp_count(qp, SRNIC_RX_FPDUS, fpdus);
}

void srnic_rx_run(struct srnic_qp *qp, struct sock *sk)
{
	read_descriptor_t desc = { .arg.data = qp, .count = 1 };
	u64 fpdus = begin_run(qp, sk);
	int octets;

	forget_urgent(sk);
	octets = tcp_read_sock(sk, &desc, rx_actor);
	if (octets > 0)
		end_run(qp, fpdus, octets);
}

void srnic_rx_take(struct srnic_qp *qp, struct sock *sk, const struct bio_vec *vec, u32 num)
{
	u64 fpdus = begin_run(qp, sk);
	u32 octets = 0;

	for (u32 i = 0; i < num; i++) {
		feed(qp, page_address(vec[i].bv_page) + vec[i].bv_offset, vec[i].bv_len);
		octets += vec[i].bv_len;
	}
	srnic_held_drop(&qp->rx.held);
	end_run(qp, fpdus, octets);
}

void srnic_rx_start(struct srnic_qp *qp, const struct srnic_qp_start *start)
{
	bool mpa = start->agreed.framing == CORE_FRAMING_MPA;
	struct core_rx_params params = {
		.ctx = qp,
		.pd = qp->pd,
		.framing = start->agreed.framing,
		.connection_id = start->agreed.connection_id,
		.first_msn = mpa ? CORE_FIRST_MSN : start->agreed.recv_msn,
		.crc = start->agreed.crc,
		.markers = start->agreed.recv_markers,
		.swaps = READ_ONCE(qp->dev->swap),
		.rtr = start->initiator ? 0 : start->agreed.rtr,
	};

	qp->rx.receive.active = false;
	qp->rx.refusal = (struct core_refusal) { };
	qp->rx.octets = 0;
	qp->markers = params.markers;
	srnic_rq_look(&qp->rq);
	core_rx_init(&qp->rx.core, &params);
}
