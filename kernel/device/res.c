// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Driver attributes of `rdma resource show -dd`. Snapshots without locks: the values of a running
 * queue may not match each other. Must not show keys or kernel addresses, nor access a ring: the
 * RDMA core still asks for an object's attributes when its rings are gone.
 *
 * cm_ids have none: the RDMA core holds the rdma_cm_id meanwhile, but not the iw_cm_id behind it,
 * which a failing connect frees.
 */
#include <net/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "device/res.h"
#include "memory/mr.h"
#include "pairing/pairing.h"
#include "queue/cq.h"
#include "queue/srq.h"
#include "report/counters.h"
#include "stream/datagrams.h"
#include "stream/number.h"
#include "stream/qp.h"
#include "stream/state.h"

struct figure {
	const char *name;
	u32 value;
};

static int put_figures(struct sk_buff *msg, const struct figure *figures, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (rdma_nl_put_driver_u32(msg, figures[i].name, figures[i].value))
			return -EMSGSIZE;
	return 0;
}

static int put_attributes(struct sk_buff *msg, const struct figure *figures, size_t count)
{
	struct nlattr *table = nla_nest_start_noflag(msg, RDMA_NLDEV_ATTR_DRIVER);

	if (!table)
		return -EMSGSIZE;
	if (put_figures(msg, figures, count)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

int srnic_fill_res_mr(struct sk_buff *msg, struct ib_mr *base)
{
	const struct srnic_mr *mr = to_srnic_mr(base);
	const struct figure figures[] = {
		{ "valid", READ_ONCE(mr->state) == SRNIC_MR_VALID },
		{ "fast_reg", mr->fast_reg },
		{ "all_memory", mr->dma },
		{ "access", READ_ONCE(mr->access) },
		{ "pages", READ_ONCE(mr->num_pieces) },
		{ "max_pages", mr->max_pieces },
	};

	return put_attributes(msg, figures, ARRAY_SIZE(figures));
}

int srnic_fill_res_cq(struct sk_buff *msg, struct ib_cq *base)
{
	struct srnic_cq *cq = to_srnic_cq(base);
	const struct figure figures[] = {
		{ "id", cq->id },
		{ "entries", READ_ONCE(cq->ring.entries) },
		{ "produced", READ_ONCE(cq->prod) },
		{ "consumed", srnic_cq_consumed(cq) },
		{ "peak", READ_ONCE(cq->peak) },
		{ "overrun", READ_ONCE(cq->overrun) },
	};

	return put_attributes(msg, figures, ARRAY_SIZE(figures));
}

int srnic_fill_res_srq(struct sk_buff *msg, struct ib_srq *base)
{
	const struct srnic_srq *srq = to_srnic_srq(base);
	const struct figure figures[] = {
		{ "id", srq->id },
		{ "entries", READ_ONCE(srq->recv.ring.entries) },
		{ "posted", READ_ONCE(*(srq->user ? &srq->recv.seen : &srq->recv.posted)) },
		{ "taken", READ_ONCE(srq->recv.taken) },
		{ "limit", READ_ONCE(srq->limit) },
	};

	return put_attributes(msg, figures, ARRAY_SIZE(figures));
}

/* ---- QPs ---- */

/* Words of srnicctl(8). */
static const char *const ends[] = {
	[SRNIC_END_NEVER] = "never",
	[SRNIC_END_NONE] = "none",
	[SRNIC_END_CLOSED] = "closed",
	[SRNIC_END_PEER_CLOSED] = "peer-closed",
	[SRNIC_END_ABORTED] = "aborted",
	[SRNIC_END_TCP] = "tcp",
	[SRNIC_END_ERROR] = "error",
	[SRNIC_END_TERMINATE] = "terminate",
	[SRNIC_END_CHECK] = "check",
};

static int put_end(struct sk_buff *msg, u32 end)
{
	u16 detail = srnic_end_detail(end);

	if (rdma_nl_put_driver_string(msg, "end", ends[srnic_end_of(end)]))
		return -EMSGSIZE;
	if (srnic_end_of(end) == SRNIC_END_CHECK)
		return rdma_nl_put_driver_string(msg, "end_check", srnic_check_name(detail));
	return rdma_nl_put_driver_u32(msg, "end_detail", detail);
}

static int put_traffic(struct sk_buff *msg, const struct srnic_qp *qp)
{
	return rdma_nl_put_driver_u64(msg, "tx_octets", READ_ONCE(qp->tx.bytes)) ?:
	       rdma_nl_put_driver_u64(msg, "rx_octets", READ_ONCE(qp->rx.bytes));
}

/* What the ends agreed on. */
static int put_connection(struct sk_buff *msg, const struct srnic_qp *qp)
{
	const struct core_tx *tx = &qp->tx.core;
	const struct figure figures[] = {
		{ "state", READ_ONCE(qp->state) },
		{ "framing", READ_ONCE(tx->params.framing) },
		{ "initiator", READ_ONCE(tx->params.initiator) },
		{ "crc", READ_ONCE(tx->params.crc) },
		{ "tx_markers", READ_ONCE(tx->params.markers) },
		{ "rx_markers", READ_ONCE(qp->markers) },
		{ "large_fpdus", READ_ONCE(tx->params.long_segments) },
		{ "shortcut", READ_ONCE(qp->shortcut_used) },
		{ "mulpdu", READ_ONCE(tx->mulpdu) },
		{ "ird", READ_ONCE(qp->inbound.most) },
		{ "ord", READ_ONCE(qp->outbound.most) },
	};

	return put_figures(msg, figures, ARRAY_SIZE(figures));
}

/*
 * How many requests were posted: of kernel consumers. Of users, how many of these the kernel has
 * seen: only their rings have the rest.
 */
static int put_queues(struct sk_buff *msg, const struct srnic_qp *qp)
{
	const struct srnic_sq *sq = &qp->sq;
	const struct srnic_recv_ring *recv = &qp->rq.recv;
	const struct figure figures[] = {
		{ "sq_entries", sq->ring.entries },
		{ "sq_posted", READ_ONCE(*(qp->user ? &sq->taken : &sq->posted)) },
		{ "sq_taken", READ_ONCE(sq->taken) },
		{ "sq_done", READ_ONCE(sq->done) },
		{ "srq", !!qp->rq.srq },
		{ "rq_entries", recv->ring.entries },
		{ "rq_posted", READ_ONCE(*(qp->user ? &recv->seen : &recv->posted)) },
		{ "rq_taken", READ_ONCE(recv->taken) },
	};

	return put_figures(msg, figures, ARRAY_SIZE(figures));
}

static int put_numbers(struct sk_buff *msg, const struct srnic_qp *qp)
{
	const struct core_acks *acks = &qp->acks->core;
	const struct core_pairing *pairing = &srnic_pairing_of(qp)->core;
	const struct figure figures[] = {
		{ "sent", READ_ONCE(acks->whole) },
		{ "acknowledged", READ_ONCE(acks->acked) },
		{ "delivered", READ_ONCE(acks->received) },
		{ "not_ready", READ_ONCE(acks->tries) },
		{ "pairing", READ_ONCE(pairing->state) },
		{ "pairing_failures", READ_ONCE(pairing->failures) },
		{ "pairing_reason", READ_ONCE(srnic_pairing_of(qp)->reason) },
		{ "pairing_error", -READ_ONCE(srnic_pairing_of(qp)->error) },
	};

	return put_figures(msg, figures, ARRAY_SIZE(figures));
}

/* With a reference: some kernels ask also while the QP is destroyed. */
static int put_acks(struct sk_buff *msg, const struct ib_qp *base)
{
	struct srnic_qp *qp;
	int ret;

	if (!to_srnic_dev(base->device)->ib || srnic_has_datagrams(base))
		return 0;
	qp = srnic_number_hold(base);
	if (!qp)
		return 0;
	ret = put_numbers(msg, qp);
	srnic_qp_put(qp);
	return ret;
}

int srnic_fill_res_qp(struct sk_buff *msg, struct ib_qp *base)
{
	struct nlattr *table = nla_nest_start_noflag(msg, RDMA_NLDEV_ATTR_DRIVER);
	const struct srnic_qp *qp = to_srnic_qp(base);

	if (!table)
		return -EMSGSIZE;
	/* 64 bits last: the rdma tool reads no further if they have to be aligned */
	if (put_connection(msg, qp) || put_queues(msg, qp) || put_acks(msg, base) ||
	    put_end(msg, READ_ONCE(qp->end)) || put_traffic(msg, qp)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}
