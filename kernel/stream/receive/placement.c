// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Where received payload goes: regions that the peer names, receive requests, and the sinks of this
 * end's own Reads (RFC 5041 5.3 to 5.5). Implements the core's callbacks for received segments.
 */
#include "memory/access.h"
#include "queue/srq.h"
#include "stream/acks.h"
#include "stream/receive/parts.h"

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
	struct srnic_outbound_read *read = srnic_oldest_read(ctx);

	if (read)
		*out = read->sink;
	return read;
}

enum core_region_verdict core_host_atomic(void *ctx, const struct core_atomic_request *request,
					  u64 *original)
{
	struct srnic_qp *qp = ctx;
	const struct srnic_region_access access = {
		.to = request->to,
		.stag = request->stag,
		.requester = srnic_qp_requester(qp),
		.rights = CORE_ACCESS_REMOTE_ATOMIC,
	};

	return srnic_region_atomic(&qp->rx.held, &access, &request->op, original);
}

enum core_region_verdict core_host_atomic_write(void *ctx, const struct core_extended *request)
{
	struct srnic_qp *qp = ctx;
	const struct srnic_region_access access = {
		.to = request->to,
		.stag = request->stag,
		.requester = srnic_qp_requester(qp),
		.rights = CORE_ACCESS_REMOTE_WRITE,
	};

	return srnic_region_atomic_write(&qp->rx.held, &access, request->data);
}

bool core_host_read_room(void *ctx)
{
	struct srnic_qp *qp = ctx;

	return srnic_reads_count(&qp->inbound) < qp->inbound.most;
}

/* ---- placement ---- */

/* The memory of a receive from an SRQ is in the SRQ's protection domain. */
static __always_inline struct srnic_sge_list list_of_receive(struct srnic_qp *qp)
{
	const struct srnic_receive *receive = &qp->rx.receive;
	struct srnic_sge_list list = srnic_qp_list(qp, &qp->rx.held, srnic_receive_sges(receive),
						   srnic_receive_wqe(receive)->num_sge);

	if (qp->rq.srq)
		list.pd = qp->rq.srq->pd;
	return list;
}

enum core_region_verdict srnic_place_receive(struct srnic_qp *qp, const u8 *data, u32 n)
{
	const struct srnic_sge_list list = list_of_receive(qp);

	return srnic_sges_scatter(&list, &qp->rx.cursor, data, n);
}

/* n octets of the response to this read are about to be placed in the list. */
static __always_inline struct srnic_sge_list
list_of_read(struct srnic_qp *qp, struct srnic_outbound_read *read, u32 n)
{
	read->sink.placed += n;
	if (qp->acks)
		srnic_note_progress(&qp->acks->overdue);
	return srnic_qp_list(qp, &qp->rx.held, read->sge, read->num_sge);
}

enum core_region_verdict srnic_place_response(struct srnic_qp *qp, const u8 *data, u32 n)
{
	struct srnic_outbound_read *read = srnic_oldest_read(qp);
	const struct srnic_sge_list list = list_of_read(qp, read, n);

	return srnic_sges_scatter(&list, &read->cursor, data, n);
}

static __always_inline struct srnic_region_access access_of_write(const struct srnic_qp *qp,
								  const struct core_place *at)
{
	return (struct srnic_region_access) {
		.to = at->to,
		.stag = at->stag,
		.requester = srnic_qp_requester(qp),
		.rights = CORE_ACCESS_REMOTE_WRITE,
	};
}

static enum core_region_verdict write_region(struct srnic_qp *qp, const struct core_place *at,
					     const u8 *data, u32 n)
{
	const struct srnic_region_access access = access_of_write(qp, at);

	return srnic_region_write(&qp->rx.held, &access, data, n);
}

