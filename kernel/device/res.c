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

#include "queue/cq.h"
#include "memory/mr.h"
#include "stream/qp.h"
#include "device/res.h"
#include "queue/srq.h"

struct figure {
	const char *name;
	u32 value;
};

static int put_attributes(struct sk_buff *msg, const struct figure *figures, size_t count)
{
	struct nlattr *table;
	size_t i;

	table = nla_nest_start_noflag(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	for (i = 0; i < count; i++)
		if (rdma_nl_put_driver_u32(msg, figures[i].name, figures[i].value))
			goto cancel;
	nla_nest_end(msg, table);
	return 0;
cancel:
	nla_nest_cancel(msg, table);
	return -EMSGSIZE;
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
	const struct srnic_cq *cq = to_srnic_cq(base);
	const struct figure figures[] = {
		{ "id", cq->id },
		{ "entries", cq->ring.entries },
		{ "produced", READ_ONCE(cq->prod) },
		{ "overrun", READ_ONCE(cq->overrun) },
	};

	return put_attributes(msg, figures, ARRAY_SIZE(figures));
}

int srnic_fill_res_srq(struct sk_buff *msg, struct ib_srq *base)
{
	const struct srnic_srq *srq = to_srnic_srq(base);
	const struct figure figures[] = {
		{ "id", srq->id },
		{ "entries", srq->ring.entries },
		{ "taken", READ_ONCE(srq->taken) },
		{ "limit", READ_ONCE(srq->limit) },
	};

	return put_attributes(msg, figures, ARRAY_SIZE(figures));
}

int srnic_fill_res_qp(struct sk_buff *msg, struct ib_qp *base)
{
	const struct srnic_qp *qp = to_srnic_qp(base);
	const struct figure figures[] = {
		{ "state", READ_ONCE(qp->state) },
		{ "framing", READ_ONCE(qp->tx.core.params.framing) },
		{ "ird", READ_ONCE(qp->ird) },
		{ "ord", READ_ONCE(qp->ord) },
		{ "sq_entries", qp->sq.ring.entries },
		{ "sq_taken", READ_ONCE(qp->sq.taken) },
		{ "sq_done", READ_ONCE(qp->sq.done) },
		{ "rq_entries", qp->rq.ring.entries },
		{ "rq_taken", READ_ONCE(qp->rq.taken) },
	};

	return put_attributes(msg, figures, ARRAY_SIZE(figures));
}