static enum core_region_verdict copy_to(struct srnic_qp *qp, const struct core_place *at,
					const u8 *data, u32 n)
{
	switch (at->kind) {
	case CORE_PLACE_REGION:
		return write_region(qp, at, data, n);
	case CORE_PLACE_RECEIVE:
		return srnic_place_receive(qp, data, n);
	case CORE_PLACE_READ:
		return srnic_place_response(qp, data, n);
	}
	return CORE_REGION_INVALID;
}

/* n octets that lie in several runs of memory. */
static enum core_region_verdict copy_runs_to(struct srnic_qp *qp, const struct core_place *at,
					     const struct kvec *run, u32 num, u32 n)
{
	const struct srnic_region_access access = access_of_write(qp, at);
	struct srnic_outbound_read *read;
	struct srnic_sge_list list;

	switch (at->kind) {
	case CORE_PLACE_REGION:
		return srnic_region_write_runs(&qp->rx.held, &access, run, num, n);
	case CORE_PLACE_RECEIVE:
		list = list_of_receive(qp);
		return srnic_sges_scatter_runs(&list, &qp->rx.cursor, run, num, n);
	case CORE_PLACE_READ:
		read = srnic_oldest_read(qp);
		list = list_of_read(qp, read, n);
		return srnic_sges_scatter_runs(&list, &read->cursor, run, num, n);
	}
	return CORE_REGION_INVALID;
}

/* Local memory cannot be written. */
static void own_memory_failed(struct srnic_qp *qp, u8 kind)
{
	srnic_held_drop(&qp->rx.held);
	if (kind == CORE_PLACE_RECEIVE)
		srnic_rq_fail(&qp->rq, &qp->rx.receive, SRNIC_WC_LOC_PROT_ERR, 0);
	else
		srnic_fail_oldest_read(qp);
}

static __always_inline enum core_region_verdict
after_placing(struct srnic_qp *qp, const struct core_place *at, enum core_region_verdict verdict)
{
	qp->rx.held.sum = NULL;
	if (unlikely(verdict != CORE_REGION_OK && at->kind != CORE_PLACE_REGION))
		own_memory_failed(qp, at->kind);
	return verdict;
}

enum core_region_verdict core_host_place(void *ctx, const struct core_place *at, const u8 *data,
					 u32 n, u32 *sum)
{
	struct srnic_qp *qp = ctx;

	srnic_held_sums(&qp->rx.held, sum, n);
	return after_placing(qp, at, copy_to(qp, at, data, n));
}

/*
 * If a peer's tagged access fails, that is the peer's fault; if local memory fails, it is a local
 * error (RFC 5040 figure 9).
 */
static enum core_rx_event not_placed(struct srnic_qp *qp, const struct core_place *at,
				     enum core_region_verdict verdict)
{
	return core_rx_fail(&qp->rx.core, at->kind == CORE_PLACE_REGION ? verdict : CORE_REGION_OK);
}

enum core_rx_event srnic_place_payload(struct srnic_qp *qp, const struct core_place *at,
				       const u8 *data, u32 n)
{
	u32 *sum = core_rx_sum(&qp->rx.core);
	enum core_region_verdict verdict = core_host_place(qp, at, data, n, sum);

	if (unlikely(verdict != CORE_REGION_OK))
		return not_placed(qp, at, verdict);
	return core_rx_placed(&qp->rx.core, sum ? NULL : data, n);
}

enum core_rx_event srnic_place_runs(struct srnic_qp *qp, const struct core_place *at,
				    const struct kvec *run, u32 num, u32 n)
{
	u32 *sum = core_rx_sum(&qp->rx.core);
	enum core_rx_event event = CORE_RX_MORE;
	enum core_region_verdict verdict;

	srnic_held_sums(&qp->rx.held, sum, n);
	verdict = after_placing(qp, at, copy_runs_to(qp, at, run, num, n));
	if (unlikely(verdict != CORE_REGION_OK))
		return not_placed(qp, at, verdict);
	for (u32 i = 0; i < num && event == CORE_RX_MORE; i++)
		event = core_rx_placed(&qp->rx.core, sum ? NULL : run[i].iov_base, run[i].iov_len);
	return event;
}
